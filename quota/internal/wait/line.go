package wait

import (
	"container/heap"
	"math"
	"slices"
	"time"
)

// A Line has the waiters of one constraint, and the timer that looks again.
// Its methods are called with the constraint's mutex held. A nil Line is empty.
//
// Liveness: while a line has waiters, at least one of these holds:
//
//   - the first waiter has been woken, and will look;
//   - the timer is armed, and will look;
//   - units are taken whose Release will look;
//   - a round is on, and will wake the first waiter (see Round).
//
// A waiter that has been woken and leaves (because it is granted, gives up, or
// moves to another line) therefore looks at the line again, which wakes the
// next one. Only the first waiter is woken, so that a release of one unit does
// not wake a thousand.
//
// The timer also fires when the first of the waiters runs out of time, and
// wakes each of those once, so that it can be refused. It goes instead, before those whose turn it is,
// if enough is there for all of them: see Waiter.mayPass.
//
// Fairness: a waiter is in one line at a time, that of a constraint that refuses
// it. If its turn comes there and another constraint refuses it, it moves to that
// one's line, and keeps the units that it could have had: until it is granted or
// gives up, work that goes after it is charged only if enough is there for both for
// certain (see Decision.Last).
// So two constraints that each say yes while the other says no let the waiter
// through in the end, though it never holds anything.
//
// What a waiter keeps it keeps for an eighth of the time that it has waited, and
// not if the other constraint is known to refuse it until then. Then it keeps
// nothing for seven times as long. So a waiter that is stuck elsewhere costs a
// line little; and as it keeps units of all its lines at the same time, and for
// longer each time, its wait ends: where each of its constraints lets it have its
// turn within d, it is passed over for about eight times the sum of these d.
type Line struct {
	constraint Constraint
	byTurn     waiters     // the first goes first
	byTurnLast waiters     // the first goes last; kept only with newest
	byLatest   waiters     // the first runs out of time first
	newest     bool        // the newest waiter goes first
	limit      int64       // of queued; 0: there is none, and queued is not kept
	queued     int64       // units that are waited for
	raised     priorities  // of queued, with another priority than 0
	woken      *Waiter     // has been woken and has not looked yet
	timer      *time.Timer // nil until it is needed
	armed      time.Time   // when the timer fires; zero: it does not
	kept       keep
	round      *Round // of the constraint
}

// A keep is what a line keeps for a waiter that is in another line. The zero keep
// is none.
type keep struct {
	by    *Waiter
	units int64
	until time.Time
}

// LineOptions are the options of a Line.
type LineOptions struct {
	// NewestFirst lets the newest waiter of a priority go first, not the oldest.
	NewestFirst bool

	// Limit is how many units may be waited for; a waiter for 0 units counts as
	// 1. Zero means that there is no limit. Where a newcomer does not fit, it is
	// refused; with NewestFirst, the waiters that would go last are pushed out instead,
	// if that makes room enough.
	Limit int64
}

// NewLine returns an empty line of c. Constraint.OpenLine calls it.
func NewLine(c Constraint, o LineOptions) *Line {
	l := &Line{constraint: c, limit: o.Limit, newest: o.NewestFirst, round: c.Round()}
	l.byTurn.newest, l.byTurnLast.newest = l.newest, l.newest
	l.byTurnLast.by, l.byLatest.by = byTurnReversed, byLatest
	return l
}

// A Waiter is a place in line. It holds nothing else. Only its own goroutine
// moves it, but a newcomer may push it out of a full line.
type Waiter struct {
	ready    chan struct{} // receives when the waiter should look again
	latest   time.Time     // when it runs out of time; zero: never
	ticket   uint64        // of arrival
	units    int64         // of the constraint whose line it is in: see Claim.Asks
	priority int
	place    [heaps]int32  // in the heaps of its line, from 1; 0: not there
	line     *Line         // nil: in none
	came     time.Time     // when it began to wait
	maxDelay time.Duration // after came: Options.MaxDelay
	keeps    []*Line       // that keep units for it, or did; only its own goroutine changes them
	until    time.Duration // after came: when it stops keeping units
	resumes  time.Duration // after came: when it may keep units again

	previous, following *Waiter // in the round of the line
	turn                bool    // it looks in its turn of the round, and has not gone on waiting
}

