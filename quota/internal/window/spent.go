package window

import (
	"math"
	"time"
)

// This file is our own log. If no more than a quota departs in any time as long as a window,
// all of it is served: in a sliding log, in windows wherever they begin, and in a bucket that
// holds a quota, as long as no other client uses it. So where figures are in whole seconds, or
// wrong, our own log says more exactly when units are back.
//
// It is kept of a sliding log whose server names instants, once units have come back before one
// of them. A window is as long as the longest of which the instants have told: see logLength. Of any other
// quota it is kept from when it was first used up, if a unit takes less than a second: see
// logs.
//
// If answers take long, it is kept from the first figure on, and more rests on it: see late.go.
//
// It is believed where no other client uses the quota. A request that the figure has no room
// for asks: one at first, and twice as many at a time with each round trip in which they were
// served. If one is refused, or a figure shows less than there should be, the log is not
// believed for a few windows, and for twice as many each time.
//
// Where only refusals tell the quota, or answers tell only the policy, served requests are counted (count.go). If one is
// refused that our own log had no room for, no more depart from then on than the log says. What was refused was not spent.

// ownLog is what departed, and how far that is believed.
type ownLog struct {
	slots []slot // in the order of time, no more than maxSlots

	length time.Duration // of a window; 0: there is no log
	trust  int64         // how many units may be out that the figure has no room for
	asked  Instant       // departure of one whose answer doubles trust; 0: there is none
	off    Instant       // until when the log is not believed
	doubts uint8         // times that it was not
	kept   uint8         // answers that have doubled trust since
	loose  bool          // it is of a sliding log whose server names instants
	infers bool          // it is of an inferred quota, see inferred.go
	slides bool          // that quota comes back as it was spent, or one that we count
	slid   Instant       // arrival of the last refusal that it explained, if a unit takes a second: see Window.slid
	floor  uint8         // see Server.floored
	ended  uint8         // windows after which a request was refused that it had no room for, up to endedInVain

	// If answers take long, see late.go:
	quota int64   // units that may depart in a window; 0: answers do not take long
	cut   uint8   // parts of lateParts by which that is less than there should be
	slow  bool    // they take a fortieth of a window
	cutAt Instant // arrival of the refusal after which it last became less
}

// spent is our own log, and what is known whether or not there is one.
type spent struct {
	ownLog
	from Instant // departure of the first request of the window, where no answer tells its end; 0: not known, see untold.go
	contradiction
	trials
	returned returned // see returned.go
	ends     answerEnds
	noLog    bool   // a server with slow answers has refused what our own log had room for, see late.go
	holds    int64  // of a bucket whose units come back one by one: how many there are at most; 0: it is none, see steps.go
	lumps    *lumps // of a bucket whose units may come back many at a time; nil: nothing shows it, see lumps.go
}

// A slot is what has departed within a small part of a window.
type slot struct {
	from  Instant // the first departure
	at    Instant // the last one
	trip  uint32  // the longest round trip so far, in microseconds; 0: there was no answer
	units uint32
	sure  bool // each of them was expected to be served
}

const (
	maxSlots  = 64
	maxDoubts = 8
	manyKept  = 64 // after which doubts are forgotten

	endedInVain = 2 // after which no request departs after a window that our own log has no room for
)

// hasLog reports whether our own log is kept.
func (w *Window) hasLog() bool {
	return w.rare != nil && w.rare.spent != nil && w.rare.spent.length > 0
}

func (w *Window) forgetLog() {
	if w.hasLog() {
		w.rare.spent.ownLog = ownLog{}
	}
}

// keepLog begins our own log.
func (w *Window) keepLog(l ownLog) *spent {
	own := w.ownSpent()
	own.ownLog = l
	return own
}

// ownSpent returns what is known of it, to be changed.
func (w *Window) ownSpent() *spent {
	r := w.ownRare()
	if r.spent == nil {
		r.spent = new(spent)
	}
	return r.spent
}

// backAt is when a request may depart that needs what is in a slot: no request of the slot
// can have arrived later than the guard after the quickest one would have.
func (w *Window) backAt(s *slot) Instant {
	back := s.at.Add(w.rare.spent.length)
	if w.isLate() {
		return back.Add(w.lateGuard())
	}
	trip := time.Duration(s.trip) * time.Microsecond
	if trip == 0 {
		trip = w.rtt
	}
	return back.Add(w.guard(trip))
}

// inWindow is how many units may depart in a window, by our own log.
func (w *Window) inWindow() int64 {
	if w.isLate() {
		return w.rare.spent.quota
	}
	return w.Quota
}

// room is how many units there should be at t.
func (w *Window) room(t Instant) int64 {
	left := w.inWindow()
	for i := range w.rare.spent.slots {
		if s := &w.rare.spent.slots[i]; w.backAt(s) > t {
			left -= int64(s.units)
		}
	}
	return left
}

