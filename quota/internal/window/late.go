package window

import (
	"math"
	"time"
)

// This file is for answers that take at least half as long as a window, on average. When a figure comes, its
// window is over, or nearly so. So figures say neither what is there nor whether other clients
// use the quota, and a client that waits for one after each window loses the time of an answer each time.
//
// Then our own log says when units are back, and figures only say how many there are in a
// window: the quota q of the policy, or the most that was told. If that is less than half of q,
// it is a bucket that holds less: so many depart in the time in which as many come back. If no
// figure tells of a longer time, that is the window which answers are compared with. No
// more departs than this, even if a figure has room for it. Where a figure has no room, a
// quarter of a window may be out at first, and twice as much after each round trip.
//
// If a request is refused that should have been served, another client uses the quota, or it
// comes back otherwise. Then a quarter less departs in each window, as in TCP, and a
// thirty-second more with each round trip in which more than half of that was used and served.
// If no policy says how long a window is, the longest reset counts as that. If more than half
// turns out not to be there, it was that of a single unit, and our own log is not used.
//
// The same is done where answers take 400 ms and a fortieth of a window or more, once units were seen to come back as they were
// spent: a client that waits for a figure to show each of them loses the time of an answer. But there it is more likely
// that the server counts otherwise, for example weighs two windows. So less is out at first, and if a request is refused
// that should have been served, our own log is not used for that any more.
const (
	lateParts = 64      // of a quota
	lateAgain = 2       // parts, with each round trip
	mostTrust = 1 << 20 // out at a time

	// Answers that take less than these are not slow: what they take may be the network's time.
	leastSlow = 400 * time.Millisecond
	slowPart  = 40 // of a window
)

// isLate reports whether our own log is in force because answers take long.
func (w *Window) isLate() bool { return w.hasLog() && w.rare.spent.quota > 0 }

// observeLate looks at an answer that arrived at t, of a request that departed at sent. It
// reports whether answers take long.
func (w *Window) observeLate(t, sent Instant, avail int64, refused bool, s *Server) bool {
	quota, length := w.size(s)
	if length <= 0 && s.RoundsDown {
		length = time.Second // each answer has said less
	}
	full, most := length, quota // in which time how much comes back at most
	if s.Most > 0 && s.Most < quota {
		full, most = length/time.Duration(quota/s.Most), s.Most
	}
	if w.Length > 0 && most > 1 && s.Span <= full+time.Second {
		length = max(full, s.Span) // no figure has told of more that is missing
	}
	was, mean := w.isLate(), w.least+w.jitter                             // of the round trips
	late := w.jitter > 0 && (2*mean >= length || was && 4*mean >= length) // one answer says nothing
	slow := !late && w.jitter > 0 && mean >= max(leastSlow, length/slowPart) && 2*most > quota &&
		(was && w.rare.spent.slow || !refused && w.slides(sent, avail, quota))
	late = late || slow
	if !late || w.Strategy != Adaptive || w.Unit != Requests || s.Full.shown() ||
		length <= 0 || length > ProbeInterval || w.Length <= 0 && s.Brief || s.Most <= 0 || quota > math.MaxInt32 {
		if was {
			w.forgetLog()
		}
		return false
	}
	length, quota = full, most
	l := w.ownRare().spent
	if !w.hasLog() {
		l = w.keepLog(ownLog{length: length, off: t.Add(length).Add(w.guard(w.rtt))}) // what departed before is not known
	}
	switch {
	case was:
	case slow:
		l.trust = max(l.trust, 1+quota/16)
	default:
		l.trust = max(l.trust, 1+quota/4)
	}
	switch sure := l.heard(t, sent); {
	case refused && sure && sent >= l.cutAt:
		l.cut += (lateParts - l.cut) / 4
		l.cutAt, l.asked, l.trust = t, 0, 1+min(l.trust, quota)/2
		if slow {
			w.forgetLog()
			l.noLog = true
			return false
		}
		if w.Length <= 0 && l.cut > lateParts/2 {
			s.Brief = true
			w.forgetLog()
			return false
		}
	case !refused && l.asked > 0 && sent >= l.asked:
		l.trust, l.asked = min(2*l.trust, mostTrust), 0
		l.cut = max(l.cut, lateAgain) - lateAgain
	}
	l.loose, l.length, l.slow = false, length, slow
	l.quota = max(quota-quota*int64(l.cut)/lateParts, 1)
	return true
}

// slides reports whether the first figure of a window shows that units come back as they were spent: the window
// before is over, less than three quarters of the quota are there or in flight, and no other client was seen to use it.
func (w *Window) slides(sent Instant, avail, quota int64) bool {
	noLog := w.rarely().spent != nil && w.rare.spent.noLog
	return w.State == Expired && sent >= w.closed && 4*(avail+1+w.InFlight) < 3*quota && w.unshared() && !noLog
}

// lateGuard is the guard of units in our own log if answers take long: round trips differ by the
// time that the server works, and not by when requests arrive. It is a small part of a window whose length the policy
// says. If it says none, the log is of a window that may be too short, and the guard is what spaces requests.
func (w *Window) lateGuard() time.Duration {
	guard := min(max(w.rtt/32, time.Millisecond), 100*time.Millisecond)
	if w.Length > 0 {
		guard = min(guard, max(w.rare.spent.length/128, 8*time.Millisecond))
	}
	return guard
}

// byLog is when n units may depart that may do so again by the figures, if answers take long or
// the last unit may be none. That one is back when the window is over, at the latest.
func (w *Window) byLog(t Instant, n int64, again Instant) Instant {
	floors := w.State == Reported && w.spare() <= w.need(n) && w.floors()
	if !(w.isLate() || floors) || !w.believes(w.received) {
		return again
	}
	room := max(again, w.whenRoom(t, n))
	if !w.isLate() {
		return max(again, min(room, w.whenRenewed(t, n)))
	}
	return max(t, min(room, w.whenBack(t, n)))
}
