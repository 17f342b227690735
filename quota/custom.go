package quota

import (
	"errors"
	"math"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
	"github.com/headway-go/headway/quota/internal/wait"
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

// constraints returns a constraint for one admission, which keeps the answer for it.
func (c *Custom) constraints() []wait.Constraint { return []wait.Constraint{c.asking()} }

func (c *Custom) asking() *asking {
	return &asking{constraint: (*constraint)(&c.limiterCore), custom: c}
}

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

// asking is a Custom limiter in one admission. Its line is the limiter's, which wakes
// the first waiter when it is time to ask again.
type asking struct {
	*constraint
	custom *Custom
	answer Answer
}

// consult calls the user's function. No mutex is held.
func (a *asking) consult(n int64) { a.answer = a.custom.ask(n) }

// Look decides by what the function has answered.
func (a *asking) Look(now time.Time, _ int64) wait.Decision {
	if a.closed {
		return wait.Decision{Final: true, Reason: uint8(ReasonClosed)}
	}
	if a.answer.OK {
		return wait.Decision{OK: true, Reason: uint8(ReasonOwnLimit)}
	}
	after := a.answer.RetryAfter
	if after <= 0 {
		after = DefaultRecheck
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

// consult calls the functions of all Custom limiters among the constraints for n
// permits. No mutex is held.
func consult(all []wait.Constraint, n int64) {
	for _, c := range all {
		if a, ok := c.(*asking); ok {
			a.consult(n)
		}
	}
}

// consultClaims calls the functions of all Custom limiters among the claims. No mutex
// is held.
func consultClaims(cs []wait.Claim) {
	for i := range cs {
		if a, ok := cs[i].Constraint.(*asking); ok {
			a.consult(cs[i].Units)
		}
	}
}
