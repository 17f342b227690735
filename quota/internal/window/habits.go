package window

import "time"

// A Strategy says how a quota is spent. Package quota documents both.
type Strategy uint8

const (
	Adaptive Strategy = iota
	Plain
)

// A Server is what has been learned of the server of a policy by all windows of
// that policy together.
type Server struct {
	RoundsDown bool // its seconds: see rounding.go
	ahead      bool // it has told a w of a second or more while something was left: w is not the time until the next unit
	Instants   Instants
	early      int8          // oneEarly for each request that was refused after a loose end, less one for each that was served
	roundsEnds bool          // down, the instants that it names, as our own log of it has shown: see logLength
	Ahead      int32         // the fewest seconds that an instant was ahead which told a request that began its window; 0: none has; -1: that says nothing
	Retried    bool          // its windows were late, and then seemed not to be
	Span       time.Duration // the longest window of which answers have told; 0: none has. See farthest
	Most       int64         // the most units of which an answer has told, and that of its request
	Longer     bool          // its windows are longer than that of the policy: see rounding.go
	looked     bool          // whether windows that it says take 2 s take one: see rounding.go
	sooner     int8          // windows that did, up to mostSooner, less notSooner for each that did not
	Brief      bool          // its resets are shorter than its windows: see late.go
	Full       untilFull     // its windows are the time until a bucket is full
	steps      steps         // its units come back one by one: see steps.go
	answers    uint8         // that have shown that ends count from answers, twice those that have not: see answers.go
	floored    uint8         // refusals in a row that say that one unit is left: see floor.go
	untold     untold        // it does not say when its windows end: see untold.go
	soft       soft          // it serves on when nothing is left: see soft.go
	Hasty      bool          // its Retry-After says less than its windows, and is wrong: see premature
	named      uint8         // served answers in a row that have named it, at most habitual: see absent.go
	unnamed    uint8         // those after them that have not
	ends       namedEnds     // that it names as instants: see named.go
	farthest   farthest      // of which Span is the value

	uncounted uncounted // whether answers that say nothing of it count: see uncounted.go
}

// habits are the places in which a Strategy has its say. Everything else about a
// Window is the same under each.
type habits interface {
	// guard is g, before its bounds, for a window that a request with that round
	// trip told of.
	guard(w *Window, trip time.Duration) time.Duration
	// guardsZero reports whether a window of 0 has a guard, too.
	guardsZero(w *Window) bool
	// compareInstants reports whether an end that the server sent as an instant is
	// compared with that of earlier answers.
	compareInstants() bool
	// lasts is how long a window is that the server says has that length. The request found so many units.
	lasts(w *Window, avail, found int64, length time.Duration, refused bool, s *Server) time.Duration
	// observeRounding looks at the length that a report has, and not at an instant.
	observeRounding(w *Window, sent Instant, length time.Duration, avail int64, refused bool, s *Server)
	// observeFull looks at the same, for how long the quota takes to come back.
	observeFull(w *Window, avail int64, length time.Duration, s *Server)
	// allows reports whether n more units, which are there, may be in flight.
	allows(w *Window, n int64) bool
	// reported looks at a figure that a report has put in force, or lowered, and
	// returns when its window is due. before is when the request departed that found the
	// window before used up; 0: it was not the first figure of a window.
	reported(w *Window, sent, before Instant, avail int64, length time.Duration, refused bool, s *Server) Instant
	// closing looks at a window that ends.
	closing(w *Window)
	// slowStart is how many units may be in flight after a refusal about which
	// nothing more was heard; 0: any number.
	slowStart() uint8
}

func (w *Window) habits() habits {
	switch w.Strategy {
	case Plain:
		return &plain{}
	case Together:
		return &together{}
	}
	return &adaptive{}
}

// plain takes servers at their word.
type plain struct{}

func (*plain) guard(w *Window, trip time.Duration) time.Duration {
	return max(trip-w.least, trip/4)
}

func (*plain) guardsZero(*Window) bool { return false }

func (*plain) compareInstants() bool { return false }

func (*plain) lasts(_ *Window, avail, _ int64, length time.Duration, _ bool, _ *Server) time.Duration {
	if length == 0 && avail == 0 {
		return time.Second // the last second of a server that rounds down
	}
	return length
}

func (*plain) observeRounding(*Window, Instant, time.Duration, int64, bool, *Server) {}

func (*plain) observeFull(*Window, int64, time.Duration, *Server) {}

func (*plain) allows(*Window, int64) bool { return true }

func (*plain) reported(w *Window, _, _ Instant, _ int64, _ time.Duration, _ bool, _ *Server) Instant {
	return w.due
}

func (*plain) closing(w *Window) { w.least += w.least / 16 } // paths change

func (*plain) slowStart() uint8 { return 0 }

// adaptive learns. Each habit is a file.
type adaptive struct{}

// guard: the request that opened the window can have arrived no later than r - r₀
// after the quickest one would have.
func (*adaptive) guard(w *Window, trip time.Duration) time.Duration {
	return trip - w.least + trip/32
}

func (*adaptive) guardsZero(w *Window) bool { return w.Length > 0 }

func (*adaptive) compareInstants() bool { return true }

func (*adaptive) lasts(w *Window, avail, found int64, length time.Duration, refused bool, s *Server) time.Duration {
	return w.unrounded(avail, found, length, refused, s)
}

func (*adaptive) observeRounding(w *Window, sent Instant, length time.Duration, avail int64, refused bool, s *Server) {
	w.observeRounding(sent, length, avail, refused, s)
}

func (*adaptive) observeFull(w *Window, avail int64, length time.Duration, s *Server) {
	if w.Unit == Requests {
		most := s.Most
		if w.Quota > 0 {
			most = min(most, w.Quota)
		}
		observeUntilFull(&s.Full, most, most-avail, length)
	}
}

func (*adaptive) allows(w *Window, n int64) bool { return w.contention.allows(w, n) }

func (*adaptive) reported(w *Window, sent, before Instant, avail int64, length time.Duration, refused bool, s *Server) Instant {
	w.contention.observe(w)
	if avail > 0 {
		w.foundMany(before, avail, refused, s)
		return w.due
	}
	if !w.believes(w.Used) {
		w.due = w.observeRefill(sent, before, length, refused, s)
	}
	return w.observeLog(sent, before, length, refused, s)
}

func (*adaptive) closing(w *Window) {
	w.contention.close(w)
	w.least += (w.rtt - w.least) / 64
}

func (*adaptive) slowStart() uint8 { return 2 }
