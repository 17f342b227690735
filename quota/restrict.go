package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// A pause is a Retry-After that fell on a whole scope or origin.
type pause struct {
	on      *account
	before  instant // the hold that was in force
	until   instant
	unknown bool // nothing was known of the account
	scope   *scope
	claimed []*account // what the request was charged to
}

// pauseWidely pauses the account of the scope or of the origin.
func (s *settlement) pauseWidely(a *account) {
	p := &pause{on: a, before: a.Hold, unknown: a.State == window.Unknown, scope: s.l.scope}
	a.Pause(s.t, s.r.Pause, a.policy.server)
	p.until = a.Hold
	for _, c := range s.l.claims.all() {
		if a, ok := c.Constraint.(*account); ok && a.policy.name != "" {
			p.claimed = append(p.claimed, a)
		}
	}
	s.wide = p
}

// restrict moves the pause to the policies that it turns out to concern: to the
// accounts that the request was charged to, and to those of its scope. It does
// nothing, and the pause stays as wide as it is, if policies is empty or one of them
// is not known, or if another pause has come since.
func (p *pause) restrict(now time.Time, policies []string) {
	if len(policies) == 0 {
		return
	}
	o := p.on.policy.origin
	var woken []*wait.Waiter
	o.mu.Lock()
	if to, known := o.concerned(p, policies); known && p.on.Hold == p.until && p.until > p.before {
		t := o.at(now)
		p.on.Lift(p.before, p.unknown)
		for _, a := range to {
			a.Pause(t, p.until.Since(t), a.policy.server)
			a.policy.until = max(a.policy.until, a.InForce())
		}
		for a := range o.awaited {
			if w := a.line.Kick(now); w != nil {
				woken = append(woken, w)
			}
		}
	}
	o.mu.Unlock()
	for _, w := range woken {
		w.Wake()
	}
}

// concerned finds the accounts of policies, if all of them are known.
func (o *Origin) concerned(p *pause, policies []string) (to []*account, known bool) {
	for _, name := range policies {
		n := len(to)
		for _, a := range p.claimed {
			if a.policy.name == name {
				to = append(to, a)
			}
		}
		if a := o.known(accountID{policyID{name, false}, p.scope.base.owner.long}); a != nil && n == len(to) {
			to = append(to, a)
		}
		if n == len(to) {
			return nil, false
		}
	}
	return to, true
}
