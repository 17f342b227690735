package quota

import (
	"context"
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

	guard   guard     // guards following
	start   time.Time // instant 0: the first that the books were told, or when they were opened
	begun   bool      // they have been told one
	root    account
	scopes  map[string]*scope
	byID    map[accountID]*account
	named   []instant          // when each of the policies was named last
	settled uint32             // counts settlements
	lines   map[*line]struct{} // of accounts
	tickets uint64             // counts departures
	scratch [3][]*account      // of a settlement, for the next one to use
}

// A scope is the identity that requests act for.
type scope struct {
	base  account    // the account of no policy
	out   int64      // requests that are out, to whatever accounts they are charged
	young []*account // accounts that were opened while requests were out
	kin   []kin      // what of them is out to some partition of a policy
}

// kin counts requests that are charged to one partition or another of a policy.
type kin struct {
	policy string
	out    int64
}

// kinOf is how many requests of the scope are charged to partitions of a
// policy; by adds to it.
func (s *scope) kinOf(policy string, by int64) int64 {
	for i := range s.kin {
		if k := &s.kin[i]; k.policy == policy {
			k.out += by
			return k.out
		}
	}
	if by > 0 {
		if len(s.kin) >= 2*maxPolicies {
			s.kin = s.kin[1:]
		}
		s.kin = append(s.kin, kin{policy, by})
	}
	return max(by, 0)
}

func newOrigin(a *Accounts, now time.Time) *Origin {
	o := &Origin{
		accounts: a,
		start:    now,
		scopes:   make(map[string]*scope),
		byID:     make(map[accountID]*account),
		lines:    make(map[*line]struct{}),
	}
	o.root.open(o, accountID{})
	o.policies.Store(new([]Policy))
	return o
}

// open makes an account of nothing known.
func (a *account) open(o *Origin, id accountID) {
	a.origin, a.id, a.quota, a.end = o, id, None, never
}

// Dropped reports whether the books were dropped to keep a bound. What is
// charged to them is lost: ask the Accounts for the origin again.
func (o *Origin) Dropped() bool { return o.dropped.Load() }

// Policies are the quota policies that the server has named, in the order
// in which it first did so. The slice is shared: do not modify it.
func (o *Origin) Policies() []Policy { return *o.policies.Load() }

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
	want := ask.wish()
	want.ask, want.own, want.permits = ask, own, n
	l.claims.reset()
	l.charged = false
	o.guard.Lock()
	l.origin, l.scope = o, o.scope(o.at(now), ask.Scope)
	o.claim(o.at(now), ask, l.scope, &l.claims)
	l.claims.addAll(own, n)
	lock(l.claims.all()[l.claims.mine:])
	if err := admit(ctx, now, l, &want); err != nil {
		l.drop()
		return err
	}
	return nil
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
	mine := cs.n
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
		a, opened := o.account(t, c.id(ask.Scope))
		if opened {
			a.count(t, 0)
		}
		if units := min(max(c.Units, 0), most); a == &s.base {
			cs.all()[0].units = units
		} else {
			cs.add(a, units)
		}
	}
	cs.mine = cs.n
}

