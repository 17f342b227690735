package quota

import (
	"cmp"
	"math"
	"slices"
)

// This file sums up the accounts of each policy: SnapshotOptions.ByPolicy.

// tally sums up all accounts at t in s, which describes the origin. The first sum, of the
// policy without a name, has the account of the whole origin in it, too.
func (o namedOrigin) tally(t instant, s *OriginSnapshot) {
	sums := []AccountSnapshot{{Policy: Policy{Quota: None}, Available: None}}
	policies := []*policyAccounts{&o.ofScopes} // of the sums
	o.mu.Lock()
	sums[0].sum(&o.root, t)
	sums[0].InLine += o.first.line.Len()
	for left := math.MaxInt; ; {
		// The last account takes the place of one that is evicted, so going down misses none.
		left = min(left, len(o.all))
		for n := 0; left > 0 && n < chunk; n++ {
			left--
			a := o.all[left]
			if o.hides(t, a) {
				continue
			}
			i := slices.IndexFunc(policies, func(p *policyAccounts) bool {
				return p.name == a.policy.name // its keyed accounts, and those of scopes
			})
			if i < 0 {
				i = len(sums)
				policies = append(policies, a.policy)
				sums = append(sums, AccountSnapshot{Policy: Policy{Name: a.policy.name, Quota: None}, Available: None})
			}
			p := &sums[i]
			p.Accounts++
			p.sum(a, t)
			p.InLine += o.inKindLines(a)
		}
		if left == 0 {
			break
		}
		o.mu.Unlock()
		o.mu.Lock()
	}
	o.mu.Unlock()
	slices.SortFunc(sums, func(x, y AccountSnapshot) int { return cmp.Compare(x.Name, y.Name) })
	s.Accounts = sums
}

// sum adds an account, which it does not change. The mutex of the origin is held.
func (s *AccountSnapshot) sum(a *account, t instant) {
	s.InFlight += a.Unanswered()
	s.InLine += a.line.Len()
	if t < a.Hold {
		s.Hold = max(s.Hold, a.Hold.Since(t))
	}
	if t < a.BackOff {
		s.BackOff = max(s.BackOff, a.BackOff.Since(t))
	}
	switch left, known := a.LeftInForce(t); {
	case known && (s.Available == None || lessLeft(left, a.Quota, s.Available, s.Quota)):
		s.Available, s.Quota = left, a.Quota
	case s.Available == None:
		s.Quota = max(s.Quota, a.Quota)
	}
}

// lessLeft reports whether x of p is a smaller part than y of q. Of quotas that are not
// known, the number decides.
func lessLeft(x, p, y, q int64) bool {
	if p == q || p <= 0 || q <= 0 {
		return x < y
	}
	return float64(x)*float64(q) < float64(y)*float64(p)
}
