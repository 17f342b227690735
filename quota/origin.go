package quota

import (
	"context"
	"hash/maphash"
	"math"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// An Origin is one server, which enforces quotas of its own, and what is known of
// them. It is safe for concurrent use. Get one from Accounts.
//
// A request is charged to an account of each policy that concerns it, and to that of
// its scope, which is paused by a Retry-After that names no policy. While something is
// known of the root, the account of the whole origin, the request is charged to that,
// too: a pause of the whole origin is there.
type Origin struct {
	accounts *Accounts
	policies atomic.Pointer[[]Policy] // never modified, only replaced
	dropped  atomic.Bool
	apart    atomic.Bool // the kinds of some scope are told apart
	created  time.Time

	mu        wait.Mutex                   // protects the following
	start     time.Time                    // instant 0: the first time that the origin was given; until then, its creation
	begun     bool                         // start was given
	lead      time.Duration                // from start to created, by the monotonic clock
	stepped   time.Duration                // by how much the wall clock has gone ahead of the monotonic clock since start
	first     firstFlight                  // until the origin has answered
	root      account                      // the account of the whole origin
	ofScopes  policyAccounts               // of no policy: the root, and the accounts of all scopes
	scopes    map[string]*scope            // by name
	maxScopes int                          // the largest size of the map since it was made
	byPolicy  map[policyID]*policyAccounts // all but ofScopes
	hash      func(owner string) uint32    // of the indexes; seeded, so that owners cannot be chosen to collide

	all          []*account // that may be evicted: those of policies and of scopes
	clockHand    int        // index in all; see next
	swept        instant    // when sweep last looked
	hashedOwners int        // restored accounts whose owner is known by its hash only

	out       int64    // leases that are not settled
	retained  int64    // claims that stay charged until their work is over
	pinned    int64    // claims of requests that wait
	inLine    int      // requests that wait
	tickets   uint64   // counts departures
	evictions int64    // accounts that were dropped to make room, and that no Change has told of
	named     []naming // when each of the policies was named last
	reports   uint32   // reports that have named a policy
	refused   instant  // arrival of the last refusal
	refusals  uint64   // since the origin was created
	looked    instant  // when a hold of the whole origin began, or a request departed last to look whether it is over
	looking   bool     // one did, since it began

	trips trips                             // of its answers
	needs func(time.Duration) time.Duration // trips.needs, made once

	awaited  map[*wait.Line]struct{} // the lines of accounts and of kinds
	waiting  wait.Round              // of the work in these lines, and in that of the first flight
	attached map[string][]byte       // see Attach

	held    instant               // the latest end of its Retry-Afters
	kinds   int                   // of all scopes
	asleep  map[*account]*asleep  // of accounts of limits
	streams map[*account]*streams // of accounts of limits: see streams.go
	alone   *alone                // of refusals of the whole origin: see alone.go; nil: no refusal may be
	sheds   int                   // the evidence that other refusals with a Retry-After are of one request alone
	shed    instant               // arrival of the last of them
	outage  *outage               // of the kinds that pauses of the whole origin come for; nil: none came

	shared *Shared // with other processes; nil: nothing is

	freeUnattributed []*unattributed // for scopes to use
	scratch          [3][]*account   // for the next settlement to use
	watched          []watched       // the same, of those that report changes
}

// A scope is what is known of an identity that requests act for.
type scope struct {
	base         account       // of no policy
	out          int64         // requests in flight
	unattributed *unattributed // nil: no account was created while requests were in flight
	learned      *learned      // from refusals that name no policy; nil: none came
}

func newOrigin(a *Accounts, now time.Time) *Origin {
	o := &Origin{
		accounts: a,
		created:  time.Now(),
		scopes:   make(map[string]*scope),
		byPolicy: make(map[policyID]*policyAccounts),
		hash:     seededHash(),
		awaited:  make(map[*wait.Line]struct{}),
	}
	o.needs = o.trips.needs
	o.startAt(now)
	o.first.origin, o.ofScopes.origin, o.ofScopes.policyID = o, o, scopeID
	o.root.init(&o.ofScopes, longOwner(""))
	o.policies.Store(new([]Policy))
	return o
}

// seededHash returns a hash of strings that cannot be predicted.
func seededHash() func(string) uint32 {
	seed := maphash.MakeSeed()
	return func(s string) uint32 { return uint32(maphash.String(seed, s)) }
}

// Dropped reports whether the Accounts have dropped the origin to keep a bound. What is
// charged to it afterwards is lost: call Accounts.Origin again.
func (o *Origin) Dropped() bool { return o.dropped.Load() }

// Admit charges everything that the ask claims at one instant, now or after
// waiting in the line of the account or limiter that refuses. On success it fills in
// the lease, which must then be settled. On failure nothing is charged, and the
// error is a *Refusal, or the cause of the end of ctx, bare. Work that waits is refused
// when less time is left until the deadline of ctx than the origin took to answer lately.
//
// now is the present instant. The zero time means that Admit reads the clock: it takes half
// as long as time.Now unless the work waits.
func (o *Origin) Admit(ctx context.Context, now time.Time, ask *Ask, l *Lease) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if absent(ask.Limiter) {
		return o.enter(ctx, now, ask, nil, 1, l)
	}
	if ask.Limiter.capacity() < 1 && !ask.Force {
		return &Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}
	}
	own, err := ask.own(ctx)
	if err != nil {
		return err
	}
	if now.IsZero() {
		now = time.Now()
	}
	return o.enter(ctx, now, ask, own, 1, l)
}

