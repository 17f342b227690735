package window

import "time"

// This file is habit 2 of Adaptive: a server that rounds seconds down says w = 0 in
// the last second, and one that rounds up never does. Of a policy that has once
// said so, a window ends at s + w + 1 s, or at s + W if W, the window of the policy,
// is less.
//
// If W is not told, w = 0 counts as a second from the first answer on: else all that waits would depart
// at once. A request that began a window is told the whole of it. That is not rounded, where it is
// whole seconds; it is given up once a request that departed then was refused.
//
// If w itself is more than W, it is the time until a bucket is full. In any W that begins
// with an empty bucket it gives the quota of the policy, so the window ends at s + W. It takes
// a window that has shown no other client, and it is given up once a request that
// departed then was refused.

// observeRounding notes what a report says of the server: that it rounds down, for the
// window in force, too; or that its windows are longer than W, or than it said of a whole one.
func (w *Window) observeRounding(sent Instant, length time.Duration, avail int64, refused bool, s *Server) {
	if refused && w.State == Expired && sent >= w.closed && (w.Length > 0 && length > w.Length || w.Length <= 0 && s.RoundsDown) {
		s.Longer = true
	}
	if s.RoundsDown || length != 0 || avail > 0 && avail >= w.Quota {
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
		length = s.Span
	}
	return quota, length
}
