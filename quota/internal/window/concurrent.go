package window

import "time"

// This file is the unit "concurrent-requests" (the draft, Section 2.1.2), whose
// units come back when a request is over and not with time.

// whenConcurrent bounds our own requests that are not over: by the policy's quota,
// and by what the last figure left room for.
func (w *Window) whenConcurrent(t Instant, n int64) Instant {
	bound := w.atOnce()
	switch {
	case bound < 0 || w.Retained+n <= bound:
		return t
	case w.Retained > 0:
		return min(t.Add(time.Second), w.end) // a request that ends looks earlier
	case w.probing:
		return max(t, min(w.asked.Add(patience(w.probes)), w.end))
	}
	return t // never frozen
}

// atOnce is how many of our own requests may be not over; negative: any number.
func (w *Window) atOnce() int64 {
	if w.State == Reported && (w.Quota < 0 || w.available < w.Quota) {
		return w.available
	}
	return w.Quota
}

// reportConcurrent turns a figure into room for our own requests: what is available
// comes on top of those that are not over, and is not reduced by them again. Those
// that ended while the answer was on its way make the room too little, never too
// much. A figure of an overlapping request only lowers it.
func (w *Window) reportConcurrent(t, sent Instant, avail int64, end Instant) {
	room := avail + w.Retained
	w.probing, w.probes = false, 0
	if w.State == Reported && sent < w.received && room >= w.available {
		return
	}
	w.State, w.available = Reported, room
	w.ends(end, 0, Never)
	w.received = t
}
