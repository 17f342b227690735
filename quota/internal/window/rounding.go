package window

import "time"

// This file is habit 2 of Adaptive: a server that rounds seconds down says w = 0 in
// the last second, and one that rounds up never does. Of a policy that has once
// said so, a window ends at s + w + 1 s, or at s + W if W, the window of the policy,
// is less.

// observeRounding notes that the server rounds down, for the window in force, too.
func (w *Window) observeRounding(length time.Duration, avail int64, s *Server) {
	if s.RoundsDown || length != 0 || avail > 0 && avail >= w.Quota {
		return
	}
	s.RoundsDown = true
	if w.State == Reported {
		w.ends(w.due.Add(time.Second), w.trip, Never)
	}
}

// unrounded is how long a window is that the server says has that length.
func (w *Window) unrounded(avail int64, length time.Duration, s *Server) time.Duration {
	switch {
	case s.RoundsDown && w.Length > 0:
		return max(length, min(length+time.Second, w.Length))
	case s.RoundsDown || length == 0 && avail == 0:
		return length + time.Second
	}
	return length
}
