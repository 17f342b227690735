package quota

import (
	"math"
	"time"
)

// An instant is the time since its origin's books began, in nanoseconds of
// the monotonic clock.
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

// most bounds whatever is counted in units, so that sums do not overflow. It
// is more than an Integer of a field can say (RFC 9651, Section 3.3.1).
const most = 1 << 52

// plus adds up units: at most so many that the sums of an account hold.
func plus(units, n int64) int64 { return min(units+min(n, most), 1<<60) }

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
//
// Of a million accounts, each is far away from the processor: an account is five
// lines of a cache, 64 bytes each, and begins where one does, unless it is a scope's.
type account struct {
	owner owner
	book  *book
	line  *line // who waits for this account; nil: nobody

	used     instant // the last time anybody came for it
	end      instant // of the effective window, on the clock of departures
	hold     instant // Retry-After: nothing departs before
	backoff  instant // nor before this, after refusals
	inflight int64
	straggle int64 // let go in the window before and not answered

	available int64
	ledger    int64   // a figure, less all that has departed since it arrived and been answered
	refused   instant // arrival of the last refusal
	silent    instant // arrival of the last answer without a figure

	place int32  // in the roster of the origin
	pins  int32  // claims of those who wait
	epoch uint32 // counts windows; a claim belongs to the one it was taken in

	unit     unit
	basis    basis
	probing  bool  // a probe is out
	plain    bool  // the strategy is Plain
	ramp     uint8 // how many may be in flight of what nothing is known of, after a refusal; 0: any number
	refusals uint8 // in a row
	tries    uint8 // probes in a row without news
	pulse    pulse // of its renewal
	share    share // of it that is ours

	quota  int64         // q of the policy; None: not known
	window time.Duration // w of the policy; 0: not known

	due      instant       // the end, before the guard, of the window that is in force
	trip     time.Duration // of the request that due comes from
	rtt      time.Duration // of the last answer that had a figure
	least    time.Duration // the shortest rtt of late
	jitter   time.Duration // how much longer than least it takes in the mean
	sent     instant       // departure of the request whose figure is in force
	adopted  instant       // arrival of the figure that the ledger began with
	received instant       // arrival of the last figure that changed anything: only what departed later raises

	closed instant // when the last window ended; straggle counts for a little longer
	asked  instant // departure of the last probe
	held   int64   // concurrent requests that are not over
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
	case t < max(a.hold, a.backoff):
		return a.paused(n)
	case a.unit == countsUnknown:
		return t, ReasonExhausted
	case a.unit == countsConcurrent:
		return a.readyConcurrent(t, n), ReasonExhausted
	}
	return a.next(t, n), ReasonExhausted
}

// paused is when n units may be taken that a word of the server holds back, or
// our own back-off, and what stands in the way: the window, if it is far longer.
func (a *account) paused(n int64) (again instant, why Reason) {
	until, dry := max(a.hold, a.backoff), a.dry(n)
	switch {
	case dry > until && !sameWindow(dry, until):
		return dry, ReasonExhausted
	case a.hold >= a.backoff:
		return max(until, dry), ReasonRetryAfter
	}
	return max(until, dry), ReasonBackOff
}

// dry is the end of a window in which less than n units are left.
func (a *account) dry(n int64) instant {
	if a.basis != figured || a.available >= n || a.end == never || !a.windowed() {
		return 0
	}
	return min(a.end, max(a.received, a.asked, a.closed).add(ProbeInterval))
}

// hopeful reports whether an event may let somebody go before the next look:
// the answer to the one that asks after a window, or the end of a request.
func (a *account) hopeful(t instant, n int64) bool {
	if t < a.hold || t < a.backoff {
		return false
	}
	switch a.basis {
	case open, presumed:
		return true
	case figured:
		return a.unit == countsConcurrent || a.inflight > 0 && a.spare() >= n // it is only a matter of our part
	}
	return a.unit == countsConcurrent
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
	case a.held == 0 && (!a.probing || t >= a.asked.add(patience(a.tries))):
		return t // never frozen
	}
	return min(t.add(time.Second), a.end)
}

// take takes n units at t for a request that departs now, and returns the
// epoch that the claim belongs to. It does not ask whether they are there.
func (a *account) take(t instant, n int64) uint32 {
	a.used = t
	if a.unit == countsConcurrent {
		a.held = plus(a.held, n)
	}
	if a.basis == counted && a.end == never && a.window > 0 {
		a.due = t.add(a.window)
		a.end = a.due
	}
	if a.beyond(n) {
		a.asked, a.probing = t, true
		a.tries = min(a.tries+1, 63)
	}
	a.inflight = plus(a.inflight, n)
	return a.epoch
}

