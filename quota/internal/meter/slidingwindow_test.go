package meter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The proposal's example: 3, 4, 3 of 10 in a window of three seconds.
func TestSlidingWindowMovesBySegments(t *testing.T) {
	const s = time.Second
	walk(t, NewSlidingWindow(10, 3*time.Second, 3), []call{
		{t: 0, take: 3, left: 7},
		{t: 1 * s, take: 4, left: 3},
		{t: 2 * s, take: 3, left: 0},
		{t: 3*s - 1, take: -1, wait: 1, left: 0},
		{t: 3 * s, take: 1, left: 2},
		{t: 3*s + 1, take: -3, wait: time.Second - 1, left: 2},
		{t: 4 * s, take: 6, left: 0},
		{t: 4 * s, take: -3, wait: time.Second, left: 0},
		{t: 4 * s, take: -4, wait: 2 * time.Second, left: 0},
		{t: 4 * s, take: -10, wait: 3 * time.Second, left: 0},
		{t: 0, take: -1, wait: time.Second, left: 0}, // time runs backwards
		{t: 100 * s, take: 10, left: 0},
	})
}

func TestSlidingWindowDoesNotDriftWithUnevenSegments(t *testing.T) {
	m := NewSlidingWindow(1, 10, 3) // segments of 4, 3 and 3 ns, and again
	for _, i := range []int64{0, 1, 2, 3, 4, 5, 3e17, 3e17 + 1} {
		b := m.begin(i)
		assert.Equal(t, i, m.segment(b), "segment %d", i)
		if i > 0 {
			assert.Equal(t, i-1, m.segment(b-1), "before segment %d", i)
		}
	}
	assert.EqualValues(t, 1e18, m.begin(3e17), "to the nanosecond after 30 years")
	big := NewSlidingWindow(1, math.MaxInt64, MaxSegments)
	assert.EqualValues(t, MaxSegments-1, big.segment(math.MaxInt64-1))
	assert.EqualValues(t, MaxSegments, big.segment(math.MaxInt64))
	assert.Equal(t, time.Duration(math.MaxInt64), big.begin(MaxSegments+1))
}

func TestSlidingWindowCancelsIntoItsOwnSegment(t *testing.T) {
	m := NewSlidingWindow(10, 30, 3)
	first := m.Take(0, 5)
	second := m.Take(10, 3)
	m.Cancel(25, 5, first)
	assert.EqualValues(t, 7, m.Available(25))
	m.Take(25, 7)
	assert.EqualValues(t, 0, m.Available(30), "what was cancelled does not come back again")
	assert.EqualValues(t, 3, m.Available(40))
	m.Cancel(40, 3, second)
	assert.EqualValues(t, 3, m.Available(40), "its segment has left the window")
	since, ok := m.IdleSince(90)
	assert.True(t, ok)
	assert.EqualValues(t, 50, since)
}

func TestSlidingWindowWithForcedTakes(t *testing.T) {
	m := NewSlidingWindow(5, 30, 3)
	m.Take(0, math.MaxInt64)
	m.Take(10, math.MaxInt64)
	assert.EqualValues(t, 0, m.Available(29))
	assert.Equal(t, time.Duration(1), m.Wait(29, 0, 5))
	assert.Equal(t, time.Duration(math.MaxInt64), m.Wait(29, math.MaxInt64, math.MaxInt64))
	assert.EqualValues(t, 5, m.Available(30))
}
