package quota

import "github.com/headway-go/headway/quota/internal/window"

// This file charges the first wave: requests that departed before there was an account
// for the policy that the server charges them to. When an answer names a new policy, the
// other requests of the scope that are in flight may be charged to it, too. So a new
// account starts with all of them in flight, and each is settled with it when its answer
// comes: one unit each; or in units such as tokens what is missing of the quota, because the
// request of the first figure and those before it have not cost more.

// maxNewAccounts bounds the accounts that wait for a first wave in one scope, and
// maxFreeUnattributed the memory that is kept for scopes to come.
const (
	maxNewAccounts      = 2 * maxPolicies
	maxFreeUnattributed = 64
)

// unattributed is what a scope knows of its requests in flight, as long as any of them
// departed before an account was created.
type unattributed struct {
	created []newAccount
	keyed   []keyedCharges
}

// A newAccount was created while requests were in flight that the server may charge to
// it.
type newAccount struct {
	*account
	ticket uint64 // requests with a lower ticket departed before it was created
	out    int64  // how many of them are in flight; their charges have window.FirstMark
	units  int64  // that each of them is charged
}

// keyedCharges counts the requests that are charged to any partition of a policy.
type keyedCharges struct {
	policy string
	out    int64
}

// trackUnattributed returns the unattributed of a scope, and makes it if there is none.
func (o *Origin) trackUnattributed(s *scope) *unattributed {
	if s.unattributed != nil {
		return s.unattributed
	}
	if last := len(o.freeUnattributed) - 1; last >= 0 {
		s.unattributed, o.freeUnattributed = o.freeUnattributed[last], o.freeUnattributed[:last]
	} else {
		s.unattributed = new(unattributed)
	}
	return s.unattributed
}

// releaseUnattributed frees it once nothing of the scope is in flight.
func (s *settlement) releaseUnattributed() {
	o, u := s.o, s.departed.unattributed
	if u == nil || s.departed.out > 0 {
		return
	}
	s.departed.unattributed = nil
	for i := range u.created {
		s.giveUp(&u.created[i])
	}
	if len(o.freeUnattributed) < maxFreeUnattributed {
		clear(u.created)
		clear(u.keyed)
		u.created, u.keyed = u.created[:0], u.keyed[:0]
		o.freeUnattributed = append(o.freeUnattributed, u)
	}
}

// giveUp stops waiting for the requests that were out when the account was created. If
// there are any, that may let waiters of the account go.
func (s *settlement) giveUp(n *newAccount) {
	if n.out > 0 {
		s.freed = append(s.freed, n.account)
	}
	n.Landed(n.out*n.units, window.FirstMark)
	n.Unretain(n.out)
	n.out = 0
}

// countKeyed returns how many requests of the scope are charged to partitions of a
// policy, after adding by to it.
func (u *unattributed) countKeyed(policy string, by int64) int64 {
	if u == nil {
		return 0
	}
	for i := range u.keyed {
		if k := &u.keyed[i]; k.policy == policy {
			k.out += by
			return k.out
		}
	}
	if by > 0 {
		if len(u.keyed) >= maxNewAccounts {
			u.keyed = u.keyed[1:]
		}
		u.keyed = append(u.keyed, keyedCharges{policy, by})
	}
	return max(by, 0)
}

// untold returns how many requests of the scope are in flight that the server may charge to
// an account of another scope, as the answer shows only now, and the ticket below which they
// departed. It returns 0 if the account is charged with them, or if a window of it has ended.
func (u *unattributed) untold(a *account) (ticket uint64, out int64) {
	if u == nil || a.Epoch() > 0 {
		return 0, 0
	}
	for i := range u.created {
		switch n := &u.created[i]; {
		case n.account == a:
			return 0, 0
		case n.out > out:
			ticket, out = n.ticket, n.out
		}
	}
	return ticket, out
}

