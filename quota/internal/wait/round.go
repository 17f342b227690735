package wait

import "time"

// A Round wakes the waiters of several lines one after another, so that each looks
// at its claims again: what it claims may have changed, and so the line that it waits
// in. Beginning a round wakes only the first waiter, and each waiter wakes the next. It
// is guarded by the mutex that the constraints of the lines share. The zero Round is
// ready to use.
//
// Fairness: waiters look in the order in which they came. While a round is on, a waiter
// is not charged for a constraint of the round before all that came earlier have looked,
// although something else has woken it: an earlier one may be about to claim the same.
// It waits in the line of that constraint, and looks again when its turn comes. This
// concerns waiters only: a newcomer does not wait for a round, unless it finds a line.
//
// A turn lasts until the waiter has looked, but no longer than maxTurn: a function of the
// caller that hangs does not stop the round. Nor does a waiter wait for the turns of others
// longer than that: many waiters in one line do not stall the other lines. A waiter
// whose function takes longer looks when that returns, and others may have passed it by
// then. (The waiters behind it in its own line, whose claims have not changed, wait for it.)
type Round struct {
	first, last *Waiter     // by Waiter.ticket
	next        *Waiter     // whose turn it is: it has been woken, and those before it have looked; nil: no round is on
	again       bool        // another round follows this one
	timer       *time.Timer // ends the turn of next; nil: no round is on
	ends        time.Time   // when the turn of next ends
	debt        time.Time   // until when others wait for the round
}

// maxTurn is the longest time that a turn lasts.
const maxTurn = 100 * time.Millisecond

// Begin begins a round, or another one after the round that is on.
func (r *Round) Begin() {
	if r.next != nil {
		r.again = true
		return
	}
	r.debt = time.Now().Add(maxTurn)
	r.turn(r.first)
}

// turn gives w the turn; nil: the round is over.
func (r *Round) turn(w *Waiter) {
	if w == nil && r.again {
		w = r.first
		r.again = false
		r.debt = time.Now().Add(maxTurn)
	}
	if r.next = w; w == nil {
		if r.timer != nil {
			r.timer.Stop()
			r.timer = nil
		}
		return
	}
	w.Wake()
	r.ends = time.Now().Add(maxTurn)
	if r.timer != nil {
		r.timer.Reset(maxTurn)
		return
	}
	m := w.line.constraint.Mutex()
	r.timer = time.AfterFunc(maxTurn, func() {
		m.Lock()
		defer m.Unlock()
		if r.next != nil && !time.Now().Before(r.ends) {
			r.looked(r.next)
		}
	})
}

// owes returns until when w waits, because a round is on and one that came before has not
// had its turn; zero: it does not. w takes part in the round or is about to; nil, a
// newcomer, does not.
func (r *Round) owes(w *Waiter) (until time.Time) {
	if r == nil || r.next == nil || w == nil || w.turn || r.next.ticket >= w.ticket || !time.Now().Before(r.debt) {
		return time.Time{}
	}
	return r.debt
}

// add adds a waiter, in the order in which they came. If its turn is still to come in the
// round that is on, it looks once more than it has.
func (r *Round) add(w *Waiter) {
	if r == nil {
		return
	}
	w.previous = r.last
	if r.next != nil && w.ticket < r.next.ticket {
		w.previous = r.next.previous
	}
	for w.previous != nil && w.previous.ticket > w.ticket {
		w.previous = w.previous.previous
	}
	if w.previous != nil {
		w.following, w.previous.following = w.previous.following, w
	} else {
		w.following, r.first = r.first, w
	}
	if w.following != nil {
		w.following.previous = w
	} else {
		r.last = w
	}
}

// remove removes a waiter, and wakes the next one if it was its turn.
func (r *Round) remove(w *Waiter) {
	if r == nil {
		return
	}
	following := w.following
	if w.previous != nil {
		w.previous.following = w.following
	} else {
		r.first = w.following
	}
	if w.following != nil {
		w.following.previous = w.previous
	} else {
		r.last = w.previous
	}
	w.previous, w.following = nil, nil
	if r.next == w {
		r.turn(following)
	}
}

// looked goes on with the round if it was w's turn, and reports whether it was.
func (r *Round) looked(w *Waiter) bool {
	if r == nil || r.next != w {
		return false
	}
	r.turn(w.following)
	return true
}
