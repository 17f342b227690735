package quota

import (
	"container/heap"
	"time"
)

// A waiter is somebody in line. It holds nothing but its place. It is moved by
// its own goroutine only; somebody else takes it out of its line only to push
// it out of a full one.
type waiter struct {
	ready    chan struct{} // receives when the waiter should look again
	latest   time.Time     // after this, waiting is in vain; zero: it never is
	ticket   uint64        // of arrival
	units    int64         // of the gate whose line it is in
	priority int
	place    [heaps]int32 // in the heaps of its line, from 1; 0: not there
	line     *line        // nil: in none
}

// before reports whether w goes before o: by priority, then by arrival.
func (w *waiter) before(o *waiter, newest bool) bool {
	if w.priority != o.priority {
		return w.priority > o.priority
	}
	return (w.ticket < o.ticket) != newest
}

// A line is who waits for a gate, and the one timer that will look again.
// Its gate's guard is held for all of its methods but ring.
//
// The invariant that keeps everybody moving: while somebody is in line,
// either the first has been woken and will look, or the timer is armed, or
// units are out whose release will look. A woken waiter therefore always
// passes the wake on: when it goes, when it moves to another line, when it
// gives up.
//
// The timer also rings when the first waiter's time is over, and wakes all of
// those, each once.
type line struct {
	gate    gate
	waiters waiters     // the first goes first
	last    waiters     // the first goes last; kept where newest is set
	expiry  waiters     // the first is the first whose waiting is in vain
	newest  bool        // go first
	limit   int64       // of queued; 0: nobody counts
	queued  int64       // permits that are waited for
	woken   *waiter     // has been told to look and has not come yet
	timer   *time.Timer // nil until it is needed
	armed   time.Time   // when it rings; zero: it does not
}

func newLine(g gate) *line {
	if a, ok := g.(*asking); ok {
		g = a.Custom
	}
	rule := g.rule()
	l := &line{gate: g, limit: rule.Limit, newest: rule.Order == NewestFirst}
	l.waiters.newest, l.last.newest = l.newest, l.newest
	l.last.by, l.expiry.by = byTurnReversed, byExpiry
	return l
}

// enter puts w in the line of g, if there is room, or room is made for it.
func enter(g gate, w *waiter) bool {
	at := g.queue()
	l := *at
	if l == nil {
		l = newLine(g)
	}
	if !l.admits(w) {
		return false
	}
	if a, ok := l.gate.(*account); ok && *at == nil {
		a.policy.origin.lines[l] = struct{}{}
	}
	*at = l
	w.line = l
	l.queued += l.places(w)
	heap.Push(&l.waiters, w)
	if l.newest {
		heap.Push(&l.last, w)
	}
	if !w.latest.IsZero() {
		heap.Push(&l.expiry, w)
	}
	return true
}

// places is how much of the queue w takes up.
func (l *line) places(w *waiter) int64 {
	if l.limit == 0 {
		return 0
	}
	return max(w.units, 1)
}

// admits reports whether w fits into the line. Where newest go first, it
// pushes those out who would go last until it does; it pushes nobody out who
// goes before w, nor in vain: where w alone is more than the limit, not even
// all of them would be enough.
func (l *line) admits(w *waiter) bool {
	n := l.places(w)
	short := n - (l.limit - l.queued)
	if short <= 0 {
		return true
	}
	if !l.newest || l.after(w) < short {
		return false
	}
	for l.limit-l.queued < n {
		out := l.last.ws[0]
		l.remove(out)
		out.wake()
	}
	return true
}

// after is the places of those who go after w.
func (l *line) after(w *waiter) (n int64) {
	if f := l.first(); f == nil || w.before(f, l.newest) {
		return l.queued
	}
	for _, o := range l.waiters.ws {
		if w.before(o, l.newest) {
			n += l.places(o)
		}
	}
	return n
}

// remove takes w out.
func (l *line) remove(w *waiter) {
	if l.woken == w {
		l.woken = nil
	}
	for _, h := range []*waiters{&l.waiters, &l.last, &l.expiry} {
		if at := w.place[h.by]; at > 0 {
			heap.Remove(h, int(at)-1)
		}
	}
	l.queued -= l.places(w)
	w.line = nil
}

// leave takes w out of its line, if it is in one, and passes a wake on. It
// returns the waiter to wake after unlocking, if any.
func leave(w *waiter, now time.Time) *waiter {
	l := w.line
	if l == nil {
		return nil
	}
	l.remove(w)
	return l.kick(now)
}

// len is how many wait.
func (l *line) len() int {
	if l == nil {
		return 0
	}
	return len(l.waiters.ws)
}

