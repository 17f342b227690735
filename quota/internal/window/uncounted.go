package window

// This file is for answers that say nothing of a quota that others tell: redirects, those of a cache, 304
// or 404. They may count against it or not. Until it is known that they do not, they do.
//
// Between the highest and the lowest figure of a window are those of the requests that were told one, in whatever
// order they were answered: each takes its own units. What else was taken in between, the gap, is of requests that
// were told none, and of others. If there is no gap, or only an eighth of what departed between the first and the last
// request that was told and was answered with nothing, that did not count. Two such comparisons in a row
// show that. From then on, an answer that says nothing gives back what its request was charged. A gap of half of
// them or more shows that they count: then twice as many comparisons are needed.

// uncounted is what is known of a server, and the figures that are being compared. They are of one window at
// a time: there may be one for each of many users.
type uncounted struct {
	shown  uint8 // comparisons in a row that have shown that such answers do not count
	doubts uint8 // how often one has shown that they do
	seen   quietSeen
}

// quietSeen is what has been seen in a window since its first figure, or the last comparison.
type quietSeen struct {
	of       *Window
	epoch    uint32 // of the window
	begun    bool   // there was a figure
	first    uint32 // mark of the first request that was told one, by departure
	last     uint32 // and of the last
	told     int64  // units of all of them
	high     figured
	low      figured
	lowAt    Instant  // arrival of that figure: what departs later is told less
	quiet    int64    // units that departed after the first one, and were answered with nothing
	between  int64    // how many of these surely departed before the last one
	returned int64    // units that such answers gave back
	before   quietSum // what the windows before have shown
	other    uint8    // answers that say nothing to requests of other windows, since then
}

// figured is a figure, and the units of the request that was told it.
type figured struct{ figure, units int64 }

// quietSum is how much was quiet, and how much was taken and is not explained by requests that were told a figure.
type quietSum struct{ quiet, gap int64 }

const (
	sureShown  = 2
	leastQuiet = 4  // units that are compared
	mostUnsure = 5  // doubts that are counted
	mostOthers = 32 // before another window is compared
)

// notCounted reports whether answers that say nothing do not count.
func (u *uncounted) notCounted() bool { return u.shown >= sureShown<<u.doubts }

// counts notes that answers that say nothing have counted.
func (u *uncounted) counts() { u.shown, u.doubts = 0, min(u.doubts+1, mostUnsure) }

// comparesQuiet reports whether the figures of the window show whether answers that say nothing count.
func (w *Window) comparesQuiet() bool {
	return w.State != Unknown && w.Unit == Requests && w.Strategy == Adaptive && !w.IsBucket()
}

// countQuiet counts a request that was served, and whose answer says nothing. It is still in flight.
func (w *Window) countQuiet(c Charge, s *Server) {
	if !w.comparesQuiet() || w.takenIn(c.Mark) != thisWindow {
		return
	}
	p := &s.uncounted.seen
	if p.of != w && p.of != nil && p.other < mostOthers {
		p.other++
		return
	}
	if p.of != w {
		*p = quietSeen{of: w, epoch: w.epoch}
	}
	p.turn(w)
	if s.uncounted.notCounted() {
		p.returned += c.Units
	}
	if p.begun && sooner(p.first, c.Mark) {
		p.quiet += c.Units
		p.between = max(p.between, p.quiet-w.After(p.last))
	}
}

// turn begins anew in the next window.
func (p *quietSeen) turn(w *Window) {
	if p.epoch != w.epoch {
		*p = quietSeen{of: w, epoch: w.epoch, before: p.sum()}
	}
}

// sum is what has been seen up to now.
func (p *quietSeen) sum() quietSum {
	return quietSum{
		quiet: p.before.quiet + p.between,
		gap:   p.before.gap + p.high.figure - p.low.figure - (p.told - p.high.units),
	}
}

// compareQuiet compares a figure that arrived at t with the others of its window.
func (w *Window) compareQuiet(t Instant, c Charge, avail int64, refused bool, s *Server) {
	u, p := &s.uncounted, &s.uncounted.seen
	if p.of != w || c.Mark == 0 || !w.comparesQuiet() || w.takenIn(c.Mark) != thisWindow {
		return
	}
	p.turn(w)
	if refused {
		if avail == 0 && p.returned > 0 && w.spare() > 0 {
			u.counts() // by our own count there was enough
			*p = quietSeen{of: w, epoch: w.epoch}
		}
		return
	}
	f := figured{avail, c.Units}
	if !p.begun || avail >= p.low.figure && c.Sent >= p.lowAt { // the first one, or a window has begun
		p.restart(f, c.Mark, p.sum())
		p.lowAt = t
		return
	}
	p.told += c.Units
	if avail > p.high.figure {
		p.high = f
	}
	if avail < p.low.figure {
		p.low, p.lowAt = f, t
	}
	if sooner(c.Mark, p.first) {
		p.first = c.Mark
	}
	if sooner(p.last, c.Mark) {
		p.last = c.Mark
	}
	p.between = max(p.between, p.quiet-w.After(p.last))
	now := p.sum()
	switch all := p.before.quiet + p.quiet; {
	case now.gap < 0: // units come back
	case now.quiet >= leastQuiet && now.gap <= now.quiet/8:
		u.shown = min(u.shown+1, sureShown<<mostUnsure)
	case all >= 2 && now.gap >= w.Unanswered()+max(all/2, 2):
		u.counts()
	default:
		return
	}
	p.restart(p.low, p.last, quietSum{})
}

// restart begins a comparison with the figure of a request with that mark.
func (p *quietSeen) restart(f figured, mark uint32, before quietSum) {
	p.begun, p.first, p.last, p.told, p.high, p.low = true, mark, mark, f.units, f, f
	p.quiet, p.between, p.before = 0, 0, before
}
