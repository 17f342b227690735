package window

import (
	"math"
	"time"
)

// This file is habit 3 of Adaptive: a quota that is refilled unit by unit, more
// often than whole seconds can say. Such a server says that nothing is left for 1 s
// when the next unit comes in 50 ms. If it weighs two windows, it says so for the rest
// of the present one, although units of the one before come back all the time.
//
// Where less than half of the quota was there in a window, or the windows are the time
// until a bucket is full (untilfull.go), one request tries again after W/q, the time that the
// policy takes for one unit; beside others, after as long as one unit for us takes. If it is
// served, so are the next. After the first of them, requests no longer wait for each other's answers,
// where these take longer than W/q. If it is refused, another client has used the
// quota, or the server counts otherwise: the next trials are left out, twice as many
// after each. But once units were seen to come back, by trials or by figures, it was another client: the
// next trial waits for longer, so that more than one unit is back.
//
// A unit that takes a second or more is tried like this, too, where the server says that
// nothing is left for far longer than that. So is one of a policy that is not told: it may
// take as long as the longest window of which an answer has told, by the most units. Then
// a trial that is refused doubles the time, which becomes shorter again later.
//
// Where the first request after a window is refused, told another window and no Retry-After, nothing has come back all at
// once. Then a trial departs in that window, too.
//
// In the first window there is no trial, because it is not known how much of it others have used. But windows
// that are the time until a bucket is full never end while it is used, and its figures have shown what they are.
type refill struct {
	trying bool  // the window in force was cut short
	served uint8 // trials in a row that were served
	failed uint8 // trials in a row that were refused
	skip   uint8 // trials to be left out
	slack  uint8 // added to the pace, in halves of the jitter
}

// trials is what trials and the first requests of windows have shown, where that is rare.
type trials struct {
	lastUnit bool    // the last request after a window was served with the last unit
	logTrial bool    // see Window.isLogTrial
	lags     uint8   // times in a row that a window had nothing at its beginning, see Window.lag
	paced    Instant // arrival of an answer since which the pace is what it is; 0: none came
	mark     uint32  // what had departed then
	dear     bool    // a trial was refused for much longer than a unit takes, see Window.isDear
}

const (
	steadyTrials  = 3
	sureTrials    = 16  // after which a trial keeps less of a margin
	quickerTrials = 250 // after which a pace is quicker again
	maxFailed     = 6
	trialsPart    = 0.1             // our part of the quota, below which there are no trials
	shortReturn   = 2 * time.Second // windows up to this are not told apart by whole seconds
	atLeastEach   = time.Second     // a look, where units come back and others take them: the shortest Retry-After
	twice         = 4               // in rare.pace
	nextPace      = 1.189           // 2^(1/twice)
	maxPace       = 16 * twice
	severalUnits  = 5 // of fewer, other clients often take all but one in the first second of a window
)

// steady reports whether enough trials were served to show that units come back one by one.
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

// perUnit is how long it takes for one unit: W/q, as far as that is told, or found; 0 if
// it is not known, or units are not counted in requests.
func (w *Window) perUnit() time.Duration {
	if w.Unit != Requests {
		return 0
	}
	d := w.unitTold()
	if u := w.rarely(); u.pace != 0 {
		d = time.Duration(min(float64(d)*math.Exp2(float64(u.pace)/twice), float64(MaxSavedTime)))
	}
	return d
}

// unitTold is W/q, as far as that is told; or what is taken for it.
func (w *Window) unitTold() time.Duration {
	if guess := w.rarely().guess; guess > 0 || w.Quota < 2 || w.Length <= 0 {
		return time.Duration(guess) * time.Microsecond
	}
	return w.Length / time.Duration(w.Quota)
}

// guessUnit guesses how long it takes for one unit, if the policy does not say it.
func (w *Window) guessUnit(s *Server) {
	if w.Unit != Requests || w.Length > 0 && w.Quota > 0 {
		if w.rare != nil {
			w.rare.guess = 0
		}
		return
	}
	most := w.most(s)
	if unit := max(s.longest(), w.Length) / time.Duration(max(most, 1)); most > 1 && (w.alone() || unit >= time.Second || w.is(creeping)) {
		w.ownRare().guess = uint32(min(unit, time.Hour) / time.Microsecond)
	}
}

