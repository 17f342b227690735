package meter

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// .NET: ReplenishHonorsTokensPerPeriod, TryReplenishWithAllTokensAvailable_Noops,
// ManualReplenishPreservesTimeWithTimerJitter.
func TestBucketFillsByWholePeriods(t *testing.T) {
	walk(t, NewTokenBucket(7, 3, 10), []call{
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
	m := NewTokenBucket(10, 1, 3)
	m.Take(1, 10)
	var got int64
	for now := time.Duration(1); now < 1e6; now += 7 {
		if n := m.Available(now); n > 0 {
			m.Take(now, n)
			got += n
		}
	}
	assert.EqualValues(t, (999_993-1)/3, got, "one every 3 ns, whenever it is called")

	m = NewTokenBucket(math.MaxInt64, 1, time.Hour)
	m.Take(0, math.MaxInt64)
	assert.EqualValues(t, 1, m.Available(time.Hour))
	assert.EqualValues(t, 0, m.level-1)
	assert.Equal(t, time.Duration(math.MaxInt64)-time.Hour, m.Wait(time.Hour, 0, math.MaxInt64))
	m = NewTokenBucket(math.MaxInt64, math.MaxInt64, 1)
	m.Take(0, math.MaxInt64)
	m.Take(0, math.MaxInt64)
	assert.EqualValues(t, int64(-math.MaxInt64), m.level, "a debt of no more than there are permits")
	assert.EqualValues(t, 2, m.Wait(0, 0, math.MaxInt64))
	assert.EqualValues(t, 3, m.Wait(0, math.MaxInt64, math.MaxInt64)+1, "sums saturate")
	assert.EqualValues(t, int64(math.MaxInt64), m.Available(math.MaxInt64))
}

func TestBucketReturnsNothingTwice(t *testing.T) {
	m := NewTokenBucket(10, 5, 10)
	x := m.Take(0, 8)
	y := m.Take(10, 7) // 5 came in at 10
	m.Cancel(20, 8, x)
	assert.EqualValues(t, 8, m.Available(20), "without x: 10 at 10, 3 after y, 8 at 20")
	m.Cancel(20, 7, y)
	assert.EqualValues(t, 10, m.Available(20))

	m = NewTokenBucket(10, 5, 10)
	x = m.Take(0, 5)
	m.Cancel(10, 5, x)
	assert.EqualValues(t, 10, m.Available(10), "it was full again: nothing is missing")
	m.Take(10, 4)
	m.Cancel(10, 5, x)
	assert.EqualValues(t, 6, m.Available(10))

	m = NewTokenBucket(10, 1, 10)
	x, y = m.Take(0, 3), m.Take(0, 3)
	m.Cancel(10, 3, x)
	assert.EqualValues(t, 8, m.Available(10))
	m.Cancel(10, 3, y)
	assert.EqualValues(t, 10, m.Available(10), "both were cancelled: full")
}

func TestBucketMergesPeaksWithoutReturningTooMuch(t *testing.T) {
	m := NewTokenBucket(1000, 1, 1)
	x := m.Take(0, 1)
	now := time.Duration(0)
	for range 3 * maxPeaks { // each refill leaves less than the one before
		m.Take(now, 10)
		now++
		m.Available(now)
	}
	assert.Len(t, m.peaks, maxPeaks)
	before := m.Available(now)
	m.Cancel(now, 1, x)
	assert.EqualValues(t, before+1, m.Available(now))
	y := m.Take(now, 200)
	m.Cancel(now, 200, y)
	assert.EqualValues(t, before+1, m.Available(now), "what is new is exact")
}

func TestBucketIsIdleSinceItBecameFull(t *testing.T) {
	m := NewTokenBucket(10, 3, 10)
	m.Take(5, 4)
	_, ok := m.IdleSince(24)
	assert.False(t, ok)
	since, ok := m.IdleSince(99)
	assert.True(t, ok)
	assert.EqualValues(t, 25, since)
	m.Take(99, 0)
	since, _ = m.IdleSince(99)
	assert.EqualValues(t, 25, since, "a take of none is no use")
	x := m.Take(100, 1)
	m.Cancel(103, 1, x)
	since, ok = m.IdleSince(104)
	assert.True(t, ok)
	assert.EqualValues(t, 103, since)
	m.Take(110, 3)
	since, _ = m.IdleSince(199)
	assert.EqualValues(t, 120, since, "by all of one period")
}

// Within any time a bucket grants no more than its capacity and what it gets in
// that time. Cancelled permits were never used.
func TestBucketNeverGrantsMoreThanFlowsIn(t *testing.T) {
	type use struct {
		at time.Duration
		n  int64
	}
	for range 100 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 3))
		m := NewTokenBucket(1+rnd.Int64N(20), 1+rnd.Int64N(5), 7)
		var uses []use
		var leases []struct {
			at    int
			epoch uint32
		}
		var now time.Duration
		for range 200 {
			now += time.Duration(rnd.Int64N(9))
			if rnd.IntN(4) == 0 && len(leases) > 0 {
				i := rnd.IntN(len(leases))
				u := &uses[leases[i].at]
				m.Cancel(now, u.n, leases[i].epoch)
				u.n = 0
				leases = slices.Delete(leases, i, i+1)
				continue
			}
			if n := min(rnd.Int64N(8), m.capacity); m.Wait(now, 0, max(n, 1)) == 0 {
				uses = append(uses, use{now, n})
				leases = append(leases, struct {
					at    int
					epoch uint32
				}{len(uses) - 1, m.Take(now, n)})
			}
		}
		for i := range uses {
			var n int64
			for _, u := range uses[i:] {
				n += u.n
				d := int64(u.at - uses[i].at)
				require.LessOrEqual(t, n, m.capacity+m.perPeriod*(d/7+1), "seed %d", seed)
			}
		}
	}
}
