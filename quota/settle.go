package quota

import (
	"slices"
	"time"
)

// An Outcome is what became of leased work.
type Outcome uint8

const (
	Answered Outcome = iota // an answer came, and says what it says
	Lost                    // no answer came; the request may have arrived, and have cost what it costs
	Unsent                  // the request never left, or nobody counted it: it costs nothing
)

// A Reach is whom a pause concerns.
type Reach uint8

const (
	ReachNamed  Reach = iota // the accounts that the report names, else the scope
	ReachOrigin              // the whole origin
)

// A Figure is a service limit: what is left under a policy, and the window
// within which no more than that may be used (the draft, Section 3.1).
type Figure struct {
	Policy    string
	Key       string // the bytes of the partition key, where Keyed
	Keyed     bool
	Available int64         // units; negative: the server gave no figure, but a window
	Window    time.Duration // 0: over now; negative: none, the figure stands until the next
	Cost      int64         // what the work did cost, in units; 0 or less: what it was charged
}

// A Terms is a policy as it was advertised for one partition.
type Terms struct {
	Policy        // Keyed: there is a key
	Key    string // the bytes of the partition key, where Keyed
}

// A Report is what an answer taught. All of it concerns the origin, and the
// scope, of the lease that it settles.
type Report struct {
	Outcome Outcome
	Refused bool          // the server refused to serve for lack of quota
	Terms   []Terms       // policies, each at most once for a key
	Figures []Figure      // service limits, each at most once for a policy and key
	Pause   time.Duration // Retry-After; 0 or less: none
	Reach   Reach         // of the pause

	// LeftOut are policies that turn out not to concern the work, and perhaps not
	// other work of the scope: they were charged in vain, and who waits for one of
	// them makes their Claims again.
	LeftOut []string
}

// Settle ends what the lease reserved of the origin's accounts, takes over
// what the server said, and wakes whom that lets go. Permits that are held
// until the work is over stay with the lease until Release.
//
// now is when the answer arrived. A lease is settled once; settling it again,
// or with another origin, does nothing.
//
// The result is the pause that fell on the whole scope or origin, because the
// report named nothing more precise; else nil. See Narrow.
func (o *Origin) Settle(now time.Time, l *Lease, r *Report) *Pause {
	if l.origin != o || !l.out {
		return nil
	}
	jitter := 0.0
	if r.Refused {
		jitter = o.accounts.random()
	}
	o.guard.Lock()
	s := settlement{o: o, l: l, r: r, t: o.at(now), sent: l.sent, jitter: jitter}
	if len(r.Figures)+len(r.Terms) > 0 || l.scope.apart != nil {
		s.figured, s.termed, s.early = o.scratch[0][:0], o.scratch[1][:0], o.scratch[2][:0]
	}
	s.run()
	woken := s.wake(now)
	if len(s.figured)+len(s.termed)+len(s.early) > 0 {
		clear(s.figured)
		clear(s.termed)
		clear(s.early)
		o.scratch = [3][]*account{s.figured, s.termed, s.early}
	}
	o.guard.Unlock()
	for _, w := range woken {
		w.wake()
	}
	return s.wide
}

// SettleSilent is Settle for an answer that says nothing, where it matters little
// when it arrived: nothing is known of quotas, and nobody waits. It reports whether
// that is so; if not, it does nothing. Most requests are to servers that have no
// quotas, and need not read the clock twice. How long the way is they do not learn.
func (o *Origin) SettleSilent(l *Lease) bool {
	if l.origin != o || !l.out {
		return false
	}
	o.guard.Lock()
	cs, base := l.claims.all(), &l.scope.base
	silent := len(o.Policies()) == 0 && len(cs) == 1 && !cs[0].held &&
		base.basis == open && base.ramp == 0 && base.refusals == 0 && base.line == nil && o.root.line == nil &&
		l.scope.apart == nil && l.scope.guess == nil
	if silent {
		o.out--
		l.scope.out--
		base.refund(cs[0].units, cs[0].epoch)
	}
	o.guard.Unlock()
	if silent {
		l.out, l.charged = false, false
		// The next request is most likely of the same scope: to write a pointer is
		// dear while garbage is collected, and the lease has the scope anyway.
		l.claims.list = l.claims.list[:0]
	}
	return silent
}

// A settlement is one run of Settle, under the guard of the origin.
type settlement struct {
	o       *Origin
	l       *Lease
	r       *Report
	t, sent instant
	jitter  float64 // in [0, 1)

	figured []*account // the account of each figure
	termed  []*account // the accounts that the terms concern
	early   []*account // those opened after the lease departed
	paused  bool
	wide    *Pause // nil: none
}

