package window

import "time"

// This file is for a quota of short windows that other clients use, too, and whose units come back as they were spent, as in
// a sliding log. Whole seconds do not tell when: the server says that nothing is left for a second. A client that waits for
// that second finds one unit, and leaves it to the others for another second, although more come back all the time. So a part of the quota
// is lost, and more requests arrive than depart.
//
// But a client knows when the units come back that it has spent itself: a window later. As many come back of others as
// they have taken. So one request departs when one of our own units is back, even if the figure in force leaves nothing,
// or only what is left to others (contention.go). Each client keeps its part in this way. What one does not use, the others see in
// their figures.
//
// A window begins only once in its length. So if figures have risen twice in that time, units come back otherwise. Without
// that, a request departs only if nothing is left, and if it is refused, the next one departs 64 windows later, then 128, …
// If units were seen to come back, a refusal says that another client was quicker, and only four in a row have that effect.
type returned struct {
	shown bool    // units have come back otherwise than in windows
	from  Instant // departure of the request whose figure was in force before the last rise
	to    Instant // departure of the request that was told of it
	vain  uint8   // requests in a row that departed because a unit of ours should have been back, and were refused
}

const (
	mostVain = 4
	mostOurs = .9 // of the quota, at first: a few units may have been counted by mistake
)

// logsReturned reports whether our own log is kept beside other clients.
func (w *Window) logsReturned(length time.Duration) bool {
	return w.Strategy == Adaptive && w.Unit == Requests && length <= shortReturn &&
		(w.contention.part() < mostOurs || w.contention.part() < 1 && w.returnedShown())
}

// returnedShown reports whether units were seen to come back otherwise than in windows.
func (w *Window) returnedShown() bool {
	own := w.rarely().spent
	return own != nil && own.returned.shown
}

// whenReturned is when n units may depart at t that the figure has no room for, because one that we have spent is back.
func (w *Window) whenReturned(t Instant, n int64) Instant {
	switch {
	case !w.hasLog() || t < w.rare.spent.off || !w.logsReturned(w.rare.spent.length) || w.isLate() || !w.contention.few():
		return Never
	case n > 1 || w.State != Reported && w.State != Expired || w.spare() < 0 || w.spare() > 0 && !w.returnedShown():
		return Never
	}
	next := Never
	for i := range w.rare.spent.slots {
		s := &w.rare.spent.slots[i]
		if back := w.backAt(s); back > w.sent && s.units > 0 {
			next = min(next, back)
		}
	}
	return max(t, next)
}

// observeRises looks at a figure that arrived at t, of a request that departed at sent, before it is taken over.
func (w *Window) observeRises(t, sent Instant, avail int64, refused bool, s *Server) {
	_, length := w.size(s)
	if w.Length <= 0 && length > time.Second {
		length -= time.Second // it may have been rounded up twice
	}
	switch rises := avail > w.sinceReport || w.State == Reported && avail >= w.available; {
	case !rises || refused || length <= 0 || !w.logsReturned(length):
		return
	case w.State != Reported && w.State != Expired, !w.inOrder(sent), w.silent >= w.received:
		return
	}
	r := &w.ownSpent().returned
	if r.to > 0 && w.sent < r.to {
		return // the same rise
	}
	r.shown = r.shown || r.to > 0 && t-r.from < Instant(length)
	r.from, r.to = w.sent, sent
}
