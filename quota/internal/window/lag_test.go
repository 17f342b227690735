package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A request that departs after a window is refused and told when to come back: that costs a window. So the next one that
// departs after a window waits for a unit, then for two, four, … A window that begins with half of the quota ends that.
func TestLag(t *testing.T) {
	const q = 20
	for _, tt := range []struct {
		name       string
		units      int64
		length     time.Duration
		again      time.Duration
		resets     int64
		but        func(*Window)
		want, last time.Duration // after one such refusal, and after nine
	}{
		{name: "half a second", units: q, length: 10 * sec, again: 10 * sec, want: sec / 2, last: 5 * sec},
		{name: "no more than half of a window", units: 4, length: 12 * sec, again: 12 * sec, want: 3 * sec, last: 6 * sec},
		{name: "no Retry-After", units: q, length: 10 * sec},
		{name: "one that is over before a unit is back", units: 10, length: 40 * sec, again: 3 * sec},
		{name: "no more than 16 units", units: 100, length: 10 * sec, again: 10 * sec, want: sec / 10, last: 16 * sec / 10},
		{name: "seconds do not show a short window", units: q, length: 2 * sec, again: 2 * sec},
		{name: "an instant does", units: q, length: 2 * sec, again: 2 * sec, resets: 1_000, want: sec / 10, last: sec},
		{name: "others", units: q, length: 10 * sec, again: 10 * sec, but: func(w *Window) { w.contention.ours, w.contention.fall = 50, 100 }},
		{name: "it was a trial", units: q, length: 10 * sec, again: 10 * sec, but: func(w *Window) { w.refill.trying = true }},
		{name: "no habits", units: q, length: 10 * sec, again: 10 * sec, but: func(w *Window) { w.Strategy = Plain }},
		{name: "of the window before", units: q, length: 10 * sec, again: 10 * sec, but: func(w *Window) { w.closed += Instant(5 * sec) }},
		{name: "of the same window", units: q, length: 10 * sec, again: 10 * sec, but: func(w *Window) { w.due += Instant(10 * sec) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := Window{Strategy: Adaptive, State: Expired, Unit: Requests, Quota: tt.units, Length: tt.length, epoch: 2, end: Never}
			s := Server{Most: tt.units}
			observe := func(refused bool, found int64) {
				w.closed = w.due
				sent := w.due.Add(w.lag())
				if tt.but != nil {
					tt.but(&w)
				}
				w.observeLag(sent, sent.Add(tt.length), &Figure{Again: tt.again, Resets: tt.resets}, found, refused, &s)
				w.refill.trying, w.Strategy = false, Adaptive
				w.due = sent.Add(tt.length)
			}
			for range 2 {
				observe(false, tt.units)
				assert.Zero(t, w.lag())
			}
			observe(true, 0)
			assert.Equal(t, tt.want, w.lag())
			for range 8 {
				observe(true, 0)
			}
			assert.Equal(t, tt.last, w.lag())
			w.due += Instant(tt.length)
			observe(false, tt.units/2-1)
			assert.Equal(t, tt.last, w.lag(), "one that found less than half")
			w.closed = w.due
			late := w.due.Add(2*tt.last + sec)
			w.observeLag(late, late.Add(tt.length), &Figure{}, tt.units, false, &s)
			assert.Equal(t, tt.last, w.lag(), "one that departed long after the window")
			w.refill.trying = true
			assert.Zero(t, w.lag(), "a trial departs before the end")
			w.refill.trying = false
			w.Hold = w.due
			observe(false, tt.units)
			assert.Equal(t, tt.last, w.lag(), "nothing departed in the window before")
			w.Hold = 0
			observe(false, tt.units/2)
			assert.Zero(t, w.lag())
		})
	}
}

// The end of a window that is used up is later by that, and no other.
func TestLagPutsOffTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		avail int64
		but   func(*ledger)
		want  time.Duration
	}{
		"used up":                 {want: 10*sec + sec/2},
		"something is left":       {avail: 1, want: 10 * sec},
		"there is no such window": {but: func(l *ledger) { l.rare.spent.lags = 0 }, want: 10 * sec},
	} {
		l := newLedger(Adaptive)
		all(advertises(20, 10*sec), send("a"))(l, 0)
		l.ownSpent().lags = 1
		if tt.but != nil {
			tt.but(l)
		}
		says("a", tt.avail, 10*sec)(l, 0)
		assert.InDelta(t, tt.want, time.Duration(l.end), float64(ms), name)
		assert.Equal(t, Instant(10*sec), l.due, name)
	}
	for _, length := range []time.Duration{10 * sec, -1} {
		l := newLedger(Adaptive)
		all(advertises(20, 10*sec), later, send("a", "b"))(l, 0)
		all(says("a", 19, 5*sec), says("b", 0, 5*sec))(l, Instant(ms))
		all(send("c"))(l, Instant(6*sec))
		c := l.land("c")
		l.Answered(c, true)
		l.Report(Instant(6*sec+ms), c.Sent, Figure{Window: length, Again: 10 * sec}, true, &l.server)
		assert.Equal(t, length > 0, l.lag() > 0, "an answer that does not say when the window is over: %v", length)
	}
}

// A trial that is refused for much longer than a unit takes makes later ones wait for twice as long.
func TestDearTrials(t *testing.T) {
	for name, tt := range map[string]struct {
		again time.Duration
		units int64 // in ten seconds; 0: 20
		cost  int64
		but   func(*Window)
		want  bool
	}{
		"a window":        {again: 10 * sec, want: true},
		"a few units":     {again: 4 * sec, units: 10},
		"two seconds":     {again: 2 * sec, units: 100},
		"more at a time":  {again: 10 * sec, cost: 2},
		"others":          {again: 10 * sec, but: func(w *Window) { w.contention.ours, w.contention.fall = 50, 100 }},
		"in the window":   {again: 10 * sec, but: func(w *Window) { w.State = Reported }},
		"it was no trial": {again: 10 * sec, but: func(w *Window) { w.refill.trying, w.due = false, Instant(sec) }},
	} {
		if tt.units == 0 {
			tt.units = 20
		}
		w := Window{Strategy: Adaptive, State: Expired, Unit: Requests, Quota: tt.units, Length: 10 * sec, epoch: 2, end: Never, refill: refill{trying: true}}
		if tt.but != nil {
			tt.but(&w)
		}
		w.observeLag(0, Instant(sec), &Figure{Again: tt.again, Charge: Charge{Units: tt.cost}}, 0, true, new(Server))
		assert.Equal(t, tt.want, w.isDear(), name)
	}
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 10, mins)
	l.epoch = 1
	tries := func() Instant {
		l.due, l.refill.skip, l.refill.trying = Never, 0, false
		return l.observeRefill(0, 0, mins, false, new(Server))
	}
	assert.Equal(t, Instant(6*sec), tries())
	l.ownSpent().dear = true
	assert.Equal(t, Instant(12*sec), tries())
	l.ownRare().pace = twice
	assert.Equal(t, Instant(12*sec), tries(), "it was found to be as long")
	l.rare.pace = 0
	l.contention.ours, l.contention.fall = 99, 100
	assert.Less(t, tries(), Instant(7*sec), "others use it, too")
	l.contention = contention{}
	l.SetPolicy(Requests, 100, mins)
	assert.Equal(t, Instant(600*ms), tries(), "the policy says how long a unit takes")
}
