package window

import (
	"math/bits"
	"time"
)

// A Charge is what one request has taken of a window.
type Charge struct {
	Sent  Instant // departure
	Units int64
	Mark  uint32 // what Take returned
}

// FirstMark is the mark of a charge by Preset.
const FirstMark = 1

// A mark is the number of the window that a charge was taken in, modulo 256, and in the
// lower 24 bits how much had departed with it, in steps of one unit, or of more where the
// quota is more than a million: see steps.
const (
	epochShift = 24
	stepsMask  = 1<<epochShift - 1
)

// steps is what a charge of n units adds to departed: at least one.
func (w *Window) steps(n int64) uint32 {
	if w.Quota < 1<<20 {
		return uint32(min(max(n, 1), stepsMask/2))
	}
	size := max(bits.Len64(uint64(max(w.Quota, 0)))-20, 0)
	return uint32(min(max(n>>size, 1), stepsMask/2))
}

// After is how many units have departed after a charge with that mark, but for the steps.
func (w *Window) After(mark uint32) int64 {
	size := max(bits.Len64(uint64(max(w.Quota, 0)))-20, 0)
	return int64((w.departed-mark)&stepsMask) << size
}

// MarkBefore is the mark of a charge in this window after which so much has departed, in steps.
func (w *Window) MarkBefore(n int64) uint32 {
	return w.epoch<<epochShift | (w.departed-uint32(min(n, stepsMask)))&stepsMask
}

// sooner reports whether the first of two charges was taken sooner.
func sooner(mark, than uint32) bool { return int32((mark-than)<<(32-epochShift)) < 0 }

// Take takes n units for a request that departs at t. It does not ask whether
// they are there. It returns the mark of the charge.
func (w *Window) Take(t Instant, n int64) (mark uint32) {
	w.Used = t
	if r := w.rare; r != nil && t >= r.marked.Add(2*settled) {
		r.mark, r.marked = w.departed, t
	}
	w.departed += w.steps(n)
	if w.Unit == Concurrent {
		w.Retained = plus(w.Retained, n)
	}
	if w.State == Counting && w.end == Never && w.Length > 0 {
		w.ends(t.Add(w.Length), 0, Never) // its guard is known with the answer: see Timed
	}
	if w.unheard() && w.InFlight == 0 {
		w.end = t.Add(maxUnheard)
	}
	if w.hasLog() {
		w.note(t, n)
	}
	if w.State == Counting && w.slow > 0 {
		w.asked = t
	}
	if (w.State != Unknown || w.slow > 0) && w.beyond(n) {
		w.asked, w.probing = t, true
		w.probes = min(w.probes+1, 63)
	}
	if r := w.rare; r != nil && r.look.planned() && t >= w.lookAt() {
		switch {
		case w.need(n) > w.spare():
			r.look = lookOut
		case r.look <= halfway: // units are left so late: no look is needed
			r.look = noLook
		}
	}
	if w.IsBucket() {
		w.charge(t, n)
	}
	w.InFlight = plus(w.InFlight, n)
	return w.epoch<<epochShift | w.departed&stepsMask
}

// Pass is Take where nothing is known, and the window stands in the way of nothing. ok is false, and
// nothing was taken, if something is.
func (w *Window) Pass(t Instant, n int64) (mark uint32, ok bool) {
	if !w.Blank() || w.rare != nil || w.Unit == Concurrent {
		return 0, false
	}
	w.Used = t
	w.departed += w.steps(n)
	w.InFlight = plus(w.InFlight, n)
	return w.epoch<<epochShift | w.departed&stepsMask, true
}

// takenIn is the window in which a charge was taken.
type takenIn uint8

const (
	thisWindow takenIn = iota
	lastWindow
	olderWindow
)

// takenIn returns in which window a charge with that mark was taken.
func (w *Window) takenIn(mark uint32) takenIn {
	switch uint8(w.epoch) - uint8(mark>>epochShift) {
	case 0:
		return thisWindow
	case 1:
		return lastWindow
	}
	return olderWindow
}