// whenRoom is when there should be n units. Slots may come back together, or in another order: one without an answer may have
// taken as long as the last answer of all.
func (w *Window) whenRoom(t Instant, n int64) Instant {
	n = min(w.need(n), w.inWindow())
	for w.room(t) < n {
		next := Never
		for i := range w.rare.spent.slots {
			if back := w.backAt(&w.rare.spent.slots[i]); back > t {
				next = min(next, back)
			}
		}
		t = next
	}
	return t
}

// believes reports whether our own log says at t how much there is.
func (w *Window) believes(t Instant) bool {
	return w.hasLog() && t >= w.rare.spent.off && w.inWindow() > 0 && w.inWindow() <= math.MaxInt32 &&
		w.Unit == Requests && !w.IsBucket() && w.contention.part() == 1 && (w.rare.spent.loose || w.isLate() || w.logs(w.floors()))
}

// logs reports whether our own log is of use where no instants are named: the policy tells of a unit that takes less than a
// second, or slow ones count, too; the last trial of a unit was not served, and not even one was seen to be spent by another
// client.
func (w *Window) logs(slow bool) bool {
	return w.Strategy == Adaptive && w.Quota > 0 && w.Length > 0 && (slow || w.Length/time.Duration(w.Quota) < time.Second) &&
		w.unshared() && w.refill.served == 0
}

// whenBack is when n units may depart that the figure has no room for. A log that was doubted
// is believed again with an answer, and not by time alone: what waits looks at an answer.
func (w *Window) whenBack(t Instant, n int64) Instant {
	if !w.believes(w.received) {
		return Never
	}
	trusts := func(out int64) bool { return out == 0 || out+n-w.available <= w.rare.spent.trust }
	switch room := w.whenRoom(t, n); {
	case trusts(w.Unanswered()):
		return room
	case trusts(w.InFlight):
		return max(room, w.closed.Add(grace(w.rtt))) // see WhenLanded
	}
	return Never
}

// note takes over that n units depart at t.
func (w *Window) note(t Instant, n int64) {
	l := w.rare.spent
	ours := w.spare() < n && w.whenReturned(t, n) <= t
	back := 0
	for back < len(l.slots) && w.backAt(&l.slots[back]) <= t {
		back++
	}
	if back > 0 {
		l.slots = l.slots[:copy(l.slots, l.slots[back:])]
	}
	sure := ours || (l.infers || w.believes(t)) && w.room(t) >= n
	tells := w.spare() < n && (l.loose || w.State == Reported || w.probing)
	if w.isLate() {
		tells = w.spare() < n || 2*(w.room(t)-n) <= l.quota
	}
	if sure && tells && !ours && l.asked == 0 {
		l.asked = t
	}
	n = min(n, math.MaxInt32)
	if count := len(l.slots); count > 0 {
		s := &l.slots[count-1]
		if count == maxSlots || s.sure == sure && t < s.from.Add(l.length/(maxSlots-8)) {
			s.at, s.units, s.sure = t, uint32(min(int64(s.units)+n, math.MaxInt32)), sure && s.sure
			return
		}
	}
	l.slots = append(l.slots, slot{from: t, at: t, units: uint32(n), sure: sure})
}

// TrimLog frees the memory of our own log if all that it has noted is back at t.
func (w *Window) TrimLog(t Instant) {
	if !w.hasLog() {
		return
	}
	if l := w.rare.spent; len(l.slots) == 0 || w.backAt(&l.slots[len(l.slots)-1]) <= t {
		l.slots = nil
	}
}

// find returns the slot of a request that departed at sent; nil, if it is over. It is not
// sure if others that departed then are not.
func (l *spent) find(sent Instant) (found *slot, sure bool) {
	for i := range l.slots {
		s := &l.slots[i]
		if s.at < sent {
			continue
		}
		if s.from > sent {
			break
		}
		if found == nil {
			found, sure = s, s.sure
		}
		if s.at > sent {
			break
		}
		sure = sure && s.sure
	}
	return found, sure
}

// heard takes over the round trip of a request, and reports whether it was sure to be served.
func (l *spent) heard(t, sent Instant) (sure bool) {
	slot, sure := l.find(sent)
	if slot != nil {
		slot.trip = max(slot.trip, uint32(min((t-sent)/Instant(time.Microsecond)+1, math.MaxInt32)))
	}
	return sure
}

// respend changes by how much a request that departed at sent has spent.
func (w *Window) respend(sent Instant, by int64) {
	if !w.hasLog() {
		return
	}
	if s, _ := w.rare.spent.find(sent); s != nil {
		s.units = uint32(min(max(int64(s.units)+by, 0), math.MaxInt32))
	}
}

