package quota

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func bucket(permits, perPeriod int64, period time.Duration) *bucketMeter {
	return &bucketMeter{permits: permits, perPeriod: perPeriod, period: period, level: permits}
}

// .NET: ReplenishHonorsTokensPerPeriod, TryReplenishWithAllTokensAvailable_Noops,
// ManualReplenishPreservesTimeWithTimerJitter.
func TestBucketFillsByWholePeriods(t *testing.T) {
	walk(t, bucket(7, 3, 10), []asked{
		{t: 5, take: 0, left: 7},
		{t: 100, take: 5, left: 2}, // periods begin here
		{t: 109, take: -3, wait: 1, left: 2},
		{t: 110, take: 1, left: 4},
		{t: 125, take: -7, wait: 0, left: 7}, // capped, full since 120
		{t: 127, take: 7, left: 0},           // periods begin here
		{t: 136, take: -1, wait: 1, left: 0},
		{t: 136, take: -4, wait: 11, left: 0},
		{t: 148, take: -7, wait: 9, left: 6}, // the rest of a period carries over
	})
}

// .NET: ReplenishWorksWithTicksOverInt32Max.
func TestBucketNeitherDriftsNorOverflows(t *testing.T) {
	m := bucket(10, 1, 3)
	m.take(1, 10)
	var got int64
	for now := instant(1); now < 1e6; now += 7 {
		if n := m.available(now); n > 0 {
			m.take(now, n)
			got += n
		}
	}
	assert.EqualValues(t, (999_993-1)/3, got, "one every 3 ns, however it is asked")

	m = bucket(math.MaxInt64, 1, time.Hour)
	m.take(0, math.MaxInt64)
	assert.EqualValues(t, 1, m.available(instant(time.Hour)))
	assert.EqualValues(t, 0, m.level-1)
	assert.Equal(t, time.Duration(math.MaxInt64)-time.Hour, m.wait(instant(time.Hour), 0, math.MaxInt64))
	m = bucket(math.MaxInt64, math.MaxInt64, 1)
	m.take(0, math.MaxInt64)
	m.take(0, math.MaxInt64)
	assert.EqualValues(t, int64(-math.MaxInt64), m.level, "a debt of no more than there are permits")
	assert.EqualValues(t, 2, m.wait(0, 0, math.MaxInt64))
	assert.EqualValues(t, 3, m.wait(0, math.MaxInt64, math.MaxInt64)+1, "sums saturate")
	assert.EqualValues(t, int64(math.MaxInt64), m.available(math.MaxInt64))
}

// .NET: RetryMetadataOnFailedWaitAsync, CorrectRetryMetadataWithQueuedItem,
// CorrectRetryMetadataWithMultipleTokensPerPeriod,
// CorrectRetryMetadataWithLargeTokensPerPeriod,
// CorrectRetryMetadataWithNonZeroAvailableItems.
func TestBucketSaysWhenToComeBack(t *testing.T) {
	for _, c := range []struct {
		name                   string
		perPeriod, left, ahead int64
		ask                    int64
		periods                time.Duration
	}{
		{"as many periods as permits", 1, 0, 0, 2, 2},
		{"queued permits come first", 1, 0, 1, 2, 3},
		{"divided by permits a period", 2, 0, 0, 4, 2},
		{"rounded up", 2, 0, 0, 3, 2},
		{"one at least", 1000, 0, 0, 1, 1},
		{"less what is there", 1, 2, 0, 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := NewTokenBucket(TokenBucketOptions{
					Permits: 4, PerPeriod: c.perPeriod, Period: 20 * time.Second, Queue: Queue{Limit: max(c.ahead, 1)},
				})
				require.NoError(t, err)
				take(t, l, 4-c.left)
				if c.ahead > 0 {
					acquiring(t.Context(), l, c.ahead)
				}
				_, err = l.TryAcquire(c.ask)
				assert.Equal(t, c.periods*20*time.Second, refusedWith(t, err, ReasonOwnLimit).RetryAfter)
				l.Close()
			})
		})
	}
}

func TestNewestFirstDoesNotReckonWithThoseInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewTokenBucket(TokenBucketOptions{Permits: 4, PerPeriod: 1, Period: time.Second, Queue: Queue{Order: NewestFirst}})
		require.NoError(t, err)
		take(t, l, 4)
		acquiring(t.Context(), l, 3)
		_, err = l.TryAcquire(1)
		assert.Equal(t, time.Second, refusedWith(t, err, ReasonOwnLimit).RetryAfter)
		l.Close()
	})
}

func TestBucketGivesBackNothingTwice(t *testing.T) {
	m := bucket(10, 5, 10)
	x := m.take(0, 8)
	y := m.take(10, 7) // 5 came in at 10
	m.cancel(20, 8, x)
	assert.EqualValues(t, 8, m.available(20), "without x: 10 at 10, 3 after y, 8 at 20")
	m.cancel(20, 7, y)
	assert.EqualValues(t, 10, m.available(20))

	m = bucket(10, 5, 10)
	x = m.take(0, 5)
	m.cancel(10, 5, x)
	assert.EqualValues(t, 10, m.available(10), "it was full again: nothing is missing")
	m.take(10, 4)
	m.cancel(10, 5, x)
	assert.EqualValues(t, 6, m.available(10))

	m = bucket(10, 1, 10)
	x, y = m.take(0, 3), m.take(0, 3)
	m.cancel(10, 3, x)
	assert.EqualValues(t, 8, m.available(10))
	m.cancel(10, 3, y)
	assert.EqualValues(t, 10, m.available(10), "two that were never taken: full")
}

func TestBucketForgetsThePastWithoutGivingTooMuch(t *testing.T) {
	m := bucket(1000, 1, 1)
	x := m.take(0, 1)
	now := instant(0)
	for range 3 * maxPeaks { // each refill leaves less than the one before
		m.take(now, 10)
		now++
		m.available(now)
	}
	assert.Len(t, m.peaks, maxPeaks)
	before := m.available(now)
	m.cancel(now, 1, x)
	assert.LessOrEqual(t, m.available(now), before+1)
	y := m.take(now, 200)
	m.cancel(now, 200, y)
	assert.LessOrEqual(t, m.available(now), before+1)
	assert.GreaterOrEqual(t, m.available(now), before, "what is new is exact")
}

func TestBucketIsIdleSinceItBecameFull(t *testing.T) {
	m := bucket(10, 3, 10)
	m.take(5, 4)
	_, ok := m.idle(24)
	assert.False(t, ok)
	since, ok := m.idle(99)
	assert.True(t, ok)
	assert.EqualValues(t, 25, since)
	m.take(99, 0)
	since, _ = m.idle(99)
	assert.EqualValues(t, 25, since, "asking is no use")
	x := m.take(100, 1)
	m.cancel(103, 1, x)
	since, ok = m.idle(104)
	assert.True(t, ok)
	assert.EqualValues(t, 103, since)
}
