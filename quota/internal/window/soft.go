package window

import "time"

// This file is habit 7 of Adaptive: a soft quota. Its server says that nothing is left, and
// serves on: some bill what is beyond it, some only warn, and some gateways do not enforce.
//
// What shows it is a request that departed after the figure of 0 had arrived, was served, and
// was told that still nothing is left of the same window. If nothing had been left for a minute,
// one is enough; else, or after a refusal, it takes three. But in two windows weighed, units come back all the
// time, and the window that is told stays the same. So such a request counts only if it departed
// so soon that no unit can have come back, or so late that there would be more of them. Where it
// is between these, another one departs at once.
//
// Most such requests depart anyway: a look into a long window, the first request after a
// Retry-After, one that does not ask. Beside them, one looks when a sixteenth of the window
// has passed, if 400 requests have departed for the account, or 3,000 where the window is short,
// and the policy has not refused a request with nothing left for a day. So at most one request
// in 400 is refused for this, and one a day.
//
// Where the server does not say when a window of more than ProbeInterval ends, the first look departs
// after a second, whatever has departed before, and the next one at once if that is served. A server
// that enforces its quota refuses one request more of each policy in a day. Once three looks were
// served, even in the day after a refusal, the quota holds nothing. Then refusals may be those of
// another limit that the server does not tell: only seven in a row, with their back-offs, end it.
//
// Where it does not say when a shorter one ends, one departs each second anyway, or as often
// as the policy's windows begin. In a bucket each of these may have had a unit, so after a
// refusal they show nothing for a day.
//
// Then two requests may be out with nothing left, and one more with each four that are served. So
// few are refused if the server serves a little more than it says. A request that is
// refused with nothing left ends it: for a day, no request looks. But for each 64
// that were served one refusal is forgiven: it is more likely to have another
// reason, which the fields do not tell. Then one request asks after the back-off.
//
// Some answers say that nothing is left although much is: those of a gateway or a cache, or all with the status 404. Such a
// figure falls to 0 by strangeFall units more than departed, and no other client was ever seen. Then one request looks after a
// second, whatever has departed before, and others after 2, 4, … If one is told that something is left of the same account,
// the figure was untrue. After three of these, such figures are ignored. If one turns out to be true, none is taken to be strange
// for a day.
//
// A 403 with nothing left is a refusal (GitHub), but only its figure says so. If that is strange, the answer does not count as a
// refusal, and neither does that of the first look. After three untrue figures, those of errors are ignored however little they
// fall by, but not two refusals in a row.
//
// Not every answer shows whether a request was served and counted. One that may not have been shows
// nothing; but many of these in a row end a soft quota, and if a look is answered so, none follows for a day.
type soft struct {
	dry, due Instant // arrival of the first figure of 0 for a window, and when that is due
	served   uint16  // with nothing left, less 64 for each refusal; at most maxServed
	out      uint16  // served since it was known to be soft; 0: it is not
	look     Instant // when the next look may depart
	again    bool    // one may depart then, whatever has departed before
	vain     uint8   // refusals in a row that were forgiven, of a long window whose end is not told
	doubts   uint8   // answers in a row with nothing left that do not show that a request was served
	refused  Instant // arrival of the last refusal with nothing left
	hard     Instant // until when no request looks, and one that is served is not enough
	strange  bool    // the last figure of 0 was
	strays   uint8   // strange ones that were shown to be untrue, since the last that was true
	ignored  Instant // arrival of the first one that was ignored and may be a refusal, since the last answer of more; 0: there is none
	plain    Instant // until when none is taken to be strange, because one was true
}

const (
	enforcedFor    = 24 * time.Hour
	enoughServed   = 3                // to show that a quota is soft
	sureAfter      = time.Minute      // with nothing left: then one is
	longRest       = 90 * time.Second // of a window
	enoughForLong  = 400              // departures before a look into that much
	enoughForShort = 3_000            // and into less
	leastRest      = 3 * time.Second  // whole seconds do not tell shorter windows apart
	rampOf         = 4                // served, with which one more may be out
	forgiven       = 64               // served, for which one refusal is forgiven
	maxServed      = 8 * forgiven
	forgivenInRow  = 6  // refusals, of a long window whose end is not told: a minute of back-offs
	endsAfter      = 16 // answers that show nothing
	strangeFall    = 8

	enoughForStrange = 8 // departures
	enoughStrays     = 3
	ownPart          = 0.9             // of what is spent, where untrue figures seem to show others
	doubted          = 2 * time.Second // after a strange figure: the second look departs later
)

// canBeSoft reports whether a quota may turn out not to be enforced.
func (w *Window) canBeSoft() bool {
	return w.Unit == Requests && w.Strategy == Adaptive && !w.IsBucket()
}