func (s *settlement) run() {
	s.l.out = false
	s.notOut()
	s.settleEarly()
	for i := range s.r.Figures {
		s.name(&s.r.Figures[i])
	}
	s.settleClaims()
	s.unguess()
	for i := range s.r.Terms {
		s.terms(&s.r.Terms[i])
	}
	s.hold()
	for i := range s.r.Figures {
		s.learn(s.figured[i], &s.r.Figures[i])
	}
	if s.r.Refused {
		s.o.refused, s.o.refusals = s.t, s.o.refusals+1
		s.backOff()
	}
	if s.r.Pause > 0 {
		s.pause()
	}
	s.guess()
	s.o.tellApartNoMore(s.l.scope)
	if len(s.figured)+len(s.termed) > 0 {
		s.told()
	}
}

// told counts an answer that has named policies.
func (s *settlement) told() {
	for _, a := range s.figured {
		a.inForce()
	}
	for _, a := range s.termed {
		a.inForce()
	}
	s.o.forget(s.t)
	s.o.told++
}

// notOut counts the lease as one that is not out any more.
func (s *settlement) notOut() {
	s.o.out--
	s.l.scope.out--
	for _, c := range s.l.claims.all() {
		if a, ok := c.gate.(*account); ok && a.book.keyed {
			s.l.scope.apart.kinOf(a.book.policy, -1)
		}
	}
}

// name finds the account of a figure, opening it if need be.
func (s *settlement) name(f *Figure) {
	s.o.note(s.t, Policy{Name: f.Policy, Quota: None, Keyed: f.Keyed})
	s.figured = append(s.figured, s.open(f.Policy, f.Key, f.Keyed))
}

// open finds the account of a policy for a key, or for the scope of the lease.
// One that is new takes on the requests of the scope that are out: any of them
// may turn out to be charged to it.
func (s *settlement) open(policy, key string, keyed bool) *account {
	id := accountID{policy: policy, owner: key, keyed: keyed}
	if !keyed {
		id.owner = s.l.scope.base.owner.long
	}
	for _, c := range s.l.claims.all() {
		if a, ok := c.gate.(*account); ok && a.place != dropped && a.is(id) {
			return a
		}
	}
	if a := s.o.find(id); a != nil {
		return a
	}
	s.pin(1) // while room is made
	a := s.o.account(s.t, id)
	s.pin(-1)
	out := s.l.scope.out
	if keyed {
		// Those that are charged to another partition are not charged to this one.
		out -= s.l.scope.apart.kinOf(policy, 0)
	}
	if out > 0 {
		a.inflight, a.held = out, out
		s.addYoung(young{account: a, born: s.o.tickets, early: out})
	}
	return a
}

// pin keeps the accounts that the settlement concerns from being dropped.
func (s *settlement) pin(by int32) {
	s.l.scope.base.pins += by
	for _, a := range s.figured {
		a.pins += by
	}
	for _, a := range s.termed {
		a.pins += by
	}
}

// addYoung keeps an account until the requests that were out when it was
// opened have been settled. A server may make up many: the oldest is let go.
func (s *settlement) addYoung(y young) {
	const most = 2 * maxPolicies
	ap := s.o.tellApart(s.l.scope)
	ys := ap.young
	if len(ys) >= most {
		oldest := ys[0]
		oldest.forgetEarly()
		s.early = append(s.early, oldest.account)
		copy(ys, ys[1:])
		ys = ys[:most-1]
	}
	ap.young = append(ys, y)
}

// forgetEarly gives up waiting for those that were out when the account was
// opened.
func (y *young) forgetEarly() {
	y.unfly(y.early, 0)
	y.held = max(y.held-y.early, 0)
	y.early = 0
}

// settleEarly settles the lease with accounts that were opened after it
// departed: it counts in flight there, as one unit, and among those that are
// held; see hold. Where the report has a figure for some partition of the
// policy, that says what it cost, and whom.
func (s *settlement) settleEarly() {
	if s.l.scope.apart == nil {
		return
	}
	ys := s.l.scope.apart.young
	kept := ys[:0]
	for _, y := range ys {
		if policy := y.book.policy; s.l.ticket < y.born && !(y.book.keyed && s.claims(policy)) {
			y.early--
			y.held = max(y.held-1, 0)
			s.early = append(s.early, y.account)
			if s.spares(y.account) || s.names(policy) {
				y.unfly(1, 0)
			} else {
				y.spend(s.t, 1, 0)
			}
		}
		if y.early > 0 && y.epoch <= 1 {
			kept = append(kept, y)
		} else {
			y.forgetEarly()
		}
	}
	clear(ys[len(kept):])
	s.l.scope.apart.young = kept
}

