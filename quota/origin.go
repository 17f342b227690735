package quota

import (
	"context"
	"hash/maphash"
	"sync/atomic"
	"time"
)

// A Claim is so many units of one account of an origin.
type Claim struct {
	Policy string // the name of the policy
	Key    string // the bytes of the partition key, where Keyed
	Keyed  bool   // false: the account of the scope
	Units  int64  // quota units; negative counts as 0
}

// An Ask is a piece of work that wants to start.
type Ask struct {
	Scope    string         // the identity that it acts for; accounts without a key belong to it
	Claims   []Claim        // of the origin's accounts; at most one for each policy
	Again    func() []Claim // the Claims as they are now, asked with no lock held by work that has waited; nil: as they were
	Limiter  Limiter        // the client's own limits; nil: none
	Priority int            // the higher goes first; 0 is normal
	MaxDelay time.Duration  // the longest wait. 0: DefaultMaxDelay; negative (NoDelay): none at all
	MaxQueue int            // who may wait in one line. 0: DefaultMaxQueue; negative: no bound
	Force    bool           // charge, whatever is left, and never wait

	// Held is told what stands in the way before the work waits, or in spite
	// of which it goes if Force is set. It is called with no lock held. May be nil.
	Held func(Refusal)
}

func (a *Ask) wish() wish {
	w := wish{
		priority: a.Priority,
		maxDelay: a.MaxDelay,
		maxQueue: bounded(a.MaxQueue, DefaultMaxQueue),
		force:    a.Force,
		held:     a.Held,
	}
	if w.maxDelay == 0 {
		w.maxDelay = DefaultMaxDelay
	}
	return w
}

// An Origin keeps the books of one server: who enforces quotas of its own,
// independently of everybody else. It is safe for concurrent use. Get one
// from Accounts.
//
// Each request claims its scope, on which a pause rests that concerns nothing
// the server has named; the root, while a pause of the whole origin rests on
// it; and an account for each policy that concerns it.
type Origin struct {
	accounts *Accounts
	policies atomic.Pointer[[]Policy] // never modified, only replaced
	dropped  atomic.Bool

	guard    guard     // guards following
	start    time.Time // instant 0: the first that the books were told, or when they were opened
	begun    bool      // they have been told one
	root     account
	unnamed  book // of the root, and of what all scopes have
	scopes   map[string]*scope
	most     int                       // scopes there have been at a time since the map was made
	books    map[bookID]*book          // of the policies
	hash     func(owner string) uint32 // in the books; seeded: nobody can choose owners that collide
	roster   []*account                // all that may be dropped: of the books, and the bases of the scopes
	hand     int                       // goes round the roster
	swept    instant                   // when the hand moved last to see what is over
	out      int64                     // leases that are not settled
	held     int64                     // claims that are held until the work is over
	pinned   int64                     // claims of those who wait
	named    []naming                  // when each of the policies was named last
	told     uint32                    // answers that have named any
	sealed   int                       // accounts whose owner is not known yet
	attached map[string][]byte         // by others, to be saved
	refused  instant                   // arrival of the last refusal
	refusals uint64
	lines    map[*line]struct{} // of accounts
	tickets  uint64             // counts departures
	aparts   []*apart           // that no scope needs now
	scratch  [3][]*account      // of a settlement, for the next one to use
}

// A scope is the identity that requests act for.
type scope struct {
	base  account // the account of no policy
	out   int64   // requests that are out, to whatever accounts they are charged
	apart *apart  // tells those apart, where there is a need to; nil while none is out
	guess *guess  // what the server is taken to allow; nil: anything
}

// apart tells the requests of a scope apart that are out.
type apart struct {
	young []young // accounts that were opened while requests were out
	kin   []kin   // what is out to some partition of a policy
}

// tellApart begins to tell the requests of a scope apart. It takes what
// another scope does not need any more, rather than make it.
func (o *Origin) tellApart(s *scope) *apart {
	if s.apart != nil {
		return s.apart
	}
	if last := len(o.aparts) - 1; last >= 0 {
		s.apart, o.aparts = o.aparts[last], o.aparts[:last]
	} else {
		s.apart = new(apart)
	}
	return s.apart
}

// tellApartNoMore is tellApart's end, once nothing of the scope is out.
func (o *Origin) tellApartNoMore(s *scope) {
	ap := s.apart
	if ap == nil || s.out > 0 {
		return
	}
	s.apart = nil
	for _, y := range ap.young {
		y.forgetEarly()
	}
	if len(o.aparts) < maxAparts {
		clear(ap.young)
		clear(ap.kin)
		ap.young, ap.kin = ap.young[:0], ap.kin[:0]
		o.aparts = append(o.aparts, ap)
	}
}

