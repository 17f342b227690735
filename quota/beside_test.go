package quota_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// Two refusals, the second after the hold of the first, with figures that say that much is left,
// begin a slow start of the work that claims the policy, if more of what was out with the first was
// refused than served. One of them does not, nor do two that little left explains.
func TestBeside(t *testing.T) {
	for name, c := range map[string]struct {
		first, second int64 // left beside the first refusal, and beside the second; negative: there is none
		alone, kept   int   // how many of two that are out with the first are not refused, and how many are served
		out           int   // requests in flight meanwhile
		unit          string
		other         bool // the work does not claim the policy
		after         time.Duration
		want          int
	}{
		"one":             {first: 50, second: -1, want: 50},
		"two":             {first: 50, second: 45, want: 1},
		"most are served": {first: 50, second: 45, kept: 2, want: 45},
		"one is refused":  {first: 50, second: 45, alone: 1, want: 45},
		"nothing was out": {first: 50, second: 45, alone: 2, want: 45},
		"little left":     {first: 3, second: 2, want: 2},
		"as many are out": {first: 50, second: 6, out: 6, want: 0},
		"fewer are out":   {first: 50, second: 9, out: 6, want: 1},
		"tokens":          {first: 50, second: 45, unit: "tokens", want: 45},
		"another policy":  {first: 50, second: 45, other: true, want: 1000},
		"forgotten":       {first: 50, second: 45, after: 30 * mins, want: 45},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			window := 2 * 60 * mins
			said := func(left int64) quota.Report {
				return quota.Report{Figures: figure("api", left, window), Terms: []quota.Policy{{Name: "api", Quota: 100, Window: window, Unit: c.unit}}}
			}
			d.exchange(0, "", said(c.first+1), api(1))
			with, kept := d.sendAll(2-c.alone, 0, "", api(1)), d.sendAll(c.kept, 0, "", api(1))
			out := d.sendAll(c.out, 0, "", api(1))
			for i, left := range []int64{c.first, c.second} {
				if left >= 0 {
					r := said(left)
					r.Refused, r.Pause = true, sec
					at := time.Duration(2*i+1) * sec
					d.exchange(at, "", r, api(1))
					for _, l := range with {
						d.done(at+time.Millisecond, l, r)
					}
					for _, l := range kept {
						d.done(at+2*time.Millisecond, l, said(left))
					}
					with, kept = nil, nil
				}
			}
			for _, l := range out {
				d.done(4*sec, l, said(c.second))
			}
			now := 5 * sec
			for ; now < c.after; now += mins { // one is served each minute
				d.exchange(now, "", said(c.second), api(1))
			}
			claim := api(1)
			if c.other {
				claim.Policy = "other"
			}
			assert.Equal(t, c.want, d.more(now, "", claim))
		})
	}
}

// A hold that such a refusal begins holds the work that it names, from the first one on.
func TestBesideHolds(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		now := time.Duration(i) * mins
		d.exchange(now, "", quota.Report{Refused: true, Pause: 30 * sec, Figures: figure("api", 50, 60*mins)}, api(1))
		assert.Equal(t, 30*sec, d.wait(now, "", api(1)))
		assert.Zero(t, d.wait(now, "", quota.Claim{Policy: "other", Units: 1}))
		assert.Zero(t, d.wait(now, "bob", api(1)))
	}
}

// The account that such refusals name may be evicted under the hold of the limit. The hold stays.
func TestBesideHoldsWithoutItsAccount(t *testing.T) {
	for name, c := range map[string]struct {
		claim   quota.Claim
		figures []quota.Figure
	}{
		"of the scope":    {api(1), figure("api", 50, sec)},
		"of a key":        {keyed("api", "a"), keyedFigure("api", "a", 50, sec)},
		"of a long scope": {api(1), figure("api", 50, sec)},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			scope := name[:8]
			if name == "of a long scope" {
				scope = strings.Repeat("x", 100)
			}
			for i := range 2 {
				d.exchange(time.Duration(i)*mins, scope, quota.Report{Refused: true, Pause: time.Hour * time.Duration(i), Figures: c.figures}, c.claim)
			}
			now := 30 * mins
			d.tick(now)
			require.Nil(t, d.account(scope, c.claim), "it is evicted")
			assert.Equal(t, 61*mins-now, d.wait(now, scope, c.claim))
			other := c.claim
			other.Policy = "other"
			assert.Zero(t, d.wait(now, scope, other))
		})
	}
}

