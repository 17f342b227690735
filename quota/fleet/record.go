package fleet

import (
	"slices"
	"time"

	"github.com/headway-go/headway/quota/exchange"
)

// This file is what the processes together know of an account: how each turn, each figure
// and each refusal changes it.

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
	found     []exchange.ID // nil: nothing was told
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
	took     int64 // units that it has spent lately, beyond what the others have: see age
	looks    int64 // when it was told to come, as the first at the end of the window; 0: it was not
}

// tell takes over what the turn says of an account.
func (x *execution) tell(i int, void bool) {
	r, a, now := x.records[i], &x.turn.Accounts[i], x.now
	last := now
	for _, m := range r.members {
		last = max(last, m.at)
	}
	if last > now {
		r.move(last - now)
	}
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
	if r.policy(a) && (r.state == exchange.Reported || r.state == exchange.Expired) {
		r.state, r.available, r.end = exchange.Open, 0, 0 // the figures are of another quota
		r.version++
	}
	if !void && r.quota != none {
		if m.took = min(m.took+a.Served, largestModel); m.took > r.quota {
			r.age(now)
		}
		r.spend(now-max(a.ServedAgo.Microseconds(), 0), a.Served, r.began)
	}
	if a.Version > r.version {
		r.version = a.Version + 1 // the store has lost what came after: no figure of that time raises anything
	}
	version := r.version
	if a.Spent > 0 && r.available != none && r.state != exchange.Unknown && r.state != exchange.Open && !a.Concurrent {
		r.available = max(r.available-a.Spent, 0)
	}
	if a.Figure != none {
		x.figure(r, a, void)
	} else if a.Silent == version && !void {
		x.silent(r, a)
	}
	if a.Refused || a.Hold > 0 {
		if r.doubt(); r.state == exchange.Reported && r.end == 0 && !r.modelled() && !a.Concurrent {
			r.ends(now, 0)
		}
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
	if len(a.Found) > 0 && !void {
		if r.found == nil {
			r.found = a.Found
		} else {
			r.found = common(r.found, a.Found)
		}
	}
	if a.Hold < 0 && now < r.hold && !void {
		r.hold = 0
		x.words = append(x.words, exchange.Word{Account: a.ID, Hold: -time.Microsecond})
	}
	if hold := now + min(a.Hold.Microseconds(), maxHeldSecond*sec); a.Hold > 0 && hold > r.hold+msec {
		word := exchange.Word{Account: a.ID, Hold: time.Duration(hold-now) * time.Microsecond}
		if looks := r.looksAtHold(now, m); looks != nil && (a.Figure == none || a.Quota != none && 2*a.Figure > a.Quota) {
			word.Processes = []string{looks.id}
		}
		r.hold = hold
		if r.state == exchange.Open {
			r.state, r.available, r.end = exchange.Expired, 0, 0
			r.version++
		}
		x.words = append(x.words, word)
	}
}

// looksAtHold returns the member that looks whether a new hold that mine was told holds others, too:
// the one that was heard last. Nil: none does, because the hold is not new.
func (r *record) looksAtHold(now int64, mine *member) (last *member) {
	if now < r.hold {
		return nil
	}
	for _, m := range r.members {
		if m != mine && (last == nil || m.at > last.at || m.at == last.at && m.id < last.id) {
			last = m
		}
	}
	return last
}

// common returns those of some accounts that are among others, too. Not nil: that means that none was told.
func common(some, others []exchange.ID) []exchange.ID {
	both := []exchange.ID{}
	for _, id := range some {
		if slices.Contains(others, id) {
			both = append(both, id)
		}
	}
	return both
}

// move makes all times of a record earlier by d: the clock was set back.
func (r *record) move(d int64) {
	times := []*int64{&r.end, &r.began, &r.figured, &r.hold, &r.probe, &r.returns, &r.trial, &r.said, &r.from}
	for _, m := range r.members {
		times = append(times, &m.at, &m.until, &m.since, &m.hungry, &m.woken, &m.looks)
	}
	for i := range r.spending {
		times = append(times, &r.spending[i].at)
	}
	for _, t := range times {
		if *t != 0 {
			*t -= d
		}
	}
}

// roll ends a window that is over. What is left of it is dropped; a process that has
// units of it has noticed the end by itself.
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
	r.turned(now, now < r.end+r.window)
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
	if r.how == singly && current {
		r.notSingly(figure)
	}
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
			r.refill(now, a)
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
