package quota_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// kindOf sends work of a kind at once, or returns the refusal.
func (d *desk) kindOf(now time.Duration, kind string, cs ...quota.Claim) (*quota.Lease, *quota.Refusal) {
	d.t.Helper()
	d.now = now
	l := new(quota.Lease)
	ask := &quota.Ask{Kind: func() string { return kind }, Claims: cs, MaxDelay: quota.NoDelay}
	if err := d.o.Admit(d.t.Context(), d.at(now), ask, l); err != nil {
		return nil, err.(*quota.Refusal)
	}
	return l, nil
}

// answer sends work of a kind that is answered at once.
func (d *desk) answer(now time.Duration, kind string, r quota.Report, cs ...quota.Claim) {
	d.t.Helper()
	l, refusal := d.kindOf(now, kind, cs...)
	require.Nil(d.t, refusal, "%v: %s is held: %v", now, kind, refusal)
	d.done(now, l, r)
}

// free reports whether work of a kind may go.
func (d *desk) free(now time.Duration, kind string, cs ...quota.Claim) bool {
	d.t.Helper()
	r, _ := d.o.Check(d.t.Context(), d.at(now), &quota.Ask{Kind: func() string { return kind }, Claims: cs})
	return r == nil
}

func retryAfter(pause time.Duration) quota.Report { return quota.Report{Refused: true, Pause: pause} }

var served = quota.Report{}

// A refusal holds all kinds. One that was not refused looks after a second; if it is
// served, it is free.
func TestLookFrees(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(30*sec))
	assert.False(t, d.free(999*ms, "b/"))
	r, waits := d.o.Check(t.Context(), d.at(999*ms), &quota.Ask{Kind: func() string { return "b/" }})
	require.NotNil(t, r)
	assert.True(t, waits)
	assert.True(t, r.Inferred)
	assert.Equal(t, quota.ReasonRetryAfter, r.Reason)
	assert.Equal(t, ms, r.Wait, "until it looks")
	assert.Equal(t, 29*sec+ms, r.RetryAfter)

	look, _ := d.kindOf(sec, "b/")
	require.NotNil(t, look)
	probe, _ := look.Probe()
	assert.True(t, probe)
	assert.False(t, d.free(sec, "b/"), "one look at a time")
	d.done(sec, look, served)
	for range 100 {
		d.answer(sec, "b/", served)
	}
	assert.False(t, d.free(29*sec, "/a"))
	d.answer(30*sec, "/a", served)
}

// The answer to a look may name another scope. That says nothing of the limit that it looked at: its price is as
// before, and another look may go.
func TestLookOfAnotherScope(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(30*sec))
	look, _ := d.kindOf(sec, "b/")
	require.NotNil(t, look)
	assert.False(t, d.free(sec, "c/"), "one look at a time")
	d.done(1100*ms, look, quota.Report{Scope: "other", Refused: true, Pause: 9 * sec, Figures: figure("api", 0, 5*sec)})

	assert.True(t, d.free(1100*ms, "c/"))
	assert.Equal(t, 9*sec, d.wait(1100*ms, "other", api(1)))
	assert.False(t, d.has("api"), "in the scope that it departed in")
	d.answer(30*sec, "/a", served)
}

// Each look that is refused makes the next one dearer, but for the first of kinds that were not refused before.
func TestLooksBecomeDearer(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(time.Hour))
	at := sec
	cheap := slices.Repeat([]time.Duration{250 * ms}, 8) // of kinds that were not refused before
	for i, price := range append(cheap, 250*ms, 500*ms, sec, 2*sec, 4*sec, 8*sec) {
		d.answer(at, fmt.Sprint(i, "/"), retryAfter(time.Hour-at))
		assert.False(t, d.free(at+price-ms, "other/"))
		at += price
	}
	// One that makes the hold longer makes it dearest.
	d.answer(at, "x/", retryAfter(2*time.Hour))
	assert.False(t, d.free(at+10*mins-ms, "other/"))
	assert.True(t, d.free(at+10*mins, "other/"))
	d.answer(at+10*mins, "y/", served)
	assert.True(t, d.free(at+10*mins, "other/"), "one was free")
}

