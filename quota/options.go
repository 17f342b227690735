package quota

import "math"

// Options configure a limiter of the client's own: its name, and the queue of the
// requests that wait for it. The zero Options give it no name, and a queue that
// serves the oldest request first.
//
// The room in the queue is counted in permits: a request for n permits takes n
// places, a request for 0 permits takes 1. If a new request does not fit, it is
// refused; with NewestFirst, the oldest requests are refused instead, one after
// another, until the new one fits, and a request that does not fit into the empty
// queue is refused itself. The refusal's Reason is ReasonQueueFull in both cases.
// Places are free as soon as their request is granted or gives up.
type Options struct {
	// Name is the Policy of the limiter's refusals, and part of their text.
	Name string

	// MaxQueue is how many permits may be waited for at a time. Zero means
	// 10,000, or the limiter's number of permits if that is larger, so
	// that any single request can wait. A negative number means math.MaxInt64.
	// Requests that should never wait use TryAcquire.
	MaxQueue int64

	// NewestFirst serves the request that has waited shortest, for work that
	// loses value while it waits. A new request goes ahead of those that are
	// waiting. Otherwise it waits behind them.
	NewestFirst bool
}

// withDefaults returns the options of a limiter of that capacity, with MaxQueue
// resolved.
func (o Options) withDefaults(capacity int64) Options {
	switch {
	case o.MaxQueue == 0:
		o.MaxQueue = max(defaultMaxQueue, capacity)
	case o.MaxQueue < 0:
		o.MaxQueue = math.MaxInt64
	}
	return o
}

// last returns the last of the options given to a constructor, or none.
func last(os []Options) (o Options) {
	if len(os) > 0 {
		o = os[len(os)-1]
	}
	return o
}