// beginLog begins our own log of windows of a length at t.
func (w *Window) beginLog(t Instant, length time.Duration) *spent {
	l := w.keepLog(ownLog{trust: 1, length: length, off: t.Add(length + time.Second)}) // what departed before is not known
	// Of the first window it is known, if all was there when it began: no more was missing
	// than has departed. The request whose answer told of the policy is not in departed. If
	// that is less than the quota, the figure may be wrong.
	if all := w.departed + 1; w.epoch == 0 && w.Quota < 1<<20 && w.contention.peak+int64(all) >= w.Quota && int64(all) < w.Quota {
		l.off, l.slots = t, []slot{{at: t, units: all}}
	}
	return l
}

// observeSpent looks at a figure that arrived at t, of a request that departed at sent. tells: it says when its window is over.
func (w *Window) observeSpent(t, sent Instant, avail int64, tells, refused bool, s *Server) {
	if w.observeLate(t, sent, avail, refused, s) {
		return
	}
	length := w.Length
	if s.loose() {
		length = s.logLength()
	}
	if length <= 0 && !s.RoundsDown && w.logsReturned(s.Span) {
		length = s.Span
	}
	switch {
	case w.Quota <= 0 || length <= 0:
		return
	case s.loose(), w.logsReturned(length) && s.Most <= w.Quota && !s.Full.shown():
	case s.Most > 0 && s.Most != w.Quota || s.Full.shown():
		w.forgetLog() // a bucket may hold more than a quota, or less
		return
	case !w.hasLog() && (avail > 0 && s.floored == 0 || !w.logs(s.floored > 0)):
		return
	}
	l := w.ownRare().spent
	if !w.hasLog() {
		l = w.beginLog(t, length)
	}
	if s.loose() && l.loose && length > l.length {
		l.lengthen(t, length) // another account has found out that it is too short, or an instant was farther away
	}
	l.length, l.loose, l.floor = length, s.loose(), s.floored
	if refused && !tells && w.State == Expired && sent >= w.closed {
		l.off = max(l.off, t.Add(min(l.length, MaxSavedTime>>16)*64)) // the length was found out, and not all is back
	}
	if w.State == Expired && sent >= w.closed && w.believes(t) {
		w.observeEnd(sent, avail, refused)
	}
	sure := l.heard(t, sent)
	if sure && !refused {
		l.returned.vain = 0
	}
	switch {
	case refused && sure, !refused && avail > 0 && w.Unanswered() == 0 && w.believes(t) && avail < w.room(sent):
		if s.loose() && s.ends.down && !s.roundsEnds && !w.logsReturned(l.length) {
			s.roundsEnds = true
			l.lengthen(t, s.logLength())
			break
		}
		windows := time.Duration(64)
		switch {
		case w.logsReturned(l.length):
			if l.returned.vain++; l.returned.vain < mostVain && w.returnedShown() {
				return
			}
			l.returned.shown = false
		case l.kept >= manyKept/4:
			windows = 4
		}
		l.off = max(l.off, t.Add(min(l.length, MaxSavedTime>>16)*windows<<l.doubts))
		l.trust, l.asked, l.kept, l.doubts = 1, 0, 0, min(l.doubts+1, maxDoubts)
		w.refill.trying = false // it was not a trial that was refused
	case !refused && l.asked > 0 && sent >= l.asked:
		l.trust, l.asked = min(2*l.trust, w.Quota), 0
		if l.kept++; l.kept >= manyKept {
			l.doubts, l.kept = 0, manyKept/4
		}
	}
}

// observeEnd looks at the first answer after a window, to a request that departed at sent, when our own log may have had no room.
// If it was refused, units come back as they were spent. If there is much more, they come back all at once.
func (w *Window) observeEnd(sent Instant, avail int64, refused bool) {
	l, room := w.rare.spent, w.room(sent)+w.Unanswered()
	switch {
	case refused && avail == 0 && room < 1:
		l.ended = min(l.ended+1, endedInVain)
	case avail-room > w.inWindow()/4:
		l.ended = 0
	}
}

// logLength is how long our own log is of a server that names instants: a second less than one was ahead of its Date at
// most. That is a window, if instants are rounded up; or to the nearest second, once one was rounded up. If some had passed
// when they were told, and that turns out to be too short, it is a second more, until one is farther ahead.
func (s *Server) logLength() time.Duration {
	if s.roundsEnds {
		return time.Duration(s.ends.furthest()) * time.Second
	}
	return s.Span
}

// lengthen makes our own log longer at t. It is believed again once it knows what has departed in such a time. Requests that
// are out were expected to be served by the shorter one.
func (l *ownLog) lengthen(t Instant, length time.Duration) {
	l.length, l.trust, l.asked = length, 1, 0
	l.off = max(l.off, t.Add(length+time.Second))
	for i := range l.slots {
		l.slots[i].sure = false
	}
}
