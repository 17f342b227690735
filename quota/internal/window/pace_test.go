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
	w.startPace(Instant(2*sec), &p)
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