// observeSoft looks at a figure that arrived at t, of a window that is due then, before it is
// taken over. avail is what is left by it.
func (w *Window) observeSoft(t, sent Instant, avail int64, due Instant, f *Figure, refused bool, server *Server) {
	s, was := &server.soft, w.due
	if w.refill.trying {
		was = s.due // this one was cut short
	}
	untold := due == Never && w.Length > ProbeInterval
	switch dry := w.available <= 0 && (w.State == Reported || w.State == Expired); {
	case avail > 0:
		if sent > s.ignored {
			s.ignored = 0
		}
		if s.strange && dry && sent > s.dry {
			if s.strange = false; t < s.due {
				s.strays = min(s.strays+1, enoughStrays)
			}
		}
	case refused:
		if s.strange || s.strays > 0 && w.strange(f) {
			s.strange, s.strays, s.plain = false, 0, t.Add(enforcedFor)
		}
		s.enforce(t, sent, untold)
	case !w.canBeSoft() || due < sent.Add(leastRest):
	case !dry:
		s.dry, s.due = t, due
		s.strange = t >= s.plain && w.strange(f)
	case f.Charge.Units <= 0 || sent <= max(s.dry, w.adopted):
	case !f.Served:
		s.doubt(t)
	case !sameWindow(was, due):
		s.dry, s.due = t, due
	case s.out == 0 && !w.neverBack(sent-w.sent, server):
		if untold || t >= s.hard && sent >= s.dry.Add(sureAfter) {
			s.look, s.again = t, true
		}
	case s.out > 0 || t >= s.hard && sent >= s.dry.Add(sureAfter) ||
		s.served+1 >= enoughServed && (t >= s.hard || due != Never || untold):
		s.doubts, s.vain = 0, 0
		s.served = min(s.served+1, maxServed)
		s.out, s.hard = min(s.out, 1<<15)+1, 0
	default:
		s.served = min(s.served+1, maxServed)
		s.look, s.again = t, s.again || untold
	}
}

// strange reports whether a figure falls to 0 by far more than departed, although no other client was ever seen.
func (w *Window) strange(f *Figure) bool { return w.fallsBy(f, strangeFall, 1) }

// fallsBy reports whether a figure falls by n units more than departed, although at least that part of what was spent was ours.
func (w *Window) fallsBy(f *Figure, n int64, part float64) bool {
	return w.State == Reported && w.canBeSoft() && w.departed >= enoughForStrange && w.contention.part() >= part &&
		w.spare()-f.Charge.Units >= n
}

// isUntrue reports whether a figure of 0 is like those that were shown to be untrue.
func (w *Window) isUntrue(f *Figure, s *soft) bool {
	if f.Served {
		return s.strays >= enoughStrays && w.strange(f)
	}
	return s.strays >= enoughStrays && w.fallsBy(f, 1, ownPart)
}

// Doubts reports whether a figure of 0 that arrived at t, and alone says that the request was refused, may be untrue. If it
// is strange, so may be those of the first look.
func (w *Window) Doubts(t, sent Instant, f Figure, server *Server) bool {
	s := &server.soft
	f.Charge = Charge{} // the request still counts as in flight
	switch w.Roll(t); {
	case f.Window < 0:
		return false
	case w.State == Reported && w.available <= 0:
		return s.strange && sent < s.dry.Add(doubted)
	}
	return t >= s.plain && (w.strange(&f) || w.isUntrue(&f, s))
}

// ignores reports whether a figure that arrived at t is untrue. Of those that may be refusals, it is only the first until more is
// told.
func (w *Window) ignores(t, sent Instant, f *Figure, avail int64, refused bool, server *Server) bool {
	s := &server.soft
	switch {
	case avail > 0 || refused || !w.isUntrue(f, s) || f.Doubtful && s.ignored > 0 && sent > s.ignored:
		return false
	case f.Doubtful && s.ignored == 0:
		s.ignored = t
	}
	return true
}

// longUntold reports whether the server does not say when a window of more than ProbeInterval
// ends.
func (w *Window) longUntold() bool { return w.due == Never && w.Length > ProbeInterval }

// neverBack reports whether a request that was served so long after the figure of 0 has not had a
// unit that had come back before the end of the window, as in two windows weighed: there was no
// time for that, or so much that there would be more of them.
func (w *Window) neverBack(after Instant, s *Server) bool {
	unit := w.oneByOne(s)
	return after < unit/4 || after > 3*unit && w.contention.part() == 1
}

// oneByOne is how long a unit would take if units came back one by one.
func (w *Window) oneByOne(s *Server) Instant {
	quota, length := w.size(s)
	return Instant(length) / Instant(max(quota, 1))
}