// Wake tells w to look again. It needs no mutex and never blocks: a waiter that
// has not looked since the last wake will look anyway. It does nothing for nil.
func (w *Waiter) Wake() {
	if w == nil {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// Wake wakes waiters. No mutex is held.
func Wake(woken []*Waiter) {
	for _, w := range woken {
		w.Wake()
	}
}

// before reports whether w goes before o: by priority, then by arrival.
func (w *Waiter) before(o *Waiter, newest bool) bool {
	if w.priority != o.priority {
		return w.priority > o.priority
	}
	return (w.ticket < o.ticket) != newest
}

// enter puts w into the line of c, and reports whether there was room.
func enter(c Constraint, w *Waiter) bool {
	l := c.Line()
	if l == nil {
		l = c.OpenLine()
	}
	if !l.makeRoom(w) {
		l.closeIfEmpty()
		return false
	}
	w.line = l
	l.round.add(w)
	l.queued += l.places(w)
	l.raised.add(w.priority, l.places(w))
	heap.Push(&l.byTurn, w)
	if l.newest {
		heap.Push(&l.byTurnLast, w)
	}
	if !w.latest.IsZero() {
		heap.Push(&l.byLatest, w)
	}
	return true
}

// places is how much of the limit w takes up.
func (l *Line) places(w *Waiter) int64 {
	if l.limit == 0 {
		return 0
	}
	return max(w.units, -w.units, 1)
}

// makeRoom reports whether w fits into the line. With newest, it first pushes out
// as many of the last waiters as it takes. It pushes out no waiter that goes before
// w, and none at all if that would not make room enough.
func (l *Line) makeRoom(w *Waiter) bool {
	n := l.places(w)
	short := n - (l.limit - l.queued)
	if short <= 0 {
		return true
	}
	if !l.newest || l.placesAfter(w) < short {
		return false
	}
	for l.limit-l.queued < n {
		out := l.byTurnLast.ws[0]
		l.remove(out)
		out.Wake()
	}
	return true
}

// placesAfter returns the places of the waiters that go after w.
func (l *Line) placesAfter(w *Waiter) (n int64) {
	if f := l.first(); f == nil || w.before(f, l.newest) {
		return l.queued
	}
	for _, o := range l.byTurn.ws {
		if w.before(o, l.newest) {
			n += l.places(o)
		}
	}
	return n
}

// remove takes w out.
func (l *Line) remove(w *Waiter) {
	if l.woken == w {
		l.woken = nil
	}
	for _, h := range []*waiters{&l.byTurn, &l.byTurnLast, &l.byLatest} {
		if at := w.place[h.by]; at > 0 {
			heap.Remove(h, int(at)-1)
		}
	}
	l.queued -= l.places(w)
	l.raised.add(w.priority, -l.places(w))
	l.round.remove(w)
	w.line = nil
}

// keepFor keeps units for w, whose turn it is and which another constraint
// refuses until the given instant; zero: that is not known.
func (l *Line) keepFor(w *Waiter, units int64, now, refused time.Time) {
	waited, until := now.Sub(w.came), w.until
	if waited >= w.resumes {
		until = waited + waited/keptShare
	}
	if !now.Before(l.kept.until) {
		l.kept = keep{}
	}
	end, o := w.came.Add(until), l.kept.by
	if waited >= until || !refused.IsZero() && !refused.Before(end) || o == w || o != nil && !w.before(o, l.newest) {
		return
	}
	if until != w.until {
		w.until, w.resumes = until, 2*waited
	}
	l.kept = keep{by: w, units: units, until: end}
	if !slices.Contains(w.keeps, l) {
		w.keeps = append(w.keeps, l)
	}
}

// keptShare is the share of the time that a waiter has waited for which it keeps
// units: one in so many.
const keptShare = 8

// keepsFrom returns until when units that would be charged now are kept for a waiter
// that goes before the one that asks for units of c: w, or a newcomer of that priority
// if w is nil. Zero: they are not. Nothing is kept where there is
// enough for both, and that is worth a look before the end.
func (l *Line) keepsFrom(c *Claim, now time.Time, w *Waiter, priority int) (until time.Time) {
	if l == nil || l.kept.by == nil || l.kept.by == w || !now.Before(l.kept.until) || l.goesBefore(l.kept.by, w, priority) {
		return time.Time{}
	}
	both := l.kept.units + min(c.Units, math.MaxInt64-l.kept.units)
	d := c.Constraint.Look(now, both)
	if d.OK && !d.Last {
		return time.Time{}
	}
	return sooner(sooner(d.Again, d.Recheck), l.kept.until)
}

// keepsFromWaiter is keepsFrom for the units that w waits for in this line.
func (l *Line) keepsFromWaiter(w *Waiter, now time.Time) (until time.Time) {
	return l.keepsFrom(&Claim{Constraint: l.constraint, Units: max(w.units, -w.units)}, now, w, 0)
}

// dropKeeps ends all that is kept for w, and appends the waiters to wake.
func (w *Waiter) dropKeeps(now time.Time, next []*Waiter) []*Waiter {
	for _, l := range w.keeps {
		if l.kept.by == w {
			l.kept = keep{}
			next = append(next, l.Kick(now))
		}
	}
	w.keeps = nil
	return next
}

// leave takes w out of its line, if it is in one, and looks at the line. It
// returns the waiter to wake after unlocking; nil: none.
func (w *Waiter) leave(now time.Time) *Waiter {
	l := w.line
	if l == nil {
		return nil
	}
	l.remove(w)
	return l.Kick(now)
}

// join puts w into the line of claim c, unless it is there already. It returns
// the waiter to wake in the line that w left, and whether there was room.
func (w *Waiter) join(c *Claim, now time.Time) (next *Waiter, room bool) {
	w.turn = false
	if w.line != nil {
		if w.line == c.Constraint.Line() {
			w.units = c.Asks() // they change only where the line has no limit
			return nil, true
		}
		next = w.leave(now)
	}
	w.units = c.Asks()
	return next, enter(c.Constraint, w)
}

// look begins a waiter's look after a wake. It reports whether w is still in
// line.
func (w *Waiter) look() bool {
	if w.line == nil {
		return false
	}
	if w.line.woken == w {
		w.line.woken = nil
	}
	w.turn = w.line.round.looked(w)
	return true
}

// Len returns how many wait.
func (l *Line) Len() int {
	if l == nil {
		return 0
	}
	return len(l.byTurn.ws)
}

// Units returns how many units are waited for; a waiter for 0 units counts as 1.
func (l *Line) Units() (n int64) {
	switch {
	case l == nil:
		return 0
	case l.limit != 0:
		return l.queued
	}
	for _, w := range l.byTurn.ws {
		n += min(max(w.units, -w.units, 1), math.MaxInt64-n)
	}
	return n
}

// unitsBefore returns the units of the waiters that go before a newcomer of that
// priority; 0 in a line without a limit: no constraint that has one knows its
// backlog. It looks at no waiter: each newcomer asks.
func (l *Line) unitsBefore(priority int) (n int64) {
	if l == nil {
		return 0
	}
	add := func(p int, units int64) {
		if p > priority || p == priority && !l.newest {
			n += units
		}
	}
	plain := l.queued
	for p, units := range l.raised {
		plain -= units
		add(p, units)
	}
	add(0, plain)
	return n
}

// mostPassed is how many waiters are counted for one that may pass them.
const mostPassed = 1000

// expired reports whether w has waited for as long as it may.
func (w *Waiter) expired(now time.Time) bool { return now.Sub(w.came) >= w.maxDelay }

// mayPass reports whether w, which is out of time, may be charged for a claim before those in its line whose turn it is,
// because enough is there for all of them: they have been woken at the same time, and have not looked yet. Nil, a newcomer,
// may not.
func (w *Waiter) mayPass(c *Claim, now time.Time) bool {
	l := c.Constraint.Line()
	if w == nil || !w.expired(now) || l.Len() > mostPassed {
		return false
	}
	all := c.Units
	for _, other := range l.byTurn.ws {
		if other != w && other.before(w, l.newest) {
			all += min(max(other.units, -other.units), math.MaxInt64-all)
		}
	}
	d := c.Constraint.Look(now, all)
	return d.OK && !d.Last && !d.Single
}

// priorities are units by priority, of those that are not 0: most lines have no other, and no map.
type priorities map[int]int64

// add adds units of a priority.
func (ps *priorities) add(priority int, units int64) {
	if priority == 0 {
		return
	}
	if *ps == nil {
		*ps = make(priorities)
	}
	if (*ps)[priority] += units; (*ps)[priority] == 0 {
		delete(*ps, priority)
	}
}

// first is the waiter whose turn is next; nil in an empty line.
func (l *Line) first() *Waiter {
	if l.Len() == 0 {
		return nil
	}
	return l.byTurn.ws[0]
}

// hasTurn reports whether no waiter in the line goes before w, which may wait in
// another line; or, if w is nil, before a newcomer of that priority.
func (l *Line) hasTurn(w *Waiter, priority int) bool {
	f := l.first()
	return f == nil || f == w || l.goesBefore(f, w, priority)
}

// goesBefore reports whether w goes before f, or a newcomer of that priority if w is nil.
func (l *Line) goesBefore(f, w *Waiter, priority int) bool {
	switch {
	case w != nil:
		return w.before(f, l.newest)
	case priority == f.priority:
		return l.newest
	}
	return priority > f.priority
}

// Kick looks at the line. If the first waiter can go, or cannot go in time, Kick
// returns it, for the caller to wake after unlocking; else it sets the timer to
// look again. It closes an empty line.
func (l *Line) Kick(now time.Time) *Waiter {
	if l == nil || l.constraint.Line() != l {
		return nil
	}
	if l.kept.by != nil && !now.Before(l.kept.until) {
		l.kept = keep{}
	}
	if l.closeIfEmpty() {
		return nil
	}
	if l.woken != nil {
		l.arm(sooner(l.armed, l.firstLatest()))
		return nil
	}
	w := l.first()
	if w == nil {
		l.arm(l.kept.until)
		return nil
	}
	d := l.constraint.Look(now, w.units)
	if until := l.round.owes(w); d.OK && !until.IsZero() {
		l.arm(sooner(sooner(l.kept.until, l.firstLatest()), until)) // the round wakes it before, as a rule
		return nil
	}
	if d.OK {
		if until := l.keepsFromWaiter(w, now); !until.IsZero() {
			l.arm(sooner(until, l.firstLatest()))
			return nil
		}
	}
	if d.OK || d.tooLate(w.latest) {
		l.woken = w
		l.arm(sooner(l.armed, l.firstLatest()))
		return w
	}
	l.arm(sooner(sooner(sooner(d.Again, d.Recheck), l.kept.until), l.firstLatest()))
	return nil
}

// closeIfEmpty closes the line if it has no waiters and keeps no units, and
// reports whether it did.
func (l *Line) closeIfEmpty() bool {
	if l.Len() > 0 || l.kept.by != nil {
		return false
	}
	l.arm(time.Time{})
	l.constraint.CloseLine()
	return true
}

// sooner is the first of two instants; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// firstLatest is when the first of the waiters runs out of time; zero: none does.
func (l *Line) firstLatest() time.Time {
	if len(l.byLatest.ws) == 0 {
		return time.Time{}
	}
	return l.byLatest.ws[0].latest
}

// Append appends all waiters of the line, for the caller to wake after
// unlocking.
func (l *Line) Append(woken []*Waiter) []*Waiter {
	if l == nil {
		return woken
	}
	return append(woken, l.byTurn.ws...)
}

// AppendKicked is Kick, and appends the waiter, if there is one.
func (l *Line) AppendKicked(woken []*Waiter, now time.Time) []*Waiter {
	if w := l.Kick(now); w != nil {
		woken = append(woken, w)
	}
	return woken
}

// AppendTooLate appends the waiters that run out of time before the given instant,
// for the caller to wake after unlocking. If none does, it looks at one waiter only:
// it is called for all lines of an origin.
func (l *Line) AppendTooLate(woken []*Waiter, until time.Time) []*Waiter {
	if l == nil {
		return woken
	}
	if e := l.firstLatest(); e.IsZero() || !until.After(e) {
		return woken
	}
	for _, w := range l.byLatest.ws {
		if until.After(w.latest) {
			woken = append(woken, w)
		}
	}
	return woken
}

// WakeAll wakes all waiters of the line.
func (l *Line) WakeAll() {
	if l == nil {
		return
	}
	for _, w := range l.byTurn.ws {
		w.Wake()
	}
}

// arm sets the timer to fire at the given instant; zero stops it. It reads the
// clock, because the callers' instant may be some time ago.
func (l *Line) arm(at time.Time) {
	switch {
	case at.Equal(l.armed):
		return
	case at.IsZero():
		l.timer.Stop()
	case l.timer == nil:
		l.timer = time.AfterFunc(time.Until(at), l.ring)
	default:
		l.timer.Reset(time.Until(at))
	}
	l.armed = at
}

// ring runs when the line's timer fires. The mutex is not held.
func (l *Line) ring() {
	m := l.constraint.Mutex()
	m.Lock()
	now := time.Now()
	var w *Waiter
	if !now.Before(l.armed) { // else the timer has been set again meanwhile
		l.armed = time.Time{}
		for e := l.firstLatest(); !e.IsZero() && !now.Before(e); e = l.firstLatest() {
			heap.Pop(&l.byLatest).(*Waiter).Wake()
		}
		w = l.Kick(now)
	}
	m.Unlock()
	w.Wake()
}

// Problem says how the line breaks its promises at a moment at which all waiters
// are blocked, for tests; "" if it does not. released reports whether units are
// taken whose Release will look at the line.
func (l *Line) Problem(now time.Time, released bool) string {
	if l == nil {
		return ""
	}
	w := l.first()
	switch {
	case l.kept.by != nil && (l.armed.IsZero() || l.armed.After(l.kept.until)) && l.woken == nil:
		return "units are kept, and no timer ends that"
	case w == nil && l.kept.by != nil:
		return ""
	case w == nil:
		return "an empty line is kept"
	case l.Woken() != nil:
		return "" // it will look
	case !l.armed.IsZero() && l.armed.Before(now):
		return "the timer should have fired"
	case l.armed.IsZero() && !released:
		return "no waiter is woken, no timer is armed, and nothing will be released"
	}
	for i, w := range l.byTurn.ws {
		if int(w.place[byTurn]) != i+1 || w.line != l {
			return "a waiter is not where it thinks it is"
		}
	}
	if l.constraint.Look(now, w.units).OK && l.round.owes(w).IsZero() && l.keepsFromWaiter(w, now).IsZero() {
		return "the first could go, and is told only in " + l.armed.Sub(now).String()
	}
	return ""
}

// Woken returns the waiter that was woken and has not looked yet, by the line or by a round
// if it is the first; nil: there is none.
func (l *Line) Woken() *Waiter {
	switch {
	case l == nil:
		return nil
	case l.woken == nil && l.round != nil && l.round.next == l.first():
		return l.round.next
	}
	return l.woken
}

// An order is what a heap of waiters is sorted by.
type order uint8

const (
	byTurn order = iota
	byTurnReversed
	byLatest
	heaps = 3
)

// waiters is a heap of those in line. Each knows its place in it.
type waiters struct {
	ws     []*Waiter
	by     order
	newest bool
}

func (h *waiters) Len() int { return len(h.ws) }

func (h *waiters) Less(i, j int) bool {
	switch h.by {
	case byTurnReversed:
		return h.ws[j].before(h.ws[i], h.newest)
	case byLatest:
		return h.ws[i].latest.Before(h.ws[j].latest)
	}
	return h.ws[i].before(h.ws[j], h.newest)
}

func (h *waiters) Swap(i, j int) {
	h.ws[i], h.ws[j] = h.ws[j], h.ws[i]
	h.ws[i].place[h.by], h.ws[j].place[h.by] = int32(i)+1, int32(j)+1
}

// Push implements heap.Interface.
func (h *waiters) Push(x any) {
	w := x.(*Waiter)
	h.ws = append(h.ws, w)
	w.place[h.by] = int32(len(h.ws))
}

// Pop implements heap.Interface.
func (h *waiters) Pop() any {
	last := len(h.ws) - 1
	w := h.ws[last]
	w.place[h.by] = 0
	h.ws[last] = nil
	h.ws = h.ws[:last]
	return w
}
