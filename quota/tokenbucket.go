package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// TokenBucket returns a limiter that grants permits from a bucket. The bucket
// holds capacity permits, which is the largest burst. It is full at first, and
// gets n permits at the end of each period, until it is full again. The first
// period begins with the first grant from a full bucket.
//
// Within any time d, at most capacity + n*(d/period rounded up) permits are
// granted.
//
// If capacity or n is less than 1, or the period is not longer than 0, the limiter
// grants nothing: see Limit. Of several Options the last ones count.
func TokenBucket(capacity, n int64, period time.Duration, o ...Options) *Limit {
	if capacity < 1 || n < 1 || period <= 0 {
		return nothing(o)
	}
	return newLimit(meter.NewTokenBucket(capacity, n, period), o)
}

// PerSecond returns a TokenBucket of n permits a second: one in each nth part of
// a second, rounded up to nanoseconds; above 1,000,000 a second, one thousandth of
// n in each millisecond, rounded down. The bucket holds burst permits.
//
// With a burst of 1, no two permits are less than that apart, so the time by which a timer
// fires late is lost: up to a millisecond for each request that waits, and more on a busy machine. That
// is a tenth of 100 a second. A burst of 2, or of what comes back in five milliseconds if that is more, makes up
// for it.
func PerSecond(n, burst int64, o ...Options) *Limit {
	switch {
	case n < 1:
		return nothing(o)
	case n > 1e6:
		return TokenBucket(burst, n/1000, time.Millisecond, o...)
	}
	return TokenBucket(burst, 1, time.Duration((1e9+n-1)/n), o...)
}
