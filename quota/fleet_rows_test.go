package quota_test

import (
	"cmp"
	"container/heap"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
	"github.com/headway-go/headway/transport/transporttest"
)

// A fleetWorld is a simulation, on one thread and in virtual time, of processes that share
// accounts through a Hub, and of the server that they use.
type fleetWorld struct {
	t      testing.TB
	now    time.Time
	start  time.Time
	began  time.Time
	events eventQueue
	serial int
	rnd    *rand.Rand

	hub    fleet.Hub
	api    *transporttest.API
	procs  []*simProcess
	way    time.Duration // to the Hub and back
	fails  failures
	left   int
	served int
	refused, first,
	exchanges int
	atOnce, asked int
	last          time.Time       // when a request was served last
	half          []int           // the units that each process was served when half of all was
	waits         []time.Duration // of those that asked
}

type simEvent struct {
	at  time.Time
	seq int
	do  func()
}

type eventQueue []simEvent

func (e eventQueue) Len() int { return len(e) }
func (e eventQueue) Less(i, j int) bool {
	return cmp.Or(e[i].at.Compare(e[j].at), cmp.Compare(e[i].seq, e[j].seq)) < 0
}
func (e eventQueue) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *eventQueue) Push(x any)   { *e = append(*e, x.(simEvent)) }
func (e *eventQueue) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (w *fleetWorld) after(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.events, simEvent{w.now.Add(d), w.serial, do})
}

// around is a random time of that mean, a tenth of it random.
func (w *fleetWorld) around(mean time.Duration) time.Duration {
	return mean*9/10 + time.Duration(w.rnd.ExpFloat64()*float64(mean/10))
}

// failures are what goes wrong in a fleetWorld. Times count from the beginning.
type failures struct {
	away     [2]time.Duration // the Hub cannot be reached
	of       int              // by so many processes; 0: by none
	empties  bool             // and knows nothing any more afterwards
	stops    [2]time.Duration // the Hub carries out afterwards what comes meanwhile
	kills    time.Duration    // when a process is killed
	prober   bool             // it is the next one that opens a window
	hangs    [2]time.Duration // a process does nothing
	way      time.Duration    // to the Hub and back; 0: a millisecond
	loses    float64          // of the answers are lost
	twice    bool             // each turn is carried out twice
	deaf     bool             // no word is heard
	deadHub  bool             // it was never there
	sheds    int              // requests that the server refuses first, without a word
	none     bool             // there is no fleet
	refusals float64          // percent at most
	goodput  float64          // at least
}

func (f *failures) cut(w *fleetWorld, p *simProcess) bool {
	t := w.now.Sub(w.start)
	if f.deadHub {
		return true
	}
	if f.of < len(w.procs) && !slices.Contains(w.procs[:f.of], p) {
		return false
	}
	return t >= f.away[0] && t < f.away[1]
}

func (f *failures) stalled(w *fleetWorld) time.Duration {
	if t := w.now.Sub(w.start); t >= f.stops[0] && t < f.stops[1] {
		return f.stops[1] - t
	}
	return 0
}

// hung is for how long a process does nothing yet; 0: it does not hang.
func (f *failures) hung(w *fleetWorld, p *simProcess) time.Duration {
	if t := w.now.Sub(w.start); t >= f.hangs[0] && t < f.hangs[1] && p == w.procs[3] {
		return f.hangs[1] - t
	}
	return 0
}

// A fleetRow is an experiment.
type fleetRow struct {
	name     string
	policies []transporttest.Policy
	procs    int
	jobs     int           // of each process
	workers  int           // of each process; 0: no bound
	every    time.Duration // between arrivals, at random; 0: all at the start
	cost     func(*rand.Rand) int64
	service  time.Duration
	others   time.Duration // between requests of a client that is not of the fleet; 0: there is none
	alone    bool          // without Peers
	way      time.Duration // to the Hub and back; 0: a millisecond
	seconds  float64       // a clairvoyant client needs for all; for each window beyond the first, if filled
	filled   int           // units of such a window, of requests with random costs
	goodput  float64       // at least; 0: there is no bound to compare with
	refused  float64       // percent at most
	fair     float64       // Jain's index at half of the time, at least
	turns    float64       // exchanges a request, at most
	atOnce   float64       // percent that depart without asking, at least
	waits    time.Duration // of 95 of 100 of the others, at most; 0: there is no bound
}

// A simProcess is one process.
type simProcess struct {
	w       *fleetWorld
	name    string
	origin  *quota.Origin
	shared  *quota.Shared
	reader  parse.Reader
	jobs    []*simJob
	busy    int
	workers int
	todo    int // jobs in all
	pending int
	look    time.Time
	turning time.Time
	carries bool
	served  int
	units   int // of what it was served
	dead    bool
	hub     *fleet.Hub
	cost    func(*rand.Rand) int64
	service time.Duration
}