// A young account was opened while requests were out that may turn out to be
// charged to it.
type young struct {
	*account
	born  uint64 // tickets below this departed before
	early int64  // how many of those are out; they count in flight in epoch 0
}

// kin counts requests that are charged to one partition or another of a policy.
type kin struct {
	policy string
	out    int64
}

// kinOf is how many requests of the scope are charged to partitions of a
// policy; by adds to it.
func (ap *apart) kinOf(policy string, by int64) int64 {
	if ap == nil {
		return 0
	}
	for i := range ap.kin {
		if k := &ap.kin[i]; k.policy == policy {
			k.out += by
			return k.out
		}
	}
	if by > 0 {
		if len(ap.kin) >= 2*maxPolicies {
			ap.kin = ap.kin[1:]
		}
		ap.kin = append(ap.kin, kin{policy, by})
	}
	return max(by, 0)
}

func newOrigin(a *Accounts, now time.Time) *Origin {
	o := &Origin{
		accounts: a,
		start:    now,
		scopes:   make(map[string]*scope),
		books:    make(map[bookID]*book),
		hash:     seededHash(),
		lines:    make(map[*line]struct{}),
	}
	o.unnamed.origin = o
	o.root.open(&o.unnamed, longOwner(""))
	o.policies.Store(new([]Policy))
	return o
}

// seededHash is a hash of strings that nobody can predict.
func seededHash() func(string) uint32 {
	seed := maphash.MakeSeed()
	return func(s string) uint32 { return uint32(maphash.String(seed, s)) }
}

// Dropped reports whether the books were dropped to keep a bound. What is
// charged to them is lost: ask the Accounts for the origin again.
func (o *Origin) Dropped() bool { return o.dropped.Load() }

// Admit charges all that the ask claims at one instant, or nothing: at once,
// or after waiting in the line of whoever refuses. On success it fills in
// the lease, which must then be settled. On failure the error is a *Refusal,
// or the cause of the end of ctx, bare; and nothing is charged.
//
// now is the present instant.
func (o *Origin) Admit(ctx context.Context, now time.Time, ask *Ask, l *Lease) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ask.Limiter != nil && ask.Limiter.most() < 1 && !ask.Force {
		return &Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}
	}
	own, err := ask.own()
	if err != nil {
		return err
	}
	return o.enter(ctx, now, ask, own, 1, l)
}

// enter is Admit, with n permits of each of the client's own gates, which
// have been consulted.
func (o *Origin) enter(ctx context.Context, now time.Time, ask *Ask, own []gate, n int64, l *Lease) error {
	l.claims.reset()
	l.charged = false
	o.guard.Lock()
	t := o.at(now)
	o.sweep(t)
	l.belong(t, o, ask.Scope)
	o.claim(t, ask, l.scope, &l.claims)
	if len(own) == 0 && free(t, l.claims.all()) {
		l.charge(now)
		o.guard.Unlock()
		return nil
	}
	want := ask.wish()
	want.ask, want.own, want.permits = ask, own, n
	l.claims.addAll(own, n)
	lock(l.claims.all()[l.claims.mine:])
	if err := admit(ctx, now, l, &want); err != nil {
		l.drop()
		return err
	}
	return nil
}

// free reports whether all claims, which are of accounts, are to be had at t, and
// nobody waits for any of them.
func free(t instant, cs []claim) bool {
	for i := range cs {
		a := cs[i].gate.(*account)
		if a.line != nil {
			return false
		}
		if again, _ := a.ready(t, cs[i].units); again > t {
			return false
		}
	}
	return true
}

// Check says what Admit would do now, without charging or waiting: a nil
// Refusal where the work would go at once; else what stands in its way, and
// whether it would wait for that or be refused. RetryAfter is when it could go
// at the earliest.
func (o *Origin) Check(ctx context.Context, now time.Time, ask *Ask) (r *Refusal, waits bool) {
	want := ask.wish()
	if ask.Limiter != nil && ask.Limiter.most() < 1 {
		return &Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}, false
	}
	own, err := ask.own()
	if err != nil {
		return &Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}, false
	}
	o.guard.Lock()
	var cs claims
	o.present(ask, &cs)
	mine := len(cs.all())
	cs.addAll(own, 1)
	lock(cs.all()[mine:])
	defer unlock(cs.all())
	i, v := refusing(cs.all(), now, nil, want.priority)
	if i < 0 {
		return nil, false
	}
	latest, late := want.latest(ctx, now)
	i, v = hopeless(cs.all(), now, latest, i, v)
	c := cs.all()[i]
	why := want.vain(*c.gate.queue(), v, latest, late)
	if waits = why == 0; waits {
		why = v.why
	}
	v.behind = c.gate.behind(now, c.units)
	found := refusal(c, now, v, why)
	return &found, waits
}