// A Retry-After is in whole seconds. So the one of a look may end a little later than the hold that was
// looked into: then it holds the kind of the look, and the others go when they were told to.
func TestLookEndsALittleLater(t *testing.T) {
	for _, c := range []struct {
		hold, look, pause, want time.Duration
		free                    bool // another kind is
	}{
		{hold: 10 * sec, look: 1900 * ms, pause: 9 * sec, want: 10 * sec},
		{hold: 10 * sec, look: 1500 * ms, pause: 10 * sec, want: 10 * sec},
		{hold: 10 * sec, look: 1501 * ms, pause: 10 * sec, want: 11501 * ms},             // the hold is longer
		{hold: 10 * sec, look: 1500 * ms, pause: 10 * sec, want: 11500 * ms, free: true}, // limits may be of one kind each
		{hold: 4 * sec, look: sec, pause: 4 * sec, want: 4 * sec},
		{hold: 4*sec - ms, look: sec, pause: 4 * sec, want: 5 * sec}, // of a short one, a second is too much
	} {
		d := newDesk(t)
		d.answer(0, "/a", retryAfter(c.hold))
		if c.free {
			d.answer(sec, "free/", served)
		}
		d.answer(c.look, "b/", retryAfter(c.pause))
		assert.False(t, d.free(c.want-ms, "/a"), "%v", c)
		assert.True(t, d.free(c.want, "/a"), "%v", c)
		assert.False(t, d.free(c.look+c.pause-ms, "b/"), "%v", c)
		assert.True(t, d.free(c.look+c.pause, "b/"), "%v", c)
	}
}

// In a back-off, whose length is our own, a look that is served proves nothing by
// itself: the window may be over. A kind that was refused tells.
func TestParole(t *testing.T) {
	for name, tt := range map[string]struct {
		a    quota.Report
		free bool
	}{
		"refused again":       {quota.Report{Refused: true}, true},
		"the window was over": {served, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.answer(0, "a/", quota.Report{Refused: true})
			assert.False(t, d.free(249*ms, "b/"))
			d.answer(250*ms, "b/", served)
			d.answer(260*ms, "a/", tt.a)
			if !tt.free {
				d.answer(270*ms, "a/", quota.Report{Refused: true})
			}
			assert.Equal(t, tt.free, d.free(280*ms, "b/"))
			assert.False(t, d.free(280*ms, "a/"))
		})
	}
}

// After a back-off, the kind that was refused goes before the others.
func TestRefusedKindGoesFirst(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "a/", quota.Report{Refused: true})
	d.answer(250*ms, "b/", quota.Report{Refused: true})
	assert.False(t, d.free(sec, "c/"))
	assert.True(t, d.free(sec, "a/"))
	assert.True(t, d.free(sec+100*ms, "c/"), "or nobody does")
}

// The quota of a kind that has a limit of its own may be inferred for too long a window. No other kind
// looks there, so its own requests do.
func TestKindsOwnWindowIsShortened(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "a/", quota.Report{Refused: true})
	d.answer(250*ms, "b/", served)
	d.answer(260*ms, "a/", quota.Report{Refused: true})
	require.True(t, d.free(280*ms, "b/"))

	window, until, left := 40*sec, time.Duration(0), 0
	count := func(from, to time.Duration) (n int) {
		for now := from; now < to; now += 100 * ms {
			var out []*quota.Lease
			for l, r := d.kindOf(now, "b/"); r == nil && len(out) < 20; l, r = d.kindOf(now, "b/") {
				out = append(out, l)
			}
			for _, l := range out {
				if now >= until {
					until, left = now+window, 10
				}
				if left--; left < 0 {
					d.done(now+10*ms, l, quota.Report{Refused: true})
					continue
				}
				d.done(now+10*ms, l, served)
				n++
			}
		}
		return n
	}
	count(sec, 5*mins)
	before := count(5*mins, 10*mins)
	window = 5 * sec
	count(10*mins, 15*mins)
	assert.Equal(t, []int{80, 570}, []int{before, count(15*mins, 20*mins)})
}