type simJob struct {
	units int64
	lease *quota.Lease
	came  time.Time
	asked bool

	claims int // when it was queued
}

// Due implements quota.Peers.
func (p *simProcess) Due(s *quota.Shared) {
	if p.shared == nil {
		p.shared = s
		p.w.hear(p)
	}
	p.turnAt(p.w.now)
}

// turnAt plans to look for a turn.
func (p *simProcess) turnAt(at time.Time) {
	if !p.turning.IsZero() && !at.Before(p.turning) {
		return
	}
	p.turning = at
	p.w.after(max(at.Sub(p.w.now), 0), func() {
		if p.turning.Equal(at) {
			p.turning = time.Time{}
			p.turn()
		}
	})
}

func (p *simProcess) turn() {
	w := p.w
	if p.carries || p.dead {
		return
	}
	if d := w.fails.hung(w, p); d > 0 {
		p.turnAt(w.now.Add(d))
		return
	}
	turn, next := p.shared.Turn(w.now)
	if turn == nil {
		if !next.IsZero() {
			p.turnAt(next)
		}
		return
	}
	w.exchanges++
	p.carries = true
	turn.Process = p.name
	sent := w.now
	turn.AsOf = time.Duration(sent.UnixNano())
	answered := false
	w.after(turn.Timeout, func() {
		if !answered {
			answered, p.carries = true, false
			p.shared.Failed(w.now)
			p.advance()
			p.turnAt(w.now)
		}
	})
	if w.fails.cut(w, p) {
		return
	}
	w.after(w.around(w.way/2)+w.fails.stalled(w), func() {
		if w.fails.twice {
			defer p.hub.Exchange(context.Background(), p.shared.Origin(), turn)
		}
		grant, err := p.hub.Exchange(context.Background(), p.shared.Origin(), turn)
		if err != nil {
			w.t.Fatal(err)
		}
		if w.fails.loses > 0 && w.rnd.Float64() < w.fails.loses {
			return
		}
		w.after(max(w.around(w.way/2), w.fails.hung(w, p)), func() {
			if !answered {
				answered, p.carries = true, false
				p.shared.Heard(sent, w.now, grant)
				p.advance()
				p.turnAt(w.now)
			}
		})
	})
}

// hear subscribes to the words of the Hub. They come when the next event happens: the
// Hub hands them to a goroutine, so the simulation asks it instead.
func (w *fleetWorld) hear(p *simProcess) {
	p.hub.Listen(p.shared.Origin(), func(word exchange.Word) {
		if w.fails.deaf || w.fails.cut(w, p) {
			return
		}
		w.after(w.around(w.way/2), func() {
			p.shared.Wake(w.now, p.name, &word)
			if word.Hold > 0 {
				p.advance()
			}
			p.turnAt(w.now)
		})
	})
}

func (p *simProcess) ask(j *simJob) quota.Ask {
	ask := quota.Ask{MaxDelay: quota.NoDelay, FirstFlight: 10}
	for _, known := range p.origin.Policies() {
		units := j.units
		if known.Unit == "concurrent-requests" {
			units = 1
		}
		ask.Claims = append(ask.Claims, quota.Claim{Policy: known.Name, Units: units, Keyed: known.Keyed})
	}
	return ask
}

func (p *simProcess) arrive(n int) {
	p.pending += n
	for p.pending > 0 && (p.workers == 0 || p.busy < p.workers) {
		p.pending--
		p.busy++
		j := &simJob{units: 1, came: p.w.now}
		if p.cost != nil {
			j.units = p.cost(p.w.rnd)
		}
		p.jobs = append(p.jobs, j)
	}
	p.advance()
}

// advance sends the jobs that may go, the first first.
func (p *simProcess) advance() {
	if p.dead || p.w.fails.hung(p.w, p) > 0 {
		return
	}
	for len(p.jobs) > 0 {
		j := p.jobs[0]
		ask, lease := p.ask(j), new(quota.Lease)
		err := p.origin.Try(p.w.now, &ask, lease)
		if err == nil {
			if j.lease != nil && p.shared != nil {
				p.origin.Unqueue(j.lease)
			}
			p.jobs = p.jobs[1:]
			p.w.asked++
			if !j.asked {
				p.w.atOnce++
			} else {
				p.w.waits = append(p.w.waits, p.w.now.Sub(j.came))
			}
			p.send(j, lease)
			continue
		}
		for _, j := range p.jobs {
			j.asked = true
			if ask := p.ask(j); j.lease == nil || j.claims != len(ask.Claims) {
				if j.lease == nil {
					j.lease = new(quota.Lease)
				}
				j.claims = len(ask.Claims)
				if p.shared != nil {
					p.origin.Queue(p.w.now, &ask, j.lease)
				}
			}
		}
		at := p.w.now.Add(err.(*quota.Refusal).Wait)
		if !at.After(p.w.now) {
			return // an event will come
		}
		if p.look.IsZero() || p.look.Before(p.w.now) || at.Before(p.look) {
			p.look = at
			p.w.after(at.Sub(p.w.now), func() {
				if p.look.Equal(at) {
					p.look = time.Time{}
					p.advance()
				}
			})
		}
		return
	}
}

