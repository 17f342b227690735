package window

import (
	"math"
	"time"
)

// An Instant is the time since the accounts of an origin began, in nanoseconds
// of the monotonic clock.
type Instant int64

// Never is an instant that does not come.
const Never Instant = math.MaxInt64

// Add returns t+d. It saturates at Never: a duration may be as long as a server
// likes.
func (t Instant) Add(d time.Duration) Instant {
	if d > 0 && t > Never-Instant(d) {
		return Never
	}
	return t + Instant(d)
}

// Since returns how long before t the instant u was, and 0 if it is not before t.
func (t Instant) Since(u Instant) time.Duration { return time.Duration(max(t-u, 0)) }

// MaxUnits bounds every number of units, so that sums do not overflow. It is
// more than an Integer of a field can say (RFC 9651, Section 3.3.1).
const MaxUnits = 1 << 52

// plus adds n units. It saturates far above any sum that an account can reach.
func plus(units, n int64) int64 { return min(units+min(n, MaxUnits), 1<<60) }
