package window

import (
	"math"
	"time"
)

// This file is what follows a Retry-After, or a refusal without one.

const (
	minBackOff = time.Second
	maxBackOff = time.Minute
)

// Paused reports whether a Retry-After or a back-off is in force at t.
func (w *Window) Paused(t Instant) bool { return t < w.Hold || t < w.BackOff }

// whenPaused is when n units may depart that a Retry-After or a back-off holds, and
// which of them does: or the window, if it is far longer.
func (w *Window) whenPaused(n int64) (again Instant, why Cause) {
	until := max(w.Hold, w.BackOff)
	again = w.unpaused(until, n)
	switch {
	case w.Waiting() && again > until && !sameWindow(again, until):
		return again, Exhausted
	case w.Hold >= w.BackOff:
		return again, RetryAfter
	}
	return again, BackingOff
}

// unpaused is when Ready will let n units depart after a pause that is over at t, if nothing
// happens before. It changes nothing.
func (w *Window) unpaused(t Instant, n int64) (again Instant) {
	was, rarely := *w, w.rarely()
	w.Hold, w.BackOff = 0, 0
	again, _ = w.Ready(t, n)
	if *w = was; w.rare != nil {
		*w.rare = rarely
	}
	return again
}

// Pause lets nothing depart before d has passed since t, and then one request first
// where nothing else is known. Where nothing is left for far longer than that, the
// window ends with the pause: "Retry-After MUST take precedence and the effective
// window MAY be ignored" (the draft, Section 7). Some servers name as a window when
// the quota will be whole, and as Retry-After when there will be more. Others are
// wrong: see premature. A second may be due to rounding, unless it is an eighth of the time. An end that
// was named as an instant may be a second late, so an earlier end of the pause counts, however near.
func (w *Window) Pause(t Instant, d time.Duration, s Server) {
	w.Hold = max(w.Hold, t.Add(d))
	switch {
	case w.State == Unknown:
		w.distrust(t)
	case w.State == Reported && w.available == 0 && !w.hasty(&s) && !w.IsBucket():
		early := time.Duration(w.due - w.Hold)
		short := early > time.Second/2 && early > time.Duration(w.due-t)/8
		if early > 0 && (w.rarely().resets > 0 || short || !sameWindow(w.Hold, w.due)) {
			w.ends(w.due, w.trip, w.Hold)
		}
	}
}

// Widen lets so many units be in flight, if a slow start lets less.
func (w *Window) Widen(n uint8) {
	if w.slow > 0 {
		w.slow = max(w.slow, n)
	}
}

// Undo takes back a pause or a back-off that turned out to concern others. before is
// the window as it was before, and after as it was then; what has come since stays.
func (w *Window) Undo(before, after *Window) {
	if w.Hold == after.Hold {
		w.Hold = before.Hold
	}
	if w.BackOff == after.BackOff {
		w.BackOff, w.Refusals = before.BackOff, before.Refusals
		if r := before.rarely(); r.refused != w.rarely().refused {
			own := w.ownRare()
			own.refused, own.apart = r.refused, r.apart
		}
	}
	switch {
	case before.State == Unknown && w.State == Expired:
		w.forget()
	case w.State != after.State || w.epoch != after.epoch:
	case before.State != after.State:
		w.State, w.available, w.sinceReport = before.State, before.available, before.sinceReport
		w.end = before.end
	case w.State == Reported && !w.IsBucket():
		w.end = before.end
	case w.State == Counting:
		w.agree(before, after)
	}
}

// TryAgain lets one request depart from t on, and others once it was served.
func (w *Window) TryAgain(t Instant) { w.distrust(t) }

// Disregard ends a window in which nothing is left: one request at a time from t on.
func (w *Window) Disregard(t Instant) {
	if w.State == Reported && w.available <= 0 {
		w.distrust(t)
	}
}

// TryAlone lets one request at a time depart from t on, if nothing is known.
func (w *Window) TryAlone(t Instant) {
	if w.IsNew() {
		w.distrust(t)
	}
}

// setRefused sets the arrival of the last refusal.
func (w *Window) setRefused(t Instant) {
	r := w.ownRare()
	r.apart, r.refused = uint8(min(t.Since(r.refused)/time.Second, math.MaxUint8)), t
}

