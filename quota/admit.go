package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// Defaults of an Ask.
const (
	defaultMaxDelay = 2 * time.Minute
	defaultMaxQueue = 10_000
)

// noDelay as a MaxDelay means never to wait.
const noDelay time.Duration = -1

// claims are the claims of one admission. Those that share a mutex stand side
// by side.
type claims struct {
	list []wait.Claim
	mine int // how many of list, from the first on, belong to one origin
}

func (c *claims) add(g wait.Constraint, units int64) {
	if c.list == nil {
		c.list = make([]wait.Claim, 0, 4) // enough for most
	}
	c.list = append(c.list, wait.Claim{Constraint: g, Units: units})
}

// addAccount is add for an account. The last admission in the same memory often claimed
// the same one. Then no pointer is written, which is expensive while garbage is collected.
func (c *claims) addAccount(a *account, units int64) {
	if n := len(c.list); n < cap(c.list) {
		last := &c.list[:n+1][n]
		if of, ok := last.Constraint.(*account); ok && of == a {
			last.Units, last.Epoch, last.Retained, last.Estimated = units, 0, false, false
			c.list = c.list[:n+1]
			return
		}
	}
	c.add(a, units)
}

func (c *claims) addAll(gs []wait.Constraint, units int64) {
	if c.list == nil {
		c.list = make([]wait.Claim, 0, len(gs))
	}
	for _, g := range gs {
		c.add(g, units)
	}
}

func (c *claims) all() []wait.Claim { return c.list }

// truncate keeps the first n claims, and the memory.
func (c *claims) truncate(n int) {
	clear(c.list[n:])
	c.list = c.list[:n]
}

// again returns the account with that id, if the last admission in the same memory claimed
// it at this place: then it need not be looked up. Else nil.
func (c *claims) again(o *Origin, policy string, keyed bool, owner string) *account {
	if n := len(c.list); n < cap(c.list) {
		a, ok := c.list[:n+1][n].Constraint.(*account)
		if ok && a.policy.origin == o && a.place != evicted && a.is(policyID{name: policy, keyed: keyed}, owner) {
			return a
		}
	}
	return nil
}

// settled keeps the first n claims, and leaves the others in the memory: see addAccount.
func (c *claims) settled(n int) { c.list = c.list[:n] }

// reset drops all claims, and keeps the memory.
func (c *claims) reset() {
	if len(c.list) > 0 {
		c.truncate(0)
	}
	c.mine = 0
}

// pin with by = 1 keeps the accounts among the claims from being evicted, until it is
// called with by = -1.
func pin(cs []wait.Claim, by int32) {
	for i := range cs {
		a, ok := cs[i].Constraint.(*account)
		if k, kinds := cs[i].Constraint.(*kind); kinds {
			a, ok = &k.scope.base, true
		}
		if ok {
			a.pins += by
			a.policy.origin.pinned += int64(by)
		}
	}
}

// refusalOf turns a refusal of package wait into one of this package.
func refusalOf(w wait.Refusal) *Refusal {
	r := &Refusal{Cause: Reason(w.Decision.Reason), Wait: w.Wait, RetryAfter: w.RetryAfter}
	if r.Cause == 0 {
		r.Cause = ReasonOwnLimit // only limiters of the client's own push waiters out
	}
	switch w.Why {
	case wait.MaxDelay:
		r.Reason = ReasonMaxDelay
	case wait.Deadline:
		r.Reason = ReasonDeadline
	case wait.QueueFull:
		r.Reason = ReasonQueueFull
	default:
		r.Reason = r.Cause
	}
	switch by := w.By.(type) {
	case *account:
		r.Policy = by.policy.name
		if by.policy.keyed {
			r.Key = by.owner.String()
		}
		r.Inferred = by.inferred()
	case *kind:
		r.Inferred = true
	case *constraint:
		r.Policy = by.rules.Name
	case *asking:
		r.Policy = by.rules.Name
	}
	if answer, ok := w.Decision.Detail.(*Answer); ok {
		r.Err = answer.Err
	}
	return r
}

// limiterOf returns the limiter that a constraint belongs to; nil: it is none of the
// client's own.
func limiterOf(c wait.Constraint) Limiter {
	switch of := c.(type) {
	case *constraint:
		return of.limiter
	case *asking:
		return of.limiter
	}
	return nil
}

// admitted turns the result of an admission into an error.
func admitted(r wait.Refusal, err error) error {
	if r.By != nil {
		return refusalOf(r)
	}
	return err
}
