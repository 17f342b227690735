package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A drySpell is a quota of 100 in two hours of which nothing is left from the first answer on.
type drySpell struct{ *desk }

const dryFor = 2 * time.Hour

func newDrySpell(t *testing.T) drySpell {
	d := drySpell{newDesk(t)}
	d.exchange(0, "", d.zero(0), api(1))
	d.more(ms, "", api(1))
	return d
}

// zero says at now that nothing is left of the window.
func (d drySpell) zero(now time.Duration) quota.Report {
	return quota.Report{Terms: terms("api", 100, dryFor), Figures: figure("api", 0, dryFor-now)}
}

// force sends a request that does not ask, answered at once.
func (d drySpell) force(now time.Duration, r quota.Report) {
	l := new(quota.Lease)
	require.NoError(d.t, d.o.Admit(d.t.Context(), d.at(now), &quota.Ask{Claims: []quota.Claim{api(1)}, Force: true}, l))
	d.done(now+ms, l, r)
}

// goes is how many requests may depart together.
func (d drySpell) goes(now time.Duration) int { return d.more(now, "", api(1)) }

func TestSoftQuota(t *testing.T) {
	refusal := func(r quota.Report) quota.Report {
		r.Refused = true
		return r
	}
	for name, tt := range map[string]struct {
		forced []time.Duration // requests that do not ask
		answer func(d drySpell, now time.Duration) quota.Report
		soft   bool
		after  int // departures after that
	}{
		"one after a minute":          {forced: []time.Duration{5 * mins}, soft: true, after: 2},
		"two at once":                 {forced: []time.Duration{sec, 2 * sec}, after: 0},
		"three at once":               {forced: []time.Duration{sec, 2 * sec, 3 * sec}, soft: true, after: 2},
		"five at once":                {forced: []time.Duration{sec, 2 * sec, 3 * sec, 4 * sec, 5 * sec}, soft: true, after: 2},
		"six at once":                 {forced: []time.Duration{sec, 2 * sec, 3 * sec, 4 * sec, 5 * sec, 6 * sec}, soft: true, after: 3},
		"a unit takes 72 s":           {forced: []time.Duration{17 * sec, 34 * sec, 51 * sec}, soft: true, after: 2},
		"and may come sooner":         {forced: []time.Duration{19 * sec, 38 * sec, 57 * sec}, after: 0},
		"a unit may have come back":   {forced: []time.Duration{80 * sec}, after: 1},
		"and it had not":              {forced: []time.Duration{80 * sec, 81 * sec}, soft: true, after: 2},
		"and sooner it is not looked": {forced: []time.Duration{30 * sec}, after: 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrySpell(t)
			now := time.Duration(0)
			for _, now = range tt.forced {
				d.force(now, d.zero(now))
			}
			assert.Equal(t, tt.after, d.goes(now+10*ms))
			if learned := d.known("", api(1)).Learned; tt.soft {
				assert.Contains(t, learned, "not enforced: requests are served when nothing is left")
			} else {
				assert.NotContains(t, learned, "not enforced: requests are served when nothing is left")
			}
		})
	}
	for name, answer := range map[string]func(d drySpell, r quota.Report) quota.Report{
		"another window":   func(_ drySpell, r quota.Report) quota.Report { r.Figures[0].Window += 2 * sec; return r },
		"something left":   func(_ drySpell, r quota.Report) quota.Report { r.Figures[0].Available = 1; return r },
		"a failure":        func(_ drySpell, r quota.Report) quota.Report { r.Failed = true; return r },
		"a refusal":        func(_ drySpell, r quota.Report) quota.Report { return refusal(r) },
		"a bare refusal":   func(drySpell, quota.Report) quota.Report { return quota.Report{Refused: true} },
		"an unsure answer": func(_ drySpell, r quota.Report) quota.Report { r.Unsure = true; return r },
		"a pause":          func(_ drySpell, r quota.Report) quota.Report { r.Pause = sec; return r },
		"no answer":        func(drySpell, quota.Report) quota.Report { return quota.Report{Lost: true} },
		"a cached answer":  func(drySpell, quota.Report) quota.Report { return quota.Report{Unsent: true} },
	} {
		t.Run("not by "+name, func(t *testing.T) {
			d := newDrySpell(t)
			d.force(5*mins, answer(d, d.zero(5*mins)))
			assert.NotContains(t, d.known("", api(1)).Learned, "not enforced: requests are served when nothing is left")
		})
	}
}

