package window

import "time"

const maxStretches = 6 // of holds that are each half as long

// A stretch is windows in a row that may be parts of a longer one.
type stretch struct {
	windows int64
	began   Instant
	served  int64
	hold    time.Duration // the longest that ended one of them; 0: none did
}

// stretches are those before a window: the hold of each is less than half of that before it.
type stretches struct {
	of [maxStretches]stretch
	n  int
}

// join adds a window in which nothing was left from dry on. If at least two before it were ended by
// holds of less than half as long as its own, and all of these were in that time, they are parts of it: a
// sliding log gives back some units at a time. Then it returns them all as one.
func (ss *stretches) join(opened, dry Instant, served int64, hold time.Duration) (began Instant, all int64) {
	s := stretch{1, opened, served, hold}
	for ; ss.n > 0 && 2*ss.of[ss.n-1].hold <= hold; ss.n-- {
		p := &ss.of[ss.n-1]
		s.windows, s.began, s.served = s.windows+p.windows, p.began, s.served+p.served
	}
	if s.windows > 2 && time.Duration(dry-s.began) <= hold {
		opened, served = s.began, s.served
	}
	switch {
	case ss.n > 0 && ss.of[ss.n-1].hold <= 2*hold:
		p := &ss.of[ss.n-1]
		p.windows, p.served = p.windows+s.windows, p.served+s.served
	case ss.n < maxStretches:
		ss.of[ss.n] = s
		ss.n++
	}
	return opened, served
}
