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
		{name: "one that is over with the unit", units: q, length: 40 * sec, again: 2 * sec},
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
			w.Hold = w.due
			observe(false, tt.units)
			assert.Equal(t, tt.last, w.lag(), "nothing departed in the window before")
			w.Hold = 0
			observe(false, tt.units/2)
			assert.Zero(t, w.lag())
		})
	}
}

// A trial that is refused for much longer than a unit takes makes later ones wait for twice as long.
func TestDearTrials(t *testing.T) {
	for name, tt := range map[string]struct {
		again time.Duration
		cost  int64
		but   func(*Window)
		want  bool
	}{
		"a window":        {again: 10 * sec, want: true},
		"a few units":     {again: 2 * sec},
		"more at a time":  {again: 10 * sec, cost: 2},
		"others":          {again: 10 * sec, but: func(w *Window) { w.contention.ours, w.contention.fall = 50, 100 }},
		"in the window":   {again: 10 * sec, but: func(w *Window) { w.State = Reported }},
		"it was no trial": {again: 10 * sec, but: func(w *Window) { w.refill.trying, w.due = false, Instant(sec) }},
	} {
		w := Window{Strategy: Adaptive, State: Expired, Unit: Requests, Quota: 20, Length: 10 * sec, epoch: 2, end: Never, refill: refill{trying: true}}
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
}