// Many answers in a row that do not show that a request was served end a soft quota.
func TestSoftQuotaDoubted(t *testing.T) {
	d := newDrySpell(t)
	unsure := func(now time.Duration) quota.Report {
		r := d.zero(now)
		r.Unsure = true
		return r
	}
	now := 10*mins + ms
	next := func() time.Duration { now += 10 * ms; return now }
	d.exchange(now, "", d.zero(now), api(1))
	for range 15 {
		d.exchange(next(), "", unsure(now), api(1))
	}
	d.exchange(next(), "", d.zero(now), api(1))
	for range 16 {
		d.exchange(next(), "", unsure(now), api(1))
	}
	wait, _ := d.waits(next(), dryFor)
	assert.InDelta(t, 10*mins, wait, float64(sec))
}

// A look with such an answer is the last one for a day, but for those that look into any long window.
func TestLookForSoftQuotaIsUnsure(t *testing.T) {
	d := drySpell{newDesk(t)}
	terms := terms("api", 400, 5*mins)
	zero := func(now time.Duration) quota.Report {
		return quota.Report{Terms: terms, Figures: figure("api", 0, 5*mins-now%(5*mins)), Unsure: true}
	}
	for i, l := range d.sendAll(400, 0, "", api(1)) {
		d.done(ms, l, quota.Report{Terms: terms, Figures: figure("api", int64(399-i), 5*mins)})
	}
	wait, _ := d.waits(ms, dryFor)
	require.Less(t, wait, mins)
	d.exchange(wait+ms, "", zero(wait+ms), api(1))
	now := 5*mins + 2*sec
	for i, l := range d.sendAll(1, now, "", api(1)) {
		d.done(now+ms, l, quota.Report{Terms: terms, Figures: figure("api", int64(399-i), 5*mins)})
	}
	for i, l := range d.sendAll(399, now+2*ms, "", api(1)) {
		d.done(now+3*ms, l, quota.Report{Terms: terms, Figures: figure("api", int64(398-i), 5*mins)})
	}
	wait, _ = d.waits(now+3*ms, dryFor)
	assert.Greater(t, wait, 4*mins)
}

// waits is how long a request would wait with that MaxDelay, and whether it would.
func (d drySpell) waits(now, most time.Duration) (time.Duration, bool) {
	r, waits := d.o.Check(d.t.Context(), d.at(now), &quota.Ask{Claims: []quota.Claim{api(1)}, MaxDelay: most})
	if r == nil {
		return 0, true
	}
	return r.Wait, waits
}

// After many requests one looks when a sixteenth of the window has passed. If it is refused, none
// does for a day, but for those that look into any long window.
func TestLookForSoftQuota(t *testing.T) {
	for _, departed := range []int{399, 400} {
		d := drySpell{newDesk(t)}
		terms := terms("api", 400, dryFor)
		for i, l := range d.sendAll(departed, 0, "", api(1)) {
			d.done(ms, l, quota.Report{Terms: terms, Figures: figure("api", int64(departed-1-i), dryFor)})
		}
		first := 10 * mins
		if departed == 400 {
			first = dryFor/16 + ms
		}
		wait, _ := d.waits(ms, dryFor)
		require.InDelta(t, first, wait+ms, float64(2*ms), departed)
		if departed < 400 {
			continue
		}
		now := wait + ms
		look := d.send(now, "", api(1))
		r := d.zero(now)
		r.Refused = true
		d.done(now+ms, look, r)
		wait, _ = d.waits(now+ms, dryFor)
		assert.Equal(t, 10*mins, wait)
	}
}

// What comes while a look is out waits for its answer, for a second.
func TestWaitsForSoftQuota(t *testing.T) {
	d := newDrySpell(t)
	_, waits := d.waits(5*mins, sec)
	assert.False(t, waits, "no request is out")
	look := d.send(10*mins+ms, "", api(1))
	_, waits = d.waits(10*mins+2*ms, sec)
	assert.True(t, waits)
	_, waits = d.waits(10*mins+2*sec, sec)
	assert.False(t, waits, "the answer takes too long")
	d.done(10*mins+2*sec, look, d.zero(10*mins))
	assert.Equal(t, 2, d.goes(10*mins+2*sec))
	_, waits = d.waits(10*mins+2*sec, sec)
	assert.True(t, waits)
}