// kindOfAPI sends work of a kind that claims a policy, or returns the refusal.
func (d *desk) kindOfAPI(now time.Duration, kind string) (*quota.Lease, *quota.Refusal) {
	d.t.Helper()
	d.now = now
	l := new(quota.Lease)
	ask := &quota.Ask{Kind: func() string { return kind }, Claims: []quota.Claim{api(1)}, MaxDelay: quota.NoDelay}
	if err := d.o.Admit(d.t.Context(), d.at(now), ask, l); err != nil {
		return nil, err.(*quota.Refusal)
	}
	return l, nil
}

// The first such refusal holds all that claims the policy. The next one holds the limit: then other
// kinds look, and are free once one is served.
func TestBesideKinds(t *testing.T) {
	d := newDesk(t)
	answer := func(now time.Duration, kind string, r quota.Report) {
		t.Helper()
		l, refusal := d.kindOfAPI(now, kind)
		require.Nil(t, refusal, "%v", refusal)
		r.Figures = figure("api", 50, 60*mins)
		d.done(now, l, r)
	}
	wait := func(now time.Duration, kind string) time.Duration {
		t.Helper()
		ask := &quota.Ask{Kind: func() string { return kind }, Claims: []quota.Claim{api(1)}}
		if r, _ := d.o.Check(t.Context(), d.at(now), ask); r != nil {
			return r.Wait
		}
		l, r := d.kindOfAPI(now, kind)
		require.Nil(t, r, "Check says the same")
		d.done(now, l, quota.Report{Unsent: true})
		return 0
	}
	refusal := quota.Report{Refused: true, Pause: 30 * sec}
	answer(0, "/a", refusal)
	for _, kind := range []string{"/a", "b/", "c/"} {
		assert.Equal(t, 29*sec, wait(sec, kind), kind)
	}
	answer(60*sec, "/a", refusal)
	assert.Equal(t, 30*sec, wait(60*sec, "/a"))
	assert.Equal(t, sec, wait(60*sec, "b/"), "then it looks")
	answer(61*sec, "b/", quota.Report{})
	assert.Zero(t, wait(61*sec, "b/"))
	assert.Equal(t, 29*sec, wait(61*sec, "/a"))

	answer(62*sec, "c/", refusal) // it looks, too
	assert.Equal(t, 30*sec, wait(62*sec, "c/"))
	answer(63*sec, "b/", quota.Report{Refused: true, Pause: 5 * sec})
	assert.Equal(t, 5*sec, wait(63*sec, "b/"), "a free one is held alone")
	assert.Zero(t, wait(68*sec, "b/"))
	assert.Equal(t, 24*sec, wait(68*sec, "/a"))
	assert.Equal(t, 24*sec, wait(68*sec, "c/"))
	assert.Zero(t, d.wait(68*sec, "", quota.Claim{Policy: "other", Units: 1}))

	assert.Zero(t, wait(92*sec, "/a"))
	for range 49 { // no one has to ask first
		l, r := d.kindOfAPI(92*sec, "/a")
		require.Nil(t, r)
		defer l.Release()
	}
}

