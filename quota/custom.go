package quota

import (
	"context"
	"math"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
	"github.com/headway-go/headway/quota/internal/wait"
)

const (
	// recheck is the polling interval of a Custom limiter whose Answer has no
	// RetryAfter.
	recheck = time.Second
	// minRecheck is the shortest polling interval.
	minRecheck = time.Millisecond
)

// An Answer is what CustomFuncs.Take returns.
type Answer struct {
	// OK grants the permits. The other fields are for refusals.
	OK bool
	// RetryAfter is when to ask again: waiting requests wait that long, but at
	// least 1 ms. Zero or less means not known: the Refusal has no RetryAfter,
	// and waiting requests ask again after 1 s.
	RetryAfter time.Duration
	// Err is the reason. The Refusal wraps it, and its text becomes part of the
	// Refusal's. Nil: there is nothing to add.
	Err error

	never bool // no later answer will be different
}

// CustomFuncs are the functions of a Custom limiter. But for Idle, they are called with no lock
// held, from several goroutines at once. Each of them may be nil.
type CustomFuncs struct {
	// Take decides whether n permits may be granted now, and takes them if so. n is
	// 0 for a request that takes none. It is called again for each attempt of a
	// waiting request, with the request's context. If it panics, nothing is taken.
	// If it is nil, everything is granted.
	Take func(ctx context.Context, n int64) Answer

	// Undo returns n permits that Take has granted, and that were not used: another
	// limiter refused, the lease was cancelled, or Origin.Check has only asked. Nil: nothing
	// is returned.
	Undo func(n int64)

	// Release is told that the work that n permits were granted for is over. If it
	// is set, the lease retains its permits until Release, and the limiter is idle
	// only while none are. Nil: a lease has nothing to release.
	Release func(n int64)

	// Idle reports whether the limiter equals a new one now: By drops it some
	// time after. By holds its own lock meanwhile, so Idle must not ask it for a limiter. Nil: it
	// does whenever no permits are retained.
	Idle func() bool
}

// Custom returns a limiter that asks functions. It counts no permits:
// Stats.Available is None, and Stats.IdleSince is the last use if the limiter is
// idle. Of several Options the last ones count.
//
// Take is called before the other limits in a Chain are checked. If one of them
// refuses, Undo is called before the request waits or returns. When the others are
// charged, Take's answer may already be out of date.
func Custom(f CustomFuncs, o ...Options) Limiter {
	if f.Take == nil {
		f.Take = func(context.Context, int64) Answer { return Answer{OK: true} }
	}
	c := &custom{funcs: f}
	options := last(o)
	// The capacity is no bound here, as it is for the default of other limiters.
	if options.MaxQueue == 0 {
		options.MaxQueue = defaultMaxQueue
	}
	c.retains = f.Release != nil
	c.state.retains = c.retains
	c.open(c, &c.state, options)
	return c
}

// A custom is the Limiter that Custom returns.
type custom struct {
	limiterCore
	state customMeter
	funcs CustomFuncs
}

// TryAcquire implements Limiter.
func (c *custom) TryAcquire(n int64) (*Lease, error) { return c.tryAcquire(n) }

// Stats implements Limiter.
func (c *custom) Stats() Stats {
	s := c.limiterCore.Stats()
	if c.funcs.Idle != nil && !s.IdleSince.IsZero() && !c.funcs.Idle() {
		s.IdleSince = time.Time{}
	}
	return s
}

// constraints returns a constraint for one admission, which keeps the answer for it.
func (c *custom) constraints() []wait.Constraint { return []wait.Constraint{c.asking()} }

func (c *custom) asking() *asking {
	return &asking{constraint: (*constraint)(&c.limiterCore), custom: c}
}

// customMeter is the meter of a Custom limiter. It says when to ask again.
type customMeter struct {
	again   time.Duration // not before
	used    time.Duration
	retains bool
	out     int64 // leases that retain permits
}

// Allows implements meter.Meter: what the function allows is not known.
func (m *customMeter) Allows() (n, burst int64, period time.Duration) { return 0, 0, 0 }

// Capacity implements meter.Meter: a request of any size may be asked about.
func (m *customMeter) Capacity() int64 { return math.MaxInt64 }

