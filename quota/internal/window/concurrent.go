package window

import "time"

// This file is the unit "concurrent-requests" (the draft, Section 2.1.2), whose
// units come back when a request is over and not with time.
//
// A refusal shows how many of ours the server lets be in progress: those that are. So it only lowers
// their number, and answers to these raise it again. Package quota backs off if none of ours is in progress.

// untilLast is after how many round trips in which one unit is free it is taken.
const untilLast = 16

// whenConcurrent bounds our own requests that are not over: by the policy's quota,
// and by what the last figure left room for. Those that are not over may last for hours. So if no request
// departs and none is answered for a while, one more asks.
func (w *Window) whenConcurrent(t Instant, n int64) Instant {
	bound := w.atOnce()
	switch {
	case bound < 0 || w.Retained+n <= bound:
		return t
	case w.Retained > 0 && bound == w.Quota:
		return min(t.Add(time.Second), w.end) // a request that ends looks earlier
	case w.Retained > 0:
		return max(t, min(w.Used.Add(patience(w.probes)), w.end))
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
func (w *Window) reportConcurrent(t, sent Instant, avail int64, end Instant, refused bool) {
	room := avail + w.Retained
	switch w.probing = false; {
	case !refused:
		w.probes = 0
	case sent >= w.received: // else it is one refusal with the last
		w.probes = min(w.probes+1, 63)
	}
	if refused {
		w.compared.others = 1
	} else if w.Quota >= 0 && room >= w.Quota {
		w.compared.others = 0
	}
	if w.compared.others > 0 && w.Strategy == Adaptive {
		room = min(room, w.raised(sent, avail))
	}
	if w.State == Reported && sent < w.received && room >= w.available {
		return
	}
	w.State, w.available = Reported, room
	w.ends(end, 0, Never)
	w.received = t
}

// raised is the most room after a figure where others use the quota, too, as a refusal has shown: they read
// the same figures. So in a round trip we take an eighth of what is free, or one unit. The last one is left to
// others, unless it stays free.
func (w *Window) raised(sent Instant, avail int64) int64 {
	room := w.Retained
	if w.State == Reported {
		room = max(room, w.available)
	}
	others := &w.compared.others
	if avail == 1 && sent >= w.received {
		*others++
	}
	if avail <= 1 && *others <= untilLast {
		return room
	}
	*others = 1
	return room + max(avail/8, 1)
}
