package window

import (
	"math/bits"
	"time"
)

// This file is a bucket: a quota that comes back unit by unit, all the time, of which
// the server says when it will be full. Its rate is one unit in fill/Quota.
//
// The end of a bucket is when it will be full if nothing more departs. That says all of
// it: at t, so many units are missing as come back from t to the end. A charge of n
// units moves the end by n·fill/Quota when it departs, and the answer moves it again, to
// what the server says. The window of a bucket never closes.
//
// fill is the longest time from empty to full that the figures allow, so that units are
// not taken before they are there. If a of Quota units are left, between Quota-a-1 and
// Quota-a are missing: the more are missing, the more exactly a figure says the rate.

const (
	// coarseFull is how much less than a number of whole seconds the time until a
	// bucket is full may be; and fineFull than any other. The first is of the
	// difference between two instants that both may be rounded.
	coarseFull = 3 * time.Second
	fineFull   = time.Millisecond

	// settled is how long after its departure a request has surely reached the server,
	// so that the figure of a later one includes it.
	settled = time.Second
)

// IsBucket reports whether the quota in force is a bucket.
func (w *Window) IsBucket() bool {
	return w.rare != nil && w.rare.fill > 0 && (w.State == Reported || w.counted())
}

// fill is how long it takes from empty to full; 0: the quota is no bucket.
func (w *Window) fill() time.Duration {
	if w.rare == nil {
		return 0
	}
	return w.rare.fill
}

// noBucket notes that the quota is none.
func (w *Window) noBucket() {
	if w.rare != nil {
		w.rare.fill = 0
	}
	w.set(spaced, false)
}

// filling is the time in which the bucket fills for us: longer than fill if other
// clients use it.
func (w *Window) filling() time.Duration {
	fill := w.fill()
	if part := w.contention.part(); part < 1 {
		return min(time.Duration(float64(fill)/part), MaxSavedTime)
	}
	return fill
}

// timeOf is how long the bucket takes for n units, rounded down.
func (w *Window) timeOf(n int64) time.Duration {
	if n < 0 {
		return -w.timeOf(-n)
	}
	return time.Duration(mulDiv(uint64(n), uint64(w.filling()), uint64(w.Quota)))
}

// unitsIn is how many units come back in so long a time, rounded down; negative for a
// negative time.
func (w *Window) unitsIn(d Instant) int64 {
	if d < 0 {
		return -w.unitsIn(-d)
	}
	return int64(mulDiv(uint64(d), uint64(w.Quota), uint64(w.filling())))
}

// level is how many units there are at t. It is negative after more was charged than
// there was.
func (w *Window) level(t Instant) int64 {
	if t = w.refilled(t); t >= w.end {
		return w.holds(t)
	}
	fill := uint64(w.filling())
	missing := mulDiv(uint64(w.end-t), uint64(w.Quota), fill)
	if w.timeOf(int64(missing)) < time.Duration(w.end-t) {
		missing++
	}
	return min(max(w.Quota-int64(missing), -MaxUnits), w.holds(t))
}

// mulDiv returns x·y/z, rounded down, but no more than fits a charge.
func mulDiv(x, y, z uint64) uint64 {
	const most = 1 << 60
	hi, lo := bits.Mul64(x, y)
	if hi >= z {
		return most
	}
	q, _ := bits.Div64(hi, lo, z)
	return min(q, most)
}

// charge moves the end by n units, which depart; negative: which come back.
func (w *Window) charge(t Instant, n int64) {
	full := max(w.end, w.refilled(t).Add(w.timeOf(w.Quota-w.holds(t))))
	if d := w.timeOf(n); d > 0 {
		full = min(full.Add(d), Never-1)
	} else {
		full = max(full+Instant(d), 0)
	}
	w.ends(full, 0, Never)
	w.available = w.level(t)
}

// WhenThere is when n units are there, as far as it is known: the end of a window; Never,
// if no end is in force.
func (w *Window) WhenThere(n int64) Instant {
	if !w.IsBucket() {
		return w.end
	}
	return w.refills(w.end - Instant(w.timeOf(w.Quota-w.need(n))))
}