func (p *simProcess) send(j *simJob, lease *quota.Lease) {
	w := p.w
	early := len(p.origin.Policies()) == 0
	trip := 50 * time.Millisecond
	w.after(w.around(trip/2), func() {
		r := &http.Request{Method: http.MethodGet, Header: http.Header{"X-Cost": {strconv.FormatInt(j.units, 10)}}}
		d := transporttest.Decision{Status: http.StatusTooManyRequests, Header: http.Header{}}
		if w.fails.sheds--; w.fails.sheds < 0 {
			d = w.api.Decide(w.now, r)
		}
		if d.Served && w.served == 0 {
			w.began = w.now
		}
		if d.Served {
			w.served++
			p.served++
			p.units += int(j.units)
			if w.served*2 == w.left && w.half == nil {
				for _, q := range w.procs {
					w.half = append(w.half, q.units)
				}
			}
			if w.fails.prober && w.now.Sub(w.start) >= w.fails.kills && w.now.Sub(w.last) > time.Second {
				w.fails.prober = false
				w.kill(p)
			}
			w.last = w.now
		} else if early {
			w.first++
		} else {
			w.refused++
		}
		work := time.Duration(0)
		if d.Served && p.service > 0 {
			work = w.around(p.service)
		}
		w.after(work, func() {
			d.Done()
			w.after(w.around(trip/2), func() { p.receive(j, lease, d) })
		})
	})
}

func (p *simProcess) receive(j *simJob, lease *quota.Lease, answer transporttest.Decision) {
	w := p.w
	if p.dead {
		return
	}
	if d := w.fails.hung(w, p); d > 0 {
		w.after(d, func() { p.receive(j, lease, answer) })
		return
	}
	got := p.reader.Read("api.example", answer.Status, answer.Header, w.now)
	report := quota.Report{Refused: answer.Status == http.StatusTooManyRequests, Date: got.Date}
	for _, k := range got.Policies {
		report.Terms = append(report.Terms, quota.Policy{Name: k.Name, Quota: k.Quota, Unit: k.Unit, Window: k.Window})
	}
	for _, l := range got.Limits {
		report.Figures = append(report.Figures, quota.Figure{Policy: l.Policy, Available: l.Available, Window: l.Window, Cost: l.Cost})
	}
	if got.Advised {
		report.Pause = got.RetryAfter
	}
	p.origin.Settle(w.now, lease, &report)
	lease.Release()
	if answer.Served {
		p.busy--
		p.arrive(0)
		return
	}
	j.lease = nil
	p.jobs = append(p.jobs, j)
	p.advance()
}

func newFleetWorld(t testing.TB, r *fleetRow, seed uint64) *fleetWorld {
	w := &fleetWorld{t: t, rnd: rand.New(rand.NewPCG(seed, 0)), way: cmp.Or(r.way, time.Millisecond)}
	w.now = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	w.began, w.start = w.now, w.now
	w.hub.Clock = func() time.Time { return w.now }
	w.api = &transporttest.API{Policies: r.policies}
	if r.cost != nil {
		w.api.Cost = func(r *http.Request) int64 {
			n, _ := strconv.ParseInt(r.Header.Get("X-Cost"), 10, 64)
			return n
		}
	}
	if r.others > 0 {
		w.stranger(r.others)
	}
	var secret [32]byte
	for i := range r.procs {
		p := &simProcess{w: w, hub: &w.hub, name: fmt.Sprint("p", i), todo: r.jobs, workers: r.workers, cost: r.cost, service: r.service}
		accounts := &quota.Accounts{Secret: &secret, Jitter: w.rnd.Float64}
		if !r.alone {
			accounts.Peers = p
		}
		p.origin = accounts.Origin("https://api.example")
		w.procs = append(w.procs, p)
		w.left += r.jobs
		if r.every == 0 {
			w.after(time.Duration(w.rnd.IntN(1000))*time.Microsecond, func() { p.arrive(r.jobs) })
			continue
		}
		var at time.Duration
		for range r.jobs {
			at += time.Duration(w.rnd.ExpFloat64() * float64(r.every))
			w.after(at, func() { p.arrive(1) })
		}
	}
	return w
}

