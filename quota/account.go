package quota

import (
	"math"
	"time"
)

// An instant is the time since its origin's books were opened, in
// nanoseconds of the monotonic clock.
type instant int64

// never is an instant that does not come.
const never instant = math.MaxInt64

// add saturates at never: a duration may be as long as a server likes.
func (t instant) add(d time.Duration) instant {
	if d > 0 && t > never-instant(d) {
		return never
	}
	return t + instant(d)
}

// A basis is what an account's available units rest on.
type basis uint8

const (
	// open: nothing is known, everything may go.
	open basis = iota
	// figured: the server's figure, within its effective window.
	figured
	// presumed: the effective window is over. What is available now is not
	// known, and must not be taken for the full quota (the draft, Section
	// 3.1.2): what the figure left over may go, and at least one request.
	presumed
	// counted: our own count against the policy's quota, for a policy that
	// comes without a service limit (the draft, Section 2).
	counted
)

// accountID tells the accounts of one origin apart.
type accountID struct {
	policy string
	owner  string // the bytes of the partition key, or the scope where there is none
	keyed  bool
}

// An account keeps the books of one advertised quota. It is arithmetic:
// the instant is an argument, nothing is locked, nobody waits. Its origin's
// guard is held by whoever calls it.
//
// Two sums matter. available is what the server said is left, less what has
// been answered since without a figure. inflight is what has been let go in
// this window and has not been answered. What may still be spent is their
// difference: within one window the lowest figure is the newest, so once all
// is answered it is exact, in whatever order the answers came; before that it
// errs on the low side.
type account struct {
	origin *Origin
	id     accountID
	line   *line // who waits for this account; nil: nobody

	quota  int64         // q of the policy; None: not known
	window time.Duration // w of the policy; 0: not known

	available int64
	inflight  int64
	straggle  int64 // let go in the window before and not answered
	held      int64 // concurrent requests that are not over

	end      instant // of the effective window, on the clock of departures
	closed   instant // when the last window ended; straggle counts for a little longer
	sent     instant // departure of the request whose figure is in force
	received instant // its arrival; only what departed later may raise it
	hold     instant // Retry-After: nothing departs before
	backoff  instant // nor before this, after refusals
	refused  instant // arrival of the last refusal
	asked    instant // departure of the probe that is out; 0: none
	used     instant // the last time anybody came for it

	rtt   time.Duration // of the last answer that had a figure
	born  uint64        // tickets below this departed before the account was known
	early int32         // how many of them are out; they count in flight in epoch 0
	pins  int32         // claims of those who wait
	mark  uint32        // the last settlement that had a figure for it
	epoch uint32        // counts windows; a claim belongs to the one it was taken in

	unit     unit
	basis    basis
	refusals uint8 // in a row
	tries    uint8 // probes in a row without news
}

// spare is what may still be spent on the present basis.
func (a *account) spare() int64 {
	return a.available - a.inflight - a.straggle
}

// ready says whether n units may be taken at t, and if not, when it is worth
// looking again and what stands in the way. It closes a window that is over,
// and changes nothing else.
func (a *account) ready(t instant, n int64) (again instant, why Reason) {
	a.roll(t)
	switch {
	case t < a.hold:
		return a.hold, ReasonRetryAfter
	case t < a.backoff:
		return a.backoff, ReasonBackOff
	case a.unit == countsUnknown:
		return t, ReasonExhausted
	case a.unit == countsConcurrent:
		return a.readyConcurrent(t, n), ReasonExhausted
	}
	return plain.next(a, t, n), ReasonExhausted
}

// readyConcurrent bounds our own requests in flight: by the policy's quota,
// and by what the last figure left room for, which is kept in available.
func (a *account) readyConcurrent(t instant, n int64) instant {
	bound := a.quota
	if a.basis == figured && (bound < 0 || a.available < bound) {
		bound = a.available
	}
	switch {
	case bound < 0 || a.held+n <= bound:
		return t
	case a.held == 0 && (a.asked == 0 || t >= a.asked.add(patience(a.tries))):
		return t // never frozen
	}
	return t.add(time.Second)
}

