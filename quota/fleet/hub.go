package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/headway-go/headway/quota/exchange"
)

// A Hub is a Store in memory: for tests, and for several quota.Accounts in one process.
// It is also the specification of other stores: redisstore's script does the same, number
// by number. The zero value is ready. A Hub must not be copied.
//
// All its numbers are integers, and all its times microseconds.
type Hub struct {
	// Clock returns the time. Nil means time.Now. It is set before first use.
	Clock func() time.Time

	mu      sync.Mutex
	records map[recordID]*record
	hearers map[exchange.ID]map[*hearer]struct{}

	listeners map[exchange.ID][]func(exchange.Word)
	flights   map[exchange.ID]map[string]flight
	turns     int
}

// A flight is the requests of a process whose accounts it does not know. They count in
// every account of the origin, for others.
type flight struct{ n, until int64 }

type recordID struct{ origin, account exchange.ID }

// A hearer gets the words of one subscription.
type hearer struct{ words chan exchange.Word }

// The times of a Hub, in microseconds.
const (
	msec = int64(1000)
	sec  = 1000 * msec

	latest        = 150 * msec // a turn that is carried out later than that takes nothing
	lease         = 30 * sec   // after which what a process has is forgotten, if it is silent
	longLease     = 300 * sec  // the same, if the window is long
	longWindow    = 600 * sec
	recovery      = 2 * sec // after a record was made: those who knew the one before come back
	wokenFor      = 100 * msec
	returnsEvery  = 20 * msec
	lookShort     = 20 * msec  // a process that lacked nothing comes again, if requests wait
	behind        = 200 * msec // after one that looks what there is, the others come, if they are not woken
	lookReleased  = 200 * msec
	idle          = 10 * sec
	sameWindow    = sec
	maxPatience   = 60 * sec
	forgets       = 600 * sec // beyond what was said
	sweepEvery    = 1000      // turns
	none          = -1
	unlimited     = int64(1) << 50
	maxHeldSecond = 366 * 24 * 3600
)

// A record is an account.
type record struct {
	made      int64 // when; versions begin there, too, so that they only grow
	version   int64
	state     exchange.State
	available int64
	end       int64 // of the window; 0: none
	length    int64 // of the window, when its end was told
	began     int64 // when the window before ended
	figured   int64 // when a figure was adopted last
	hold      int64
	probe     int64 // until then, one is out
	probes    int64 // in a row
	returns   int64 // when stocks were last called back
	used      int64 // the last turn
	members   map[string]*member
	renewal
}

// A member is what a process has and wants of an account.
type member struct {
	id       string
	seq      int64
	at       int64 // of the last turn
	until    int64 // what it has counts until then
	has      int64
	stock    int64
	want     int64 // units of the requests that lack some
	least    int64 // units of the first of these
	priority int64
	since    int64 // when that began to wait
	hungry   int64 // it wants them until then, unless it says so again
	woken    int64
	looks    int64 // when it was told to come, as the first at the end of the window; 0: it was not
}

// Exchange implements Store.
func (h *Hub) Exchange(_ context.Context, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	now := time.Now
	if h.Clock != nil {
		now = h.Clock
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	grant, words, err := h.exchange(now().UnixMicro(), origin, turn)
	for i := range words {
		for to := range h.hearers[origin] {
			select {
			case to.words <- words[i]:
			default: // it is only a hint
			}
		}
		for _, hear := range h.listeners[origin] {
			hear(words[i])
		}
	}
	return grant, err
}

// Listen has hear called with all words about an origin, in the goroutine of the
// exchange that they come from, with a lock held: for simulations on one thread.
func (h *Hub) Listen(origin exchange.ID, hear func(exchange.Word)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listeners == nil {
		h.listeners = make(map[exchange.ID][]func(exchange.Word))
	}
	h.listeners[origin] = append(h.listeners[origin], hear)
}

// Forget loses all that the Hub knows, as a store that starts anew.
func (h *Hub) Forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records, h.flights = nil, nil
}

