package quota

// This file keeps the number of accounts bounded. A clock hand goes round the accounts
// in Origin.all. An account that was not used for long is evicted when the hand reaches
// it, or earlier if room is needed.

// evicted is the place of an account that is no longer in Origin.all. A request that is
// in flight for longer than the window may still be charged to it.
const evicted = -1

// add adds an account to Origin.all.
func (o *Origin) add(t instant, a *account) {
	a.Used, a.place = t, int32(len(o.all))
	o.all = append(o.all, a)
	o.countBeyond(len(o.all)-1, 1)
}

// countBeyond adds by to Accounts.beyond, if account number n of the origin (from 0) is
// above the origin's share.
func (o *Origin) countBeyond(n, by int) {
	if n >= o.accounts.share() && !o.dropped.Load() {
		o.accounts.beyond.Add(int64(by))
	}
}

// evict removes an account and, if it is that of a scope, the scope.
func (o *Origin) evict(t instant, a *account) {
	if o.shared != nil {
		o.shared.drop(a)
	}
	delete(o.asleep, a)
	delete(o.streams, a)
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
	delete(p.units, a)
	delete(p.absent, a)
	if a.ofNone() {
		o.scopes[a.owner.long].forgetKinds(t, o)
		delete(o.scopes, a.owner.long)
		o.scopes, o.maxScopes = shrunk(o.scopes, o.maxScopes)
		return
	}
	if p.accounts.remove(a); p.accounts.n == 0 {
		delete(o.byPolicy, p.policyID)
	}
}

// shrunk returns a map with the entries of m, which has had up to n entries, and the
// largest number of entries that the result has had. If less than an eighth is left, it
// is a smaller copy, because a map does not give back memory.
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

// makeRoom makes room for another account if there is none left. It evicts the least
// valuable account of a sample. Accounts in use are never evicted: if the whole sample
// is in use, the bound is exceeded.
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
		o.evict(t, least)
		o.evictions++
	}
}

// sweeps reports whether it is time to sweep: at most once in each sweepInterval.
func (o *Origin) sweeps(t instant) bool { return t >= o.swept.Add(sweepInterval) }

// sweep evicts a few of the accounts that have not been used for long, and frees what memory
// others do not need any more. It looks at a few accounts only, so that no request pays for
// all of them.
func (o *Origin) sweep(t instant) {
	o.swept = t
	for range min(sample, len(o.all)) {
		a := o.next()
		a.TrimLog(t)
		if a.Over(t) && !o.inUse(a) && !o.holds(t, a) {
			o.evict(t, a)
		}
	}
}

// holdsKind reports whether a kind of the scope that the account belongs to is held.
func (o *Origin) holdsKind(t instant, a *account) bool {
	for _, k := range o.kindsOf(a) {
		if k.held > t {
			return true
		}
	}
	return false
}

// holds reports whether a Retry-After is in force at t that would be forgotten with the account: its own,
// that of a kind of its scope, or that of a limit beside it.
func (o *Origin) holds(t instant, a *account) bool {
	if t < a.Hold || o.holdsKind(t, a) {
		return true
	}
	b := o.besideScope(a)
	return b != nil && a.ofNone() && (t < b.in.base.Hold || o.holdsKind(t, &b.in.base))
}

// next moves the clock hand to the next account.
func (o *Origin) next() *account {
	o.clockHand++
	if o.clockHand >= len(o.all) {
		o.clockHand = 0
	}
	return o.all[o.clockHand]
}

// inUse reports whether a request is in flight or in line for the account, or for the
// scope if the account is that of a scope.
func (o *Origin) inUse(a *account) bool {
	return a.busy() || a.ofNone() && (o.outage != nil && a == &o.outage.scope.base || o.scopes[a.owner.long].out > 0 || o.inKindLines(a) > 0)
}

// lessValuable reports whether a is evicted before b. In this order: an account without
// a Retry-After in force goes before one with it; an idle account before one that is
// not; the less recently used one first.
func (a *account) lessValuable(b *account, t instant) bool {
	if x, y := a.policy.origin.holds(t, a), b.policy.origin.holds(t, b); x != y {
		return y
	}
	if x, y := a.idle(t), b.idle(t); x != y {
		return x
	}
	return a.Used < b.Used
}

// idle reports whether the account is not in use and nothing said of it is in force at
// t.
func (a *account) idle(t instant) bool { return a.Idle(t) && !a.busy() }