// chargeFirstWave charges a new account with the requests of the scope that the lease departed
// in that are in flight, except those that are charged to another partition of the policy. If
// the answer concerns another scope, it charges an account of that: see untold.
func (s *settlement) chargeFirstWave(a *account) {
	ticket, out := s.o.tickets, s.departed.out
	if s.l.scope != s.departed {
		ticket, out = s.departed.unattributed.untold(a)
	}
	u := s.departed.unattributed
	if a.policy.keyed {
		out -= u.countKeyed(a.policy.name, 0)
	}
	if out <= 0 {
		return
	}
	if u != nil && len(u.created) >= maxNewAccounts { // a server that makes up policies
		oldest := u.created[0]
		s.giveUp(&oldest)
		s.earlier = append(s.earlier, oldest.account)
		u.created = append(u.created[:0], u.created[1:]...)
	}
	s.o.preset(s.departed, a, newAccount{ticket: ticket, out: out, units: s.missingOf(a, out)})
}

// chargeScope charges a new account with the requests of the scope that are in flight, so many units each: the
// answer to another scope has told of the policy.
func (o *Origin) chargeScope(s *scope, a *account, units int64) {
	out, u := s.out, s.unattributed
	if a.policy.keyed {
		out -= u.countKeyed(a.policy.name, 0)
	}
	if out > 0 && (u == nil || len(u.created) < maxNewAccounts) {
		o.preset(s, a, newAccount{ticket: o.tickets, out: out, units: units})
	}
}

// preset charges a new account with requests of the scope that are in flight.
func (o *Origin) preset(s *scope, a *account, n newAccount) {
	n.account, n.units = a, min(n.units, window.MaxUnits/n.out)
	a.Preset(n.out, n.units)
	u := o.trackUnattributed(s)
	u.created = append(u.created, n)
}

// missingOf is how many units are missing of a policy in a unit such as tokens, by the
// report, but no more than what is left for each of the requests that are out: with so much
// charged nothing else departs before they are answered. It is 1 for other units.
func (s *settlement) missingOf(a *account, out int64) int64 {
	p, known := s.o.policy(a.policy.name)
	for i := range s.r.Terms {
		if s.r.Terms[i].Name == a.policy.name {
			p, known = s.r.Terms[i], true
		}
	}
	if !known || unitOf(p.Unit) != window.Other {
		return 1
	}
	for i := range s.r.Figures {
		if f := &s.r.Figures[i]; f.Policy == a.policy.name && f.Available >= 0 {
			return max(min(p.Quota-f.Available, f.Available/out), 1)
		}
	}
	return 1
}

// chargeOfFirstWave returns the charge of an account that was created after the lease departed. So many have departed
// after the lease as its scope was charged with.
func (s *settlement) chargeOfFirstWave(a *account) (c window.Charge) {
	if of := s.claimOf(&s.departed.base); of != nil {
		c = window.Charge{Sent: s.sent, Units: s.claimed(a), Mark: a.MarkBefore(s.departed.base.After(of.Epoch))}
	}
	return c
}

// settleFirstWave settles the lease with the accounts that were created after it
// departed. Where the report has a figure for some partition of the policy, that
// says what the request cost, and which partition it cost. A refusal by other
// policies cost nothing.
func (s *settlement) settleFirstWave() {
	u := s.departed.unattributed
	if u == nil || len(u.created) == 0 {
		return
	}
	kept := u.created[:0]
	for _, n := range u.created {
		if policy := n.policy.name; s.l.ticket < n.ticket && !(n.policy.keyed && s.claims(policy)) {
			n.out--
			n.Unretain(1)
			s.earlier = append(s.earlier, n.account)
			if s.spares(n.account) || s.names(policy) || s.elsewhere {
				n.Landed(n.units, window.FirstMark)
			} else {
				n.Lost(s.t, window.Charge{Units: n.units, Mark: window.FirstMark})
			}
		}
		if n.out > 0 && n.Epoch() <= 1 {
			kept = append(kept, n)
		} else {
			s.giveUp(&n)
		}
	}
	clear(u.created[len(kept):])
	u.created = kept
}
