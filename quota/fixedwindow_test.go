package quota

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An asked is a call on a meter, and what is available after.
type asked struct {
	t    instant
	take int64         // n; negative: ask for -n, which has to wait
	wait time.Duration // for it
	left int64
}

func walk(t *testing.T, m meter, calls []asked) {
	t.Helper()
	for i, c := range calls {
		n := max(c.take, -c.take, 1)
		assert.Equal(t, c.wait, m.wait(c.t, 0, n), "call %d", i)
		if c.take >= 0 {
			m.take(c.t, c.take)
		}
		assert.Equal(t, c.left, m.available(c.t), "call %d", i)
	}
}

func TestFixedWindowBeginsWithTheFirstGrant(t *testing.T) {
	walk(t, &fixedMeter{permits: 5, window: 10}, []asked{
		{t: 0, take: 0, left: 5},            // asking begins nothing
		{t: 7, take: 3, left: 2},            // the window is [7, 17)
		{t: 16, take: -3, wait: 1, left: 2}, // the rest of the window
		{t: 16, take: 2, left: 0},           //
		{t: 3, take: -1, wait: 10, left: 0}, // time runs backwards: never more than a window
		{t: 17, take: 1, left: 4},           // [17, 27)
		{t: 40, take: -5, wait: 0, left: 5}, // long over
		{t: 41, take: 5, left: 0},           // [41, 51)
		{t: 50, take: -1, wait: 1, left: 0}, //
		{t: 51, take: 5, wait: 0, left: 0},  //
	})
}

func TestFixedWindowWaitsWholeWindowsForThoseAhead(t *testing.T) {
	m := &fixedMeter{permits: 5, window: 10}
	assert.Equal(t, time.Duration(10), m.wait(0, 5, 1), "those ahead will begin one")
	m.take(0, 4)
	assert.Equal(t, time.Duration(0), m.wait(2, 0, 1))
	assert.Equal(t, time.Duration(8), m.wait(2, 1, 1))
	assert.Equal(t, time.Duration(8), m.wait(2, 1, 5))
	assert.Equal(t, time.Duration(18), m.wait(2, 2, 5))
	assert.Equal(t, time.Duration(math.MaxInt64), m.wait(2, math.MaxInt64, math.MaxInt64))
}

func TestFixedWindowCancelsIntoItsOwnWindow(t *testing.T) {
	m := &fixedMeter{permits: 5, window: 10}
	first := m.take(0, 2)
	m.take(5, 1)
	m.cancel(6, 2, first)
	assert.EqualValues(t, 4, m.available(6))
	second := m.take(10, 5)
	m.cancel(11, 2, first)
	assert.EqualValues(t, 0, m.available(11), "its window is over")
	m.cancel(12, 5, second)
	assert.EqualValues(t, 5, m.available(12))
	m.take(13, 1)
	assert.EqualValues(t, 4, m.available(22), "a window that was cancelled has not begun")
	since, ok := m.idle(30)
	assert.True(t, ok)
	assert.EqualValues(t, 23, since)
}

func TestFixedWindowBearsForcedCharges(t *testing.T) {
	m := &fixedMeter{permits: 5, window: 10}
	m.take(0, math.MaxInt64)
	m.take(0, math.MaxInt64)
	assert.EqualValues(t, 0, m.available(9))
	assert.Equal(t, time.Duration(1), m.wait(9, 0, 5))
	assert.EqualValues(t, 5, m.available(10))
}

// .NET: RetryMetadataOnFailedWaitAsync; dotnet/runtime issues 92557, 124478:
// it is the rest of the window.
func TestFixedWindowSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewFixedWindow(FixedWindowOptions{Permits: 2, Window: 20 * time.Second, Queue: Queue{Limit: 2}})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		take(t, l, 2)
		time.Sleep(2 * time.Second)
		_, err = l.TryAcquire(1)
		assert.Equal(t, 18*time.Second, refusedWith(t, err, ReasonOwnLimit).RetryAfter)
		r := acquiring(t.Context(), l, 2)
		_, err = l.Acquire(t.Context(), 1)
		assert.Equal(t, 38*time.Second, refusedWith(t, err, ReasonQueueFull).RetryAfter)
		assert.ErrorContains(t, err, "retry after 38s")
		began := time.Now()
		require.False(t, func() bool { time.Sleep(18 * time.Second); return r.waiting() }())
		assert.Equal(t, 18*time.Second, r.at.Sub(began))
	})
}
