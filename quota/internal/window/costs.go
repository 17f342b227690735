package window

// This file is what requests cost in units such as tokens, if the server does not say it:
// by how much its figures fall. The fall between the figures of two requests that departed
// one after the other is what the second one has cost, unless other clients use the quota.
// Else the fall since nothing was in flight is shared out among the requests that were
// served since, by what they were charged. One that was refused is taken to cost as much
// more or less than it was charged as they did.
//
// The contention of such a window is not observed, because it would need the costs. Its
// sums are used for this.

// costOf returns what a request that departed at sent has cost by the figures; None if they
// do not show it.
func (w *Window) costOf(sent Instant, c Charge, avail int64, refused bool) int64 {
	if w.Unit != Other || c.Mark == 0 {
		return None
	}
	cost := int64(None)
	if w.State == Reported {
		cost = w.fall(sent, c, avail, refused)
		if cost <= 0 {
			cost = w.sharedFall(sent, c, avail)
		}
	}
	switch {
	case cost <= 0:
		return None
	case w.IsBucket():
		return cost + 1 // a part of a unit may be there that no figure shows
	}
	return cost
}

// fall is by how much a figure is below that of the request that departed before. Where
// others departed between them, it is the part of the request in the fall, if all that has
// departed since is in it and if that is more than the request was charged. Else it is
// None. What a refused request costs is not in the fall. If it seems to be refused for being
// early, because others cost more than they were charged, it is taken to cost more as well.
func (w *Window) fall(sent Instant, c Charge, avail int64, refused bool) int64 {
	r := w.rarely()
	if r.lastMark == 0 || w.takenIn(r.lastMark) != thisWindow || !sooner(r.lastMark, c.Mark) {
		return None
	}
	last := avail + int64(int32(r.lastFigure-uint32(avail)))
	if w.IsBucket() && sent > r.lastSent {
		last += min(w.Quota-last, w.unitsIn(sent-r.lastSent))
	}
	all, next := w.After(r.lastMark), c.Mark-w.steps(c.Units) == r.lastMark
	switch {
	case refused && (avail == 0 || avail >= c.Units):
		return None // it is not known how much is there, or another quota may have refused it
	case refused:
		if all -= c.Units; all < c.Units {
			return None // nothing departed, or what was charged less before more was known
		}
	case next:
		return last - avail
	}
	if last > avail && all > 0 {
		if part := int64(mulDiv(uint64(last-avail), uint64(max(c.Units, 1)), uint64(all))); part > c.Units {
			return part
		}
	}
	return None
}

// sharedFall is the part of a request in the fall since nothing was in flight; None if
// something is.
func (w *Window) sharedFall(sent Instant, c Charge, avail int64) int64 {
	k := &w.contention
	if w.Unanswered() > 0 || k.from == 0 || k.served == 0 {
		return None
	}
	all := k.from - 1 - min(avail, w.available)
	if w.IsBucket() {
		full := sent.Add(w.guard(w.rtt)).Add(w.timeOf(w.Quota - avail))
		all = k.served + k.peak + w.unitsIn(full-w.end)
	}
	if all <= 0 || c.Units <= 0 {
		return None
	}
	return int64(mulDiv(uint64(all), uint64(c.Units), uint64(k.served)))
}

// noteFigure notes a figure for later ones to be compared with: unless that of a later
// request is known; and the first one with which nothing is in flight any more.
func (w *Window) noteFigure(c Charge, avail int64) {
	if w.Unit != Other {
		return
	}
	if r := w.ownRare(); c.Mark != 0 && (r.lastMark == 0 || c.Sent > r.lastSent || sooner(r.lastMark, c.Mark)) {
		r.lastMark, r.lastSent, r.lastFigure = c.Mark, c.Sent, uint32(avail)
	}
	if w.Unanswered() == 0 {
		w.contention.from, w.contention.served, w.contention.peak = min(avail, w.available)+1, 0, 0
	}
}

// observeCorrection counts by how much a figure shows that less is in a bucket than what was
// charged leaves.
func (w *Window) observeCorrection(units int64) {
	if w.Unit == Other {
		w.contention.peak += units
	}
}
