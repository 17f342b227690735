package window

import "time"

// This file is a bucket whose server says when the next unit is there, where requests cost more
// than one. By what it says a window would be over then, but few units are there, and each request
// that looks is refused. A refusal shows it: its Retry-After and what has come back since the figure
// before both say how long one unit takes. If they agree, closely or several times, and with
// the policy if that says it, the quota is a bucket (bucket.go), in all windows of the policy.
//
// A bucket whose server says when it will be full, and whose policy says how long a unit takes, is found by
// its figures alone (untilfull.go). It is such a bucket, too, if requests cost more than one unit.
//
// Where no policy says how long a window is, Retry-After says how long a unit takes, the better the more
// units are missing.
//
// What other clients take from such a bucket is not guessed (contention.go): how much is there when a request
// departs depends on chance more than on them, and a Retry-After says when it is there. So a request departs when
// it would be there without them.
type steps struct {
	least, most time.Duration // that one unit takes, as far as refusals agree; a most of 0: there was none
	agreed      uint8         // how many do
	is          bool          // it is a bucket
	refused     uint8         // in a row, although there should have been enough
	failed      uint8         // how often it turned out to be none
	skip        uint8         // refusals to be left out
	costly      bool          // a request cost more than one unit
	full        wholly        // and the server says when it will be full
}

const (
	stepsAgree   = 4 // refusals that agree loosely, when it is a bucket
	stepsRefused = 3 // in a row, when it is none
)

// closely reports whether two bounds say how long a unit takes.
func closely(least, most time.Duration) bool { return most-least <= least/2 }

// steps reports whether the window is such a bucket.
func (r *rare) steps() bool { return r.spent != nil && r.spent.holds > 0 }

// holdsSteps notes how much of a quota that comes back unit by unit there is at most; 0: it does not.
func (w *Window) holdsSteps(most int64) {
	w.ownSpent().holds = most
}

// observeSteps looks at a figure, and returns in which time the quota comes back unit by unit; 0: it
// does not.
func (w *Window) observeSteps(sent Instant, avail int64, f *Figure, refused bool, s *Server) (fill time.Duration) {
	g := &s.steps
	if w.Strategy != Adaptive || w.Unit == Concurrent || w.Quota < 2 || f.Window < 0 || f.Full > 0 {
		return 0
	}
	short := refused && f.Charge.Mark != 0 && f.Charge.Units > max(avail, 1) && w.Unanswered() == 0
	g.costly = g.costly || f.Charge.Mark != 0 && f.Charge.Units > 1
	full := false
	if g.costly && w.Length > 0 && w.Unit == Requests {
		observeWholly(&g.full, w.Quota, avail, f, w.stepUnit(g))
		full = g.full.shown() && (w.fill() > 0 || w.Unanswered() == 0) // or the first figures come in another order
	}
	switch {
	case full:
	case g.is && f.beyond(w.stepUnit(g)):
		g.fail()
	case g.is && !refused:
		g.refused = 0
	case g.is && short && w.IsBucket():
		g.observeRefused(w, avail, f)
	case !g.is && short && w.State == Expired && sent >= w.closed:
		w.findSteps(sent, avail, f, g)
	}
	if !g.is && !full {
		if w.rare != nil && w.rare.steps() {
			w.holdsSteps(0)
		}
		return 0
	}
	if w.fill() == 0 {
		if w.State == Reported {
			w.State = Unknown // the end in force is that of a window
		}
		w.contention, w.compared = contention{}, compared{} // what others seemed to spend did not come back
	}
	switch {
	case w.Unit != Requests:
		w.holdsSteps(w.Quota)
	case full:
		w.holdsSteps(min(max(s.Most, g.full.least), w.Quota))
	default:
		w.holdsSteps(s.Most)
	}
	if w.Length > 0 {
		return min(w.Length, MaxSavedTime)
	}
	return min(time.Duration(mulDiv(uint64(g.most), uint64(w.Quota), 1)), MaxSavedTime)
}

