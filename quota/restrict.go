package quota

import (
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// A penalty is a pause or a back-off of several accounts, or of a whole scope or
// origin, of which the body of the answer may say more: how long it lasts, or which policies it concerns (the draft,
// Section 8).
type penalty struct {
	parts   []penalised
	t, sent instant // arrival of the answer, departure of the work
	scope   *scope
	limit   *scope     // that it was taken over by
	claimed []*account // what the request was charged to
	unlearn func()     // takes back what was inferred from the refusal; nil: nothing was
	hold    instant    // of what it does not hold any more: see alone.go

	kind                  *kind // that is held in any case; nil: none is
	heldBefore, heldAfter instant
}

// inference returns a function that returns to what is inferred now.
func (sc *scope) inference() (unlearn func()) {
	l := sc.learnedOf()
	if l.inferred == nil {
		return func() { l.inferred = nil }
	}
	before := *l.inferred
	return func() {
		if l.inferred != nil {
			*l.inferred = before
		}
	}
}

// penalised is what a penalty has changed of an account.
type penalised struct {
	*account
	before, after window.Window
}

// penalise changes an account, and remembers how, where the answer may turn out to
// concern others.
func (s *settlement) penalise(a *account, change func()) {
	if !s.r.Refused && !s.r.WholeOrigin && len(s.figured)+len(s.termed) > 0 {
		change() // advice beside figures, perhaps on every answer
		return
	}
	before := a.Copy()
	change()
	p := s.penaltyOf()
	p.parts = append(p.parts, penalised{a, before, a.Copy()})
}

// penaltyOf returns the penalty of the answer.
func (s *settlement) penaltyOf() *penalty {
	if s.penalty == nil {
		s.penalty = &penalty{scope: s.l.scope, limit: s.l.limit, t: s.t, sent: s.sent}
		for _, c := range s.l.claims.all() {
			if a, ok := c.Constraint.(*account); ok && !a.ofNone() {
				s.penalty.claimed = append(s.penalty.claimed, a)
			}
		}
	}
	return s.penalty
}

// hear takes over what the body says: see Origin.Settle.
func (p *penalty) hear(now time.Time, policies []string, lasts time.Duration) (changes []Change) {
	o := p.scope.base.policy.origin
	o.mu.Lock()
	t := o.at(now)
	s := settlement{o: o, l: &Lease{ofOrigin: &ofOrigin{scope: p.scope, among: p.scope, limit: p.limit}}, r: &Report{Changes: &changes}, t: t, sent: p.sent}
	s.wasInferred = s.inferredQuota()
	for i := range p.parts {
		s.watch(p.parts[i].account)
	}
	if len(policies) > 0 || lasts <= 0 {
		p.restrict(&s, policies)
	}
	if lasts > 0 {
		p.prolong(&s, lasts)
	}
	s.tell()
	var woken []*wait.Waiter
	for a := range o.awaited {
		woken = a.AppendKicked(woken, now)
	}
	o.mu.Unlock()
	wait.Wake(woken)
	return changes
}

// restrict moves the penalty to the policies that it turns out to concern: to the
// accounts that the request was charged to, and to those of its scope. If there are
// none, the penalty ends. If one of them is not known, the penalty stays as it is.
func (p *penalty) restrict(s *settlement, policies []string) {
	to, known := s.o.concerned(p, policies)
	if !known {
		return
	}
	for _, a := range to {
		s.watch(a)
	}
	p.move(s.t, to)
	if len(policies) == 0 && p.unlearn != nil {
		p.unlearn()
	}
	for _, a := range to {
		p.parts = append(p.parts, penalised{a, a.Copy(), a.Copy()})
	}
}

// prolong has a back-off last for d from the arrival of the answer, unless it was for one request too many: a server that bounds what
// is in flight asks for a wait, too, and serves the next one as soon as it has answered another.
func (p *penalty) prolong(s *settlement, d time.Duration) {
	until := p.t.Add(d)
	var g *window.Inferred
	if p.limit.learned != nil {
		g = p.limit.learned.inferred
	}
	if until <= s.t || g != nil && g.WasTooMany(s.sent) {
		return
	}
	for i := range p.parts {
		part := &p.parts[i]
		if part.after.BackOff > part.before.BackOff && part.BackOff == part.after.BackOff {
			part.BackOff = part.before.BackOff
		}
		part.Hold = max(part.Hold, until)
		part.after = part.Copy()
	}
	if len(p.parts) > 0 && g != nil {
		g.Told(s.sent, d)
	}
	if l := p.scope.learned; l != nil {
		l.alone.lastsUntil(p, until)
	}
	s.o.alone.lastsUntil(p, until)
}

// move moves the penalty to other accounts.
func (p *penalty) move(t instant, to []*account) {
	var backOff instant
	hold := p.hold
	for i := range p.parts {
		part := &p.parts[i]
		if part.after.Hold > part.before.Hold {
			hold = max(hold, part.after.Hold)
		}
		if part.after.BackOff > part.before.BackOff {
			backOff = max(backOff, part.after.BackOff)
		}
	}
	for _, a := range to {
		i := slices.IndexFunc(p.parts, func(part penalised) bool { return part.account == a })
		if i >= 0 {
			p.parts = slices.Delete(p.parts, i, i+1)
			continue
		}
		if hold > t {
			a.Pause(t, hold.Since(t), a.policy.server)
		}
		if backOff > t {
			a.StartBackOff(t, t, 0)
			a.BackOff = max(a.BackOff, backOff)
		}
		a.policy.until = max(a.policy.until, a.InForce())
	}
	for i := range p.parts {
		part := &p.parts[i]
		part.Undo(&part.before, &part.after)
		if k := p.kind; k != nil && part.ofNone() && k.held == p.heldAfter {
			k.held = p.heldBefore
		}
	}
	p.parts, p.hold = nil, hold
}

// concerned finds the accounts of policies, if all of them are known.
func (o *Origin) concerned(p *penalty, policies []string) (to []*account, known bool) {
	for _, name := range policies {
		n := len(to)
		for i := range p.parts {
			if a := p.parts[i].account; !a.ofNone() && a.policy.name == name {
				to = append(to, a)
			}
		}
		for _, a := range p.claimed {
			if a.policy.name == name && !slices.Contains(to, a) {
				to = append(to, a)
			}
		}
		if a := o.known(accountID{policyID{name: name}, p.scope.base.owner.long}); a != nil && n == len(to) {
			to = append(to, a)
		}
		if n == len(to) {
			return nil, false
		}
	}
	return to, true
}
