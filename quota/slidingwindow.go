package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// SlidingWindow returns a limiter that grants up to n permits in a window that
// moves by one segment at a time. The first segment begins when the limiter is
// made. Permits that were taken in a segment are available again when it leaves
// the window. With a window of 3 s in 3 segments and 10 permits:
//
//	second     1  2  3  4  5
//	taken      3  4  3  3  4
//	available  7  3  0  0  0   at the end of the second
//
// In the 4th second the 3 permits of the first are available again, in the 5th
// the 4 of the second. With more segments permits return more evenly: in any
// time that is one segment shorter than the window, at most n permits are
// granted.
//
// A window has 1 to 65,536 segments, each at least 1 ns long. If an argument is
// out of range, the limiter grants nothing: see Limit. Of several Options the
// last ones count.
func SlidingWindow(n int64, window time.Duration, segments int, o ...Options) *Limit {
	if n < 1 || window <= 0 || segments < 1 || segments > meter.MaxSegments || int64(segments) > int64(window) {
		return nothing(o)
	}
	return newLimit(meter.NewSlidingWindow(n, window, segments), o)
}
