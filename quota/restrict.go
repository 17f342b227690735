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
	unheard *Lease  // its work, as long as nothing was inferred from the refusal because its body may say how long to wait; else nil
	t, sent instant // arrival of the answer, departure of the work
	scope   *scope
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
		s.penalty = &penalty{scope: s.l.scope, t: s.t, sent: s.sent}
		if l := s.l; s.r.Wait == None {
			s.penalty.unheard = &Lease{origin: s.o, ofOrigin: &ofOrigin{
				scope: l.scope, among: l.among, limit: l.limit, kind: l.kind, name: l.name, named: l.named, resource: l.resource,
			}}
		}
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
	if len(policies) > 0 || lasts == 0 {
		p.restrict(t, policies, &changes)
	}
	if lasts != 0 && p.unheard != nil {
		p.prolong(t, max(lasts, 0), &changes)
	}
	p.unheard = nil
	woken := o.kick(now)
	o.mu.Unlock()
	wait.Wake(woken)
	return changes
}

// tellsInBody reports whether bodies of refusals have told how long to wait.
func (sc *scope) tellsInBody() bool { return sc.learned != nil && sc.learned.inBody }

// kick lets go what may depart at now of all that waits for accounts. The mutex is held.
func (o *Origin) kick(now time.Time) (woken []*wait.Waiter) {
	for a := range o.awaited {
		woken = a.AppendKicked(woken, now)
	}
	return woken
}

// restrict moves the penalty to the policies that it turns out to concern: to the
// accounts that the request was charged to, and to those of its scope. If there are
// none, the penalty ends. If one of them is not known, the penalty stays as it is.
func (p *penalty) restrict(t instant, policies []string, changes *[]Change) {
	to, known := p.scope.base.policy.origin.concerned(p, policies)
	if !known {
		return
	}
	s := p.settlement(t, changes, &Lease{ofOrigin: &ofOrigin{scope: p.scope, among: p.scope, limit: p.scope}}, 0)
	for _, a := range to {
		s.watch(a)
	}
	p.move(t, to)
	s.tell()
	if len(policies) == 0 && p.unlearn != nil {
		p.unlearn()
	}
}

// prolong has the penalty last for d from the arrival of the answer, as if a Retry-After had said so, and infers what the
// refusal shows; 0: as if nothing had.
func (p *penalty) prolong(t instant, d time.Duration, changes *[]Change) {
	s := p.settlement(t, changes, p.unheard, max(p.t.Add(d).Since(t), 0))
	if parts := p.parts; s.r.Pause > 0 && len(parts) > 0 {
		p.parts = nil
		for i := range parts {
			parts[i].Undo(&parts[i].before, &parts[i].after)
		}
		s.pause()
	} else if s.r.Pause == 0 {
		for i := range parts {
			if a := parts[i].account; a.State == window.Counting && parts[i].after.BackOff > parts[i].before.BackOff {
				a.AskFirst(t, s.sent)
				parts[i].after = a.Copy()
			}
		}
	}
	if s.r.Pause = d; d > 0 {
		p.scope.learnedOf().inBody = true
	}
	s.infer()
	s.tell()
}

// settlement is one of a refusal at t with a Retry-After; 0: without.
func (p *penalty) settlement(t instant, changes *[]Change, l *Lease, pause time.Duration) *settlement {
	r := &Report{Refused: true, Pause: pause, Changes: changes}
	s := &settlement{o: p.scope.base.policy.origin, l: l, r: r, t: t, sent: p.sent, penalty: p}
	s.wasInferred = s.inferredQuota()
	for i := range p.parts {
		s.watch(p.parts[i].account)
	}
	return s
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
