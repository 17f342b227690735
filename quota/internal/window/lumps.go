package window

import "time"

// This file is a bucket whose units come back in lumps: as many as it gains in a time T come together, and none
// until T has passed again. Spring's gateway counts whole seconds of its clock, and a bucket with a timer does
// the same. No field says so, and a client that expects a unit in each W/q is refused until the next lump comes.
//
// A refusal shows it if a request that departs soon after finds many more units than come back one by one in
// between. They are a lump, and T is the time for so many units. Once two in a row agree in it, units are expected only
// with a lump, and a lump T after that request departed, and so on, until two agree in a longer T. Routes that count
// each for itself under one name do not agree so, or not for long. If lumps are expected before they come, one wave is
// refused. After that wave, the lump before is still there when one is expected, so that it does not matter
// when in T they come.
//
// If a few units came between two figures, but no more than half of a lump, units do not come in such lumps.
type lumps struct {
	every time.Duration // T; 0: units come back one by one, as far as is known
	seen  time.Duration // T by the last lump that was found after a refusal
	at    Instant       // when a lump is expected, and each T after that

	// The last figure, which the next one is compared with:
	sent, heard Instant // departure and arrival
	left, out   int64   // what it says, and what was out then
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

// observeLumps looks at the figure of a bucket that arrived at t for a request that departed at sent, before it is
// taken over.
func (w *Window) observeLumps(t, sent Instant, avail int64, c Charge, refused bool) {
	if w.Unit != Requests || w.Strategy != Adaptive || refused && avail >= c.Units {
		return
	}
	if refused && (w.rare.spent == nil || w.rare.spent.lumps == nil) {
		w.ownSpent().lumps = new(lumps)
	}
	if w.rare.spent == nil || w.rare.spent.lumps == nil {
		return
	}
	l := w.rare.spent.lumps
	switch {
	case refused:
	case sent < l.heard:
		return // it may have arrived before
	default:
		w.compareLumps(l, sent, avail, c)
	}
	l.sent, l.heard, l.left, l.out, l.refused = sent, t, avail, w.Unanswered(), refused
}

// compareLumps compares the figure of a request that was served with that of one that was answered before it
// departed.
func (w *Window) compareLumps(l *lumps, sent Instant, avail int64, c Charge) {
	came, unit := min(avail+c.Units-l.left, w.Quota), w.fill()/time.Duration(w.Quota)
	every := time.Duration(came) * unit
	most := every + time.Duration(min(l.out, w.Quota))*unit // those that were out may have found some of the lump
	switch {
	case came < 2:
	case 2*most <= l.every:
		l.every = 0
	case !l.refused || every <= l.every || 2*(every-unit) <= 3*time.Duration(sent-l.sent):
		// They may have come one by one.
	default:
		if whole := roundest(every-time.Millisecond, most+unit/4); whole%time.Second == 0 {
			every = whole
		}
		if every != l.seen {
			l.seen = every
			return
		}
		w.contention, w.compared = contention{}, compared{} // what others seemed to spend had not come
		l.every, l.at = every, sent
	}
}