// Available implements meter.Meter: what is left is not known.
func (m *customMeter) Available(time.Duration) int64 { return meter.Unknown }

// Wait implements meter.Meter: it is how long the function has said to wait.
func (m *customMeter) Wait(t time.Duration, _, _ int64) time.Duration {
	return max(m.again-t, 0)
}

// Take implements meter.Meter. It counts the leases that retain permits.
func (m *customMeter) Take(t time.Duration, _ int64) uint32 {
	m.used = t
	if m.retains {
		m.out++
	}
	return 0
}

// Cancel implements meter.Meter. Undo undoes what was taken: see asking.ended.
func (m *customMeter) Cancel(time.Duration, int64, uint32) {}

// Release implements meter.Meter. It reports whether no lease retains permits.
func (m *customMeter) Release(int64) (all bool) {
	m.out--
	return m.out == 0
}

// IdleSince implements meter.Meter.
func (m *customMeter) IdleSince(time.Duration) (since time.Duration, ok bool) {
	return m.used, m.out == 0
}

// asking is a Custom limiter in one admission. Its line is the limiter's, which wakes
// the first waiter when it is time to ask again.
type asking struct {
	*constraint
	custom *custom
	answer Answer
	taken  bool // by consult, and neither charged nor undone
	had    bool // the charge is what consult has taken; else it was forced
}

// consult calls the user's function. No mutex is held.
func (a *asking) consult(ctx context.Context, n int64) {
	a.answer = a.custom.funcs.Take(ctx, n)
	a.taken = a.answer.OK
}

// undo undoes what consult has taken, unless it was charged. No mutex is held.
func (a *asking) undo(n int64) {
	if a.taken {
		a.taken = false
		if undo := a.custom.funcs.Undo; undo != nil {
			undo(n)
		}
	}
}

// Charge implements wait.Constraint. From then on ended tells the user, and not undo.
func (a *asking) Charge(now time.Time, n int64) (epoch uint32, retained bool) {
	a.had, a.taken = a.taken, false
	return a.constraint.Charge(now, n)
}

// ended tells the user that a lease has ended. No mutex is held.
func (a *asking) ended(n int64, cancelled bool) {
	f := &a.custom.funcs
	switch {
	case !a.had:
	case cancelled && f.Undo != nil:
		f.Undo(n)
	case !cancelled && f.Release != nil:
		f.Release(n)
	}
}

// Look decides by what the function has answered.
func (a *asking) Look(now time.Time, _ int64) wait.Decision {
	if a.closed {
		return wait.Decision{Final: true, Reason: uint8(ReasonClosed)}
	}
	if a.answer.OK {
		return wait.Decision{OK: true, Single: true, Reason: uint8(ReasonOwnLimit)}
	}
	after := a.answer.RetryAfter
	if after <= 0 {
		after = recheck
	}
	after = max(after, minRecheck)
	t := a.at(now)
	again := meter.Add(t, after)
	// A later answer can make the waiters ask again sooner, but not later.
	if m := &a.custom.state; m.again <= t || again < m.again {
		m.again = again
	}
	return wait.Decision{
		Reason: uint8(ReasonOwnLimit),
		Again:  now.Add(after),
		Final:  a.answer.never,
		Detail: &a.answer,
	}
}

// Backlog is not known: the function was asked for this request alone.
func (a *asking) Backlog(time.Time, int64, int64) time.Duration { return 0 }

// consult calls Take of all Custom limiters among the constraints for n permits, and
// reports whether there are any. No mutex is held. If one panics, nothing stays taken.
func consult(ctx context.Context, all []wait.Constraint, n int64) (customs bool) {
	for _, c := range all {
		if _, ok := c.(*asking); ok {
			consultAll(ctx, all, n)
			return true
		}
	}
	return false
}

func consultAll(ctx context.Context, all []wait.Constraint, n int64) {
	returned := false
	defer func() {
		if !returned {
			undo(all, n)
		}
	}()
	for _, c := range all {
		if a, ok := c.(*asking); ok {
			a.consult(ctx, n)
		}
	}
	returned = true
}

// undo undoes what consult has taken and was not charged. No mutex is held.
func undo(all []wait.Constraint, n int64) {
	for _, c := range all {
		if a, ok := c.(*asking); ok {
			a.undo(n)
		}
	}
}
