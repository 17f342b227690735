package quota

import "time"

// A Pause is a word of a server that fell on a whole scope or origin.
type Pause struct {
	on      *account
	before  instant // what was in force
	until   instant
	open    bool // nothing was known of the account
	scope   *scope
	claimed []*account // what the request was charged to
}

// widely pauses the account of the scope or of the origin.
func (s *settlement) widely(a *account) *Pause {
	p := &Pause{on: a, before: a.hold, open: a.basis == open, scope: s.l.scope}
	a.pause(s.t, s.r.Pause)
	p.until = a.hold
	for _, c := range s.l.claims.all() {
		if a, ok := c.gate.(*account); ok && a.book.policy != "" {
			p.claimed = append(p.claimed, a)
		}
	}
	return p
}

// Narrow moves a pause to the policies that it turns out to concern: to the
// accounts that the request was charged to, and to those of its scope. It does
// nothing, and the pause stays as wide as it is, if policies is empty or one of
// them is not known, or if the pause is not the last word any more; nor for a nil
// Pause.
//
// now is the present instant.
func (o *Origin) Narrow(now time.Time, p *Pause, policies []string) {
	if p == nil || p.on == nil || p.on.book.origin != o || len(policies) == 0 {
		return
	}
	var woken []*waiter
	o.guard.Lock()
	if to, known := o.concerned(p, policies); known && p.on.hold == p.until && p.until > p.before {
		p.lift()
		for _, a := range to {
			a.pause(o.at(now), time.Duration(max(p.until-o.at(now), 0)))
			a.inForce()
		}
		for l := range o.lines {
			if w := l.kick(now); w != nil {
				woken = append(woken, w)
			}
		}
	}
	o.guard.Unlock()
	for _, w := range woken {
		w.wake()
	}
}

// concerned finds the accounts of policies, if all of them are known.
func (o *Origin) concerned(p *Pause, policies []string) (to []*account, known bool) {
	for _, name := range policies {
		n := len(to)
		for _, a := range p.claimed {
			if a.book.policy == name {
				to = append(to, a)
			}
		}
		if a := o.find(accountID{policy: name, owner: p.scope.base.owner.long}); a != nil && n == len(to) {
			to = append(to, a)
		}
		if n == len(to) {
			return nil, false
		}
	}
	return to, true
}

// lift takes the pause off the account that it fell on.
func (p *Pause) lift() {
	p.on.hold = p.before
	if p.open && p.on.basis == presumed {
		p.on.basis, p.on.end = open, never
	}
}