// enter is Admit with n permits of each of own, the client's own constraints, which the
// caller has consulted.
func (o *Origin) enter(ctx context.Context, now time.Time, ask *Ask, own []wait.Constraint, n int64, l *Lease) error {
	if len(own) > 0 {
		defer undo(own, n) // also if a function of the user panics
	}
	if !ask.NotBefore.IsZero() {
		if now.IsZero() {
			now = time.Now()
		}
		own = ask.restrict(now, own)
	}
	brief := now.IsZero()
	var passed time.Duration
	if brief {
		passed = time.Since(o.created) // unlike time.Now, it does not read the wall clock
	}
	l.claims.reset()
	l.charged, l.pinned = false, false
	l.own()
	l.due = 0
	set(&l.look, nil)
	l.unname(ask)
	if o.apart.Load() {
		l.nameKind(o, ask)
	}
	o.mu.Lock()
	t, flight := instant(max(passed+o.lead, 0)), !o.first.over || o.first.line != nil
	if !brief || flight || o.sweeps(t) {
		if brief {
			now, brief = time.Now(), false
		}
		if t = o.at(now); o.sweeps(t) {
			if o.sweep(t); o.awake(now) {
				t = o.at(now)
			}
		}
	}
	l.belong(t, o, ask.Scope)
	o.claim(ctx, t, ask, l, &l.claims)
	if flight {
		o.first.claim(ctx, now, ask, &l.claims)
	}
	l.claims.mine = len(l.claims.all())
	if o.shared != nil && o.shared.hurried(ctx, ask) {
		o.shared.lend(t, l.claims.all())
	}
	if len(own) == 0 && free(t, l.claims.all()) {
		l.chargeAt(t, now)
		o.mu.Unlock()
		return nil
	}
	if brief {
		now = time.Now()
	}
	return l.wait(ctx, now, ask, own, n)
}