// A kind that is free and is refused has a limit of its own, unless it was not served in
// a hold that ends at the same time.
func TestLimitsOfTheirOwn(t *testing.T) {
	free := func(d *desk, kinds ...string) {
		d.answer(0, "/a", retryAfter(10*sec))
		for _, k := range kinds {
			d.answer(sec, k, served)
		}
	}
	t.Run("of one kind", func(t *testing.T) {
		d := newDesk(t)
		free(d, "b/", "c/")
		d.answer(2*sec, "b/", retryAfter(20*sec))
		assert.False(t, d.free(21*sec, "b/"))
		assert.True(t, d.free(3*sec, "c/"))
		assert.True(t, d.free(10*sec, "/a"))
	})
	t.Run("shared", func(t *testing.T) {
		d := newDesk(t)
		free(d, "b/", "c/", "d/")
		l, _ := d.kindOf(2*sec, "c/")
		d.answer(2*sec, "b/", retryAfter(20*sec))
		d.done(2*sec+50*ms, l, retryAfter(20*sec)) // c belongs to b's
		d.answer(3*sec, "d/", served)
		for _, k := range []string{"b/", "c/"} {
			d.answer(22*sec+60*ms, k, served)
		}
		d.answer(23*sec, "b/", retryAfter(20*sec))
		assert.False(t, d.free(23*sec+ms, "c/"), "held with b")
		assert.True(t, d.free(23*sec+ms, "d/"))
	})
	t.Run("at the same time by chance", func(t *testing.T) {
		d := newDesk(t)
		free(d, "b/", "c/")
		d.answer(2*sec, "b/", retryAfter(20*sec))
		d.answer(3*sec, "c/", served)
		d.answer(4*sec, "c/", retryAfter(18*sec))
		d.answer(22*sec, "c/", served)
		d.answer(22*sec, "b/", retryAfter(20*sec))
		assert.True(t, d.free(22*sec+ms, "c/"))
	})
	t.Run("a Retry-After that ends earlier", func(t *testing.T) {
		d := newDesk(t)
		b, _ := d.kindOf(0, "b/")
		d.answer(0, "/a", retryAfter(30*sec))
		d.done(ms, b, served)
		late, _ := d.kindOf(sec, "c/")
		d.done(sec, late, retryAfter(5*sec))
		assert.False(t, d.free(5*sec, "c/"))
		assert.True(t, d.free(6*sec, "c/"))
		assert.False(t, d.free(7*sec, "/a"))
	})
}

// A Retry-After holds the kind that it was sent to, even if another request has shown
// meanwhile that the kind is free.
func TestRetryAfterHoldsItsKind(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(30*sec))
	d.answer(sec, "b/", served)
	first, _ := d.kindOf(2*sec, "c/")
	second, _ := d.kindOf(2*sec, "c/")
	d.done(2*sec+ms, first, served)
	assert.True(t, d.free(2*sec+ms, "c/"))
	d.done(3*sec, second, retryAfter(20*sec))
	assert.False(t, d.free(23*sec-ms, "c/"))
	assert.True(t, d.free(23*sec, "c/"))
}

// Under a longer hold of all kinds, a kind whose own Retry-After has passed may look. Until
// then it is told when, and its line looks again then.
func TestLookAfterOwnRetryAfter(t *testing.T) {
	d := newDesk(t)
	first, _ := d.kindOf(0, "/a")
	second, _ := d.kindOf(0, "b/")
	d.done(sec, first, retryAfter(8*sec))
	d.done(2*sec, second, retryAfter(28*sec))
	_, r := d.kindOf(2*sec, "/a")
	require.NotNil(t, r)
	assert.Equal(t, 7*sec, r.Wait)
	assert.False(t, d.free(9*sec-ms, "/a"))
	assert.True(t, d.free(9*sec, "/a"))
	assert.False(t, d.free(9*sec, "b/"))
}

// A kind that was told to come back in a second does so, although another kind, which looked
// meanwhile, was told to come back in a minute. That makes looks of other kinds dear.
func TestOwnRetryAfterIsShorter(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(sec))
	d.answer(sec/4, "b/", retryAfter(60*sec))
	assert.False(t, d.free(sec, "/a"), "not at once: the limit may be one")
	_, r := d.kindOf(sec, "/a")
	require.NotNil(t, r)
	assert.Less(t, r.Wait, 2*sec)
	at := sec + r.Wait
	d.answer(at, "/a", served)
	for range 10 {
		d.answer(at, "/a", served)
	}
	assert.False(t, d.free(at, "b/"))
	assert.False(t, d.free(60*sec, "b/"))
	d.answer(sec/4+60*sec, "b/", served)
}