// claim lists the claims of an ask: the scope, the root, and its accounts,
// which are opened if need be.
func (o *Origin) claim(t instant, ask *Ask, s *scope, cs *claims) {
	cs.add(&s.base, 1)
	if o.root.used = t; !o.root.carefree(t) {
		cs.add(&o.root, 1)
	}
	for i := range ask.Claims {
		c := &ask.Claims[i]
		a := o.find(c.id(ask.Scope))
		if a == nil {
			pin(cs.all(), 1) // while room is made
			a = o.account(t, c.id(ask.Scope))
			a.count(t, 0)
			pin(cs.all(), -1)
		}
		if units := min(max(c.Units, 0), most); a == &s.base {
			cs.all()[0].units = units
		} else {
			cs.add(a, units)
		}
	}
	cs.mine = len(cs.all())
}

// present lists the claims of an ask that have an account already.
func (o *Origin) present(ask *Ask, cs *claims) {
	cs.add(&o.root, 1)
	if base := o.find(accountID{owner: ask.Scope}); base != nil {
		cs.add(base, 1)
	}
	for i := range ask.Claims {
		c := &ask.Claims[i]
		units := min(max(c.Units, 0), most)
		if a := o.find(c.id(ask.Scope)); a == nil {
			continue
		} else if a.book == &o.unnamed {
			cs.all()[1].units = units
		} else {
			cs.add(a, units)
		}
	}
}

func (c *Claim) id(scope string) accountID {
	if c.Keyed {
		return accountID{policy: c.Policy, owner: c.Key, keyed: true}
	}
	return accountID{policy: c.Policy, owner: scope}
}

// at is an instant as an instant of the books, which begin with the first one
// that they are told: none is before it. The guard is held.
func (o *Origin) at(now time.Time) instant {
	if !o.begun {
		o.start, o.begun = now, true
	}
	return instant(max(now.Sub(o.start), 0))
}

func (o *Origin) when(t instant) time.Time { return o.start.Add(time.Duration(t)) }

// quiet reports whether nothing is out to the origin and nobody waits, and
// when it was last used.
func (o *Origin) quiet() (used time.Time, quiet bool) {
	o.guard.Lock()
	defer o.guard.Unlock()
	return o.when(o.root.used), o.quietLocked()
}

func (o *Origin) quietLocked() bool { return o.out == 0 && o.held == 0 && o.pinned == 0 }

// retire marks the books as dropped, unless they are in use.
func (o *Origin) retire() bool {
	o.guard.Lock()
	defer o.guard.Unlock()
	if !o.quietLocked() {
		return false
	}
	o.count(len(o.roster), -max(len(o.roster)-o.accounts.share(), 0))
	o.dropped.Store(true)
	return true
}

// The methods of gate, which read the clock of the origin.

func (a *account) guarded() *guard { return &a.book.origin.guard }
func (a *account) queue() **line   { return &a.line }
func (a *account) holds() bool     { return a.unit == countsConcurrent }

func (a *account) look(now time.Time, n int64) verdict {
	o := a.book.origin
	t := o.at(now)
	again, why := a.ready(t, n)
	if again <= t {
		return verdict{ok: true, why: why}
	}
	v := verdict{why: why, again: o.when(again), hope: a.hopeful(t, n)}
	if why == ReasonExhausted && again < a.end && a.end != never {
		v.back = o.when(a.end)
	}
	return v
}

func (a *account) charge(now time.Time, n int64) uint32 {
	return a.takeHeld(a.book.origin.at(now), n)
}

// takeHeld is take, and counts what is held.
func (a *account) takeHeld(t instant, n int64) uint32 {
	if a.holds() {
		a.book.origin.held++
	}
	return a.take(t, n)
}

// release ends a claim that is held.
func (a *account) release(_ time.Time, n int64) {
	a.held = max(a.held-n, 0)
	a.book.origin.held--
}

// cancel is release: what is not held was settled before.
func (a *account) cancel(now time.Time, n int64, _ uint32) { a.release(now, n) }

func (a *account) refusal() Refusal {
	r := Refusal{Policy: a.book.policy, Keyed: a.book.keyed}
	if r.Keyed {
		r.Key = a.owner.String()
	}
	return r
}
