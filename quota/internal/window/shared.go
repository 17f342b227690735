package window

import "time"

// This file is what a window takes over from other processes that share the quota.

// Together is Adaptive for a window whose units others hand out, so that few of its
// figures follow from what departed here: how units come back cannot be told from them.
const Together Strategy = 2

// together is the habits of Together.
type together struct{ adaptive }

// guard: the request that goes first after the window is another client's, which may be
// quicker, and this one has measured fewer round trips than one that is alone.
func (*together) guard(w *Window, trip time.Duration) time.Duration {
	return max(trip-w.least, trip/8) + trip/32
}

func (*together) allows(*Window, int64) bool { return true }

func (*together) reported(w *Window, _, _ Instant, _ int64, _ time.Duration, _ bool, _ *Server) Instant {
	w.contention.observe(w)
	return w.due
}

// Guard is the margin by which a request that was answered after the trip may have reached
// the server later than others.
func (w *Window) Guard(trip time.Duration) time.Duration { return w.guard(trip) }

// HoldUntil lets nothing depart before an instant: another process was told so at t.
func (w *Window) HoldUntil(t, until Instant) {
	if until <= w.Hold {
		return
	}
	w.Hold = until
	if w.State == Unknown {
		w.distrust(t)
	}
}

// Learn takes over at t what others have heard: available units until end, by an answer
// that departed no later than the last one of which they know.
func (w *Window) Learn(t Instant, available int64, end Instant) {
	if w.Unit == Concurrent {
		return
	}
	w.Roll(t)
	w.State, w.available, w.sinceReport = Reported, available, available
	w.sent, w.adopted, w.received, w.probing = t, t, t, false
	w.ends(end, 0, Never)
}

// Elapse ends at t the window of a figure, as others have seen.
func (w *Window) Elapse(t Instant) {
	if w.Roll(t); w.Waiting() {
		w.expire(t, 0)
	}
}

// ReadyAlone is Ready for a window that others do not decide about.
func (w *Window) ReadyAlone(t Instant, n int64) (again Instant, why Cause) {
	if w.Strategy == Together {
		w.Strategy = Adaptive
		defer func() { w.Strategy = Together }()
	}
	return w.Ready(t, n)
}

// Contend assumes from t on that n clients use the quota, this one included, until figures
// show otherwise. What a window that is over has left may be another's: one request asks.
func (w *Window) Contend(t Instant, n int) {
	w.Roll(t)
	w.contention.ours = contentionNeeds
	w.contention.fall = float32(n) * contentionNeeds
	if w.State == Expired {
		w.available = 0
	}
}
