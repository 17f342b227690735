package quota

import (
	"context"
	"errors"
	"math"
	"time"
)

// DefaultRecheck is how long who waits for a Custom limiter is kept waiting
// for, where its refusal does not say when to ask again.
const DefaultRecheck = time.Second

// minRecheck keeps a function that says "in a moment" from being asked all the
// time.
const minRecheck = time.Millisecond

// An Answer is what a Custom limiter says to who asks for permits.
type Answer struct {
	// OK grants the permits. The other fields are for refusals.
	OK bool
	// RetryAfter is when it is worth asking again: who waits is kept waiting
	// for as long, but at least 1 ms. Zero or less means that nobody knows: the
	// refusal says so, and who waits asks again after DefaultRecheck.
	RetryAfter time.Duration
	// Phrase says why, to people. It becomes part of the error's text.
	Phrase string
	// Detail is whatever else there is to say, to programs. If it is an error,
	// the Refusal is that error to errors.Is and errors.As.
	Detail any

	never bool // asking again is in vain
}

// CustomOptions are the options of a Custom limiter.
type CustomOptions struct {
	// Answer says whether n permits may be granted now; n is 0 where somebody
	// asks without taking. It is called with no lock held, by several goroutines
	// at once, and again for each attempt of who waits. It does not learn
	// whether the permits were then taken: other limiters may have refused. If
	// it panics, nothing is taken. Required.
	Answer func(n int64) Answer

	// Queue is who waits. The zero Queue has room for DefaultMaxQueue permits.
	Queue Queue
}

// A Custom limiter asks a function. It has no permits of its own: its leases
// hold nothing, Stats.Available is None, and it counts as idle since it last
// granted something.
//
// The function is asked just before the limits beside it in a Chain are
// checked. What it says may have changed when they are charged.
type Custom struct {
	limit
	state customMeter
	ask   func(int64) Answer
}

// NewCustom returns a limiter that asks o.Answer. The error says which option
// is missing or out of range.
func NewCustom(o CustomOptions) (*Custom, error) {
	if o.Answer == nil {
		return nil, errors.New("quota: CustomOptions.Answer is nil")
	}
	if err := o.Queue.check("CustomOptions"); err != nil {
		return nil, err
	}
	c := &Custom{ask: o.Answer}
	// A queue as long as there are permits would have no bound.
	if o.Queue.Limit == 0 {
		o.Queue.Limit = DefaultMaxQueue
	}
	c.open(&c.state, o.Queue)
	return c, nil
}

// TryAcquire implements Limiter.
func (c *Custom) TryAcquire(n int64) (*Lease, error) {
	return grant(context.Background(), c, n, NoDelay)
}

// Acquire implements Limiter.
func (c *Custom) Acquire(ctx context.Context, n int64) (*Lease, error) {
	return grant(ctx, c, n, forever)
}

// gates is a gate for one admission, which carries the answer to it.
func (c *Custom) gates() []gate { return []gate{&asking{Custom: c}} }

// customMeter is the meter of a Custom limiter: it says when to ask again.
type customMeter struct {
	again instant // not before
	used  instant
}

func (m *customMeter) most() int64             { return math.MaxInt64 }
func (m *customMeter) available(instant) int64 { return None }

func (m *customMeter) wait(t instant, _, _ int64) time.Duration {
	return max(time.Duration(m.again-t), 0)
}

func (m *customMeter) take(t instant, _ int64) uint32 {
	m.used = t
	return 0
}

func (m *customMeter) cancel(instant, int64, uint32)        {}
func (m *customMeter) release(int64) bool                   { return false }
func (m *customMeter) idle(instant) (since instant, _ bool) { return m.used, true }

// asking is a Custom limiter as one admission meets it: the gate of a claim.
// The line behind it is that of the limiter, which wakes its first when it is
// time to ask again.
type asking struct {
	*Custom
	answer Answer
}

// consult asks the user's function. No guard is held.
func (a *asking) consult(n int64) { a.answer = a.ask(n) }

func (a *asking) look(now time.Time, _ int64) verdict {
	if a.closed {
		return verdict{final: true, why: ReasonClosed}
	}
	if a.answer.OK {
		return verdict{ok: true, why: ReasonOwnLimit}
	}
	wait := a.answer.RetryAfter
	if wait <= 0 {
		wait = DefaultRecheck
	}
	wait = max(wait, minRecheck)
	t := a.at(now)
	again := t.Add(wait)
	// Who comes later may bring forward when those in line ask again, not put
	// it off.
	if m := &a.state; m.again <= t || again < m.again {
		m.again = again
	}
	return verdict{why: ReasonOwnLimit, again: now.Add(wait), answer: &a.answer, final: a.answer.never}
}

func (a *asking) behind(time.Time, int64) time.Duration { return 0 }

// consult asks the functions of all Custom limiters among the claims. No guard
// is held.
func consult(cs []claim) {
	for i := range cs {
		if a, ok := cs[i].gate.(*asking); ok {
			a.consult(cs[i].units)
		}
	}
}

// consultGates is consult before there are claims.
func consultGates(gates []gate, n int64) {
	for _, g := range gates {
		if a, ok := g.(*asking); ok {
			a.consult(n)
		}
	}
}
