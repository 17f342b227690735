package quota

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

const (
	sharedTimeout = 100 * time.Millisecond // the shortest wait for a Grant
	coldTimeout   = 25 * time.Millisecond  // how long requests wait for the first Grant
	quickTurn     = 20 * time.Millisecond  // between turns that only tell or fill a stock
	drainTurn     = 100 * time.Millisecond // between turns that only tell, while nothing is left
	gatherTime    = time.Millisecond       // in which those come that are let go together
	scarceTime    = 6 * time.Millisecond   // the same, while there is less than is wished for
	takeTime      = 2 * time.Millisecond   // in which those that wait take what has come for them
	slowTurn      = time.Second
	leaseTurn     = 10 * time.Second // between turns that renew what a process has
	sharedLease   = 30 * time.Second // after which a store forgets what a silent process has
	restsAfter    = time.Minute      // without a request, after which an origin does not try any more to reach the others
	longRetry     = 5 * time.Second  // the longest wait between tries to reach the others
	maxTurn       = 64               // accounts, and groups of requests, of a turn
)

// A Shared is the part of an Origin that its accounts share with other processes. Its
// methods are for Peers, and may be called by several goroutines. It has no goroutine
// and does no I/O: Peers ask for a Turn, carry it, and say what came of it.
//
// A process has a stock of units of each account: units granted and not yet charged.
// A request that finds stock in all its accounts departs at once. If it does not, it
// waits for the answer to the next turn. If there is no answer in time, the accounts
// are alone: they use up their stock, and then do what they would do without Peers,
// with a share of what is left. Once a request is refused because nothing is left, no more
// than that share of the quota departs in a window.
type Shared struct {
	o  *Origin
	id exchange.ID

	// protected by the mutex of the origin:
	pools  map[*account]*pool
	byID   map[exchange.ID]*pool
	stubs  policyAccounts     // of accounts of which only the hash is known; see contact
	active map[*pool]struct{} // that may have something to tell
	queue  waitingRequests

	contacts map[*account]*contact // by the account of the scope; empty once the origin has answered

	linked   bool    // the last turn was answered
	tried    bool    // one was answered, or was not
	began    instant // when a request first needed the others
	seq      uint64
	out      bool // a turn is on its way
	sent     instant
	patience time.Duration // how long that is waited for
	came     instant       // when one was answered last
	aboard   []*pool       // the pools of that turn
	quick    time.Duration
	retry    instant       // when to try again; while not linked
	exact    time.Duration // from a failure to retry, if addJitter has not put that off yet; else 0
	fails    int
	peers    int
	flights  int64 // as they were told
}

// newShared returns what an origin of that name shares.
func newShared(o *Origin, name string) *Shared {
	return &Shared{
		o:        o,
		id:       exchange.ID(o.accounts.hashes().digest("shared origin", name)),
		pools:    make(map[*account]*pool),
		byID:     make(map[exchange.ID]*pool),
		stubs:    policyAccounts{origin: o},
		active:   make(map[*pool]struct{}),
		queue:    newWaitingRequests(),
		contacts: make(map[*account]*contact),
		seq:      uint64(time.Now().UnixMicro()),
	}
}

// Origin stands for the origin among all processes with the same secret.
func (s *Shared) Origin() exchange.ID { return s.id }

// Peers returns how many processes were lately heard of, this one included, and whether
// the last turn was answered.
func (s *Shared) Peers() (n int, linked bool) {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	return s.peers, s.linked
}

// due tells the peers that there is something to tell.
func (s *Shared) due() { s.o.accounts.Peers.Due(s) }

// timeout is how long a request waits for the others: for the turn that is out when it comes, and for
// the one that asks for it.
func (s *Shared) timeout() time.Duration { return max(sharedTimeout, 4*s.quick) }

// patienceAt returns how long a turn that departs at t is waited for: less than the time-out by what
// those that it asks for have waited already, but at least half of it.
func (s *Shared) patienceAt(t instant) time.Duration {
	limit := s.timeout()
	if s.queue.untold == 0 {
		return limit
	}
	return max(limit-t.Since(s.queue.untold), limit/2)
}

// meet notes that a request of a scope needs the others: they know of holds of the scope
// and of the origin.
func (s *Shared) meet(t instant, base *account) {
	if !s.linked && s.tried && t >= s.o.root.Used.Add(restsAfter) {
		s.due()
	}
	if s.pools[base] == nil {
		s.pool(base).tellNow()
	}
	if s.began == 0 {
		s.began = max(t, 1)
		s.pool(&s.o.root).tellNow()
	}
}