// beyond reports whether n units are more than the present state allows, so that
// the request that takes them is a probe.
func (w *Window) beyond(n int64) bool {
	switch w.State {
	case Unknown:
		return w.slow > 0 && w.slowly() >= int64(w.slow)
	case Expired:
		return !w.probing || n > w.spare()
	}
	return w.need(n) > w.spare() || !w.habits().allows(w, n)
}

// Landed takes n units of a charge with that mark out of flight, if they still count
// there. It reports whether they belong to the present window.
func (w *Window) Landed(n int64, mark uint32) bool {
	switch w.takenIn(mark) {
	case thisWindow:
		w.InFlight = max(w.InFlight-n, 0)
		return true
	case lastWindow:
		w.before = max(w.before-n, 0)
	}
	return false
}

// Correct changes what a charge in flight has cost, and returns the charge as it
// is now. A charge of concurrent requests stays as it is.
func (w *Window) Correct(c Charge, cost int64) Charge {
	if w.Unit == Concurrent {
		return c
	}
	w.respend(c.Sent, cost-c.Units)
	switch w.takenIn(c.Mark) {
	case thisWindow:
		w.InFlight = plus(max(w.InFlight-c.Units, 0), cost)
		if w.IsBucket() {
			w.charge(c.Sent, cost-c.Units)
		}
	case lastWindow:
		w.before = plus(max(w.before-c.Units, 0), cost)
	}
	c.Units = cost
	return c
}

// Answered settles a charge that was answered with a figure, which Report takes
// over next. Where it cannot, because answers without a figure overlap, the
// figure in force does not include a request that departed after it arrived.
func (w *Window) Answered(c Charge, refused bool) {
	if !refused && w.takenIn(c.Mark) != olderWindow {
		w.contention.served += c.Units // one of the window before may have arrived in this one
	}
	if refused {
		w.unspend(c)
	}
	if w.Landed(c.Units, c.Mark) {
		w.probing = false
		if refused {
			w.back(c.Sent, c)
		}
		if c.Sent >= w.adopted && w.Unit != Concurrent && !w.IsBucket() {
			w.sinceReport = max(w.sinceReport-c.Units, 0)
			if c.Sent < w.silent {
				w.available = min(w.available, w.sinceReport)
			}
		}
	}
	if !refused {
		w.served(c.Sent)
	}
}

// Silent settles a charge that was answered at t without a figure.
func (w *Window) Silent(t Instant, c Charge, refused bool, s *Server) {
	if !refused {
		w.countQuiet(c, s)
	}
	if !refused && s.uncounted.notCounted() && w.comparesQuiet() {
		w.Refund(c)
	} else {
		w.Lost(t, c)
	}
	w.Timed(t, c.Sent)
	switch {
	case refused:
		w.observeSooner(c.Sent, true, s)
		w.unspend(c)
		w.back(t, c)
		return
	case w.Blank() && w.rare == nil:
		return // nothing is in force that could end
	}
	w.served(c.Sent)
	if w.slow > 0 {
		w.slow = (w.slow + 1) % 128
	}
	w.news(c)
}

// Lost settles a charge that may have arrived and was not answered with a figure:
// it cost what it cost. A figure of a request that was out at the same time may
// not include it, and raises nothing.
func (w *Window) Lost(t Instant, c Charge) {
	if !w.Landed(c.Units, c.Mark) {
		return
	}
	w.probing = false
	if w.Unit != Concurrent && !w.IsBucket() {
		w.contention.served += c.Units
		w.available = max(w.available-c.Units, 0)
		w.sinceReport = max(w.sinceReport-c.Units, 0)
		w.silent = t
	}
}

