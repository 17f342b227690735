package quota

import (
	"cmp"
	"slices"
	"time"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

const (
	maxFound    = 4           // accounts of a first answer of which others are told
	longContact = time.Minute // a first request does not wait for the end of a longer window
)

// A contact is the constraint of the first request of a scope that a process of a fleet sends to an
// origin: the processes together have one first flight. The store has a record of it. While nothing was
// answered, it lets ten processes send a request; the others wait for an answer, at most for a second.
// Then they hear which accounts the answer named. They know only the hashes of these, but they can ask
// for a unit of each; their first request departs when that is granted, and its answer tells the rest. If
// the answer named no account, they all go. If answers named different accounts, only what all of them
// named is waited for: the other policies may not concern the request.
//
// A contact ends with the first answer to this process. The mutex of the origin protects it.
type contact struct {
	uncharged
	s     *Shared
	scope *account
	line  *wait.Line
	since instant       // when a request began to wait; 0: none has
	pool  *pool         // of the record
	heard bool          // of a first answer
	found []*pool       // of the accounts that it named, as far as this process does not know them
	out   bool          // a request is on its way; it counts in every account: see exchange.Turn.Flights
	named []exchange.ID // what the first answer to this process named; not yet told
}

// contact returns the contact of a scope, and makes it if there is none.
func (s *Shared) contact(scope *account) *contact {
	c := s.contacts[scope]
	if c == nil {
		id := s.o.accounts.hashes().digest("shared contact", string(s.id[:]), scope.owner.String())
		c = &contact{s: s, scope: scope, pool: s.stub(exchange.ID(id))}
		c.pool.contact = c
		s.contacts[scope] = c
	}
	return c
}

// stub returns a new pool of an account of which only the hash is known.
func (s *Shared) stub(id exchange.ID) *pool {
	a := new(account)
	a.init(&s.stubs, longOwner(""))
	p := s.newPool(a, id)
	p.named, p.stub = true, true
	return p
}

// adopt makes the pool of an account of which only the hash was known that of the account.
func (s *Shared) adopt(p *pool, a *account) {
	if hold := p.a.Hold; hold > s.came {
		a.HoldUntil(s.came, hold)
	}
	delete(s.pools, p.a)
	p.a, p.stub, p.leaves, p.contact = a, false, false, nil
	s.pools[a] = p
	for _, c := range s.contacts {
		if i := slices.Index(c.found, p); i >= 0 {
			c.found = slices.Delete(c.found, i, i+1)
			p.waiters -= c.pool.waiters
		}
	}
}

// learn takes over what the store knows of the contact.
func (c *contact) learn(t instant, g *exchange.Granted) {
	if g.State != exchange.Open || c.s.o.first.over {
		return
	}
	c.heard, c.pool.stock = true, 0
	if g.Found == nil { // the server tells no quotas
		c.s.o.first.over = true
		c.s.endContacts()
		return
	}
	c.found = slices.DeleteFunc(c.found, func(p *pool) bool {
		if slices.Contains(g.Found, p.id) {
			return false
		}
		c.s.leave(p)
		return true
	})
	for _, id := range g.Found[:min(len(g.Found), maxFound)] {
		if c.s.byID[id] == nil {
			p := c.s.stub(id)
			p.contact, p.again, p.waiters = c, t, c.pool.waiters
			c.s.active[p] = struct{}{}
			c.found = append(c.found, p)
		}
	}
}

// answered tells the others of the first answer: to a request that departed at sent, and with figures of
// these accounts. It does not tell of a refusal that named none: another process will try.
func (c *contact) answered(sent instant, named []*account, refused bool) {
	if !c.pool.known {
		return
	}
	for _, a := range named {
		if p := c.s.pools[a]; p != nil && a.Unit != window.Other && len(c.named) < maxFound {
			c.named = append(c.named, p.id)
		}
	}
	if len(c.named) > 0 || !refused {
		c.pool.silent = max(c.pool.under(sent), 1)
	}
}

// landed notes that the request that was on its way was answered. If lost, it was not, and it may have
// been counted; another process tries.
func (c *contact) landed(lost bool) {
	c.out = false
	for _, p := range c.claims() {
		if p.tellNow(); !c.heard {
			p.refused = p.refused || lost
		} else if lost {
			p.spent++
		}
	}
}

// endContacts ends all contacts: the origin has answered.
func (s *Shared) endContacts() {
	for scope, c := range s.contacts {
		for _, p := range c.found {
			s.leave(p)
		}
		c.found = nil
		s.leave(c.pool)
		if c.line == nil {
			delete(s.contacts, scope)
		}
	}
}

// leave tells the others that nothing here waits for an account of which only the hash is known, and then
// forgets it.
func (s *Shared) leave(p *pool) {
	p.leaves, p.waiters, p.stock = true, 0, 0
	p.tellNow()
}

// claims returns the pools of which a request needs a unit.
func (c *contact) claims() []*pool {
	if c.heard {
		return c.found
	}
	return []*pool{c.pool}
}

// ready returns when a request may depart, as far as one of the pools is concerned. sooner
// reports whether that may be earlier by what is heard.
func (c *contact) ready(t instant, p *pool) (again instant, sooner bool) {
	limit := cmp.Or(c.since, t).Add(maxFirstFlight)
	switch {
	case p == c.pool:
		if p.units(t) > 0 {
			return t, false
		}
		return max(limit, t), true
	case p.known && (p.state == exchange.Unknown || p.state == exchange.Open || p.state == exchange.Counting):
		return t, false // each process finds out for itself
	case t >= limit && (p.end > t.Add(longContact) && p.end != window.Never || p.a.Hold > t.Add(longContact)):
		return t, false
	case p.a.Paused(t):
		return p.a.Hold, false
	}
	again, sooner, ok := p.ready(t, 1)
	if !ok {
		return t, false
	}
	return again, sooner
}

// Mutex implements wait.Constraint.
func (c *contact) Mutex() *wait.Mutex { return &c.s.o.mu }

// Look implements wait.Constraint. A request may depart if there is a unit of each pool, or if the
// others cannot be asked.
func (c *contact) Look(now time.Time, _ int64) wait.Decision {
	t := c.s.o.at(now)
	d := wait.Decision{OK: true, Reason: uint8(ReasonFirstFlight)}
	if c.s.o.first.over || !c.s.together(t) || !c.s.linked || c.out {
		return d
	}
	for _, p := range c.claims() {
		if again, sooner := c.ready(t, p); again > t && (d.OK || c.s.o.when(again).After(d.Again)) {
			d.OK, d.Again, d.Sooner = false, c.s.o.when(again), sooner
		}
	}
	d.Single = true // others claim other units
	return d
}

// Charge implements wait.Constraint. The epoch is 1 if the request has taken a unit of each pool.
func (c *contact) Charge(now time.Time, _ int64) (epoch uint32, retained bool) {
	if c.s.o.first.over || !c.s.linked || c.out {
		return 0, false
	}
	c.out = true
	t := c.s.o.at(now)
	for _, p := range c.claims() {
		p.take(t, 1)
		if c.heard {
			p.tellNow() // that it is on its way, at whatever cost; the first turn has told it of others
		}
	}
	return 1, false
}

// Line implements wait.Constraint, as the methods below do.
func (c *contact) Line() *wait.Line   { return c.line }
func (c *contact) Round() *wait.Round { return &c.s.o.waiting }

func (c *contact) OpenLine() *wait.Line {
	c.line = wait.NewLine(c, wait.LineOptions{})
	c.s.o.awaited[c.line] = struct{}{}
	return c.line
}

func (c *contact) CloseLine() {
	delete(c.s.o.awaited, c.line)
	c.line = nil
	if c.s.o.first.over {
		delete(c.s.contacts, c.scope)
	}
}

// landContact notes with the contacts that the lease has landed.
func (s *settlement) landContact() {
	for _, c := range s.l.claims.all() {
		if of, ok := c.Constraint.(*contact); ok && c.Epoch == 1 {
			of.landed(s.r.Lost)
		}
	}
}

// tellContact tells the others of the first answer of the origin.
func (s *settlement) tellContact() {
	sh := s.o.shared
	if c := sh.contacts[&s.departed.base]; c != nil {
		var named []*account
		for i, a := range s.figured {
			if s.r.Figures[i].Available >= 0 {
				named = append(named, a)
			}
		}
		c.answered(s.sent, named, s.r.Refused)
	}
	sh.endContacts()
}
