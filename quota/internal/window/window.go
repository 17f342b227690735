package window

import "time"

// None stands for a number that is not known.
const None = -1

// A State says what the available units of a Window rest on.
type State uint8

const (
	// Unknown: the server has said nothing that is in force. Everything may go, but
	// for a bound before the first answer: see Presume.
	Unknown State = iota
	// Reported: the server's figure, within its effective window.
	Reported
	// Expired: the effective window is over. What is available now is not known,
	// and must not be taken for the full quota (the draft, Section 3.1.2). What the
	// figure left over may go, and at least one request.
	Expired
	// Counting: our own count against the quota of a policy that comes without a
	// service limit (the draft, Section 2).
	Counting
)

// String returns the state in a word.
func (s State) String() string {
	switch s {
	case Reported:
		return "reported"
	case Expired:
		return "expired"
	case Counting:
		return "counting"
	}
	return "unknown"
}

// A Unit is what a quota counts (the draft, Section 2.1.2).
type Unit uint8

const (
	Requests   Unit = iota // requests that the server has processed
	Bytes                  // bytes of content that it has processed
	Concurrent             // requests that it is processing at a time
	Other                  // any other: tokens, points
)

// A Window is what is known of one quota now. It is plain data: Copy returns a
// Window of its own. Package quota reads the exported fields and changes them by
// methods only.
//
// Of a million quotas each has a Window, so it is kept small. State that few quotas
// need belongs into rare.
//
// Two sums matter. available is what the server said is left, less what has been
// answered since without a figure. InFlight is what has departed in this window
// and has not been answered. What may still depart is their difference. Within one
// window the lowest figure is the newest, so the difference is exact once all is
// answered, in whatever order the answers came. Before that it errs on the low side.
type Window struct {
	Used    Instant // when a request last asked for it, or a report last named it
	end     Instant // of the effective window, in the clock of departures; Never: no end is in force
	Hold    Instant // Retry-After: nothing departs before
	BackOff Instant // after refusals that named no time: nothing departs before

	InFlight int64 // units that departed in this window and are not answered
	before   int64 // units that departed in the window before and are not answered

	available   int64
	sinceReport int64   // the figure of adopted, less all that has departed since then and been answered
	silent      Instant // arrival of the last answer without a figure

	rare *rare // what few quotas need; nil: nothing of it is known

	departed uint32 // what has departed, as marks count it: see Take
	epoch    uint32 // counts windows
	Unit     Unit
	State    State
	probing  bool // a probe is out
	Strategy Strategy
	slow     uint8 // slow start: how many units may be in flight while nothing is known; 0: any number
	Refusals uint8 // in a row
	probes   uint8 // sent in a row without news
	traits   traits
	refill   refill
	compared compared

	contention contention

	Quota  int64         // q of the policy; None: not known
	Length time.Duration // w of the policy; 0: not known

	due      Instant       // the end, before the guard, of this window, or of the last one where no end is in force
	trip     time.Duration // round trip of the request that due comes from; 0: due needs no guard
	rtt      time.Duration // r: the last round trip
	least    time.Duration // r₀: the shortest recent round trip
	jitter   time.Duration // mean of r - r₀
	sent     Instant       // departure of the request whose figure is in force
	adopted  Instant       // arrival of the figure that sinceReport began with
	received Instant       // arrival of the last figure that changed anything: only what departed later raises

	closed   Instant // end of the last window; before counts for a little longer
	asked    Instant // departure of the last probe
	Retained int64   // concurrent requests that are not over
}

// traits are what is true of a window or not, a bit each.
type traits uint8

const (
	unproved  traits = 1 << iota // the end that follows from a named instant may be a second early
	bounded                      // a slow start ends at a ceiling: see ceiling.go
	creeping                     // units have come back before the end of a window: see refill.go
	spaced                       // units depart one after another: see pace.go
	shortened                    // the end is a second before what the server says: see nearest, and mayBeSooner
	learned                      // the length was learned, not told: see untold.go
	presumed                     // what is in flight before the first answer has had a bound: see unheard.go
	guessed                      // the length was found by back-off, or the quota may be the rest of a window: see inferred.go
)

func (w *Window) is(x traits) bool { return w.traits&x != 0 }

func (w *Window) set(x traits, is bool) {
	if w.traits &^= x; is {
		w.traits |= x
	}
}

// New returns a window of which nothing is known.
func New(how Strategy) Window {
	return Window{Strategy: how, Quota: None, end: Never}
}

// End is when the effective window is over; Never, if no end is in force.
func (w *Window) End() Instant { return w.end }

// Waiting reports whether nothing departs before the end of the window: a
// figure is in force, in a unit that is renewed with time.
func (w *Window) Waiting() bool { return w.State == Reported && w.renewed() }

// renewed reports whether the units come back with time.
func (w *Window) renewed() bool { return w.Unit != Concurrent }

// spare is how many units may still depart in the present state. What is there of a
// bucket was charged with what is in flight.
func (w *Window) spare() int64 {
	if w.IsBucket() {
		return w.available
	}
	return w.available - w.InFlight - w.before
}

