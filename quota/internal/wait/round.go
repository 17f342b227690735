package wait

// A Round wakes the waiters of several lines one after another, so that each looks
// at its claims again. Beginning a round wakes only the first waiter, and each waiter
// wakes the next: who came first looks first. It is guarded by the mutex that the
// constraints of the lines share. The zero Round is ready to use.
type Round struct {
	first, last *Waiter // by Waiter.ticket: who moves to another line keeps the turn
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

// add adds a waiter that has just looked. Who moves to another line in this round has
// its place right before the next one; most others are the last.
func (r *Round) add(w *Waiter) {
	if r == nil {
		return
	}
	w.round = r.number
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
	r.next = w.following
	for r.next != nil && r.next.round == r.number { // it has looked in this round
		r.next = r.next.following
	}
	r.next.Wake()
	if r.next == nil && r.again {
		r.Begin()
	}
}