// stranger makes requests that the fleet does not know of, at random times.
func (w *fleetWorld) stranger(mean time.Duration) {
	w.after(time.Duration(w.rnd.ExpFloat64()*float64(mean)), func() {
		d := w.api.Decide(w.now, &http.Request{Method: http.MethodGet, Header: http.Header{"X-Cost": {"1"}}})
		d.Done()
		w.stranger(mean)
	})
}

// kill ends a process, with all that it has not sent.
func (w *fleetWorld) kill(p *simProcess) {
	p.dead = true
	w.left -= p.todo - p.served
}

func (w *fleetWorld) run(most time.Duration) {
	end := w.now.Add(most)
	for w.events.Len() > 0 && w.served < w.left {
		e := heap.Pop(&w.events).(simEvent)
		if e.at.After(end) {
			return
		}
		w.now = e.at
		e.do()
	}
}

func jainIndex(xs []int) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += float64(x)
		squares += float64(x * x)
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(xs)) * squares)
}

func policyOf(a transporttest.Algorithm, quota int64, window, burst int) []transporttest.Policy {
	return []transporttest.Policy{{Name: "api", Algorithm: a, Quota: quota, Window: time.Duration(window) * time.Second, Burst: int64(burst)}}
}

func fleetRows() []fleetRow {
	fixed := func(q int64, w int) []transporttest.Policy { return policyOf(transporttest.FixedWindow, q, w, 0) }
	two := append(fixed(10, 1), fixed(200, 60)...)
	two[0].Name, two[1].Name = "one", "other"
	return []fleetRow{
		{name: "8 processes", policies: fixed(100, 10), procs: 8, jobs: 125, workers: 6, seconds: 90, goodput: .99, fair: .99, turns: 0.5},
		{name: "8 processes, aligned", policies: policyOf(transporttest.AlignedWindow, 100, 10, 0), procs: 8, jobs: 125, workers: 6, seconds: 90, goodput: .99, fair: .99, turns: 0.5},
		{name: "8 processes, 20/1s", policies: fixed(20, 1), procs: 8, jobs: 200, workers: 6, seconds: 79, goodput: .98, refused: .4, fair: .999, turns: 1.4},
		{name: "8 processes, 20/1s, three windows", policies: fixed(20, 1), procs: 8, jobs: 10, workers: 4, seconds: 3.05, goodput: .97, fair: .96, turns: 1.4},
		{name: "8 processes, 60/60s", policies: fixed(60, 60), procs: 8, jobs: 75, workers: 15, seconds: 540, goodput: .99, fair: .99, turns: 1.5},
		{name: "8 processes, 100/2s, 20 ms away", policies: fixed(100, 2), procs: 8, jobs: 125, workers: 6, way: 20 * time.Millisecond, seconds: 18.05, goodput: .97, fair: .99, turns: .6},
		{name: "8 processes, bucket", policies: policyOf(transporttest.TokenBucket, 10, 1, 20), procs: 8, jobs: 50, workers: 6, seconds: 38, goodput: .97, fair: .998, turns: 2.4},
		{name: "8 processes, half the quota", policies: fixed(100, 10), procs: 8, jobs: 125, every: 1600 * time.Millisecond, turns: 1.2, atOnce: 80, fair: .97, waits: 2 * time.Millisecond},
		{name: "8 processes, half of 1000", policies: fixed(1000, 10), procs: 8, jobs: 625, every: 160 * time.Millisecond, turns: .6, atOnce: 97, fair: .97, waits: 2 * time.Millisecond},
		{name: "64 processes", policies: fixed(200, 10), procs: 64, jobs: 125, workers: 2, seconds: 390, goodput: .99, fair: .998, turns: 1.5},
		{name: "64 processes, 64/1s", policies: fixed(64, 1), procs: 64, jobs: 60, workers: 2, seconds: 59, goodput: .98, refused: .3, fair: .998, turns: 2.4},
		// Which servers give units back before a window ends is not told but found out: see
		// fleet's renewal.go. Of weighed windows each unit comes back alone, so there are
		// more exchanges; and no client is served more than a quota in each window of the
		// clock, so 1,000 requests take ten of them.
		{name: "8 processes, log 20/1s", policies: policyOf(transporttest.SlidingLog, 20, 1, 0), procs: 8, jobs: 75, workers: 6, seconds: 29, goodput: .97, refused: .5, fair: .99, turns: 2.8},
		{name: "8 processes, log 100/10s", policies: policyOf(transporttest.SlidingLog, 100, 10, 0), procs: 8, jobs: 125, workers: 6, seconds: 90, goodput: .98, refused: .5, fair: .99, turns: 1.1},
		{name: "64 processes, log 200/10s", policies: policyOf(transporttest.SlidingLog, 200, 10, 0), procs: 64, jobs: 125, workers: 2, seconds: 390, goodput: .97, refused: .5, fair: .998, turns: 2.8},
		{name: "8 processes, weighed 100/10s", policies: policyOf(transporttest.SlidingWindow, 100, 10, 0), procs: 8, jobs: 125, workers: 6, seconds: 99.9, goodput: .97, refused: 1, fair: .998, turns: 3.5},
		{name: "8 processes, weighed 20/1s", policies: policyOf(transporttest.SlidingWindow, 20, 1, 0), procs: 8, jobs: 200, workers: 6, seconds: 79.9, goodput: .86, refused: 1, fair: .998, turns: 3.8},
		{name: "64 processes, bucket 100/10s", policies: policyOf(transporttest.TokenBucket, 100, 10, 0), procs: 64, jobs: 60, workers: 2, seconds: 374, goodput: .97, refused: .3, fair: .998, turns: 4},
		// A client that is not of the fleet takes a third. Figures are not true for long then, so most
		// of these have no bound to compare with.
		{name: "8 processes and a stranger", policies: fixed(100, 10), procs: 8, jobs: 80, workers: 6, others: 300 * time.Millisecond, refused: .5, fair: .98, turns: 0.8},
		{name: "bucket and a stranger", policies: policyOf(transporttest.TokenBucket, 100, 10, 0), procs: 8, jobs: 80, workers: 6, others: 300 * time.Millisecond, refused: 3, fair: .99, turns: 3},
		{name: "log and a stranger", policies: policyOf(transporttest.SlidingLog, 100, 10, 0), procs: 8, jobs: 80, workers: 6, others: 300 * time.Millisecond, refused: 1, fair: .98, turns: 1.2},
		{name: "weighed and a stranger", policies: policyOf(transporttest.SlidingWindow, 100, 10, 0), procs: 8, jobs: 80, workers: 6, others: 300 * time.Millisecond, seconds: 92, goodput: .94, refused: 1, fair: .99, turns: 2.6},
		// The first requests of these are refused, as none can charge them yet. That random costs
		// fill each window to the last unit is luck, so what eight seeds reach is judged.
		// Of 60 units each, half of the work is three requests for each process: of ten times the
		// work, Jain's index is .998.
		{name: "costs 1 to 20", policies: fixed(200, 10), procs: 8, jobs: 25, workers: 6, cost: func(r *rand.Rand) int64 { return 1 + r.Int64N(20) }, seconds: 10, filled: 200, goodput: .96, refused: .1, fair: .98, turns: 1.5},
		{name: "all cost 60", policies: fixed(200, 10), procs: 8, jobs: 6, workers: 2, cost: func(*rand.Rand) int64 { return 60 }, seconds: 150, goodput: .97, refused: .1, fair: .9, turns: 4.2},
		// That it is a bucket is seen within a window, or by a refusal; until then a request may be refused.
		{name: "bucket, costs 1 to 10", policies: policyOf(transporttest.TokenBucket, 100, 10, 0), procs: 8, jobs: 40, workers: 6, cost: func(r *rand.Rand) int64 { return 1 + r.Int64N(10) }, seconds: 10, filled: 100, goodput: .98, refused: .1, fair: .97, turns: 4},
		{name: "bucket, all cost 10", policies: policyOf(transporttest.TokenBucket, 60, 60, 0), procs: 4, jobs: 40, workers: 6, cost: func(*rand.Rand) int64 { return 10 }, seconds: 1540, goodput: .98, refused: 2, fair: .99, turns: 5},
		// It holds a tenth of the quota: no figure comes near that.
		{name: "gcra, burst 10, costs 1 to 5", policies: policyOf(transporttest.GCRA, 100, 10, 10), procs: 6, jobs: 60, workers: 7, cost: func(r *rand.Rand) int64 { return 1 + r.Int64N(5) }, seconds: 10, filled: 100, goodput: .92, refused: .5, fair: .99, turns: 3.5},
		{name: "10/1s and 200/60s", policies: two, procs: 8, jobs: 75, workers: 6, seconds: 139, goodput: .97, refused: 1, fair: .99, turns: 2.2},
		{name: "concurrency 8", policies: policyOf(transporttest.Concurrency, 8, 0, 0), procs: 8, jobs: 100, workers: 6, service: 100 * time.Millisecond, seconds: 15, goodput: .95, fair: .99, turns: 2.5},
		{name: "concurrency 8, 32 processes", policies: policyOf(transporttest.Concurrency, 8, 0, 0), procs: 32, jobs: 25, workers: 6, service: 100 * time.Millisecond, seconds: 15, goodput: .88, fair: .99, turns: 9},
	}
}

