package window

import "time"

// This file is the end of a window that the server names as an instant of whole seconds,
// which is the same in all answers of that window. The Date of the answer is in whole
// seconds, too, so their difference can be wrong by a second in each direction.
//
// Where the server rounds instants up, and where its windows begin with a request and
// last whole seconds, the first answer tells the end exactly: one second before the
// difference. Elsewhere that is up to a second early. Then the request that departs at
// that end is refused with the same instant, and from then on the windows of the policy
// end one second later.

// Instants says what the instants of a server have turned out to mean. From 1 on it
// counts the windows that were over one second before the difference, so that it takes
// more than one request that arrived too early to contradict them.
type Instants int8

const (
	lateLoose        Instants = iota - 3 // as looseInstants, and not one second before the difference
	looseInstants                        // units come back before the instant: it is not the end of a window
	lateInstants                         // windows are not over one second before the difference
	unprovedInstants                     // nothing is known
	maxInstants      Instants = 8
)

// resetsAt is when the window of a figure is over, before the guard, and the round trip
// that the guard depends on. Both come from the first departure that was told the
// instant: a later one is told the same at another fraction of a second.
func (w *Window) resetsAt(t, sent Instant, f *Figure, refused bool, s *Server) (due Instant, trip time.Duration) {
	ahead := f.ahead()
	s.span(t, s.until(ahead))
	all := w.found(min(f.Available, MaxUnits), f) == w.most(s)
	furthest := s.ends.furthest()
	s.ends.observe(t, sent, f, refused || !all)
	s.roundsEnds = s.roundsEnds && s.ends.furthest() <= furthest
	if w.Strategy == Together {
		return w.namedEnd(t, sent, f, all, s)
	}
	w.observeInstants(sent, f, refused, s)
	w.set(unproved, s.Instants == unprovedInstants)
	switch {
	case s.Instants == looseInstants:
		w.forgetInstant()
		return sent.Add(s.until(ahead)), w.rtt
	case s.Instants == lateLoose:
		w.forgetInstant()
		return sent.Add(f.Window), w.rtt
	}
	byAnswer, ok := w.endByAnswer(t, sent, s.until(ahead), s)
	switch r := w.ownRare(); {
	case ok && f.Resets >= r.resets:
		r.resets, r.told, r.ahead = f.Resets, sent, ahead
		w.set(shortened, false)
		return byAnswer, 0
	case f.Resets < r.resets && sent < r.told: // of a window before
		return sent.Add(s.until(ahead)), w.rtt
	case f.Resets != r.resets || sent < r.told:
		r.resets, r.told, r.ahead = f.Resets, sent, ahead
		if all {
			r.ahead = s.nearest(ahead)
		}
		w.set(shortened, r.ahead < ahead)
		return sent.Add(s.until(r.ahead)), w.rtt
	default:
		return r.told.Add(s.until(r.ahead)), w.trip
	}
}

// ahead is how many seconds the instant is after the Date of the answer.
func (f *Figure) ahead() int32 { return int32(min(max(f.Ahead, 0), int64(MaxSavedTime/time.Second))) }

// forgetInstant forgets the instant that the server named last.
func (w *Window) forgetInstant() {
	if w.rare != nil {
		w.rare.resets = 0
	}
}

// loose reports whether units come back before the instants that the server names.
func (s *Server) loose() bool { return s.Instants == looseInstants || s.Instants == lateLoose }

// until is how long a window lasts that ends at an instant so many seconds after Date.
func (s *Server) until(ahead int32) time.Duration {
	if s.Instants != lateInstants {
		ahead--
	}
	return time.Duration(max(ahead, 1)) * time.Second
}

// nearest returns how many seconds ahead the end is, for a request that began its window and was told an instant that
// is so far ahead. Where windows are late, a server that rounds to the nearest second tells a second more now and then.
// One that rounds down never does, unless its windows do not begin with a request.
func (s *Server) nearest(ahead int32) int32 {
	switch {
	case s.Ahead < 0:
	case s.Ahead == 0 || ahead < s.Ahead:
		s.Ahead = ahead
	case s.Instants == lateInstants && ahead == s.Ahead+1:
		return s.Ahead
	}
	return ahead
}

// observeInstants looks at an answer to a request that departed after the window.
func (w *Window) observeInstants(sent Instant, f *Figure, refused bool, s *Server) {
	if refused && w.refill.trying {
		return // it was too early for the trial
	}
	if s.loose() && w.State == Expired && sent >= w.closed && w.unshared() && !(refused && f.Available > 0) {
		s.observeLoose(refused)
	}
	r := w.rarely()
	if r.resets == 0 {
		return
	}
	over := w.State == Expired && sent >= w.closed
	switch {
	case over && refused && w.is(shortened) && f.Resets == r.resets && w.closed != w.Hold:
		s.Ahead = -1
		w.rare.ahead++
		w.set(shortened, false)
	case s.Instants == lateInstants && !s.Retried && !refused && f.Resets > r.resets && w.available == 0 && r.soon(s, sent):
		s.Instants, s.Retried = unprovedInstants, true
	}
	if !over || s.Instants < unprovedInstants {
		return
	}
	switch same := f.Resets == r.resets; {
	case same && refused && w.closed != w.Hold:
		if s.Instants -= 2; s.Instants <= unprovedInstants {
			s.Instants = lateInstants
		}
	case same && !refused && w.available == 0 && w.contention.part() == 1 && w.isBack(sent):
		s.Instants = looseInstants
	case !same && sent < w.closed.Add(time.Second):
		s.Instants = min(s.Instants+1, maxInstants)
	}
}

// isBack reports whether a request that departed at sent, where nothing was left, found a unit that came back. It may have been
// left over, if the request had departed before the last figure came, and that had units left.
func (w *Window) isBack(sent Instant) bool { return w.sinceReport == 0 || w.inOrder(sent) }

// soon reports whether a request departed in the first half of the last second of a late window.
func (r *rare) soon(s *Server, sent Instant) bool {
	late := r.told.Add(s.until(r.ahead))
	return sent > late.Add(-time.Second) && sent < late.Add(-time.Second/2)
}

const (
	oneEarly     = 4 // for a refusal; one for an answer to a request that was served
	severalEarly = 3 * oneEarly
	mostEarly    = 64
)

// observeLoose looks at the first answer after an instant that is not the end of a window, of a client that is alone. Several
// refusals within few of these show that the instant is a second later. One does not: where units come back as they were spent,
// it may be for a unit that takes longer than another.
func (s *Server) observeLoose(refused bool) {
	switch {
	case refused && s.Instants == lateLoose:
		s.early = mostEarly
	case refused:
		if s.early += oneEarly; s.early >= severalEarly {
			s.Instants, s.early = lateLoose, mostEarly
		}
	case s.early > 0:
		if s.early--; s.early == 0 && s.Instants == lateLoose {
			s.Instants, s.early = looseInstants, severalEarly-oneEarly
		}
	}
}