// claims reports whether the lease was charged to some partition of a policy.
func (s *settlement) claims(policy string) bool {
	for _, c := range s.l.claims.all() {
		if a, ok := c.gate.(*account); ok && a.book.keyed && a.book.policy == policy {
			return true
		}
	}
	return false
}

// names reports whether the report has a figure for some partition of a policy.
func (s *settlement) names(policy string) bool {
	for i := range s.r.Figures {
		if f := &s.r.Figures[i]; f.Policy == policy && f.Available >= 0 {
			return true
		}
	}
	return false
}

// settleClaims settles what the lease was charged. What is held until the
// work is over stays with the lease.
func (s *settlement) settleClaims() {
	for _, c := range s.l.claims.all() {
		a, ok := c.gate.(*account)
		if !ok {
			continue
		}
		spared := s.spares(a)
		switch {
		case spared:
			a.refund(c.units, c.epoch)
		case s.tells(a):
			a.answer(s.sent, s.correct(a, c), c.epoch, s.r.Refused)
			if !s.r.Refused {
				a.served(s.sent)
			}
		default:
			a.spend(s.t, s.correct(a, c), c.epoch)
			if s.r.Outcome == Answered {
				a.timed(s.t, s.sent)
			}
			if s.r.Outcome == Answered && !s.r.Refused {
				a.served(s.sent)
				if a.ramp > 0 {
					a.ramp = (a.ramp + 1) % 128
				}
				a.news(s.sent)
			}
		}
		if spared && c.held {
			a.release(time.Time{}, c.units)
		}
	}
}

// tells reports whether the report has a figure for an account.
func (s *settlement) tells(a *account) bool {
	for i, f := range s.figured {
		if f == a && s.r.Figures[i].Available >= 0 {
			return true
		}
	}
	return false
}

// spares reports whether the work did cost an account nothing.
func (s *settlement) spares(a *account) bool {
	return s.r.Outcome == Unsent || a.book.policy != "" && slices.Contains(s.r.LeftOut, a.book.policy)
}

// correct turns the charge of a claim that is in flight into what the server
// says that the work did cost, if it does, and returns that. Permits that are
// held for the duration of the work are not given back in part.
func (s *settlement) correct(a *account, c claim) int64 {
	cost := s.costOf(a)
	if cost < 0 || a.unit == countsConcurrent {
		return c.units
	}
	switch c.epoch {
	case a.epoch:
		a.inflight = plus(max(a.inflight-c.units, 0), cost)
	case a.epoch - 1:
		a.straggle = plus(max(a.straggle-c.units, 0), cost)
	}
	return cost
}

// costOf is what the server says that the work did cost of an account; None,
// if it does not.
func (s *settlement) costOf(a *account) int64 {
	for i, f := range s.figured {
		if f == a && s.r.Figures[i].Cost > 0 {
			return min(s.r.Figures[i].Cost, most)
		}
	}
	return None
}

// claimed is how many units of an account the work of the lease is taken to
// have cost.
func (s *settlement) claimed(a *account) int64 {
	if cost := s.costOf(a); cost >= 0 {
		return cost
	}
	for _, c := range s.l.claims.all() {
		if c.gate == gate(a) {
			return c.units
		}
	}
	return 1
}

// terms takes over a policy. One without a key belongs to the partitions for
// which there are figures of that name; else to the one that the lease was
// charged under; else to the scope.
func (s *settlement) terms(p *Terms) {
	from := len(s.termed)
	for i, a := range s.figured {
		if f := &s.r.Figures[i]; f.Policy == p.Name && (!p.Keyed || f.Keyed && f.Key == p.Key) {
			s.termed = append(s.termed, a)
		}
	}
	keyed := p.Keyed
	if known, ok := s.o.policy(p.Name); ok && !p.Keyed {
		keyed = known.Keyed // a figure has said so, or an answer before
	}
	policy := p.Policy
	policy.Keyed = keyed
	s.o.note(s.t, policy)
	if len(s.termed) == from && !p.Keyed {
		for _, c := range s.l.claims.all() {
			if a, ok := c.gate.(*account); ok && p.Name != "" && a.book.policy == p.Name {
				s.termed = append(s.termed, a)
			}
		}
	}
	if len(s.termed) == from && (p.Keyed || !keyed) {
		s.termed = append(s.termed, s.open(p.Name, p.Key, p.Keyed))
	}
	for _, a := range s.termed[from:] {
		a.terms(policy)
		a.count(s.sent, s.claimed(a))
		if s.r.Outcome == Answered {
			a.timed(s.t, s.sent)
		}
	}
}

