package quota

import (
	"fmt"
	"math"
)

// An Order says who goes first among those who wait for a limiter.
type Order uint8

const (
	// OldestFirst lets those go first who came first. Nobody overtakes: who
	// comes while somebody waits, waits behind them.
	OldestFirst Order = iota
	// NewestFirst lets those go first who came last, as suits work that is
	// worth less the longer it waits. Who comes while somebody waits overtakes.
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

// A Queue is how those wait who come to a limiter that has too few permits
// left. The zero Queue is one of oldest first, with room for
// DefaultMaxQueue permits.
//
// The limit is in permits, not in waiters: who waits for n permits takes up n
// places, and who waits for 0, that is for some permit to be there, takes up 1.
// When a newcomer does not fit, there are two ways: with OldestFirst the
// newcomer is refused. With NewestFirst those are who would go last, the
// oldest, one after another until the newcomer fits; unless it alone is more
// than the limit: then it is refused itself, and nobody else. Either way the
// refusal's Reason is ReasonQueueFull. A place is free again as soon as its
// waiter has gone or given up.
type Queue struct {
	// Order is who goes first. The zero Order is OldestFirst.
	Order Order

	// Limit is how many permits may be waited for at a time. Zero means
	// DefaultMaxQueue, or as many as the limiter has if that is more, so that
	// any one request can wait. A negative number means no bound (but that of
	// an int64). For a limiter that nobody waits for there is TryAcquire.
	Limit int64
}

// check says what is wrong with a Queue of the options of that name.
func (q Queue) check(options string) error {
	if q.Order > NewestFirst {
		return fmt.Errorf("quota: %s.Queue.Order is %d; it takes OldestFirst or NewestFirst", options, q.Order)
	}
	return nil
}

// of is the queue of a limiter of so many permits, with its defaults.
func (q Queue) of(permits int64) Queue {
	switch {
	case q.Limit == 0:
		q.Limit = max(DefaultMaxQueue, permits)
	case q.Limit < 0:
		q.Limit = math.MaxInt64
	}
	return q
}
