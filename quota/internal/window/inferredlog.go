package window

import (
	"math"
	"time"
)

// This file is our own log of an inferred quota.
//
// A sliding log gives back units as they were spent, so a window of our own count that has just begun may find none. Where our
// own log had no room for a refused request, and windows take less than 4 s, requests wait for its room from then on, and the
// quota stays. A later refusal of a request that it had room for shows how many units there are. If that is one less than
// fifteen sixteenths of the inferred quota, or even fewer, units do not come back as they were spent. A quota of fewer than ten
// with a Retry-After may be that of a bucket, so our own log explains no refusal of it, unless a look has shown that windows take
// whole seconds.
//
// Where the Retry-After of one unit after another was over in a second or two, and then one of nearly the whole window came, and this twice in a
// row, units come back as they were spent, too, however long windows are and however few units.

// slid reports whether the refusal of a request that departed at sent is explained by units that come back as they were
// spent: our own log had no room for it. Once that was seen, a refusal also says how many units there are, if these are nearly
// as many as were inferred. Else they do not come back like that.
func (g *Inferred) slid(w *Window, sent Instant, retryAfter time.Duration) bool {
	if !w.logsInferred() || g.refuted {
		return false
	}
	l := w.rare.spent
	if few := retryAfter > 0 && w.Quota < fewSlide && g.seconds <= 0; g.joins < sureJoins && (!w.isShort() || few) {
		return false
	}
	switch slot, sure := l.find(sent); {
	case slot == nil:
		return false
	case !sure:
		l.slides = true
		return true
	}
	served := min(w.Quota-w.room(sent), w.Quota) - 1
	if served < max(g.kept-g.kept/16-1, minInferred) {
		g.refuted, l.slides = true, false
	}
	if !l.slides {
		return false
	}
	g.found(w, served)
	w.SetPolicy(Requests, served, w.Length)
	g.clean, g.more = 0, 1
	return true
}

// slides takes over a window that windows before were parts of, as a sliding log has them: after two in a row, of parts in which few
// were served, units come back as they were spent. What is back is not known yet: all of it will be, a window after the last one was
// spent.
func (g *Inferred) slides(w *Window, e *ending, few bool) {
	if g.joins < sureJoins {
		if g.joins++; !e.joined || !few {
			g.joins = 0
		}
	}
	if l := w.rare.spent; g.joins == sureJoins && !g.refuted && !l.slides {
		l.slides = true
		now := l.slots[max(len(l.slots)-1, 0):] // none, if the answer took so long that all is back
		l.slots = append([]slot{{from: e.opened, at: e.dry, units: uint32(min(e.served-1, math.MaxInt32))}}, now...)
	}
}

// logsInferred reports whether our own log is that of an inferred quota.
func (w *Window) logsInferred() bool { return w.hasLog() && w.rare.spent.infers }

// logInferred begins our own log of an inferred quota with a request that departed at sent and was answered at t. A log that
// there is goes on with windows of the new length.
func (w *Window) logInferred(t, sent Instant) {
	if w.logsInferred() {
		w.rare.spent.length = w.Length
		return
	}
	l := w.keepLog(ownLog{infers: true, length: w.Length})
	l.slots = append(l.slots, slot{from: sent, at: t, units: uint32(min(1+w.Unanswered(), math.MaxInt32)), sure: true})
}

// forgetInferredLog forgets our own log of an inferred quota, which is given up.
func (w *Window) forgetInferredLog() {
	if w.logsInferred() {
		w.forgetLog()
	}
}

// whenSlid is when n units are back, of our own count, that come back as they were spent; now, if they do not.
func (w *Window) whenSlid(t Instant, n int64) Instant {
	if !w.hasLog() || !w.rare.spent.slides || !w.logsInferred() && !w.unshared() {
		return t
	}
	return w.whenRoom(t, n)
}