// If much is left of the policy without a name, a refusal that names nothing says nothing of it: from the first
// one on it holds a limit beside it. Other kinds look, and one that is served is free of the limit, but not of
// the policy.
func TestBesideUnnamed(t *testing.T) {
	for name, c := range map[string]struct {
		told quota.Report
		want bool // others look
	}{
		"much left":       {quota.Report{Figures: figure("", 50, mins), Terms: terms("", 100, mins)}, true},
		"no quota":        {quota.Report{Figures: figure("", 50, mins)}, true},
		"a count":         {quota.Report{Terms: terms("", 100, mins)}, true},
		"three left":      {quota.Report{Figures: figure("", 3, mins), Terms: terms("", 100, mins)}, true},
		"two left":        {quota.Report{Figures: figure("", 2, mins), Terms: terms("", 100, mins)}, false},
		"a partition key": {quota.Report{Figures: figure("", 50, mins), Terms: []quota.Policy{{Quota: 100, Key: "k", Keyed: true}}}, false},
		"tokens":          {quota.Report{Figures: figure("", 50, mins), Terms: []quota.Policy{{Quota: 100, Unit: "tokens"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.answer(0, "/a", c.told, unnamed)
			d.answer(0, "/a", retryAfter(30*sec), unnamed)
			assert.False(t, d.free(999*ms, "b/", unnamed))
			assert.False(t, d.free(30*sec-ms, "/a", unnamed))
			require.Equal(t, c.want, d.free(sec, "b/", unnamed))
			if !c.want {
				return
			}
			d.answer(sec, "b/", served, unnamed)
			assert.True(t, d.free(sec, "b/", unnamed))
			d.answer(sec, "c/", retryAfter(29*sec), unnamed)
			assert.False(t, d.free(2*sec, "c/", unnamed), "it is refused, too")
			assert.False(t, d.free(2*sec, "/a", unnamed))
			d.answer(3*sec, "b/", quota.Report{Figures: figure("", 0, mins)}, unnamed)
			assert.False(t, d.free(4*sec, "b/", unnamed), "it is not free of the policy")
			assert.False(t, d.free(40*sec, "/a", unnamed))
		})
	}
}

// After each hold one request asks first, as where the server tells nothing.
func TestBesideUnnamedAsksFirst(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", quota.Report{Figures: figure("", 50, 60*mins), Terms: terms("", 100, 60*mins)}, unnamed)
	d.answer(0, "/a", retryAfter(30*sec), unnamed)
	for i := range 3 {
		now := time.Duration(i+1) * 30 * sec
		first, _ := d.kindOf(now, "/a", unnamed)
		require.NotNil(t, first)
		assert.False(t, d.free(now, "/a", unnamed), i)
		d.done(now, first, served)
		for range 6 {
			d.answer(now, "/a", served, unnamed)
		}
		d.answer(now, "/a", retryAfter(30*sec), unnamed)
	}
}

// Under steady load, what was learned is forgotten as well once no such refusal has come for ten minutes.
// The next one is the first again.
func TestBesideIsForgottenUnderLoad(t *testing.T) {
	d := newDesk(t)
	said := quota.Report{Figures: figure("api", 50, 2*60*mins)}
	refusal := said
	refusal.Refused, refusal.Pause = true, sec
	d.exchange(0, "", said, api(1))
	with := d.sendAll(2, 0, "", api(1))
	for i := range 2 {
		at := time.Duration(2*i+1) * sec
		d.exchange(at, "", refusal, api(1))
		for _, l := range with {
			d.done(at+ms, l, refusal)
		}
		with = nil
	}
	d.exchange(5*sec, "", said, api(1)) // a slow start
	last := 3 * sec                     // arrival of the last refusal
	first := d.send(last+5*mins, "", api(1))
	second := d.send(last+10*mins-ms, "", api(1)) // something is always in flight
	third, _ := d.kindOfAPI(last+10*mins-ms, "/a")
	d.done(last+10*mins-ms, first, said)
	assert.Equal(t, 1, d.more(last+10*mins-ms, "", api(1)))

	now := last + 10*mins
	d.done(now, second, said)
	assert.Equal(t, 48, d.more(now, "", api(1)))

	refusal.Pause = 30 * sec
	d.done(now, third, refusal)
	_, r := d.kindOfAPI(now, "b/")
	require.NotNil(t, r)
	assert.Equal(t, 30*sec, r.Wait, "it is the first again, and holds all")
}

// What is served of another kind does not show that what was refused is not a limit.
func TestBesideCountsTheKind(t *testing.T) {
	for _, c := range []struct {
		other string
		want  int
	}{{"b/", 1}, {"/a", 50}} {
		d := newDesk(t)
		said := quota.Report{Figures: figure("api", 50, 2*60*mins)}
		refusal := said
		refusal.Refused, refusal.Pause = true, sec
		send := func(now time.Duration, kind string) *quota.Lease {
			l, r := d.kindOfAPI(now, kind)
			require.Nil(t, r)
			return l
		}
		d.done(0, send(0, "/a"), said)
		var with, kept []*quota.Lease
		for range 3 {
			with, kept = append(with, send(0, "/a")), append(kept, send(0, c.other))
		}
		for i := range with {
			d.done(sec+ms, with[i], refusal)
			d.done(sec+2*ms, kept[i], said)
		}
		d.done(3*sec, send(3*sec, "/a"), refusal)
		n := 0
		for l, r := d.kindOfAPI(5*sec, "/a"); r == nil && n < 1000; l, r = d.kindOfAPI(5*sec, "/a") {
			defer l.Release()
			n++
		}
		assert.Equal(t, c.want, n, "%s is served", c.other)
	}
}

// A refusal that says nothing, although the figures in force say that much is left, is of a limit beside them, too.
// After the second one that departed after the back-off of the first, work goes on in a slow start.
func TestBesideOfBareRefusals(t *testing.T) {
	const window = 2 * time.Hour
	for name, c := range map[string]struct {
		policy   string
		left     int64
		refusals int
		first    quota.Report // what is told beside the refusals
		want     int          // how many go after the one that is served after the last back-off
	}{
		"one":                  {left: 1000, refusals: 1, want: 100},
		"two":                  {left: 1000, refusals: 2, want: 2},
		"of a name":            {policy: "api", left: 1000, refusals: 2, want: 2},
		"two with Retry-After": {left: 1000, refusals: 2, first: quota.Report{Pause: sec}, want: 2},
		"one is left":          {left: 2, refusals: 2, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			said := func(left int64) quota.Report { return quota.Report{Figures: figure(c.policy, left, window)} }
			claims := []quota.Claim{{Policy: c.policy, Units: 1}}
			d.exchange(0, "", said(c.left), claims...)
			now := sec
			for range c.refusals {
				r := c.first
				r.Refused = true
				d.exchange(now, "", r, claims...)
				now += d.wait(now, "", claims...)
			}
			left := c.left - 1
			d.exchange(now, "", said(left), claims...)
			n := 0
			for ; n < 100; n++ {
				if _, r := d.try(now+ms, "", claims...); r != nil {
					break
				}
			}
			assert.Equal(t, c.want, n)
		})
	}
}

// A server that tells the quota of a day, and refuses what is more than 20 in 10 s without a field, is
// sent 20 in a time that its back-offs show.
func TestBareQuotaBesideIsInferred(t *testing.T) {
	d := newDesk(t)
	day, left, end, refused, served := int64(20_000), 20, time.Duration(0), 0, 0
	var sent []*quota.Lease
	var claims []quota.Claim
	var last []int // refused, in each two minutes
	for now := time.Duration(0); now < 12*mins; now += 50 * ms {
		if now >= end && len(sent) > 0 { // a window begins with a request
			left, end = 20, now+10*sec
		}
		for _, l := range sent { // a round trip later
			r := quota.Report{Refused: true}
			if left > 0 {
				left, day, served = left-1, day-1, served+1
				r = quota.Report{Figures: figure("", day, 3*time.Hour-now)}
			} else {
				refused++
			}
			d.done(now, l, r)
			claims = []quota.Claim{unnamed}
		}
		sent = nil
		for len(sent) < 50 {
			l, r := d.try(now, "", claims...)
			if r != nil {
				break
			}
			sent = append(sent, l)
		}
		if (now+50*ms)%(2*mins) == 0 {
			last, refused = append(last, refused), 0
		}
	}
	assert.Equal(t, []int{52, 3, 3, 7, 4, 0}, last)
	assert.Equal(t, 1340, served, "of 1440")
}