// one is the row of one process without a fleet that has all the work: what it misses is
// no fault of a fleet.
func (r *fleetRow) one() fleetRow {
	o := *r
	o.jobs, o.workers, o.procs, o.alone = r.jobs*r.procs, r.workers*r.procs, 1, true
	return o
}

// The rows of several processes. Whatever is random follows from a seed, and nothing
// runs at the same time, so the scores are always the same.
func TestFleetRows(t *testing.T) {
	for _, r := range raced.Rows(fleetRows()) {
		t.Run(r.name, func(t *testing.T) {
			scores := make([]fleetScore, 1)
			if r.filled > 0 {
				scores = make([]fleetScore, 8)
			}
			for i := range scores {
				w := newFleetWorld(t, &r, *fleetSeed+uint64(i))
				w.run(time.Hour)
				scores[i] = w.score(&r)
			}
			r.judge(t, scores...)
			if r.seconds == 0 || r.procs > 8 || r.cost != nil || r.others > 0 { // of random costs, the work would be another; so would what strangers leave
				return
			}
			seeds, of := 1, 0.0
			if r.refused >= .5 { // a refusal may cost a second: what one seed reaches says little
				seeds = 8
			}
			one := r.one()
			for i := range uint64(seeds) {
				together, alone := newFleetWorld(t, &r, *fleetSeed+i), newFleetWorld(t, &one, *fleetSeed+i)
				together.run(time.Hour)
				alone.run(time.Hour)
				of += alone.now.Sub(alone.began).Seconds() / together.now.Sub(together.began).Seconds() / float64(seeds)
			}
			assert.GreaterOrEqual(t, of, .97, "of what one process reaches")
		})
	}
}

