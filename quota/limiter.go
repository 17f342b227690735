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
// grants leases of permits, now or after waiting.
//
// The interface is sealed: several limiters and accounts are checked, then
// charged, at one instant, which takes more than these methods. Limiters are
// safe for concurrent use.
type Limiter interface {
	// TryAcquire grants a lease of n permits now, or returns a *Refusal. For
	// 0 permits it says whether there are any, and takes none. For a number
	// that can never be granted the error is ErrPermits.
	TryAcquire(n int64) (*Lease, error)

	// Acquire is TryAcquire that waits, first come, first served, for
	// DefaultMaxDelay at the most. If ctx ends first, the error is its cause,
	// and nothing is taken.
	Acquire(ctx context.Context, n int64) (*Lease, error)

	// gates are what stands behind the limiter, in the order of their ranks.
	gates() []gate
	// most is what can be granted at once.
	most() int64
}

// tryAcquire is TryAcquire of all limiters.
func tryAcquire(l Limiter, n int64) (*Lease, error) {
	return acquire(context.Background(), l, n, wish{maxDelay: NoDelay})
}

// acquireWait is Acquire of all limiters.
func acquireWait(ctx context.Context, l Limiter, n int64) (*Lease, error) {
	return acquire(ctx, l, n, wish{maxDelay: DefaultMaxDelay, maxQueue: DefaultMaxQueue})
}

func acquire(ctx context.Context, l Limiter, n int64, want wish) (*Lease, error) {
	if n < 0 || n > l.most() {
		return nil, ErrPermits
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	lease := new(Lease)
	lease.claims.addAll(l, n)
	lock(lease.claims.all())
	if err := admit(ctx, time.Now(), lease, &want); err != nil {
		return nil, err
	}
	return lease, nil
}
