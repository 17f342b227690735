package window

import "time"

// This file is for a server that stops saying anything of a quota. It need not say it in each
// answer (the draft, Section 5.1), so our own count goes on. But the quota may not be meant any more.
//
// If our count is used up, and no answer has named the quota for three of its windows, 10 s to 10 min,
// one request departs with nothing left and nothing out. If it is served, others follow, and one more may be
// out with each 16 that are served. No server that enforces the quota serves more than twice as
// much at a time: at the end of one window and at the beginning of the next. Once a quarter more than that
// was, nothing is known of the quota any more.
//
// A refusal shows that it is still meant. Then none tries for 10 min, 40 min, … up to a day.

// Absent is what is known since the quota was named last.
type Absent struct {
	named    Instant // arrival of the last answer that named the quota; 0: not known
	since    Instant // the same, or when our count was used up; 0: it was not, after that
	from     Instant // when that was found
	back     Instant // when all that had departed by then, and was served since, would be back, one by one
	first    Instant // departures of requests that tried, since then; 0: none has
	last     Instant
	served   uint16  // of these
	doubts   uint8   // of their answers in a row, those that do not show whether they were served
	refusals uint8   // of these, in a row
	hard     Instant // none tries before
}

const (
	leastSilence = 10 * time.Second
	triesOf      = 16 // that are served, for one more out
	mostDoubts   = 16
)

// An Outcome is what an answer shows of a request.
type Outcome uint8

const (
	Unsure Outcome = iota // whether it was served, and counted
	Served
	Refused
)

// mayBeAbsent reports whether our own count of the quota may end because it is not named.
func (w *Window) mayBeAbsent() bool {
	return w.Unit == Requests && w.Strategy == Adaptive && w.State != Unknown
}

// span is how long a window is, as far as is known.
func (w *Window) span(s *Server) time.Duration {
	if w.Length > 0 {
		return min(w.Length, MaxSavedTime)
	}
	return max(min(s.Span, MaxSavedTime), time.Second)
}

// comesBack is how long n units would take if units came back one by one, no more than four windows.
func (w *Window) comesBack(n int64, s *Server) time.Duration {
	most := w.Quota
	if most <= 0 {
		most = s.Most
	}
	return time.Duration(float64(w.span(s)) * min(float64(n)/float64(max(most, 1)), 4))
}

// silence is how long no answer names the quota before a request tries.
func (w *Window) silence(s *Server) time.Duration {
	return min(max(3*w.span(s), leastSilence), ProbeInterval)
}

// Named takes over that an answer at t has named the quota.
func (a *Absent) Named(t Instant) {
	*a = Absent{named: t, hard: a.hard, refusals: a.refusals}
}

// Misses reports whether it begins to matter that answers do not name the quota: our own count
// is used up.
func (w *Window) Misses() bool { return w.mayBeAbsent() && w.spare() <= 0 }

// Unnamed takes over an answer at t that does not name the quota. It reports whether that is
// not enforced any more, and since when it was not named. Then nothing is known of it.
func (w *Window) Unnamed(t Instant, c Charge, what Outcome, a *Absent, s *Server) (since Instant, over bool) {
	if !w.mayBeAbsent() || c.Units <= 0 {
		return 0, false
	}
	tried := a.first > 0 && c.Sent >= a.first
	switch {
	case what == Refused:
		if tried && c.Sent <= a.last.Add(w.span(s)) {
			w.enforce(t, a)
		}
		return 0, false
	case what == Unsure:
		if tried && c.Sent <= a.last {
			if a.doubts++; a.doubts > min(3+uint8(min(a.served, mostDoubts)), mostDoubts) {
				w.enforce(t, a)
			}
		}
		return 0, false
	case a.since == 0 && !w.Misses():
		return 0, false
	case a.since == 0:
		if a.since = max(a.named, w.received); a.since == 0 {
			a.since = max(t, 1)
		}
		if a.from, a.back = t, t; w.end != Never {
			a.back = max(t, w.due)
		}
	}
	if tried && c.Sent <= a.last {
		a.doubts, a.served = 0, min(a.served, 1<<15)+1
	}
	if c.Sent >= a.from {
		a.back = max(a.back, c.Sent).Add(w.comesBack(c.Units, s))
	}
	if a.back <= t.Add(w.span(s)*9/4) {
		return 0, false
	}
	since = a.since
	w.noBucket()
	w.SetPolicy(w.Unit, None, 0)
	w.forget()
	return since, true
}

// enforce takes over at t that the quota is still meant. Nothing departs until what was served
// beyond it would be back: of a bucket, each window after it would have too little.
func (w *Window) enforce(t Instant, a *Absent) {
	if (w.State == Counting || w.State == Reported) && !w.IsBucket() && w.end != Never {
		w.available = 0
		w.ends(max(w.due, a.back), w.trip, Never)
	}
	pause := min(ProbeInterval<<(2*min(a.refusals, 4)), enforcedFor)
	*a = Absent{hard: t.Add(pause), refusals: min(a.refusals, 4) + 1}
}

// TakeAbsent notes that n units are about to depart at t.
func (w *Window) TakeAbsent(t Instant, n int64, a *Absent) {
	if a.since == 0 || w.spare() >= n {
		return
	}
	if a.last = t; a.first == 0 {
		a.first = max(t, 1)
	}
}

// WhenAbsent is when one request may depart to find out whether a quota that is not named any
// more is still meant; Never, if none may.
func (w *Window) WhenAbsent(t Instant, a *Absent, s *Server) Instant {
	more := int64(a.served / triesOf)
	if a.since == 0 || !w.mayBeAbsent() || w.InFlight > more {
		return Never
	}
	at := max(t, w.Hold, w.BackOff, a.hard, a.since.Add(w.silence(s)))
	if w.Unanswered() > more {
		at = max(at, w.BeforeLands())
	}
	return at
}

// Vanishes is until when an answer may show that a quota is not meant any more; 0: it may not.
func (w *Window) Vanishes(a *Absent) (until Instant) {
	if a.first > 0 && w.InFlight > 0 {
		return a.last.Add(max(time.Second, 4*w.rtt))
	}
	return 0
}
