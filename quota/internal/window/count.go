package window

import "time"

// This file is our own count against a policy's quota, for a policy that comes
// without a figure.

// SetPolicy takes over the policy as it is advertised now. A negative quota and a
// length of 0 or less are not known.
func (w *Window) SetPolicy(unit Unit, quota int64, length time.Duration) {
	w.Unit = unit
	w.set(learned, false)
	quota, length = min(max(quota, None), MaxUnits), max(length, 0)
	if quota == w.Quota && length == w.Length {
		return
	}
	before, had := w.Quota, w.Length
	if w.State == Counting {
		w.noBucket()
	}
	w.setQuota(quota)
	w.Quota, w.Length = quota, length
	switch {
	case w.State == Unknown:
		w.forget()
	case w.Unit == Concurrent:
	case w.State == Counting && (quota < 0 || length == 0 && had > 0):
		w.forget()
	case w.State == Counting:
		w.available = max(w.available+quota-before, 0)
		if w.end != Never && length < had {
			w.ends(w.due.Add(length-had), w.trip, Never) // a longer one may have begun since
		}
	case quota >= 0:
		w.available = min(w.available, quota) // a lower policy bounds at once what is presumed
		w.contention.from = 0                 // and what it lowers was used by no other client
	}
}

// countable reports whether the policy says enough for our own count.
func (w *Window) countable() bool {
	return w.Quota >= 0 && w.Length > 0 && w.Unit != Concurrent
}

// Count begins our own count where nothing is known: spent units are gone with
// the request, departed at sent, whose answer told the policy. The window begins
// with that request, or with the next one that departs if nothing was spent.
func (w *Window) Count(sent Instant, spent int64) {
	if w.State != Unknown || !w.countable() {
		return
	}
	w.count(spent)
	if spent > 0 || w.InFlight > 0 {
		w.ends(sent.Add(w.Length), 0, Never)
	}
}

// count begins our own count.
func (w *Window) count(spent int64) {
	w.slow = 0
	w.noBucket()
	w.State, w.available, w.end = Counting, max(w.Quota-spent, 0), Never
}

// recount begins our own count after a window about which nothing was heard, with
// a request that was served and says nothing. It counts in the window that it has
// opened. Others that are out may have reached the server later.
func (w *Window) recount(c Charge) {
	w.count(c.Units)
	w.asked = 0
	if w.Length == 0 {
		return
	}
	sent := c.Sent
	if w.InFlight > 0 {
		sent = w.Used
	}
	w.ends(sent.Add(w.Length), w.rtt, Never)
}

// Timed takes over how long the answer at t was on its way, for one that tells the
// policy or has no figure. If it answers the request that opened a window of our own count, the guard is now known.
func (w *Window) Timed(t, sent Instant) {
	w.travelled(time.Duration(t - sent))
	if w.State == Counting && w.end != Never && sent.Add(w.Length) == w.due {
		w.ends(w.due, w.rtt, Never)
	}
}

// Renew takes over at t a service limit that gives a window and no figure (draft
// -09, Appendix B.3.1), of a request that departed at sent: our own count against
// the quota, renewed when the window is over. spent units are gone with the request.
func (w *Window) Renew(t, sent Instant, length time.Duration, spent int64) {
	if w.State == Reported || w.Quota < 0 || w.Unit == Concurrent {
		return
	}
	if w.State != Counting {
		w.count(spent)
	}
	w.noBucket()
	w.travelled(time.Duration(t - sent))
	w.ends(sent.Add(length), w.rtt, Never)
	w.Roll(t)
}