// hold counts the work among those that are held, with each account of
// concurrent requests that it was not charged to because nobody knew: those
// that the report names, and those that were opened while it was out.
func (s *settlement) hold() {
	if s.r.Outcome != Answered {
		return
	}
	for _, a := range s.figured {
		s.holdOne(a)
	}
	for _, a := range s.termed {
		s.holdOne(a)
	}
	for _, a := range s.early {
		if !s.names(a.book.policy) {
			s.holdOne(a)
		}
	}
}

func (s *settlement) holdOne(a *account) {
	if a.unit != countsConcurrent || s.spares(a) {
		return
	}
	for _, c := range s.l.claims.all() {
		if c.gate == gate(a) {
			return
		}
	}
	s.l.claims.add(a, 1)
	cs := s.l.claims.all()
	cs[len(cs)-1].held = true
	a.held = plus(a.held, 1)
	s.o.held++
}

// serve counts work as served to us with an account that it was not charged to,
// because nobody knew. Where it cannot be told what it did cost, the comparison
// with the figures begins anew.
func (s *settlement) serve(a *account) {
	for _, c := range s.l.claims.all() {
		if c.gate == gate(a) {
			return // see answer
		}
	}
	switch cost := s.costOf(a); {
	case s.r.Refused || s.r.Outcome != Answered:
	case cost < 0 && a.unit != countsRequests:
		a.share.from = 0
	default:
		a.share.served += max(cost, 1)
	}
}

func (s *settlement) learn(a *account, f *Figure) {
	switch {
	case f.Available >= 0:
		s.serve(a)
		a.learn(s.t, s.sent, *f, s.r.Refused)
	case f.Window >= 0:
		a.renew(s.t, s.sent, f.Window)
	}
}

// backOff follows a refusal. Where the server did not say when to come back,
// the accounts that it calls exhausted back off; else those it names, for one
// of them must be the reason; else the scope.
func (s *settlement) backOff() {
	exhausted := false
	for i := range s.r.Figures {
		if f := &s.r.Figures[i]; f.Available == 0 {
			if a := s.figured[i]; f.Window > 0 && a.windowed() && a.basis == figured {
				return
			}
			exhausted = true
		}
	}
	if s.r.Pause > 0 {
		return
	}
	blamed := false
	for i, a := range s.figured {
		if f := &s.r.Figures[i]; f.Available == 0 || f.Available > 0 && !exhausted {
			a.backOff(s.t, s.sent, s.jitter)
			blamed = true
		}
	}
	if !blamed {
		s.l.scope.base.backOff(s.t, s.sent, s.jitter)
	}
}

// pause lets nothing depart that the report concerns.
func (s *settlement) pause() {
	s.paused = true
	if s.r.Reach == ReachOrigin {
		s.wide = s.widely(&s.o.root)
		return
	}
	named := s.figured
	if len(named) == 0 {
		named = s.termed
	}
	for _, a := range named {
		a.pause(s.t, s.r.Pause)
	}
	if len(named) == 0 {
		s.wide = s.widely(&s.l.scope.base)
	}
}

// wake looks at the lines of all accounts that the settlement concerns, and
// returns who is to be woken after unlocking. It ends the lease's claims, but
// for those that are held until the work is over.
func (s *settlement) wake(now time.Time) (woken []*waiter) {
	kick := func(a *account) {
		if w := a.line.kick(now); w != nil {
			woken = append(woken, w)
		}
	}
	kick(&s.o.root)
	kick(&s.l.scope.base)
	for _, a := range s.figured {
		kick(a)
	}
	for _, a := range s.termed {
		kick(a)
	}
	for _, a := range s.early {
		kick(a)
	}
	cs, held := s.l.claims.all(), 0
	for _, c := range cs {
		if a, ok := c.gate.(*account); ok {
			kick(a)
			if !c.held || s.spares(a) {
				continue
			}
		}
		cs[held] = c
		held++
	}
	s.l.claims.truncate(held)
	s.l.charged = held > 0
	woken = s.wakeLeftOut(woken)
	if s.paused {
		// Whoever waits for anything of this origin may be waiting for the pause.
		until := now.Add(s.r.Pause)
		for l := range s.o.lines {
			woken = l.inVain(until, woken)
		}
	}
	return woken
}

// wakeLeftOut appends those of the scope, and of whatever partition, who wait
// for policies that turn out not to concern some of them.
func (s *settlement) wakeLeftOut(woken []*waiter) []*waiter {
	if len(s.r.LeftOut) == 0 {
		return woken
	}
	for l := range s.o.lines {
		a := l.gate.(*account)
		if (a.book.keyed || a.owner.is(s.l.scope.base.owner.long)) && slices.Contains(s.r.LeftOut, a.book.policy) {
			woken = append(woken, l.waiters.ws...)
		}
	}
	return woken
}
