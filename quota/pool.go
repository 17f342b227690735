package quota

import (
	"time"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/internal/window"
)

const (
	minStock    = 4    // units that a process wishes to have in stock at first
	maxStock    = 1024 // and at most
	maxVersions = 8    // that a pool remembers
)

// A pool is what a process has of one shared account, and has heard of it. The mutex of
// the origin protects it.
type pool struct {
	s  *Shared
	a  *account
	id exchange.ID

	stock    int64   // units granted and not yet charged
	until    instant // when the stock is void
	wish     int64   // how many units it would like to have in stock
	level    int64   // the stock after the last turn
	used     int64   // units charged since the last turn
	giveBack bool    // others need the stock
	short    bool    // the last turn asked for more and got next to nothing
	wished   int64   // for the stock, by the turn that is on its way
	wanted   int64   // for requests that wait, by that turn

	contact *contact // that needs units of it, or whose record it is
	stub    bool     // of the account only the hash is known
	leaves  bool     // the next turn is the last that tells of it

	named     bool // requests claim it by its policy, or there was a figure
	known     bool // a turn was answered
	state     exchange.State
	available int64 // as it was heard; None: never
	end       instant
	hungry    int
	peers     int
	hold      instant // as it was heard or told
	mine      instant // until when one lasts that the server has told this process; see hold.go
	heardHold instant // until when one lasts that another has told
	look      instant // when a request looks whether that holds this process, too; 0: none does
	looked    instant // when it departed; 0: none has, or it was answered
	believes  instant // until then, it does not look: it was refused when it did
	apart     instant // until then, what holds this process holds no other
	tries     bool    // it was refused, and was not served since
	rolled    instant // when another window was heard of
	versions  [maxVersions]versionAt
	again     instant       // when to ask again, for those that wait
	asked     bool          // the last turn said which requests wait here
	fresh     bool          // one has come since
	waiters   int           // requests that wait and claim it
	longest   time.Duration // the longest window that was told, if the policy tells none
	turned    instant       // when it was told last

	cut struct { // off from the others
		refused bool    // a request was, and nothing was left
		from    instant // when a window began
		spent   int64   // units, since then
	}

	toTell         // by the next turn
	told   toTell  // by the one that is on its way
	latest instant // when the last of those that were served departed
	silent int64
	freed  bool    // a hold that another has told does not hold this process
	soon   instant // when to tell all this; 0: nothing
	left   bool    // Goodbye has told of it
}

// toTell is what a turn tells, and the next one again if it was not answered.
type toTell struct {
	figure  figureTold
	spent   int64
	served  int64
	landed  bool
	refused bool
	shorter bool // a longer window that was told was an error
}

func nothingToTell() toTell { return toTell{figure: figureTold{available: None, end: window.Never}} }

// A figureTold is the lowest figure of several.
type figureTold struct {
	available int64 // None: none
	end       instant
	version   int64
	arrived   instant
	sent      instant
}

// versionAt is when a version was heard of.
type versionAt struct {
	version int64
	at      instant
}

// pool returns the pool of the account; nil if it has none.
func (a *account) pool() *pool {
	if s := a.policy.origin.shared; s != nil {
		return s.pools[a]
	}
	return nil
}

// version is the last version heard of; 0: none.
func (p *pool) version() int64 { return p.versions[0].version }

// under returns the version under which a request departed.
func (p *pool) under(sent instant) int64 {
	for _, v := range p.versions {
		if v.version == 0 || v.at <= sent {
			return v.version
		}
	}
	return -1 // so long ago that it raises nothing
}

// units is the stock at t.
func (p *pool) units(t instant) int64 {
	if t >= p.until {
		p.stock = 0
	}
	return p.stock
}

// decides reports whether the pool decides what may depart, while others are reached.
func (p *pool) decides() bool {
	return p.state != exchange.Open && p.a.Unit != window.Other && !p.a.IsBucket() && !p.passive()
}

// decided reports whether others hand out what there is of the account.
func (a *account) decided() bool {
	p := a.pool()
	return p != nil && p.s.linked && p.known && p.decides()
}

// passive reports whether it is the pool of a scope, or of the origin, of which no more
// is known than holds.
func (p *pool) passive() bool { return !p.named && p.state == exchange.Unknown }

// ready returns when n units may depart. sooner reports whether they may depart earlier
// by what is heard. Without ok, the account decides by itself.
func (p *pool) ready(t instant, n int64) (again instant, sooner, ok bool) {
	if !p.decides() {
		return 0, false, false
	}
	if had := p.units(t); had >= n || had > 0 && p.asks() {
		return t, false, true
	}
	s := p.s
	if !s.together(t) {
		again = p.partAt(t, n)
		return again, false, again > t
	}
	if !s.linked {
		return s.coldUntil(t), true, true
	}
	if !p.known || s.out || p.state != exchange.Reported && p.state != exchange.Counting || p.end == window.Never || p.end <= t || p.available >= n {
		return t.Add(2 * s.timeout()), true, true
	}
	return p.end, false, true
}

