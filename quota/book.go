package quota

import "strings"

// A book has the accounts of one policy: of its partitions if it is keyed,
// else of the scopes.
type book struct {
	bookID
	origin   *Origin
	floors   bool    // the server rounds windows down
	hasty    bool    // its Retry-After says less than its windows, and is wrong
	accounts index   // not those of the unnamed policy, which are the scopes'
	until    instant // when nothing that was told of any of them is in force any more
}

// bookID tells the books of an origin apart.
type bookID struct {
	policy string
	keyed  bool
}

// accountID tells the accounts of one origin apart.
type accountID struct {
	policy string
	owner  string // the bytes of the partition key, or the scope where there is none
	keyed  bool
}

func (id accountID) book() bookID { return bookID{id.policy, id.keyed} }

// is reports whether the account is that of the id.
func (a *account) is(id accountID) bool {
	return a.owner.is(id.owner) && a.book.bookID == id.book()
}

// find returns the account of that id; nil, if there is none. The unnamed
// account is that of the scope.
func (o *Origin) find(id accountID) *account {
	a := o.lookup(id)
	if a == nil && o.sealed > 0 {
		a = o.unseal(id)
	}
	return a
}

// lookup is find, as far as the owners of accounts are known.
func (o *Origin) lookup(id accountID) *account {
	if id.book() == o.unnamed.bookID {
		if s := o.scopes[id.owner]; s != nil {
			return &s.base
		}
		return nil
	}
	if b := o.books[id.book()]; b != nil {
		return b.accounts.find(id.owner)
	}
	return nil
}

// account opens an account, which there is not yet, with what is known of its
// policy.
func (o *Origin) account(t instant, id accountID) *account {
	if id.book() == o.unnamed.bookID {
		return &o.scope(t, id.owner).base
	}
	o.makeRoom(t)
	b := o.book(id.book())
	a := new(account)
	a.open(b, ownerOf(id.owner))
	o.enrol(t, a)
	if p, ok := o.policy(id.policy); ok {
		a.terms(p)
	}
	b.accounts.add(a)
	return a
}

// book finds a book, or opens it.
func (o *Origin) book(id bookID) *book {
	b := o.books[id]
	if b == nil {
		id.policy = strings.Clone(id.policy)
		b = &book{bookID: id, origin: o, accounts: index{hash: o.hash}}
		o.books[id] = b
	}
	return b
}

// scope finds the scope of that name, or opens it.
func (o *Origin) scope(t instant, name string) *scope {
	s := o.scopes[name]
	if s == nil && o.sealed > 0 && o.unseal(accountID{owner: name}) != nil {
		s = o.scopes[name]
	}
	if s == nil {
		o.makeRoom(t)
		s = new(scope)
		s.base.open(&o.unnamed, longOwner(name))
		o.enrol(t, &s.base)
		o.scopes[s.base.owner.long] = s
		o.most = max(o.most, len(o.scopes))
	}
	s.base.used = t
	return s
}

// open makes an account of nothing known.
func (a *account) open(b *book, w owner) {
	a.book, a.owner, a.quota, a.end = b, w, None, never
	a.plain = b.origin.accounts.Strategy == Plain
}

// enrol puts an account into the roster.
func (o *Origin) enrol(t instant, a *account) {
	a.used, a.place = t, int32(len(o.roster))
	o.roster = append(o.roster, a)
	o.count(len(o.roster)-1, 1)
}

// count has the bound of all origins know of accounts beyond the first n.
func (o *Origin) count(n, by int) {
	if n >= o.accounts.share() && !o.dropped.Load() {
		o.accounts.beyond.Add(int64(by))
	}
}

// dropped is the place of an account that is not in the roster any more. A
// request that is out for longer than its window may still be charged to it.
const dropped = -1

// drop takes an account, or a scope whose base it is, out of the books.
func (o *Origin) drop(a *account) {
	last := len(o.roster) - 1
	o.roster[a.place] = o.roster[last]
	o.roster[a.place].place = a.place
	a.place = dropped
	o.roster[last] = nil
	o.roster = o.roster[:last]
	o.count(last, -1)
	if o.sealed > 0 {
		if _, ok := digestOf(a.owner.String()); ok {
			o.sealed--
		}
	}
	if cap(o.roster) > 4*last {
		o.roster = append(make([]*account, 0, 2*last), o.roster...)
	}
	b := a.book
	if b == &o.unnamed {
		delete(o.scopes, a.owner.long)
		o.scopes, o.most = shrunk(o.scopes, o.most)
		return
	}
	if b.accounts.remove(a); b.accounts.n == 0 {
		delete(o.books, b.bookID)
	}
}

// shrunk is a map that has had so many entries, with the memory of as many as
// it has now: a map keeps what it once had. Entries that have to move were
// paid for by those that were deleted.
func shrunk[V any](m map[string]V, most int) (map[string]V, int) {
	if most < 64 || len(m) > most/8 {
		return m, most
	}
	small := make(map[string]V, 2*len(m))
	for k, v := range m {
		small[k] = v
	}
	return small, len(m)
}

// makeRoom makes room for another account, if there is none left: of a sample,
// the account is dropped that is missed least. None is that is in use: where
// all of them are, the books grow by what is in use.
func (o *Origin) makeRoom(t instant) {
	if !o.accounts.full(len(o.roster)) {
		return
	}
	var least *account
	for range min(sample, len(o.roster)) {
		a := o.next()
		if !o.inUse(a) && (least == nil || a.missedLess(least, t)) {
			least = a
		}
	}
	if least != nil {
		o.drop(least)
	}
}

// sweep drops a few of those accounts that nobody has needed for long, or will.
// It looks at no more of them than an exchange may take time for.
func (o *Origin) sweep(t instant) {
	if t < o.swept.add(sweepInterval) {
		return
	}
	o.swept = t
	for range min(sample, len(o.roster)) {
		if a := o.next(); a.over(t) && !o.inUse(a) {
			o.drop(a)
		}
	}
}

// next walks the roster, round and round.
func (o *Origin) next() *account {
	o.hand++
	if o.hand >= len(o.roster) {
		o.hand = 0
	}
	return o.roster[o.hand]
}

// inUse reports whether something of an account is out or in line, or of the
// scope whose base it is.
func (o *Origin) inUse(a *account) bool {
	return a.busy() || a.book == &o.unnamed && o.scopes[a.owner.long].out > 0
}

// missedLess reports whether a should be dropped before b: idle ones first,
// then the least recently used, those under a hold last.
func (a *account) missedLess(b *account, t instant) bool {
	if x, y := t < a.hold, t < b.hold; x != y {
		return y
	}
	if x, y := a.idle(t), b.idle(t); x != y {
		return x
	}
	return a.used < b.used
}
