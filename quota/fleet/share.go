package fleet

import (
	"slices"
	"time"

	"github.com/headway-go/headway/quota/exchange"
)

// This file divides what there is: what is left of an account, what of it a process
// may take, which requests go, and which processes are told of the rest.

// count finds what is left of an account, and what this process may take of it.
func (x *execution) count(i int) {
	r, a, now := x.records[i], &x.turn.Accounts[i], x.now
	if r.state == exchange.Counting && r.available == none && a.Quota != none {
		r.available = max(a.Quota, 0)
	}
	mine := x.mine[i]
	var out, lines, silent int64
	var hungry []*member // the others, those first that go before
	for _, m := range r.members {
		lines++
		if m.at >= r.began {
			out += m.has
		} else if m.want > 0 && m.hungry <= now {
			silent++
		}
		if m != mine && m.hungry > now {
			hungry = append(hungry, m)
		}
	}
	slices.SortFunc(hungry, func(a, b *member) int {
		if r.precedes(a, b) {
			return -1
		}
		return 1
	})
	x.hungry[i] = hungry
	all := r.available
	if fleet := int64(x.turn.Peers); now-r.made < recovery && fleet > lines && r.state == exchange.Reported {
		all = all * lines / fleet
	}
	if silent > 0 && r.state == exchange.Reported && !r.modelled() {
		all = max(all*(lines-silent)/lines, min(all, 1)) // they may be alive, and take their part alone
	}
	if r.contended(out) {
		all = max(all*2/5, min(all, 1))
	}
	left := max(all-r.margin()-out-x.flights*x.most(i), 0)
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
	if len(hungry) == 0 || wants == nil {
		return
	}
	// Those that go before keep what they need first.
	me := *mine
	me.priority, me.since = int64(wants.Priority), now-wants.Waited.Microseconds()
	for _, m := range x.hungry[i] {
		if r.precedes(&me, m) {
			break
		}
		x.ahead[i] += m.least
		if x.ahead[i] <= left {
			x.kept[i] = x.ahead[i]
		} else if r.modelled() {
			x.kept[i] = left // what is missing comes back soon
		}
	}
	// All that are hungry are filled up to one level.
	x.allowed[i] = min(max(r.level(mine, x.hungry[i], left)-r.share(mine), 0), left-x.kept[i])
}

// contended reports whether others than our processes, which have so many units, use this
// window, too, or did use more than an eighth of the one before, and will be as quick in this
// one: no figure is true for long then, so not all of what is left is out at once.
func (r *record) contended(out int64) bool {
	return r.quota != none && r.state == exchange.Reported && r.how == atOnce && (r.trust > 0 || r.size()-r.available-r.spent-out > r.size()/50)
}

// margin is how many units are left where they are, if units come back evenly or steadily and refusals
// have shown that others use them, too: others take what comes back before a figure tells of it. The
// units stay there, so a margin costs them once, and a slower rate costs some in each window.
func (r *record) margin() int64 {
	if r.how != evenly && r.how != steadily {
		return 0
	}
	return min((sureOf-r.trust+marginStep-1)/marginStep, r.size()/marginPart)
}

// share is how much of an account a process has and has spent lately.
func (r *record) share(m *member) int64 {
	if m.at >= r.began {
		return m.took + m.has
	}
	return m.took
}

// precedes reports whether what m wants goes before what n does: it is more urgent, or the
// process has had less, or waits for longer.
func (r *record) precedes(m, n *member) bool {
	switch a, b := r.share(m), r.share(n); {
	case m.priority != n.priority:
		return m.priority > n.priority
	case a != b:
		return a < b
	case m.since != n.since:
		return m.since < n.since
	}
	return m.id < n.id
}