// asks reports whether the next request finds out what there is, so that its cost does not matter: that
// may be known better than when it was told.
func (p *pool) asks() bool { return p.state == exchange.Unknown || p.state == exchange.Expired }

// partAt is when n units may depart while the others are not reached, as far as the part of this process
// is concerned. Once a request was refused, the others use theirs, too, and no more than its part of the
// quota departs in the time of a window: what a figure leaves then is theirs.
func (p *pool) partAt(t instant, n int64) instant {
	end := p.cut.from.Add(p.a.Length)
	ours, fall := p.a.Contention()
	if !p.cut.refused || p.peers < 2 || p.a.Quota < 1 || t >= end || ours >= fall {
		return t
	}
	if part := int64(float64(ours) / float64(fall) * float64(p.a.Quota)); p.cut.spent+n <= max(part, n) {
		return t
	}
	return end
}

// lend has work that does not wait find n units in stock that were not granted, if the account
// would let them depart without the others and nothing is in line. It reports whether it did. The
// next turn tells of them.
func (p *pool) lend(t instant, n int64) bool {
	if p.a.line != nil || !p.decides() || p.units(t) >= n || !p.s.together(t) {
		return false
	}
	if again, _ := p.a.ReadyAlone(t, n); again > t {
		return false
	}
	p.stock, p.until = n, max(p.until, t+1)
	return true
}

// take notes that n units depart.
func (p *pool) take(t instant, n int64) {
	if p.looksAt(t) <= t {
		p.look, p.looked = 0, max(t, 1)
	}
	if p.passive() {
		return
	}
	if !p.s.linked {
		if t >= p.cut.from.Add(p.a.Length) {
			p.cut.from, p.cut.spent = t, 0
		}
		p.cut.spent += n
	}
	p.used += n
	had := p.units(t)
	p.stock = max(had-n, 0)
	p.s.active[p] = struct{}{}
	if had > 0 && p.lowAt(t) <= t {
		p.s.due()
	}
}

// lowAt is when a turn is due because the stock is low.
func (p *pool) lowAt(t instant) instant {
	if p.contact != nil || p.short || p.hungry > 0 || p.used == 0 || p.level == 0 || p.units(t) > p.level/2 || p.waiters > 0 {
		return window.Never
	}
	return p.turned.Add(quickTurn)
}

// due is when the next turn about the account is due; Never: none is.
func (p *pool) due(t instant) instant {
	d := window.Never
	if p.soon > 0 {
		d = p.soon
	}
	if p.contact != nil && p.contact.out {
		// The answer to the request that is on its way decides.
	} else if p.waiters > 0 && !p.a.Paused(t) {
		d = min(d, p.again)
	} else if p.waiters > 0 {
		d = min(d, max(p.a.Hold, p.a.BackOff))
	}
	if !p.known {
		return d
	}
	d = min(d, p.lowAt(t))
	if !p.passive() && (p.holds() > 0 || p.units(t) > 0) {
		d = min(d, p.turned.Add(leaseTurn))
	}
	return d
}

// recordsFirst reports whether it is no account's, but the record of a contact.
func (p *pool) recordsFirst() bool { return p.contact != nil && p.contact.pool == p }

// holds is how many units are in flight.
func (p *pool) holds() int64 {
	if p.a.retains() {
		return p.a.Retained
	}
	return p.a.Unanswered()
}

// gather is for how long answers, and the requests that come after them, are gathered for one
// turn: the answers to requests that departed together come within a few milliseconds.
func (p *pool) gather() time.Duration {
	if p.short {
		return scarceTime
	}
	return min(p.s.quick, gatherTime)
}

// tellNow makes a turn due at once, and tellSoon when it can wait.
func (p *pool) tellNow() {
	p.soon = 1
	p.s.active[p] = struct{}{}
	p.s.due()
}

func (p *pool) tellSoon(t instant) {
	d := slowTurn
	if p.hungry > 0 || p.a.Quota < 0 || p.available < p.a.Quota/4 || p.waiters > 0 {
		d = quickTurn
		if p.asked && p.waiters > 0 && p.holds() > 0 && p.again > t.Add(2*drainTurn) && !p.a.retains() {
			d = drainTurn // nothing comes back soon, and more answers will come
		}
	}
	at := max(t.Add(p.gather()), p.turned.Add(d))
	if p.soon == 0 || at < p.soon {
		p.soon = at
		p.s.active[p] = struct{}{}
		p.s.due()
	}
}

