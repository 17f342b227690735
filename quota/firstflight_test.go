package quota_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// flight sends n pieces of work at once, and returns those that departed.
func (c *counter) flight(n int, ask quota.Ask) (departed []*request) {
	for range n {
		got := c.come(c.t.Context(), "", ask)
		if got.done.Load() {
			require.NoError(c.t, got.err)
			departed = append(departed, got)
		}
	}
	return departed
}

func (c *counter) answer(got *request, r quota.Report) {
	c.o.Settle(time.Now(), &got.lease, &r)
	got.lease.Release()
	synctest.Wait()
}

// Ten requests may be out to an origin that has not answered. Its first answer of any
// kind ends that; then the accounts decide.
func TestFirstFlight(t *testing.T) {
	for name, tt := range map[string]struct {
		first quota.Report
		goes  int // in all, after the answer
	}{
		"no fields": {quota.Report{}, 50},
		"a figure":  {quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 9, Window: mins}}}, 10},
		"more":      {quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 19, Window: mins}}}, 20},
		"refused":   {quota.Report{Refused: true, Pause: mins}, 10},
		"5xx":       {quota.Report{Pause: mins, WholeOrigin: true}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				ask := quota.Ask{Again: func() []quota.Claim { return claimsOf(c.o) }, MaxDelay: 90 * sec}
				out := c.flight(50, ask)
				require.Len(t, out, 10)
				assert.Equal(t, 40, c.snapshot().InLine)
				r, waits := c.o.Check(t.Context(), time.Now(), &ask)
				assert.Equal(t, &quota.Refusal{Cause: quota.ReasonFirstFlight, Reason: quota.ReasonFirstFlight, Wait: sec, RetryAfter: sec}, r)
				assert.True(t, waits)
				time.Sleep(100 * time.Millisecond)
				c.answer(out[0], tt.first)
				assert.Len(t, c.order(), tt.goes)
				if r, _ := c.o.Check(t.Context(), time.Now(), &ask); r != nil {
					assert.NotEqual(t, quota.ReasonFirstFlight, r.Cause)
				}
				for _, got := range out[1:] {
					c.answer(got, quota.Report{})
				}
				c.wg.Wait()
				c.requireNoWaiter()
			})
		})
	}
}

func claimsOf(o *quota.Origin) (cs []quota.Claim) {
	for _, p := range o.Policies() {
		cs = append(cs, quota.Claim{Policy: p.Name, Units: 1})
	}
	return cs
}

// Who comes later does not overtake those in line, whatever bound it has.
func TestFirstFlightIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		out := c.flight(10, quota.Ask{})
		c.come(t.Context(), "first", quota.Ask{})
		c.come(t.Context(), "second", quota.Ask{FirstFlight: 20})
		assert.Equal(t, strings.Split("||||||||||", "|")[:10], c.order())
		c.answer(out[0], quota.Report{Lost: true})
		assert.Equal(t, []string{"first", "second"}, c.order()[10:])
		c.requireNoWaiter()
	})
}

// What the first answer leaves is for those who waited for it, and not for work that
// comes at the same instant and needs not wait for first contact.
func TestFirstFlightLeavesToThoseInLine(t *testing.T) {
	for name, late := range map[string]quota.Ask{
		"no delay": {MaxDelay: quota.NoDelay},
		"no bound": {FirstFlight: -1, MaxDelay: sec},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				ask := quota.Ask{Again: func() []quota.Claim { return claimsOf(c.o) }}
				out := c.flight(10, ask)
				first := c.come(t.Context(), "first", ask)
				c.settle(out[0], quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 10, Window: mins}}})
				late.Claims = claimsOf(c.o)
				err := c.o.Admit(t.Context(), time.Now(), &late, new(quota.Lease))
				require.Error(t, err)
				synctest.Wait()
				assert.True(t, first.done.Load())
				assert.NoError(t, first.err)
				c.requireNoWaiter()
			})
		})
	}
}

// An origin that does not answer holds nothing for longer than a second after the
// first departure. What never arrived makes room, and is no answer.
func TestFirstFlightWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		begin := time.Now()
		time.Sleep(100 * time.Millisecond)
		out := c.flight(13, quota.Ask{})
		require.Len(t, out, 10)
		time.Sleep(300 * time.Millisecond)
		c.answer(out[0], quota.Report{Unsent: true})
		c.answer(out[1], quota.Report{Lost: true})
		assert.Len(t, c.order(), 12)
		time.Sleep(700*time.Millisecond - 1)
		synctest.Wait()
		assert.Len(t, c.order(), 12)
		c.wg.Wait()
		assert.Equal(t, 1100*time.Millisecond, time.Since(begin))
		assert.Len(t, c.flight(20, quota.Ask{}), 20, "nothing is held any more")
		c.requireNoWaiter()
	})
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		for _, got := range c.flight(10, quota.Ask{}) {
			c.answer(got, quota.Report{Lost: true})
		}
		time.Sleep(mins)
		assert.Len(t, c.flight(11, quota.Ask{}), 10, "another flight has its own second")
		c.wg.Wait()
		c.requireNoWaiter()
	})
}