// Work that would be refused because it does not wait so long looks at once, if its kind was never refused and no
// other look is out: else it would come back at the end of each hold, and be held by the next one.
func TestLookInsteadOfRefusal(t *testing.T) {
	d := newDesk(t)
	look := func(now time.Duration, kind string, most time.Duration) (l *quota.Lease, waits bool) {
		t.Helper()
		ask := &quota.Ask{Kind: func() string { return kind }, MaxDelay: most}
		r, waits := d.o.Check(t.Context(), d.at(now), ask)
		if waits {
			return nil, true
		}
		l = new(quota.Lease)
		err := d.o.Admit(t.Context(), d.at(now), ask, l)
		require.Equal(t, r == nil, err == nil, "Check says the same")
		if err != nil {
			return nil, false
		}
		probe, _ := l.Probe()
		assert.True(t, probe)
		return l, false
	}
	goes := func(now time.Duration, kind string) *quota.Lease {
		t.Helper()
		l, _ := look(now, kind, quota.NoDelay)
		return l
	}
	d.answer(0, "/a", retryAfter(30*sec))
	assert.Nil(t, goes(0, "/a"))
	_, waits := look(0, "b/", sec)
	assert.True(t, waits, "it has the time to wait for its look")
	short, _ := look(0, "b/", sec-ms)
	require.NotNil(t, short)
	assert.Nil(t, goes(0, "b/"), "one look at a time")
	assert.Nil(t, goes(0, "c/"))
	d.done(ms, short, served)
	d.answer(ms, "b/", served) // it is free

	c := goes(ms, "c/")
	require.NotNil(t, c)
	d.done(2*ms, c, retryAfter(30*sec))
	assert.Nil(t, goes(2*ms, "c/"), "it was refused")
	assert.Nil(t, goes(251*ms, "d/"), "the next look has its price")
	d.done(252*ms, goes(252*ms, "d/"), served)
	d.answer(31*sec, "/a", served)
	d.answer(31*sec, "/a", retryAfter(30*sec))
	assert.Nil(t, goes(31*sec, "c/"), "it was refused once")
	assert.NotNil(t, goes(31*sec, "e/"))
}

// Where the policy without a name is advertised, its quota is that of all kinds. If little is left of it, so
// is a refusal that names nothing.
func TestKindsOfAdvertisedQuota(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", quota.Report{Figures: []quota.Figure{{Available: 2, Window: mins}}})
	d.answer(0, "/a", retryAfter(30*sec))
	assert.False(t, d.free(5*sec, "b/"))
	// And kinds are forgotten once it is.
	e := newDesk(t)
	e.answer(0, "/a", retryAfter(30*sec))
	e.answer(sec, "b/", served)
	e.answer(2*sec, "b/", quota.Report{Figures: []quota.Figure{{Available: 0, Window: mins}}})
	assert.False(t, e.free(3*sec, "b/"))
	assert.False(t, e.free(3*sec, "c/"))
}

// What was learned of kinds is forgotten when no refusal has come for ten minutes.
func TestKindsAreForgotten(t *testing.T) {
	d := newDesk(t)
	kinds := func(now time.Duration, keys bool) []string {
		return accountOf(d.snapshotAt(now, quota.SnapshotOptions{Keys: keys}), "", quota.Claim{}).Learned
	}
	d.answer(0, "/a", retryAfter(5*sec))
	d.answer(sec, "b/", served)
	assert.Equal(t, []string{"round trip 0s (±0s)", "its refusals concern /a", "its refusals do not concern b/"}, kinds(sec, true))
	assert.Equal(t, []string{"round trip 0s (±0s)", "its refusals concern 1 kind of requests", "its refusals do not concern 1 kind of requests"}, kinds(sec, false))
	d.answer(10*mins-ms, "b/", served)
	assert.Contains(t, kinds(10*mins, true), "its refusals do not concern b/")
	d.answer(10*mins, "b/", served)
	assert.Equal(t, []string{"round trip 0s (±0s)"}, kinds(10*mins, true))
	assert.Zero(t, d.o.Kinds())
}

