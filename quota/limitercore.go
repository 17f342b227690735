package quota

import (
	"context"
	"strconv"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
	"github.com/headway-go/headway/quota/internal/wait"
)

// A limiterCore implements Limiter for all limiters: a meter, the line of the work
// that waits for it, and statistics. Limiters embed it.
type limiterCore struct {
	mu       wait.Mutex // protects the following
	meter    meter.Meter
	line     *wait.Line // nil: nothing waits
	granted  int64
	refusals int64
	allBack  time.Duration // when the last permit was released
	closed   bool
	awaiting int32 // requests that claim it and wait, in whatever line

	// These fields are written once, before the limiter is used.
	limiter  Limiter            // that embeds this core
	alone    bool               // no other constraint belongs to the limiter
	retains  bool               // permits stay taken until they are released
	counter  *meter.Concurrency // is the meter, so that it can be called directly; nil: that is another one
	recheck  time.Duration      // how often to look again, if not 0: the meter may change by itself
	counting bool               // grants everything; its refusals are those of the constraints beside it
	rules    Options
	made     time.Time
	self     [1]wait.Constraint
}

// open prepares the core that limiter embeds, with all permits available.
func (l *limiterCore) open(limiter Limiter, m meter.Meter, o Options) {
	l.mu.TakeRank()
	l.limiter, l.meter, l.rules, l.made = limiter, m, o.withDefaults(m.Capacity()), time.Now()
	l.self[0] = (*constraint)(l)
	all := limiter.constraints()
	l.alone = len(all) == 1 && all[0] == l.self[0] && limiter.advertised() == nil
}

// at returns an instant as the meter's.
func (l *limiterCore) at(now time.Time) time.Duration { return now.Sub(l.made) }

// TryAcquire implements Limiter, for a limiter without other constraints.
func (l *limiterCore) TryAcquire(n int64) (lease *Lease, err error) {
	// This is small enough to be inlined, so that a lease that does not escape
	// from the caller is not allocated.
	epoch, err := l.take(n)
	if err == nil {
		lease = &Lease{by: l, units: n, epoch: epoch}
	}
	return
}

// tryAcquire is TryAcquire for a limiter with other constraints.
func (l *limiterCore) tryAcquire(n int64) (lease *Lease, err error) {
	lease = new(Lease)
	if err = l.acquire(context.Background(), lease, n, noDelay); err != nil {
		lease = nil
	}
	return
}

// Acquire implements Limiter.
func (l *limiterCore) Acquire(ctx context.Context, n int64) (lease *Lease, err error) {
	lease = new(Lease) // see TryAcquire
	if err = l.acquire(ctx, lease, n, wait.Forever); err != nil {
		lease = nil
	}
	return
}

// take takes n permits without waiting. epoch is for cancel.
func (l *limiterCore) take(n int64) (epoch uint32, err error) {
	if n < 0 {
		return 0, ErrPermits
	}
	if c := l.counter; c != nil { // a call less than grant
		l.mu.Lock()
		if l.line == nil && !l.closed && c.TryTake(n) {
			l.granted++
			l.mu.Unlock()
			return 0, nil
		}
		return l.decide(time.Now(), n)
	}
	t := time.Since(l.made)
	l.mu.Lock()
	if epoch, ok := l.grant(t, n); ok {
		l.mu.Unlock()
		return epoch, nil
	}
	return l.decide(l.made.Add(t), n)
}

// acquire grants n permits to the lease, which is empty, and waits for up to
// maxDelay; noDelay does not wait. On failure the lease stays empty.
func (l *limiterCore) acquire(ctx context.Context, lease *Lease, n int64, maxDelay time.Duration) error {
	if n < 0 {
		return ErrPermits
	}
	if ctx.Err() == nil && l.alone {
		var t time.Duration
		if l.counter == nil { // whose permits do not depend on the time
			t = time.Since(l.made)
		}
		l.mu.Lock()
		epoch, ok := l.grant(t, n)
		l.mu.Unlock()
		if ok {
			lease.by, lease.units, lease.epoch = l, n, epoch
			return nil
		}
	}
	if most := l.limiter.capacity(); n > most || most < 1 {
		return ErrPermits
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	all := l.limiter.constraints()
	customs := consult(ctx, all, n)
	if a := l.limiter.advertised(); a != nil {
		return a.enter(ctx, all, n, maxDelay, lease)
	}
	lease.claims.addAll(all, n)
	if maxDelay < 0 && !customs {
		return lease.admitNow()
	}
	return lease.admit(ctx, all, n, maxDelay)
}

// grant takes n permits of a limiter with no other constraint, if they are available
// and nothing waits, and reports whether it did. The lease needs no memory for
// claims then. The mutex is held.
func (l *limiterCore) grant(t time.Duration, n int64) (epoch uint32, ok bool) {
	if l.closed || l.line != nil || l.meter.Wait(t, 0, max(n, 1)) != 0 {
		return 0, false
	}
	l.granted++
	return l.meter.Take(t, n), true
}

// decide takes n permits of such a limiter, or refuses them. Neither needs memory for
// claims. The mutex is held, and decide unlocks it.
func (l *limiterCore) decide(now time.Time, n int64) (epoch uint32, err error) {
	if most := l.limiter.capacity(); n > most || most < 1 {
		l.mu.Unlock()
		return 0, ErrPermits
	}
	one := [1]wait.Claim{{Constraint: l.self[0], Units: n}}
	r := wait.Refuse(now, one[:])
	if r.By == nil {
		wait.Charge(one[:], now)
	}
	l.mu.Unlock()
	return one[0].Epoch, admitted(r, nil)
}

// release ends a lease of grant after its work.
func (l *limiterCore) release(n int64) {
	if !l.retains {
		return
	}
	l.mu.Lock()
	if l.counter == nil {
		(*constraint)(l).Release(time.Time{}, n)
	} else if l.counter.Release(n) {
		l.allBack = time.Since(l.made)
	}
	if l.line == nil {
		l.mu.Unlock()
		return
	}
	l.unlock()
}

// cancel ends a lease of grant whose work was never begun.
func (l *limiterCore) cancel(n int64, epoch uint32) {
	now := time.Now()
	l.mu.Lock()
	(*constraint)(l).Cancel(now, n, epoch)
	l.unlock()
}

// unlock unlocks the mutex, and lets the next waiter go.
func (l *limiterCore) unlock() {
	if l.line == nil {
		l.mu.Unlock()
		return
	}
	w := l.line.Kick(time.Now())
	l.mu.Unlock()
	w.Wake()
}

// Stats implements Limiter.
func (l *limiterCore) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.at(time.Now())
	s := Stats{
		Available: l.meter.Available(t),
		Queued:    l.line.Units(),
		Granted:   l.granted,
		Refused:   l.refusals,
	}
	if since, ok := l.meter.IdleSince(t); ok && l.line == nil {
		s.IdleSince = l.made.Add(max(since, l.allBack))
	}
	return s
}

