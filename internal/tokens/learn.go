package tokens

import (
	"math"
	"slices"
	"sync"
	"time"
)

// A Kind says which tokens a quota counts.
type Kind uint8

const (
	All    Kind = iota // of the request and of the answer
	Input              // of the request
	Output             // of the answer
)

// The number of falls that must be less than reserved, on average, before a Learner takes
// the server for one that does not reserve. It doubles each time that this turns out to be
// wrong. (Not each of them: requests that depart together may arrive in another order,
// and then one fall is too large and the next one too small.)
const (
	minProof = 8
	maxProof = 512
)

// A Learner learns what a server charges to one quota of one model. One that has only a
// Kind knows nothing yet. It may be used by several goroutines.
type Learner struct {
	Kind Kind

	mu      sync.Mutex   // guards following, and all departures
	out     []*Departure // in their order: those that are not compared yet
	last    *Departure   // the one compared last, in the order in which the server counted them; nil: not known
	refill  refill
	window  time.Duration // the longest time until a window ended; 0: not known
	actual  bool          // the server does not reserve the longest answer
	proof   int           // how many falls show that; 0: minProof
	seen    falls
	bounded mean // of fall - input: of requests with a bound on the output
	open    mean // of fall - input: of other requests
}

// Requests that depart within overtakes of each other may reach the server in any order.
// While there are more than maxOut that are not compared, the first one is not waited for.
const (
	overtakes = 250 * time.Millisecond
	maxOut    = 256
)

// A Departure is a request that was sent.
type Departure struct {
	request *Request      // nil: not known
	at      time.Duration // since any instant
	state   state
	figure  Figure // if served
}

type state uint8

const (
	waiting state = iota // for the response
	served
	lost // not served, or the response says nothing
)

// A Figure is what the response to a request that was served says of the quota.
type Figure struct {
	Available int64         // tokens left; None: not known
	Limit     int64         // of the quota; None: not known
	Full      time.Duration // until the whole quota is available, if tokens come back one by one; else 0
	Window    time.Duration // until the window ends; 0: not known
	Cost      int64         // of the request; None: not known
}

// Estimate returns the expected cost of a request, at least 1.
func (l *Learner) Estimate(r *Request) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var cost float64
	switch {
	case l.reserves(r):
		cost = float64(r.Input + r.Output)
	case r.Output < 0:
		cost = float64(l.input(r)) + l.open.high()
	default:
		cost = float64(l.input(r)) + l.bounded.high()
	}
	return int64(max(math.Ceil(cost), 1))
}

// reserves reports whether the longest possible answer of a request is taken to be charged.
func (l *Learner) reserves(r *Request) bool {
	return l.Kind == All && !l.actual && r.Output >= 0
}

// input is the part of the cost that is known in advance.
func (l *Learner) input(r *Request) int64 {
	if l.Kind == Output {
		return 0
	}
	return r.Input
}

// Depart notes that a request departs at an instant. All requests that the quota counts
// must be noted.
func (l *Learner) Depart(r *Request, at time.Duration) *Departure {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &Departure{request: r, at: at}
	l.out = append(l.out, d)
	if len(l.out) > maxOut {
		l.lost(l.out[0])
	}
	return d
}

// Served takes over the response to a request that was served.
func (l *Learner) Served(d *Departure, f Figure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.state != waiting {
		return
	}
	d.state, d.figure = served, f
	if f.Available >= 0 {
		l.refill.observe(f)
		l.window = max(l.window, f.Window)
	}
	if f.Cost > 0 {
		l.observe(d.request, f.Cost)
	}
	l.compare()
}

// Lost notes that a request was not served, or that its response says nothing.
func (l *Learner) Lost(d *Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost(d)
}

func (l *Learner) lost(d *Departure) {
	if d.state == waiting {
		d.state = lost
		l.compare()
	}
}

// Refused notes that a request was refused because the quota had too little left, although
// the estimates did not predict that. cost is the cost of the request if the server has
// said it, else None.
func (l *Learner) Refused(d *Departure, cost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cost > 0 {
		l.observe(d.request, cost)
	}
	l.lost(d)
	l.reserveAgain()
}

