package window

import "time"

// This file is our own count once the server contradicts it: it refuses a request in a
// window of that count. The count assumes that all units come back together, a window after
// the first was spent. Here they do not: windows begin at other times, others use the quota,
// or it is a bucket, or a log.
//
// After one refusal, the next window begins with its Retry-After, and with two requests, then
// four, … as in slow start, so that few are refused if there is little. If that window is
// contradicted, too, before it has passed as counted, and the Retry-After is no longer than
// one unit takes, w/q, and the second that rounding explains, then units come back one by
// one. They are counted as a bucket that is empty now and is filled by q units in w. Who
// spends them at that pace is served no more than q in any time as long as a window, wherever
// windows begin, and nearly q if the demand is high. The bucket holds one unit, and one more
// for each window since the last refusal. A refusal at that pace makes it slower. Further ones without a served request
// between them do not: a slower pace would not have been served either. One whose Retry-After is longer than a quarter of
// the window, and than one unit takes, ends the bucket: it is of a window. In a log, units that were spent together come
// back together, and the pace has to wait for those that were spent later.
//
// Where a unit takes a second or less, our own log (spent.go) is asked first, which begins with the first refusal. If it had no
// room for a refused request, units come back as they were spent: then the count goes on, and no more depart than the log
// says. Until it knows of a whole window, no refusal begins a bucket. A refusal at the pace of a bucket makes it slower
// by half of a unit, because each costs a whole second: one of two windows weighed serves a unit or two less than q.
//
// Where two windows are weighed, a window begins with what the one before has left. So if all of a quota is spent at once, each
// second window begins with a refusal, and many servers of the kind say as Retry-After when that window is over. So after a
// second such refusal within three windows units are spread: a bucket is counted that is empty when the hold is over. It takes
// a unit longer than a window to fill, and one more after each further such refusal, because each costs a window. If one comes
// within half of a window, others use the quota: then there is no such bucket for two windows, then for four, up to 64. A window
// of our count that begins soon after such a refusal begins with two requests. Our own log does not explain such a refusal
// if half of the quota is back soon after that moment.
//
// A server may tell its figures only where it refuses. Such a refusal, with nothing left, in our own count is one as well.
//
// In a short window each Retry-After is that short. So if a window had nothing at its beginning, and one within three
// windows after it, too, units come back one by one, although a window between them passed as counted. A server that
// rounds the Retry-After down refuses the request that departs after it, with a Retry-After of 0: that is one window.

// contradiction is what refusals have shown of our own count.
type contradiction struct {
	dry     Instant // arrival of the last refusal in a window of our own count in which nothing was served; 0: none
	early   Instant // arrival of the last refusal that holds our own count for long, see Window.spread; 0: there was none
	spreads Instant // when the bucket begins that such refusals show; 0: it is another. Without one: none begins before
	spoiled uint8   // times that it was none
}

// Contradict takes over a refusal at t, of a request that departed at sent, while our own
// count is in force. A Retry-After of less than 0 is none.
func (w *Window) Contradict(t, sent Instant, retryAfter time.Duration) {
	if w.State != Counting || !w.countable() || w.Quota < 1 || w.Strategy != Adaptive {
		return
	}
	paced := w.IsBucket()
	if !paced && (w.end == Never || sent.Add(w.Length) < w.due) {
		return // it is of the window before
	}
	r, length := w.ownRare(), min(w.Length, MaxSavedTime)
	one := length / time.Duration(w.Quota)
	brief := one <= time.Second // no Retry-After says when it is back
	if !paced && brief && w.slid(t, sent, retryAfter, one) {
		return
	}
	again, same := r.told > 0, sent < r.told // refusals of requests that overlap are one
	if !paced && w.available >= w.Quota-1 {  // nothing was served in this window
		switch dry := w.ownSpent().dry; {
		case again && retryAfter == 0 && sent < w.closed.Add(time.Second):
			again = false // the Retry-After before was rounded down
		case !again && dry > 0 && t <= dry.Add(3*length):
			again = true // a second window in a row had nothing at its beginning
		}
		w.rare.spent.dry = t
	}
	if w.logIsYoung(t) {
		again = false
	}
	if retryAfter > max(one+time.Second, length/2) && w.spread(t, sent, retryAfter, one, length) {
		return
	}
	switch {
	case same && !paced:
		return
	case retryAfter > one+time.Second && !(paced && retryAfter <= length/4) || !again:
		w.noBucket()
		r.told, w.available, w.slow = max(t, 1), 0, 2
		w.ends(t.Add(max(retryAfter, 0)), 0, Never)
		return
	case !paced:
		r.fill, w.slow = length+w.guard(w.rtt), 0
		w.ownSpent().spreads = 0
	case !same && w.CountRefusal(t, sent):
		slower := w.guard(w.rtt)
		if brief {
			slower = max(slower, one/2)
		}
		r.fill = min(r.fill+slower, 2*length)
	}
	r.told = t
	empty := t.Add(r.fill)
	if retryAfter >= 0 {
		empty -= Instant(max(one-retryAfter, 0)) // a part of a unit is there
	}
	w.ends(min(empty, Never-1), 0, Never)
	w.available = w.level(t)
}