// After many were served with nothing left, a refusal is taken to have another reason, once for
// each 64.
func TestSoftQuotaForgives(t *testing.T) {
	for _, served := range []int{63, 64, 130} {
		d := newDrySpell(t)
		now := 10*mins + ms
		for range served {
			d.exchange(now, "", d.zero(now), api(1))
			now += ms
		}
		for refused := 0; ; refused++ {
			r := d.zero(now)
			r.Refused = true
			d.exchange(now, "", r, api(1))
			wait, _ := d.waits(now, dryFor)
			if refused == served/64 {
				assert.Equal(t, 10*mins, wait, served)
				break
			}
			require.Equal(t, sec<<refused, wait, served)
			now += wait
		}
	}
	d := newDrySpell(t)
	now := 10*mins + ms
	for range 64 {
		d.exchange(now, "", d.zero(now), api(1))
		now += ms
	}
	r := d.zero(now)
	r.Refused = true
	d.exchange(now, "", r, api(1))
	d.exchange(now+sec, "", d.zero(now+sec), api(1))
	assert.Equal(t, 2, d.goes(now+sec+ms), "served again")
}

// A refusal that says nothing of the quota ends it, too.
func TestSoftQuotaEndsWithABareRefusal(t *testing.T) {
	d := newDrySpell(t)
	d.exchange(10*mins+ms, "", d.zero(10*mins), api(1))
	require.Contains(t, d.known("", api(1)).Learned, "not enforced: requests are served when nothing is left")
	d.exchange(10*mins+2*ms, "", quota.Report{Refused: true, Pause: sec}, api(1))
	assert.NotContains(t, d.known("", api(1)).Learned, "not enforced: requests are served when nothing is left")
	wait, _ := d.waits(10*mins+3*ms, dryFor)
	assert.InDelta(t, 10*mins, wait, float64(sec))
}

// What waits in one account of a policy departs when an answer for another shows that the policy is not
// enforced.
func TestSoftQuotaOfAnotherAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(quota.Accounts).Origin("https://api.example")
		send := func(scope string, force bool) (l *quota.Lease, err error) {
			l = new(quota.Lease)
			ask := quota.Ask{Scope: scope, Claims: []quota.Claim{api(1)}, MaxDelay: 2 * time.Hour, Force: force}
			return l, o.Admit(t.Context(), time.Now(), &ask, l)
		}
		began := time.Now()
		settle := func(l *quota.Lease, left int64) {
			time.Sleep(ms)
			r := quota.Report{Terms: terms("api", 50, time.Hour), Figures: figure("api", left, time.Hour-time.Since(began).Truncate(sec))}
			o.Settle(time.Now(), l, &r)
			l.Release()
		}
		for _, scope := range []string{"a", "b"} {
			l, err := send(scope, false)
			require.NoError(t, err)
			settle(l, 0)
		}
		var waited time.Duration
		done := make(chan error)
		go func() {
			asked := time.Now()
			l, err := send("b", false)
			if waited = time.Since(asked); err == nil {
				settle(l, 0)
			}
			done <- err
		}()
		synctest.Wait()
		time.Sleep(5 * mins)
		l, err := send("a", true)
		require.NoError(t, err)
		settle(l, 0)
		require.NoError(t, <-done)
		assert.Equal(t, 5*mins+ms, waited)
	})
}

// A refusal is doubted by a figure of 0 only. Where no figure that counts is 0, it is one.
func TestRefusalWithoutAZeroIsNotDoubted(t *testing.T) {
	d := newDesk(t)
	l := new(quota.Lease)
	require.NoError(t, d.o.Admit(t.Context(), d.at(0), &quota.Ask{Claims: []quota.Claim{api(1)}}, l))
	r := quota.Report{Terms: terms("api", 100, dryFor), Figures: figure("api", 5, dryFor), Refused: true, Unsure: true}
	d.o.Settle(d.at(ms), l, &r)
	assert.True(t, r.Refused)
}