// present lists the claims of an ask that have an account already.
func (o *Origin) present(ask *Ask, cs *claims) {
	cs.add(&o.root, 1)
	if s := o.scopes[ask.Scope]; s != nil {
		cs.add(&s.base, 1)
	}
	for i := range ask.Claims {
		c := &ask.Claims[i]
		units := min(max(c.Units, 0), most)
		if a := o.byID[c.id(ask.Scope)]; a != nil {
			cs.add(a, units)
		} else if c.Policy == "" && !c.Keyed && cs.n > 1 {
			cs.all()[1].units = units
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

// scope finds the scope of that name, or opens it.
func (o *Origin) scope(t instant, name string) *scope {
	s, ok := o.scopes[name]
	if !ok {
		if bound := bounded(o.accounts.MaxAccounts, DefaultMaxAccounts); bound >= 0 && len(o.scopes) >= bound {
			o.dropScope(t)
		}
		s = &scope{}
		s.base.open(o, accountID{owner: name})
		o.scopes[name] = s
	}
	s.base.used = t
	return s
}

// account finds an account, or opens it with what is known of its policy. The
// unnamed account is that of the scope.
func (o *Origin) account(t instant, id accountID) (a *account, opened bool) {
	if id.policy == "" && !id.keyed {
		return &o.scope(t, id.owner).base, false
	}
	if a, ok := o.byID[id]; ok {
		return a, false
	}
	if bound := bounded(o.accounts.MaxAccounts, DefaultMaxAccounts); bound >= 0 && len(o.byID) >= bound {
		o.dropAccount(t)
	}
	a = new(account)
	a.open(o, id)
	a.used, a.born = t, o.tickets
	if p, ok := o.policy(id.policy); ok {
		a.terms(p)
	}
	o.byID[id] = a
	return a, true
}

func (o *Origin) policy(name string) (Policy, bool) {
	for _, p := range o.Policies() {
		if p.Name == name {
			return p, true
		}
	}
	return Policy{}, false
}

// note keeps a policy that the server has named. What the server leaves out
// of it now stands as it said it last.
func (o *Origin) note(t instant, p Policy) Policy {
	known := o.Policies()
	for i, k := range known {
		if k.Name != p.Name {
			continue
		}
		o.named[i] = t
		if p.Quota < 0 {
			p.Quota, p.Unit, p.Window = k.Quota, k.Unit, k.Window
		}
		if p != k {
			o.publish(append(append(append([]Policy(nil), known[:i]...), p), known[i+1:]...))
		}
		return p
	}
	if len(known) < maxPolicies {
		o.named = append(o.named, t)
		o.publish(append(known[:len(known):len(known)], p))
		return p
	}
	oldest := 0
	for i := range o.named {
		if o.named[i] < o.named[oldest] {
			oldest = i
		}
	}
	next := append([]Policy(nil), known...)
	next[oldest], o.named[oldest] = p, t
	o.publish(next)
	return p
}

func (o *Origin) publish(ps []Policy) { o.policies.Store(&ps) }

// dropAccount makes room: of a sample, the account that is missed least.
// (Map iteration begins anywhere.)
func (o *Origin) dropAccount(t instant) {
	var least *account
	n := 0
	for _, a := range o.byID {
		if !a.busy() && (least == nil || a.missedLess(least, t)) {
			least = a
		}
		if n++; n == sample {
			break
		}
	}
	if least != nil {
		delete(o.byID, least.id)
	}
}

// dropScope makes room for a scope in the same way.
func (o *Origin) dropScope(t instant) {
	var least *scope
	n := 0
	for _, s := range o.scopes {
		if s.out == 0 && !s.base.busy() && (least == nil || s.base.missedLess(&least.base, t)) {
			least = s
		}
		if n++; n == sample {
			break
		}
	}
	if least != nil {
		delete(o.scopes, least.base.id.owner)
	}
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

// quiet reports whether nothing is out to the origin, and when it was last
// used.
func (o *Origin) quiet() (used time.Time, quiet bool) {
	o.guard.Lock()
	defer o.guard.Unlock()
	for _, s := range o.scopes {
		if s.out > 0 || s.base.busy() {
			return time.Time{}, false
		}
	}
	return o.when(o.root.used), !o.root.busy() && len(o.lines) == 0
}

// The methods of gate, which read the clock of the origin.

func (a *account) guarded() *guard { return &a.origin.guard }
func (a *account) queue() **line   { return &a.line }
func (a *account) holds() bool     { return a.unit == countsConcurrent }

func (a *account) look(now time.Time, n int64) verdict {
	t := a.origin.at(now)
	again, why := a.ready(t, n)
	if again <= t {
		return verdict{ok: true, why: why}
	}
	v := verdict{why: why, again: a.origin.when(again), hope: a.hopeful(t)}
	if why == ReasonExhausted && again < a.end && a.end != never {
		v.back = a.origin.when(a.end)
	}
	return v
}

func (a *account) charge(now time.Time, n int64) uint32 { return a.take(a.origin.at(now), n) }
func (a *account) release(_ time.Time, n int64)         { a.held = max(a.held-n, 0) }

// cancel is release: what is not held was settled before.
func (a *account) cancel(_ time.Time, n int64, _ uint32) { a.held = max(a.held-n, 0) }

func (a *account) refusal() Refusal {
	r := Refusal{Policy: a.id.policy, Keyed: a.id.keyed}
	if a.id.keyed {
		r.Key = a.id.owner
	}
	return r
}
