package window

import "time"

// A Figure is a service limit (the draft, Section 3.1).
type Figure struct {
	Available int64
	Window    time.Duration // 0: over now; negative: none, the figure stands until the next answer

	// Resets is the end of the window in Unix seconds by the clock of the server,
	// rounded up; 0: the server did not name an instant. Ahead is how many seconds
	// that is after the Date of the answer.
	Resets, Ahead int64

	// Full is the time until the whole quota is there, of a bucket; 0: it is there, or
	// the quota is none. See bucket.go.
	Full time.Duration

	Again time.Duration // Retry-After of a refusal; 0 or less: none

	Charge   Charge // of the request; a Mark of 0: it was not charged
	Served   bool   // the request surely was, and was counted: see soft.go
	Doubtful bool   // it alone says that the request was refused: see soft.go
	Only     bool   // the answer has no other figure: see floor.go
}

// Report takes over a figure that arrived at t for a request that departed at
// sent. What it teaches of the policy's server goes into s.
//
// Cause before effect: a figure raises what is available only if its request
// departed after the figure in force had arrived. Figures of overlapping requests
// only lower it. In the table, the end is when the figure's window is over, with
// its guard, and two ends within a second are one window:
//
//	state              figure                                   what it does
//	unknown, counting  any                                      is in force
//	expired            departed before the end, and overlaps    bounds what is left
//	                   the figure before or has its window
//	expired            any other                                is in force
//	reported           departed after the figure in force       is in force; of one
//	                   and the last silent answer arrived       window the earlier end
//	reported           shows that a window has begun: see       its end counts
//	                   rise.go
//	reported           departed before the one in force, and    nothing: it is of the
//	                   ends earlier in another window           window before
//	reported           says less                                lowers; of one window the
//	                   the earlier end, of two the later,
//	                   unless that outlasts the policy's
//	reported           says no less                             of one window the earlier end
//
// Where the server names the end as an instant, it is that of resetsAt. A bucket has
// rules of its own: see reportBucket.
//
// Report returns what the request seems to have cost, by the figures; None if they do not
// show it: see costs.go.
func (w *Window) Report(t, sent Instant, f Figure, refused bool, s *Server) (cost int64) {
	w.Roll(t)
	how := w.habits()
	w.Used = t
	avail := min(f.Available, MaxUnits)
	if !refused {
		s.Most = max(s.Most, w.found(avail, &f))
	}
	if w.Quota >= 0 {
		avail = min(avail, w.Quota)
	}
	if w.Unit == Concurrent {
		due, _ := w.dueAt(t, sent, avail, &f, refused, s)
		w.reportConcurrent(t, sent, avail, due, refused)
		return None
	}
	w.travelled(time.Duration(t - sent))
	if w.ignores(t, sent, &f, avail, refused, s) {
		return None
	}
	cost = w.costOf(sent, f.Charge, avail, refused)
	w.compareQuiet(t, f.Charge, avail, refused, s)
	if w.State == Counting {
		if refused && avail == 0 && f.Window > 0 {
			w.Contradict(t, sent, f.Window)
			if w.counted() {
				return cost
			}
		}
		w.noBucket()
	}
	if f.Full == 0 {
		how.observeFull(w, avail, f.Window, s)
	}
	if w.observeFill(t, &f, avail, w.observeSteps(sent, avail, &f, refused, s)) {
		w.reportBucket(t, sent, avail, f, refused)
		w.noteFigure(f.Charge, avail)
		return cost
	}
	latest := Never
	if w.State == Reported && w.end == w.Hold { // a Retry-After has ended it
		latest = w.Hold
	}
	if f.Resets == 0 {
		how.observeRounding(w, sent, f.Window, avail, refused, s)
	}
	var before Instant // departure of the last request whose figure was in force in the window before; a Retry-After counts more
	if w.State == Expired && sent >= w.closed && !(refused && f.Again != 0) {
		before = w.sent
	}
	due, trip := w.dueAt(t, sent, avail, &f, refused, s)
	tells := f.Window >= 0
	if !tells && due != Never {
		f.Window = max(time.Duration(due-sent), time.Millisecond)
	}
	w.observeSoft(t, sent, avail, due, &f, refused, s)
	if f.Window == 0 && !how.guardsZero(w) {
		trip = 0 // there is no end to be careful with
	}
	if f.Window >= 0 && how.compareInstants() {
		w.observeFloor(&f, refused, s)
		w.observeSpent(t, sent, avail, tells, refused, s)
	}
	end := due
	if trip > 0 && due != Never {
		end = min(due.Add(w.guard(trip)), Never-1)
	}
	if refused && w.premature(sent, due) {
		s.Hasty = true
	}

	w.observeRises(t, sent, avail, refused, s)
	w.observeReturn(sent, avail, due, refused, s)
	if tells {
		w.observeLag(sent, due, &f, w.found(avail, &f), refused, s)
	}
	risen := w.observeRise(t, sent, avail, refused, s)
	older := sent < w.closed && w.takenIn(f.Charge.Mark) == thisWindow // than that rise
	switch {
	case w.State == Unknown || w.State == Counting:
		w.adopt(t, sent, avail, due, trip)
	case w.State == Expired && sent < w.closed && (sent < w.received || end <= w.closed.Add(time.Second)):
		w.available = min(w.available, avail)
	case w.State == Expired:
		w.adopt(t, sent, avail, due, trip)
	case w.inOrder(sent):
		if !risen && sameWindow(w.end, end) && w.end < end {
			due, trip = w.due, w.trip
		}
		w.adopt(t, sent, avail, due, trip)
	case risen && end-w.end <= Instant(max(w.Length, time.Second)): // not of a longer quota
		w.due, w.trip = due, trip
	case end < w.end && sent < w.sent && !sameWindow(w.end, end):
	case avail < w.available:
		if sent < w.closed && w.unshared() {
			w.contention.from = 0 // it may be of the window before, and shows no first other client
		}
		w.available, w.sent, w.received = avail, max(sent, w.sent), t
		if !older && (sameWindow(w.end, end) == (end < w.end) || w.outlasts(t)) {
			w.due, w.trip = due, trip
		}
	case !older && sameWindow(w.end, end) && end < w.end:
		w.due, w.trip = due, trip
	}
	if !refused {
		w.probes = 0 // a request was served
	}
	if w.State == Reported {
		if f.Resets > 0 && f.Resets == w.rarely().resets {
			w.due, w.trip = due, trip
		}
		if !tells && !refused && w.available == 0 {
			w.due = w.untoldLook(sent, s)
		}
		w.compared.refused = w.compared.refused || refused && !(f.Doubtful && s.soft.strays > 0)
		w.due = how.reported(w, sent, before, avail, f.Window, refused, s)
		if w.Quota > 0 && f.Available > w.Quota {
			w.contention.from = 0 // it is not true: what is missing later shows no other client
		}
		if w.available > 0 {
			latest = Never
		}
		w.ends(w.due, w.trip, latest)
		if w.available == 0 && w.end < latest {
			w.end = min(w.end.Add(w.lag()), latest)
		}
	}
	w.Roll(t)
	w.noteFigure(f.Charge, avail)
	return cost
}