var fleetSeed = flag.Uint64("fleetseed", 1, "of the rows of several processes; other seeds have other scores")

// A fleetScore is what a fleetWorld has reached.
type fleetScore struct{ goodput, refused, turns, once, fair float64 }

func (w *fleetWorld) score(r *fleetRow) fleetScore {
	served, seconds := float64(max(w.served, 1)), r.seconds
	if r.filled > 0 {
		units := 0
		for _, p := range w.procs {
			units += p.units
		}
		seconds *= float64((units - 1) / r.filled)
	}
	s := fleetScore{
		goodput: seconds / w.now.Sub(w.began).Seconds(),
		refused: 100 * float64(w.refused) / served,
		turns:   float64(w.exchanges) / served,
		once:    100 * float64(w.atOnce) / float64(max(w.asked, 1)),
		fair:    jainIndex(w.half),
	}
	w.t.Logf("goodput %.3f, refused %.2f %% (and %d first), exchanges %.2f, Jain %.3f, at once %.1f %%", s.goodput, s.refused, w.first, s.turns, s.fair, s.once)
	assert.Equal(w.t, w.left, w.served, "all are served")
	if r.waits > 0 {
		slices.Sort(w.waits)
		assert.LessOrEqual(w.t, w.waits[len(w.waits)*95/100], r.waits, "wait of those that ask")
	}
	return s
}

// judge compares the mean of several scores with the bounds of the row.
func (r *fleetRow) judge(t *testing.T, scores ...fleetScore) {
	t.Helper()
	var s fleetScore
	n := float64(len(scores))
	for _, o := range scores {
		s.goodput, s.refused, s.turns = s.goodput+o.goodput/n, s.refused+o.refused/n, s.turns+o.turns/n
		s.once, s.fair = s.once+o.once/n, s.fair+o.fair/n
	}
	assert.GreaterOrEqual(t, s.goodput, r.goodput, "goodput")
	assert.LessOrEqual(t, s.refused, r.refused, "refused")
	assert.GreaterOrEqual(t, s.fair, r.fair, "Jain")
	assert.LessOrEqual(t, s.turns, r.turns, "exchanges a request")
	assert.GreaterOrEqual(t, s.once, r.atOnce, "at once")
}

