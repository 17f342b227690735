package quota

// This file keeps the number of accounts bounded. All accounts of an origin stand
// in Origin.all, and a clock hand goes round them: an account that was not used for
// long is evicted when the hand comes by, or earlier where there is no room.

// evicted is the place of an account that is not in Origin.all any more. A request
// that is out for longer than its window may still be charged to it.
const evicted = -1

// add takes in an account.
func (o *Origin) add(t instant, a *account) {
	a.Used, a.place = t, int32(len(o.all))
	o.all = append(o.all, a)
	o.countBeyond(len(o.all)-1, 1)
}

// countBeyond tells the bound of all origins of accounts beyond the first n.
func (o *Origin) countBeyond(n, by int) {
	if n >= o.accounts.share() && !o.dropped.Load() {
		o.accounts.beyond.Add(int64(by))
	}
}

// evict takes out an account, or the scope that it belongs to.
func (o *Origin) evict(a *account) {
	last := len(o.all) - 1
	o.all[a.place] = o.all[last]
	o.all[a.place].place = a.place
	a.place = evicted
	o.all[last] = nil
	o.all = o.all[:last]
	o.countBeyond(last, -1)
	if o.hashedOwners > 0 {
		if _, ok := digestOf(a.owner.String()); ok {
			o.hashedOwners--
		}
	}
	if cap(o.all) > 4*last {
		o.all = append(make([]*account, 0, 2*last), o.all...)
	}
	p := a.policy
	if p == &o.unnamed {
		delete(o.scopes, a.owner.long)
		o.scopes, o.maxScopes = shrunk(o.scopes, o.maxScopes)
		return
	}
	if p.accounts.remove(a); p.accounts.n == 0 {
		delete(o.byPolicy, p.policyID)
	}
}

// shrunk returns a map that has had up to n entries, with the memory of as many as
// it has now: a map keeps the memory that it once had. The entries that have to move
// are paid for by those that were deleted.
func shrunk[V any](m map[string]V, n int) (map[string]V, int) {
	if n < 64 || len(m) > n/8 {
		return m, n
	}
	small := make(map[string]V, 2*len(m))
	for k, v := range m {
		small[k] = v
	}
	return small, len(m)
}

// makeRoom makes room for another account if there is none left. It evicts the
// least valuable idle account among a sample of 8. Accounts in use are never
// evicted: where all of the sample are in use, the bound is exceeded.
func (o *Origin) makeRoom(t instant) {
	if !o.accounts.full(len(o.all)) {
		return
	}
	var least *account
	for range min(sample, len(o.all)) {
		a := o.next()
		if !o.inUse(a) && (least == nil || a.lessValuable(least, t)) {
			least = a
		}
	}
	if least != nil {
		o.evict(least)
	}
}

// sweep evicts a few of the accounts that have not been used for long. It looks at
// a few accounts only, so that no request pays for all of them.
func (o *Origin) sweep(t instant) {
	if t < o.swept.Add(sweepInterval) {
		return
	}
	o.swept = t
	for range min(sample, len(o.all)) {
		if a := o.next(); a.Over(t) && !o.inUse(a) {
			o.evict(a)
		}
	}
}

// next moves the clock hand to the next account.
func (o *Origin) next() *account {
	o.clockHand++
	if o.clockHand >= len(o.all) {
		o.clockHand = 0
	}
	return o.all[o.clockHand]
}

// inUse reports whether a request is out or in line for the account, or for the
// scope that it belongs to.
func (o *Origin) inUse(a *account) bool {
	return a.busy() || a.policy == &o.unnamed && o.scopes[a.owner.long].out > 0
}

// lessValuable reports whether a is evicted before b: idle ones first, then the
// least recently used, and those under a hold last.
func (a *account) lessValuable(b *account, t instant) bool {
	if x, y := t < a.Hold, t < b.Hold; x != y {
		return y
	}
	if x, y := a.idle(t), b.idle(t); x != y {
		return x
	}
	return a.Used < b.Used
}

// idle reports whether the account is not in use, and nothing that was said of it
// is in force at t.
func (a *account) idle(t instant) bool { return a.Idle(t) && !a.busy() }