// Subscribe implements Store.
func (h *Hub) Subscribe(ctx context.Context, origin exchange.ID, hear func(*exchange.Word)) error {
	to := &hearer{make(chan exchange.Word, 64)}
	h.mu.Lock()
	if h.hearers == nil {
		h.hearers = make(map[exchange.ID]map[*hearer]struct{})
	}
	if h.hearers[origin] == nil {
		h.hearers[origin] = make(map[*hearer]struct{})
	}
	h.hearers[origin][to] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.hearers[origin], to)
		h.mu.Unlock()
	}()
	for {
		select {
		case w := <-to.words:
			hear(&w)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// An execution is one turn being carried out.
type execution struct {
	now     int64
	turn    *exchange.Turn
	records []*record
	mine    []*member
	left    []int64 // units that no process holds and that this turn may take
	allowed []int64 // of these, what the process may take
	first   []int64 // units that are kept for one that goes before
	others  []int64 // hungry ones
	ahead   []int64 // the first units of those that go before
	granted []int64
	probed  []bool
	stopped []bool // a request lacked units here: none goes before it
	blocked []int  // the account that the first request which claims this one lacked; negative: none
	words   []exchange.Word
	flights int64 // of others
}

var errTurn = errors.New("fleet: invalid turn")

func (h *Hub) exchange(now int64, origin exchange.ID, turn *exchange.Turn) (*exchange.Grant, []exchange.Word, error) {
	n := len(turn.Accounts)
	for _, r := range turn.Requests {
		for _, c := range r.Claims {
			if c.Account < 0 || c.Account >= n || c.Units < 0 || r.N < 1 {
				return nil, nil, errTurn
			}
		}
	}
	x := &execution{
		now: now, turn: turn, records: make([]*record, n), mine: make([]*member, n),
		left: make([]int64, n), allowed: make([]int64, n), first: make([]int64, n), others: make([]int64, n), ahead: make([]int64, n),
		granted: make([]int64, n), probed: make([]bool, n), stopped: make([]bool, n), blocked: make([]int, n),
	}
	asOf := turn.AsOf.Microseconds()
	void := asOf > 0 && now-asOf > latest
	if h.records == nil {
		h.records = make(map[recordID]*record)
	}
	h.sweep(now)
	for i := range x.blocked {
		x.blocked[i] = none
	}
	repeated := false
	for i := range turn.Accounts {
		id := recordID{origin, turn.Accounts[i].ID}
		r := h.records[id]
		if r == nil {
			r = &record{made: now, version: now, members: make(map[string]*member), renewal: renewal{quota: none}}
			h.records[id] = r
		}
		x.records[i], r.used = r, now
		if m := r.members[turn.Process]; m != nil && m.seq >= int64(turn.Seq) {
			repeated = true
		}
	}
	if repeated {
		void = true
	} else {
		x.flights = h.fly(now, origin, turn)
		for i := range turn.Accounts {
			x.tell(i, void)
		}
	}
	for i := range turn.Accounts {
		x.count(i)
	}
	if !void && !turn.Bye {
		x.deal()
	}
	grant := &exchange.Grant{Now: time.Duration(now) * time.Microsecond, Void: void}
	for i := range turn.Accounts {
		grant.Accounts = append(grant.Accounts, x.reply(i, void))
	}
	return grant, x.words, nil
}

// sweep forgets records that were not used for long, now and then.
func (h *Hub) sweep(now int64) {
	if h.turns++; h.turns%sweepEvery != 0 {
		return
	}
	for id, r := range h.records {
		if now > max(r.used, r.end, r.hold)+forgets {
			delete(h.records, id)
		}
	}
}

// fly takes over the flights of the turn, and returns those of others.
func (h *Hub) fly(now int64, origin exchange.ID, turn *exchange.Turn) (others int64) {
	all := h.flights[origin]
	if turn.Flights > 0 {
		if all == nil {
			all = make(map[string]flight)
			if h.flights == nil {
				h.flights = make(map[exchange.ID]map[string]flight)
			}
			h.flights[origin] = all
		}
		all[turn.Process] = flight{turn.Flights, now + lease}
	} else if turn.Flights == 0 {
		delete(all, turn.Process)
	}
	for process, f := range all {
		if f.until <= now {
			delete(all, process)
		} else if process != turn.Process {
			others += f.n
		}
	}
	return others
}

// tell takes over what the turn says of an account.
func (x *execution) tell(i int, void bool) {
	r, a, now := x.records[i], &x.turn.Accounts[i], x.now
	for id, m := range r.members {
		if m.until <= now {
			delete(r.members, id)
		}
	}
	r.roll(now)
	m := r.members[x.turn.Process]
	isNew := m == nil
	if isNew {
		m = &member{id: x.turn.Process}
		r.members[x.turn.Process] = m
	}
	x.mine[i] = m
	m.seq, m.at = int64(x.turn.Seq), now
	if void {
		m.has = max(m.has, a.Has)
	} else {
		m.has = a.Has
	}
	m.stock, m.want, m.least, m.hungry, m.woken, m.looks = a.Stock, 0, 0, 0, 0, 0
	m.until = now + lease
	if a.Window.Microseconds() > longWindow {
		m.until = now + longLease
	}
	if x.turn.Bye {
		delete(r.members, x.turn.Process)
	}

	// What was known before the record was made.
	if a.Basis != none && a.Version != 0 && a.Version < r.made {
		switch {
		case r.state == exchange.Unknown && !void:
			r.state, r.available, r.figured = exchange.Reported, a.Basis, now
			r.ends(now, a.BasisLeft)
		case r.state == exchange.Reported && isNew && now-r.made < recovery:
			r.available = min(r.available, a.Basis)
		}
	}
	if r.state == exchange.Unknown && a.Counts && a.Quota != none && !a.Concurrent {
		r.state, r.available, r.end = exchange.Counting, a.Quota, 0
	}
	r.policy(a)
	if !void {
		r.spend(now-max(a.ServedAgo.Microseconds(), 0), a.Served, r.began)
	}
	version := r.version
	if a.Spent > 0 && r.state != exchange.Unknown && r.state != exchange.Open && !a.Concurrent {
		r.available = max(r.available-a.Spent, 0)
	}
	if a.Figure != none {
		x.figure(r, a, void)
	} else if a.Silent == version && !void {
		x.silent(r, a)
	}
	if a.Refused || a.Hold > 0 {
		r.doubt()
	}
	if a.Refused && !r.modelled() {
		if r.state != exchange.Open && !(r.state == exchange.Reported && r.available == 0) {
			r.state, r.available, r.end = exchange.Expired, 0, 0
			r.version++
		}
		r.probe = 0
	}
	if a.Landed && r.state == exchange.Reported && r.version == version {
		r.version++ // what was in flight is not: a figure that does not know of it may not raise
	}
	if hold := now + min(a.Hold.Microseconds(), maxHeldSecond*sec); a.Hold > 0 && hold > r.hold+msec {
		r.hold = hold
		if r.state == exchange.Open {
			r.state, r.available, r.end = exchange.Expired, 0, 0
			r.version++
		}
		x.words = append(x.words, exchange.Word{Account: a.ID, Hold: time.Duration(hold-now) * time.Microsecond})
	}
}

// roll ends a window that is over. What is left of it may go; who has units of it has
// noticed before.
func (r *record) roll(now int64) {
	if r.end > 0 && r.end-now > r.length+sec {
		r.end = now + r.length // the clock was set back
	}
	for len(r.spending) > 0 && r.spending[0].at+r.window+sec <= now {
		r.spending = r.spending[1:]
	}
	if r.modelled() && r.state == exchange.Reported {
		if !r.rollModelled(now) {
			r.state, r.available, r.end = exchange.Expired, 0, 0
			r.version++
		}
		return
	}
	if r.end == 0 || now < r.end {
		return
	}
	r.turned(now < r.end+r.window)
	var out int64
	for _, m := range r.members {
		if m.at >= r.began {
			out += m.has
		}
	}
	if r.state == exchange.Reported {
		r.state, r.available = exchange.Expired, max(r.available-out, 0)
	}
	r.end, r.began, r.probe, r.probes = 0, now, 0, 0
	r.version++
	if r.state == exchange.Counting {
		r.available = none // the quota: see count
	}
}

// ends sets the end of the window. A figure without a window is looked at again after a
// while.
func (r *record) ends(now int64, left time.Duration) {
	r.length = left.Microseconds()
	if left < 0 {
		r.length = patience(r.probes)
	}
	r.end = now + max(r.length, 1)
}

// patience is how long a probe is waited for: 1 s, and twice as long after each in a row.
func patience(probes int64) int64 { return min(sec<<min(probes, 6), maxPatience) }

// figure takes over a figure of the server.
func (x *execution) figure(r *record, a *exchange.Account, void bool) {
	now, figure := x.now, a.Figure
	if a.Concurrent {
		// It comes on top of what the server is processing for all of us.
		for _, m := range r.members {
			figure += m.has - m.stock
		}
		if a.Quota != none {
			figure = a.Quota
		}
	}
	current := a.Concurrent || a.FigureVersion == r.version || r.version == r.made && r.state == exchange.Unknown
	end := now + max(a.Left.Microseconds(), 0)
	if r.modelled() && (r.state == exchange.Reported || r.state == exchange.Expired) {
		if !void {
			x.figureModelled(r, a, current)
		}
		return
	}
	same := r.end > 0 && max(end, r.end)-min(end, r.end) <= sameWindow
	switch {
	case current && !void, r.state == exchange.Counting, r.state == exchange.Open:
		if same && a.Left >= 0 && r.state == exchange.Reported {
			end = min(end, r.end)
		}
		if figure > 0 {
			r.probes = 0
		}
		if !a.Concurrent && (r.state == exchange.Reported || r.state == exchange.Expired) {
			r.observe(now, a, r.available, r.end)
		}
		r.said = now
		r.state, r.available, r.figured, r.probe = exchange.Reported, figure, now, 0
		r.ends(now, a.Left)
		if a.Left >= 0 && !a.Concurrent {
			r.end = max(end, now+1)
		}
		if a.Concurrent {
			r.end = 0
		}
		r.version++
	case r.state == exchange.Unknown:
	case r.state == exchange.Expired:
		r.available = min(r.available, figure)
	case a.Left >= 0 && end < r.end && !same: // of the window before
	case figure < r.available:
		r.available = figure
		if a.Left >= 0 && r.end > 0 {
			if same {
				r.end = min(r.end, max(end, now+1))
			} else {
				r.ends(now, a.Left)
			}
		}
		r.version++
	}
}

// silent takes over that a request which departed under the version in force was
// answered without a figure.
func (x *execution) silent(r *record, a *exchange.Account) {
	switch {
	case r.state != exchange.Unknown && r.state != exchange.Expired:
		return
	case a.Quota != none && a.Window > 0 && !a.Concurrent:
		r.state, r.available = exchange.Counting, max(a.Quota-a.Spent, 0)
		r.length = a.Window.Microseconds()
		r.end = x.now + r.length
	default:
		r.state, r.available, r.end = exchange.Open, 0, 0
	}
	r.probe, r.probes = 0, 0
	r.version++
}

// count finds what is left of an account, and what this process may take of it.
func (x *execution) count(i int) {
	r, a, now := x.records[i], &x.turn.Accounts[i], x.now
	if r.state == exchange.Counting && r.available == none {
		r.available = max(a.Quota, 0)
	}
	mine := x.mine[i]
	var out, lines, wanting int64
	for _, m := range r.members {
		lines++
		if m.at >= r.began {
			out += m.has
		}
		if m != mine && m.hungry > now {
			wanting++
		}
	}
	x.others[i] = wanting
	all := r.available
	if fleet := int64(x.turn.Peers); now-r.made < recovery && fleet > lines && r.state == exchange.Reported {
		all = all * lines / fleet
	}
	left := max(all-out-x.flights, 0)
	if now < r.hold || mine == nil {
		x.left[i] = 0
		return
	}
	if r.state == exchange.Open {
		x.left[i], x.allowed[i] = unlimited, unlimited
		return
	}
	x.left[i] = left
	x.allowed[i] = left
	wants := x.wants(i)
	if wanting == 0 || wants == nil {
		return
	}
	// The first of those that wait for longer, or are more urgent, keeps what it needs.
	me := &member{id: mine.id, priority: int64(wants.Priority), since: now - wants.Waited.Microseconds()}
	first := me
	for _, m := range r.members {
		if m == mine || m.hungry <= now {
			continue
		}
		if m.before(me) {
			x.ahead[i] += m.least
		}
		if m.before(first) {
			first = m
		}
	}
	if first.least <= left {
		x.first[i] = first.least
	}
	// All that are hungry are filled up to one level.
	level := r.level(now, mine, left)
	x.allowed[i] = min(max(level-mine.has, 0), left-x.first[i])
}

// before reports whether what m wants goes before what n does.
func (m *member) before(n *member) bool {
	switch {
	case m.priority != n.priority:
		return m.priority > n.priority
	case m.since != n.since:
		return m.since < n.since
	}
	return m.id < n.id
}

// wants returns the first request of the turn that claims an account, or nil.
func (x *execution) wants(i int) *exchange.Request {
	for k := range x.turn.Requests {
		for _, c := range x.turn.Requests[k].Claims {
			if c.Account == i {
				return &x.turn.Requests[k]
			}
		}
	}
	return nil
}

// looked reports whether another process comes when the window ends, and finds out what
// there is.
func (r *record) looked(now int64, mine *member) bool {
	for _, m := range r.members {
		if m != mine && m.hungry > now && m.looks > now && m.looks <= r.end+5*msec {
			return true
		}
	}
	return false
}

// stocked reports whether other processes have a stock.
func (r *record) stocked(mine *member) bool {
	for _, m := range r.members {
		if m != mine && m.at >= r.began && m.stock > 0 {
			return true
		}
	}
	return false
}

// level returns up to how many units each hungry process, and mine, may have, so that
// left units fill all of them up to the same.
func (r *record) level(now int64, mine *member, left int64) int64 {
	var has []int64
	for _, m := range r.members {
		if m == mine || m.hungry > now {
			if m.at >= r.began {
				has = append(has, m.has)
			} else {
				has = append(has, 0)
			}
		}
	}
	slices.Sort(has)
	var sum int64
	for n := int64(1); ; n++ {
		sum += has[n-1]
		level := (left + sum + n - 1) / n
		if n == int64(len(has)) || level <= has[n] {
			return level
		}
	}
}

// deal grants units to the requests of the turn, whole requests in their order, and then
// to the stock.
func (x *execution) deal() {
	for k := range x.turn.Requests {
		x.request(&x.turn.Requests[k])
	}
	for i := range x.records {
		r, a, m := x.records[i], &x.turn.Accounts[i], x.mine[i]
		if wish := a.Wish; wish > 0 && m.want == 0 && x.others[i] == 0 && !a.Concurrent &&
			r.state != exchange.Open && r.state != exchange.Unknown && x.left[i] > 0 {
			if lines := int64(len(r.members)); lines > 1 {
				wish = min(wish, x.left[i]/(2*lines))
			}
			wish = min(wish, x.left[i])
			x.granted[i] += wish
			x.left[i] -= wish
			m.stock += wish
		}
		m.has += x.granted[i]
		if r.state == exchange.Counting && r.end == 0 && x.granted[i] > 0 {
			r.length = max(a.Window.Microseconds(), sec)
			r.end = x.now + r.length
		}
		if x.probed[i] {
			r.probe = x.now + patience(r.probes)
			r.probes++
			r.figured = x.now
		}
		x.wake(i)
	}
}

// request grants as many of some equal requests as can go.
func (x *execution) request(q *exchange.Request) {
	n := q.N
	for _, c := range q.Claims {
		if x.stopped[c.Account] && c.Units > 0 {
			n = 0
		} else if c.Units > 0 {
			n = min(n, x.allowed[c.Account]/c.Units)
		}
	}
	if n == 0 && x.one(q) {
		n = 1
	}
	for _, c := range q.Claims {
		x.grant(c.Account, n*c.Units)
	}
	if n == q.N {
		return
	}
	// The first of the rest lacks something: of that, nothing goes before it. What it
	// would have is not granted to those after it, either.
	lacking := -1
	for _, c := range q.Claims {
		i := c.Account
		if c.Units == 0 {
			continue
		}
		if x.lacks(i, c.Units) {
			lacking = i
			m := x.mine[i]
			if m.want == 0 {
				m.least, m.priority, m.since = c.Units, int64(q.Priority), x.now-q.Waited.Microseconds()
			}
			m.want += (q.N - n) * c.Units
			x.stopped[i] = true
		} else {
			x.allowed[i] = max(x.allowed[i]-c.Units, 0)
			x.left[i] = max(x.left[i]-c.Units, 0)
		}
	}
	for _, c := range q.Claims {
		if i := c.Account; x.blocked[i] < 0 && c.Units > 0 {
			x.blocked[i] = lacking
		}
	}
}

// lacks reports whether so many units of an account cannot go.
func (x *execution) lacks(i int, units int64) bool {
	return x.stopped[i] || units > x.allowed[i] && !x.mayProbe(i)
}

func (x *execution) grant(i int, units int64) {
	x.granted[i] += units
	x.left[i] = max(x.left[i]-units, 0)
	x.allowed[i] = max(x.allowed[i]-units, 0)
}

// one reports whether one request may go although it is more than the share of the
// process: there is enough that is not kept for another, or it is the one that finds out
// what there is.
func (x *execution) one(q *exchange.Request) bool {
	probes := false
	for _, c := range q.Claims {
		i := c.Account
		switch r := x.records[i]; {
		case c.Units == 0 || c.Units <= x.allowed[i] && !x.stopped[i]:
		case x.stopped[i] || x.now < r.hold:
			return false
		case c.Units <= x.left[i]-x.first[i]:
		case x.mayProbe(i):
			probes = true
		default:
			return false
		}
	}
	for _, c := range q.Claims {
		if i := c.Account; probes && c.Units > x.left[i]-x.first[i] {
			x.probed[i] = true
		}
	}
	return true
}

// mayProbe reports whether a request may go to find out what there is.
func (x *execution) mayProbe(i int) bool {
	r := x.records[i]
	if x.now < r.probe || x.probed[i] {
		return false
	}
	switch r.state {
	case exchange.Unknown, exchange.Expired:
		return true
	case exchange.Reported:
		// No process holds units, so no answer will tell what is left. Or it was long ago.
		if x.turn.Accounts[i].Concurrent {
			return x.mine[i].has == 0 && x.left[i] == x.records[i].available
		}
		return x.now-r.figured >= longWindow || r.looks(x.now) && x.left[i] == r.available
	case exchange.Counting:
		return r.end == 0 // it costs more than there ever is
	}
	return false
}

// wake tells hungry processes of units that no process holds, and processes with a stock of
// those that are hungry.
func (x *execution) wake(i int) {
	r, now := x.records[i], x.now
	var hungry []*member
	stock, every := int64(0), returnsEvery
	if x.turn.Accounts[i].Concurrent {
		stock, every = 1, lookReleased // what is released goes to others first
	}
	for _, m := range r.members {
		if m.hungry > now && m != x.mine[i] {
			hungry = append(hungry, m)
		}
		if m != x.mine[i] && m.at >= r.began {
			stock += m.stock
		}
	}
	if len(hungry) == 0 && x.mine[i].want == 0 {
		return
	}
	slices.SortFunc(hungry, func(a, b *member) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	left := x.left[i]
	word := exchange.Word{Account: x.turn.Accounts[i].ID}
	for _, m := range hungry {
		free := r.state == exchange.Open || left >= m.least ||
			(r.state == exchange.Unknown || r.state == exchange.Expired) && now >= r.probe && len(word.Processes) == 0
		if !free || now < r.hold {
			break
		}
		left = max(left-m.least, 0)
		if now-m.woken >= wokenFor {
			m.woken = now
			word.Processes = append(word.Processes, m.id)
		}
	}
	if len(word.Processes) > 0 {
		x.words = append(x.words, word)
		return
	}
	if stock > 0 && now-r.returns >= every && r.state != exchange.Open {
		r.returns = now
		x.words = append(x.words, exchange.Word{Account: word.Account, Return: true})
	}
}

// reply says what is known of an account, and when to come again.
func (x *execution) reply(i int, void bool) exchange.Granted {
	r, now := x.records[i], x.now
	m := x.mine[i]
	g := exchange.Granted{
		Version: r.version, State: r.state, Available: r.available, Units: x.granted[i],
		Left: none, Peers: len(r.members), Hungry: int(x.others[i]),
	}
	if r.end > 0 {
		g.Left = time.Duration(max(r.end-now, 0)) * time.Microsecond
	}
	if now < r.hold {
		g.Hold = time.Duration(r.hold-now) * time.Microsecond
	}
	again := idle
	switch {
	case void:
	case m.want > 0:
		g.Lacks = true
		again = x.again(i)
		m.hungry = now + again + 2*sec
	case x.blocked[i] >= 0:
		again = x.again(x.blocked[i])
	case x.wants(i) != nil:
		again = lookShort // all were granted; others may wait meanwhile
	}
	g.Again = time.Duration(again) * time.Microsecond
	return g
}

// again is when a process that lacks units comes again, if nothing wakes it before.
func (x *execution) again(i int) int64 {
	r, now := x.records[i], x.now
	switch {
	case now < r.hold:
		return r.hold - now
	case x.turn.Accounts[i].Concurrent:
		return lookReleased
	case x.left[i] > 0 && x.left[i] >= x.mine[i].least:
		return wokenFor // they are kept for others, who may not come
	case r.modelled() && r.state == exchange.Reported, r.trial > now && now >= r.probe:
		if at := r.back(now, x.mine[i].least+x.ahead[i]-x.left[i]); at > now {
			return max(min(at-now, maxPatience), msec)
		}
		return max(min(r.end-now, sec), msec)
	case r.end > 0:
		left := r.end - now
		if r.available > 0 && r.stocked(x.mine[i]) {
			left = min(left, max(sec, left/8)) // what others have may come back
		}
		if left == r.end-now && r.looked(now, x.mine[i]) {
			left += behind
		} else if left == r.end-now {
			x.mine[i].looks = r.end
		}
		return max(min(left, maxPatience), msec)
	case r.probe > now:
		return max(min(r.probe-now, sec), msec)
	}
	return lookShort
}
