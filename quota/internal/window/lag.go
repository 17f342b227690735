package window

import "time"

// This file is a part of habit 3 of Adaptive: how long after a window the first request departs.
//
// A server that weighs two windows begins one with what the one before leaves: nothing, if all of it was spent. Units come
// back one by one from then on. A request that departs as soon as a window is over is refused, and many of these servers
// say as Retry-After when the new one is over. So the refusal costs a window: nothing departs in it, the next one has all,
// which is spent at once, and the one after that begins with nothing again.
//
// So after such a refusal, the first request after a window waits for as long as a unit takes, and after each further
// one for twice as long, up to 16 units or half of the quota. Once it finds half of the quota although the window has only
// just ended, windows begin with all, and it does not wait any more.
//
// A trial in a window (refill.go) that is refused costs the rest of it as well. From then on the next ones wait for two
// units where the time for a unit is found by trials: what comes back meanwhile is not lost.

// maxLags bounds how long the first request waits: for 16 units.
const maxLags = 5

// lag is how long after the window in force the next request departs, if it was used up.
func (w *Window) lag() time.Duration {
	own := w.rarely().spent
	if own == nil || own.lags == 0 || w.refill.trying || w.isLate() {
		return 0
	}
	units := min(int64(1)<<(own.lags-1), max(w.Quota/2, 1))
	return time.Duration(units) * w.perUnit()
}

// isDear reports whether a refusal before units are back costs much more than the time for a unit.
func (w *Window) isDear() bool {
	own := w.rarely().spent
	return own != nil && (own.dear || own.lags > 0)
}

// observeLag looks at the answer to a request that departed at sent, after a window, and found so many units. due is when
// the window of its figure is over. Where windows take no more than two seconds, only an instant shows that another one has
// begun.
func (w *Window) observeLag(sent, due Instant, f *Figure, found int64, refused bool, s *Server) {
	if w.Strategy != Adaptive || w.State != Expired || sent < w.closed {
		return
	}
	unit, own := w.perUnit(), w.rarely().spent
	dear := refused && unit > 0 && f.Again > unit && w.alone() && f.Charge.Units <= 1
	switch {
	case w.refill.trying:
		if dear && f.Again > max(4*unit, shortReturn) && !w.isDear() {
			w.ownSpent().dear = true
		}
	case dear && (f.Again > shortReturn || f.Resets > 0) && !sameWindow(w.due, due):
		own = w.ownSpent()
		own.lags = min(own.lags+1, maxLags)
	case refused || own == nil || own.lags == 0 || 2*found < w.most(s):
	case sent < w.closed.Add(2*w.lag()+time.Second) && w.Hold.Add(time.Second) < w.closed: // nothing was held in the window before
		own.lags = 0
	}
}
