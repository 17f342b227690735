package window

import "time"

// This file is for servers that say how much is left, but not until when. How long their windows are is
// learned from those that were used up. The first request after that departs after a second, as where nothing is
// known. If it finds all, the window was over; if it is refused, it was not. Between the two, the roundest time is
// taken for the length. From then on windows end so long after the first request that departed in them, as if the
// server had told it.
//
// If less than half is found, units come back one by one, and that contradicts the length. So do two refusals after it, or
// one soon after it was learned. Then nothing is known, and four times as many windows have to agree before it
// is learned again. Before it is learned, one unit that is missing shows the same, and four windows in a row have to agree.
// A bucket that holds no more than it gains in such a time looks like windows, and is spent like them.
//
// Windows may also be shorter. So after some that were as long, one request departs halfway between the longest time that is
// known to be too short and the end. If it finds all, and so does one in the next window, windows are that long. What is
// known to be too short may be of windows that were longer, so now and then one departs halfway between the time when the
// window was used up and the end. One of these departs in five minutes or in 200 requests, whichever takes longer. If the
// server tells another quota, all of this is learned anew.
//
// Where units come back one by one, a request that departs when nothing was left finds those that have come since then. So
// the next one departs after the time that one of them took, and a quarter of it. If it is refused, that time is doubled, up to a
// second. Where all would be back in little more than a second, none departs before that.
//
// Where two windows are weighed, a refusal may hold until a window is over, and then all that has come back is spent at
// once, and the next request is refused again. So if a refusal holds for much longer than a unit takes, a unit may take more than a
// second. Each answer makes that shorter by no more than a quarter: what came back in a hold has come back sooner. One
// unit, which is all that a server may tell that has stopped counting, makes it longer, but no longer than four times what two or
// more have shown.
type untold struct {
	length time.Duration // of a window; 0: not known
	least  time.Duration // after which it was not over
	short  time.Duration // after which one was over, though that is less than length; 0: none was
	kept   uint8         // windows in a row that were over after length, or if that is not known, that would tell it
	rest   uint8         // windows since one request departed halfway
	pause  uint8         // how many have to be kept before the next one does
	failed uint8         // lengths that were wrong
	unit   time.Duration // that one unit takes, where units come back one by one; 0: not known
	shown  time.Duration // that it took when two or more were found, or twice as long for each refusal since; 0: not known
	dear   bool          // the last refusal holds for much longer than that
}

const (
	untoldKept   = 8   // windows, for which one refusal is by chance
	untoldPause  = 3   // windows before the first request that departs halfway
	untoldRest   = 128 // windows before each of them at most
	untoldFailed = 4   // lengths, after which none is learned
	untoldPart   = 3   // parts of a length, of which the last is not looked into
	unitMargin   = 4   // the part of the time for a unit that is waited for in addition

	longestUnit = time.Second         // as long as is waited for anyway
	slowestUnit = 10 * time.Second    // that is waited for where refusals are dear
	unitSpread  = 4                   // times as long as was shown: a unit that takes longer is not believed
	soonAll     = 5 * time.Second / 4 // in which all are back: not worth a look for one
)

// SetUntold is SetPolicy for a policy that does not say how long its windows are: they are as long as was learned.
func (w *Window) SetUntold(unit Unit, quota int64, s *Server) {
	if w.Quota >= 0 && quota >= 0 && min(quota, MaxUnits) != w.Quota {
		s.untold = untold{} // windows of another quota may be of another length
		if w.rare != nil && w.rare.spent != nil {
			w.rare.spent.from = 0
		}
	}
	w.SetPolicy(unit, quota, s.untold.length)
	w.set(learned, true)
}

// Told is how long windows are, if the server has said it; else 0.
func (w *Window) Told() time.Duration {
	if w.is(learned) {
		return 0
	}
	return w.Length
}

// untolds reports whether nothing tells when the window of a figure is over.
func (w *Window) untolds(s *Server) bool {
	return w.Strategy == Adaptive && w.Unit == Requests && w.most(s) > 1 && w.Told() == 0
}

// untoldEnd is when the window of a figure is due whose answer does not tell it, and the round trip that its guard
// depends on. The request found so many units.
func (w *Window) untoldEnd(sent Instant, avail, found int64, refused bool, s *Server) (due Instant, trip time.Duration) {
	if !w.untolds(s) {
		return Never, w.rtt
	}
	if sent < w.closed && (w.State == Expired || w.State == Reported && avail < w.available-w.Unanswered()) {
		return w.closed.Add(-2 * time.Second), w.rtt // of the window before
	}
	w.ownSpent()
	w.observeUntold(sent, found, refused, s)
	u, l, trip := &s.untold, w.rare.spent, w.trip
	if w.beginsUntold(sent, avail, found, refused, s) {
		l.from, trip = max(sent, 1), w.rtt
	}
	switch {
	case u.length == 0 || l.from == 0:
		return Never, trip
	case refused && sent >= l.from.Add(u.length):
		return sent.Add(time.Second), trip
	}
	return l.from.Add(u.length), trip
}

// beginsUntold reports whether a figure is that of the first request of a window, as far as is known.
func (w *Window) beginsUntold(sent Instant, avail, found int64, refused bool, s *Server) bool {
	all := found+w.Unanswered() >= w.most(s) // those that are not answered may have arrived before
	switch {
	case refused:
		return false
	case w.State == Expired:
		return all || found > w.available
	case w.State != Reported:
		return true
	case !w.inOrder(sent):
		return false
	case !all:
		if avail >= w.available && w.silent <= w.received { // else one that was not answered may have cost nothing
			w.rare.spent.from = 0 // a unit has come back, and it is not known when a window has begun
		}
		return false
	case avail > w.available && w.Length == 0: // else observeRise sees it
		w.closed = sent
		w.habits().closing(w)
	}
	return avail >= w.available
}