// greeting reports whether the first turn is on its way, or about to be, at t: it says
// that a request will depart of which it is not known what it is charged to.
func (s *Shared) greeting(t instant) bool { return !s.linked && s.together(t) }

// together reports whether the others decide at t: they are reached, or it is too early
// to say that they are not. It ends that if a turn was not answered in time, whether or
// not the peers have said so.
func (s *Shared) together(t instant) bool {
	if s.out && t >= s.sent.Add(2*s.timeout()) {
		s.fail(t)
	}
	return s.linked || !s.tried && t < s.coldUntil(t)
}

// hurried reports whether work cannot wait for the others: they take longer to answer.
func (s *Shared) hurried(ctx context.Context, ask *Ask) bool {
	if ask.MaxDelay < 0 {
		return true
	}
	takes := 2 * s.quick
	if !s.linked {
		takes = coldTimeout
	}
	if ask.MaxDelay > 0 && ask.MaxDelay < takes {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < takes
}

// lend lends to all claims of work that cannot wait for the others, and plans to tell them. takeBack
// takes back what was lent.
func (s *Shared) lend(t instant, cs []wait.Claim) (takeBack func()) {
	var lent []*pool
	var had []int64
	for i := range cs {
		if a, ok := cs[i].Constraint.(*account); ok {
			if p := s.pools[a]; p != nil {
				if stock := p.units(t); p.lend(t, cs[i].Units) {
					lent, had = append(lent, p), append(had, stock)
					p.tellSoon(t)
				}
			}
		}
	}
	return func() {
		for i, p := range lent {
			p.stock = had[i]
		}
	}
}

// coldUntil is until when requests wait for the first Grant. If none has come yet, it is
// reckoned for one that comes at t.
func (s *Shared) coldUntil(t instant) instant { return cmp.Or(s.began, max(t, 1)).Add(coldTimeout) }

// pool returns the pool of an account, and makes it if there is none.
func (s *Shared) pool(a *account) *pool {
	p := s.pools[a]
	if p == nil {
		keyed := "scope"
		switch {
		case a == &s.o.root:
			keyed = "root"
		case a.ofNone():
			keyed = "none"
		case a.policy.keyed:
			keyed = "key"
		}
		id := exchange.ID(s.o.accounts.hashes().digest("shared account", string(s.id[:]), a.policy.name, keyed, a.owner.String()))
		if p = s.byID[id]; p != nil && p.stub {
			s.adopt(p, a)
			return p
		}
		p = s.newPool(a, id)
	}
	return p
}

func (s *Shared) newPool(a *account, id exchange.ID) *pool {
	p := &pool{s: s, a: a, id: id, toTell: nothingToTell(), available: None, wish: minStock}
	s.pools[a], s.byID[id] = p, p
	return p
}

// drop forgets an account that is evicted; if it is a scope, with what its contact knows.
func (s *Shared) drop(a *account) {
	if c := s.contacts[a]; c != nil {
		delete(s.contacts, a)
		s.drop(c.pool.a)
		for _, p := range c.found {
			s.drop(p.a)
		}
	}
	if p := s.pools[a]; p != nil {
		delete(s.pools, a)
		delete(s.byID, p.id)
		delete(s.active, p)
	}
}

// Turn returns what is to be told now, or nil if there is nothing yet; next is when to
// ask for another, unless Peers.Due says so earlier. The zero time means that only Due
// will tell. A turn has to be followed by Heard or Failed, within its Timeout.
func (s *Shared) Turn(now time.Time) (turn *exchange.Turn, next time.Time) {
	s.addJitter() // the last turn may have failed because no answer came
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	t := s.o.at(now)
	switch {
	case s.out && t < s.sent.Add(s.patience):
		return nil, s.o.when(s.sent.Add(s.patience))
	case s.out:
		s.fail(t)
	}
	if !s.linked && t < s.retry {
		return nil, s.o.when(s.retry)
	}
	if s.began == 0 || s.o.dropped.Load() && s.o.inLine == 0 || !s.linked && s.tried && t >= s.o.root.Used.Add(restsAfter) && s.o.inLine == 0 {
		return nil, time.Time{}
	}
	at, taking := window.Never, false
	if !s.tried || !s.linked {
		at = t // say hello
	}
	for p := range s.active {
		d := p.due(t)
		if d == window.Never {
			delete(s.active, p)
		}
		at = min(at, d)
		taking = taking || p.waiters > 0 && p.units(t) > 0
	}
	if taking { // else the next turn would give back what they are about to take
		at = max(at, s.came.Add(takeTime))
	}
	if at == window.Never {
		return nil, time.Time{}
	}
	if at > t {
		return nil, s.o.when(at)
	}
	turn = s.compose(t)
	return turn, s.o.when(t.Add(turn.Timeout))
}

// Goodbye returns a turn that gives back what some accounts have, and makes all of them alone. The next call returns that of
// others, until no account is left.
func (s *Shared) Goodbye(now time.Time) *exchange.Turn {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	t := s.o.at(now)
	s.seq++
	turn := &exchange.Turn{Seq: s.seq, Bye: true, Peers: s.peers, Flights: 0, Timeout: s.timeout()}
	for _, p := range s.sorted() {
		if p.known && !p.left && len(turn.Accounts) < maxTurn {
			p.left = true
			told := p.tell(t)
			told.Has -= told.Stock
			told.Stock, told.Wish, p.stock = 0, 0, 0
			turn.Accounts = append(turn.Accounts, told)
		}
	}
	s.fail(t)
	s.retry, s.exact = window.Never, 0
	return turn
}

// sorted returns all pools, in an order that does not depend on chance.
func (s *Shared) sorted() []*pool {
	ps := make([]*pool, 0, len(s.pools))
	for _, p := range s.pools {
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b *pool) int { return slices.Compare(a.id[:], b.id[:]) })
	return ps
}

