package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// FixedWindow returns a limiter that grants up to n permits in each window of
// time. A window begins with the first grant after the end of the window before.
// At its end all permits are available again.
//
// Around the end of a window, up to twice the permits may be granted within a
// short time. A SlidingWindow grants fewer there, and a TokenBucket no more than
// its burst.
//
// If n is less than 1, or the window is not longer than 0, the limiter grants
// nothing: see Limit. Of several Options the last ones count.
func FixedWindow(n int64, window time.Duration, o ...Options) *Limit {
	if n < 1 || window <= 0 {
		return nothing(o)
	}
	return newLimit(meter.NewFixedWindow(n, window), o)
}
