package parse

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// None stands for a number or a duration that the field did not give, or gave
// above its cap.
const None = -1

// seconds is n seconds, or the longest Duration where that cannot hold them: an
// Integer of RFC 9651, Section 3.3.1, goes up to 999,999,999,999,999, a Duration
// to less than 10,000,000,000 seconds. It is the only place where a number from
// the wire becomes a Duration. n is not negative.
func seconds(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Second
}

// deltaSeconds parses delta-seconds (RFC 9111, Section 1.2.2), which is also the
// delay-seconds of RFC 9110, Section 10.2.3: digits and nothing else. A number too
// large for an int64 is the largest one.
func deltaSeconds(s string) (n int64, ok bool) {
	u, err := strconv.ParseUint(s, 10, 63)
	return int64(u), err == nil || errors.Is(err, strconv.ErrRange)
}
