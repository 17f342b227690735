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
// Where no policy says how long a window is, the figures say how long a unit takes, the better
// the more units they show to have come back.
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

// A stepped is what is known of one window that comes back unit by unit.
type stepped struct {
	most  int64   // that it holds; 0: it does not come back unit by unit
	since Instant // departure of the request since which units that come back are counted; 0: there is none
	sum   int64   // its figure, with all that was served until then
}

const (
	stepsAgree   = 4 // refusals that agree loosely, when it is a bucket
	stepsRefused = 3 // in a row, when it is none
)

// closely reports whether two bounds say how long a unit takes.
func closely(least, most time.Duration) bool { return most-least <= least/2 }

// stepping is what is known of the window as a bucket whose units come back one by one.
func (w *Window) stepping() (known stepped) {
	if w.rare != nil && w.rare.spent != nil {
		known = w.rare.spent.steps
	}
	return known
}

// steps reports whether the window is such a bucket.
func (r *rare) steps() bool { return r.spent != nil && r.spent.steps.most > 0 }

// ownSteps returns the same, to be changed.
func (w *Window) ownSteps() *stepped {
	if r := w.ownRare(); r.spent == nil {
		r.spent = new(spent)
	}
	return &w.rare.spent.steps
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
		g.full.observe(w.Quota, avail, f, w.stepUnit(g))
		full = g.full.shown() && (w.fill() > 0 || w.Unanswered() == 0) // or the first figures come in another order
	}
	switch {
	case full:
	case g.is && f.beyond(w.stepUnit(g)):
		g.fail()
	case g.is && !refused:
		g.refused = 0
	case g.is && short && w.IsBucket():
		g.most += g.most / 32
		if g.refused++; g.refused >= stepsRefused {
			g.fail()
		}
	case !g.is && short && w.State == Expired && sent >= w.closed:
		w.findSteps(sent, avail, f, g)
	}
	if !g.is && !full {
		if w.stepping().most > 0 {
			*w.ownSteps() = stepped{}
		}
		return 0
	}
	if w.fill() == 0 {
		if w.State == Reported {
			w.State = Unknown // the end in force is that of a window
		}
		w.contention, w.compared = contention{}, compared{} // what others seemed to spend did not come back
	}
	if w.ownSteps().most = w.Quota; w.Unit == Requests {
		w.rare.spent.steps.most = s.Most
	}
	if full {
		w.rare.spent.steps.most = min(max(s.Most, g.full.least), w.Quota)
	}
	w.measureSteps(sent, avail, f, refused, g)
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
	if f.Again > 0 {
		again := min(f.Again, MaxSavedTime)
		missing := time.Duration(f.Charge.Units - avail) // of the last of them, a part may be there
		if least = max(least, (again-time.Second)/missing); missing > 1 {
			most = min(most, (again+time.Second)/(missing-1))
		}
	}
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

// measureSteps takes over how many units have come back since a figure, where no policy says how long
// one takes. When the bucket is full, it was perhaps full before.
func (w *Window) measureSteps(sent Instant, avail int64, f *Figure, refused bool, g *steps) {
	if w.Length > 0 || w.Unit != Requests || w.Unanswered() > 0 {
		return
	}
	m, sum := w.ownSteps(), avail+w.contention.served
	if m.since > 0 && sum >= m.sum {
		full := !refused && avail+f.Charge.Units >= m.most
		least, most := unitIn(time.Duration(sent-m.since), w.jitter, sum-m.sum)
		switch {
		case most <= g.most:
			g.most = most
		case !full && least > g.most && most < MaxSavedTime:
			g.most = most // others use it, too, or it has become slower
		}
		if !full {
			return
		}
	}
	m.since, m.sum = sent, sum
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
