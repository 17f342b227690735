package window

// This file is for answers that say nothing of a quota that others tell: redirects, those of a cache, 304
// or 404. They may count against it or not. Until it is known that they do not, they do.
//
// Between two figures of a window some requests were told a figure, and others were not. If the second figure
// is lower by no more than the first ones explain, the others did not count. Two such pairs of figures in a row
// show that. From then on, an answer that says nothing gives back what its request was charged. A figure that
// is lower by half of the others or more shows that they count: then twice as many pairs are needed.

// uncounted is what is known of a server, and the pair of figures that is being compared. It is of one window at
// a time: there may be one for each of many users.
type uncounted struct {
	shown  uint8 // pairs in a row that have shown that such answers do not count
	doubts uint8 // how often one has shown that they do
	pair   quietPair
}

type quietPair struct {
	of    *Window
	epoch uint32  // of the window
	begun Instant // arrival of the first figure; 0: none has come
	from  int64   // that figure
	early int64   // units of requests that departed before, whose answers had a figure
	all   quietCount
	sure  quietCount // of requests that were answered by at: a request that departs later arrives later
	at    Instant
	other uint8 // answers that say nothing to requests of other windows, since then
}

// quietCount counts units of requests that departed after the first figure had arrived.
type quietCount struct {
	told  int64 // their answers had a figure
	quiet int64 // they had none
}

const (
	surePairs  = 2
	leastQuiet = 4  // units in a pair
	mostUnsure = 5  // doubts that are counted
	mostOthers = 32 // before another window is compared
)

// notCounted reports whether answers that say nothing do not count.
func (u *uncounted) notCounted() bool { return u.shown >= surePairs<<u.doubts }

// counts notes that answers that say nothing have counted.
func (u *uncounted) counts() { u.shown, u.doubts = 0, min(u.doubts+1, mostUnsure) }

// comparesQuiet reports whether the figures of the window show whether answers that say nothing count.
func (w *Window) comparesQuiet() bool {
	return w.State == Reported && w.Unit == Requests && w.Strategy == Adaptive && !w.IsBucket()
}

// countQuiet counts a request that was served, and whose answer at t says nothing. It is still in flight.
func (w *Window) countQuiet(t Instant, c Charge, s *Server) {
	if !w.comparesQuiet() || w.takenIn(c.Mark) != thisWindow {
		return
	}
	p := &s.uncounted.pair
	if p.of != w && p.of != nil && p.other < mostOthers {
		p.other++
		return
	}
	if p.of != w || p.epoch != w.epoch {
		*p = quietPair{of: w, epoch: w.epoch}
	}
	if p.begun == 0 || c.Sent < p.begun {
		return
	}
	p.all.quiet += c.Units
	if w.Unanswered() <= c.Units {
		p.sure, p.at = p.all, t
	}
}

// compareQuiet compares a figure that arrived at t with an earlier one of the same window.
func (w *Window) compareQuiet(t Instant, c Charge, avail int64, refused bool, s *Server) {
	u, p := &s.uncounted, &s.uncounted.pair
	switch {
	case p.of != w || p.epoch != w.epoch || c.Mark == 0 || !w.comparesQuiet() || w.takenIn(c.Mark) != thisWindow:
		return
	case refused:
		if avail == 0 && u.notCounted() && p.all.quiet > 0 && w.spare() > 0 {
			u.counts() // by our own count there was enough
		}
		return
	case c.Sent < p.begun:
		p.early += c.Units
		return
	}
	p.all.told += c.Units
	fall, quiet := p.from-avail, p.sure.quiet
	switch {
	case p.begun == 0 || fall < 0: // the first one, or a window has begun
	case c.Sent < p.at:
		return
	case quiet >= leastQuiet && fall <= p.sure.told+c.Units+quiet/4:
		u.shown = min(u.shown+1, surePairs<<mostUnsure)
	case p.all.quiet >= 2 && fall >= p.early+p.all.told+w.Unanswered()+max(p.all.quiet/2, 2):
		u.counts()
	default:
		p.sure, p.at = p.all, t
		return
	}
	*p = quietPair{of: w, epoch: w.epoch, begun: max(t, 1), from: avail, at: t}
}
