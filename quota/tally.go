package quota

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A PolicyTally sums up all accounts of one policy of an origin, for gauges.
type PolicyTally struct {
	Origin   string
	Policy   string // "": the accounts of scopes and that of the whole origin, which are also those of a policy without a name
	Accounts int

	Quota     int64 // the largest q of the policy among the accounts; None: not known
	Available int64 // the least that may be used now among the accounts whose window is in force; None: there is none

	InFlight int64         // units of requests that are not answered
	InLine   int           // requests that wait
	Hold     time.Duration // the longest for which a Retry-After still holds one of the accounts
	BackOff  time.Duration // the longest for which one of them still backs off
}

// Tally sums up what is known at the present instant, now: one PolicyTally for each
// policy of each origin, by their names. It costs far less than a Snapshot,
// and holds a lock no longer.
func (a *Accounts) Tally(now time.Time) (tallies []PolicyTally) {
	for _, o := range a.all() {
		tallies = o.tally(now, tallies)
	}
	return tallies
}

func (o namedOrigin) tally(now time.Time, tallies []PolicyTally) []PolicyTally {
	from := len(tallies)
	tallies = append(tallies, PolicyTally{Origin: o.name, Quota: None, Available: None})
	var policies []*policyAccounts // of the tallies after the first
	o.mu.Lock()
	if !o.begun {
		o.mu.Unlock()
		return tallies[:from]
	}
	t := o.at(now)
	tallies[from].add(&o.root, t)
	tallies[from].InLine += o.first.line.Len()
	for left := math.MaxInt; ; {
		// The last account takes the place of one that is evicted, so going down misses none.
		left = min(left, len(o.all))
		for n := 0; left > 0 && n < chunk; n++ {
			left--
			a := o.all[left]
			p := &tallies[o.tallyOf(a.policy, &policies, &tallies, from)]
			p.Accounts++
			p.add(a, t)
			p.InLine += o.inKindLines(a)
		}
		if left == 0 {
			break
		}
		o.mu.Unlock()
		o.mu.Lock()
	}
	o.mu.Unlock()
	slices.SortFunc(tallies[from:], func(x, y PolicyTally) int { return cmp.Compare(x.Policy, y.Policy) })
	return tallies
}

// tallyOf returns the index of the tally of a policy, and adds one if there is none.
func (o namedOrigin) tallyOf(p *policyAccounts, policies *[]*policyAccounts, tallies *[]PolicyTally, from int) int {
	if p == &o.unnamed {
		return from
	}
	for i, known := range *policies {
		if known.name == p.name { // its keyed accounts, and those of scopes
			return from + 1 + i
		}
	}
	*policies = append(*policies, p)
	*tallies = append(*tallies, PolicyTally{Origin: o.name, Policy: p.name, Quota: None, Available: None})
	return len(*tallies) - 1
}

// add adds an account, which it does not change. The mutex of the origin is held.
func (p *PolicyTally) add(a *account, t instant) {
	p.Quota = max(p.Quota, a.Quota)
	p.InFlight += a.Unanswered()
	p.InLine += a.line.Len()
	if t < a.Hold {
		p.Hold = max(p.Hold, a.Hold.Since(t))
	}
	if t < a.BackOff {
		p.BackOff = max(p.BackOff, a.BackOff.Since(t))
	}
	if left, known := a.LeftInForce(t); known && (p.Available == None || left < p.Available) {
		p.Available = left
	}
}