// compose makes a turn of what is due at t. What is due a little later rides along.
func (s *Shared) compose(t instant) *exchange.Turn {
	s.seq++
	s.out, s.sent, s.patience = true, t, s.patienceAt(t)
	s.queue.untold = 0
	turn := &exchange.Turn{Seq: s.seq, Peers: s.peers, Flights: None, Timeout: s.patience}
	if flights := s.unknown(); flights > 0 || s.flights > 0 {
		turn.Flights, s.flights = flights, flights
	}
	s.aboard = s.aboard[:0]
	index := make(map[*pool]int)
	board := func(p *pool) (i int, ok bool) {
		if i, ok := index[p]; ok {
			return i, true
		}
		if len(s.aboard) >= maxTurn {
			return 0, false
		}
		index[p] = len(s.aboard)
		s.aboard = append(s.aboard, p)
		return len(s.aboard) - 1, true
	}
	for _, g := range s.queue.forTurn(s.seq, maxTurn/2) {
		if len(turn.Requests) == maxTurn {
			break
		}
		if r := g.request(t, board); len(r.Claims) > 0 {
			turn.Requests = append(turn.Requests, r)
		}
	}
	// All that a waiting request claims is dealt anew: no stock is set aside for it.
	asking := len(s.aboard)
	for _, p := range s.aboard {
		p.stock = 0
	}
	var rest []*pool
	for p := range s.active {
		if _, there := index[p]; !there && p.due(t) <= t.Add(quickTurn) {
			rest = append(rest, p)
		}
	}
	slices.SortFunc(rest, func(a, b *pool) int { return slices.Compare(a.id[:], b.id[:]) })
	for _, p := range rest {
		board(p)
	}
	for _, p := range s.aboard {
		p.wanted = 0
	}
	for _, r := range turn.Requests {
		for _, c := range r.Claims {
			s.aboard[c.Account].wanted += r.N * c.Units
		}
	}
	for i, p := range s.aboard {
		p.asked, p.fresh = i < asking, false
		turn.Accounts = append(turn.Accounts, p.tell(t))
	}
	return turn
}

// unknown returns how many requests are out, or about to be, of which it is not known what they are charged to.
func (s *Shared) unknown() int64 {
	if s.o.first.over {
		return 0
	}
	for _, c := range s.contacts {
		if c.pool.known {
			return s.o.out // the store has not let one depart
		}
	}
	return max(s.o.out, 1)
}

// Heard takes over the answer to the turn that was taken at sent, and lets go the
// requests that this allows. An answer that came after Failed only says that the others
// can be reached.
func (s *Shared) Heard(sent, now time.Time, g *exchange.Grant) {
	s.o.mu.Lock()
	t, from := s.o.at(now), s.o.at(sent)
	if !s.out || len(g.Accounts) != len(s.aboard) || from != s.sent { // late
		s.retry, s.exact = min(s.retry, t), 0
		s.o.mu.Unlock()
		s.due()
		return
	}
	if g.Void { // nothing was granted, and whatever made it late may do so again
		s.fail(t)
		woken := s.kick(now)
		s.o.mu.Unlock()
		s.addJitter()
		wait.Wake(woken)
		s.due()
		return
	}
	if trip := t.Since(from); s.quick == 0 || trip < s.quick {
		s.quick = max(trip, 1)
	}
	s.out, s.linked, s.tried, s.fails, s.came = false, true, true, 0, t
	peers := 1
	for i, p := range s.aboard {
		if p.heard(t, from, &g.Accounts[i]); !p.recordsFirst() { // few of those have met the account yet
			peers = max(peers, g.Accounts[i].Peers)
		}
	}
	if len(s.aboard) > 0 {
		s.peers = peers
	}
	woken := s.kick(now)
	s.o.mu.Unlock()
	wait.Wake(woken)
	s.due()
}