// What goes wrong costs time and few refusals, and nobody waits for ever.
func TestFleetFailures(t *testing.T) {
	const sec = time.Second
	all := 8
	for name, f := range raced.Cases(map[string]failures{
		"nothing":                {goodput: .99},
		"no fleet":               {none: true, goodput: .88, refusals: 5},
		"never there":            {deadHub: true, goodput: .88, refusals: 5},
		"away, with all it knew": {away: [2]time.Duration{12 * sec, 34 * sec}, of: all, goodput: .87, refusals: .5},
		"killed, and empty":      {away: [2]time.Duration{10100 * time.Millisecond, 14 * sec}, of: all, empties: true, goodput: .97, refusals: .5},
		"stopped for a second":   {stops: [2]time.Duration{20050 * time.Millisecond, 21050 * time.Millisecond}, goodput: .88, refusals: .5},
		"one of eight cut off":   {away: [2]time.Duration{15 * sec, 45 * sec}, of: 1, goodput: .96, refusals: 1},
		"two of eight cut off":   {away: [2]time.Duration{15 * sec, 45 * sec}, of: 2, goodput: .95, refusals: 1},
		"four of eight cut off":  {away: [2]time.Duration{15 * sec, 45 * sec}, of: 4, goodput: .96, refusals: 1},
		"a process killed":       {kills: 20070 * time.Millisecond, goodput: .8},
		"the prober killed":      {kills: 15 * sec, prober: true, goodput: .97},
		"a process hangs":        {hangs: [2]time.Duration{20060 * time.Millisecond, 32 * sec}, goodput: .95},
		"hangs beyond its lease": {hangs: [2]time.Duration{20060 * time.Millisecond, 55 * sec}, goodput: .95},
		"20 ms away":             {way: 20 * time.Millisecond, goodput: .97},
		"80 ms away":             {way: 80 * time.Millisecond, goodput: .97, refusals: .3},
		"answers lost":           {loses: .02, goodput: .96, refusals: 1},
		"all carried out twice":  {twice: true, goodput: .99},
		"deaf":                   {deaf: true, goodput: .88, refusals: .5},
	}) {
		t.Run(name, func(t *testing.T) {
			r := fleetRow{policies: policyOf(transporttest.FixedWindow, 100, 10, 0), procs: all, jobs: 125, workers: 6, seconds: 90, goodput: f.goodput, refused: f.refusals, turns: 10, alone: f.none}
			var scores []fleetScore
			for i := range uint64(4) { // what is hit when something goes wrong differs
				w := newFleetWorld(t, &r, *fleetSeed+i)
				w.fails = f
				if f.empties {
					w.after(f.away[1], func() { w.hub.Forget() })
				}
				w.way = cmp.Or(f.way, w.way)
				if f.kills > 0 && !f.prober {
					w.after(f.kills, func() { w.kill(w.procs[3]) })
				}
				w.run(time.Hour)
				scores = append(scores, w.score(&r))
			}
			r.judge(t, scores...)
		})
	}
}

// A process that is cut off from the store finds out by its requests what the others have left, in each
// window. Once one is refused, no more than its part departs in a window: about one request of each
// is refused in a window, and not two.
func TestFleetCutOff(t *testing.T) {
	for name, c := range raced.Cases(map[string]struct {
		policies []transporttest.Policy
		of       int     // of 16
		each     float64 // refusals of a process in a window while it is cut off, at most
	}{
		"fixed":   {policyOf(transporttest.FixedWindow, 20, 2, 0), 15, .65},
		"aligned": {policyOf(transporttest.AlignedWindow, 20, 2, 0), 15, .65},
		"log":     {policyOf(transporttest.SlidingLog, 200, 10, 0), 14, 1.25},
		"weighed": {policyOf(transporttest.SlidingWindow, 50, 5, 0), 5, 1},
	}) {
		t.Run(name, func(t *testing.T) {
			quota, window := int(c.policies[0].Quota), c.policies[0].Window
			r := fleetRow{policies: c.policies, procs: 16, jobs: quota * 30 / 16, workers: 6}
			refused, worlds := 0, 8
			for i := range uint64(worlds) {
				w := newFleetWorld(t, &r, *fleetSeed+i)
				w.fails = failures{away: [2]time.Duration{17 * window / 2, 37 * window / 2}, of: c.of}
				w.run(time.Hour)
				assert.Equal(t, w.left, w.served, "all are served")
				refused += w.refused
			}
			each := float64(refused) / float64(10*c.of*worlds)
			t.Logf("%.2f of a process in a window, %.2f %% in all", each, 100*float64(refused)/float64(worlds*r.jobs*r.procs))
			assert.LessOrEqual(t, each, c.each)
		})
	}
}

// Of weighed windows units come back one by one. A process whose requests cost many gets its
// part nevertheless: what comes back is kept for it when it is the first.
func TestFleetDearRequests(t *testing.T) {
	r := fleetRow{policies: policyOf(transporttest.SlidingWindow, 110, 1, 0), procs: 11, jobs: 100, workers: 20, cost: func(*rand.Rand) int64 { return 1 }}
	for i := range uint64(4) {
		w := newFleetWorld(t, &r, *fleetSeed+i)
		w.procs[3].cost = func(*rand.Rand) int64 { return 11 }
		w.run(time.Hour)
		assert.Equal(t, w.left, w.served, "all are served")
		sum := 0
		for _, units := range w.half {
			sum += units
		}
		t.Log(w.half)
		assert.GreaterOrEqual(t, w.half[3]*len(w.half), sum*3/4, "seed %d: %v", *fleetSeed+i, w.half)
	}
}

