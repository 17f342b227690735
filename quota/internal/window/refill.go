package window

import "time"

// This file is habit 3 of Adaptive: a quota that is refilled unit by unit, more
// often than whole seconds can say. Such a server says that nothing is left for 1 s
// when the next unit comes in 50 ms. If it weighs two windows, it says so for the rest
// of the present one, although units of the one before come back all the time.
//
// Where less than half of the quota was there in a window, one request tries again
// after W/q, the time that the policy takes for one unit. If it is served, so are
// the next. After a few of them, requests no longer wait for each other's answers,
// where these take longer than W/q. If it is refused, another client has used the
// quota, and the next trials are left out, twice as many after each.
type refill struct {
	trying bool  // the window in force was cut short
	served uint8 // trials in a row that were served
	failed uint8 // trials in a row that were refused
	skip   uint8 // trials to be left out
	slack  uint8 // added to the pace, in halves of the jitter
}

const (
	steadyTrials  = 3
	sureTrials    = 16  // after which a trial keeps less of a margin
	quickerTrials = 250 // after which the pace is quicker again
	maxFailed     = 6
)

// steady reports whether requests need not wait for each other's answers.
func (r *refill) steady() bool { return r.served >= steadyTrials }

// refillPace is the time between two requests that do not wait for each other's answers:
// W/q + 2j, and j/2 for each refusal.
func (w *Window) refillPace() time.Duration { return w.perUnitWith(8) }

// trialAfter is how long after a request that was served the next one departs, before the
// guard. Between requests that do not overlap, W/q + j/4 is enough, and j/2 for each
// refusal: the guard covers what the trip of the first one took longer than another. But
// first it must be sure that units come back one by one, and to this client alone.
func (w *Window) trialAfter() time.Duration {
	if w.refill.served < sureTrials || w.least > w.perUnit() || !w.alone() {
		return w.refillPace()
	}
	return w.perUnitWith(1)
}

// perUnitWith is W/q and so many quarters of the jitter, and half of it for each refusal.
func (w *Window) perUnitWith(quarters int) time.Duration {
	d := w.perUnit()
	return d + min(w.jitter*time.Duration(quarters+2*int(w.refill.slack))/4, d)
}

// perUnit is W/q, if that is less than whole seconds can say; else 0.
func (w *Window) perUnit() time.Duration {
	if w.Quota <= 1 || w.Length <= 0 || w.Unit != Requests {
		return 0
	}
	d := w.Length / time.Duration(w.Quota)
	if d >= time.Second {
		return 0
	}
	return d
}

// observeRefill looks at a report that nothing is left for the length, of a request
// that departed at sent. It returns when the window is due: earlier, for a trial.
func (w *Window) observeRefill(sent Instant, length time.Duration, refused bool) Instant {
	r := &w.refill
	switch {
	case length < 0 || w.perUnit() == 0:
		return w.due
	case length > time.Second && !w.alone():
		return w.due // others may have left little of the window
	case refused:
		if r.trying {
			r.fail()
		}
		return w.due
	case r.trying:
		r.served++
		r.failed = 0
		if r.served == quickerTrials {
			r.served, r.slack = sureTrials, max(r.slack, 1)-1
		}
	}
	due := w.due
	if r.trying = 2*w.contention.peak < w.Quota && r.skip == 0; r.trying {
		due = min(due, sent.Add(w.trialAfter()))
	}
	r.skip = max(r.skip, 1) - 1
	return due
}

// observeLog looks at a figure that says that nothing is left for the length. It returns
// when the window is due.
//
// Where each unit comes back a window after it was spent, the first request after a
// window finds only the unit that is back first, and is told that nothing is left for a
// whole window. The others are back that long after the last of the window before, which
// departed at before. So a request tries then, where there is no shorter way: see
// observeRefill. If it is refused, the next trials are left out.
func (w *Window) observeLog(sent, before Instant, length time.Duration, refused bool) Instant {
	r := &w.refill
	if w.perUnit() > 0 {
		return w.due
	}
	back := before.Add(length)
	switch {
	case refused:
		if r.trying {
			r.fail()
		}
		return w.due
	case before == 0 || length <= 0 || back <= sent || 2*w.contention.peak >= w.Quota || !w.alone():
		r.trying = false
		return w.due
	case r.skip > 0:
		r.skip--
		return w.due
	}
	r.trying = true
	return min(w.due, back)
}

// fail ends a trial that was refused.
func (r *refill) fail() {
	if r.steady() {
		r.slack = min(r.slack+1, 60)
	} else {
		r.failed = min(r.failed+1, maxFailed)
		r.skip = 1 << r.failed
	}
	r.trying, r.served = false, 0
}
