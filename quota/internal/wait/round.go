package wait

// A Round wakes the waiters of several lines one after another, so that each looks
// at its claims again. Beginning a round wakes only the first waiter, and each waiter
// wakes the next. It is guarded by the mutex that the constraints of the lines share.
// The zero Round is ready to use.
type Round struct {
	first, last *Waiter // in the order in which they came
	next        *Waiter // has been woken and has not looked yet; nil: no round is on
	number      uint64  // of the round that is on, or was last
	again       bool    // another round follows this one
}

// Begin begins a round, or another one after the round that is on.
func (r *Round) Begin() {
	if r.next != nil {
		r.again = true
		return
	}
	r.again = false
	r.number++
	r.next = r.first
	r.next.Wake()
}

// add adds a waiter that has just looked.
func (r *Round) add(w *Waiter) {
	if r == nil {
		return
	}
	w.round = r.number
	if w.previous = r.last; r.last != nil {
		r.last.following = w
	} else {
		r.first = w
	}
	r.last = w
}

// remove removes a waiter, and wakes the next one if it was its turn.
func (r *Round) remove(w *Waiter) {
	if r == nil {
		return
	}
	r.looked(w)
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
}

// looked goes on with the round if it was w's turn.
func (r *Round) looked(w *Waiter) {
	if r == nil || r.next != w {
		return
	}
	if r.next = w.following; r.next != nil && r.next.round == r.number {
		r.next = nil // it came during this round, and so did all after it
	}
	r.next.Wake()
	if r.next == nil && r.again {
		r.Begin()
	}
}
