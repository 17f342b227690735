package parse

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// None stands for a number or a duration that was not sent, or was above its cap.
const None = -1

// seconds returns n seconds, or the longest Duration if that is shorter: an Integer
// (RFC 9651, Section 3.3.1) goes up to 999,999,999,999,999, a Duration to less than
// 10,000,000,000 seconds. n must not be negative.
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

// A decimal is a number as servers write it outside Structured Fields: digits, with an
// optional fraction and an optional minus sign.
type decimal struct {
	whole    int64 // saturates
	fraction int64 // in units of 1e-9, from 0 to 999,999,999; further digits are cut off
	negative bool
	pointed  bool // there is a decimal point
}

// parseDecimal parses [-]1*DIGIT[.1*DIGIT], without the other forms of strconv such as
// exponents.
func parseDecimal(s string) (d decimal, ok bool) {
	s, d.negative = strings.CutPrefix(s, "-")
	whole, fraction, pointed := strings.Cut(s, ".")
	d.pointed = pointed
	if !digits(whole) || pointed && !digits(fraction) {
		return decimal{}, false
	}
	d.whole, _ = deltaSeconds(whole)
	for i, unit := 0, int64(1e8); i < len(fraction) && unit > 0; i++ {
		d.fraction += int64(fraction[i]-'0') * unit
		unit /= 10
	}
	return d, true
}

// parseFloat parses a Unix time as a float, as Go prints it: 1.776938445e+09.
func parseFloat(s string) (d decimal, ok bool) {
	if s[0] < '0' || s[0] > '9' || !strings.ContainsAny(s, "eE") || strings.Trim(s, "0123456789.eE+") != "" {
		return decimal{}, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < leastUnix || f >= 1<<53 {
		return decimal{}, false
	}
	whole, fraction := math.Modf(f)
	return decimal{whole: int64(whole), fraction: int64(fraction * 1e9)}, true
}

// zero reports whether the number is 0, with or without a sign.
func (d decimal) zero() bool { return d.whole == 0 && d.fraction == 0 }

// times returns the duration of d units, rounded down to nanoseconds, or the longest
// Duration if that is shorter. It ignores the sign.
func (d decimal) times(unit time.Duration) time.Duration {
	if d.whole > int64(math.MaxInt64/unit) {
		return math.MaxInt64
	}
	whole, part := time.Duration(d.whole)*unit, time.Duration(d.fraction)
	if unit > time.Second {
		part *= unit / time.Second
	} else {
		part /= time.Second / unit
	}
	if whole > math.MaxInt64-part {
		return math.MaxInt64
	}
	return whole + part
}

// digits reports whether s is 1*DIGIT.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// plus adds two durations that are not negative. It returns the longest Duration if the
// sum is longer.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