// spread takes over a refusal that holds for long. If it is the second one within three windows, it begins a bucket that is
// empty when the hold is over; if there is one, it makes that slower. It reports whether there is a bucket now. one is the time
// for a unit, and length that of a window.
func (w *Window) spread(t, sent Instant, retryAfter, one, length time.Duration) bool {
	r, own := w.rare, w.ownSpent()
	bucket := w.IsBucket()
	switch {
	case bucket && own.spreads == 0:
		return false // the bucket was shown otherwise
	case bucket && sent < own.spreads: // it is one refusal with the last
	case bucket && t < own.spreads.Add(length/2):
		own.spoiled = min(own.spoiled+1, maxFailed)
		own.early, own.spreads = t, t.Add(length<<own.spoiled)
		return false
	case bucket:
		r.fill = min(r.fill+one, 2*length)
	case t < own.spreads:
		return false
	case own.early == 0 || t > own.early.Add(3*length):
		own.early = t
		return false
	case sent < own.early, w.logIsYoung(t):
		return false
	default:
		r.fill, w.slow = length+w.guard(w.rtt)+one, 0
	}
	own.early, own.spreads = t, t.Add(retryAfter)
	r.told = t
	w.ends(min(own.spreads.Add(r.fill), Never-1), 0, Never)
	w.available = w.level(t)
	return true
}

// agree takes back what Contradict has changed, if it was not called again.
func (w *Window) agree(before, after *Window) {
	if was, is := before.rarely(), after.rarely(); is.told != was.told && w.rarely().told == is.told {
		w.rare.told, w.rare.fill = was.told, was.fill
		w.available, w.slow = before.available, before.slow
		w.ends(before.due, before.trip, Never)
	}
}

// uncontradicted takes over that a window of our own count has passed.
func (w *Window) uncontradicted() {
	r := w.rare
	if r == nil {
		return
	}
	if r.told < w.due-Instant(w.Length) {
		r.told = 0
	}
	if own := r.spent; own != nil && own.early > 0 && w.due <= own.early.Add(3*min(w.Length, MaxSavedTime)) {
		w.slow = w.habits().slowStart() // it may begin with nothing, too
	}
}

// counted reports whether our own count is of a bucket.
func (w *Window) counted() bool { return w.State == Counting && w.Length > 0 && w.fill() > 0 }

// holds is how many units the bucket holds at t.
func (w *Window) holds(t Instant) int64 {
	if !w.counted() {
		if w.rare.steps() {
			return min(w.rare.spent.holds, w.Quota)
		}
		return w.Quota
	}
	since := t.Since(w.rare.told)
	if w.is(spaced) {
		return min(1+w.unitsIn(Instant(since)), w.Quota)
	}
	return min(1+int64(since/w.Length), w.Quota)
}

// windowMoment is the part of a window that is a moment at its beginning, see Window.slid.
const windowMoment = 16

// slid reports whether our own log explains the refusal of a request that departed at sent: it had no room for it. Then no more
// depart than it says. It explains none if half of the quota is back a moment later, and the Retry-After is much longer. Where a
// window began with the refusal, a moment is a sixteenth of it. Windows that begin at other times than ours are explained by
// it, too, now and then. So if a unit takes a second, it needs two of these within two windows. The first refusal begins the log.
func (w *Window) slid(t, sent Instant, retryAfter, one time.Duration) bool {
	switch {
	case !w.hasLog() && w.logs(true):
		w.beginLog(t, w.Length)
		return false
	case !w.hasLog() || w.room(sent) > 0:
		return false
	}
	moment := maxGuard
	if w.available >= w.Quota-1 { // nothing was served in this window
		moment = max(moment, w.Length/windowMoment)
	}
	if 2*w.room(sent.Add(moment)) > w.Quota && t.Add(retryAfter) > w.whenRoom(t, 1).Add(shortReturn) {
		return false
	}
	switch l := w.rare.spent; {
	case one < time.Second || l.slid > 0 && sent > l.slid && t <= l.slid.Add(2*w.Length):
		l.slides = true
	case sent > l.slid:
		l.slid = t
	}
	return true
}

// logIsYoung reports whether more may have departed in the window before t than our own log says.
func (w *Window) logIsYoung(t Instant) bool {
	return w.hasLog() && t < w.rare.spent.off && w.rare.spent.doubts == 0
}
