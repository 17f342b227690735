package window

import "time"

// This file is for servers that say how long a window lasts when they answer, and not when the
// request arrives; as those do whose instants are compared with the Date of the answer. Where
// answers take seconds, as those of language models do, a window that is counted from a departure
// would end too early, by as long as the answer took, and the first request after it is refused.
//
// Two answers of one window show which it is, if one has taken longer than the other by more than
// whole seconds explain: both say the same end, counted from where the server counts. If that is
// the answer, the earliest end of the window's answers counts. It needs no guard, because
// what departs then arrives later.
//
// Ends of other servers agree by chance: of a sliding log, of two windows weighed, of several processes
// with windows of their own. They also move by less than a window, or units come back before them.

const (
	byAnswers  = 2                       // comparisons after which ends are counted from answers
	sureAnswer = 8                       // the most that are remembered
	oneEnd     = 1100 * time.Millisecond // within which two ends are the same: whole seconds, and how much trips differ
	otherEnd   = 1650 * time.Millisecond // above which two ends counted from departures are not
	leastTold  = 8 * time.Second         // whole seconds do not tell the ends of shorter windows apart
)

// answerEnds are the ends of a window that answers have told.
type answerEnds struct {
	departed, arrived Instant // of its first answer, counted from both; 0: none is known
	least             Instant // the earliest, counted from answers
}

// endByAnswer is when a window is over that lasts for that long by an answer which arrived at t, of a
// request that departed at sent, if the server says how long it lasts when it answers.
func (w *Window) endByAnswer(t, sent Instant, length time.Duration, s *Server) (due Instant, ok bool) {
	known := w.rare != nil && w.rare.spent != nil && w.rare.spent.ends.arrived > 0
	if w.Strategy == Plain || w.Unit == Concurrent || length <= 0 || w.refill.served > 0 || s.Span < leastTold || !known && t-sent < Instant(oneEnd) {
		return 0, false
	}
	e := &w.ownSpent().ends
	departed, arrived := sent.Add(length), t.Add(length)
	switch before, after := apart(departed, e.departed) <= Instant(otherEnd), apart(arrived, e.arrived) <= Instant(oneEnd); {
	case !known || !before && !after: // another window
		if known && apart(arrived, e.arrived) < Instant(s.Span)*3/4 {
			s.answers = 0 // its ends move
		}
		*e = answerEnds{departed, arrived, arrived}
	case after && !before:
		if s.answers = min(s.answers+1, sureAnswer); s.answers == byAnswers && w.State == Reported {
			w.ends(min(e.least, arrived), 0, Never)
		}
	case before && !after:
		s.answers = max(s.answers, byAnswers) - byAnswers
	}
	e.least = min(e.least, arrived)
	return min(e.least, Never-1), s.answers >= byAnswers
}

// apart is how long it is between two instants.
func apart(x, y Instant) Instant { return max(x, y) - min(x, y) }
