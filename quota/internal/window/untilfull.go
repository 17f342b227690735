package window

import "time"

// This file is a bucket whose server does not say that it is one: the window that it names
// is the time until all units are there. That shows in the figures, since the more are
// missing, the longer it is. A window ends when it ends, however much of it is used.
//
// Each figure says how long a bucket takes from empty to full, if it is one, as far as
// whole seconds can. If these times agree closely, while the windows have become longer
// twice, it is one. A figure that does not agree contradicts it.
type untilFull struct {
	least, most time.Duration // from empty to full, as far as the figures agree; a most of 0: there was none
	window      time.Duration // when it last grew, or the shortest since
	grown       uint8         // how often it has
}

// grownBucket is how often windows have become longer, by more than rounding explains,
// before they are taken for the time until a bucket is full.
const grownBucket = 2

// observe looks at a figure by which so much is missing of a quota.
func (u *untilFull) observe(quota, missing int64, length time.Duration) {
	length = min(length, MaxSavedTime)
	if missing < 2 || missing > quota || length <= 0 {
		return
	}
	least := time.Duration(mulDiv(uint64(max(length-time.Second, 0)), uint64(quota), uint64(missing)))
	most := time.Duration(mulDiv(uint64(length+time.Second), uint64(quota), uint64(missing-1)))
	switch {
	case most > MaxSavedTime: // no bucket takes so long
		*u = untilFull{}
		return
	case u.most == 0 || least > u.most || most < u.least:
		*u = untilFull{least: least, most: most, window: length}
	case length > u.window+time.Second:
		u.window, u.grown = length, min(u.grown+1, grownBucket)
	case length < u.window:
		u.window = length
	}
	u.least, u.most = max(u.least, least), min(u.most, most)
}

// shown reports whether the figures show a bucket.
func (u *untilFull) shown() bool { return u.grown == grownBucket && u.most-u.least <= u.least/4 }

// IsFilling reports whether the end of the window is when a bucket is full. Units come back all the time
// until then.
func (w *Window) IsFilling(s *Server) bool {
	return w.State == Reported && !w.IsBucket() && s.Full.shown()
}

// wholly is how much such a bucket holds, where the policy says how long a unit takes: as much as is left, and
// as comes back until it is full. Less than the quota may be held, unlike in untilFull.
type wholly struct {
	least, most int64         // that it holds, as far as the figures agree; a most of 0: there was none
	window      time.Duration // when it last grew, or the shortest since
	grown       uint8         // how often it has
}

// observe looks at a figure of a quota whose units take so long each.
func (b *wholly) observe(quota, avail int64, f *Figure, unit time.Duration) {
	length, early := min(f.Window, MaxSavedTime), time.Second
	if f.Resets > 0 {
		early = coarseFull
	}
	least, most := avail+int64(max(length-early, 0)/unit), avail+1+int64((length+time.Second)/unit)
	switch {
	case length <= 0:
		return
	case least > quota+1:
		*b = wholly{}
		return
	case b.most == 0 || least > b.most || most < b.least:
		*b = wholly{least: least, most: most, window: length}
	case length > b.window+time.Second:
		b.window, b.grown = length, min(b.grown+1, grownBucket)
	case length < b.window:
		b.window = length
	}
	b.least, b.most = max(b.least, least), min(b.most, most)
}

// shown reports whether the figures show a bucket.
func (b *wholly) shown() bool { return b.grown == grownBucket && b.most-b.least <= b.least/4 }