// Failed says that the turn that departed last was not answered in time. The accounts
// are alone until a later turn is answered.
func (s *Shared) Failed(now time.Time) {
	s.o.mu.Lock()
	var woken []*wait.Waiter
	if s.out {
		s.fail(s.o.at(now))
		woken = s.kick(now)
	}
	s.o.mu.Unlock()
	s.addJitter()
	wait.Wake(woken)
	s.due()
}

// addJitter puts off the next try after a turn that has failed, by up to as long again: without that, all
// processes would come back at the same time. No lock is held: Accounts.Jitter is the caller's.
func (s *Shared) addJitter() {
	s.o.mu.Lock()
	d, retry := s.exact, s.retry
	s.exact = 0
	s.o.mu.Unlock()
	if d == 0 {
		return
	}
	d = time.Duration(float64(d) * s.o.accounts.random())
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	if s.retry == retry { // nothing has been heard since
		s.retry = retry.Add(d)
	}
}

// fail makes the accounts alone at t. Then addJitter has to be called.
func (s *Shared) fail(t instant) {
	s.exact = min(sharedTimeout<<min(s.fails, 6), longRetry)
	s.retry = t.Add(s.exact)
	s.fails++
	was := s.linked
	s.out, s.linked, s.tried = false, false, true
	s.flights = 1 // to be told again
	for _, p := range s.aboard {
		p.untold()
	}
	s.aboard = s.aboard[:0]
	if was {
		for _, p := range s.pools {
			p.alone(t)
		}
	}
}

// kick looks at all lines of the origin, and returns the waiters to wake after
// unlocking.
func (s *Shared) kick(now time.Time) (woken []*wait.Waiter) {
	for a := range s.o.awaited {
		woken = a.AppendKicked(woken, now)
	}
	return s.o.first.line.AppendKicked(woken, now)
}

// Wake takes over what a store told all processes; process is the name of this one.
func (s *Shared) Wake(now time.Time, process string, word *exchange.Word) {
	s.o.mu.Lock()
	p := s.byID[word.Account]
	if p == nil || !s.linked {
		s.o.mu.Unlock()
		return
	}
	t := s.o.at(now)
	var woken []*wait.Waiter
	switch {
	case word.Hold != 0:
		if word.Hold < 0 {
			p.contradicted(t)
		} else if p.held(t, word.Hold); slices.Contains(word.Processes, process) {
			p.mayLook(t, word.Hold)
		}
		woken = s.kick(now)
	case word.Return:
		p.hungry = max(p.hungry, 1)
		if p.stock > p.used && p.waiters == 0 {
			p.giveBack = true
			p.tellNow()
		} else if p.a.retains() {
			p.tellNow() // and hear how many wait: see released
		} else if p.soon > 0 {
			p.tellSoon(t) // what was answered is not in flight any more
		}
	case slices.Contains(word.Processes, process) && p.waiters > 0:
		p.again = t
		p.tellNow()
	}
	s.o.mu.Unlock()
	wait.Wake(woken)
}

// joined notes that the request of a lease waits, with the claims that it has now. One
// that waited before keeps its place; if it claims something else now, what a turn has told of it
// does not hold any more.
func (s *Shared) joined(t instant, l *Lease) {
	left := s.queue.groupOf(l)
	g := s.queue.add(t, l)
	if g == nil {
		return
	}
	changed := left != nil && left != g
	if s.queue.untold == 0 {
		s.queue.untold = max(t, 1)
	}
	for _, p := range g.pools() {
		if (!p.asked || changed) && !p.fresh {
			p.again, p.fresh = t, true
			if p.holds() > 0 { // others of this process are about to be answered, and more may come
				p.again = t.Add(p.gather())
			}
		}
		s.active[p] = struct{}{}
	}
	if !s.out {
		s.due()
	}
}

// left notes that the request of a lease does not wait any more. If it has not departed, others
// may have what was kept for it.
func (s *Shared) left(t instant, l *Lease) {
	g := s.queue.groupOf(l)
	if g == nil {
		return
	}
	for _, p := range g.pools() {
		if p.asked && p.waiters == 1 {
			p.tellSoon(t)
		}
	}
	s.queue.remove(l)
}
