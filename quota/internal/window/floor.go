package window

// This file is for servers that never say that nothing is left: they say one at least. A request that
// is refused while nothing else is out, and is told that one is left, shows that. From the first such refusal on
// our own log is kept. After two in a row the last unit that a figure has room for departs when it is
// back by that log or the window is over, until the server serves a request and says that none is left.
const flooredAt = 2

// observeFloor looks at a figure: does it show that the server says one where it means none?
func (w *Window) observeFloor(f *Figure, refused bool, s *Server) {
	switch {
	case !refused && f.Available == 0, refused && f.Available > 1:
		s.floored = 0
	case refused && f.Only && f.Available == 1 && f.Charge.Units == 1 && w.Unanswered() == 0:
		s.floored = min(s.floored+1, flooredAt)
	}
}

// floors reports whether the last unit of a figure may be none.
func (w *Window) floors() bool { return w.hasLog() && w.rare.spent.floor >= flooredAt }