// wait charges the claims of the lease and own, after waiting if need be. It is called
// with the mutex of the origin held, and unlocks it.
func (l *Lease) wait(ctx context.Context, now time.Time, ask *Ask, own []wait.Constraint, n int64) error {
	l.claims.addAll(own, n)
	wait.Lock(l.claims.all()[l.claims.mine:])
	defer undo(own, n)
	want := ask.options()
	l.priority = int16(min(max(ask.Priority, math.MinInt16), math.MaxInt16))
	want.Charge = l.charge
	want.Needs = l.origin.needs
	if deadline, ok := ctx.Deadline(); ok {
		l.due = l.origin.at(now).Add(deadline.Sub(now))
	}
	want.Waiting = func(by int32) { l.waits(by) }
	want.Renew = func() []wait.Claim { return l.renew(ctx, ask, own, n) }
	if len(own) > 0 {
		want.Sleeps = func() { undo(own, n) }
	}
	if ask.Held != nil {
		var told Refusal
		want.Held = func(r wait.Refusal) {
			if now := refusalOf(r); now.Cause != told.Cause || now.Policy != told.Policy || now.Key != told.Key {
				told = *now
				ask.Held(told, limiterOf(r.By))
			}
		}
	}
	err := admitted(wait.Admit(ctx, now, l.claims.all(), &want))
	if err != nil {
		l.drop()
	}
	return err
}

// free reports whether all claims, which are of the origin, can be charged at t and
// none of the accounts has a line.
func free(t instant, cs []wait.Claim) bool {
	for i := range cs {
		a, ok := cs[i].Constraint.(*account)
		if !ok || a.line != nil {
			return false // a first flight is claimed only if it stands in the way
		}
		n := cs[i].Asks()
		if o := a.policy.origin; n >= 0 && o.shared == nil && o.outage == nil && len(o.asleep)+len(o.streams) == 0 {
			if a.Open(t) {
				continue
			}
			if again, _ := a.Ready(t, n); again <= t {
				continue // ready would say the same
			}
		}
		if again, _ := a.ready(t, n); again > t {
			return false
		}
	}
	return true
}

// Check says what Admit would do now, without charging or waiting. The Refusal is
// nil if the work would go at once. Otherwise it says what the work would wait for, and
// waits reports whether Admit would wait for that or refuse the work. RetryAfter is
// when the work could go at the earliest.
func (o *Origin) Check(ctx context.Context, now time.Time, ask *Ask) (r *Refusal, waits bool) {
	if ask.Force {
		return nil, false
	}
	if !absent(ask.Limiter) && ask.Limiter.capacity() < 1 {
		return &Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}, false
	}
	own, err := ask.own(ctx)
	if err != nil {
		return &Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}, false
	}
	defer undo(own, 1)
	l := Lease{ofOrigin: new(ofOrigin)}
	l.nameKind(o, ask)
	o.mu.Lock()
	if o.begun {
		o.awake(now)
	}
	var cs claims
	o.present(ask, &cs)
	cs.all()[0].Constraint = o.rootOf(&l)
	o.presentKind(o.at(now), ask, &l, &cs)
	o.first.claim(ctx, now, ask, &cs)
	mine := len(cs.all())
	cs.addAll(ask.restrict(now, own), 1)
	wait.Lock(cs.all()[mine:])
	defer wait.Unlock(cs.all())
	if o.shared != nil && o.shared.hurried(ctx, ask) {
		defer o.shared.lend(o.at(now), cs.all()[:mine])() // takes it back before the mutexes are unlocked
	}
	want := ask.options()
	want.Needs = o.needs
	found, waits := wait.Check(ctx, now, cs.all(), &want)
	if found.By == nil {
		return nil, false
	}
	return refusalOf(found), waits
}