// What is kept of kinds is bounded, and a kind that is free is kept longest.
func TestKindsAreBounded(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(time.Hour))
	d.answer(sec, "free/", served)
	for i := range 1000 {
		if l, _ := d.kindOf(sec, fmt.Sprint("/users/", i)); l != nil {
			d.done(sec, l, retryAfter(time.Hour-sec))
		}
	}
	assert.LessOrEqual(t, d.o.Kinds(), quota.MaxKinds)
	assert.True(t, d.free(2*sec, "free/"))
	// Limits of their own are bounded, too.
	for i := range 3 * quota.MaxParts {
		k := fmt.Sprint("free/", i)
		now := 10*sec + time.Duration(i)*10*sec
		if l, _ := d.kindOf(now, k); l != nil {
			d.done(now, l, served)
			d.answer(now, k, retryAfter(time.Hour+time.Duration(i)*10*sec))
		}
	}
	assert.LessOrEqual(t, len(d.snapshot().Accounts), 1+quota.MaxParts)
	// And an origin's.
	e := newDesk(t)
	for i := range 200 {
		l := new(quota.Lease)
		for k := range 30 {
			ask := &quota.Ask{Scope: fmt.Sprint(i), Kind: func() string { return fmt.Sprint(k) }, Force: true}
			require.NoError(t, e.o.Admit(t.Context(), e.at(0), ask, l))
			e.done(0, l, retryAfter(mins))
		}
	}
	assert.Equal(t, quota.MaxOriginKinds, e.o.Kinds())
	e.o.EvictAll()
	assert.Zero(t, e.o.Kinds())
}

// Limits of kinds that were evicted make room for others.
func TestEvictedLimitsMakeRoom(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "/a", retryAfter(5*mins))
	for i := range quota.MaxParts {
		at, k := time.Duration(i+1)*10*sec, fmt.Sprint("free", i, "/")
		d.answer(at, k, served) // a look
		d.answer(at, k, retryAfter(mins))
	}
	assert.Len(t, d.snapshot().Accounts, 1+quota.MaxParts)
	const later = 30 * mins
	for at := 5 * mins; at <= later; at += 5 * mins { // or kinds would be forgotten
		d.answer(at, "/a", retryAfter(sec))
	}
	d.tick(later + 2*sec)
	again := d.now + sec
	d.answer(again, "/a", retryAfter(mins))
	d.answer(again+2*sec, "new/", served)
	before := len(d.snapshot().Accounts)
	assert.Less(t, before, quota.MaxParts, "they were evicted")
	d.answer(again+2*sec, "new/", retryAfter(mins))
	assert.Len(t, d.snapshot().Accounts, before+1, "new/ has a limit of its own")
}

// Work waits in the line of its kind, so that a look does not wait behind others.
func TestLookGoesBeforeOthersInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.answer(0, "/a", retryAfter(30*sec))
		went := make(chan time.Duration, 20)
		wait := func(kind string) {
			l := new(quota.Lease)
			ask := &quota.Ask{Kind: func() string { return kind }}
			require.NoError(t, d.o.Admit(t.Context(), time.Now(), ask, l))
			if kind == "b/" {
				went <- time.Since(d.begin)
			}
			time.Sleep(50 * ms)
			d.o.Settle(time.Now(), l, &quota.Report{})
			l.Release()
		}
		for range 10 {
			go wait("/a")
		}
		synctest.Wait()
		assert.Equal(t, 10, d.snapshotAt(0, quota.SnapshotOptions{}).InLine)
		for range 3 {
			go wait("b/")
		}
		time.Sleep(2 * sec)
		synctest.Wait()
		require.Len(t, went, 3)
		assert.Equal(t, []time.Duration{sec, sec + 50*ms, sec + 50*ms}, []time.Duration{<-went, <-went, <-went})
		time.Sleep(mins)
		synctest.Wait()
		assert.Empty(t, d.o.Leftovers())
	})
}
