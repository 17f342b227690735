package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A bucket that refuses requests after a rest holds less than was served before the first refusal.
func TestPaceHoldsLess(t *testing.T) {
	w := New(Adaptive)
	p := pace{burst: 60}
	p.begin(2*sec, 2, Instant(sec)) // and the first try is a second for each
	p.start(&w, Instant(2*sec))
	assert.EqualValues(t, 60, w.Quota)
	for _, want := range []int64{30, 15, 7, 3, 2, 2} {
		rested := w.rare.told.Add(p.length() + time.Second)
		p.refusedAt(&w, rested.Add(sec), rested, 0)
		p.lost = 0 // else it is given up
		assert.Equal(t, want, w.Quota)
		assert.Equal(t, time.Duration(want)*p.unit, w.Length)
	}
	p.refusedAt(&w, w.rare.told.Add(2*sec), w.rare.told.Add(sec), 0)
	assert.EqualValues(t, 2, w.Quota)
}

// A row of windows in which few were served begins a pace. After one was given up it takes eight times as
// many.
func TestFewWindows(t *testing.T) {
	var p pace
	few := func(told bool) bool { return p.isFew(0, Instant(2*sec), 2, told) }
	assert.False(t, few(true))
	assert.False(t, few(true))
	assert.True(t, few(true))
	assert.Equal(t, sec, p.first)
	assert.Equal(t, sec/2, p.unit)
	p = pace{gaveUp: 1}
	for range 8*fewWindows - 1 {
		assert.False(t, few(true))
	}
	assert.True(t, few(true))
	p = pace{}
	for range 2*fewWindows - 1 {
		assert.False(t, few(false), "holds of our own")
	}
	assert.True(t, few(false))
}

// If the first requests after a look are refused, it found what was left of a window, which is counted again.
func TestLookFoundLittle(t *testing.T) {
	for served, mistaken := range map[int64]bool{4: true, 5: false} {
		w, g := New(Adaptive), NewInferred(sec)
		g.pace.burst = 30
		g.pace.begin(sec/10, 10, Instant(sec))
		g.pace.looked = true
		g.pace.start(&w, Instant(2*sec))
		now := Instant(2 * sec)
		for range served {
			now = now.Add(g.pace.unit)
			g.Served(&w, now, now)
		}
		now = now.Add(g.pace.unit)
		w.Pause(now, sec, Server{})
		g.Refused(&w, now, now, sec)
		assert.Equal(t, mistaken, g.pace.unit == 0)
		if assert.Equal(t, !mistaken, w.is(spaced)); mistaken {
			assert.EqualValues(t, 10, w.Quota)
			assert.Equal(t, sec, w.Length)
			assert.EqualValues(t, 64, g.rest)
			assert.Equal(t, Expired, w.State, "one request departs first")
		}
	}
}
