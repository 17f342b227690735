package window

import "time"

// This file is a bucket whose units come back in lumps: as many as it gains in a time T come together, and none
// until T has passed again. Spring's gateway counts whole seconds of its clock, and a bucket with a timer does
// the same. No field says so, and a client that expects a unit in each W/q is refused until the next lump comes.
//
// A refusal shows it if a request that departs soon after finds many more units than come back one by one in
// between. They are a lump, and T is the time for so many units. Once two in a row agree in it, units are expected only
// with a lump, and a lump T after that request departed, and so on. Routes that count each for itself
// under one name do not agree so, or not for long. If lumps are expected before they come, one wave is
// refused. After that wave, the lump before is still there when one is expected, so that it does not matter
// when in T they come.
//
// If a few units came between two figures, but less than half of a lump, units do not come in such lumps.
type lumps struct {
	every time.Duration // T; 0: units come back one by one, as far as is known
	seen  time.Duration // T by the last lump that was found after a refusal
	at    Instant       // when a lump is expected, and each T after that

	// A figure that later ones are compared with, preferably of a refusal:
	sent, heard Instant // departure and arrival; a heard of 0: there is none
	left, out   int64   // what it says, and what was out then
	mark        uint32  // of the charge
	refused     bool
}

// lumps returns how units come back in lumps; nil: they do not, as far as is known.
func (w *Window) lumps() *lumps {
	if w.rare == nil || w.rare.spent == nil || w.rare.spent.lumps == nil || w.rare.spent.lumps.every == 0 {
		return nil
	}
	return w.rare.spent.lumps
}

// refilled is when the last units came back of those that a bucket has at t.
func (w *Window) refilled(t Instant) Instant {
	l := w.lumps()
	if l == nil {
		return t
	}
	into := (t - l.at) % Instant(l.every)
	if into < 0 {
		into += Instant(l.every)
	}
	return t - into
}

// refills is when units come back first, not before t.
func (w *Window) refills(t Instant) Instant {
	l := w.lumps()
	if l == nil || t == Never {
		return t
	}
	return min(w.refilled(t-1).Add(l.every), Never-1)
}

// lumpSlack is how much later than its lump a unit may be due by the rate: half of its time, because a lump is
// a whole number of units.
func (w *Window) lumpSlack() time.Duration {
	if w.lumps() == nil {
		return 0
	}
	return w.timeOf(1) / 2
}

// observeLumps looks at the figure of a bucket that arrived at t for a request that departed at sent, before it is
// taken over. later is how many units have departed since. It returns from when the figure counts: sent, or if it
// has just shown lumps, when the one is expected that it has found.
func (w *Window) observeLumps(t, sent Instant, avail, later int64, c Charge, refused bool) Instant {
	if w.State != Reported || w.Unit != Requests || w.Strategy != Adaptive || w.Quota < 2 || w.rare.steps() || c.Mark == 0 {
		return sent
	}
	if refused && avail < c.Units && (w.rare.spent == nil || w.rare.spent.lumps == nil) {
		w.ownSpent().lumps = new(lumps)
	}
	if w.rare.spent == nil || w.rare.spent.lumps == nil {
		return sent
	}
	l, counts := w.rare.spent.lumps, sent
	switch {
	case refused && (avail >= c.Units || l.refused && sent < l.heard):
		return sent
	case !refused && l.heard > 0 && sent < l.heard:
		return sent
	case !refused && l.heard > 0:
		if w.compareLumps(l, t, sent, avail, later, c) {
			counts = l.at
		}
	}
	l.sent, l.heard, l.mark, l.refused = sent, max(t, 1), c.Mark, refused
	l.left, l.out = avail, w.Unanswered()
	return counts
}

// compareLumps compares the figure of a request that was served with that of one that was answered before it
// departed. It reports whether they show lumps that were not known.
func (w *Window) compareLumps(l *lumps, t, sent Instant, avail, later int64, c Charge) bool {
	unit := max(w.fill()/time.Duration(w.Quota), 1)
	came := min(avail+c.Units-l.left, w.Quota) // at least
	between := min(max(w.after(l.mark)-later-c.Units, 0)+l.out, w.Quota)
	took := max(sent-l.sent, t-l.heard)
	if came < 2 {
		return false
	}
	if l.every > 0 && 2*time.Duration(came+between)*unit < l.every && w.contention.part() == 1 {
		l.every = 0
	}
	if !l.refused || 2*time.Duration(came-1)*unit <= 3*time.Duration(took) {
		return false
	}
	every := time.Duration(came) * unit
	if whole := roundest(every-time.Millisecond, every+time.Duration(between)*unit+unit/4); whole%time.Second == 0 {
		every = whole // what departed between may have found some of the lump
	}
	if l.every == 0 && every != l.seen {
		l.seen = every
		return false
	}
	if l.every == 0 {
		w.contention, w.compared = contention{}, compared{} // what others seemed to spend had not come
	}
	if l.every > 0 && every >= l.every {
		return false
	}
	l.every, l.at = every, sent.Add(w.guard(time.Duration(t-sent)))
	w.ends(l.at.Add(w.timeOf(w.Quota-avail+later)), 0, Never)
	return true
}