// The bound is the ask's. Work that would be refused because of this wait does not
// wait; nor does Force.
func TestFirstFlightBounds(t *testing.T) {
	for name, tt := range map[string]struct {
		ask    quota.Ask
		within time.Duration // its deadline; 0: none
		waits  time.Duration
		err    error
	}{
		"the default":       {waits: sec},
		"more":              {ask: quota.Ask{FirstFlight: 11}},
		"fewer":             {ask: quota.Ask{FirstFlight: 2}, waits: sec},
		"no bound":          {ask: quota.Ask{FirstFlight: -1}},
		"no delay":          {ask: quota.Ask{MaxDelay: quota.NoDelay}},
		"little delay":      {ask: quota.Ask{MaxDelay: sec - 1}},
		"some delay":        {ask: quota.Ask{MaxDelay: sec}, waits: sec},
		"no delay, a bound": {ask: quota.Ask{MaxDelay: quota.NoDelay, FirstFlight: 10}, err: &quota.Refusal{Cause: quota.ReasonFirstFlight, Reason: quota.ReasonFirstFlight, Wait: sec, RetryAfter: sec}},
		"forced":            {ask: quota.Ask{Force: true}},
		"a close deadline":  {within: 2*sec - 1},
		"a deadline":        {within: 2 * sec, waits: sec},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.flight(10, quota.Ask{Force: true})
				ctx, cancel := context.WithTimeout(t.Context(), mins)
				if tt.within > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.within)
				}
				defer cancel()
				got := c.come(ctx, "", tt.ask)
				c.wg.Wait()
				assert.Equal(t, tt.err, got.err)
				assert.Equal(t, tt.waits, got.after)
				c.requireNoWaiter()
			})
		})
	}
}

// What was restored was told by the origin: there is no first contact, unless it has told nothing.
func TestFirstFlightAfterRestore(t *testing.T) {
	for name, tt := range map[string]struct {
		told   quota.Report
		waits  bool
		claims []quota.Claim
	}{
		"a figure":         {quota.Report{Figures: figure("api", 50, mins)}, false, nil},
		"a policy":         {quota.Report{Terms: terms("api", 50, mins)}, false, nil},
		"a Retry-After":    {quota.Report{Refused: true, Pause: mins}, false, nil},
		"nothing":          {quota.Report{}, true, nil},
		"what is over now": {quota.Report{Figures: figure("", 0, ms)}, true, []quota.Claim{unnamed}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.exchange(0, "", tt.told, tt.claims...)
			r := restored(t, d.saved(sec, false), d.at(sec))
			ask := quota.Ask{Claims: tt.claims, MaxDelay: mins, FirstFlight: 1}
			now := r.begin.Add(2 * mins)
			require.NoError(t, r.o.Admit(t.Context(), now, &ask, new(quota.Lease)))
			_, waits := r.o.Check(t.Context(), now, &ask)
			assert.Equal(t, tt.waits, waits)
		})
	}
}

