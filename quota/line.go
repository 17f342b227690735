package quota

import (
	"container/heap"
	"time"
)

// A waiter is somebody in line. It holds nothing but its place, and it is
// moved and removed by its own goroutine only.
type waiter struct {
	ready    chan struct{} // receives when the waiter should look again
	arrived  time.Time
	latest   time.Time // after this, waiting is in vain
	seq      uint64    // among those who arrived at the same instant
	units    int64     // of the gate whose line it is in
	priority int
	index    int // in the heap
	line     *line
}

// before reports whether w goes first: by priority, then by arrival.
func (w *waiter) before(o *waiter) bool {
	if w.priority != o.priority {
		return w.priority > o.priority
	}
	if !w.arrived.Equal(o.arrived) {
		return w.arrived.Before(o.arrived)
	}
	return w.seq < o.seq
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
	waiters waiters
	woken   *waiter     // has been told to look and has not come yet
	timer   *time.Timer // nil until it is needed
	armed   time.Time   // when it rings; zero: it does not
}

// enter puts w in the line of g.
func enter(g gate, w *waiter) {
	at := g.queue()
	if *at == nil {
		*at = &line{gate: g}
		if a, ok := g.(*account); ok {
			a.origin.lines[*at] = struct{}{}
		}
	}
	w.line = *at
	heap.Push(&w.line.waiters, w)
}

// leave takes w out of its line and passes a wake on. It returns the waiter
// to wake after unlocking, if any.
func leave(w *waiter, now time.Time) *waiter {
	l := w.line
	if l.woken == w {
		l.woken = nil
	}
	heap.Remove(&l.waiters, w.index)
	w.line = nil
	return l.kick(now)
}

// len is how many wait.
func (l *line) len() int {
	if l == nil {
		return 0
	}
	return len(l.waiters)
}

// first is the waiter whose turn is next; nil in an empty line.
func (l *line) first() *waiter {
	if l == nil || len(l.waiters) == 0 {
		return nil
	}
	return l.waiters[0]
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
			delete(a.origin.lines, l)
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

// inVain appends those who cannot wait until the given instant, to be woken.
func (l *line) inVain(until time.Time, woken []*waiter) []*waiter {
	for _, w := range l.waiters {
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

// waiters is a heap of who goes first.
type waiters []*waiter

func (h waiters) Len() int           { return len(h) }
func (h waiters) Less(i, j int) bool { return h[i].before(h[j]) }
func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push is heap.Interface's.
func (h *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

// Pop is heap.Interface's.
func (h *waiters) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return w
}
