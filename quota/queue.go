package quota

import (
	"fmt"
	"math"
)

// An Order is the order in which a limiter serves waiting requests.
type Order uint8

const (
	// OldestFirst serves the request that has waited longest. A new request
	// waits behind those that are waiting.
	OldestFirst Order = iota
	// NewestFirst serves the request that has waited shortest, for work that
	// loses value while it waits. A new request goes ahead of those that are
	// waiting.
	NewestFirst
)

// String returns the order in lower-case words.
func (o Order) String() string {
	switch o {
	case OldestFirst:
		return "oldest first"
	case NewestFirst:
		return "newest first"
	}
	return "unknown order"
}

// A Queue configures how requests wait for a limiter with too few permits. The
// zero Queue serves the oldest request first and has room for DefaultMaxQueue
// permits.
//
// The room is counted in permits: a request for n permits takes n places, a
// request for 0 permits takes 1. If a new request does not fit, then with
// OldestFirst it is refused. With NewestFirst the oldest requests are refused
// instead, one after another, until the new one fits; a request that does not
// fit into the empty queue is refused itself. The refusal's Reason is
// ReasonQueueFull in both cases. Places are free as soon as their request is
// granted or gives up.
type Queue struct {
	// Order is the order in which requests are served. The zero Order is
	// OldestFirst.
	Order Order

	// Limit is how many permits may be waited for at a time. Zero means
	// DefaultMaxQueue, or the limiter's number of permits if that is larger, so
	// that any single request can wait. A negative number means math.MaxInt64.
	// Requests that should never wait use TryAcquire.
	Limit int64
}

// check returns the error of an invalid Queue in the options of that name.
func (q Queue) check(options string) error {
	if q.Order > NewestFirst {
		return fmt.Errorf("quota: %s.Queue.Order is %d; it takes OldestFirst or NewestFirst", options, q.Order)
	}
	return nil
}

// withDefaults returns the queue of a limiter of that capacity, with its Limit
// resolved.
func (q Queue) withDefaults(capacity int64) Queue {
	switch {
	case q.Limit == 0:
		q.Limit = max(DefaultMaxQueue, capacity)
	case q.Limit < 0:
		q.Limit = math.MaxInt64
	}
	return q
}
