package window

import "time"

// ProbeInterval is the longest time in which nothing departs because of an
// effective window: where nothing is left of a longer one, one request may look in
// each interval (the draft, Section 9.5.1, names ten minutes).
const ProbeInterval = 10 * time.Minute

// A Cause says what holds a request.
type Cause uint8

const (
	Exhausted  Cause = iota // too little is left
	RetryAfter              // the server said when to come back
	BackingOff              // the server refused and did not say when to come back
	Unheard                 // the server has not answered yet: see Presume
)

// Ready says when n units may depart: at t, if they may now; else when it is worth
// looking again, and what holds them. It closes a window that is over, and changes
// nothing else.
func (w *Window) Ready(t Instant, n int64) (again Instant, why Cause) {
	w.Roll(t)
	switch {
	case w.Paused(t):
		return w.whenPaused(n)
	case w.Unit == Concurrent:
		return w.whenConcurrent(t, n), Exhausted
	case w.awaits(t, n):
		return w.end, Unheard
	}
	return w.when(t, n), Exhausted
}

// Open reports whether Ready lets any number of units depart at t, because nothing is
// known.
func (w *Window) Open(t Instant) bool {
	return w.State == Unknown && w.slow == 0 && w.before == 0 && w.available == 0 && w.Unit != Concurrent && !w.Paused(t)
}

// There reports whether n units are there as far as is known, where Ready lets them depart:
// if not, one request departs to ask.
func (w *Window) There(n int64) bool {
	switch {
	case w.State == Unknown && w.Unit != Concurrent:
		return w.slow == 0 || w.slowly()+n <= int64(w.slow)
	case w.Unit == Concurrent:
		bound := w.atOnce()
		return bound < 0 || w.Retained+n <= bound
	}
	return n <= w.spare() && w.habits().allows(w, n)
}

// when answers the one question of a quota that comes back with time: when are n
// units there, as far as it is known at t? Each state has its own answer. None is
// later than ProbeInterval after the last request that asked.
func (w *Window) when(t Instant, n int64) Instant {
	switch w.State {
	case Unknown:
		return w.whenUnknown(t)
	case Expired:
		return w.byLog(t, n, w.whenExpired(t, n))
	case Counting:
		return w.whenCounting(t, n)
	}
	return w.byLog(t, n, w.whenReported(t, n))
}

// whenUnknown: now, but for the slow start after a refusal.
func (w *Window) whenUnknown(t Instant) Instant { return w.whenSlow(t) }

// whenSlow is now, or in a slow start that has enough in flight, the next try, or the next
// window.
func (w *Window) whenSlow(t Instant) Instant {
	if w.slow > 0 && w.slowly() >= int64(w.slow) {
		last := w.asked
		if w.is(bounded) {
			last = max(last, w.silent) // the server is at work
		}
		return max(t, min(last.Add(patience(w.probes)), w.end)) // an answer usually comes before
	}
	return t
}

// whenReported: as far as the figure reaches, and after its window one request asks.
// With something left and nothing in flight one request asks before that, whatever
// is presumed of other clients: only an answer corrects it.
func (w *Window) whenReported(t Instant, n int64) Instant {
	enough := w.spare() >= w.need(n)
	if enough && w.habits().allows(w, n) {
		return t
	}
	again := w.whenRenewed(t, n)
	if enough && w.IsBucket() {
		// An answer comes long before; not if the requests that are out hang. Then the bucket fills.
		again = max(w.received, w.asked).Add(min(max(4*w.filling(), time.Second), ProbeInterval))
		if there := w.contention.enough(w, n); there <= w.Quota {
			again = min(again, w.WhenThere(there))
		}
		again = max(t, again)
	}
	if enough && w.Unanswered() == 0 {
		again = max(t, min(again, max(w.received, w.asked).Add(w.patience())))
	}
	return min(again, w.whenBack(t, n), w.whenReturned(t, n))
}

// ReadyEstimated is Ready for n units that are an estimate. Where less is left, one
// request departs when nothing else has departed or arrived for a minute: it shows
// what it costs.
func (w *Window) ReadyEstimated(t Instant, n int64) (again Instant, why Cause) {
	again, why = w.Ready(t, n)
	if again > t && w.Waiting() && w.InFlight == 0 {
		look := max(w.received.Add(maxBackOff), w.asked.Add(maxBackOff), w.Hold, w.BackOff)
		if w.before > 0 {
			look = max(look, w.closed.Add(grace(w.rtt)))
		}
		if w.available <= 0 {
			look = max(look, w.WhenThere(1)) // of a bucket, it may be sooner than what is needed
		}
		again = max(t, min(again, look))
	}
	return again, why
}

