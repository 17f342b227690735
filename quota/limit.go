package quota

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// A meter is the arithmetic of one limiter: how many permits there are, and
// when there will be more. It is pure: instants are arguments, those of one
// meter on one clock, nothing is locked, nobody waits. An instant before an
// earlier one counts as that one.
type meter interface {
	// most is how many permits can be granted at once.
	most() int64
	// wait is how long it takes from t until n permits, at least 1, can be
	// granted, after others for ahead permits; 0: now; or onRelease or inVain.
	wait(t instant, ahead, n int64) time.Duration
	// take takes n permits at t, whether they are there or not, and returns the
	// epoch that they were taken in.
	take(t instant, n int64) (epoch uint32)
	// cancel undoes a take.
	cancel(t instant, n int64, epoch uint32)
	// release returns n permits, of a meter that does not replenish by itself,
	// and reports whether all permits are back.
	release(n int64) (all bool)
	// available is how many permits there are at t, or None.
	available(t instant) int64
	// idle says since when all permits have been there.
	idle(t instant) (since instant, ok bool)
}

const (
	onRelease time.Duration = -1 // as a wait: until permits are released
	inVain    time.Duration = -2 // as a wait: there will never be so many
)

// A limit is what limiters have in common: a meter behind a guard, a line, and
// statistics. It is the gate of a limiter, and most of the limiter itself.
type limit struct {
	guard    guard // guards following
	meter    meter
	line     *line
	granted  int64
	refusals int64
	since    instant // when everything came back, where it does not by itself
	closed   bool

	// These fields are written once, before the limiter is used.
	held  bool // permits are held until they are released
	door  bool // it stands for others, and counts what they refuse
	kept  Queue
	start time.Time // instant 0
	self  [1]gate
}

func (l *limit) open(m meter, q Queue) {
	l.guard.rank = serial.Add(1)
	l.meter, l.kept, l.start = m, q.of(m.most()), time.Now()
	l.self[0] = l
}

func (l *limit) now() instant             { return instant(time.Since(l.start)) }
func (l *limit) at(now time.Time) instant { return instant(now.Sub(l.start)) }

// TryAcquire implements Limiter.
func (l *limit) TryAcquire(n int64) (lease *Lease, err error) {
	// Small enough to be inlined: a lease that its holder keeps to itself needs
	// no allocation.
	lease = new(Lease)
	if err = l.tryAcquire(lease, n); err != nil {
		lease = nil
	}
	return
}

// Acquire implements Limiter.
func (l *limit) Acquire(ctx context.Context, n int64) (lease *Lease, err error) {
	lease = new(Lease) // see TryAcquire
	if err = l.acquire(ctx, lease, n); err != nil {
		lease = nil
	}
	return
}

func (l *limit) tryAcquire(lease *Lease, n int64) error {
	if l.try(lease, n) {
		return nil
	}
	return l.slowTry(lease, n)
}

func (l *limit) acquire(ctx context.Context, lease *Lease, n int64) error {
	if ctx.Err() == nil && l.try(lease, n) {
		return nil
	}
	return l.slow(ctx, lease, n)
}

// try is the way of those whom nothing stands in the way of.
func (l *limit) try(lease *Lease, n int64) bool {
	var t instant
	if !l.held {
		t = l.now()
	}
	l.guard.Lock()
	if n < 0 || l.line != nil || l.closed || l.meter.wait(t, 0, max(n, 1)) != 0 {
		l.guard.Unlock()
		return false
	}
	epoch := l.meter.take(t, n)
	l.granted++
	l.guard.Unlock()
	lease.own, lease.units, lease.epoch = l, n, epoch
	return true
}

