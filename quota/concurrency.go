package quota

import (
	"context"
	"fmt"
	"math"
	"time"
)

// A Concurrency is a limit on what is going on at a time: so many permits are
// out at once, and they come back when their leases are released.
type Concurrency struct {
	guard   guard // guards following
	line    *line
	permits int64
	out     int64

	self [1]gate
}

// NewConcurrency returns a limiter of so many permits, at least 1.
func NewConcurrency(permits int64) (*Concurrency, error) {
	if permits < 1 {
		return nil, fmt.Errorf("quota: a concurrency limit of %d permits; it takes at least 1", permits)
	}
	c := &Concurrency{guard: guard{rank: ranks.Add(1)}, permits: permits}
	c.self[0] = c
	return c, nil
}

// TryAcquire implements Limiter.
func (c *Concurrency) TryAcquire(n int64) (*Lease, error) { return tryAcquire(c, n) }

// Acquire implements Limiter.
func (c *Concurrency) Acquire(ctx context.Context, n int64) (*Lease, error) {
	return acquireWait(ctx, c, n)
}

// Available is how many permits are not out.
func (c *Concurrency) Available() int64 {
	c.guard.Lock()
	defer c.guard.Unlock()
	return max(c.permits-c.out, 0)
}

func (c *Concurrency) gates() []gate    { return c.self[:] }
func (c *Concurrency) most() int64      { return c.permits }
func (c *Concurrency) guarded() *guard  { return &c.guard }
func (c *Concurrency) queue() **line    { return &c.line }
func (c *Concurrency) holds() bool      { return true }
func (c *Concurrency) refusal() Refusal { return Refusal{} }

func (c *Concurrency) look(_ time.Time, n int64) verdict {
	return verdict{ok: c.out <= c.permits-max(n, 1), why: ReasonOwnLimit}
}

func (c *Concurrency) charge(_ time.Time, n int64) uint32 {
	c.out += min(n, math.MaxInt64-c.out)
	return 0
}

func (c *Concurrency) release(_ time.Time, n int64) { c.out = max(c.out-n, 0) }

func (c *Concurrency) cancel(now time.Time, n int64, _ uint32) { c.release(now, n) }