// observeRefill looks at a report that nothing is left for the length, of a request
// that departed at sent. It returns when the window is due: earlier, for a trial. before is
// the departure of the last request of the window before; 0: it is not the first report of a window,
// or the server has said when to come back.
func (w *Window) observeRefill(sent, before Instant, length time.Duration, refused bool, s *Server) Instant {
	r, most := &w.refill, w.most(s)
	w.guessUnit(s)
	unit := w.perUnit()
	unsure := w.epoch == 0 && !s.Full.shown() || w.contention.part() < trialsPart // how much of the window others have used
	unsure = unsure && (length > time.Second || w.findsUnit()) && !w.creeps()
	switch {
	case refused && r.trying:
		w.failTrial(s.Most)
		if length > 4*unit && w.findsUnit() && (w.creeps() || w.contention.fall >= w.contention.ours+1) && !s.Full.shown() {
			r.skip = 0 // others may leave nothing for long, and the time for a unit has doubled
		}
		return w.due
	case refused && !w.foundNothing(before), unsure, length < 0, unit == 0:
		r.trying = false
		return w.due
	case r.trying:
		w.succeed(most)
	}
	due, part := w.due, w.contention.part()
	told := unit >= time.Second && length <= unit+time.Second // whole seconds say when the unit is there
	if r.trying = !told && (s.Full.shown() || w.scarce(most)) && r.skip == 0; r.trying {
		w.setLogTrial(false)
		after := time.Duration(float64(w.trialAfter()) / part)
		if pace := w.rarely().pace; w.isDear() && w.findsUnit() && w.unshared() && pace < twice {
			after += after * time.Duration(twice-pace) / twice // what comes back meanwhile stays
		}
		if w.creeps() && !w.unshared() {
			after = min(after, atLeastEach)
		}
		due = min(due, sent.Add(after))
	}
	r.skip = max(r.skip, 1) - 1
	return due
}

// foundNothing reports whether a refusal of the first request after a window shows that units come back one by one. It
// does if the window was over when it should be, and no other client was seen to use the quota. Once a trial was refused,
// it shows nothing.
func (w *Window) foundNothing(before Instant) bool {
	return before > 0 && w.Told() > 0 && w.refill.failed == 0 && w.alone()
}

// scarce reports whether little of the quota was there in this window: less than half of
// it; or three quarters, where the time for a unit is found by trials; or fifteen sixteenths,
// where our own log was contradicted, but not by another client that was seen: then units do not
// come back all at once.
func (w *Window) scarce(most int64) bool {
	if w.creeps() {
		return true
	}
	if w.findsUnit() {
		return 4*(w.contention.peak+1) < 3*most
	}
	if w.hasLog() && w.rare.spent.doubts > 0 && w.unshared() {
		return 16*(w.contention.peak+1) < 15*most
	}
	return 2*w.contention.peak < most
}

// findsUnit reports whether the time for a unit is found by trials. Where it is told, and
// so short that whole seconds do not say it, it is believed.
func (w *Window) findsUnit() bool {
	u := w.rarely()
	return u.guess > 0 || u.pace != 0 || w.perUnit() >= time.Second || w.creeps()
}

// creeps reports whether units that take less than a second were seen to come back before the end
// of a window. Then a trial that is refused was too early, because another client has used what
// came back: no trial is left out, and where others were seen, none waits for more than a second. That is not known
// where requests do not wait for each other's answers and no other client was seen.
func (w *Window) creeps() bool {
	unit := w.unitTold()
	return w.is(creeping) && unit > 0 && unit < time.Second && (w.least <= w.perUnit() || !w.unshared())
}

// observeReturn looks at a figure of a window that is due then, before it is taken over: it may show that units
// have come back before the end of the window. More is left than the figure before said of the same window, although
// others use it, too, or as much, although the request was served; or nothing was left, and a request was served after
// a Retry-After that was shorter. observeLast has one more way.
// If three times as many units came as the time for a unit allows, that becomes shorter.
func (w *Window) observeReturn(sent Instant, avail int64, due Instant, refused bool, s *Server) {
	most, length := w.size(s)
	if w.Strategy == Adaptive && length > shortReturn && !refused && w.State == Expired && sent >= w.closed {
		w.observeLast(avail == 0 && most >= severalUnits && due-sent >= Instant(length))
	}
	if refused || w.Strategy != Adaptive || length <= shortReturn || !w.inOrder(sent) || !sameWindow(w.due, due) {
		return
	}
	more := avail > w.sinceReport || avail >= w.available && avail > 0
	more = more && w.State == Reported && w.compared.others > 0 && w.contention.part() >= trialsPart
	if !more && (w.State != Expired || w.closed != w.Hold) {
		return
	}
	w.set(creeping, true)
	w.guessUnit(s)
	if w.creeps() && w.rarely().pace > 0 && float64(avail-w.sinceReport)*float64(w.perUnit()) > 3*float64(sent-w.sent) {
		w.setPace(w.rare.pace - 1)
	}
}

// observeLast looks at the answer to a request that was served after a window. last: it had the last of several units, and a
// whole window is ahead. A window that has just begun has more. So two such answers in a row show that units come back one
// by one, and that other clients take them. An instant in whole seconds does not tell whether a window has just begun.
func (w *Window) observeLast(last bool) {
	last = last && w.contention.part() < 1 && w.rarely().resets == 0
	switch own := w.rarely().spent; {
	case last && own != nil && own.lastUnit:
		w.set(creeping, true)
		own.lastUnit = false
	case last:
		w.ownSpent().lastUnit = true
	case own != nil:
		own.lastUnit = false
	}
}

