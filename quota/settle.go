package quota

import (
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// Settle ends what the lease reserved of the origin's accounts, takes over what
// the server said, and wakes the work that this lets go. What stays charged until
// the work is over remains with the lease until Release.
//
// now is when the answer arrived. The zero time means the present instant; Settle then
// reads no clock if the report says nothing and nothing is known, and no wall clock unless work
// waits, which saves half of the time. A lease is settled once. Settling it again only has what waits for
// Report.Moved make its claims again; settling it with another origin does nothing.
//
// If a pause or a back-off follows, hear takes over what the body of the answer says of it: that
// it concerns the given policies, and not all of the accounts that it holds; or that a back-off lasts for wait from the
// arrival of the answer, as after a Retry-After. Without policies and a wait it takes the refusal back: that had nothing to do
// with quota. hear returns what this has changed, for people to see. Without a pause or a back-off it is nil.
func (o *Origin) Settle(now time.Time, l *Lease, r *Report) (hear func(now time.Time, policies []string, wait time.Duration) []Change) {
	if l.origin != o {
		return nil
	}
	if !l.out {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, policy := range r.Moved {
			o.routeAgain(policy)
		}
		return nil
	}
	brief := now.IsZero()
	var passed time.Duration
	if brief {
		if len(l.claims.all()) == 1 && !r.says() && l.settleNothing() {
			return nil
		}
		passed = time.Since(o.created) // see enter
	}
	jitter := 0.0
	if r.Refused || r.Pause > 0 {
		if r.Refused {
			jitter = o.accounts.random()
		}
	}
	if (r.Refused || r.Pause > 0 || o.apart.Load()) && !l.named && l.kindOf != nil {
		l.setName(l.kindOf())
	}
	o.mu.Lock()
	var s settlement // a literal would be copied
	s.o, s.l, s.r, s.now, s.sent, s.jitter, s.departed = o, l, r, now, l.sent, jitter, l.scope
	if s.t = instant(max(passed+o.lead, 0)); !brief || !o.begun {
		s.t = o.at(s.present())
	}
	if len(r.Figures)+len(r.Terms) > 0 || l.scope.unattributed != nil {
		s.figured, s.termed, s.earlier = o.scratch[0][:0], o.scratch[1][:0], o.scratch[2][:0]
	}
	if r.Changes == nil {
		s.run()
	} else {
		s.watched = o.watched[:0]
		s.watchAll()
		s.run()
		s.tell()
		s.tellEvictions()
		clear(s.watched)
		o.watched = s.watched[:0]
	}
	woken := s.wake()
	keep(&o.scratch[0], s.figured)
	keep(&o.scratch[1], s.termed)
	keep(&o.scratch[2], s.earlier)
	o.mu.Unlock()
	wait.Wake(woken)
	if s.penalty != nil {
		return s.penalty.hear
	}
	return nil
}

// keep keeps the memory of a list that has grown. To write the others is expensive while garbage is
// collected, and so is to clear them: like those of claims, the accounts stay in the memory.
func keep(room *[]*account, list []*account) {
	if cap(list) > cap(*room) {
		*room = list
	}
}

// A settlement is one run of Settle. The mutex of the origin is held.
type settlement struct {
	o       *Origin
	l       *Lease
	r       *Report
	now     time.Time // zero until the clock was read: see present
	t, sent instant
	jitter  float64 // in [0, 1)

	departed *scope // that of the lease when it departed: see Report.Scope

	figured   []*account // the account of each figure
	termed    []*account // the accounts that the terms concern
	earlier   []*account // created after the lease departed: see unattributed
	freed     []*account // of requests that are not waited for any more: see unattributed
	elsewhere bool       // it is a refusal, and shows which policies have nothing left

	mayTurnOut bool     // it is a refusal that may turn out to concern the refused request alone: see alone.go
	tries      bool     // and another request departs at once to find that out: see baretrial.go
	looked     bool     // a refusal of a request that looked whether a hold of others holds this process: see hold.go
	doubtful   bool     // only figures that nothing explains said that it is a refusal: see doubtRefusal
	uncounted  bool     // a refusal that tells nothing of how much the limit is
	beside     besides  // a refusal by a limit that is not told: see beside.go
	besideOf   *account // that the limit is beside; nil: it is none of these

	kindsOnly bool // a pause of the whole origin that holds some kinds only: see outage.go

	penalty *penalty // nil: none that may turn out to concern less

	watched     []watched // if the report asks for changes
	wasInferred int64
	firstAnswer bool // of the origin
}

// present returns the time of the settlement.
func (s *settlement) present() time.Time {
	if s.now.IsZero() {
		s.now = time.Now()
	}
	return s.now
}

// settleNothing settles the lease with an answer that says nothing, if that changes nothing,
// and reports whether it does.
func (l *Lease) settleNothing() bool {
	o := l.origin
	o.mu.Lock()
	if !l.learnsNothing() {
		o.mu.Unlock()
		return false
	}
	o.out--
	l.scope.out--
	c := &l.claims.all()[0]
	l.scope.base.Refund(window.Charge{Units: c.Units, Mark: c.Epoch, Sent: l.sent})
	o.mu.Unlock()
	l.out, l.charged = false, false
	l.claims.settled(0)
	return true
}

// learnsNothing reports whether an answer that says nothing would change nothing:
// the request was charged to its scope alone, of which nothing is known, and nothing
// waits. Most requests go to servers that have no quotas.
func (l *Lease) learnsNothing() bool {
	o, cs, base := l.origin, l.claims.all(), &l.scope.base
	return len(o.Policies()) == 0 && len(cs) == 1 && !cs[0].Retained &&
		base.Blank() && base.line == nil && o.root.line == nil &&
		l.scope.unattributed == nil && l.scope.learned == nil && l.streams == nil && (o.alone == nil || len(o.alone.refused) == 0) && o.outage == nil && o.first.over
}

func (s *settlement) run() {
	s.l.out = false
	s.landed()
	s.elsewhere = s.r.Refused && slices.ContainsFunc(s.r.Figures, func(f Figure) bool { return f.Available == 0 })
	s.settleFirstWave()
	s.move()
	for i := range s.r.Figures {
		s.name(&s.r.Figures[i])
	}
	s.doubtRefusal()
	s.settleClaims()
	s.dropInferred()
	refused, alone := s.r.Refused || s.r.Pause > 0, s.settleStreams()
	if !refused {
		s.servedInOutage()
	}
	if !refused && (s.l.scope.learned != nil || s.o.alone != nil || s.l.kind != nil || s.l.look != nil) {
		s.learnKind()
		s.served()
		s.keepBeside()
		s.servedBelowCeiling()
	}
	for i := range s.r.Terms {
		s.terms(&s.r.Terms[i])
	}
	s.retain()
	for i := range s.r.Figures {
		s.report(s.figured[i], &s.r.Figures[i])
	}
	if s.r.Refused {
		s.o.refused, s.o.refusals = s.t, s.o.refusals+1
	}
	if refused {
		var ofOne bool
		s.kindsOnly, ofOne = s.learnOutage()
		if alone = alone || ofOne || !s.kindsOnly && s.refusedAlone(); !alone {
			s.findBeside()
			s.learnKind()
		} else {
			if s.l.look != nil {
				s.l.endLook() // the answer says nothing of the limit that it looked at
			}
			if s.r.Pause > 0 {
				s.penaltyOf().hold = s.t.Add(s.r.Pause) // of the policies that the body may name
			}
		}
	}
	if !s.uncounted && !alone {
		if s.r.Refused {
			s.contradict()
			s.backOff()
		}
		if s.r.Pause > 0 {
			s.pause()
		}
		if !s.looked && (len(s.figured)+len(s.termed) == 0 || s.l.among != s.l.scope) {
			s.infer()
		}
	}
	s.remember()
	s.resume()
	if s.firstAnswer && s.o.shared != nil {
		s.tellContact()
	}
	s.releaseUnattributed()
	s.noteAbsent()
	if len(s.figured)+len(s.termed) > 0 {
		s.countReport()
	}
}

// doubtRefusal takes the answer for one that does not show whether the work was served, if only figures of 0 say that
// it was refused, and nothing explains these.
func (s *settlement) doubtRefusal() {
	if !s.r.Refused || !s.r.Unsure || s.r.Pause != 0 {
		return
	}
	doubted := false
	for i, a := range s.figured {
		f := &s.r.Figures[i]
		if f.Available != 0 {
			continue
		}
		if !a.Doubts(s.t, s.sent, s.figure(a, s.claimOf(a), f), &a.policy.server) {
			return
		}
		doubted = true
	}
	if doubted {
		s.r.Refused, s.elsewhere, s.doubtful = false, false, true
	}
}

// landed counts the lease as no longer in flight.
func (s *settlement) landed() {
	s.o.out--
	s.l.scope.out--
	s.firstAnswer = !s.o.first.over && s.r.answered()
	s.o.first.over = s.o.first.over || s.firstAnswer
	switch r := s.r; {
	case r.answered() && !r.Refused && !r.Failed && r.Pause <= 0:
		s.o.trips.observe(s.t.Since(s.sent))
	case r.Lost && s.l.due > 0 && s.t >= s.l.due:
		s.o.trips.observeLost(s.t.Since(s.sent))
	}
	if s.o.shared != nil {
		s.landContact()
	}
	if s.l.scope.unattributed == nil {
		return
	}
	cs := s.l.claims.all()
	for i := range cs {
		if a, ok := cs[i].Constraint.(*account); ok && a.policy.keyed {
			s.l.scope.unattributed.countKeyed(a.policy.name, -1)
		}
	}
}

// noScope is the scope "" in a report, where "" stands for that of the lease.
const noScope = "\x00"

// move moves the lease to the scope that the report names, if it does. In flight it was
// counted in the scope that it departed in, and is charged there.
func (s *settlement) move() {
	name := s.r.Scope
	if name == "" {
		return
	}
	if name == noScope {
		name = ""
	}
	if name != s.departed.base.owner.long {
		if s.l.look != nil {
			s.l.endLook() // the answer says nothing of the limit that it looked at
		}
		s.pin(1) // while room is made
		to := s.o.scope(s.t, name)
		s.pin(-1)
		s.l.scope = to
		s.l.among, s.l.limit, s.l.kind = s.l.scope, s.l.scope, nil
	}
}

// countReport counts an answer that has named policies.
func (s *settlement) countReport() {
	for _, a := range s.figured {
		s.named(a)
	}
	for _, a := range s.termed {
		if !slices.Contains(s.figured, a) {
			s.named(a)
		}
	}
	s.o.forget(s.t)
	s.o.reports++
}

// name finds the account of a figure, or creates it.
func (s *settlement) name(f *Figure) {
	s.o.note(s.t, &Policy{Name: f.Policy, Quota: None, Keyed: f.Keyed})
	s.figured = append(s.figured, s.account(f.Policy, f.Key, f.Keyed))
}

// account finds the account of a policy for a key, or for the scope of the lease.
// A new one is charged with the requests of the scope that are out: see
// unattributed.
func (s *settlement) account(policy, key string, keyed bool) *account {
	owner := key
	if !keyed {
		owner = s.l.scope.base.owner.long
	}
	id := accountID{policyID{name: policy, keyed: keyed}, owner}
	cs := s.l.claims.all()
	for i := len(cs) - 1; i >= 0; i-- { // mostly it is the last one
		a, ok := cs[i].Constraint.(*account)
		if ok && a.place != evicted && a.is(id.policyID, owner) {
			return a
		}
	}
	a := s.o.known(id)
	isNew := a == nil
	if isNew {
		s.pin(1) // while room is made
		a = s.o.create(s.t, id)
		s.pin(-1)
	}
	if isNew || s.l.scope != s.departed {
		s.chargeFirstWave(a)
	}
	if s.r.Changes != nil {
		s.watch(a)
	}
	return a
}

// pin keeps the accounts that the settlement concerns from being evicted.
func (s *settlement) pin(by int32) {
	s.l.scope.base.pins += by
	if s.l.among != s.l.scope {
		s.l.among.base.pins += by
	}
	for _, a := range s.figured {
		a.pins += by
	}
	for _, a := range s.termed {
		a.pins += by
	}
}

// claims reports whether the lease was charged to some partition of a policy.
func (s *settlement) claims(policy string) bool {
	for _, c := range s.l.claims.all() {
		if a, ok := c.Constraint.(*account); ok && a.policy.keyed && a.policy.name == policy {
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

// charge is a claim as the window knows it.
func (s *settlement) charge(c *wait.Claim) window.Charge {
	return window.Charge{Sent: s.sent, Units: c.Units, Mark: c.Epoch}
}

// tellRefund has the others told soon that work cost nothing: they count its units as spent until then.
func (s *settlement) tellRefund(a *account) {
	if p := a.pool(); p != nil && !p.passive() {
		p.landed = true
		p.tellSoon(s.t)
	}
}

// settleClaims settles what the lease was charged. What is retained until the work
// is over stays with the lease.
func (s *settlement) settleClaims() {
	cs := s.l.claims.all()
	for i := range cs {
		c := &cs[i]
		a, ok := c.Constraint.(*account)
		if !ok {
			continue
		}
		charge := s.charge(c)
		if s.r.answered() {
			a.Heard()
		}
		if p := a.pool(); p != nil {
			p.settleLook(s)
		}
		if s.spares(a) {
			a.Refund(charge)
			s.tellRefund(a)
			if c.Retained {
				a.Release(time.Time{}, c.Units)
			}
			continue
		}
		if c.Retained && s.rejects(a) {
			a.Release(time.Time{}, c.Units)
			c.Retained = false
		}
		if s.untouched(a) || s.saysNothing() && a.pool() == nil && a.RefusedElsewhere(s.t, charge) {
			a.Refund(charge)
			s.tellRefund(a)
			continue
		}
		cost, tells := s.said(a)
		if cost >= 0 {
			charge = a.Correct(charge, cost)
		}
		if p := a.pool(); p != nil {
			p.answered(s.t, s.sent, charge.Units, !tells)
			if !s.r.Refused {
				p.departed(s.t, s.sent, charge.Units)
			}
		}
		switch {
		case tells:
			a.Answered(charge, s.r.Refused)
		case s.r.answered():
			a.Silent(s.t, charge, s.r.Refused, &a.policy.server)
		default:
			a.Lost(s.t, charge)
		}
		if s.r.Refused && !tells {
			a.RefusedDry(s.t, s.sent, &a.policy.server)
		}
	}
}

// said returns what the report says that the work cost, in units of an account, None if it does not
// say; and whether it has a figure for the account.
func (s *settlement) said(a *account) (cost int64, tells bool) {
	cost = None
	for i, f := range s.figured {
		if f != a {
			continue
		}
		f := &s.r.Figures[i]
		if tells = tells || f.Available >= 0; f.Cost > 0 && cost < 0 {
			cost = min(f.Cost, window.MaxUnits)
		}
	}
	return cost, tells
}

// spares reports whether the work cost an account nothing.
func (s *settlement) spares(a *account) bool {
	return s.r.Unsent || len(s.r.LeftOut) > 0 && !a.ofNone() && slices.Contains(s.r.LeftOut, a.policy.name)
}

// untouched reports whether the work, which was refused, cost an account nothing:
// the report shows which policies refused it, and does not name this one.
func (s *settlement) untouched(a *account) bool {
	return s.elsewhere && !slices.Contains(s.figured, a)
}

// rejects reports whether the work was refused because too little is left of an account: the server has
// not begun it.
func (s *settlement) rejects(a *account) bool {
	if s.r.Refused {
		for i, f := range s.figured {
			if left := s.r.Figures[i].Available; f == a && left >= 0 && left < s.claimed(a) {
				return true
			}
		}
	}
	return false
}

// saysNothing reports whether the report is of a refusal and names no policy.
func (s *settlement) saysNothing() bool {
	return s.r.Refused && len(s.r.Figures)+len(s.r.Terms) == 0
}

// costOf returns what the report says that the work cost, in units of an account; None if it does
// not say.
func (s *settlement) costOf(a *account) int64 {
	cost, _ := s.said(a)
	return cost
}

// claimed is how many units of an account the work of the lease is taken to have
// cost: what the server says, else what it was charged, else one.
func (s *settlement) claimed(a *account) int64 {
	if cost := s.costOf(a); cost >= 0 {
		return cost
	}
	if c := s.claimOf(a); c != nil {
		return c.Units
	}
	return 1
}

// claimOf returns the claim of the lease on an account, or nil.
func (s *settlement) claimOf(a *account) *wait.Claim {
	cs := s.l.claims.all()
	for i := range cs {
		if c, ok := cs[i].Constraint.(*account); ok && c == a {
			return &cs[i]
		}
	}
	return nil
}

// terms takes over a policy. One without a key belongs to the partitions for which
// there are figures of that name; else to the one that the lease was charged under;
// else to the scope.
func (s *settlement) terms(p *Policy) {
	from := len(s.termed)
	for i, a := range s.figured {
		if f := &s.r.Figures[i]; f.Policy == p.Name && (!p.Keyed || f.Keyed && f.Key == p.Key) {
			s.termed = append(s.termed, a)
		}
	}
	keyed := p.Keyed || s.o.isKeyed(p.Name) // a figure has said so, or an answer before
	policy := *p
	policy.Keyed, policy.Key = keyed, "" // it is that of all its partitions
	isNew := false
	if s.r.Changes != nil {
		_, known := s.o.policy(p.Name)
		isNew = !known
	}
	s.o.note(s.t, &policy)
	if len(s.termed) == from && !p.Keyed {
		for _, c := range s.l.claims.all() {
			if a, ok := c.Constraint.(*account); ok && !a.ofNone() && a.policy.name == p.Name {
				s.termed = append(s.termed, a)
			}
		}
	}
	if len(s.termed) == from && (p.Keyed || !keyed) {
		a := s.account(p.Name, p.Key, p.Keyed)
		s.termed = append(s.termed, a)
		if isNew {
			s.watchAnew(a)
		}
	}
	for _, a := range s.termed[from:] {
		a.setPolicy(&policy)
		switch {
		case a.State != window.Unknown: // our own count does not begin
		case s.untouched(a):
			a.Count(s.sent, 0)
		default:
			a.Count(s.sent, s.claimed(a))
		}
		if s.r.answered() {
			a.Timed(s.t, s.sent)
		}
	}
}

// retain counts the work with each account of concurrent requests that it was not
// charged to because the account was not known: those that the report names, and
// those that were created while it was out.
func (s *settlement) retain() {
	if !s.r.answered() {
		return
	}
	for _, a := range s.figured {
		if a.retains() {
			s.retainOne(a)
		}
	}
	for _, a := range s.termed {
		if a.retains() {
			s.retainOne(a)
		}
	}
	for _, a := range s.earlier {
		if a.retains() && !s.names(a.policy.name) {
			s.retainOne(a)
		}
	}
}

func (s *settlement) retainOne(a *account) {
	if s.spares(a) || s.rejects(a) || s.claimOf(a) != nil {
		return
	}
	s.l.claims.add(a, 1)
	s.claimOf(a).Retained = true
	a.Retain()
	s.o.retained++
}

// report takes over a figure.
func (s *settlement) report(a *account, f *Figure) {
	switch {
	case f.Available >= 0:
		c := s.claimOf(a)
		if c == nil && !s.r.Refused && s.r.answered() {
			a.ServedUncharged(s.costOf(a))
		}
		if sh := s.o.shared; sh != nil && sh.linked && sh.pool(a).known {
			sh.pool(a).follow() // others have told it before this figure
		}
		was := a.policy.server.Lenience()
		f.Seen = max(a.Report(s.t, s.sent, s.figure(a, c, f), s.r.Refused, &a.policy.server), 0)
		if a.policy.server.Lenience() > was {
			s.o.routeAgain(a.policy.name) // other accounts of the policy hold less, too
		}
		if s.o.shared != nil {
			if c == nil && !s.r.Refused {
				s.o.shared.pool(a).departed(s.t, s.sent, s.claimed(a))
			}
			s.o.shared.pool(a).reported(s.t, s.sent, f.Available, s.r.Refused)
		}
	case f.Window >= 0:
		a.Renew(s.t, s.sent, f.Window, s.claimed(a))
	}
}

// figure is a figure as the window knows it; c is the claim on its account, or nil. An
// instant is rounded up to whole seconds.
func (s *settlement) figure(a *account, c *wait.Claim, f *Figure) (x window.Figure) {
	x.Available, x.Window, x.Full = f.Available, f.Window, f.Full
	if s.r.Refused {
		x.Again = s.r.Pause
	}
	switch {
	case c != nil:
		x.Charge = s.charge(c)
	case slices.Contains(s.earlier, a):
		x.Charge = s.chargeOfFirstWave(a)
	}
	x.Only, x.Doubtful = len(s.r.Figures) == 1, s.doubtful || s.r.Refused && s.r.Unsure && s.r.Pause == 0
	x.Served = !s.r.Refused && !s.r.Failed && !s.r.Unsure && s.r.Pause <= 0 && s.r.answered()
	if !f.Resets.IsZero() && !s.r.Date.IsZero() {
		x.Resets = f.Resets.Unix()
		if f.Resets.Nanosecond() > 0 {
			x.Resets++
		}
		x.Ahead = x.Resets - s.r.Date.Unix()
	}
	return x
}

// kick looks at the lines of all accounts that the settlement concerns, and returns the
// waiters to wake.
func (s *settlement) kick(now time.Time) (woken []*wait.Waiter) {
	kickLine := func(l *wait.Line) { woken = l.AppendKicked(woken, now) }
	kick := func(a *account) { kickLine(a.line) }
	kickLine(s.o.first.line)
	if s.firstAnswer && s.o.shared != nil {
		for _, c := range s.o.shared.contacts {
			kickLine(c.line)
		}
	}
	kick(&s.o.root)
	if u := s.o.outage; u != nil {
		kick(&u.scope.base)
	}
	kick(&s.l.scope.base)
	kick(&s.l.limit.base)
	woken = s.l.scope.kinds().kick(now, woken)
	if s.l.among != s.l.scope {
		woken = s.l.among.kinds().kick(now, woken)
	}
	for _, a := range s.figured {
		kick(a)
	}
	for _, a := range s.termed {
		kick(a)
	}
	for _, a := range s.earlier {
		kick(a)
	}
	for _, a := range s.freed {
		kick(a)
	}
	for _, c := range s.l.claims.all() {
		if a, ok := c.Constraint.(*account); ok {
			kick(a)
		}
	}
	return woken
}

// wake looks at the lines of all accounts that the settlement concerns, and
// returns the waiters to wake after unlocking. It ends the lease's claims, but for
// those that are retained until the work is over.
func (s *settlement) wake() (woken []*wait.Waiter) {
	if len(s.o.awaited) > 0 || s.o.first.line != nil {
		woken = s.kick(s.present())
	}
	cs, retained := s.l.claims.all(), 0
	for i := range cs {
		if a, ok := cs[i].Constraint.(*account); ok {
			if !cs[i].Retained || s.spares(a) {
				continue
			}
		}
		cs[retained] = cs[i]
		retained++
	}
	s.l.claims.settled(retained)
	s.l.charged = retained > 0
	for _, policy := range s.r.LeftOut {
		s.o.routeAgain(policy)
	}
	for _, policy := range s.r.Moved {
		s.o.routeAgain(policy)
	}
	if s.r.Pause > 0 {
		// Whatever waits for anything of this origin may be waiting for the pause.
		until := s.present().Add(s.r.Pause)
		for a := range s.o.awaited {
			woken = a.AppendTooLate(woken, until)
		}
	}
	return woken
}
