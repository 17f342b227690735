package quota

import "time"

// Bounds of waiting where a server's own words give none.
const (
	// ProbeInterval is how long nothing departs at the most on the word of an
	// effective window: with nothing left of a longer one, one request may
	// look in each interval (the draft, Section 9.5.1, names ten minutes).
	ProbeInterval = 10 * time.Minute

	minBackOff = time.Second
	maxBackOff = time.Minute
)

// plain is the strategy: spend what the server said is left, wait for the end
// of the effective window, send one probe, and spend again what its answer
// says is left.
//
// With a, the available quota of the figure in force; f, units in flight; s,
// the departure of the request whose answer opened the window; w, the
// effective window; and g, the guard:
//
//	n units may depart while a - f >= n
//	the window ends at s + w + g
//	then one request departs, or what was left over; the others wait for its answer
//
// The end is counted from the departure, not from the arrival of the answer:
// a later request takes about as long on its way as that one did, so it
// arrives when the server's window is over. The guard covers that one trip
// may be shorter than another: the first one has to dial.
var plain pace

// A pace says when an account may be charged. It reads the account and never
// changes it.
type pace struct{}

// next is the earliest instant at which n units may be charged: t, if now.
// It is never later than ProbeInterval after the last request that asked.
func (pace) next(a *account, t instant, n int64) instant {
	if a.basis == open || a.spare() >= n {
		return t
	}
	switch a.basis {
	case presumed:
		// At least one request asks, whatever it costs and whatever was said.
		if !a.probing {
			return t
		}
		return max(t, min(a.asked.add(patience(a.tries)), a.graceEnd(n)))
	case counted:
		// A window of our own count has room for one whatever it costs, too.
		if a.end == never && a.window > 0 && a.inflight == 0 {
			return t
		}
	}
	last := max(a.received, a.asked, a.closed)
	end := a.end
	if end == never {
		// A figure without a window stands until the next answer: ask for one.
		end = last.add(max(a.window, patience(a.tries)))
	}
	return max(t, min(end, last.add(ProbeInterval), a.graceEnd(n)))
}

// graceEnd is when n units may depart because those that departed in the last
// window are forgotten; never, if that does not help.
func (a *account) graceEnd(n int64) instant {
	if a.straggle == 0 || a.available-a.inflight < n {
		return never
	}
	return a.closed.add(plain.grace(a.rtt))
}

// presume is how many units may go after the window, before anything is
// heard: what the last figure left over. One request may go in any case.
func (pace) presume(a *account) int64 {
	return max(a.available-a.inflight, 0)
}

// due is when a window is over that was w long in an answer to a request that
// departed at sent. A window of 0 with nothing left is the last second of a
// server that rounds down: over within a second.
func (pace) due(sent instant, avail int64, w time.Duration) instant {
	switch {
	case w < 0:
		return never
	case w == 0 && avail == 0:
		return sent.add(time.Second)
	}
	return min(sent.add(w), never-1)
}

// end is when a window is taken to be over that is due, by the word of an
// answer that took so long. The guard is a quarter of that, or what it took
// longer than the shortest one: as late as the request can have arrived.
func (pace) end(a *account, due instant, trip time.Duration) instant {
	if due == never || trip == 0 {
		return due
	}
	guard := min(max(trip/4, trip-a.least, time.Millisecond), 100*time.Millisecond)
	return min(due.add(guard), never-1)
}

// sameWindow reports whether two ends may be those of one window: whole
// seconds say no more.
func (pace) sameWindow(x, y instant) bool {
	return max(x, y)-min(x, y) <= instant(time.Second)
}

// grace is how long after its window a request may still be on its way to
// the server.
func (pace) grace(rtt time.Duration) time.Duration {
	return min(max(2*rtt, 10*time.Millisecond), time.Second)
}

// patience is how long a probe is waited for before another one may go: 1 s
// at first, and twice as long after each, to 1 min.
func patience(tries uint8) time.Duration {
	return backOff(tries, 0)
}

// backOff is the wait after the n-th refusal in a row: 1 s at first, and
// twice as long after each, with up to a quarter more by jitter, which is in
// [0, 1); 1 min at the most.
func backOff(n uint8, jitter float64) time.Duration {
	d := maxBackOff * 4 / 5
	if n = max(n, 1) - 1; n < 6 {
		d = min(d, minBackOff<<n)
	}
	return d + time.Duration(jitter*float64(d)/4)
}
