package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// A limiterCore implements Limiter and gate for all limiters: a meter, the line
// of those that wait for it, and statistics. Limiters embed it.
type limiterCore struct {
	guard    guard // guards following
	meter    meter.Meter
	line     *line // nil: nothing waits
	granted  int64
	refusals int64
	allBack  time.Duration // when the last permit was released
	closed   bool

	// These fields are written once, before the limiter is used.
	limiter  Limiter // that embeds this core
	alone    bool    // no other gate belongs to the limiter
	retains  bool    // permits stay taken until they are released
	counting bool    // grants everything; its refusals are those of the gates beside it
	rules    Queue   // of the line
	made     time.Time
	self     [1]gate
}

// open prepares the core that limiter embeds, with all permits available.
func (l *limiterCore) open(limiter Limiter, m meter.Meter, q Queue) {
	l.guard.rank = serial.Add(1)
	l.limiter, l.meter, l.rules, l.made = limiter, m, q.withDefaults(m.Capacity()), time.Now()
	l.self[0] = l
	gates := limiter.gates()
	l.alone = len(gates) == 1 && gates[0] == gate(l) && limiter.advertised() == nil
}

// at returns an instant as the meter's.
func (l *limiterCore) at(now time.Time) time.Duration { return now.Sub(l.made) }

// TryAcquire implements Limiter.
func (l *limiterCore) TryAcquire(n int64) (lease *Lease, err error) {
	// This is small enough to be inlined, so that a lease that does not escape
	// from the caller is not allocated.
	lease = new(Lease)
	if err = l.acquire(context.Background(), lease, n, NoDelay); err != nil {
		lease = nil
	}
	return
}

// Acquire implements Limiter.
func (l *limiterCore) Acquire(ctx context.Context, n int64) (lease *Lease, err error) {
	lease = new(Lease) // see TryAcquire
	if err = l.acquire(ctx, lease, n, forever); err != nil {
		lease = nil
	}
	return
}

// acquire grants n permits to the lease, which is empty, and waits for up to
// maxDelay; NoDelay does not wait. On failure the lease stays empty.
func (l *limiterCore) acquire(ctx context.Context, lease *Lease, n int64, maxDelay time.Duration) error {
	if n < 0 {
		return ErrPermits
	}
	if ctx.Err() == nil && l.alone && l.grant(lease, n) {
		return nil
	}
	if n > l.limiter.capacity() {
		return ErrPermits
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	gates := l.limiter.gates()
	consultGates(gates, n)
	if a := l.limiter.advertised(); a != nil {
		return a.enter(ctx, gates, n, maxDelay, lease)
	}
	lease.claims.addAll(gates, n)
	return lease.admit(ctx, maxDelay)
}

// grant grants n permits of a limiter with no other gate, if they are available
// and nothing waits, and reports whether it did. The lease needs no memory for
// claims then.
func (l *limiterCore) grant(lease *Lease, n int64) bool {
	t := time.Since(l.made)
	l.guard.Lock()
	defer l.guard.Unlock()
	if l.closed || l.line != nil || l.meter.Wait(t, 0, max(n, 1)) != 0 {
		return false
	}
	l.granted++
	lease.only = claim{gate: l, units: n, epoch: l.meter.Take(t, n), held: l.retains}
	lease.charged = true
	return true
}

// Stats implements Limiter.
func (l *limiterCore) Stats() Stats {
	l.guard.Lock()
	defer l.guard.Unlock()
	t := l.at(time.Now())
	s := Stats{
		Available: l.meter.Available(t),
		Queued:    l.line.permits(),
		Granted:   l.granted,
		Refused:   l.refusals,
	}
	if since, ok := l.meter.IdleSince(t); ok && l.line == nil {
		s.IdleSince = l.made.Add(max(since, l.allBack))
	}
	return s
}

// Close implements Limiter.
func (l *limiterCore) Close() {
	l.guard.Lock()
	l.closed = true
	w := l.line.kick(time.Now()) // a waiter that leaves wakes the next one
	l.guard.Unlock()
	w.wake()
}

func (l *limiterCore) gates() []gate           { return l.self[:] }
func (l *limiterCore) advertised() *Advertised { return nil }
func (l *limiterCore) capacity() int64         { return l.meter.Capacity() }

// The methods of gate.

func (l *limiterCore) guarded() *guard  { return &l.guard }
func (l *limiterCore) queue() **line    { return &l.line }
func (l *limiterCore) rule() Queue      { return l.rules }
func (l *limiterCore) holds() bool      { return l.retains }
func (l *limiterCore) refusal() Refusal { return Refusal{} }

func (l *limiterCore) look(now time.Time, n int64) verdict {
	if l.closed {
		return verdict{final: true, why: ReasonClosed}
	}
	v := verdict{why: ReasonOwnLimit}
	switch d := l.meter.Wait(l.at(now), 0, max(n, 1)); d {
	case 0:
		v.ok = true
	case meter.UntilRelease:
	case meter.Never:
		v.final = true
	default:
		v.again = now.Add(d)
	}
	return v
}

func (l *limiterCore) behind(now time.Time, n int64) time.Duration {
	ahead := l.line.permits()
	if l.rules.Order == NewestFirst {
		ahead = 0
	}
	return max(l.meter.Wait(l.at(now), ahead, max(n, 1)), 0)
}

func (l *limiterCore) charge(now time.Time, n int64) uint32 {
	l.granted++
	return l.meter.Take(l.at(now), n)
}

func (l *limiterCore) cancel(now time.Time, n int64, epoch uint32) {
	if l.retains {
		l.release(now, n)
		return
	}
	l.meter.Cancel(l.at(now), n, epoch)
}

func (l *limiterCore) release(now time.Time, n int64) {
	if l.retains && l.meter.Release(n) {
		l.allBack = l.at(now)
	}
}

func (l *limiterCore) tally(itself bool) {
	if itself || l.counting {
		l.refusals++
	}
}

// times returns k times d, or the longest duration if that is longer.
func times(d time.Duration, k uint64) time.Duration { return meter.Mul(d, k) }

// atLeast returns the error of an option that is below its minimum, or nil.
func atLeast[T int | int64 | time.Duration](option string, n, minimum T) error {
	if n < minimum {
		return fmt.Errorf("quota: %s is %v; it takes at least %v", option, n, minimum)
	}
	return nil
}