// If units come back one at a time, the process that is the first in line is told again when one is
// back earlier than it was told, as when the last one was served. At most .91 is possible without a refusal.
func TestFleetOneAtATime(t *testing.T) {
	r := fleetRow{policies: policyOf(transporttest.GCRA, 20, 1, 1), procs: 8, jobs: 75, workers: 6, seconds: 30, goodput: .80, refused: .1, fair: .998, turns: 3}
	for i := range uint64(4) {
		w := newFleetWorld(t, &r, *fleetSeed+i)
		w.run(time.Hour)
		r.judge(t, w.score(&r))
	}
}

// If each end of a window lets only the one request go that looks, it is not always one of the
// same process.
func TestFleetProbesInTurn(t *testing.T) {
	for name, r := range map[string]fleetRow{
		"one at a time": {policies: policyOf(transporttest.GCRA, 100, 10, 1), procs: 8, jobs: 200, workers: 6},
		"few left":      {policies: policyOf(transporttest.SlidingWindow, 10, 5, 0), procs: 10, jobs: 200, workers: 6, cost: func(*rand.Rand) int64 { return 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range uint64(4) {
				w := newFleetWorld(t, &r, *fleetSeed+i)
				for i, p := range w.procs {
					if r.cost != nil && i%3 == 2 {
						p.cost = func(*rand.Rand) int64 { return 3 }
					}
				}
				w.run(300 * time.Second)
				var units []int
				for _, p := range w.procs {
					units = append(units, p.units)
				}
				sum := 0
				for _, n := range units {
					sum += n
				}
				assert.Positive(t, slices.Min(units), "seed %d: %v", *fleetSeed+i, units)
				assert.LessOrEqual(t, slices.Max(units)*len(units), 3*sum, "seed %d: %v", *fleetSeed+i, units)
			}
		})
	}
}

// Two halves of a fleet that do not know of each other, such as two versions of a program
// whose stores have different formats, refuse little.
func TestTwoFleets(t *testing.T) {
	r := fleetRow{policies: policyOf(transporttest.FixedWindow, 100, 10, 0), procs: 8, jobs: 250, workers: 6}
	for i := range uint64(4) {
		w := newFleetWorld(t, &r, *fleetSeed+i)
		other := &fleet.Hub{Clock: w.hub.Clock}
		for _, p := range w.procs[:4] {
			p.hub = other
		}
		w.run(time.Hour)
		assert.Equal(t, w.left, w.served, "all are served")
		t.Log(w.refused, w.now.Sub(w.began))
		assert.LessOrEqual(t, 100*w.refused, 7*w.served, "seed %d", *fleetSeed+i)
	}
}

// Of a server that tells no quotas, each process of a fleet learns for itself, as one that is alone.
func TestFleetOfSilentServer(t *testing.T) {
	worlds := uint64(160) // of 40, the refusals differ by 3 % from one seed to another
	if testing.Short() {
		worlds = 80
	}
	for name, tt := range raced.Cases(map[string]struct {
		bare          bool
		most          int // of a thousand requests that are refused
		refused, took int // percent of those that are alone, at most
	}{
		"Retry-After": {false, 30, 96, 95}, // of a hold that one was told, the others know; those alone spread their units, see window/spread.go
		"bare":        {true, 76, 103, 107},
	}) {
		t.Run(name, func(t *testing.T) {
			r := fleetRow{policies: policyOf(transporttest.FixedWindow, 100, 10, 0), procs: 4, jobs: 400, workers: 5}
			var refused [2]int
			var took [2]time.Duration
			for i := range worlds {
				for k, alone := range []bool{false, true} {
					r.alone = alone
					w := newFleetWorld(t, &r, *fleetSeed+i)
					w.api.OmitLimits, w.api.OmitPolicies, w.api.OmitRetryAfter = true, true, tt.bare
					w.run(time.Hour)
					assert.Equal(t, w.left, w.served, "all are served")
					refused[k] += w.first // there are no policies to claim
					took[k] += w.now.Sub(w.began)
				}
			}
			t.Log(refused, took)
			assert.LessOrEqual(t, refused[0], r.procs*r.jobs*int(worlds)*tt.most/1000, "refused")
			assert.LessOrEqual(t, refused[0], refused[1]*tt.refused/100, "refused, of those that are alone")
			assert.LessOrEqual(t, took[0], took[1]*time.Duration(tt.took)/100)
		})
	}
}