// enforce takes over a refusal at t with nothing left. Refusals of requests that overlap are
// one. untold says that it is of a window as longUntold reports.
func (s *soft) enforce(t, sent Instant, untold bool) {
	if s.refused > 0 && sent < s.refused {
		return
	}
	s.refused, s.out = t, 0
	switch {
	case untold && s.served >= enoughServed && s.vain < forgivenInRow:
		s.vain++
		s.look, s.again = t, true
	case !untold && s.served >= forgiven:
		s.served -= forgiven
		s.look, s.again = t, true
	default:
		s.served, s.vain, s.again, s.hard = 0, 0, false, t.Add(enforcedFor)
	}
}

// doubt takes over an answer at t with nothing left, of a request that may have been refused, or
// not counted. It shows nothing. Many in a row end a soft quota, and after one at which nothing was
// known, no request looks for a day.
func (s *soft) doubt(t Instant) {
	if s.doubts++; s.out > 0 && s.doubts < endsAfter {
		return
	}
	s.out, s.again, s.doubts = 0, false, 0
	s.look = max(s.look, t.Add(enforcedFor))
}

// Forgives reports whether a refusal that arrived at t, with nothing left, does not show that the
// quota is enforced.
func (s *Server) Forgives(t Instant) bool { return s.soft.refused == t && s.soft.hard <= t }

// RefusedDry takes over a refusal at t that says nothing of the quota, of a request that
// departed at sent. If nothing was left, it shows that the quota is enforced.
func (w *Window) RefusedDry(t, sent Instant, s *Server) {
	if w.UsedUp() && sent >= s.soft.dry {
		s.soft.enforce(t, sent, w.longUntold())
	}
}

// TakeDry notes a request that departs at t, whatever is left.
func (w *Window) TakeDry(t Instant, s *Server) {
	if !w.UsedUp() {
		return
	}
	next := ProbeInterval
	if w.due == Never { // others look anyway
		next = min(next, w.Length/16)
	}
	s.soft.look, s.soft.again = max(s.soft.look, t.Add(next)), false
}

// WhenSoft is when n units may depart although nothing is left, because the quota is not
// enforced, or to find out; Never, if they may not.
func (w *Window) WhenSoft(t Instant, n int64, server *Server) Instant {
	s := &server.soft
	at := max(t, w.Hold, w.BackOff)
	if !s.again || !w.longUntold() {
		at = max(at, s.hard)
	}
	switch ended := w.State == Expired || w.State == Reported && w.end <= at; {
	case w.State != Reported && w.State != Expired || !w.canBeSoft():
		return Never
	case s.out > 0:
		if w.InFlight-max(w.available, 0) > int64(1+s.out/rampOf)*max(n, 1) {
			return Never
		}
		return at
	case ended || w.available > 0 || w.InFlight > 0:
		return Never
	}
	if w.before > 0 {
		at = max(at, w.BeforeLands())
	}
	if s.strange && w.State == Reported {
		next := s.dry.Add(time.Second)
		if w.asked > s.dry { // that look was told the same
			next = max(next, w.asked+w.asked-s.dry)
		}
		return max(t, w.Hold, w.BackOff, w.BeforeLands(), next)
	}
	if s.again {
		return max(at, s.look)
	}
	due := w.due
	if due == Never { // no longer than that
		due = w.received.Add(w.Length)
	}
	rest, enough := due-w.received, uint32(enoughForShort)
	wait := rest / 16
	switch {
	case w.longUntold():
		wait, enough = Instant(time.Second), 0
	case rest >= Instant(longRest):
		enough = enoughForLong
	}
	if w.departed < enough || rest < Instant(leastRest) {
		return Never
	}
	if !w.neverBack(wait, server) {
		wait = 4 * w.oneByOne(server)
	}
	if at = max(at, s.look, w.received+wait); due < at.Add(leastRest) {
		return Never
	}
	return at
}

// Softens is until when an answer may show that the quota is not enforced, while a request is
// out; 0: it may not.
func (w *Window) Softens(t Instant, server *Server) (until Instant) {
	s, patience := &server.soft, max(time.Second, 4*w.rtt)
	switch {
	case w.State != Reported || w.InFlight == 0 || !w.canBeSoft():
		return 0
	case s.out > 0:
		return w.Used.Add(patience)
	case w.available > 0 || t < s.hard:
		return 0
	case w.longUntold(): // one looks once those are answered
		return w.Used.Add(patience)
	case w.asked < s.dry:
		return 0
	}
	return w.asked.Add(patience)
}

// Soft reports whether the quota is not enforced, as far as is known.
func (s *Server) Soft() bool { return s.soft.out > 0 }

// Lenience is more if more of what waits for used up accounts of the policy may depart: none of it, one
// request soon to find out whether the quota is enforced, or requests one after another, because it is not.
func (s *Server) Lenience() int {
	switch {
	case s.Soft():
		return 2
	case s.soft.again, s.soft.strange:
		return 1
	}
	return 0
}
