package transporttest

import (
	"math"
	"math/bits"
	"time"
)

// A tokenBucket starts full and refills continuously:
//
//	tokens(t) = min(burst, tokens(s) + quota × (t - s) / period)
//
// for instants s ≤ t between which nothing is charged, with burst and quota in
// tokens (one is one quota unit) and t, s and period in nanoseconds. A token can
// be taken when it is whole.
//
// What is kept is how much is missing, as a number of whole tokens less a
// numerator over period. No rounding is ever carried on, so nothing drifts, and
// products are taken in 128 bits, so nothing overflows.
type tokenBucket struct {
	burst  int64
	quota  int64
	period time.Duration // in which quota tokens come back
	whole  bool          // its window is the time until it is full

	at      time.Time // of the two numbers below
	missing int64     // whole tokens up to burst
	part    uint64    // what has come back of the first of them, in 1/period tokens; below period, and 0 when full
}

// refill brings the bucket to now.
func (b *tokenBucket) refill(now time.Time) {
	elapsed := now.Sub(b.at)
	b.at = now
	if b.missing == 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(elapsed), uint64(b.quota))
	lo, carry := bits.Add64(lo, b.part, 0)
	if hi += carry; hi >= uint64(b.period) { // more than 64 bits can say
		b.missing, b.part = 0, 0
		return
	}
	back, part := bits.Div64(hi, lo, uint64(b.period))
	if back >= uint64(b.missing) {
		b.missing, b.part = 0, 0
		return
	}
	b.missing -= int64(back)
	b.part = part
}

func (b *tokenBucket) available(now time.Time) int64 {
	b.refill(now)
	return b.burst - b.missing
}

func (b *tokenBucket) charge(now time.Time, n int64) {
	b.refill(now)
	b.missing += n
}

// window returns the time until there is one whole token more, or until the bucket
// is full. It reports false for a full one, which never has more.
func (b *tokenBucket) window(now time.Time) (time.Duration, bool) {
	available := b.available(now)
	switch {
	case available == b.burst:
		return 0, false
	case b.whole:
		return b.wait(now, b.burst)
	}
	return b.wait(now, available+1)
}

func (b *tokenBucket) wait(now time.Time, n int64) (time.Duration, bool) {
	available := b.available(now)
	switch {
	case n > b.burst:
		return 0, false
	case n <= available:
		return 0, true
	}
	if b.quota == 0 {
		return 0, false
	}
	// The time in which n - available tokens less part come back, rounded up
	// to the nanosecond.
	hi, lo := bits.Mul64(uint64(n-available), uint64(b.period))
	lo, borrow := bits.Sub64(lo, b.part, 0)
	if hi -= borrow; hi >= uint64(b.quota) { // more than 64 bits can say
		return math.MaxInt64, true
	}
	d, rest := bits.Div64(hi, lo, uint64(b.quota))
	if rest > 0 {
		d++
	}
	return time.Duration(min(d, math.MaxInt64)), true
}