// stepUnit is how long one unit takes.
func (w *Window) stepUnit(g *steps) time.Duration {
	if w.Length > 0 {
		return max(w.Length/time.Duration(w.Quota), 1)
	}
	return g.most
}

// beyond reports whether the end of a window is later than that of a unit which takes so long, as
// far as whole seconds say.
func (f *Figure) beyond(unit time.Duration) bool {
	if f.Resets > 0 {
		unit += 2 * time.Second // Date is rounded, too
	}
	return f.Window > min(unit, MaxSavedTime)+time.Second
}

// findSteps looks at a refusal of the first request after a window.
func (w *Window) findSteps(sent Instant, avail int64, f *Figure, g *steps) {
	least, most := unitIn(time.Duration(max(sent-w.sent, 0)), w.jitter, avail-w.available)
	atLeast, atMost := f.unitOfAgain(avail)
	least, most = max(least, atLeast), min(most, atMost)
	unit, told := w.stepUnit(g), w.Length > 0
	switch {
	case least > most, told && (unit < least || unit > most), f.beyond(min(most, MaxSavedTime)),
		!told && f.Again <= f.Window: // or it may be a window that other clients have used
		g.agreed, g.most = 0, 0
		return
	case g.skip > 0:
		g.skip--
		return
	case !told && g.most > 0 && least <= g.most && most >= g.least:
		least, most = max(least, g.least), min(most, g.most)
	case !told:
		g.agreed = 0
	}
	g.least, g.most, g.agreed, g.refused = least, most, g.agreed+1, 0
	g.is = closely(least, most) || g.agreed >= stepsAgree && (told || most < 4*least)
	if g.is && !told && f.Again > 0 {
		g.most = max(least, min(most, f.Again/time.Duration(max(f.Charge.Units-avail-1, 1))))
	}
}

// observeRefused looks at a refusal of a request for which there should have been enough. If its Retry-After
// agrees with the policy, others have used what is missing.
func (g *steps) observeRefused(w *Window, avail int64, f *Figure) {
	least, most := f.unitOfAgain(avail)
	unit, told := w.stepUnit(g), w.Length > 0
	switch {
	case told && f.Again > 0 && least <= unit && unit <= most:
		return
	case !told && unit < least:
		g.most += g.most / 32
	case !told:
		g.most = min(g.most, most)
	}
	if g.refused++; g.refused >= stepsRefused {
		g.fail()
	}
}

// unitOfAgain returns how long one unit takes at least and at most by the Retry-After of a refusal with so
// many left.
func (f *Figure) unitOfAgain(avail int64) (least, most time.Duration) {
	again, missing := min(f.Again, MaxSavedTime), time.Duration(f.Charge.Units-avail) // a part of the last may be there
	if most = MaxSavedTime; again <= 0 {
		return 0, most
	}
	if missing > 1 {
		most = (again + time.Second) / (missing - 1)
	}
	return (again - time.Second) / missing, most
}

// unitIn returns how long one unit takes at least and at most if so many have come back in a time
// that may differ by so much.
func unitIn(d, by time.Duration, came int64) (least, most time.Duration) {
	if came < 0 {
		return 0, -1
	}
	if least, most = max(d-by, 0)/time.Duration(came+1), MaxSavedTime; came > 1 {
		most = (d + by) / time.Duration(came-1)
	}
	return least, most
}

// untilLook is how long after the last request one departs to look for n units: before that time they
// cannot have come back one by one.
func (w *Window) untilLook(n int64) time.Duration {
	if w.IsBucket() && w.rare.steps() {
		return max(ProbeInterval, time.Duration(mulDiv(uint64(w.need(n)), uint64(w.rare.fill), uint64(w.Quota))))
	}
	return ProbeInterval
}

// fail takes over that the quota is no such bucket.
func (g *steps) fail() {
	failed := min(g.failed+1, maxFailed)
	*g = steps{failed: failed, skip: 1 << failed, costly: g.costly}
}