// Refund undoes a charge whose request did not depart, or cost nothing.
func (w *Window) Refund(c Charge) {
	landed := w.Landed(c.Units, c.Mark)
	if landed {
		w.probing = false
	}
	if w.rare == nil {
		return // it has neither a log nor a bucket
	}
	w.respend(c.Sent, -c.Units)
	if landed {
		w.back(c.Sent, c)
	}
}

// RefusedElsewhere takes over a refusal at t that says nothing of any quota. It reports whether another
// limit has refused the charge: the figure in force had room for it. A server may also count what it refuses,
// and leave out its fields there. So once this was reported, a figure has to come before it is again, but for
// requests that were out.
func (w *Window) RefusedElsewhere(t Instant, c Charge) bool {
	switch {
	case w.State != Reported || w.Unit == Concurrent || w.Strategy != Adaptive:
		return false
	case w.takenIn(c.Mark) != thisWindow || w.spare() < 0 || c.Sent >= w.silent && w.received < w.silent:
		return false
	}
	w.silent = t
	w.Timed(t, c.Sent)
	return true
}

// back gives a charge of the present window back to a bucket.
func (w *Window) back(t Instant, c Charge) {
	if w.IsBucket() && w.takenIn(c.Mark) == thisWindow {
		w.charge(t, -c.Units)
	}
}

// unspend takes a charge that was refused out of our own log. That of an inferred quota keeps it, see Inferred.slid, and
// so does one that bounds what a figure means, see floor.go.
func (w *Window) unspend(c Charge) {
	if w.hasLog() && !w.rare.spent.infers && w.rare.spent.floor == 0 {
		w.respend(c.Sent, -c.Units)
	}
}

// Retain counts one more concurrent request that is not over.
func (w *Window) Retain() { w.Retained = plus(w.Retained, 1) }

// Unretain ends n concurrent requests.
func (w *Window) Unretain(n int64) { w.Retained = max(w.Retained-n, 0) }

// Preset charges the first window with n requests that departed before it was known, so many
// units each. Their charges have the FirstMark.
func (w *Window) Preset(n, units int64) {
	w.InFlight = plus(w.InFlight, min(n, MaxUnits/max(units, 1))*units)
	w.Retained, w.departed = w.Retained+n, w.departed+w.steps(n)
}

// Epoch counts the windows that have ended.
func (w *Window) Epoch() uint32 { return w.epoch }

// served ends the count of refusals in a row. If the request that was served departed between
// the last two refusals, the last one is the first in a row: it overtook the answer.
func (w *Window) served(sent Instant) {
	if w.Refusals == 0 && (w.rare == nil || w.rare.again == 0) {
		return
	}
	r, row := w.ownRare(), uint8(0)
	if sent < r.refused {
		row = 1
	}
	if sent >= r.refused.Add(-time.Duration(r.apart)*time.Second) {
		w.Refusals, r.again = min(w.Refusals, row), min(r.again, row)
	}
}

// news takes over an answer without a figure to a request that was served. After a
// window it says that a new one has begun: our own count is taken against the quota,
// if that is known; else nothing is known any more.
func (w *Window) news(c Charge) {
	if w.unending() && c.Sent >= w.received && (w.Unit == Concurrent || w.asked > w.received && c.Sent >= w.asked) {
		w.probes = 0
		w.forget() // the figure stood until the next answer, which says nothing
		return
	}
	again := w.endless() && w.asked > 0 && c.Sent >= w.asked
	if !again && (w.State != Expired || c.Sent < w.closed) {
		return
	}
	w.probes = 0
	if w.Quota >= 0 && w.Unit != Concurrent {
		w.recount(c)
		return
	}
	w.forget()
	w.slow = w.habits().slowStart()
}

// unending reports whether a figure without a window is in force: it stands until
// the next answer.
func (w *Window) unending() bool { return w.State == Reported && w.end == Never }

// endless reports whether our own count is in force and the length of its window is
// not known. When it is used up, a request asks whether a new window has begun.
func (w *Window) endless() bool { return w.State == Counting && w.end == Never && w.Length == 0 }
