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
	latest   time.Time     // after this, waiting is in vain
	ticket   uint64        // of arrival
	units    int64         // of the gate whose line it is in
	priority int
	index    int32 // in line.waiters
	rindex   int32 // in line.last
	line     *line // nil: in none
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
type line struct {
	gate    gate
	waiters waiters     // the first goes first
	last    waiters     // the first goes last; kept where newest is set
	newest  bool        // go first
	limit   int64       // of queued; 0: nobody counts
	queued  int64       // permits that are waited for
	woken   *waiter     // has been told to look and has not come yet
	timer   *time.Timer // nil until it is needed
	armed   time.Time   // when it rings; zero: it does not
	patient time.Time   // until then, at least, it is in vain for none of them to wait
}

func newLine(g gate) *line {
	if a, ok := g.(*asking); ok {
		g = a.Custom
	}
	rule := g.rule()
	l := &line{gate: g, limit: rule.Limit, newest: rule.Order == NewestFirst}
	l.waiters.newest, l.last.newest, l.last.reverse = l.newest, l.newest, true
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
		a.book.origin.lines[l] = struct{}{}
	}
	*at = l
	if l.len() == 0 || w.latest.Before(l.patient) {
		l.patient = w.latest
	}
	w.line = l
	l.queued += l.places(w)
	heap.Push(&l.waiters, w)
	if l.newest {
		heap.Push(&l.last, w)
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
	heap.Remove(&l.waiters, int(w.index))
	if l.newest {
		heap.Remove(&l.last, int(w.rindex))
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
	if l == nil || l.woken != nil || *l.gate.queue() != l {
		return nil
	}
	w := l.first()
	if w == nil {
		l.arm(time.Time{})
		*l.gate.queue() = nil
		if a, ok := l.gate.(*account); ok {
			delete(a.book.origin.lines, l)
		}
		return nil
	}
	v := l.gate.look(now, w.units)
	if v.ok || v.vain(w.latest) {
		l.woken = w
		return w
	}
	l.arm(v.again)
	return nil
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
	if !until.After(l.patient) {
		return woken
	}
	l.patient = until
	for _, w := range l.waiters.ws {
		if until.After(w.latest) {
			woken = append(woken, w)
			if w.latest.Before(l.patient) {
				l.patient = w.latest
			}
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

// waiters is a heap of who goes first; in reverse, of who goes last.
type waiters struct {
	ws      []*waiter
	newest  bool
	reverse bool
}

func (h *waiters) Len() int { return len(h.ws) }

func (h *waiters) Less(i, j int) bool {
	if h.reverse {
		i, j = j, i
	}
	return h.ws[i].before(h.ws[j], h.newest)
}

func (h *waiters) Swap(i, j int) {
	h.ws[i], h.ws[j] = h.ws[j], h.ws[i]
	h.place(i)
	h.place(j)
}

// place tells the i-th waiter where it stands.
func (h *waiters) place(i int) {
	if h.reverse {
		h.ws[i].rindex = int32(i)
		return
	}
	h.ws[i].index = int32(i)
}

// Push is heap.Interface's.
func (h *waiters) Push(x any) {
	h.ws = append(h.ws, x.(*waiter))
	h.place(len(h.ws) - 1)
}

// Pop is heap.Interface's.
func (h *waiters) Pop() any {
	last := len(h.ws) - 1
	w := h.ws[last]
	h.ws[last] = nil
	h.ws = h.ws[:last]
	return w
}