// take takes n units at t for a request that departs now, and returns the
// epoch that the claim belongs to. It does not ask whether they are there.
func (a *account) take(t instant, n int64) uint32 {
	a.used = t
	if a.unit == countsConcurrent {
		a.held += n
	}
	switch {
	case a.basis == counted && a.end == never:
		a.end = t.add(a.window)
	case a.basis != open && n > a.spare():
		a.asked = max(t, 1)
		a.tries = min(a.tries+1, 63)
	}
	a.inflight += n
	return a.epoch
}

// unfly takes n units out of flight, if they still count there. It reports
// whether they belong to the present window.
func (a *account) unfly(n int64, epoch uint32) bool {
	switch epoch {
	case a.epoch:
		a.inflight = max(a.inflight-n, 0)
		return true
	case a.epoch - 1:
		a.straggle = max(a.straggle-n, 0)
	}
	return false
}

// refund undoes a take whose request did not depart, or cost nothing.
func (a *account) refund(n int64, epoch uint32) {
	if a.unfly(n, epoch) {
		a.asked = 0
	}
}

// spend settles a take that was answered, or may have arrived, without a
// figure for this account: it cost what it cost.
func (a *account) spend(n int64, epoch uint32) {
	if a.unfly(n, epoch) {
		a.asked = 0
		a.available = max(a.available-n, 0)
	}
}

// served ends the count of refusals in a row.
func (a *account) served(sent instant) {
	if sent >= a.refused {
		a.refusals = 0
	}
}

// news is an answer without a figure to a request that departed at sent and
// was not refused. After a window it says that nothing is known any more.
func (a *account) news(sent instant) {
	if a.basis != presumed || sent < a.closed {
		return
	}
	a.tries = 0
	if a.countable() {
		a.recount()
		return
	}
	a.basis = open
}

// countable reports whether the policy says enough for our own count.
func (a *account) countable() bool {
	return a.quota >= 0 && a.window > 0 && a.unit != countsConcurrent
}

// recount begins our own count: the window begins with the next charge.
func (a *account) recount() {
	a.basis, a.available, a.end = counted, a.quota, never
	if a.inflight > 0 {
		a.end = a.used.add(a.window)
	}
}

// roll closes the window if it is over at t.
func (a *account) roll(t instant) {
	if a.straggle > 0 && t >= a.closed.add(plain.grace(a.rtt)) {
		a.straggle = 0
	}
	if t < a.end || a.basis == open || a.basis == presumed {
		return
	}
	if a.basis == counted {
		a.newEpoch(t)
		a.available, a.end = a.quota, never
		if !a.countable() {
			a.basis = open // it was the server that gave the window
		}
		return
	}
	left := plain.presume(a)
	a.newEpoch(t)
	a.basis, a.available, a.end = presumed, left, never
}

// newEpoch begins a window: what was let go in the last one no longer counts,
// but for a moment in which it may still arrive.
func (a *account) newEpoch(t instant) {
	a.closed = min(a.end, t)
	a.straggle, a.inflight = a.inflight, 0
	a.asked, a.tries = 0, 0
	a.epoch++
}

// distrust ends whatever is presumed at t: one request at a time from here on.
func (a *account) distrust(t instant) {
	a.end = t
	a.newEpoch(t)
	a.basis, a.available, a.end = presumed, 0, never
}

// terms takes over the policy as it is advertised now.
func (a *account) terms(p Policy) {
	a.unit = unitOf(p.Unit)
	quota, window := int64(None), time.Duration(0)
	if p.Quota >= 0 {
		quota = p.Quota
	}
	if p.Window > 0 {
		window = p.Window
	}
	if quota == a.quota && window == a.window {
		return
	}
	before := a.quota
	a.quota, a.window = quota, window
	switch {
	case a.unit == countsConcurrent || a.basis == open:
	case a.basis == counted && !a.countable():
		a.basis, a.end = open, never
	case a.basis == counted:
		a.available = max(a.available+quota-before, 0)
	case quota >= 0:
		a.available = min(a.available, quota) // a lower policy bounds at once what is presumed
	}
}

