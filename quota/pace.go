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

// This file says when an account may be charged: what Strategy documents, but
// for what is learned of a server's habits (share.go, pulse.go, guess.go).

// next is the earliest instant at which n units may be charged: t, if now.
// It is never later than ProbeInterval after the last request that asked.
func (a *account) next(t instant, n int64) instant {
	switch {
	case a.basis == open:
		if a.ramp > 0 && a.inflight >= int64(a.ramp) {
			return max(t, a.asked.add(patience(a.tries))) // an answer comes before, as a rule
		}
		return t
	case a.spare() >= n && a.share.fair(a, n):
		return t
	case a.basis == presumed && a.pulse.steady() && a.least > a.perUnit() && a.tries < 32:
		return max(t, a.asked.add(a.pulse.every(a)))
	case a.basis == presumed && !a.probing:
		return t // at least one request asks, whatever it costs and whatever was said
	case a.basis == presumed:
		return max(t, min(a.asked.add(patience(a.tries)), a.graceEnd(n)))
	case a.basis == counted && a.end == never && a.window > 0 && a.inflight == 0:
		return t // a window of our own count has room for one whatever it costs, too
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
	return a.closed.add(grace(a.rtt))
}

// presume is how many units may go after the window, before anything is
// heard: what the last figure left over. One request may go in any case.
func (a *account) presume() int64 {
	return max(a.available-a.inflight, 0)
}

// dueAt is when a window is over that was w long in an answer to a request
// that departed at sent. A window of 0 with nothing left is the last second of
// a server that rounds down: over within a second.
func (a *account) dueAt(sent instant, avail int64, w time.Duration) instant {
	floors := !a.plain && a.book.floors
	switch {
	case w < 0:
		return never
	case floors && a.window > 0:
		w = max(w, min(w+time.Second, a.window))
	case floors || w == 0 && avail == 0:
		w += time.Second
	}
	return min(sent.add(w), never-1)
}

// endOf is when a window is taken to be over that is due, by the word of an
// answer that took so long: after a guard. The request may have arrived as
// late as it took longer than the shortest one.
func (a *account) endOf(due instant, trip time.Duration) instant {
	if due == never || trip == 0 {
		return due
	}
	guard := trip - a.least + trip/32
	if a.plain {
		guard = max(trip-a.least, trip/4)
	}
	guard = min(max(guard, time.Millisecond), 100*time.Millisecond)
	return min(due.add(guard), never-1)
}

// sameWindow reports whether two ends may be those of one window: whole
// seconds say no more.
func sameWindow(x, y instant) bool {
	return max(x, y)-min(x, y) <= instant(time.Second)
}

// grace is how long after its window a request may still be on its way to
// the server.
func grace(rtt time.Duration) time.Duration {
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
