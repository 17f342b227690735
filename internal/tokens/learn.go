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

	mu     sync.Mutex   // guards following, and all departures
	out    []*Departure // in their order: those that are not compared yet
	last   *Departure   // the one compared last, in the order in which the server counted them; nil: not known
	refill refill
	window time.Duration // the longest time until a window ended; 0: not known
	actual bool          // the server does not reserve the longest answer
	proof  int           // how many falls show that; 0: minProof
	seen   falls
	orders [2]costs // by the order in which the server may count requests
	order  order    // the one in which the costs vary less
	least  float64  // how many times its estimate a text costs, as refusals show; less with each figure

	answered *Departure   // the one compared last in the order of answers; nil: not known
	since    []*Departure // that departed since then
}

// An order is one in which a server may count requests.
type order int

const (
	departures order = iota // when they arrive: its figures are of that instant
	answers                 // figures are of the instant at which it answers
)

// costs are what requests were charged beside their input.
type costs struct {
	bounded mean // with a bound on the output
	open    mean // others
	text    text // with a bound: what they were charged beside that bound
}

// Requests that depart within overtakes of each other may reach the server in any order.
// While there are more than maxOut that are not compared, the first response is not waited for.
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
	free // not charged
	lost // not served, or the response says nothing
)

// A Figure is what the response to a request that was served says of the quota.
type Figure struct {
	Available int64         // tokens left; None: not known
	Limit     int64         // of the quota; None: not known
	Full      time.Duration // until the whole quota is available, if tokens come back one by one; else 0
	Window    time.Duration // until the window ends; 0: not known
	Cost      int64         // of the request; None: not known
	At        time.Duration // when the response arrived, since the same instant as departures; 0: not known
}

// Estimate returns the expected cost of a request, at least 1.
func (l *Learner) Estimate(r *Request) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var cost float64
	switch {
	case l.reserves(r):
		text := float64(r.Input)
		cost = float64(r.Output) + max(text, text*l.least, l.orders[l.order].text.high(text))
	case r.Output < 0:
		cost = float64(l.input(r)) + l.orders[l.order].open.high()
	default:
		cost = float64(l.input(r)) + min(l.orders[l.order].bounded.high(), float64(r.Output))
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
	if len(l.since) >= maxOut {
		l.answered, l.since = nil, nil
	}
	if l.answered != nil {
		l.since = append(l.since, d)
	}
	if len(l.out) > maxOut {
		first := slices.IndexFunc(l.out, func(d *Departure) bool { return d.state == waiting }) // d does, if no other
		l.lost(l.out[first])
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
		l.observe(departures, d.request, f.Cost)
		l.observe(answers, d.request, f.Cost)
	} else if f.Available >= 0 && f.At > 0 {
		l.compareAnswers(d)
	}
	l.compare()
}

// compareAnswers learns from figures in the order of answers: what one is below the one before was
// charged to the requests that departed between the two. Where one departed shortly before, it is
// not known whether it is in the figure, so the next answer is waited for.
func (l *Learner) compareAnswers(d *Departure) {
	n := len(l.since)
	if l.answered != nil && (n == 0 || d.figure.At-l.since[n-1].at < overtakes) {
		return
	}
	departed := slices.DeleteFunc(l.since, func(s *Departure) bool { return s.state == free || s.state == lost || s.request == nil })
	if last := l.answered; last != nil && len(departed) > 0 {
		if beside, ok := l.fallen(last.figure, d.figure, d.figure.At-last.figure.At, answers); ok {
			for _, s := range departed {
				beside -= float64(l.input(s.request))
			}
			each := int64(math.Round(beside / float64(len(departed))))
			for _, s := range departed {
				l.observe(answers, s.request, l.input(s.request)+each)
			}
		}
	}
	clear(l.since[:n])
	l.answered, l.since = d, l.since[:0]
}

