package window

import "time"

// This file bounds what departs before the first answer for a new quota, if the policy is
// known because of others: of other users, for example. If the policy says how much there
// is in which time, our own count does: see count.go. Else the quota may be used up before
// the first answer says so.

// maxUnheard is how long the first answer is waited for.
const maxUnheard = time.Second

// Presume bounds what is in flight before the first answer, of a window of which nothing
// is known at t but its policy. The bound is the quota of the policy; if that is None, the most
// units that others were told of, and at least most requests. It lasts a second. What departed before
// the policy was known counts, too.
func (w *Window) Presume(t Instant, s *Server, quota, most int64) {
	if !w.MayPresume() || w.Unit == Concurrent {
		return
	}
	w.set(presumed, true)
	if w.InFlight > 0 {
		w.end = t.Add(maxUnheard)
	}
	switch {
	case quota >= 0:
		w.available = quota
	case w.Unit == Requests:
		w.available = max(s.Most, most)
	default:
		w.available = s.Most
	}
}

// IsNew reports whether nothing has departed, and nothing is known.
func (w *Window) IsNew() bool { return w.State == Unknown && w.departed == 0 && w.epoch == 0 }

// MayPresume reports whether nothing is known, and nothing that has departed was answered or bounded by Presume.
func (w *Window) MayPresume() bool {
	return w.IsNew() || w.State == Unknown && w.epoch == 0 && w.available == 0 && int64(w.departed) == w.InFlight && !w.is(presumed)
}

// unheard reports whether Presume bounds what is in flight.
func (w *Window) unheard() bool { return w.State == Unknown && w.available > 0 }

// Heard ends the bound of Presume: the server has answered, whatever it said.
func (w *Window) Heard() {
	if w.unheard() {
		w.forget()
	}
}

// awaits reports whether n units have to wait for the first answer. One request departs in
// any case.
func (w *Window) awaits(t Instant, n int64) bool {
	return w.unheard() && w.InFlight > 0 && w.InFlight+n > w.available && t < w.end
}