// need is how many of n units must be there: no more than there ever are. What costs
// more departs when all is there. Of a bucket that we count, one has to be.
func (w *Window) need(n int64) int64 {
	if w.counted() {
		return min(n, 1)
	}
	if w.Quota > 0 {
		return min(n, w.Quota)
	}
	return n
}

// observeFill takes over how a quota comes back by a figure at t, and reports whether it
// is a bucket. steps is in which time it does so unit by unit, if that was found.
func (w *Window) observeFill(t Instant, f *Figure, avail int64, steps time.Duration) bool {
	if w.Quota <= 0 {
		w.noBucket()
		return false
	}
	missing := w.Quota - avail
	switch {
	case steps > 0:
		w.setFill(t, steps)
	case missing <= 0 || f.Full <= 0 && f.Window <= 0:
		// It is full, or is so sooner than the field can say.
	case f.Full <= 0:
		w.noBucket()
	case missing == 1:
		// Less than one may be missing: it says nothing of the rate.
	case w.Unit == Other && avail == 0 && w.debt(*f) > 0:
		// More than all is missing. The rate stays.
		w.setFill(t, w.rate())
	default:
		w.setFill(t, w.fillOf(f.Full, missing))
	}
	return w.fill() > 0
}

// rate is the time from empty to full, as far as it is known; 0: it is not.
func (w *Window) rate() time.Duration {
	if fill := w.fill(); fill > 0 {
		return fill
	}
	return w.Length
}

// debt is how much later than the rate allows a bucket is full of which nothing is left:
// servers that count what a request has cost at its end, as those of language models do,
// say 0 where it is less.
func (w *Window) debt(f Figure) time.Duration {
	if known := w.rate(); known > 0 {
		return max(min(f.Full, MaxSavedTime)-known-coarseFull, 0)
	}
	return 0
}

// fillOf is fill after a figure: with so many units missing, the bucket is full after
// that time.
func (w *Window) fillOf(full time.Duration, missing int64) time.Duration {
	q := uint64(w.Quota)
	coarse := fineFull
	if full%time.Second == 0 {
		coarse = coarseFull
	}
	full = min(full, MaxSavedTime)
	least := mulDiv(uint64(max(full-coarse, 0)), q, uint64(missing))
	most := mulDiv(uint64(full), q, uint64(missing-1))
	known := uint64(w.fill())
	if known == 0 {
		known = uint64(w.Length) // the rate is q/w
	}
	if known == 0 || known < least {
		known = most
	}
	return max(min(time.Duration(min(known, most)), MaxSavedTime), 1)
}

// setFill changes the rate at t. What is there stays.
func (w *Window) setFill(t Instant, fill time.Duration) {
	if w.IsBucket() {
		w.rescale(t, w.fill(), fill)
	}
	w.ownRare().fill = fill
}

// rescale changes the time in which the bucket fills from t on. What is there stays, and what
// the figures have told of it.
func (w *Window) rescale(t Instant, from, to time.Duration) {
	if from == to {
		return
	}
	t = w.refilled(t)
	scaled := func(full Instant) Instant {
		if full <= t {
			return full
		}
		return min(t.Add(time.Duration(mulDiv(uint64(full-t), uint64(to), uint64(from)))), Never-1)
	}
	if w.end > t {
		w.ends(scaled(w.end), 0, Never)
	}
	w.rare.told = scaled(w.rare.told)
}

// setQuota changes the size of the bucket, and keeps its rate if it grows.
func (w *Window) setQuota(quota int64) {
	switch before := w.fill(); {
	case before == 0:
	case quota <= 0:
		w.noBucket()
	case quota > w.Quota:
		fill := min(time.Duration(mulDiv(uint64(before), uint64(quota), uint64(w.Quota))), MaxSavedTime)
		if w.IsBucket() {
			w.ends(min(w.end.Add(fill-before), Never-1), 0, Never)
		}
		w.rare.fill = fill
	}
}

