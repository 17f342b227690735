package window

import "time"

// This file is for a server that stops saying anything of a quota. It need not say it in each
// answer (the draft, Section 5.1), so our own count goes on. But the quota may not be meant any more.
//
// If our count is used up, and no answer has named the quota for three of its windows, 10 s to 10 min,
// one request departs with nothing left and nothing out. It does not wait so long where 16 served answers in a
// row named the quota, and then 16 did not: that server told it in each answer, and has stopped. Servers that
// tell a quota now and then, or where little is left of it, do not look like that.
//
// If the request is served, others follow, and one more may be out with each 16 that are served. No server
// that enforces the quota serves more than twice as much at a time: at the end of one window and at the
// beginning of the next. Once a quarter more than that was, nothing is known of the quota any more.
//
// A refusal shows that it is still meant, whether it names the quota or not. Then none tries for 10 min,
// 40 min, … up to a day, and the next one waits for the three windows in any case.

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
	habitual     = 16 // served answers in a row show whether the server names the quota in each
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
	quota, _ := w.size(s)
	return time.Duration(float64(w.span(s)) * min(float64(n)/float64(max(quota, 1)), 4))
}

// silence is how long no answer names the quota before a request tries.
func (w *Window) silence(a *Absent, s *Server) time.Duration {
	if a.refusals == 0 && s.stopped() {
		return 0
	}
	return min(max(3*w.span(s), leastSilence), ProbeInterval)
}

// stopped reports whether the server named a quota in each answer, and does not any more.
func (s *Server) stopped() bool { return s.named >= habitual && s.unnamed >= habitual }

// CountNamed takes over whether an answer names a quota that its request was charged to.
func (s *Server) CountNamed(named bool, what Outcome) {
	switch {
	case named && s.unnamed > 0:
		s.named, s.unnamed = 0, 0
	case what != Served:
	case named:
		s.named = min(s.named, habitual-1) + 1
	default:
		s.unnamed = min(s.unnamed, habitual-1) + 1
	}
}

// Named takes over that an answer at t, to a request that departed at sent, has named the quota.
func (w *Window) Named(t, sent Instant, what Outcome, a *Absent, s *Server) {
	if what == Refused && w.tried(sent, a, s) {
		a.enforced(t)
	}
	*a = Absent{named: t, hard: a.hard, refusals: a.refusals}
}

// tried reports whether the refusal of a request that departed at sent may be that of one that tried.
func (w *Window) tried(sent Instant, a *Absent, s *Server) bool {
	return a.first > 0 && sent >= a.first && sent <= a.last.Add(w.span(s))
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
		if w.tried(c.Sent, a, s) {
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
	a.enforced(t)
}

// enforced begins the time in which no request tries.
func (a *Absent) enforced(t Instant) {
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
	at := max(t, w.Hold, w.BackOff, a.hard, a.since.Add(w.silence(a, s)))
	if w.Unanswered() > more {
		at = max(at, w.BeforeLands())
	}
	return at
}

// TriesAt is when it is worth coming back to try; 0: once those that are out have been answered;
// Never, if none tries.
func (w *Window) TriesAt(t Instant, a *Absent, s *Server) Instant {
	if a.since == 0 || !w.mayBeAbsent() {
		return Never
	}
	if at := w.WhenAbsent(t, a, s); at != Never {
		return at
	}
	return 0
}

// Vanishes is until when an answer may show that a quota is not meant any more, or let the first request
// try; 0: it may not. The Absent may be nil.
func (w *Window) Vanishes(a *Absent, s *Server) (until Instant) {
	switch {
	case w.InFlight == 0:
	case a != nil && a.first > 0:
		return a.last.Add(max(time.Second, 4*w.rtt))
	case w.Misses() && s.stopped() && (a == nil || a.refusals == 0):
		return w.Used.Add(max(time.Second, 4*w.rtt))
	}
	return 0
}