// A new user of an origin that has told others of its quotas sends no more at first than
// they have. The first answer of any kind ends that.
func TestFirstFlightOfAnAccount(t *testing.T) {
	terms := func(p quota.Policy) quota.Report { return quota.Report{Terms: []quota.Policy{p}} }
	told := func(figure quota.Figure, ps ...quota.Policy) quota.Report {
		return quota.Report{Figures: []quota.Figure{figure}, Terms: ps}
	}
	unnamed := quota.Policy{Quota: 5}
	keyed := quota.Policy{Name: "api", Quota: 5, Keyed: true, Key: "bob"}
	api := func(available int64) quota.Figure {
		return quota.Figure{Policy: "api", Available: available, Window: mins}
	}
	for name, tt := range map[string]struct {
		bob    quota.Report // the answer to another user
		claims []quota.Claim
		ask    quota.Ask
		most   int          // how many of 50 depart
		first  quota.Report // the first answer
		goes   int          // of the 50, then
	}{
		"a quota":               {bob: told(api(4), quota.Policy{Name: "api", Quota: 5}), claims: claimOf("api").Claims, most: 5, first: told(api(19), quota.Policy{Name: "api", Quota: 20}), goes: 20},
		"a quota, no name":      {bob: told(quota.Figure{Available: 4, Window: mins}, unnamed), claims: claimOf("").Claims, most: 5, first: told(quota.Figure{Available: 4, Window: mins}, unnamed), goes: 5},
		"a quota, a key":        {bob: terms(keyed), claims: []quota.Claim{{Policy: "api", Keyed: true, Key: "erin", Units: 1}}, most: 5, goes: 50},
		"and a window, no name": {bob: terms(quota.Policy{Quota: 5, Window: 10 * sec}), claims: claimOf("").Claims, most: 5, goes: 5},
		"figures":               {bob: told(api(29)), claims: claimOf("api").Claims, most: 30, goes: 50},
		"a low figure":          {bob: told(api(2)), claims: claimOf("api").Claims, most: 10, first: told(api(9)), goes: 10},
		"a large quota":         {bob: told(api(50), quota.Policy{Name: "api", Quota: 5000}), claims: claimOf("api").Claims, most: 50, goes: 50},
		"nothing":               {bob: quota.Report{}, most: 50, goes: 50},
		"refusals only":         {bob: quota.Report{Refused: true, Pause: sec}, most: 50, goes: 50},
		"several at a time":     {bob: terms(quota.Policy{Name: "api", Quota: 5, Unit: quota.UnitConcurrentRequests}), claims: claimOf("api").Claims, most: 5, goes: 6},
		"units that are dear":   {bob: told(api(4), quota.Policy{Name: "api", Quota: 5}), claims: []quota.Claim{{Policy: "api", Units: 9}}, most: 1, goes: 50},
		"of no concern":         {bob: told(api(4), quota.Policy{Name: "api", Quota: 5}), claims: claimOf("api").Claims, most: 5, first: quota.Report{LeftOut: []string{"api"}}, goes: 50},
		"refused by another":    {bob: told(api(4), quota.Policy{Name: "api", Quota: 5}), claims: claimOf("api").Claims, most: 5, first: quota.Report{Refused: true, Pause: ms, Figures: []quota.Figure{{Policy: "other", Window: ms}}}, goes: 50},
		"no bound":              {bob: told(api(4), quota.Policy{Name: "api", Quota: 5}), claims: claimOf("api").Claims, ask: quota.Ask{FirstFlight: -1}, most: 50, goes: 50},
		"little delay":          {bob: told(api(4), quota.Policy{Name: "api", Quota: 5}), claims: claimOf("api").Claims, ask: quota.Ask{MaxDelay: sec - 1}, most: 50, goes: 50},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(tt.bob)
				tt.ask.Scope, tt.ask.Claims = "erin", tt.claims
				ctx, cancel := context.WithCancel(t.Context())
				var out []*request
				for range 50 {
					out = append(out, c.come(ctx, "", tt.ask))
				}
				require.Len(t, c.order(), tt.most)
				assert.Equal(t, 50-tt.most, c.snapshot().InLine)
				time.Sleep(100 * time.Millisecond)
				c.answer(out[0], tt.first)
				time.Sleep(2 * ms)
				synctest.Wait()
				assert.Len(t, c.order(), tt.goes)
				cancel()
				c.wg.Wait()
				c.requireNoWaiter()
			})
		})
	}
}

// Without an answer the first flight of an account lasts a second. What never arrived makes
// room.
func TestFirstFlightOfAnAccountWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 9, mins), Terms: terms("api", 10, 0)})
		ask := claimOf("api")
		ask.Scope = "erin"
		out := c.flight(13, ask)
		require.Len(t, out, 10)
		r, waits := c.o.Check(t.Context(), time.Now(), &ask)
		assert.Equal(t, &quota.Refusal{Policy: "api", Cause: quota.ReasonFirstFlight, Reason: quota.ReasonFirstFlight, Wait: sec, RetryAfter: sec}, r)
		assert.True(t, waits)
		time.Sleep(300 * ms)
		c.answer(out[0], quota.Report{Unsent: true})
		assert.Len(t, c.order(), 11)
		time.Sleep(700*ms - 1)
		synctest.Wait()
		assert.Len(t, c.order(), 11)
		c.wg.Wait()
		assert.Len(t, c.order(), 13)
		assert.Len(t, c.flight(20, ask), 20, "nothing is held any more")
		c.requireNoWaiter()
	})
}

// Thousands of new users with one request each do not wait.
func TestFirstFlightOfManyAccounts(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, "bob"), quota.Report{Figures: figure("api", 0, mins), Terms: terms("api", 1, 0)})
	for i := range 3000 {
		ask := claimOf("api")
		ask.Scope, ask.MaxDelay, ask.FirstFlight = fmt.Sprint(i), quota.NoDelay, 10
		require.NoError(t, d.o.Admit(t.Context(), d.at(0), &ask, new(quota.Lease)))
		require.Error(t, d.o.Admit(t.Context(), d.at(0), &ask, new(quota.Lease)))
	}
}