// permits is how many are waited for.
func (l *line) permits() int64 {
	if l == nil {
		return 0
	}
	return l.queued
}

// first is the waiter whose turn is next; nil in an empty line.
func (l *line) first() *waiter {
	if l.len() == 0 {
		return nil
	}
	return l.waiters.ws[0]
}

// lets reports whether nobody in the line goes before somebody who asks: w, if
// they are in a line already, else a newcomer of that priority.
func (l *line) lets(w *waiter, priority int) bool {
	f := l.first()
	switch {
	case f == nil || f == w:
		return true
	case w != nil:
		return w.before(f, l.newest)
	case priority == f.priority:
		return l.newest
	}
	return priority > f.priority
}

// kick looks at the line: the first waiter is returned, to be woken after
// unlocking, if it could go or would wait in vain; else the timer is set to
// look again. An empty line is dismantled.
func (l *line) kick(now time.Time) *waiter {
	if l == nil || *l.gate.queue() != l {
		return nil
	}
	w := l.first()
	if w == nil {
		l.arm(time.Time{})
		*l.gate.queue() = nil
		if a, ok := l.gate.(*account); ok {
			delete(a.policy.origin.lines, l)
		}
		return nil
	}
	if l.woken != nil {
		l.arm(sooner(l.armed, l.expires()))
		return nil
	}
	v := l.gate.look(now, w.units)
	if v.ok || v.vain(w.latest) {
		l.woken = w
		l.arm(sooner(l.armed, l.expires()))
		return w
	}
	l.arm(sooner(v.again, l.expires()))
	return nil
}

// sooner is the first of two instants; zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// expires is when the first waiter's time is over; zero: nobody's ever is.
func (l *line) expires() time.Time {
	if len(l.expiry.ws) == 0 {
		return time.Time{}
	}
	return l.expiry.ws[0].latest
}

// wakeAll tells everybody in line to look.
func (l *line) wakeAll() {
	if l == nil {
		return
	}
	for _, w := range l.waiters.ws {
		w.wake()
	}
}

// arm sets the timer to ring at the given instant; zero stops it. It reads the
// clock: the instant that its callers act at may have passed a while ago.
func (l *line) arm(at time.Time) {
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

// inVain appends those who cannot wait until the given instant, to be woken. It
// looks at none where all of them can: every answer that says when to come back
// asks all lines.
func (l *line) inVain(until time.Time, woken []*waiter) []*waiter {
	if e := l.expires(); e.IsZero() || !until.After(e) {
		return woken
	}
	for _, w := range l.expiry.ws {
		if until.After(w.latest) {
			woken = append(woken, w)
		}
	}
	return woken
}

// ring is the timer's.
func (l *line) ring() {
	g := l.gate.guarded()
	g.Lock()
	now := time.Now()
	var w *waiter
	if !now.Before(l.armed) { // else it has been set again meanwhile
		l.armed = time.Time{}
		for e := l.expires(); !e.IsZero() && !now.Before(e); e = l.expires() {
			heap.Pop(&l.expiry).(*waiter).wake()
		}
		w = l.kick(now)
	}
	g.Unlock()
	w.wake()
}

// wake tells w, if it is anybody, to look. It needs no lock and never blocks:
// a waiter that has not come since the last wake will look anyway.
func (w *waiter) wake() {
	if w == nil {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// An order is what a heap of waiters is by.
type order uint8

const (
	byTurn order = iota
	byTurnReversed
	byExpiry
	heaps = 3
)

// waiters is a heap of those in line. Each knows its place in it.
type waiters struct {
	ws     []*waiter
	by     order
	newest bool
}

func (h *waiters) Len() int { return len(h.ws) }

func (h *waiters) Less(i, j int) bool {
	switch h.by {
	case byTurnReversed:
		return h.ws[j].before(h.ws[i], h.newest)
	case byExpiry:
		return h.ws[i].latest.Before(h.ws[j].latest)
	}
	return h.ws[i].before(h.ws[j], h.newest)
}

func (h *waiters) Swap(i, j int) {
	h.ws[i], h.ws[j] = h.ws[j], h.ws[i]
	h.ws[i].place[h.by], h.ws[j].place[h.by] = int32(i)+1, int32(j)+1
}

// Push is heap.Interface's.
func (h *waiters) Push(x any) {
	w := x.(*waiter)
	h.ws = append(h.ws, w)
	w.place[h.by] = int32(len(h.ws))
}

// Pop is heap.Interface's.
func (h *waiters) Pop() any {
	last := len(h.ws) - 1
	w := h.ws[last]
	w.place[h.by] = 0
	h.ws[last] = nil
	h.ws = h.ws[:last]
	return w
}
