// Package meter computes how many permits of a limiter are available, and when
// more of them will be.
//
// Its types are pure arithmetic. They read no clock, take no lock and never
// wait: the caller holds a mutex and passes the present instant, as the time
// since the limiter was made.
package meter

import "time"

// A Meter counts the permits of one limiter.
//
// An instant t is the time since the limiter was made. If t is earlier than the
// t of a previous call, a Meter computes with the instants that it has recorded,
// so that a clock that jumps back yields no permits. A Meter is not safe for
// concurrent use.
type Meter interface {
	// Capacity returns the largest number of permits that can be granted at
	// once.
	Capacity() int64

	// Available returns how many permits can be taken at t, or Unknown.
	Available(t time.Duration) int64

	// Wait returns how long after t a request for n permits, at least 1, can be
	// granted if ahead permits are granted to other requests first. It returns
	// 0 if it can be granted at t, UntilRelease or Never.
	Wait(t time.Duration, ahead, n int64) time.Duration

	// Take takes n permits at t, even if fewer are available: a request may be
	// forced. The epoch is for Cancel.
	Take(t time.Duration, n int64) (epoch uint32)

	// Cancel undoes the Take of n permits that returned epoch. It returns to the
	// limiter what time has not returned to it since.
	Cancel(t time.Duration, n int64, epoch uint32)

	// Release returns n permits whose use is over, and reports whether all
	// permits are back. It does nothing, and returns false, if time returns the
	// permits.
	Release(n int64) (all bool)

	// IdleSince returns since when all permits have been available; ok is false
	// if some are not available at t. The instant is 0 for a Meter whose permits
	// are returned by Release: it is told no time.
	IdleSince(t time.Duration) (since time.Duration, ok bool)

	// Allows says what is allowed, for people to see: n permits in each period, in
	// bursts of up to burst, or 0 if there is no such bound; n at a time if the period
	// is 0; something else if both are. It may be called at any time.
	Allows() (n, burst int64, period time.Duration)
}

// Special results of Meter.Wait.
const (
	// UntilRelease means that the wait ends when other requests release their
	// permits, which no clock can tell.
	UntilRelease time.Duration = -1
	// Never means that the limiter cannot grant so many permits.
	Never time.Duration = -2
)

// Unknown is the result of Meter.Available where no number is known.
const Unknown int64 = -1
