package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// This file decides when work of a kind looks whether the limit of the kind concerns it.
// A look departs while the limit lets nothing depart, and is not charged to it. After a
// look that was refused, the next one waits, twice as long after each but the first few of kinds
// that were not refused before. Work waits in the line of its kind until the limit lets it go or
// it may look.
//
// In a hold that is not long, a kind that was refused before looks soon after its beginning or not at all: later, the window
// of the limit may be over, and what is served tells nothing.

const (
	minPrice   = time.Second / 4  // between two looks, after one was refused
	maxPrice   = 10 * time.Minute // also if a look has made the hold longer
	maxLooks   = 64               // out at a time
	lookAfter  = time.Second      // from the beginning of a hold; a quarter of a shorter one
	longHold   = 4 * time.Second  // has no looks at its end
	lastSecond = time.Second      // of a Retry-After: whole seconds say no more
	trialFirst = 100 * time.Millisecond
	shortFirst = 16 // of a hold that is not long, a kind that was refused before looks after one part of so many,
	shortLast  = 4  // and no later than after one of so many
	cheap      = 8  // refused looks of kinds never refused before, which cost one refusal once
)

// looks says when work may look whether a limit concerns it.
type looks struct {
	since     instant       // when the hold that is in force, or was last, began
	epoch     uint32        // the window of an inferred quota that since belongs to
	next      instant       // no look departs before
	price     time.Duration // until the next look, if one is refused
	out, most int32         // looks that are out, and may be
	episode   uint32        // counts the times that the limit has served again after a refusal
	firsts    int           // looks that were refused of kinds never refused before
	bare      bool          // the last refusal had no Retry-After
	recovered bool          // the limit has served since
}

func newLooks() looks { return looks{price: minPrice, most: 1, recovered: true} }

// begin begins a hold.
func (l *looks) begin(t instant) { l.since, l.recovered = t, false }

// found makes looks cheap: one has found a kind that is free.
func (l *looks) found(t instant) {
	l.price, l.next = minPrice, t
	l.more()
}

func (l *looks) more() { l.most = min(2*l.most, maxLooks) }

// failed makes looks dearer. longer says that the look has made the hold longer, and first that its kind
// was not refused before: a few of these do not, so that the kinds after them look soon.
func (l *looks) failed(t instant, longer, first bool) {
	if l.most = 1; longer {
		l.price = maxPrice
	}
	l.next = t.Add(l.price)
	if first && !longer && l.firsts < cheap {
		l.firsts++
		return
	}
	l.price = min(2*l.price, maxPrice)
}

// lookAt returns when work of the kind may look; Never: not as far as is known. A kind
// like one that was refused looks a little later than others do: it is less likely to be
// free.
func (k *kind) lookAt(t instant) instant { return k.lookWithin(t, lookAfter) }

// looksAtOnce reports whether work of the kind that would be refused otherwise looks now: it cannot wait
// for a look, so it would come back at the end of the hold, and never find out that the kind is free. A back-off is
// not so long.
func (k *kind) looksAtOnce(t instant) bool {
	l := k.in.learned
	return k.refused == 0 && l != nil && !l.looks.bare && k.lookWithin(t, 0) <= t
}

// lookWithin is lookAt, not later than so long after the beginning of a hold.
func (k *kind) lookWithin(t instant, most time.Duration) instant {
	b := &k.in.base
	if k.in.learned == nil || k.in.learned.looks.out >= k.in.learned.looks.most {
		return window.Never
	}
	l := &k.in.learned.looks
	end := max(b.Hold, b.BackOff)
	if t >= end {
		if end = b.End(); b.State != window.Counting || end == window.Never || k.refused > 0 {
			return window.Never
		}
		if l.epoch != b.Epoch() {
			l.epoch, l.since = b.Epoch(), t
		}
	}
	after := min(most, time.Duration(end-l.since)/4)
	if k.family.refused {
		after += after / 2
	}
	short := k.refused > 0 && !l.bare && end < l.since.Add(longHold)
	if short {
		after = time.Duration(end-l.since) / shortFirst
	}
	at := max(t, l.since.Add(after), k.held)
	earlier := k.isMember() && k.until.Add(longHold) <= end // it was told to come back long before the others
	if !earlier && (k.refused > 0 || !k.family.free) {
		at = max(at, l.next)
	}
	if short && (k.proved == l.since || at > l.since+(end-l.since)/shortLast) {
		return window.Never
	}
	if k.isMember() { // the hold is that of others once its own Retry-After has passed
		if at = max(at, k.until); at.Add(fits) >= end {
			return window.Never
		}
	}
	if at >= end || at.Add(fits) >= end && end >= l.since.Add(longHold) {
		return window.Never // it would tell little, and might begin the next window
	}
	return at
}

// goesAt returns when work of the kind may depart as far as other kinds matter. After a
// back-off a kind that was refused goes first, and tells whether it is over: another one
// would not.
func (k *kind) goesAt(t instant) instant {
	b := &k.in.base
	if k.in.learned == nil || b.State != window.Expired || k.onTrial || k.isMember() {
		return t
	}
	l := &k.in.learned.looks
	if !l.bare || l.recovered {
		return t
	}
	return max(t, b.BackOff.Add(trialFirst))
}

// takeLook makes a departure a look if the limit does not let it go. It returns nil if
// the departure is none.
func (k *kind) takeLook(t instant, n int64) *looks {
	if again, _ := k.in.base.ready(t, n); again <= t || k.lookAt(t) > t && !k.looksAtOnce(t) {
		return nil
	}
	l := &k.in.learned.looks
	k.out++
	l.out++
	return l
}