// beyond reports whether n units are more than may go on the present basis, so
// that who takes them asks.
func (a *account) beyond(n int64) bool {
	switch a.basis {
	case open:
		return a.ramp > 0 && a.inflight >= int64(a.ramp)
	case presumed:
		return !a.probing || n > a.spare()
	}
	return n > a.spare() || !a.share.fair(a, n)
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

// answer settles a take that was answered with a figure, which learn takes
// over next. Where it cannot, because answers without a figure overlap, the
// figure in force is not aware of a request that departed after it arrived.
func (a *account) answer(sent instant, n int64, epoch uint32, refused bool) {
	if !refused && a.epoch-epoch <= 1 {
		a.share.served += n // one of the window before may have arrived in this
	}
	if !a.unfly(n, epoch) {
		return
	}
	a.probing = false
	if sent >= a.adopted && a.unit != countsConcurrent {
		a.ledger = max(a.ledger-n, 0)
		if sent < a.silent {
			a.available = min(a.available, a.ledger)
		}
	}
}

// refund undoes a take whose request did not depart, or cost nothing.
func (a *account) refund(n int64, epoch uint32) {
	if a.unfly(n, epoch) {
		a.probing = false
	}
}

// spend settles a take that was answered at t, or may have arrived, without a
// figure for this account: it cost what it cost. A figure of a request that
// was out at the same time may not be aware of it, and raises nothing.
func (a *account) spend(t instant, n int64, epoch uint32) {
	if !a.unfly(n, epoch) {
		return
	}
	a.probing = false
	if a.unit != countsConcurrent {
		a.share.served += n
		a.available = max(a.available-n, 0)
		a.ledger = max(a.ledger-n, 0)
		a.silent = t
	}
}

// timed takes over how long an answer without a figure was on its way. If it is
// the one that opened a window of our own count, the guard is now known.
func (a *account) timed(t, sent instant) {
	if a.plain {
		return
	}
	a.travelled(time.Duration(t - sent))
	if a.basis == counted && a.end != never && sent.add(a.window) == a.due {
		a.end = a.endOf(a.due, a.rtt)
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
	if a.unending() && sent >= a.received && (a.unit == countsConcurrent || a.asked > a.received && sent >= a.asked) {
		a.basis, a.tries = open, 0 // the next answer has come, and says nothing
		return
	}
	if a.basis != presumed || sent < a.closed {
		return
	}
	a.tries = 0
	if a.countable() {
		a.recount()
		return
	}
	a.basis = open
	if !a.plain {
		a.ramp = 2
	}
}

// unending reports whether a figure without a window is in force: it stands
// until the next answer.
func (a *account) unending() bool { return a.basis == figured && a.end == never }

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
	if a.straggle > 0 && t >= a.closed.add(grace(a.rtt)) {
		a.straggle = 0
	}
	if t < a.end || a.basis == open || a.basis == presumed {
		return
	}
	if a.basis == counted {
		a.newEpoch(t)
		a.available, a.end = a.quota, never
		return
	}
	left := a.presume()
	a.newEpoch(t)
	a.basis, a.available, a.end = presumed, left, never
}

// newEpoch begins a window: what was let go in the last one no longer counts,
// but for a moment in which it may still arrive.
func (a *account) newEpoch(t instant) {
	a.share.close(a)
	a.closed = min(a.end, t)
	a.straggle, a.inflight = a.inflight, 0
	a.probing, a.tries = false, 0
	if a.plain {
		a.least += a.least / 16 // paths change
	} else {
		a.least += (a.rtt - a.least) / 64
	}
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
		quota = min(p.Quota, most)
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
		a.share.from = 0                      // and what it lowers is nobody's part
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
		a.due = sent.add(a.window)
		a.end = a.due
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
func (a *account) learn(t, sent instant, f Figure, refused bool) {
	a.roll(t)
	a.used = t
	avail := min(f.Available, most)
	if a.quota >= 0 {
		avail = min(avail, a.quota)
	}
	if a.unit == countsConcurrent {
		a.learnConcurrent(t, sent, avail, a.dueAt(sent, avail, f.Window))
		return
	}
	a.travelled(time.Duration(t - sent))
	if f.Window == 0 && (avail == 0 || avail < a.quota) {
		a.floors()
	}
	due, trip := a.dueAt(sent, avail, f.Window), a.rtt
	if f.Window == 0 && (a.plain || a.window == 0) {
		trip = 0 // that is no end to be careful of
	}
	end := a.endOf(due, trip)
	if refused {
		a.premature(sent, due)
	}

	switch {
	case a.basis == open || a.basis == counted:
		a.adopt(t, sent, avail, due, trip)
	case a.basis == presumed && sent < a.closed && (sent < a.received || end <= a.closed.add(time.Second)):
		a.available = min(a.available, avail) // it may speak of the window that is over
	case a.basis == presumed:
		a.adopt(t, sent, avail, due, trip)
	case sent >= a.received && sent >= a.silent:
		if sameWindow(a.end, end) && a.end < end {
			due, trip = a.due, a.trip
		}
		a.adopt(t, sent, avail, due, trip)
	case end < a.end && sent < a.sent && !sameWindow(a.end, end):
		// It speaks of an earlier window than the figure in force.
	case avail < a.available:
		a.available, a.sent, a.received = avail, max(sent, a.sent), t
		if sameWindow(a.end, end) == (end < a.end) {
			a.due, a.trip = due, trip
		}
	case sameWindow(a.end, end) && end < a.end:
		a.due, a.trip = due, trip
	}
	if a.basis == figured {
		a.share.see(a, refused)
		if avail == 0 {
			a.pulse.see(a, sent, f.Window, refused)
		}
		a.end = a.endOf(a.due, a.trip)
	}
	a.roll(t)
}

// floors notes that the server rounds windows down: the one in force, too.
func (a *account) floors() {
	if a.book.floors || a.plain {
		return
	}
	a.book.floors = true
	if a.basis == figured {
		a.due, a.end = a.due.add(time.Second), a.end.add(time.Second)
	}
}

// travelled keeps how long an exchange took.
func (a *account) travelled(rtt time.Duration) {
	a.rtt = max(rtt, 1)
	if rtt > 0 && (a.least == 0 || rtt < a.least) {
		a.least = rtt
	}
	a.jitter += (rtt - a.least - a.jitter) / 8
}

// adopt puts a figure in force.
func (a *account) adopt(t, sent instant, avail int64, due instant, trip time.Duration) {
	if a.basis != figured || avail > a.ledger {
		a.ledger, a.adopted = avail, t
	}
	a.basis, a.available = figured, avail
	a.due, a.trip = due, trip
	a.sent, a.received = sent, t
	a.probing = false
	if avail > 0 {
		a.tries = 0
	}
}

// learnConcurrent turns a figure into room for our own requests: what is
// available is on top of those we hold. (It is not reduced by them again.)
// Those that ended while the answer was on its way make it too little, never
// too much; a figure of an overlapping request only lowers.
func (a *account) learnConcurrent(t, sent instant, avail int64, end instant) {
	room := avail + a.held
	a.probing, a.tries = false, 0
	if a.basis == figured && sent < a.received && room >= a.available {
		return
	}
	a.basis, a.available, a.end = figured, room, end
	a.received = t
}

// pause lets nothing depart before d has passed since t, and then one request
// first where nothing else is known. Where nothing is left for far longer than that,
// the window ends with the pause: "Retry-After MUST take precedence and the effective
// window MAY be ignored" (the draft, Section 7). Some servers say as a window when the
// quota will be whole, and as Retry-After when there will be more. Others are wrong:
// see premature.
func (a *account) pause(t instant, d time.Duration) {
	a.hold = max(a.hold, t.add(d))
	switch {
	case a.basis == open:
		a.distrust(t)
	case a.basis == figured && a.available == 0 && !a.book.hasty:
		if a.hold < a.due && !sameWindow(a.hold, a.due) {
			a.end = a.hold
		}
	}
}

// premature notes that Retry-After has ended a window too early: who departed after
// that was refused, and the window is due when it was.
func (a *account) premature(sent, due instant) {
	ended := a.basis == presumed && a.closed == a.hold
	if ended && sent >= a.closed && due != never && sameWindow(a.due, due) {
		a.book.hasty = true
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
	if a.basis != figured || a.available > 0 {
		a.distrust(t)
	}
}

// idle reports whether nobody needs the account: nothing of it is out or in
// line, and it says nothing that is still in force at t.
func (a *account) idle(t instant) bool {
	inForce := a.basis == figured || a.basis == counted && a.end != never
	return !a.busy() && t >= a.hold && t >= a.backoff && !(inForce && t < a.end)
}

// over reports whether nobody has come for the account for long, and nothing
// that it says is still in force: it is as good as one of nothing known.
func (a *account) over(t instant) bool {
	last := max(a.used, a.closed, a.hold, a.backoff)
	if a.end != never {
		last = max(last, a.end)
	}
	return t >= last.add(max(ProbeInterval, times(a.window, 4)))
}

// carefree reports whether the account stands in nobody's way, and has nothing
// to learn from those who pass.
func (a *account) carefree(t instant) bool {
	return a.basis == open && a.ramp == 0 && t >= a.hold && t >= a.backoff && a.line == nil
}

// busy reports whether something of it is out or in line.
func (a *account) busy() bool {
	return a.inflight > 0 || a.straggle > 0 || a.held > 0 || a.pins > 0 || a.line != nil
}