// whenExpired: what the figure left over, or one request, whatever it costs and
// whatever was said; another one when it was waited for long enough.
func (w *Window) whenExpired(t Instant, n int64) Instant {
	switch {
	case w.spare() >= n:
		return t
	case w.believes(w.received) && (w.rare.spent.loose || w.rare.spent.ended >= endedInVain):
		probe := w.asked.Add(patience(w.probes))
		again := max(min(probe, w.whenBack(t, n)), w.whenRoom(t, n))
		sure := w.closed.Add(2 * time.Second) // the instant is over, however it was rounded
		return max(t, min(again, w.WhenLanded(n), max(probe, sure)))
	case w.refill.served > 0 && w.least > w.perUnit() && w.probes < 32:
		return max(t, min(w.asked.Add(w.refillPace()), w.WhenLanded(n)))
	case !w.probing:
		return t
	}
	return max(t, min(w.asked.Add(w.untilProbe(n)), w.WhenLanded(n), w.whenBack(t, n)))
}

// longAnswer is a round trip that is too long to wait for the answer to a probe. A server that has to refuse
// does not take so long, so a probe that is not answered by then was served, as long polls are.
const longAnswer = 10 * time.Second

// untilProbe is how long a probe is waited for before another one may go. Where the answers of the last window took
// long, that is a second, and then 1/2n of one with n that were sent, up to the quota: with 100, three seconds for all.
func (w *Window) untilProbe(n int64) time.Duration {
	switch {
	case w.rtt < longAnswer, w.Refusals > 0, !w.alone(), w.InFlight+n > w.Quota:
		return patience(w.probes)
	case w.probes <= 1:
		return time.Second
	}
	return time.Second / time.Duration(2*w.probes)
}

// whenCounting: as far as our own count reaches. A window that has not begun has room
// for one request, whatever it costs. One request looks before an inferred window is over.
func (w *Window) whenCounting(t Instant, n int64) Instant {
	if w.spare() >= w.need(n) || w.end == Never && w.Length > 0 && w.InFlight == 0 {
		return max(w.whenSlow(t), w.whenSlid(t, n))
	}
	again := max(w.whenRenewed(t, n), w.whenSlid(t, n))
	if w.rare != nil && w.rare.look.planned() {
		again = min(again, max(t, w.lookAt()))
	}
	return again
}

// whenRenewed is the end of the window, or the next look into one that is longer
// than ProbeInterval. A figure without a window stands until the next answer, so a
// request asks for one.
func (w *Window) whenRenewed(t Instant, n int64) Instant {
	last := max(w.received, w.asked, w.closed)
	if w.IsBucket() {
		last = max(last, w.rare.marked) // not Used: a request that is rejected uses its scope, too
	}
	end := w.WhenThere(n)
	if end == Never {
		end = last.Add(max(w.Length, patience(w.probes)))
	}
	return max(t, min(end, last.Add(w.untilLook(n)), w.WhenLanded(w.need(n))))
}

// WhenLanded is when n units may depart because those that departed in the last
// window no longer count; Never, if that does not help.
func (w *Window) WhenLanded(n int64) Instant {
	if w.before == 0 || w.available-w.InFlight < n {
		return Never
	}
	return w.BeforeLands()
}

// BeforeLands is when those that departed in the last window no longer count.
func (w *Window) BeforeLands() Instant { return w.closed.Add(grace(w.rtt)) }

// Hopeful reports whether an event may let n units depart before the next look:
// the answer to a probe, or the end of a request.
func (w *Window) Hopeful(t Instant, n int64) bool {
	if until := max(w.Hold, w.BackOff); t < until && w.unpaused(until, n) <= until {
		return false
	}
	switch w.State {
	case Unknown, Expired:
		return true
	case Reported:
		// Held back by our part alone, by the trust in our own log, or by requests that departed
		// before the figure arrived: it may count them already.
		return w.Unit == Concurrent || w.InFlight > 0 && (w.spare() >= n || w.available >= n && t < w.received.Add(grace(w.rtt)) ||
			w.believes(w.received) && (w.rare.spent.loose || w.isLate()))
	}
	return w.Unit == Concurrent || w.InFlight > 0 && (w.rarely().look == lookOut || w.slow > 0 && w.spare() >= w.need(n))
}