// reportBucket takes over a figure of a bucket that arrived at t for a request that
// departed at sent. What departed after that request is not in the figure, and what
// departed just before may not be. So the figure says a least and a most that there can
// be, and changes only what is outside of them. It raises only what an earlier request was
// told: requests that depart together arrive in any order. Once nothing is in flight, the lowest
// of the figures that came meanwhile counts.
//
// Some servers say what is left when a request arrives, others when they answer it, which
// may be long after. So no figure raises what is there when it arrives above itself. One
// that is of a refusal says that too little is there for the request, even if it does so
// by a part of a unit.
func (w *Window) reportBucket(t, sent Instant, avail int64, f Figure, refused bool) {
	c, r := f.Charge, w.ownRare()
	var later, unsure int64 // not in the figure, and perhaps not in it
	if c.Mark == 0 {
		unsure = w.Unanswered()
	} else {
		later = w.After(c.Mark)
		unsure = w.Unanswered()
		if sent >= r.marked.Add(settled) {
			unsure = min(unsure, w.After(r.mark)-c.Units)
		}
		unsure = max(unsure, later)
	}
	w.observeLumps(t, sent, avail, c, refused)
	missing, one := w.timeOf(w.Quota-avail), w.timeOf(1)
	if w.Unit == Other && avail == 0 {
		if missing += w.debt(f); refused {
			missing = max(missing, min(f.Full, MaxSavedTime)) // it is sure to be that empty
		}
	}
	guard := w.guard(w.rtt)
	if r.steps() {
		guard = min(guard, time.Duration(t-sent)) // the figure is rounded down, so what it says is there now
	}
	counts := w.refilled(sent)
	if w.lumps() != nil {
		guard, one = 0, 0
	}
	from := counts.Add(guard).Add(missing)
	least, exact := from.Add(w.timeOf(unsure)), from.Add(w.timeOf(later))
	most := counts.Add(max(missing-one, 0)) // what departed later may have arrived before

	if w.State != Reported {
		w.State, w.before, w.sent, r.told, r.resets = Reported, 0, sent, 0, 0
		w.ends(min(least, Never-1), 0, Never)
	}
	r.told = max(r.told, from)
	end := w.end
	switch {
	case w.Unanswered() == 0 && sent >= w.sent:
		// The lowest figure of those that were in flight together includes all of them.
		end, r.told = r.told, 0
	case sent < w.sent && w.Unit != Requests:
		// What departed since may have cost less than it was charged.
	case w.end < most, refused && avail < c.Units && w.end < exact && w.Strategy != Plain:
		end = exact
	case w.end <= least:
		w.sent = max(w.sent, sent)
	case sent >= w.received || sent >= w.sent.Add(settled):
		end = least
	}
	if end < w.end { // the figure may be as late as its answer
		end = min(max(end, w.refilled(t).Add(missing)), w.end)
	}
	var taken float64 // by other clients
	if end != w.end {
		taken = float64(end-w.end) / float64(w.filling()) * float64(w.Quota)
		w.sent = max(w.sent, sent)
		w.observeCorrection(w.unitsIn(end - w.end))
		w.ends(min(end, Never-1), 0, Never)
	}
	w.contendBucket(t, c, taken, refused)
	w.received = t
	w.probing = false
	w.available = w.level(t)
}

// contendBucket counts how many units more than ours a figure at t shows to be taken by
// other clients; less, if it is negative.
func (w *Window) contendBucket(t Instant, c Charge, taken float64, refused bool) {
	if w.Unit != Requests || c.Mark == 0 || w.Strategy == Plain || w.rare.steps() {
		return
	}
	k, filling := &w.contention, w.filling()
	ours := float32(min(c.Units, contentionFades))
	if refused {
		ours = 0
	}
	k.ours += ours
	k.fall = max(k.fall+ours+float32(min(taken, contentionFades)), k.ours-contentionNeeds/4)
	if taken >= 0.5 {
		w.compared.others = min(w.compared.others+1, 63)
	} else {
		w.compared.others = max(w.compared.others, 1) - 1
		k.fall -= max(k.fall-k.ours, 0) / contentionLasts
	}
	if k.fall > contentionFades {
		k.ours, k.fall = k.ours/2, k.fall/2
	}
	w.rescale(t, filling, w.filling())
}
