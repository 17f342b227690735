package window

import "time"

// This file is a bucket whose server does not say that it is one: the window that it names
// is the time until all units are there. That shows in the figures, since the more are
// missing, the longer it is. A window ends when it ends, however much of it is used.
//
// Each figure says how long a bucket takes from empty to full, if it is one, as far as
// whole seconds can. If these times agree closely, while the windows have become longer
// twice, it is one. A figure that does not agree contradicts it.
type untilFull = growing[time.Duration]

// growing is a number that the figures of such a bucket tell, the same each time, while their windows become longer.
type growing[N ~int64] struct {
	least, most N             // as far as the figures agree; a most of 0: there was none
	window      time.Duration // when it last grew, or the shortest since
	grown       uint8         // how often it has
}

// grownBucket is how often windows have become longer, by more than rounding explains,
// before they are taken for the time until a bucket is full.
const grownBucket = 2

// observe takes over a figure with such a window, by which the number is between the two.
func (g *growing[N]) observe(least, most N, window time.Duration) {
	switch {
	case g.most == 0 || least > g.most || most < g.least:
		*g = growing[N]{least: least, most: most, window: window}
	case window > g.window+time.Second:
		g.window, g.grown = window, min(g.grown+1, grownBucket)
	case window < g.window:
		g.window = window
	}
	g.least, g.most = max(g.least, least), min(g.most, most)
}

// shown reports whether the figures show a bucket.
func (g *growing[N]) shown() bool { return g.grown == grownBucket && g.most-g.least <= g.least/4 }

// observeUntilFull looks at a figure by which so much is missing of a quota.
func observeUntilFull(u *untilFull, quota, missing int64, length time.Duration) {
	length = min(length, MaxSavedTime)
	if missing < 2 || missing > quota || length <= 0 {
		return
	}
	least := time.Duration(mulDiv(uint64(max(length-time.Second, 0)), uint64(quota), uint64(missing)))
	most := time.Duration(mulDiv(uint64(length+time.Second), uint64(quota), uint64(missing-1)))
	if most > MaxSavedTime { // no bucket takes so long
		*u = untilFull{}
		return
	}
	u.observe(least, most, length)
}

// IsFilling reports whether the end of the window is when a bucket is full. Units come back all the time
// until then.
func (w *Window) IsFilling(s *Server) bool {
	return w.State == Reported && !w.IsBucket() && s.Full.shown()
}

// wholly is how much such a bucket holds, where the policy says how long a unit takes: as much as is left, and
// as comes back until it is full. Less than the quota may be held, unlike in untilFull.
type wholly = growing[int64]

// observeWholly looks at a figure of a quota whose units take so long each.
func observeWholly(b *wholly, quota, avail int64, f *Figure, unit time.Duration) {
	length, early := min(f.Window, MaxSavedTime), time.Second
	if length <= 0 {
		return
	}
	if f.Resets > 0 {
		early = coarseFull
	}
	least, most := avail+int64(max(length-early, 0)/unit), avail+1+int64((length+time.Second)/unit)
	if least > quota+1 {
		*b = wholly{}
		return
	}
	b.observe(least, most, length)
}
