package window

import (
	"math"
	"time"
)

// This file is habit 4 of Adaptive: other clients use the quota, too.
//
// contention compares what the figures have fallen by with what was served to us.
// It does so when nothing of ours is in flight, or at the end of a window, because
// then it is known what was served to us. Both sums fade by units, not by time. But
// where a window shows nothing of other clients, they are forgotten a little.
type contention struct {
	ours, fall float32 // sums; of a quota that is ours alone they are equal

	from   int64 // the figure since which served counts; 0: none yet
	served int64 // units, to us
	peak   int64 // what was there in this window, but for a unit
}

// compared is what the comparisons showed.
type compared struct {
	refused bool  // a request was, in this window
	fell    bool  // the figure has fallen in this window
	others  uint8 // comparisons that showed other clients, less those that showed none
}

const (
	contentionFades    = 400 // units after which both sums are halved, once enough of them were ours
	contentionNeeds    = 16  // units below which nothing can be told
	contentionMost     = 64 * contentionNeeds
	contentionInFlight = 0.4 // of our part of what is left may be in flight
	contentionFew      = 0.4 // our part is larger if few others use the quota: one that takes as much, or several that take little
	contentionSoon     = 20  // times r₀ that a unit is left to others, if few use the quota and answers come quickly
	contentionLasts    = 128 // windows that show nothing, after which others have 1/e of their part left
)

// maxSoon is the longest time that contentionSoon round trips may take: r₀ is no more than 6.25 ms, as within a data
// centre. Farther away, 1 % to 3 % more would be refused.
const maxSoon = time.Second / 8

// Contention returns how much the figures have fallen by, faded, and how much of
// that was served to us.
func (w *Window) Contention() (ours, fall float32) { return w.contention.ours, w.contention.fall }

// part is p, our part of the quota, in (0, 1].
func (c *contention) part() float64 {
	if c.fall < contentionNeeds || c.unshared() {
		return 1
	}
	return max(float64(c.ours/c.fall), 1./64)
}

// few reports whether other clients use the quota, but only few.
func (c *contention) few() bool {
	part := c.part()
	return part < 1 && part > contentionFew
}

// alone reports whether a window has ended and nothing has shown another client.
func (w *Window) alone() bool { return w.epoch > 0 && w.contention.part() == 1 }

// unshared reports whether not even one unit was seen to be spent by another client. One that was counted by mistake is
// halved again and again, but never quite forgotten.
func (c *contention) unshared() bool { return c.fall-c.ours < 0.5 }

func (w *Window) unshared() bool { return w.contention.unshared() }

// allows reports whether n more units may be in flight. While others spend what is
// left at the same time, no figure is true for long, so no more than 0.4·p·a + 0.5
// units are sent before the next one comes. A request that costs more goes alone, if
// it costs no more than p·a. So does one unit if few others use the quota: else two clients would
// leave the last two units of each window to each other. The last one departs, too, if others spend less than
// a unit of a whole quota, and the policy tells of no window that is long.
func (c *contention) allows(w *Window, n int64) bool {
	part := c.part()
	if part == 1 || w.State != Reported || part > 0.75 && w.IsBucket() {
		return true // the sums of a bucket are not exact
	}
	out, left := w.Unanswered(), w.available
	if w.IsBucket() {
		left += out
	}
	ours := part * float64(left)
	if goesAlone(out, n, part) {
		return float64(n) <= ours || n == 1 && left > 0 && w.Length <= shortReturn && w.Quota > 0 && (1-part)*float64(w.Quota) < 1
	}
	return float64(out+n) <= contentionInFlight*ours+0.5
}

// enough is how many units have to be there so that n more are allowed, with those that are
// out.
func (c *contention) enough(w *Window, n int64) int64 {
	out, part := w.Unanswered(), c.part()
	left := (float64(out+n) - 0.5) / (contentionInFlight * part)
	if goesAlone(out, n, part) {
		left = float64(n) / part
	}
	return int64(min(math.Ceil(left), MaxUnits)) - out
}

// goesAlone reports whether n units may depart, while nothing of ours is in flight, although they are most of our part or all.
func goesAlone(out, n int64, part float64) bool {
	return out == 0 && (n > 1 || part > contentionFew)
}

// patience is how long nothing is in flight before a request departs that is not
// allowed to: 1 s, and four times as long, up to 48 s, after each comparison that
// showed other clients. One that showed none takes back one of those. If only few others use the quota, and
// round trips are short, it is 20·r₀: the answers of others have come by then, and so has ours before much of a
// short window has passed. Where a unit takes
// a second or more, it is worth more than a refusal: then it is twice that time at most; and
// where units come back before the end of a window; of a bucket, four times as long as a unit
// for us takes.
func (w *Window) patience() time.Duration {
	d := patience(2*w.compared.others + 1)
	unit := w.perUnit()
	if w.IsBucket() {
		unit = 2 * w.timeOf(1)
	}
	soon := contentionSoon * w.least
	switch {
	case unit >= time.Second:
		d = min(d, 2*unit)
	case w.IsBucket():
	case 0 < soon && soon <= maxSoon && w.contention.few():
		d = soon
	case w.creeps():
		d = min(d, 2*unit)
	}
	return d
}

// observe looks at the figure that is in force.
func (c *contention) observe(w *Window) {
	if w.Unit != Requests {
		return
	}
	c.peak = max(c.peak, w.available)
	switch {
	case w.isLate():
		c.from = 0 // figures are of different windows
	case c.from == 0:
		c.peak = max(c.peak, w.available+c.served-1) // the first request may cost more than a unit
		c.from, c.served = w.available, 0
	case w.InFlight+w.before == 0:
		c.compare(w)
	}
}

// close ends a window.
func (c *contention) close(w *Window) {
	if w.Unit == Requests && !w.isLate() && (c.from > 0 || w.refill.served > sureTrials) {
		if c.from > 0 {
			c.served += w.InFlight
			c.compare(w)
		}
		if !w.compared.fell {
			c.fall -= max(c.fall-c.ours, 0) / contentionLasts
		}
	}
	*c = contention{ours: c.ours, fall: c.fall}
	w.compared = compared{others: w.compared.others}
}

// compare adds up what the figure has fallen by. A drop to 0 is ignored unless a
// request was refused: the server may have been wrong.
func (c *contention) compare(w *Window) {
	fall := c.from - w.available
	if fall == 0 || w.available == 0 && !w.compared.refused {
		return
	}
	switch {
	case fall > c.served:
		w.compared.others = min(w.compared.others+1, 63)
	case fall > 0:
		w.compared.others = max(w.compared.others, 1) - 1
	}
	if fall > 0 {
		c.ours += float32(min(c.served, fall))
		c.fall += float32(fall)
		w.compared.fell = true
	}
	if c.fall > contentionFades && c.ours > contentionNeeds || c.fall > contentionMost {
		c.ours, c.fall = c.ours/2, c.fall/2
	}
	c.from, c.served = w.available, 0
}

// ServedUncharged counts units that were served to us and were not charged to the
// window, because its policy was not known then. Where it is not known how many they
// were, None, the comparison with the figures begins anew.
func (w *Window) ServedUncharged(units int64) {
	switch {
	case units >= 0:
		w.contention.served += max(units, 1)
	case w.Unit == Requests:
		w.contention.served++
	default:
		w.contention.from = 0
	}
}
