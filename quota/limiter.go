package quota

import (
	"context"
	"errors"
	"time"
)

// ErrPermits is the error of asking for a number of permits that makes no
// sense: a negative one, or more than a limiter can ever grant.
var ErrPermits = errors.New("quota: number of permits out of range")

// A Limiter is a limit of the client's own, on rate or on concurrency. It
// grants leases of permits, now or after waiting:
//
//	lease, err := limiter.Acquire(ctx, 1)
//	if err != nil {
//		return err
//	}
//	defer lease.Release()
//
// FixedWindow, SlidingWindow and TokenBucket limit rates, Concurrency what is
// going on at a time; Rate and Custom adapt a rate.Limiter and a function of
// the caller's; a Chain is several limiters at once; and an Advertised is what
// a server says of its own quota. Keyed keeps one of them for each key.
//
// The interface is sealed: several limiters and accounts are checked, then
// charged, at one instant, which takes more than these methods. Limiters are
// safe for concurrent use, must not be copied, and have no goroutine of their
// own, nor a timer while nobody waits: one that is no longer used needs no
// closing.
type Limiter interface {
	// TryAcquire grants a lease of n permits now, or returns a *Refusal. For
	// 0 permits it says whether there are any, and takes none. For a number
	// that can never be granted the error is ErrPermits. On failure nothing is
	// taken.
	TryAcquire(n int64) (*Lease, error)

	// Acquire is TryAcquire that waits in the limiter's Queue where TryAcquire
	// would refuse, and holds nothing while it waits. For 0 permits it waits
	// until there are any. If ctx has ended or ends first, the error is its
	// cause, bare. A *Refusal says that waiting is out of the question: its
	// Reason is ReasonQueueFull, ReasonClosed, or ReasonDeadline where the
	// permits cannot be there before the deadline of ctx, even if nobody else
	// waited. On failure nothing is taken.
	Acquire(ctx context.Context, n int64) (*Lease, error)

	// Stats is what the limiter has done and has left: a snapshot. It works
	// after Close, too.
	Stats() Stats

	// Close refuses everybody who waits or comes later, with an error that is
	// ErrClosed to errors.Is. Leases that are out stay good, and ending them is
	// harmless. A second Close does nothing.
	Close()

	// gates are what stands behind the limiter, in the order in which it names
	// them. They are for one admission.
	gates() []gate
	// most is what can be granted at once.
	most() int64
	// books is the advertised quota that the limiter has behind its gates; nil:
	// none.
	books() *Advertised
}

// Stats are the statistics of a limiter at one instant.
type Stats struct {
	// Available is how many permits could be granted if nobody waited; None
	// where nobody knows. Of a chain it is the lowest that is known.
	Available int64
	// Queued is how many permits are waited for. Who waits for 0 counts as 1.
	Queued int64
	// Granted counts leases, those of 0 permits included; not permits.
	Granted int64
	// Refused counts refusals, and neither bad arguments nor waits that ended
	// with their context.
	Refused int64
	// IdleSince is since when nobody has waited and all permits have been there.
	// It is the zero time while any permit is out, is replenished or is waited
	// for.
	IdleSince time.Time
}

// grant is acquire into a new lease.
func grant(ctx context.Context, l Limiter, n int64, maxDelay time.Duration) (*Lease, error) {
	lease := new(Lease)
	if err := acquire(ctx, l, n, maxDelay, lease); err != nil {
		return nil, err
	}
	return lease, nil
}

// acquire is TryAcquire and Acquire of all limiters, after the shortcuts.
func acquire(ctx context.Context, l Limiter, n int64, maxDelay time.Duration, lease *Lease) error {
	if n < 0 || n > l.most() {
		return ErrPermits
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	gates := l.gates()
	consultGates(gates, n)
	if b := l.books(); b != nil {
		return b.enter(ctx, gates, n, maxDelay, lease)
	}
	lease.claims.addAll(gates, n)
	return lease.admit(ctx, maxDelay)
}

// admit charges what was added to the lease's claims, all of them consulted.
func (l *Lease) admit(ctx context.Context, maxDelay time.Duration) error {
	want := wish{maxDelay: maxDelay, maxQueue: -1}
	lock(l.claims.all())
	err := admit(ctx, time.Now(), l, &want)
	if err != nil {
		l.drop()
	}
	return err
}
