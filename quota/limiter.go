package quota

import (
	"context"
	"errors"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// ErrPermits is the error of a request for an impossible number of permits: a
// negative number, or more than the limiter can ever grant at once.
var ErrPermits = errors.New("quota: number of permits out of range")

// A Limiter is a limit of the client's own, on a rate or on concurrency. It
// grants leases of permits, at once or after a wait:
//
//	lease, err := limiter.Acquire(ctx, 1)
//	if err != nil {
//		return err
//	}
//	defer lease.Release()
//
// PerSecond, FixedWindow, SlidingWindow and TokenBucket limit a rate; Concurrency
// limits how much happens at the same time. Rate adapts a rate.Limiter, Custom
// functions. A Chain combines several limiters. Origin.Limiter returns one that
// stands for the quota that a server advertises. By keeps a limiter for each key.
//
// A Limiter is safe for concurrent use and must not be copied. It starts no
// goroutine, and has a timer only while a request waits, so an unused Limiter
// needs no Close.
//
// Only this package implements the interface: several limiters and accounts are
// checked and then charged at one instant, which takes more than the exported
// methods.
type Limiter interface {
	// TryAcquire grants a lease of n permits now, or returns a *Refusal. For 0
	// permits it reports whether any permit is available, and takes none. If n
	// can never be granted, the error is ErrPermits. On failure nothing is
	// taken.
	TryAcquire(n int64) (*Lease, error)

	// Acquire grants a lease of n permits, and waits in the limiter's Queue
	// where TryAcquire would refuse. A waiting request has taken nothing. For 0
	// permits it waits until any permit is available.
	//
	// If ctx ends first, or has ended before, the error is context.Cause(ctx),
	// not wrapped. If the request cannot wait, the error is a *Refusal; its
	// Reason is ReasonQueueFull, ReasonClosed, or ReasonDeadline if the permits
	// cannot be available before the deadline of ctx, as far as is known: a request
	// that waits ahead may yet give up. If n can never be granted, the error is
	// ErrPermits. On failure nothing is taken.
	Acquire(ctx context.Context, n int64) (*Lease, error)

	// Stats returns a snapshot of the limiter's statistics. It works after
	// Close, too.
	Stats() Stats

	// Close makes the limiter refuse all waiting and later requests, with errors
	// that match ErrClosed with errors.Is. Leases granted before stay valid, and
	// can be ended as usual. A second Close does nothing.
	Close()

	// constraints returns the constraints of one admission, in the limiter's order.
	constraints() []wait.Constraint
	// capacity returns the largest number of permits that can be granted at
	// once.
	capacity() int64
	// advertised returns the advertised quota that is part of the limiter, or
	// nil. Its accounts are not among the constraints.
	advertised() *advertised
	// awaited reports whether a request that claims the limiter waits, also in the
	// Queue of another one or for an origin.
	awaited() bool
}

// Stats are the statistics of a limiter at one instant.
type Stats struct {
	// Available is how many permits could be granted if no request waited, or
	// None if that is not known. For a Chain it is the lowest known number.
	Available int64
	// Queued is how many permits are waited for. A request for 0 permits counts
	// as 1.
	Queued int64
	// Granted counts leases (not permits), including those of 0 permits.
	Granted int64
	// Refused counts requests that got a *Refusal. A request that got ErrPermits,
	// or whose context ended, is not counted.
	Refused int64
	// IdleSince is since when all permits have been available and no request has
	// waited. It is the zero time if that is not so now.
	IdleSince time.Time
}

// admit charges the constraints for n permits, after Custom limiters among them
// were consulted, and whatever else was added to the lease's claims.
func (l *Lease) admit(ctx context.Context, all []wait.Constraint, n int64, maxDelay time.Duration) error {
	defer undo(all, n)
	wait.Lock(l.claims.all())
	err := admitted(wait.Admit(ctx, time.Now(), l.claims.all(), &wait.Options{
		MaxDelay: maxDelay,
		MaxQueue: -1,
		Charge:   l.charge,
		Waiting:  l.awaits,
		Sleeps:   func() { undo(all, n) },
		Renew: func() []wait.Claim {
			consult(ctx, all, n)
			wait.Lock(l.claims.all())
			return l.claims.all()
		},
	}))
	if err != nil {
		l.drop()
	}
	return err
}

// awaits notes in the limiters that the lease claims that the work begins to wait, with by = 1, or does not wait any
// more, with by = -1. The mutexes of all claims are held.
func (l *Lease) awaits(by int32) {
	cs := l.claims.all()
	for i := range cs {
		switch c := cs[i].Constraint.(type) {
		case *constraint:
			c.awaiting += by
		case *asking:
			c.awaiting += by
		}
	}
}

// admitNow is admit of work that does not wait, and claims no Custom limiter.
func (l *Lease) admitNow() error {
	now, cs := time.Now(), l.claims.all()
	wait.Lock(cs)
	r := wait.Refuse(now, cs)
	if r.By == nil {
		l.charge(now)
	}
	wait.Unlock(cs)
	if r.By != nil {
		l.drop()
	}
	return admitted(r, nil)
}