// count begins our own count for a policy without a service limit, of which
// spent units are gone with the request, departed at sent, that told us.
func (a *account) count(sent instant, spent int64) {
	if a.basis != open || !a.countable() {
		return
	}
	a.basis, a.available, a.end = counted, max(a.quota-spent, 0), never
	if spent > 0 || a.inflight > 0 {
		a.end = sent.add(a.window)
	}
}

// renew is a service limit that gives a window and no figure (draft -09,
// Appendix B.3.1): our own count against the quota, renewed when it is over.
func (a *account) renew(t, sent instant, w time.Duration) {
	if a.basis == figured || a.quota < 0 || a.unit == countsConcurrent {
		return
	}
	if a.basis != counted {
		a.basis, a.available = counted, a.quota
	}
	a.end = sent.add(w)
	a.roll(t)
}

// learn takes over a service limit that arrived at t for a request that
// departed at sent.
//
// Cause before effect: a figure raises what is available only if its request
// departed after the figure in force had arrived; figures of overlapping
// requests only lower it.
func (a *account) learn(t, sent instant, f Figure) {
	a.roll(t)
	a.used = t
	avail := f.Available
	if a.unit == countsConcurrent {
		a.learnConcurrent(t, avail)
		return
	}
	if a.quota >= 0 {
		avail = min(avail, a.quota)
	}
	a.rtt = time.Duration(t - sent)
	end := plain.windowEnd(a, sent, avail, f.Window)

	switch {
	case a.basis == open || a.basis == counted:
		a.adopt(t, sent, avail, end)
	case a.basis == presumed && sent < a.closed && !(sent >= a.received && end > a.closed.add(time.Second)):
		a.available = min(a.available, avail) // it may speak of the window that is over
	case a.basis == presumed:
		a.adopt(t, sent, avail, end)
	case sent >= a.received:
		if plain.sameWindow(a.end, end) {
			end = min(end, a.end)
		}
		a.adopt(t, sent, avail, end)
	case end < a.end && sent < a.sent && !plain.sameWindow(a.end, end):
		// It speaks of an earlier window than the figure in force.
	case avail < a.available:
		if plain.sameWindow(a.end, end) {
			end = min(end, a.end)
		}
		a.available, a.received, a.sent, a.end = avail, t, max(sent, a.sent), max(end, min(a.end, end))
	case plain.sameWindow(a.end, end):
		a.end = min(a.end, end)
	}
	a.roll(t)
}

// adopt puts a figure in force.
func (a *account) adopt(t, sent instant, avail int64, end instant) {
	a.basis, a.available, a.end = figured, avail, end
	a.sent, a.received = sent, t
	a.asked = 0
	if avail > 0 {
		a.tries = 0
	}
}

// learnConcurrent turns a figure into room for our own requests: what is
// available is on top of those we hold. (It is not reduced by them again.)
func (a *account) learnConcurrent(t instant, avail int64) {
	a.basis, a.available, a.end = figured, avail+a.held, never
	a.received, a.asked, a.tries = t, 0, 0
}

// pause lets nothing depart before d has passed since t, and then one
// request first where nothing else is known.
func (a *account) pause(t instant, d time.Duration) {
	a.hold = max(a.hold, t.add(d))
	if a.basis == open {
		a.distrust(t)
	}
}

// backOff follows a refusal at t whose own words would let the next request
// go at once. Refusals of requests that departed before the last refusal
// arrived are one refusal. jitter is in [0, 1).
func (a *account) backOff(t, sent instant, jitter float64) {
	if a.refusals > 0 && sent < a.refused {
		return
	}
	a.refusals = min(a.refusals+1, 63)
	a.refused = t
	a.backoff = max(a.backoff, t.add(backOff(a.refusals, jitter)))
	a.distrust(t)
}

// idle reports whether nobody needs the account: nothing of it is out or in
// line, and it says nothing that is still in force at t.
func (a *account) idle(t instant) bool {
	inForce := (a.basis == figured || a.basis == counted) && t < a.end
	return !a.busy() && t >= a.hold && t >= a.backoff && !inForce
}

// busy reports whether something of it is out or in line.
func (a *account) busy() bool {
	return a.inflight > 0 || a.straggle > 0 || a.held > 0 || a.pins > 0 || a.line != nil
}
