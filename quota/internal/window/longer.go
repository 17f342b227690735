package window

import "time"

// longer is a second quota, of longer windows, beside the one that is inferred, such as 500 a minute beside 10 a second. Where
// refusals have no Retry-After, only a pause shows it: one that is much longer than the windows, after more was served than the
// inferred quota allows in windows as long as that. Such a pause does not change what is inferred.
//
// The windows of the longer quota are taken to begin with the first request that is served after such a pause. In the next pause
// one request departs when that window should be over: at the roundest time between the latest at which a request was
// refused and the earliest at which one was served. Back-off goes on before and after that.
type longer struct {
	began  Instant       // departure of the first request that was served in this window; 0: it is not known
	served int64         // since then
	least  time.Duration // after began, the latest time at which nothing was served
	most   time.Duration // after began, the earliest time at which something was; 0: it is not known
}

const longPause = 4 * minBackOff // two back-offs end before: a pause that is longer had three

// serves takes over that a request which departed at sent was served.
func (l *longer) serves(sent Instant) {
	if l.served++; l.began == 0 || l.most > 0 && sent >= l.began.Add(l.most) {
		l.began, l.served = max(sent, 1), 1
	}
}

// contradicts reports whether more was served until an instant than a quota allows in windows of a length, wherever these
// begin.
func (l *longer) contradicts(quota int64, length time.Duration, until Instant) bool {
	windows := 2 + float64(until-l.began)/float64(length)
	return l.began > 0 && quota >= minInferred && float64(l.served) > windows*float64(quota)
}

// ends takes over that a request which departed at sent was the first one that was served in the next window.
func (l *longer) ends(sent Instant) {
	after := time.Duration(sent - l.began)
	if l.most == 0 || after <= l.most {
		if l.most = after; l.least >= after {
			l.least = 0
		}
	}
	l.began, l.served = max(sent, 1), 1
}

// refuses takes over that a request which departed at sent was refused, when the window of the inferred quota was over.
func (l *longer) refuses(w *Window, sent Instant) {
	if l.began == 0 {
		return
	}
	after := time.Duration(sent - l.began)
	l.least = max(l.least, after-w.rtt)
	if after > l.most+minBackOff {
		l.most = 0 // windows have become longer
	}
}

// again is when a request departs to find the next window, after one at sent was refused; Never: that is not known.
func (l *longer) again(w *Window) Instant {
	if l.most == 0 || l.began == 0 {
		return Never
	}
	return l.began.Add(roundest(l.least, l.most) + w.guard(w.rtt))
}