// untoldLook is when the window in force is due, once an answer has told that it is used up, to a request that departed at
// sent. That is sooner, if one request is to depart halfway, or once a unit is back.
func (w *Window) untoldLook(sent Instant, s *Server) Instant {
	u, r := &s.untold, w.rarely()
	if u.unit > 0 && w.untolds(s) {
		return min(w.due, sent.Add(u.unit+u.unit/unitMargin))
	}
	if !w.untolds(s) || u.length == 0 || r.spent == nil || r.spent.from == 0 {
		return w.due
	}
	if u.short > 0 {
		return r.spent.from.Add(u.short)
	}
	long := min(untoldRest, looksEach(w.most(s), u.length))
	pause, spent := min(max(u.pause, untoldPause), long), sent.Since(r.spent.from)
	least := max(u.least, spent)
	if u.length-least < u.length/untoldPart {
		least, pause = spent, long // u.least may be of windows that were longer
	}
	if u.rest >= pause && u.length-least >= u.length/untoldPart {
		u.rest, u.pause = 0, uint8(min(8*int(pause), int(long)))
		return r.spent.from.Add((least + u.length) / 2)
	}
	return w.due
}

// observeUntold looks at a figure of a request that found so many units: is a window over that was used up?
func (w *Window) observeUntold(sent Instant, found int64, refused bool, s *Server) {
	if w.rare == nil || w.rare.spent == nil {
		return
	}
	u, from := &s.untold, w.rare.spent.from
	w.observeUnit(sent, found, refused, u, s)
	if from == 0 || w.available > 0 || w.isLate() || u.failed >= untoldFailed || !w.inOrder(sent) || sent <= w.sent ||
		w.State != Reported && w.State != Expired {
		return
	}
	after, most := sent.Since(from), w.most(s)
	switch {
	case after < u.length && found < most:
		u.least, u.short = after-w.rtt, 0
	case refused && u.length > 0 && u.kept >= 2:
		u.kept = max(u.kept, untoldKept) - untoldKept
	case refused && u.length > 0:
		if w.failUntold(u); u.failed == 1 {
			u.kept = u.enough() - 1 // the next one tells it, if it had begun before the first request
		}
		u.least = after - w.rtt
	case refused:
		u.least = after - w.rtt
	case 2*(found+w.Unanswered()) < most:
		if w.unshared() {
			w.failUntold(u)
		}
	case u.length == 0 && found+w.Unanswered() < most && w.unshared():
		u.kept, u.failed = 0, max(u.failed, 1)
	case u.length == 0:
		if found < most {
			return
		}
		if u.kept++; u.kept >= u.enough() {
			u.length, u.kept = roundest(max(u.least, w.sent.Since(from)), after), 0
		}
	case after >= u.length:
		u.short = 0
		u.rest = min(u.rest+1, untoldRest)
		if u.kept = min(u.kept+1, 128); u.kept >= untoldKept {
			u.failed = 0
		}
	case u.short == 0:
		if u.short = after; u.least >= after {
			u.least = 0
		}
	default:
		u.length, u.short, u.rest, u.pause = roundest(u.least, max(after, u.short)), 0, 0, 0
		if u.kept >= untoldKept {
			u.least, u.rest = 0, untoldRest // what was too short was so in longer windows, so the next one is looked into
		}
		u.kept = 0
	}
	if u.length > ProbeInterval {
		u.length = 0
	}
}

// observeUnit looks at a figure of a request that departed when nothing was left. If it found some units, but not all,
// they come back one by one. If it was refused, that takes longer than was known.
func (w *Window) observeUnit(sent Instant, found int64, refused bool, u *untold, s *Server) {
	if w.available > 0 || !w.inOrder(sent) || sent <= w.sent || w.State != Reported && w.State != Expired {
		return
	}
	each := time.Duration(0)
	switch {
	case refused:
		each = 2 * u.unit
		u.shown = max(u.shown, min(2*u.shown, slowestUnit))
	case found+w.Unanswered() < w.most(s) && w.unshared() && !w.isLate():
		each = sent.Since(w.sent) / time.Duration(found)
		if u.unit == 0 && each <= soonAll/time.Duration(w.most(s)) {
			each = 0
		} else {
			each = max(each, u.unit-u.unit/unitMargin)
		}
		if found > 1 {
			u.shown = each
		}
	}
	if each >= longestUnit && (!u.dear || each > unitSpread*u.shown) {
		each = 0
	}
	u.unit = min(each, slowestUnit)
}

// enough is how many windows have to agree before a length is learned.
func (u *untold) enough() uint8 { return 1 << (2 * u.failed) }

// failUntold takes over that windows are not as long as was learned.
func (w *Window) failUntold(u *untold) {
	if u.length > 0 {
		u.failed++
	}
	*u = untold{failed: u.failed, pause: u.pause, unit: u.unit, shown: u.shown, dear: u.dear}
	w.Length = 0
}

// roundest is the roundest time after least, which is too short, up to most.
func roundest(least, most time.Duration) time.Duration {
	for _, step := range [...]time.Duration{time.Hour, 10 * time.Minute, time.Minute, 10 * time.Second, 5 * time.Second, time.Second} {
		if d := least.Truncate(step) + step; d <= most {
			return d
		}
	}
	return most
}