// premature reports whether a Retry-After has ended a window too early: a request
// that departed after that was refused, with the window due when it was before.
func (w *Window) premature(sent, due Instant) bool {
	ended := w.State == Expired && w.closed == w.Hold
	return ended && sent >= w.closed && due != Never && sameWindow(w.due, due)
}

// hasty reports whether a Retry-After is not believed that is shorter than the window: one that was, was wrong. Where
// others are seen, they may have used what had come back. Then it is not believed after four refusals in a row.
func (w *Window) hasty(s *Server) bool {
	return !w.creeps() && !s.loose() && s.Hasty && (w.contention.part() == 1 || w.rarely().again >= 4)
}

// restedBackOff is the shortest back-off after which a row of refusals may end without an answer: it does if no request
// departs for as long as the back-off took, once it is over.
const restedBackOff = 8 * minBackOff

// StartBackOff follows a refusal at t whose own words would let the next request go
// at once. Refusals of requests that departed before the last refusal arrived are one refusal.
// A request that departs in spite of the back-off, and is refused, shows nothing new of when the
// others may go: the back-off ends no later than about two seconds after its beginning for that, or when
// it would have ended. jitter is in [0, 1).
func (w *Window) StartBackOff(t, sent Instant, jitter float64) {
	switch last := w.rarely().refused; {
	case w.Refusals > 0 && sent < last:
		return
	case w.Refusals > 0 && sent < w.BackOff:
		w.BackOff = max(w.BackOff+1, min(t, last.Add(minBackOff)).Add(backOff(1, jitter))) // + 1: it is another back-off to Undo
		return
	}
	if last := backOff(w.Refusals, 0); last >= restedBackOff && sent >= w.BackOff.Add(last) {
		w.Refusals = 0 // no request has departed for as long: a new row begins
	}
	w.Refusals = min(w.Refusals+1, 63)
	w.setRefused(t)
	w.BackOff = max(w.BackOff, t.Add(backOff(w.Refusals, jitter)))
	if w.State == Counting && w.IsLook(sent) {
		before := Instant(w.Length) - (w.end - t)
		w.BackOff = max(w.BackOff, t+min(w.end-t, before)/2) // the next one has better chances later
	}
	if w.State != Reported || w.available > 0 {
		w.distrust(t)
	}
}

// CountRefusal counts a refusal at t that is not followed by a back-off: the first in a
// row. It reports whether it is that; any other is left to StartBackOff.
func (w *Window) CountRefusal(t, sent Instant) (first bool) {
	if w.Refusals > 0 {
		return sent < w.rarely().refused // it is one refusal with the last
	}
	w.Refusals = 1
	w.setRefused(t)
	return true
}

// manyRefusals is how many refusals in a row have no back-off although each says when to
// come back: as many as the others cause where 64 processes use a quota of 64 in a second.
const manyRefusals = 24

// RefuseAgain counts a refusal at t whose own words say when to come back. Servers that count
// refusals, too, and those that block for longer than they say, go on refusing requests that
// come back when they say. So after many refusals in a row a back-off is added, until a request is served.
func (w *Window) RefuseAgain(t, sent Instant, jitter float64) {
	r := w.ownRare()
	if r.again > 0 && sent < r.refused {
		return // it is one refusal with the last
	}
	r.again = min(r.again+1, 63)
	w.setRefused(t)
	if r.again > manyRefusals {
		w.BackOff = max(w.BackOff, t.Add(backOff(r.again-manyRefusals, jitter)))
	}
}

// backOff is the wait after the n-th refusal in a row: 1 s after the first, and
// twice as long after each, up to 1 min; with up to a quarter more by jitter, which
// is in [0, 1), inside that bound.
func backOff(n uint8, jitter float64) time.Duration {
	d := maxBackOff * 4 / 5
	if n = max(n, 1) - 1; n < 6 {
		d = min(d, minBackOff<<n)
	}
	return d + time.Duration(jitter*float64(d)/4)
}

// FirstBackOff is the wait after a refusal that is the only one.
func FirstBackOff(jitter float64) time.Duration { return backOff(1, jitter) }

// patience is how long a probe is waited for before another one may go: 1 s after
// the first, and twice as long after each, up to 48 s.
func patience(probes uint8) time.Duration { return backOff(probes, 0) }