// Free notes that a request was refused, and so was charged nothing: figures are compared as if
// it had not departed.
func (l *Learner) Free(d *Departure) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.state != waiting {
		return
	}
	d.state = free
	if i := slices.Index(l.out, d); i >= 0 {
		l.out = slices.Delete(l.out, i, i+1)
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
// the estimates did not predict that. left is what was left. cost is the cost of the request if
// the server has said it, else None.
func (l *Learner) Refused(d *Departure, left, cost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cost > 0 {
		l.observe(departures, d.request, cost)
		l.observe(answers, d.request, cost)
	} else if r := d.request; r != nil && r.Output >= 0 && left >= r.Input+r.Output {
		l.least = max(l.least, min(refusedMore*float64(left-r.Output)/float64(max(r.Input, 1)), bytesPerToken))
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
	if fall, ok := l.fallen(first.figure, second.figure, second.at-first.at, departures); ok {
		l.observe(departures, second.request, int64(math.Round(fall)))
	}
}

// fallen is by how much a figure is below the one before, that long after it; ok is false if they are
// not of one window.
func (l *Learner) fallen(first, second Figure, between time.Duration, by order) (fall float64, ok bool) {
	left, now := float64(first.Available), float64(second.Available)
	c := &l.orders[by]
	switch {
	case l.refill.rate > 0:
		left += l.refill.rate * between.Seconds()
		if limit := second.Limit; limit >= 0 {
			left = min(left, float64(limit))
		}
	case l.sameWindow(first, second, between) && (now <= left || c.bounded.n+c.open.n > 0):
	case now > left || first.Window > 0 && between >= first.Window:
		return 0, false // of different windows
	}
	return left - now, true
}

// sameWindow reports whether two figures are surely of one window: the ends that they say
// are less than half of one apart. Then a figure that is higher than the one before counts as well:
// a server that counts at the end of an answer does not count in the order of departures, and
// the falls alone would be too large on average. (But the first one learned is a fall.)
func (l *Learner) sameWindow(first, second Figure, between time.Duration) bool {
	if first.Window <= 0 || second.Window <= 0 {
		return false
	}
	apart := between + second.Window - first.Window
	return max(apart, -apart) < l.window/2
}

// observe learns that a request was charged so many tokens, if the server counts in that order.
func (l *Learner) observe(by order, r *Request, fall int64) {
	if r == nil {
		return
	}
	c, beside := &l.orders[by], float64(fall-l.input(r))
	if r.Output < 0 {
		c.open.add(max(beside, -float64(l.input(r))))
		l.choose()
		return
	}
	l.least -= l.least * weight / 2 // once for each order
	c.text.add(float64(r.Input), float64(min(fall-r.Output, r.Input*bytesPerToken)))
	beside = max(beside, -float64(l.input(r)))
	c.bounded.add(beside)
	if l.choose(); by != l.order {
		return
	}
	l.seen.n++
	l.seen.beside += min(beside, float64(r.Output))
	l.seen.half += float64(r.Output) / 2
	switch less := l.seen.beside < l.seen.half; {
	case l.actual && l.seen.n < minProof, !l.actual && l.seen.n < max(l.proof, minProof):
	case l.actual && !less:
		l.reserveAgain()
	default:
		l.actual, l.seen = less, falls{}
	}
}

// choose takes the order in which requests seem to cost the same: in the other one, what one has cost is
// taken for the cost of another.
func (l *Learner) choose() {
	is, other := &l.orders[l.order], &l.orders[1-l.order]
	for _, m := range [...][2]*mean{{&is.bounded, &other.bounded}, {&is.open, &other.open}} {
		if m[0].n >= steady && m[1].n >= steady && 4*m[1].variance < m[0].variance {
			l.order, l.seen = 1-l.order, falls{}
			return
		}
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

const (
	weight = 0.1 // of the last value
	steady = 10  // values, from which a deviation is known
)

func (m *mean) add(x float64) {
	m.n = min(m.n+1, int(1/weight))
	by := x - m.mean
	m.mean += by / float64(m.n)
	m.variance += (by*(x-m.mean) - m.variance) / float64(m.n)
}

// high is a value that few exceed.
func (m *mean) high() float64 { return m.mean + 2*math.Sqrt(m.variance) }

// A text has up to textSpread of its tokens more than others of its length. What is left at a
// refusal, times refusedMore, is taken to be its cost.
const (
	textSpread  = 0.25
	refusedMore = 1.25
)

// A text is what the text of requests is charged: about a multiple of its estimate. The mean of the
// multiples would be that of small requests, so it is that of least squares.
type text struct {
	estimated float64 // the mean of squared estimates
	charged   float64 // the mean of estimates times what was charged
	beside    mean    // what was charged beside that multiple
}

func (t *text) add(estimate, charge float64) {
	n := float64(min(t.beside.n+1, int(1/weight)))
	t.estimated += (estimate*estimate - t.estimated) / n
	t.charged += (estimate*charge - t.charged) / n
	t.beside.add(charge - t.multiple(estimate))
}

// multiple is the estimate times what texts are charged for a token of theirs.
func (t *text) multiple(estimate float64) float64 {
	if t.estimated == 0 {
		return 0
	}
	return estimate * t.charged / t.estimated
}

// high is a charge that few texts of that estimate exceed.
func (t *text) high(estimate float64) float64 {
	return t.multiple(estimate) + t.beside.mean + min(2*math.Sqrt(t.beside.variance), estimate*textSpread)
}
