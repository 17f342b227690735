package transporttest

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTokenBucket(t *testing.T) {
	p := Policy{Quota: 5, Window: 10 * time.Second, Algorithm: TokenBucket} // a token every 2 s
	play(t, p, epoch, []step{
		{at: 0, n: 6, ok: false, wait: never, left: 5, until: none},
		{at: 0, n: 0, ok: true, wait: 0, left: 5, until: none},
		{at: 0, n: 4, ok: true, wait: 0, left: 1, until: 2 * time.Second},
		{at: 0, n: 3, ok: false, wait: 4 * time.Second, left: 1, until: 2 * time.Second},
		{at: 500 * time.Millisecond, n: 1, ok: true, wait: 0, left: 0, until: 1500 * time.Millisecond},
		{at: 2*time.Second - 1, n: 1, ok: false, wait: 1, left: 0, until: 1},
		{at: 2 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 2 * time.Second},
		{at: 7 * time.Second, n: 1, ok: true, wait: 0, left: 1, until: time.Second},
		{at: 16*time.Second - 1, n: 0, ok: true, wait: 0, left: 5, until: none},
		// A full bucket does not refill.
		{at: 60 * time.Second, n: 5, ok: true, wait: 0, left: 0, until: 2 * time.Second},
		{at: 61 * time.Second, n: 5, ok: false, wait: 9 * time.Second, left: 0, until: time.Second},
		{at: 70 * time.Second, n: 5, ok: true, wait: 0, left: 0, until: 2 * time.Second},
	})
}

// A third of 10 s is not a whole number of nanoseconds.
func TestTokenBucketFractions(t *testing.T) {
	const third = 10 * time.Second / 3 // rounded down
	play(t, Policy{Quota: 3, Window: 10 * time.Second, Algorithm: TokenBucket}, epoch, []step{
		{at: 0, n: 3, ok: true, wait: 0, left: 0, until: third + 1},
		{at: third, n: 1, ok: false, wait: 1, left: 0, until: 1},
		{at: third + 1, n: 1, ok: true, wait: 0, left: 0, until: third},
		{at: 2*third + 1, n: 1, ok: true, wait: 0, left: 0, until: third},
		{at: 10*time.Second - 1, n: 1, ok: false, wait: 1, left: 0, until: 1},
		{at: 10 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: third + 1},
	})
}

func TestTokenBucketExtremes(t *testing.T) {
	const large = math.MaxInt64
	t.Run("large quota, long window", func(t *testing.T) {
		play(t, Policy{Quota: large, Window: large, Algorithm: TokenBucket}, epoch, []step{
			{at: 0, n: 0, ok: true, wait: 0, left: large, until: none},
			{at: 0, n: large, ok: true, wait: 0, left: 0, until: 1},
			{at: 1, n: large, ok: false, wait: large - 1, left: 1, until: 1},
			{at: large - 1, n: large, ok: false, wait: 1, left: large - 1, until: 1},
			{at: large, n: large, ok: true, wait: 0, left: 0, until: 1},
		})
	})
	t.Run("large quota, short window", func(t *testing.T) {
		play(t, Policy{Quota: large, Window: 2, Algorithm: TokenBucket}, epoch, []step{
			{at: 0, n: large, ok: true, wait: 0, left: 0, until: 1},
			{at: 1, n: large, ok: false, wait: 1, left: large / 2, until: 1},
			{at: 2, n: large, ok: true, wait: 0, left: 0, until: 1},
			{at: 100, n: large, ok: true, wait: 0, left: 0, until: 1}, // the refill exceeds 64 bits
		})
	})
	t.Run("quota of one, long window", func(t *testing.T) {
		play(t, Policy{Quota: 1, Window: large, Algorithm: TokenBucket}, epoch, []step{
			{at: 0, n: 1, ok: true, wait: 0, left: 0, until: large},
			{at: large - 1, n: 1, ok: false, wait: 1, left: 0, until: 1},
			{at: large, n: 1, ok: true, wait: 0, left: 0, until: large},
		})
	})
	t.Run("centuries later", func(t *testing.T) {
		m := newMeter(Policy{Quota: 7, Window: time.Second, Algorithm: TokenBucket})
		m.charge(time.Time{}, 7)
		require.Equal(t, int64(7), m.available(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)))
	})
}