// released notes that n concurrent requests are over. What they had stays in stock, for
// those that wait here, up to a fair share; the rest goes back.
func (p *pool) released(n int64) {
	p.s.active[p] = struct{}{}
	switch {
	case p.hungry > 0 && (p.waiters == 0 || p.holds()+p.stock >= p.available/int64(p.hungry+1)):
		p.tellNow()
	case p.waiters > 0:
		p.stock += n
	default:
		p.tellSoon(p.turned)
	}
}

// reported notes a figure that the window has taken over.
func (p *pool) reported(t, sent instant, available int64, refused bool) {
	f := figureTold{available: min(available, window.MaxUnits), end: p.a.End(), version: p.under(sent), arrived: t, sent: sent.Add(2 * p.a.Guard(t.Since(sent)))}
	if p.a.Quota >= 0 {
		f.available = min(f.available, p.a.Quota)
	}
	if p.a.retains() {
		f.end = window.Never
	} else if p.a.State == window.Expired {
		f.end = t // over now
	}
	p.figure = p.figure.merged(f, sent)
	p.landed, p.named = true, true
	p.cut.refused = p.cut.refused || refused && available <= 0 && !p.s.linked
	if refused || p.state != exchange.Reported {
		p.tellNow()
	} else {
		p.tellSoon(t)
	}
}

// merged returns what two figures say together, of which g came later, for a request
// that departed at sent: the newer one, if it departed after the other had arrived; else
// the lower.
func (f figureTold) merged(g figureTold, sent instant) figureTold {
	if f.available == None || sent >= f.arrived {
		return g
	}
	same := max(f.end, g.end)-min(f.end, g.end) <= instant(time.Second)
	g.available, g.version, g.sent = min(f.available, g.available), max(f.version, g.version), max(f.sent, g.sent)
	if same {
		g.end = min(f.end, g.end)
	} else {
		g.end = max(f.end, g.end)
	}
	return g
}

// answered notes that n units are not in flight any more. Where silent, the answer had
// no figure, or there was none.
func (p *pool) answered(t, sent instant, n int64, silent bool) {
	if p.passive() {
		return
	}
	p.landed = true
	if silent {
		if sent >= p.rolled {
			p.spent += n
		}
		p.silent = max(p.silent, p.under(sent), 1)
		if p.state != exchange.Reported && p.state != exchange.Counting {
			p.tellNow()
			return
		}
	}
	p.tellSoon(t)
}

// departed notes that n units of a request that departed at sent are surely spent at t.
func (p *pool) departed(t, sent instant, n int64) {
	p.served += n
	p.latest = max(p.latest, sent.Add(p.a.Guard(t.Since(sent))))
}

// paused notes a hold of the account that the server has told this process, or a back-off.
func (p *pool) paused(until instant, refused bool) {
	p.mine, p.look = max(p.mine, until), 0
	p.tries = true
	p.refused = p.refused || refused
	p.tellNow()
}

// held takes over a hold that another process was told.
func (p *pool) held(t instant, d time.Duration) {
	if until := t.Add(d); until > p.hold.Add(time.Millisecond) {
		if t >= p.heardHold { // it is not the last one, made longer
			p.look, p.looked = 0, 0
		}
		p.hold, p.heardHold = until, until
		p.a.HoldUntil(t, until)
		p.a.policy.until = max(p.a.policy.until, p.a.InForce())
	}
}

// follow has the account go by what the others decide, or by itself.
func (p *pool) follow() {
	switch decides := p.decides(); {
	case decides && p.a.Strategy == window.Adaptive:
		p.a.Strategy = window.Together
	case !decides && p.a.Strategy == window.Together:
		p.a.Strategy = window.Adaptive
	}
}

