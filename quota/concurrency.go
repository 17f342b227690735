package quota

import "github.com/headway-go/headway/quota/internal/meter"

// Concurrency returns a limiter of how much happens at the same time: up to n
// permits are taken at once, and each stays taken until its lease is released or
// cancelled.
//
// If n is less than 1, the limiter grants nothing: see Limit. Of several Options
// the last ones count.
func Concurrency(n int64, o ...Options) *Limit {
	if n < 1 {
		return nothing(o)
	}
	l := new(Limit)
	l.retains, l.counter = true, meter.NewConcurrency(n)
	l.open(l, l.counter, last(o))
	return l
}