// String says what the limiter allows: "10 per second, bursts of 20", "5 at a time",
// "custom" if it counts no permits, or "nothing" if it grants none, because an argument
// was out of range.
func (l *limiterCore) String() string {
	if l.meter.Capacity() < 1 {
		return "nothing"
	}
	n, burst, period := l.meter.Allows()
	if n == 1 && 0 < period && period < time.Second {
		each := (time.Second + period/2) / period
		if (time.Second - each*period).Abs() <= each { // as of PerSecond, which rounds
			n, period = int64(each), time.Second
		}
	}
	s := strconv.FormatInt(n, 10)
	switch {
	case n == 0 && period == 0:
		return "custom"
	case period == 0:
		return s + " at a time"
	case period == time.Second:
		s += " per second"
	default:
		s += " per " + period.String()
	}
	if burst > 0 {
		s += ", bursts of " + strconv.FormatInt(burst, 10)
	}
	return s
}

// Close implements Limiter.
func (l *limiterCore) Close() {
	l.mu.Lock()
	l.closed = true
	l.unlock() // a waiter that leaves wakes the next one
}

func (l *limiterCore) constraints() []wait.Constraint { return l.self[:] }
func (l *limiterCore) advertised() *advertised        { return nil }
func (l *limiterCore) capacity() int64                { return l.meter.Capacity() }

func (l *limiterCore) awaited() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.awaiting > 0
}

// A constraint is a limiterCore as package wait knows it. It is a type of its own so
// that limiters, which embed the core, do not export these methods.
type constraint limiterCore

func (c *constraint) at(now time.Time) time.Duration { return (*limiterCore)(c).at(now) }

func (c *constraint) Mutex() *wait.Mutex { return &c.mu }

func (c *constraint) Look(now time.Time, n int64) (d wait.Decision) {
	if c.closed {
		d.Final, d.Reason = true, uint8(ReasonClosed)
		return d
	}
	d.Reason = uint8(ReasonOwnLimit)
	switch left := c.meter.Wait(c.at(now), 0, max(n, 1)); left {
	case 0:
		d.OK = true
	case meter.UntilRelease:
	case meter.Never:
		d.Final = true
	default:
		d.Again = now.Add(left)
		if c.recheck > 0 && left > c.recheck+time.Millisecond {
			d.Recheck = now.Add(c.recheck)
		}
	}
	return d
}

func (c *constraint) Charge(now time.Time, n int64) (epoch uint32, retained bool) {
	c.granted++
	return c.meter.Take(c.at(now), n), c.retains
}

func (c *constraint) Cancel(now time.Time, n int64, epoch uint32) {
	if c.retains {
		c.Release(now, n)
		return
	}
	c.meter.Cancel(c.at(now), n, epoch)
}

func (c *constraint) Release(now time.Time, n int64) {
	if c.retains && c.meter.Release(n) {
		if now.IsZero() {
			c.allBack = time.Since(c.made)
			return
		}
		c.allBack = c.at(now)
	}
}

func (c *constraint) Backlog(now time.Time, ahead, n int64) time.Duration {
	return max(c.meter.Wait(c.at(now), ahead, max(n, 1)), 0)
}

func (c *constraint) Refused(itself bool) {
	if itself || c.counting {
		c.refusals++
	}
}

func (c *constraint) Line() *wait.Line   { return c.line }
func (c *constraint) CloseLine()         { c.line = nil }
func (c *constraint) Round() *wait.Round { return nil }

func (c *constraint) OpenLine() *wait.Line {
	c.line = wait.NewLine(c, wait.LineOptions{NewestFirst: c.rules.NewestFirst, Limit: c.rules.MaxQueue})
	return c.line
}

// times returns k times d, or the longest duration if that is longer.
func times(d time.Duration, k uint64) time.Duration { return meter.Mul(d, k) }

// A Limit is a Limiter of permits that are counted: a FixedWindow, a
// SlidingWindow, a TokenBucket, a Concurrency or a Rate. It is made by the function
// of that name, with all permits available. (Called as a Limit, not as a Limiter,
// TryAcquire and Acquire need not allocate the lease.)
//
// A Limit that was made with an argument out of range, such as a rate of 0, grants
// nothing: the error of each Acquire is ErrPermits.
type Limit struct{ limiterCore }

func newLimit(m meter.Meter, o []Options) *Limit {
	l := new(Limit)
	l.open(l, m, last(o))
	return l
}

// nothing returns a Limit that grants nothing.
func nothing(o []Options) *Limit { return newLimit(meter.NewConcurrency(0), o) }
