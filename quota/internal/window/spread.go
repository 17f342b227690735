package window

import "time"

// This file is an inferred quota that comes back one by one, although refusals say when a window is over, such as that of two
// windows weighed. There a window begins with what the one before has left. So if all of a quota is spent at once, the next
// window begins with less, or with a refusal that holds for all of it, and half of what the server gives is lost.
//
// It is seen by a window that began with a refusal, or was used up early and served less than seven eighths of what was known:
// of the window before, or of the time before the first refusal. The Retry-After that ended it was of the next window: it ends
// as much later as the longest that was told. Windows of less than four seconds show a pace otherwise, see pace.go.
//
// Units are then spread over windows, so many as both windows served, and one less. That is the quota of two windows weighed,
// but for the part of the first that is over. If more was served before the first refusal, that is the pace, and an eighth
// more is tried. A try may find what is left of a window that was not used, so it takes two windows. One that is refused
// costs a window, so the next one is made after sixteen.

// spreading is what shows it.
type spreading struct {
	before progress // what was served before the first refusal
	ended  Instant  // when the last hold was over, by its Retry-After
}

const (
	rareTry     = 16          // windows between two tries
	roundedEnds = time.Second // between two ends in whole seconds and the time of a window
)

// isNext reports whether an instant is when the window is over that follows one which was over at ended.
func (g *Inferred) isNext(ended, end Instant) bool {
	return apart(ended.Add(g.longest), end) < Instant(roundedEnds)
}

// spreads reports whether the last window shows a quota that is spread, and begins the pace after a request that departed at
// sent.
func (g *Inferred) spreads(w *Window, last *Inferred, sent Instant) bool {
	early := last.opened > 0 && last.dry-last.opened < (last.until-last.dry)/4 && g.isNext(last.spread.ended, last.until)
	if !early && !last.nothing || last.balance < -int64(last.out/2) || g.longest < 2*minLook || g.pace.gaveUp > 0 {
		return false
	}
	known, served := max(w.Quota, last.last), last.served
	if last.nothing {
		known, served = served, 0
	}
	before := g.spread.before.in(g.longest)
	all := before <= known
	if known = max(known, before); served >= known-known/8 {
		return false
	}
	if all {
		known += served
	}
	g.pace.spreads(known, g.longest, all, sent)
	return true
}

// in is how many units there were on average in so long a time, but no more than there were.
func (p progress) in(d time.Duration) int64 {
	if p.units == 0 {
		return 0
	}
	return min(int64(d/max(p.each(), 1)), p.units)
}

// spreads begins the pace of so many units in a window, after a request that departed at sent. If they are all that there
// are, it is a unit slower, and one that is quicker by a sixteenth counts as refused.
func (p *pace) spreads(units int64, length time.Duration, all bool, sent Instant) {
	unit := length / time.Duration(units)
	*p = pace{most: 1, quota: units, spread: true, since: sent, last: sent, slow: unit}
	if all {
		p.slow, p.fast = unit+unit/time.Duration(units), unit-unit/closePace
	}
	p.first, p.unit, p.before = 2*p.slow, p.slow, progress{1, p.slow}
}
