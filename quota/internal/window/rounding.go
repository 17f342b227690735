package window

import "time"

// This file is habit 2 of Adaptive: a server that rounds seconds down says w = 0 in
// the last second, and one that rounds up never does. If W is not told, a w that is 0 whenever something is left is the time until the next
// unit, and not of a window. Of a policy that has once
// said so, a window ends at s + w + 1 s, or at s + W if W, the window of the policy,
// is less.
//
// If W is not told, w = 0 counts as a second from the first answer on: else all that waits would depart
// at once. A request that began a window is told the whole of it. That is not rounded, where it is
// whole seconds; it is given up once a request that departed then was refused.
//
// Some servers know the end in whole seconds, rounded up, and tell how many these are from the second in which they answer,
// rounded down: of a window of a second they say 2 s at first. So if W is not told, and 2 s is the longest w that answers have
// told, one request looks, once for each server: it departs a second after a request that used up a window. If it is served
// within the next second, windows are a second, until more than one of three requests that relied on it, or the first, is refused.
//
// If w itself is more than W, it is the time until a bucket is full. In any W that begins
// with an empty bucket it gives the quota of the policy, so the window ends at s + W. It takes
// a window that has shown no other client, and it is given up once a request that
// departed then was refused.

const (
	roundedSecond = 2 * time.Second // what a second is, if both ends are rounded
	mostSooner    = 8               // windows that were over a second sooner, that count
	notSooner     = 2               // of these, for which one counts that was not
)

// observeRounding notes what a report says of the server: that it rounds down, for the
// window in force, too; or that its windows are longer than W, or than it said of a whole one.
func (w *Window) observeRounding(sent Instant, length time.Duration, avail int64, refused bool, s *Server) {
	if refused && w.State == Expired && sent >= w.closed && (w.Length > 0 && length > w.Length || w.Length <= 0 && s.RoundsDown) {
		s.Longer = true
	}
	w.observeSooner(sent, refused, s)
	s.ahead = s.ahead || length > 0 && avail > 0
	if s.RoundsDown || length != 0 || avail > 0 && (avail >= w.Quota || !s.ahead && w.Length <= 0) {
		return
	}
	s.RoundsDown = true
	if w.State == Reported {
		w.ends(w.due.Add(time.Second), w.trip, Never)
	}
}

// unrounded is how long a window is that the server says has that length. The request found so many units.
func (w *Window) unrounded(avail, found int64, length time.Duration, refused bool, s *Server) time.Duration {
	switch {
	case w.Length > 0 && length > w.Length && !refused && !s.Longer && w.alone():
		return w.Length
	case length == roundedSecond && !refused && w.mayBeSooner(avail, s):
		s.looked = true
		w.set(shortened, true)
		return time.Second
	case s.RoundsDown && w.begins(found, length, s) && !s.Longer:
		return length
	case s.RoundsDown && w.Length > 0:
		return max(length, min(length+time.Second, w.Length))
	case s.RoundsDown || length == 0 && (avail == 0 || w.Length <= 0):
		return length + time.Second
	}
	return length
}

// begins reports whether a request seems to have begun its window, where W is not told: it was told the
// longest window, and found the most units that were.
func (w *Window) begins(found int64, length time.Duration, s *Server) bool {
	return w.Length <= 0 && length > 0 && length == s.Span && found == w.most(s)
}

// most is what the first request of a window finds.
func (w *Window) most(s *Server) int64 {
	if w.Quota >= 0 {
		return w.Quota
	}
	return s.Most
}

// size returns the quota and how long a window is: as the policy says, else the most of which answers have told.
func (w *Window) size(s *Server) (quota int64, length time.Duration) {
	if quota, length = w.Quota, w.Length; quota <= 0 {
		quota = s.Most
	}
	if length <= 0 {
		length = s.longest()
	}
	return quota, length
}

// longest is how long the longest window takes of which answers have told; 0: none has. It is a second less once as many windows
// as count were over sooner.
func (s *Server) longest() time.Duration {
	if s.sooner == mostSooner && s.Span == roundedSecond {
		return time.Second
	}
	return s.Span
}

// mayBeSooner reports whether a window may be over a second sooner than an answer says that left so many units.
func (w *Window) mayBeSooner(avail int64, s *Server) bool {
	looks := avail == 0 && !s.looked
	return w.Length <= 0 && s.Span == roundedSecond && s.ends.first == 0 && !s.RoundsDown && !s.Longer && (s.sooner > 0 || looks) && w.contention.part() == 1
}

// observeSooner looks at an answer to a request that departed after a window that was taken to be over a second sooner than
// was told.
func (w *Window) observeSooner(sent Instant, refused bool, s *Server) {
	if !w.is(shortened) || w.rarely().resets != 0 || w.refill.trying || w.State != Expired || sent < w.closed {
		return
	}
	w.set(shortened, false)
	switch {
	case refused:
		s.sooner = max(s.sooner-notSooner, 0)
	case sent < w.closed.Add(time.Second): // later ones show nothing
		s.sooner = min(s.sooner+1, mostSooner)
	}
}
