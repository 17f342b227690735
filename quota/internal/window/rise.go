package window

import "time"

// This file finds a new window that begins before the end of the one in force was due. With
// continuous traffic no request waits for that end, so none departs after it and shows
// what comes next. But within a window the figures only fall. One that has risen shows that
// units have come back. If there are more of them than come back one by one in that time,
// W/q each, a window has begun. Its end counts then, although whole seconds do not tell it
// from that of the window before; and what other clients have spent is compared window by
// window.

// observeRise reports whether a figure shows that a window has begun since the one in
// force: it has risen, whatever the order in which requests have reached the server. So the
// request must have departed after the figure in force had arrived; or it is one of those
// that overlap, and says no less than was ever there in this window.
func (w *Window) observeRise(t, sent Instant, avail int64, refused bool, s *Server) bool {
	switch {
	case w.State != Reported || refused || sent < w.adopted || sent <= w.closed || avail <= w.sinceReport:
		return false
	case !w.inOrder(sent) && (w.contention.peak <= 0 || avail < w.contention.peak):
		return false
	}
	quota, length := w.size(s)
	oneByOne := float64(t-w.sent)*float64(quota)/float64(max(length, time.Millisecond)) + 1
	if float64(avail-w.available) <= oneByOne {
		return false
	}
	w.closed = sent
	if w.inOrder(sent) {
		w.habits().closing(w)
	}
	return true
}

// inOrder reports whether a request that departed at sent has reached the server after those
// whose answers are known.
func (w *Window) inOrder(sent Instant) bool { return sent >= w.received && sent >= w.silent }
