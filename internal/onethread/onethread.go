// Package onethread lets a simulation use the accounts of package quota on one thread: work
// that would wait is refused instead, and the other processes of a fleet are told nevertheless
// that it waits. Package quota sets the functions.
package onethread

import "time"

var (
	// Try is the method Admit of an origin (*quota.Origin), for an ask (*quota.Ask) of work that
	// waits. It refuses the work instead, with what it would wait for. The others are not told.
	Try func(origin any, now time.Time, ask, lease any) error

	// Queue has the others know that the work of an ask waits, until Unqueue with the same
	// lease (*quota.Lease), which is another one than that of Try.
	Queue   func(origin any, now time.Time, ask, lease any)
	Unqueue func(origin, lease any)
)