// tell returns what there is to tell at t.
func (p *pool) tell(t instant) exchange.Account {
	if p.giveBack && p.waiters == 0 {
		p.stock, p.wish = min(p.stock, p.used), max(p.wish/2, minStock)
	}
	p.giveBack = false
	stock := p.units(t)
	if p.level > 0 && p.used > 0 && stock == 0 {
		p.wish = min(2*p.wish, maxStock)
	} else if stock > p.wish/2 {
		p.wish = max(p.wish/2, minStock, p.used)
	}
	a := exchange.Account{
		ID: p.id, Has: p.holds() + stock, Stock: stock, Version: p.version(), Concurrent: p.a.retains(),
		Quota: p.a.Quota, Window: p.a.Length, Counts: p.a.State == window.Counting,
		Figure: p.figure.available, Left: None, FigureVersion: p.figure.version,
		Basis: None, BasisLeft: None,
		Landed: p.landed, Spent: p.spent, Served: p.served, Silent: p.silent, Refused: p.refused,
	}
	if a.Window == 0 {
		if d := p.a.policy.server.Longest(); d > p.longest || d+time.Second < p.longest { // a second is rounding
			p.shorter = p.shorter || d < p.longest
			p.longest = d
		}
		a.Window, a.Shorter = -p.longest, p.shorter
	}
	if p.a.inferred() { // it stays with this process
		a.Quota, a.Window, a.Counts = None, 0, false
	}
	if p.recordsFirst() {
		a.First, a.Found = true, p.contact.named
	} else if p.used > 0 || p.waiters > 0 {
		a.Wish = max(p.wish-stock, 0)
	}
	if p.served > 0 {
		a.ServedAgo = max(t.Since(p.latest), 0)
	}
	if p.figure.available != None {
		a.FigureAgo = max(t.Since(p.figure.sent), 0)
	}
	if p.figure.end != window.Never {
		a.Left = p.figure.end.Since(t)
	}
	if p.known && p.state == exchange.Reported && p.end > t {
		a.Basis = p.available
		if p.end != window.Never {
			a.BasisLeft = p.end.Since(t)
		}
	}
	if apart := t < p.apart && p.figure.available == None; apart {
		a.Refused = false
	} else if until := max(p.a.Hold, p.a.BackOff); until > max(t, p.hold) {
		a.Hold, p.hold, p.mine = until.Since(t), until, until
	}
	if p.freed {
		a.Hold, p.freed = -time.Microsecond, false
	}
	p.wished = a.Wish
	p.told, p.toTell = p.toTell, nothingToTell()
	p.told.shorter = a.Shorter
	p.silent, p.soon, p.used = 0, 0, 0
	p.turned = t
	return a
}

// untold takes back what a turn has told that was not answered.
func (p *pool) untold() {
	if p.figure.available == None {
		p.figure = p.told.figure
	}
	p.spent += p.told.spent
	p.served += p.told.served
	p.landed, p.refused, p.shorter = p.landed || p.told.landed, p.refused || p.told.refused, p.shorter || p.told.shorter
	p.asked = false
	p.hold = 0
	p.s.active[p] = struct{}{}
	if p.landed || p.refused || p.leaves {
		p.soon = 1
	}
}

// heard takes over the answer at t to a turn that departed at from.
func (p *pool) heard(t, from instant, g *exchange.Granted) {
	was := p.passive()
	p.known = true
	news := g.Version != p.version()
	if news {
		copy(p.versions[1:], p.versions[:])
		p.versions[0] = versionAt{g.Version, t}
	}
	end := window.Never
	if g.Left != None {
		end = t.Add(g.Left)
	}
	if g.State != p.state || max(end, p.end)-min(end, p.end) > instant(time.Second) {
		p.rolled = from
	}
	p.state, p.available, p.end = g.State, g.Available, end
	p.peers, p.hungry = g.Peers, g.Hungry
	p.follow()
	if was && !p.passive() {
		p.s.o.routeAgain(p.a.policy.name) // those that wait have not asked for units of it
	}
	switch {
	case news && g.State == exchange.Reported:
		p.a.Learn(t, g.Available, end)
	case news && g.State == exchange.Expired:
		p.a.Elapse(t)
	}
	if g.Hold > 0 {
		p.held(t, g.Hold)
	}
	p.stock = p.units(t) + g.Units
	p.until = from.Add(sharedLease)
	if g.Left != None {
		p.until = min(p.until, from.Add(g.Left))
	}
	p.level = p.stock
	p.short = p.wished > 1 && g.Units < p.wanted+2
	switch {
	case p.fresh:
		p.again = t
	case p.asked:
		p.again = t.Add(g.Again)
		if g.Left != None && g.Again >= g.Left { // the turn is there when the window ends
			p.again = max(p.again.Add(-p.s.quick), t)
		}
	default:
		p.again = t.Add(slowTurn) // those that wait could not go for another reason
	}
	if p.waiters > 0 {
		p.s.active[p] = struct{}{}
	}
	switch {
	case p.leaves && p.stub:
		p.s.drop(p.a)
	case p.recordsFirst():
		p.contact.learn(t, g)
	}
}

// alone makes the account decide by itself: it knows what it has heard, and takes its
// share of that.
func (p *pool) alone(t instant) {
	p.cut.refused = false
	p.a.Strategy = window.Strategy(p.s.o.accounts.Strategy)
	if p.peers > 1 {
		p.a.Contend(t, p.peers)
	}
}
