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
// for s ≤ t with no charge in between. Here burst and quota are in tokens (a token is
// a quota unit), and t, s and period in nanoseconds. Only whole tokens can be taken.
//
// The bucket stores what is missing as a number of whole tokens minus a fraction with
// the denominator period. It never rounds this state, so it does not drift, and
// multiplies in 128 bits, so it does not overflow.
type tokenBucket struct {
	burst  int64
	quota  int64
	period time.Duration // quota tokens come back per period

	untilFull bool // the advertised window lasts until the bucket is full

	at      time.Time // of missing and part
	missing int64     // whole tokens up to burst
	part    uint64    // refilled part of one missing token, in 1/period tokens; less than period, 0 if full
}

// refill adds the tokens that have come back by now.
func (b *tokenBucket) refill(now time.Time) {
	elapsed := now.Sub(b.at)
	b.at = now
	if b.missing == 0 {
		return
	}
	hi, lo := bits.Mul64(uint64(elapsed), uint64(b.quota))
	lo, carry := bits.Add64(lo, b.part, 0)
	if hi += carry; hi >= uint64(b.period) { // the quotient would overflow 64 bits
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

// window returns the time until the next whole token or, if untilFull, until the
// bucket is full. It reports false if the bucket is full.
func (b *tokenBucket) window(now time.Time) (time.Duration, bool) {
	available := b.available(now)
	switch {
	case available == b.burst:
		return 0, false
	case b.untilFull:
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
	// The time in which n - available - part/period tokens come back, rounded up to
	// the nanosecond.
	hi, lo := bits.Mul64(uint64(n-available), uint64(b.period))
	lo, borrow := bits.Sub64(lo, b.part, 0)
	if hi -= borrow; hi >= uint64(b.quota) { // the quotient would overflow 64 bits
		return math.MaxInt64, true
	}
	d, rest := bits.Div64(hi, lo, uint64(b.quota))
	if rest > 0 {
		d++
	}
	return time.Duration(min(d, math.MaxInt64)), true
}
