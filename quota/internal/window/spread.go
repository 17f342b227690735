package window

import "time"

// This file is an inferred quota that comes back one by one, although refusals say when a window is over, such as that of two
// windows weighed. There a window begins with what the one before has left. So if all of a quota is spent at once, the next
// window begins with less, or with a refusal that holds for all of it, and half of what the server gives is lost.
//
// It is seen by a window that was used up within a fifth of it, and served less than seven eighths of what was known: of the
// window before, or of as long a time before the first refusal. Or it began with a refusal, after one that was used up in no more than the time of a window. Its
// end has to be that of the next window, as long after the end before as the longest Retry-After; and that has to be the
// time of a window: a hold for more than twice as long as anything before is a penalty, or of another quota. Where
// most requests are served that are out when the first is refused, requests are refused by chance. Windows of less than
// four seconds show a pace otherwise, see pace.go.
//
// Then units depart one after another: in a window so many as both windows served, and one less. That is the quota of two windows
// weighed, but for the part of the first that is over. If more was served before the first refusal, that is the pace.
//
// From then on quicker ones are tried: three by an eighth, three by a quarter, and then by a half. A try may find what is left of a
// window that was not used, so it takes two windows. One that is refused costs a window. So the next one is made after
// sixteen, and so is the first one, where both windows have shown what there is.

// spreading is what shows it.
type spreading struct {
	before  progress      // what was served before the first refusal
	ended   Instant       // when the last hold was over, by its Retry-After
	longest time.Duration // Retry-After before the present window
}

const (
	rareTry     = 16          // windows between two tries
	sameTries   = 3           // that are kept in a row before the next are twice as much quicker
	roundedEnds = time.Second // between two ends in whole seconds and the time of a window
)

// isNext reports whether an instant is when the window is over that follows one which was over at ended.
func (g *Inferred) isNext(ended, end Instant) bool {
	return apart(ended.Add(g.longest), end) < Instant(roundedEnds)
}

// spreads reports whether the last window shows a quota that is spread, and begins the pace after a request that departed at
// sent.
func (g *Inferred) spreads(w *Window, e *ending, sent Instant) bool {
	length, before := g.longest, g.spread.before.in(g.longest)
	known, served := max(w.Quota, e.before), e.served
	switch early := e.dry-e.opened < (e.until-e.dry)/4 && g.isNext(g.spread.ended, e.until); {
	case e.opened == 0 || length < 2*minLook || g.pace.gaveUp > 0:
		return false
	case e.balance < 0 && 2*e.balance <= -int64(e.out): // refused by chance
		return false
	case length/2 > max(w.Length, g.spread.longest, g.spread.before.took): // not of a window that is known
		return false
	case e.nothing && time.Duration(e.dry-e.opened) <= length:
		known, served = max(w.Quota, served), 0
	case !early:
		return false
	}
	all := before <= known
	if known = max(known, before); served >= known-known/8 {
		return false
	}
	if all {
		known += served
	}
	g.pace.spread(known, length, all, sent)
	return true
}

// in is how many units there were on average in so long a time, but no more than there were.
func (p progress) in(d time.Duration) int64 {
	if p.units == 0 {
		return 0
	}
	return min(int64(d/max(p.each(), 1)), p.units)
}

// spread begins the pace of so many units in a window, after a request that departed at sent. If they are all that there
// are, it is a unit slower, and one that is quicker by a sixteenth counts as refused.
func (p *pace) spread(units int64, length time.Duration, all bool, sent Instant) {
	unit := length / time.Duration(units)
	*p = pace{most: 1, quota: units, window: length, since: sent, last: sent, slow: unit}
	if all {
		p.slow, p.fast = unit+unit/time.Duration(units), unit-unit/closePace
	}
	p.first, p.unit, p.before = 2*p.slow, p.slow, progress{1, p.slow}
}
