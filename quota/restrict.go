package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// A pause is a Retry-After that holds a whole scope or origin.
type pause struct {
	on      *account
	before  instant // the hold that was in force before
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

// restrict moves the pause from the scope or origin to the accounts of the given
// policies: those that the request was charged to; for a policy without such an account,
// to that of the request's scope. It does nothing if policies is empty, if one of them
// has no account, or if another pause has come since.
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

// concerned returns the accounts that restrict pauses. known reports whether there is
// one for each of the policies.
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
