package quota

import (
	"cmp"
	"container/list"
	"encoding/binary"
	"slices"

	"github.com/headway-go/headway/quota/exchange"
)

// waitingRequests are the requests of an origin that wait, in groups of those that
// claim the same of shared accounts. What others are told of them does not grow with
// their number.
type waitingRequests struct {
	groups map[string]*waitingGroup
	byKey  map[uint64]*waitingLease // by Lease.ticket
	last   uint64
	untold instant // when the first came that no turn has told of; 0: none has come
	key    []byte  // scratch
}

// A waitingGroup is requests with the same priority and the same claims.
type waitingGroup struct {
	key      string
	claims   []pooledClaim
	priority int
	contact  *contact   // they wait for it; nil: for none
	told     uint64     // the last turn that told of them
	waits    *list.List // of *waitingLease, those that have waited for longest first
}

// A pooledClaim is a number of units of a shared account.
type pooledClaim struct {
	pool  *pool
	units int64
}

type waitingLease struct {
	group *waitingGroup
	since instant
	order uint64 // of arrival
	place *list.Element
}

func newWaitingRequests() waitingRequests {
	return waitingRequests{groups: make(map[string]*waitingGroup), byKey: make(map[uint64]*waitingLease)}
}

// pools returns the pools that the group waits for.
func (g *waitingGroup) pools() (ps []*pool) {
	for _, c := range g.claims {
		ps = append(ps, c.pool)
	}
	if c := g.contact; c != nil && !c.s.o.first.over {
		ps = append(append(ps, c.pool), c.found...)
	}
	return ps
}

// first is the one of the group that has waited for longest.
func (g *waitingGroup) first() *waitingLease { return g.waits.Front().Value.(*waitingLease) }

// request is what others are told of the group at t. board says which place in the turn a
// pool has, or that there is none left. Requests that could not go, whatever they are
// granted, claim nothing.
func (g *waitingGroup) request(t instant, board func(*pool) (int, bool)) exchange.Request {
	r := exchange.Request{N: int64(g.waits.Len()), Priority: g.priority, Waited: t.Since(g.first().since)}
	claims := g.claims
	if c := g.contact; c != nil {
		if r.N = 1; c.out || c.s.o.first.over {
			return exchange.Request{}
		}
		if c.heard {
			board(c.pool) // to hear if what was found does not hold any more
		}
		for _, p := range c.claims() {
			claims = append(claims[:len(claims):len(claims)], pooledClaim{p, 1})
		}
	}
	for _, c := range claims {
		if c.pool.a.Paused(t) {
			return exchange.Request{}
		}
	}
	for _, c := range claims {
		if !c.pool.decides() {
			continue
		}
		i, ok := board(c.pool)
		if !ok {
			return exchange.Request{}
		}
		r.Claims = append(r.Claims, exchange.Claim{Account: i, Units: c.units})
	}
	return r
}

// add adds the request of a lease, at the place of one that it has left, or the last. It
// returns nil if the request claims nothing that is shared.
func (q *waitingRequests) add(t instant, l *Lease) *waitingGroup {
	q.last++
	w := &waitingLease{since: t, order: q.last}
	if l.queued {
		left := q.byKey[l.ticket]
		w.order = left.order                              // as in the lines: what is granted is for the first of them
		if c := left.group.contact; c == nil || c.heard { // else it has waited for no units yet
			w.since = left.since
		}
		defer q.take(l.ticket) // once it is at its new place: what it still claims has been asked for
		l.queued = false
	}
	q.key = binary.BigEndian.AppendUint64(q.key[:0], uint64(l.priority))
	var claims []pooledClaim
	var first *contact
	for _, c := range l.claims.all() {
		if of, ok := c.Constraint.(*contact); ok && !of.s.o.first.over {
			first, of.since = of, cmp.Or(of.since, max(t, 1))
			q.key = append(q.key, of.pool.id[:]...)
			continue
		}
		a, ok := c.Constraint.(*account)
		if k, kinds := c.Constraint.(*kind); kinds {
			a, ok = &k.in.base, true
		}
		if !ok {
			continue
		}
		if p := a.pool(); p != nil && !p.passive() {
			claims = append(claims, pooledClaim{p, c.Units})
			q.key = binary.BigEndian.AppendUint64(append(q.key, p.id[:]...), uint64(c.Units))
		}
	}
	if len(claims) == 0 && first == nil {
		return nil
	}
	g := q.groups[string(q.key)]
	if g == nil {
		g = &waitingGroup{key: string(q.key), claims: claims, contact: first, priority: int(l.priority), waits: list.New()}
		q.groups[g.key] = g
	}
	w.group = g
	after := g.waits.Back()
	for after != nil && after.Value.(*waitingLease).order > w.order {
		after = after.Prev()
	}
	if after == nil {
		w.place = g.waits.PushFront(w)
	} else {
		w.place = g.waits.InsertAfter(w, after)
	}
	q.byKey[q.last], l.ticket, l.queued = w, q.last, true
	for _, p := range g.pools() {
		p.waiters++
	}
	return g
}

// groupOf returns the group of the request of a lease, nil if it is not there.
func (q *waitingRequests) groupOf(l *Lease) *waitingGroup {
	if !l.queued {
		return nil
	}
	return q.byKey[l.ticket].group
}

// remove removes the request of a lease, if it is there.
func (q *waitingRequests) remove(l *Lease) {
	if !l.queued {
		return
	}
	l.queued = false
	q.take(l.ticket)
}

// take takes one out.
func (q *waitingRequests) take(ticket uint64) {
	w := q.byKey[ticket]
	delete(q.byKey, ticket)
	if len(q.byKey) == 0 {
		q.untold = 0
	}
	g := w.group
	g.waits.Remove(w.place)
	if g.waits.Len() == 0 {
		delete(q.groups, g.key)
	}
	for _, p := range g.pools() {
		if p.waiters--; p.waiters == 0 {
			p.asked = false
		}
	}
}

// forTurn returns up to n groups, in their order: of more, those that were told of least recently.
func (q *waitingRequests) forTurn(seq uint64, n int) []*waitingGroup {
	gs := q.inOrder()
	if len(gs) > n {
		all := slices.Clone(gs)
		slices.SortStableFunc(all, func(a, b *waitingGroup) int { return cmp.Compare(a.told, b.told) })
		for _, g := range all[:n] {
			g.told = seq
		}
		gs = slices.DeleteFunc(gs, func(g *waitingGroup) bool { return g.told != seq })
	}
	return gs
}

// inOrder returns the groups, those that go first first.
func (q *waitingRequests) inOrder() []*waitingGroup {
	gs := make([]*waitingGroup, 0, len(q.groups))
	for _, g := range q.groups {
		gs = append(gs, g)
	}
	slices.SortFunc(gs, func(a, b *waitingGroup) int {
		if a.priority != b.priority {
			return cmp.Compare(b.priority, a.priority)
		}
		return cmp.Compare(a.first().order, b.first().order)
	})
	return gs
}
