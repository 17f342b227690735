package quota

import (
	"errors"
	"math"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// DefaultRecheck is the polling interval of a Custom limiter whose Answer has no
// RetryAfter.
const DefaultRecheck = time.Second

// minRecheck is the shortest polling interval.
const minRecheck = time.Millisecond

// An Answer is what the function of a Custom limiter returns.
type Answer struct {
	// OK grants the permits. The other fields are for refusals.
	OK bool
	// RetryAfter is when to ask again: waiting requests wait that long, but at
	// least 1 ms. Zero or less means not known: the Refusal has no RetryAfter,
	// and waiting requests ask again after DefaultRecheck.
	RetryAfter time.Duration
	// Phrase tells people the reason. It becomes part of the error's text.
	Phrase string
	// Detail is further information for programs. If it is an error, the
	// Refusal wraps it.
	Detail any

	never bool // no later answer will be different
}

// CustomOptions are the options of a Custom limiter.
type CustomOptions struct {
	// Answer decides whether n permits may be granted now; n is 0 for a request
	// that takes none. It is called with no lock held, from several goroutines
	// at once, and again for each attempt of a waiting request. It is not told
	// whether the permits were then taken: another limiter may have refused. If
	// it panics, nothing is taken. Required.
	Answer func(n int64) Answer

	// Queue is the queue of waiting requests. The zero Queue has room for
	// DefaultMaxQueue permits.
	Queue Queue
}

// A Custom limiter asks a function. It counts no permits: Stats.Available is
// None, Release returns nothing, and the limiter has been idle since its last
// grant.
//
// The function is called before the other limits in a Chain are checked. When
// they are charged, its answer may already be out of date.
type Custom struct {
	limiterCore
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
	// The capacity is no bound here, as it is for the default of other limiters.
	if o.Queue.Limit == 0 {
		o.Queue.Limit = DefaultMaxQueue
	}
	c.open(c, &c.state, o.Queue)
	return c, nil
}

// gates returns a gate for one admission, which keeps the answer for it.
func (c *Custom) gates() []gate { return []gate{&asking{Custom: c}} }

// customMeter is the meter of a Custom limiter. It says when to ask again.
type customMeter struct {
	again time.Duration // not before
	used  time.Duration
}

func (m *customMeter) Capacity() int64               { return math.MaxInt64 }
func (m *customMeter) Available(time.Duration) int64 { return meter.Unknown }

func (m *customMeter) Wait(t time.Duration, _, _ int64) time.Duration {
	return max(m.again-t, 0)
}

func (m *customMeter) Take(t time.Duration, _ int64) uint32 {
	m.used = t
	return 0
}

func (m *customMeter) Cancel(time.Duration, int64, uint32) {}
func (m *customMeter) Release(int64) bool                  { return false }

func (m *customMeter) IdleSince(time.Duration) (since time.Duration, ok bool) {
	return m.used, true
}

// asking is the gate of a Custom limiter for one admission. Its line is the
// limiter's, which wakes the first waiter when it is time to ask again.
type asking struct {
	*Custom
	answer Answer
}

// consult calls the user's function. No guard is held.
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
	again := meter.Add(t, wait)
	// A later answer can make the waiters ask again sooner, but not later.
	if m := &a.state; m.again <= t || again < m.again {
		m.again = again
	}
	return verdict{why: ReasonOwnLimit, again: now.Add(wait), answer: &a.answer, final: a.answer.never}
}

func (a *asking) behind(time.Time, int64) time.Duration { return 0 }

// consult calls the functions of all Custom limiters among the claims. No guard
// is held.
func consult(cs []claim) {
	for i := range cs {
		if a, ok := cs[i].gate.(*asking); ok {
			a.consult(cs[i].units)
		}
	}
}

// consultGates is consult for gates that are not claimed yet.
func consultGates(gates []gate, n int64) {
	for _, g := range gates {
		if a, ok := g.(*asking); ok {
			a.consult(n)
		}
	}
}
