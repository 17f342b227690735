package quota

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headway-go/headway/quota/internal/window"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sliding(permits int64, window time.Duration, segments int) *slidingMeter {
	return &slidingMeter{permits: permits, window: window, counts: make([]int64, segments)}
}

// The proposal's example: 3, 4, 3 of 10 in a window of three seconds.
func TestSlidingWindowMovesOnBySegments(t *testing.T) {
	const s = instant(time.Second)
	walk(t, sliding(10, 3*time.Second, 3), []asked{
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

// .NET: RetryAfterWithPartiallyElapsedSegment, RetryMetadataOnFailedWaitAsync,
// RetryMetadataOnFailedAttemptAcquire(ZeroPermitCount), CorrectRetryMetadataWithQueuedItem,
// CorrectRetryMetadataWithNonZeroAvailableItems,
// RetryAfterAccountsForPermitsAcrossMultipleSegments, RetryAfterClampsToZeroWhenWindowExpired.
func TestSlidingWindowSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewSlidingWindow(SlidingWindowOptions{Permits: 6, Window: 20 * time.Second, Segments: 4, Queue: Queue{Limit: 4}})
		require.NoError(t, err)
		after := func(n int64) time.Duration {
			_, err := l.TryAcquire(n)
			return refusedWith(t, err, ReasonOwnLimit).RetryAfter
		}
		take(t, l, 6)
		assert.Equal(t, 20*time.Second, after(1), "all in the present segment: a whole window")
		assert.Equal(t, 20*time.Second, after(0))
		time.Sleep(2 * time.Second)
		assert.Equal(t, 18*time.Second, after(1), "less what has passed of it")
		time.Sleep(18 * time.Second)
		take(t, l, 2)
		time.Sleep(5 * time.Second)
		take(t, l, 3)
		assert.Equal(t, 15*time.Second, after(2), "with 1 left, 1 of the oldest segment is enough")
		assert.Equal(t, 20*time.Second, after(4), "and 3 take the next one, too")
		r := acquiring(t.Context(), l, 3)
		assert.Equal(t, 20*time.Second, after(1), "after those in line")
		assert.Equal(t, 20*time.Second, after(4), "reckoned by the permit")
		assert.Equal(t, 35*time.Second, after(5))
		_, err = l.Acquire(t.Context(), 2)
		assert.Equal(t, 20*time.Second, refusedWith(t, err, ReasonQueueFull).RetryAfter)
		time.Sleep(15 * time.Second)
		assert.True(t, r.granted())
	})
}

func TestSlidingWindowDoesNotDriftWithUnevenSegments(t *testing.T) {
	m := sliding(1, 10, 3) // segments of 4, 3 and 3 ns, and again
	for _, i := range []int64{0, 1, 2, 3, 4, 5, 3e17, 3e17 + 1} {
		b := m.begin(i)
		assert.Equal(t, i, m.segment(b), "segment %d", i)
		if i > 0 {
			assert.Equal(t, i-1, m.segment(b-1), "before segment %d", i)
		}
	}
	assert.EqualValues(t, 1e18, m.begin(3e17), "to the nanosecond after 30 years")
	big := sliding(1, math.MaxInt64, maxSegments)
	assert.EqualValues(t, maxSegments-1, big.segment(math.MaxInt64-1))
	assert.EqualValues(t, maxSegments, big.segment(math.MaxInt64))
	assert.EqualValues(t, window.Never, big.begin(maxSegments+1))
}

func TestSlidingWindowCancelsIntoItsOwnSegment(t *testing.T) {
	m := sliding(10, 30, 3)
	first := m.take(0, 5)
	second := m.take(10, 3)
	m.cancel(25, 5, first)
	assert.EqualValues(t, 7, m.available(25))
	m.take(25, 7)
	assert.EqualValues(t, 0, m.available(30), "what was cancelled does not come back again")
	assert.EqualValues(t, 3, m.available(40))
	m.cancel(40, 3, second)
	assert.EqualValues(t, 3, m.available(40), "its segment has left the window")
	since, ok := m.idle(90)
	assert.True(t, ok)
	assert.EqualValues(t, 50, since)
}

func TestSlidingWindowBearsForcedCharges(t *testing.T) {
	m := sliding(5, 30, 3)
	m.take(0, math.MaxInt64)
	m.take(10, math.MaxInt64)
	assert.EqualValues(t, 0, m.available(29))
	assert.Equal(t, time.Duration(1), m.wait(29, 0, 5))
	assert.Equal(t, time.Duration(math.MaxInt64), m.wait(29, math.MaxInt64, math.MaxInt64))
	assert.EqualValues(t, 5, m.available(30))
}