// claim lists the claims of an ask: the scope, the root, and an account of each of
// its Claims, which is created if there is none.
func (o *Origin) claim(ctx context.Context, t instant, ask *Ask, l *Lease, cs *claims) {
	s := l.scope
	if ask.Trial && len(ask.Claims) == 0 {
		s.base.TryAlone(t)
	}
	among := s
	if s.learned != nil && s.learned.beside != nil {
		if among = o.amongOf(t, s, ask); among != s {
			cs.addAccount(&s.base, 1)
		}
	}
	set(&l.among, among)
	if among.learned == nil {
		set(&l.kind, nil)
		set(&l.limit, among)
		cs.addAccount(&among.base, 1)
	} else {
		l.findKind(t, o)
		cs.add(l.constraint(t), 1)
	}
	if o.shared != nil {
		o.shared.meet(t, &s.base)
	}
	o.root.Used = t
	o.forgetOutage(t)
	if root := o.rootOf(l); !root.Untouched(t) || root.line != nil {
		cs.addAccount(root, 1)
	}
	for i := range ask.Claims {
		c := &ask.Claims[i]
		a := cs.again(o, c.Policy, c.Keyed, c.owner(ask.Scope))
		if a == nil {
			a = o.find(c.id(ask.Scope))
		}
		isNew := a == nil
		if isNew {
			pin(cs.all(), 1) // while room is made
			a = o.create(t, c.id(ask.Scope))
			pin(cs.all(), -1)
		}
		if ask.Trial {
			a.TryAlone(t)
		}
		if a.State == window.Unknown {
			o.presume(ctx, t, ask, l, a, c.units())
		}
		if isNew {
			o.chargeScope(s, a, c.units())
		}
		if o.shared != nil {
			o.shared.pool(a).named = true
		}
		cs.addAccount(a, c.units())
		cs.all()[len(cs.all())-1].Estimated = c.Estimated
	}
}

// present is like claim, but lists only the claims on accounts that exist.
func (o *Origin) present(ask *Ask, cs *claims) {
	cs.add(&o.root, 1)
	if base := o.known(accountID{scopeID, ask.Scope}); base != nil {
		cs.add(base, 1)
	}
	for i := range ask.Claims {
		c := &ask.Claims[i]
		a := o.known(c.id(ask.Scope))
		if a == nil {
			continue
		}
		cs.add(a, c.units())
		cs.all()[len(cs.all())-1].Estimated = c.Estimated
	}
}

// at turns a time into an instant of the origin. The first time that it is given is
// instant 0, and so is every earlier one. The mutex is held.
func (o *Origin) at(now time.Time) instant {
	if !o.begun {
		o.startAt(now)
		o.begun = true
	}
	return instant(max(now.Sub(o.start), 0))
}

func (o *Origin) startAt(start time.Time) { o.start, o.lead = start, o.created.Sub(start) }

// minSleep is the shortest time of suspension that counts as time: the wall clock
// is also set by hand and by other clocks.
const minSleep = time.Minute

// awake counts time in which the machine was suspended. The monotonic clock stands
// still then on many systems, and the server's clock does not. It reports whether
// there was any since the last call. The mutex is held.
func (o *Origin) awake(now time.Time) bool {
	ahead := now.Round(0).Sub(o.start.Round(0)) - now.Sub(o.start)
	slept := min(ahead-o.stepped, window.MaxSavedTime)
	o.stepped = max(ahead, o.stepped)
	if slept < minSleep {
		return false
	}
	o.startAt(o.start.Add(-slept))
	for a := range o.awaited {
		a.WakeAll()
	}
	return true
}

// when turns an instant of the origin into a time.
func (o *Origin) when(t instant) time.Time { return o.start.Add(time.Duration(t)) }

// quiet returns when the origin was last used, and whether nothing is in flight to it
// and nothing waits.
func (o *Origin) quiet() (used time.Time, quiet bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.when(o.root.Used), o.quietLocked()
}

// paused reports whether a Retry-After of the origin is in force.
func (o *Origin) paused(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held > 0 && now.Before(o.when(o.held))
}

func (o *Origin) quietLocked() bool { return o.out == 0 && o.retained == 0 && o.pinned == 0 }

// retire marks the origin as dropped, unless it is in use.
func (o *Origin) retire() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.quietLocked() {
		return false
	}
	o.countBeyond(len(o.all), -max(len(o.all)-o.accounts.share(), 0))
	o.dropped.Store(true)
	return true
}