// adopt puts a figure in force.
func (w *Window) adopt(t, sent Instant, avail int64, due Instant, trip time.Duration) {
	if w.State != Reported || avail > w.sinceReport {
		w.sinceReport, w.adopted = avail, t
	}
	w.State, w.available = Reported, avail
	w.due, w.trip = due, trip
	w.sent, w.received = sent, t
	w.probing = false
	if avail > 0 {
		w.probes = 0
	}
}

// found is how many units the request found, if it was served.
func (w *Window) found(avail int64, f *Figure) int64 {
	if w.Unit == Requests {
		return avail + max(f.Charge.Units, 1)
	}
	return avail + 1
}

// dueAt is when the window of a figure is over, before the guard, and the round trip
// that the guard depends on. The figure arrived at t, and its request departed at sent.
func (w *Window) dueAt(t, sent Instant, avail int64, f *Figure, refused bool, s *Server) (due Instant, trip time.Duration) {
	if refused && w.untolds(s) {
		s.untold.dear = f.Again > unitSpread*max(s.untold.shown, longestUnit)
		if f.Window >= 0 {
			w.observeUntold(sent, w.found(avail, f), refused, s) // some servers tell it where they refuse, and only there
		}
	}
	switch {
	case f.Window < 0:
		return w.untoldEnd(sent, avail, w.found(avail, f), refused, s)
	case f.Resets > 0 && w.habits().compareInstants():
		return w.resetsAt(t, sent, f, refused, s)
	}
	w.forgetInstant()
	s.span(t, f.Window)
	length := w.habits().lasts(w, avail, w.found(avail, f), f.Window, refused, s)
	if due, ok := w.endByAnswer(t, sent, length, s); ok {
		return due, 0
	}
	return min(sent.Add(length), Never-1), w.rtt
}

// outlasts reports whether the end is farther away at t than a whole window of the policy: then it
// is the end of another quota that has no name either, such as that of another route.
func (w *Window) outlasts(t Instant) bool {
	return w.Length > 0 && w.end > t.Add(w.Length+time.Second)
}

// sameWindow reports whether two ends may be those of one window: whole seconds say
// no more.
func sameWindow(x, y Instant) bool {
	return max(x, y)-min(x, y) <= Instant(time.Second)
}