// slow is acquire for those whom something stands in the way of.
func (l *limit) slow(ctx context.Context, lease *Lease, n int64) error {
	if n < 0 || n > l.most() {
		return ErrPermits
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	lease.claims.add(l, n)
	return lease.admit(ctx, forever)
}

// slowTry is tryAcquire for them.
func (l *limit) slowTry(lease *Lease, n int64) error {
	if n < 0 || n > l.most() {
		return ErrPermits
	}
	cs := [1]claim{{gate: l, units: n}}
	now := time.Now()
	l.guard.Lock()
	defer l.guard.Unlock()
	i, v := refusing(cs[:], now, nil, 0)
	if i < 0 {
		lease.own, lease.units, lease.epoch = l, n, l.charge(now, n)
		return nil
	}
	v.behind = l.behind(now, n)
	return refuse(cs[:], i, now, v, v.why)
}

// Stats implements Limiter.
func (l *limit) Stats() Stats {
	l.guard.Lock()
	defer l.guard.Unlock()
	t := l.now()
	s := Stats{
		Available: l.meter.available(t),
		Queued:    l.line.permits(),
		Granted:   l.granted,
		Refused:   l.refusals,
	}
	if since, ok := l.meter.idle(t); ok && l.line == nil {
		s.IdleSince = l.start.Add(time.Duration(max(since, l.since)))
	}
	return s
}

// Close implements Limiter.
func (l *limit) Close() {
	l.guard.Lock()
	l.closed = true
	w := l.line.kick(time.Now()) // who goes passes it on
	l.guard.Unlock()
	w.wake()
}

func (l *limit) gates() []gate      { return l.self[:] }
func (l *limit) books() *Advertised { return nil }

func (l *limit) most() int64 { return l.meter.most() }

// The methods of gate.

func (l *limit) guarded() *guard  { return &l.guard }
func (l *limit) queue() **line    { return &l.line }
func (l *limit) rule() Queue      { return l.kept }
func (l *limit) holds() bool      { return l.held }
func (l *limit) refusal() Refusal { return Refusal{} }

func (l *limit) look(now time.Time, n int64) verdict {
	if l.closed {
		return verdict{final: true, why: ReasonClosed}
	}
	v := verdict{why: ReasonOwnLimit}
	switch d := l.meter.wait(l.at(now), 0, max(n, 1)); d {
	case 0:
		v.ok = true
	case onRelease:
	case inVain:
		v.final = true
	default:
		v.again = now.Add(d)
	}
	return v
}

func (l *limit) behind(now time.Time, n int64) time.Duration {
	ahead := l.line.permits()
	if l.kept.Order == NewestFirst {
		ahead = 0
	}
	return max(l.meter.wait(l.at(now), ahead, max(n, 1)), 0)
}

func (l *limit) charge(now time.Time, n int64) uint32 {
	l.granted++
	return l.meter.take(l.at(now), n)
}

func (l *limit) cancel(now time.Time, n int64, epoch uint32) {
	if l.held {
		l.release(now, n)
		return
	}
	l.meter.cancel(l.at(now), n, epoch)
}

func (l *limit) release(now time.Time, n int64) {
	if l.held && l.meter.release(n) {
		l.since = l.at(now)
	}
}

// free is release for a lease of this limiter alone. It reads the clock only
// where somebody wants to know.
func (l *limit) free(n int64) {
	l.guard.Lock()
	all := l.meter.release(n)
	if l.line == nil {
		if all {
			l.since = l.now()
		}
		l.guard.Unlock()
		return
	}
	now := time.Now()
	if all {
		l.since = l.at(now)
	}
	w := l.line.kick(now)
	l.guard.Unlock()
	w.wake()
}

// undo is cancel for a lease of this limiter alone.
func (l *limit) undo(n int64, epoch uint32) {
	now := time.Now()
	l.guard.Lock()
	l.cancel(now, n, epoch)
	w := l.line.kick(now)
	l.guard.Unlock()
	w.wake()
}

func (l *limit) tally(itself bool) {
	if itself || l.door {
		l.refusals++
	}
}

// The arithmetic that meters share.

// sum saturates. Neither is negative.
func sum(a, b int64) int64 { return a + min(b, math.MaxInt64-a) }

// rounds is how many whole rounds of so many permits it takes to serve all
// that are short but the last few, 1 to permits of them.
func rounds(short uint64, permits int64) (whole uint64, few int64) {
	return (short - 1) / uint64(permits), int64((short-1)%uint64(permits)) + 1
}

// times is k times d. It saturates.
func times(d time.Duration, k uint64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), k)
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

// later is d after t, by k times w. It saturates.
func later(d, w time.Duration, k uint64) time.Duration {
	return time.Duration(instant(d).Add(times(w, k)))
}

// atLeast is the error of an option that has to be 1 or more.
func atLeast[T int | int64 | time.Duration](option string, n, least T) error {
	if n < least {
		return fmt.Errorf("quota: %s is %v; it takes at least %v", option, n, least)
	}
	return nil
}