// Left is how many units may still depart at t, where that is known.
func (w *Window) Left(t Instant) (units int64, known bool) {
	w.Roll(t)
	switch {
	case w.State == Unknown:
		return 0, false
	case w.Unit == Concurrent:
		return max(w.available-w.Retained, 0), w.State == Reported
	}
	return max(w.spare(), 0), true
}

// ends sets the end of the window: when it is due, and the guard after that. trip
// is the round trip of the request that due comes from; 0: no guard. The window
// ends no later than latest. Nothing else computes an end, but Report puts it off by Window.lag.
func (w *Window) ends(due Instant, trip time.Duration, latest Instant) {
	w.due, w.trip = due, trip
	w.end = min(due, latest)
	if trip > 0 && due != Never {
		w.end = min(due.Add(w.guard(trip)), latest, Never-1)
	}
}

// guard is g, the margin after a window: a request may have reached the server as
// late as it took longer than the quickest one.
func (w *Window) guard(trip time.Duration) time.Duration {
	return min(max(w.habits().guard(w, trip), time.Millisecond), maxGuard)
}

const maxGuard = 100 * time.Millisecond

// Roll closes the window if it is over at t: Reported becomes Expired, and
// Counting begins anew.
func (w *Window) Roll(t Instant) {
	if w.before > 0 && t >= w.BeforeLands() {
		w.before = 0
	}
	if w.IsBucket() {
		w.available = w.level(t)
		return
	}
	if t < w.end {
		return
	}
	switch w.State {
	case Reported:
		left := max(w.available-w.InFlight, 0)
		if w.is(unproved) && w.contention.part() < 1 {
			left = 0 // others may have used it, if the window is not over
		}
		w.expire(w.end, left)
	case Counting:
		w.uncontradicted()
		if w.rarely().look.planned() {
			w.rare.look = noLook
		}
		w.close(w.end)
		w.available = w.Quota
	}
}

// expire closes the window at the instant: left is how many units may go before
// anything is heard.
func (w *Window) expire(at Instant, left int64) {
	w.close(at)
	w.State, w.available = Expired, left
}

// distrust ends the window at t: one request at a time from here on.
func (w *Window) distrust(t Instant) { w.expire(t, 0) }

// forget returns to knowing nothing.
func (w *Window) forget() { w.State, w.end, w.available = Unknown, Never, 0 }

// close ends the epoch of the window. What departed in it does not count in the
// next one, but for a moment in which it may still arrive.
func (w *Window) close(at Instant) {
	w.habits().closing(w)
	w.closed, w.end = at, Never
	w.before, w.InFlight = w.InFlight, 0
	w.probing, w.probes = false, 0
	w.epoch++
}

// grace is how long after its window a request may still be on its way to the
// server.
func grace(rtt time.Duration) time.Duration {
	return min(max(2*rtt, 10*time.Millisecond), time.Second)
}

// travelled takes over the round trip of an answer.
func (w *Window) travelled(rtt time.Duration) {
	w.rtt = max(rtt, 1)
	if rtt > 0 && (w.least == 0 || rtt < w.least) {
		w.least = rtt
	}
	w.jitter += (rtt - w.least - w.jitter) / 8
}

// Untouched reports whether the window stands in the way of no request and has
// nothing to learn from those that pass.
func (w *Window) Untouched(t Instant) bool {
	return w.State == Unknown && w.slow == 0 && !w.Paused(t)
}

// Blank reports whether nothing is known, so that an answer that says nothing
// teaches nothing.
func (w *Window) Blank() bool {
	return w.State == Unknown && w.slow == 0 && w.Refusals == 0 && w.available == 0
}

// SaysNothing reports whether the window is at t as good as a new one.
func (w *Window) SaysNothing(t Instant) bool {
	return w.State == Unknown && !w.Paused(t) && w.Refusals == 0
}

// Unanswered is how many units have departed and are not answered, in this window or in
// the last.
func (w *Window) Unanswered() int64 { return w.InFlight + w.before }

// Busy reports whether requests are out, or not over.
func (w *Window) Busy() bool { return w.InFlight > 0 || w.before > 0 || w.Retained > 0 }

// InForce is until when something that was said of the quota holds.
func (w *Window) InForce() Instant {
	until := max(w.Hold, w.BackOff)
	if w.end != Never {
		until = max(until, w.end)
	}
	return until
}

// Idle reports whether nothing is out and nothing that was said is in force at t.
func (w *Window) Idle(t Instant) bool {
	inForce := w.State == Reported || w.State == Counting && w.end != Never
	return !w.Busy() && !w.Paused(t) && !(inForce && t < w.end)
}

// Over reports whether the window has not been used for long, and nothing that
// was said is in force at t.
func (w *Window) Over(t Instant) bool {
	last := max(w.Used, w.closed, w.InForce())
	patience := ProbeInterval
	if w.Length > patience/4 {
		patience = min(w.Length, 1<<60) * 4
	}
	return t >= last.Add(patience)
}