// A bucket that is never full grants burst + ⌊burst × t / period⌋ in a time t, at any
// sequence of charges.
func TestTokenBucketDoesNotDrift(t *testing.T) {
	randomly(t, func(t *testing.T, rnd *rand.Rand) {
		p := Policy{
			Quota:     2 + rnd.Int64N(1_000_000),
			Window:    1 + time.Duration(rnd.Int64N(int64(24*time.Hour))),
			Algorithm: TokenBucket,
		}
		m := newMeter(p)
		m.charge(epoch, p.Quota)
		var elapsed time.Duration
		var granted int64
		for range 2000 {
			elapsed += time.Duration(rnd.Int64N(int64(p.Window)/2 + 1))
			now := epoch.Add(elapsed)
			left := m.available(now)
			granted += left
			m.charge(now, left)

			want := big.NewInt(int64(elapsed))
			want.Mul(want, big.NewInt(p.Quota)).Div(want, big.NewInt(int64(p.Window)))
			require.Equal(t, want.Int64(), granted)
		}
	})
}

func TestTokenBucketBurst(t *testing.T) {
	t.Run("larger than the quota", func(t *testing.T) {
		p := Policy{Quota: 10, Window: time.Second, Algorithm: TokenBucket, Burst: 20}
		play(t, p, epoch, []step{
			{at: 0, n: 21, ok: false, wait: never, left: 20, until: none},
			{at: 0, n: 20, ok: true, wait: 0, left: 0, until: 100 * time.Millisecond},
			{at: time.Second, n: 20, ok: false, wait: time.Second, left: 10, until: 100 * time.Millisecond},
			{at: time.Second, n: 11, ok: false, wait: 100 * time.Millisecond, left: 10, until: 100 * time.Millisecond},
			{at: 2 * time.Second, n: 20, ok: true, wait: 0, left: 0, until: 100 * time.Millisecond},
		})
	})
	t.Run("smaller", func(t *testing.T) {
		p := Policy{Quota: 5, Window: 10 * time.Second, Algorithm: TokenBucket, Burst: 3}
		play(t, p, epoch, []step{
			{at: 0, n: 3, ok: true, wait: 0, left: 0, until: 2 * time.Second},
			{at: 6 * time.Second, n: 4, ok: false, wait: never, left: 3, until: none},
		})
	})
	t.Run("takes longer to fill than the longest Duration", func(t *testing.T) {
		p := Policy{Quota: 1, Window: math.MaxInt64, Algorithm: TokenBucket, Burst: math.MaxInt64}
		play(t, p, epoch, []step{
			{at: 0, n: math.MaxInt64, ok: true, wait: 0, left: 0, until: math.MaxInt64},
			{at: 0, n: math.MaxInt64, ok: false, wait: math.MaxInt64, left: 0, until: math.MaxInt64},
			{at: 0, n: 2, ok: false, wait: math.MaxInt64, left: 0, until: math.MaxInt64},
		})
	})
	t.Run("no quota", func(t *testing.T) {
		p := Policy{Window: time.Second, Algorithm: TokenBucket, Burst: 2}
		play(t, p, epoch, []step{
			{at: 0, n: 2, ok: true, wait: 0, left: 0, until: none},
			{at: time.Hour, n: 1, ok: false, wait: never, left: 0, until: none},
		})
	})
}

func TestGCRA(t *testing.T) {
	t.Run("without burst", func(t *testing.T) {
		p := Policy{Quota: 5, Window: 10 * time.Second, Algorithm: GCRA} // one every 2 s
		play(t, p, epoch, []step{
			{at: 0, n: 2, ok: false, wait: never, left: 1, until: none},
			{at: 0, n: 1, ok: true, wait: 0, left: 0, until: 2 * time.Second},
			{at: 2*time.Second - 1, n: 1, ok: false, wait: 1, left: 0, until: 1},
			{at: 2 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 2 * time.Second},
			{at: 60 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 2 * time.Second},
		})
	})
	t.Run("with burst", func(t *testing.T) {
		p := Policy{Quota: 5, Window: 10 * time.Second, Algorithm: GCRA, Burst: 3}
		play(t, p, epoch, []step{
			{at: 0, n: 3, ok: true, wait: 0, left: 0, until: 6 * time.Second},
			{at: time.Second, n: 1, ok: false, wait: time.Second, left: 0, until: 5 * time.Second},
			{at: 2 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 6 * time.Second},
			{at: 5 * time.Second, n: 0, ok: true, wait: 0, left: 1, until: 3 * time.Second},
			{at: 8 * time.Second, n: 0, ok: true, wait: 0, left: 3, until: none},
		})
	})
	t.Run("no quota", func(t *testing.T) {
		play(t, Policy{Window: time.Second, Algorithm: GCRA}, epoch, []step{
			{at: 0, n: 1, ok: false, wait: never, left: 0, until: none},
		})
	})
}