// age forgets at the end of a window, or after a quota, what each of those that wait has
// spent: only what is beyond the mean of them still counts. If none waits, all is forgotten.
func (r *record) age(now int64) {
	var sum, n int64
	for _, m := range r.members {
		if m.hungry > now {
			sum += m.took
			n++
		}
	}
	for _, m := range r.members {
		if n == 0 {
			m.took = 0
		} else {
			m.took = max(m.took-sum/n, 0)
		}
	}
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

// most returns the most units of an account that a request of the turn claims, at least one: so
// much each of the first requests of others may cost, of which that is not known yet.
func (x *execution) most(i int) int64 {
	most := int64(1)
	for k := range x.turn.Requests {
		for _, c := range x.turn.Requests[k].Claims {
			if c.Account == i {
				most = max(most, min(c.Units, largestModel))
			}
		}
	}
	return most
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

// level returns up to what share each hungry process, and mine, is filled up by left units.
func (r *record) level(mine *member, hungry []*member, left int64) int64 {
	shares := []int64{r.share(mine)}
	for _, m := range hungry {
		shares = append(shares, r.share(m))
	}
	slices.Sort(shares)
	var sum int64
	for n := int64(1); ; n++ {
		sum += shares[n-1]
		level := (left + sum + n - 1) / n
		if n == int64(len(shares)) || level <= shares[n] {
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
		if wish := a.Wish; wish > 0 && m.want == 0 && len(x.hungry[i]) == 0 && !a.Concurrent &&
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
		if r.how == singly && x.granted[i] > 0 {
			r.taken(x.now, x.granted[i])
		}
		if r.state == exchange.Counting && r.end == 0 && x.granted[i] > 0 && a.Quota != none {
			r.length = max(a.Window.Microseconds(), sec)
			r.end = x.now + r.length
		}
		if x.probed[i] {
			r.probe = x.now + patience(r.probes)
			if a.First {
				r.probe = x.now + sec
			}
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

// one reports whether the first request may go although it is more than the share of the
// process: there is enough that is not kept for others, or it is the one that finds out
// what there is.
func (x *execution) one(q *exchange.Request) bool {
	probes := false
	for _, c := range q.Claims {
		i := c.Account
		switch r := x.records[i]; {
		case c.Units == 0 || c.Units <= x.allowed[i] && !x.stopped[i]:
		case x.stopped[i] || x.granted[i] > 0 || x.now < r.hold:
			return false
		case c.Units <= x.left[i]-x.kept[i]:
		case x.mayProbe(i):
			probes = true
		default:
			return false
		}
	}
	for _, c := range q.Claims {
		if i := c.Account; probes && c.Units > x.left[i]-x.kept[i] {
			x.probed[i] = true
		}
	}
	return true
}

// mayProbe reports whether a request may go to find out what there is.
func (x *execution) mayProbe(i int) bool {
	r := x.records[i]
	if first := x.turn.Accounts[i].First && r.state == exchange.Unknown && r.probes < firstFlight; x.now < r.probe && !first || x.probed[i] {
		return false
	}
	switch r.state {
	case exchange.Unknown, exchange.Expired:
		return !x.yields(i)
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

// yields reports whether another process, which is about to be woken, finds out what there is:
// it has had less, by more than two requests, and the window before gave little. If it gave no
// more than one request, all of them would be of the process that comes first.
func (x *execution) yields(i int) bool {
	r, hungry := x.records[i], x.hungry[i]
	if r.quota == none || r.before > r.quota/2 || len(hungry) == 0 {
		return false
	}
	first := hungry[0]
	return (first.woken == 0 || x.now-first.woken < wokenFor) && r.share(x.mine[i])-r.share(first) > 2*x.most(i)
}

// wake tells hungry processes of units that no process holds, and processes with a stock of
// those that are hungry.
func (x *execution) wake(i int) {
	r, now := x.records[i], x.now
	others, every := int64(0), returnsEvery // what they have
	if x.turn.Accounts[i].Concurrent {
		others, every = 1, lookReleased // what is released goes to others first
	}
	for _, m := range r.members {
		if m != x.mine[i] && m.at >= r.began {
			others += m.has
		}
	}
	hungry := x.hungry[i]
	if len(hungry) == 0 && x.mine[i].want == 0 {
		return
	}
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
	if len(word.Processes) == 0 && x.late(i) {
		hungry[0].woken = now
		word.Processes = append(word.Processes, hungry[0].id)
	}
	if len(word.Processes) > 0 {
		x.words = append(x.words, word)
		return
	}
	if others > 0 && now-r.returns >= every && r.state != exchange.Open {
		r.returns = now
		x.words = append(x.words, exchange.Word{Account: word.Account, Return: true})
	}
}

// late reports whether units come back evenly or one at a time, and none of the hungry processes was told to
// come when the first of the others finds what it lacks: an answer has told meanwhile that it comes sooner,
// or what was ahead of them has gone. Of a log or a bucket it would gain little, and cost exchanges.
func (x *execution) late(i int) bool {
	r, now, hungry := x.records[i], x.now, x.hungry[i]
	if len(hungry) == 0 || r.how != singly && (r.how != evenly || r.soon()) || r.state != exchange.Reported || now < r.hold || now-hungry[0].woken < wokenFor {
		return false
	}
	if x.mine[i].want > 0 && x.ahead[i] == 0 {
		return false // this process is the first, and is told
	}
	at := r.back(now, hungry[0].least-x.left[i])
	for _, m := range hungry {
		if m.hungry-comesBy <= at+punctual {
			return false
		}
	}
	return at > now
}

// reply says what is known of an account, and when to come again.
func (x *execution) reply(i int, void bool) exchange.Granted {
	r, now := x.records[i], x.now
	m := x.mine[i]
	g := exchange.Granted{
		Version: r.version, State: r.state, Available: r.available, Units: x.granted[i],
		Left: none, Peers: len(r.members), Hungry: len(x.hungry[i]), Found: r.found,
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
		again = min(x.again(i), returnsWithin)
		m.hungry = now + again + comesBy
	case x.blocked[i] >= 0:
		again = min(x.again(x.blocked[i]), returnsWithin)
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
	case x.left[i] > 0 && x.left[i] >= x.mine[i].least && (!r.modelled() || x.ahead[i] <= x.left[i]):
		return wokenFor // they are kept for others, which may not come
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
	case r.state == exchange.Reported:
		return lookReleased // of concurrent requests; this process does not know that yet
	}
	return lookShort
}