// succeed takes over that a trial was served, of a quota of which most has been there at most.
func (w *Window) succeed(most int64) {
	r := &w.refill
	r.served++
	r.failed = 0
	w.setLogTrial(false)
	w.set(creeping, w.is(creeping) || r.steady())
	if r.served == quickerTrials {
		r.served, r.slack = sureTrials, max(r.slack, 1)-1
		if w.rarely().pace > 0 {
			w.setPace(w.rare.pace - 1)
		}
	}
	w.quicken(most)
}

// quicken makes the pace quicker if more was served at it than comes back at the next one, in any time. Windows may have shown
// two quotas more. What was refused to a client that is not alone would count, too.
func (w *Window) quicken(most int64) {
	if w.rarely().pace <= 0 || !w.unshared() {
		return
	}
	own := w.ownSpent()
	units, back := float64(w.departed-own.mark), nextPace*float64(w.received-own.paced)/float64(w.perUnit())
	switch {
	case own.paced == 0, units < back:
		own.paced, own.mark = w.received, w.departed
	case units-2*float64(most) > back:
		w.setPace(w.rare.pace - 1)
	}
}

// setPace sets the pace, in steps of nextPace.
func (w *Window) setPace(pace int8) {
	r := w.ownRare()
	if r.pace = pace; r.spent != nil {
		r.spent.paced = 0
	}
}

// foundMany looks at a figure that leaves something: perhaps that of a trial. If units seem to take so long that half of the
// quota should have been back, and it was, they come back as they were spent, many at a time. before is as for observeRefill.
func (w *Window) foundMany(before Instant, avail int64, refused bool, s *Server) {
	if !w.refill.trying || refused || before == 0 {
		return
	}
	w.setLogTrial(false)
	if most := w.most(s); w.creeps() && 2*w.perUnit() >= time.Duration(most)*w.unitTold() && 2*(avail+1) >= most {
		w.creepsNoMore()
		w.refill.trying, w.refill.served = false, 0
	}
}

// observeLog looks at a figure that says that nothing is left for the length. It returns
// when the window is due.
//
// Where each unit comes back a window after it was spent, the first request after a
// window finds only the unit that is back first, and is told that nothing is left for a
// whole window. The others are back that long after the last of the window before, which
// departed at before. So a request tries then, where there is no shorter way: see
// observeRefill, which also takes over that it was refused. If few others use the quota, this is the
// shorter way: what departed together is back together, and little of it is taken by them in between. Where that
// leaves out trials of units that take less than a second, and no others use the quota, this one is not left out, unless the
// last one was refused.
func (w *Window) observeLog(sent, before Instant, length time.Duration, refused bool, s *Server) Instant {
	r, few := &w.refill, w.contention.few()
	quick := w.perUnit() > 0 && w.perUnit() < time.Second
	if !few && (!w.alone() || r.trying || quick && (r.skip == 0 || w.isLogTrial())) {
		return w.due
	}
	back, most := before.Add(length), w.Quota
	if few {
		most = w.most(s)
	}
	switch {
	case refused || before == 0 || length <= 0 || back <= sent || back >= w.due || 2*w.contention.peak >= most:
		return w.due
	case r.skip > 0 && (few || !quick):
		r.skip--
		return w.due
	}
	r.trying = true
	w.setLogTrial(true)
	return back
}

// isLogTrial reports whether the last trial was one of observeLog, and was not served.
func (w *Window) isLogTrial() bool {
	own := w.rarely().spent
	return own != nil && own.logTrial
}

func (w *Window) setLogTrial(is bool) {
	if is != w.isLogTrial() {
		w.ownSpent().logTrial = is
	}
}

// failTrial ends a trial that was refused, of a quota of which a request has found so many units at most.
func (w *Window) failTrial(found int64) {
	r := &w.refill
	slower, finds := int8(0), w.findsUnit()
	switch {
	case r.steady():
		r.slack = min(r.slack+1, 60)
		if slower = 1; w.creeps() {
			slower = 2
		}
	case finds && r.slack > 1: // units have come back one by one before
		r.slack = min(r.slack+1, 60)
		r.skip, slower = 1, 1
	default:
		r.failed = min(r.failed+1, maxFailed)
		r.skip, slower = 1<<r.failed, twice
		if !finds && r.served > 0 && w.alone() && found > 1 { // they come back, but more slowly: so they do of a window that was used less
			finds, slower = true, twice/2
		}
		if finds {
			r.slack = 1
		}
	}
	if finds {
		w.setPace(min(w.rarely().pace+slower, maxPace))
	}
	if w.creeps() && 2*w.perUnit() >= time.Duration(w.Quota)*w.unitTold() { // half of the quota should be back
		w.creepsNoMore()
	}
	r.trying, r.served = false, 0
}

// creepsNoMore gives it up that units come back before the end of a window.
func (w *Window) creepsNoMore() {
	r := &w.refill
	w.set(creeping, false)
	w.setPace(0)
	r.failed = min(r.failed+1, maxFailed)
	r.skip = 1 << r.failed
}
