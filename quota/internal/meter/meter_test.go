package meter

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A call is a request to a Meter, and how many permits are available after it.
type call struct {
	t    time.Duration
	take int64         // n; if negative, a request for -n that has to wait and takes nothing
	wait time.Duration // of the request
	left int64
}

// walk makes the calls and compares the results.
func walk(t *testing.T, m Meter, calls []call) {
	t.Helper()
	for i, c := range calls {
		n := max(c.take, -c.take, 1)
		assert.Equal(t, c.wait, m.Wait(c.t, 0, n), "call %d", i)
		if c.take >= 0 {
			m.Take(c.t, c.take)
		}
		assert.Equal(t, c.left, m.Available(c.t), "call %d", i)
	}
}

// The permits of meters that time refills are not released.
func TestReleaseReturnsNothingThatTimeReturns(t *testing.T) {
	for _, m := range []Meter{NewFixedWindow(5, 10), NewSlidingWindow(5, 10, 2), NewTokenBucket(5, 5, 10)} {
		assert.EqualValues(t, 5, m.Capacity())
		m.Take(0, 3)
		assert.False(t, m.Release(3))
		assert.EqualValues(t, 2, m.Available(9))
		assert.EqualValues(t, 5, m.Available(10))
	}
}

func TestConcurrency(t *testing.T) {
	m := NewConcurrency(5)
	assert.EqualValues(t, 5, m.Capacity())
	walk(t, m, []call{
		{t: 0, take: 5, left: 0},
		{t: 100, take: -1, wait: UntilRelease, left: 0},
	})
	_, idle := m.IdleSince(100)
	assert.False(t, idle)
	assert.False(t, m.Release(2))
	m.Cancel(100, 2, 0)
	assert.Equal(t, time.Duration(0), m.Wait(100, 3, 1), "after those ahead")
	assert.Equal(t, UntilRelease, m.Wait(100, 4, 1))
	assert.True(t, m.Release(1), "all are back")
	since, idle := m.IdleSince(200)
	assert.True(t, idle)
	assert.Zero(t, since, "it is told no time")
	m.Release(1)
	assert.EqualValues(t, 5, m.Available(200), "no more than its capacity")
}

func TestTryTake(t *testing.T) {
	m := NewConcurrency(5)
	assert.False(t, m.TryTake(6))
	assert.True(t, m.TryTake(0), "one is there")
	assert.True(t, m.TryTake(4))
	assert.True(t, m.TryTake(1))
	assert.False(t, m.TryTake(1))
	assert.False(t, m.TryTake(0))
	assert.EqualValues(t, 0, m.Available(0))
}

func TestConcurrencyWithForcedTakes(t *testing.T) {
	m := NewConcurrency(5)
	m.Take(0, math.MaxInt64)
	m.Take(0, math.MaxInt64)
	assert.EqualValues(t, 0, m.Available(0))
	assert.Equal(t, UntilRelease, m.Wait(0, math.MaxInt64, math.MaxInt64))
	assert.True(t, m.Release(math.MaxInt64))
	assert.EqualValues(t, 5, m.Available(0))
}

func TestUnlimited(t *testing.T) {
	var m Unlimited
	assert.EqualValues(t, int64(math.MaxInt64), m.Capacity())
	walk(t, m, []call{{take: math.MaxInt64, left: Unknown}, {take: math.MaxInt64, left: Unknown}})
	m.Cancel(0, math.MaxInt64, 0)
	assert.False(t, m.Release(math.MaxInt64))
	since, idle := m.IdleSince(9)
	assert.True(t, idle)
	assert.Zero(t, since)
}

func TestAddAndMulSaturate(t *testing.T) {
	const largest = int64(math.MaxInt64)
	for _, c := range []struct{ a, b, sum, product int64 }{
		{0, 0, 0, 0},
		{2, 3, 5, 6},
		{-2, 3, 1, 0}, // a of Mul is not negative
		{0, largest, largest, 0},
		{1, largest, largest, largest},
		{1, largest - 1, largest, largest - 1},
		{2, largest / 2, largest/2 + 2, largest - 1},
		{2, largest/2 + 1, largest/2 + 3, largest},
		{largest, largest, largest, largest},
		{1 << 32, 1 << 32, 1 << 33, largest}, // the low word of the product is 0
	} {
		assert.Equal(t, c.sum, Add(c.a, c.b), "%d + %d", c.a, c.b)
		if c.a >= 0 {
			assert.Equal(t, c.product, Mul(c.a, uint64(c.b)), "%d times %d", c.a, c.b)
		}
	}
	assert.Equal(t, time.Duration(math.MaxInt64), Mul(time.Duration(1), math.MaxUint64))
}

// An instant before the last one yields no permits: the next window, segment or
// period begins no earlier than the recorded instant.
func TestTimeThatRunsBackwardsYieldsNothing(t *testing.T) {
	f := NewFixedWindow(5, 10)
	walk(t, f, []call{
		{t: 7, take: 5, left: 0},  // [7, 17)
		{t: 20, take: 0, left: 5}, // closed
		{t: 3, take: 1, left: 4},  // [17, 27)
		{t: 26, take: 0, left: 4},
		{t: 27, take: 0, left: 5},
	})
	walk(t, NewSlidingWindow(5, 30, 3), []call{
		{t: 25, take: 1, left: 4}, // in the segment [20, 30)
		{t: 0, take: 4, left: 0},  // in the same segment
		{t: 49, take: -1, wait: 1, left: 0},
		{t: 50, take: 0, left: 5},
	})
	walk(t, NewTokenBucket(7, 3, 10), []call{
		{t: 100, take: 5, left: 2},
		{t: 125, take: 0, left: 7}, // full since 120
		{t: 50, take: 1, left: 6},  // the period begins at 120
		{t: 129, take: -7, wait: 1, left: 6},
		{t: 130, take: 0, left: 7},
	})
}

func TestIdleSinceTheCancelOfAllThatWasTaken(t *testing.T) {
	for _, m := range []Meter{NewFixedWindow(5, 30), NewSlidingWindow(5, 30, 3), NewTokenBucket(5, 1, 30)} {
		m.Cancel(4, 5, m.Take(2, 5))
		since, idle := m.IdleSince(6)
		assert.True(t, idle, "%T", m)
		assert.Equal(t, time.Duration(4), since, "%T", m)
	}
}
