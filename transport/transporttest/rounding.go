package transporttest

import (
	"math"
	"time"
)

// wholeSeconds rounds d, which is not negative, to whole seconds. round is called with
// the fraction of a second in d; nil means math.Ceil.
func wholeSeconds(d time.Duration, round func(float64) float64) int64 {
	if round == nil {
		round = math.Ceil
	}
	return int64(d/time.Second) + int64(round((d % time.Second).Seconds()))
}
