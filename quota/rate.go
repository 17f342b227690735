package quota

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// A Rate is a *rate.Limiter of golang.org/x/time met at the same door as
// everything else: asked together with a server's quotas, and charged only
// if all of them have room.
//
// The rate.Limiter may be used elsewhere, too, and its limit and burst be
// changed. A permit that goes elsewhere between asking and charging is
// charged here all the same: the limiter goes into debt and the next ones
// wait the longer.
type Rate struct {
	guard guard // guards following
	line  *line
	rate  *rate.Limiter

	self [1]gate
}

// NewRate wraps l, which must not be nil.
func NewRate(l *rate.Limiter) *Rate {
	r := &Rate{guard: guard{rank: ranks.Add(1)}, rate: l}
	r.self[0] = r
	return r
}

// TryAcquire implements Limiter.
func (r *Rate) TryAcquire(n int64) (*Lease, error) { return tryAcquire(r, n) }

// Acquire implements Limiter.
func (r *Rate) Acquire(ctx context.Context, n int64) (*Lease, error) { return acquireWait(ctx, r, n) }

func (r *Rate) gates() []gate    { return r.self[:] }
func (r *Rate) guarded() *guard  { return &r.guard }
func (r *Rate) queue() **line    { return &r.line }
func (r *Rate) holds() bool      { return false }
func (r *Rate) refusal() Refusal { return Refusal{} }

// most is the burst: a rate.Limiter never grants more at once, unless it has
// no limit at all.
func (r *Rate) most() int64 {
	if r.rate.Limit() == rate.Inf {
		return int64(^uint32(0) >> 1)
	}
	return int64(r.rate.Burst())
}

func (r *Rate) look(now time.Time, n int64) verdict {
	n = max(n, 1)
	limit := r.rate.Limit()
	short := float64(n) - r.rate.TokensAt(now)
	switch {
	case short <= 0 || limit == rate.Inf:
		return verdict{ok: true, why: ReasonOwnLimit}
	case limit <= 0 || n > int64(r.rate.Burst()):
		return verdict{why: ReasonOwnLimit, again: now.Add(time.Minute)}
	}
	// A nanosecond more makes up for the rounding of float64.
	wait := time.Duration(min(short/float64(limit)*float64(time.Second), 1<<60))
	return verdict{why: ReasonOwnLimit, again: now.Add(wait + time.Nanosecond)}
}

func (r *Rate) charge(now time.Time, n int64) uint32 {
	r.rate.ReserveN(now, int(n))
	return 0
}

// cancel gives the permits back. A rate.Limiter takes negative amounts.
func (r *Rate) cancel(now time.Time, n int64, _ uint32) {
	r.rate.ReserveN(now, int(-n))
}

func (r *Rate) release(time.Time, int64) {}