// looked takes over the answer to a look.
func (k *kind) looked(s *settlement, refused bool) {
	b, l := &k.in.base, &k.in.learned.looks
	switch {
	case refused:
		k.lookRefused(s)
		return
	case s.r.Refused || s.r.Failed || s.sent < l.since:
		return
	}
	k.served = max(k.served, s.sent)
	switch {
	case b.Hold > s.sent.Add(lastSecond):
		k.setFree(s)
	case b.Hold > s.sent:
		k.proveOnce(s)
	case l.bare && !l.recovered:
		// The back-off is too long, or does not concern this kind. A member of the
		// limit goes next, and tells.
		k.onTrial = true
		b.BackOff = min(b.BackOff, s.t)
		l.more()
		k.proveOnce(s)
	case b.State == window.Counting:
		l.more()
		k.prove(s, fewProofs+b.Quota/2)
	}
}

// proveOnce counts a look that was served, once in each hold, and makes looks into Retry-Afters cheaper. What was counted more than a minute
// before the hold does not count: now and then a hold begins at the end of a window, and a look in it is served.
func (k *kind) proveOnce(s *settlement) {
	if l := &k.in.learned.looks; k.proved != l.since {
		if l.since > k.proved.Add(proofLasts) {
			k.proofs = 0
		}
		k.proved = l.since
		if !l.bare {
			l.price = max(l.price/2, minPrice)
		}
		k.prove(s, fewProofs<<(2*k.joined))
	}
}

// prove counts a look that was served, of so many that are enough.
func (k *kind) prove(s *settlement, enough int64) {
	if k.proofs++; k.proofs >= enough {
		k.setFree(s)
	}
}

// lookRefused takes over that a look was refused. So its limit concerns the kind, but for
// a Retry-After that ends earlier. How much the limit is does not follow from it. If the limit concerns
// all kinds, a Retry-After that ends a little later than the hold is the same one in whole seconds: it
// holds the kind, and other kinds go when they were told to. Later, other clients may have used it up.
func (k *kind) lookRefused(s *settlement) {
	if k.resources != nil && !k.resources.free {
		k.haveOneLimit(s)
	}
	in, to, first := k.in, k.concerned(s), k.refused == 0
	k.proofs = 0
	k.join(s, to)
	l := &to.learned.looks
	if to != in {
		in.learned.looks.most = 1
		l.begin(s.t)
		return
	}
	s.uncounted = true
	hold := to.base.Hold
	if s.r.Pause > 0 {
		told := k.scope.concernsAll() && hold >= max(s.t, l.since.Add(longHold))
		if !told || s.t.Add(s.r.Pause) > hold.Add(fits) {
			s.pauseOne(&to.base)
		}
		s.holdKind()
	}
	l.failed(s.t, hold > s.sent && to.base.Hold > hold.Add(fits), first)
}

// The methods of wait.Constraint. Lease.charge does what Charge does for other
// constraints, and a look has nothing to release.

// Mutex implements wait.Constraint: that of the origin.
func (k *kind) Mutex() *wait.Mutex { return k.scope.base.Mutex() }

// Look implements wait.Constraint.
func (k *kind) Look(now time.Time, n int64) wait.Decision {
	if k.in.base.place == evicted {
		return wait.Decision{OK: true} // the work makes its claims anew
	}
	d := k.in.base.Look(now, n)
	o := k.scope.base.policy.origin
	t := o.at(now)
	if k.held > t {
		if again := o.when(k.held); d.Again.Before(again) {
			return wait.Decision{Again: again, Reason: uint8(ReasonRetryAfter)}
		}
		d.Sooner, d.Recheck = false, time.Time{}
	}
	if d.OK {
		if at := k.goesAt(t); at > t {
			d = wait.Decision{Again: o.when(at), Sooner: true, Reason: uint8(ReasonBackOff)}
		}
		return d
	}
	d.Instead = k.looksAtOnce(t)
	switch at := k.lookAt(t); {
	case at <= t:
		return wait.Decision{OK: true, Last: true}
	case o.when(at).Before(d.Again):
		if d.Back.Before(d.Again) {
			d.Back = d.Again
		}
		d.Again = o.when(at)
	}
	d.Sooner = d.Sooner || !k.isMember() && k.in.learned != nil && k.in.learned.looks.out > 0
	return d
}

func (k *kind) Charge(now time.Time, n int64) (epoch uint32, retained bool) {
	return k.in.base.Charge(now, n)
}

func (k *kind) Line() *wait.Line { return k.line }

// OpenLine implements wait.Constraint.
func (k *kind) OpenLine() *wait.Line {
	o := k.scope.base.policy.origin
	k.line = wait.NewLine(k, wait.LineOptions{})
	o.awaited[k.line] = struct{}{}
	o.ofScopes.lines++
	if k.live() {
		k.scope.kinds().lines++
	}
	return k.line
}

// Round implements wait.Constraint.
func (k *kind) Round() *wait.Round { return k.scope.base.Round() }

// CloseLine implements wait.Constraint.
func (k *kind) CloseLine() {
	o := k.scope.base.policy.origin
	delete(o.awaited, k.line)
	o.ofScopes.lines--
	if k.live() {
		k.scope.kinds().lines--
	}
	k.line = nil
}
