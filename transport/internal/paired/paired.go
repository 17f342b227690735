// Package paired compares what functions cost on a machine that does other work, too.
package paired

import (
	"math"
	"time"
)

// Minima calls each of the functions n times in a row, in turns, as often as runs says. It
// returns the least time that a call of each took. Work of others makes some runs longer, and
// none shorter; what is slow for a while is so for all.
func Minima(runs, n int, fs ...func()) []time.Duration {
	least := make([]float64, len(fs))
	for i := range least {
		least[i] = math.Inf(1)
	}
	for range runs {
		for i, f := range fs {
			began := time.Now()
			for range n {
				f()
			}
			least[i] = min(least[i], float64(time.Since(began))/float64(n))
		}
	}
	times := make([]time.Duration, len(fs))
	for i := range times {
		times[i] = time.Duration(least[i])
	}
	return times
}
