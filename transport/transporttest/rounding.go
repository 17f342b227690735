package transporttest

import "time"

// A Rounding says how a time left becomes whole seconds, which are all that the
// fields can say.
type Rounding int

const (
	// RoundUp says 10 for 9.1 s and for 10 s: who waits so long is not early.
	RoundUp Rounding = iota

	// RoundDown says 9 for 9.9 s, and 0 in the last second.
	RoundDown

	// RoundNearest says 9 for 9.4 s and 10 for 9.5 s.
	RoundNearest
)

// seconds returns d, which is not negative, in whole seconds.
func (r Rounding) seconds(d time.Duration) int64 {
	whole, rest := int64(d/time.Second), d%time.Second
	if r == RoundUp && rest > 0 || r == RoundNearest && rest >= time.Second/2 {
		whole++
	}
	return whole
}