// compare learns from the figures of the requests that departed first, if they are known. It
// takes those that may have overtaken each other in the order in which the server counted
// them: the more was left, the sooner.
func (l *Learner) compare() {
	for len(l.out) > 0 {
		next, known, n := 0, true, 0
		for ; n < len(l.out) && l.out[n].at-l.out[0].at < overtakes; n++ {
			switch d := l.out[n]; {
			case d.state == waiting:
				return
			case d.state == lost || d.figure.Available < 0:
				known = false
			case l.more(d, l.out[next]):
				next = n
			}
		}
		if !known { // what one of them has cost is in the figures of others
			l.out, l.last = slices.Delete(l.out, 0, n), nil
			continue
		}
		d := l.out[next]
		l.out = slices.Delete(l.out, next, next+1)
		if l.last != nil && d.figure.Cost <= 0 {
			l.fall(l.last, d)
		}
		l.last = d
	}
}

// more reports whether more was left for d than for another request, but for what came back
// between them.
func (l *Learner) more(d, than *Departure) bool {
	back := l.refill.rate * (d.at - than.at).Seconds()
	return float64(d.figure.Available)-back > float64(than.figure.Available)
}

// fall learns from the figures of two requests that the server has counted one after the
// other: what the figure has fallen by is what the second one was charged.
func (l *Learner) fall(first, second *Departure) {
	left, now := float64(first.figure.Available), float64(second.figure.Available)
	between := second.at - first.at
	switch {
	case l.refill.rate > 0:
		left += l.refill.rate * between.Seconds()
		if limit := second.figure.Limit; limit >= 0 {
			left = min(left, float64(limit))
		}
	case l.sameWindow(first, second) && (now <= left || l.bounded.n+l.open.n > 0):
	case now > left || first.figure.Window > 0 && between >= first.figure.Window:
		return // of different windows
	}
	l.observe(second.request, int64(math.Round(left-now)))
}

// sameWindow reports whether two figures are surely of one window: the ends that they say
// are less than half of one apart. Then a figure that is higher than the one before counts as well:
// a server that counts at the end of an answer does not count in the order of departures, and
// the falls alone would be too large on average. (But the first one learned is a fall.)
func (l *Learner) sameWindow(first, second *Departure) bool {
	if first.figure.Window <= 0 || second.figure.Window <= 0 {
		return false
	}
	apart := second.at + second.figure.Window - first.at - first.figure.Window
	return max(apart, -apart) < l.window/2
}

// observe learns that a request was charged so many tokens.
func (l *Learner) observe(r *Request, fall int64) {
	if r == nil {
		return
	}
	beside := float64(fall - l.input(r))
	if r.Output < 0 {
		l.open.add(max(beside, -float64(l.input(r))))
		return
	}
	beside = min(max(beside, -float64(l.input(r))), float64(r.Output))
	l.bounded.add(beside)
	l.seen.n++
	l.seen.beside += beside
	l.seen.half += float64(r.Output) / 2
	switch less := l.seen.beside < l.seen.half; {
	case l.actual && l.seen.n < minProof, !l.actual && l.seen.n < max(l.proof, minProof):
	case l.actual && !less:
		l.reserveAgain()
	default:
		l.actual, l.seen = less, falls{}
	}
}

// falls are what figures have fallen by since the last decision.
type falls struct {
	n      int
	beside float64 // what requests were charged beside their input
	half   float64 // half of the bounds on their output
}

// reserveAgain takes the server for one that reserves the longest answer.
func (l *Learner) reserveAgain() {
	if l.actual {
		l.proof = min(2*max(l.proof, minProof), maxProof)
	}
	l.actual, l.seen = false, falls{}
}

// A refill is the rate at which tokens come back. It follows from the figures: so many are
// missing, and it takes so long until none is.
type refill struct {
	rate float64       // tokens a second; 0: not known
	full time.Duration // that the rate comes from: the longer, the more exact
}

func (r *refill) observe(f Figure) {
	r.full -= r.full / 100
	if missing := f.Limit - f.Available; f.Limit >= 0 && f.Full >= r.full && missing > 0 && f.Full > 0 {
		r.rate, r.full = float64(missing)/f.Full.Seconds(), f.Full
	}
}

// A mean is a mean that gives the last values more weight, and their standard deviation.
type mean struct {
	n              int // values, up to 1/weight
	mean, variance float64
}

const weight = 0.1 // of the last value

func (m *mean) add(x float64) {
	m.n = min(m.n+1, int(1/weight))
	by := x - m.mean
	m.mean += by / float64(m.n)
	m.variance += (by*(x-m.mean) - m.variance) / float64(m.n)
}

// high is a value that few exceed.
func (m *mean) high() float64 { return m.mean + 2*math.Sqrt(m.variance) }
