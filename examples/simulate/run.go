package main

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// A run is one strategy in one row.
type run struct {
	*loop
	row    *row
	server *server
	rnd    *rand.Rand

	users    []*user
	arrivals [][]time.Duration // of each user's jobs
	left     int               // jobs that are not done
	sent     int
	score    score
	held     []time.Duration // what each job waited from being asked to leaving for good
	deadline time.Time
}

// A score is how a strategy did in a row.
type score struct {
	bound   time.Duration // of a clairvoyant client
	taken   time.Duration
	served  int
	refused int // but for the first wave
	wave    int // refused that left before anything was heard
	median  time.Duration
	worst   time.Duration // the 99th percentile
	burst   int
	fair    float64
	over    bool // all jobs were done
}

// goodput is the time of a clairvoyant client over the time taken.
func (s *score) goodput() float64 { return s.bound.Seconds() / s.taken.Seconds() }

// refusals are in percent of what was served.
func (s *score) refusals() float64 { return 100 * float64(s.refused) / float64(s.served) }

// price is what one refused request costs, in time lost.
const price = time.Second

// cost is the time lost and the price of what was refused.
func (s *score) cost() time.Duration { return s.taken - s.bound + price*time.Duration(s.refused) }

// A run gives up after so many times the clairvoyant time or as many requests.
const patience = 20

// play lets a contender play a row. The same seed gives the same score.
func play(r *row, c contender, seed uint64) score {
	x := newRun(r, c, seed)
	x.server.crowd()
	x.run(func() bool { return x.left == 0 || x.now.After(x.deadline) || x.sent > patience*x.jobs() })
	return x.result()
}

func newRun(r *row, c contender, seed uint64) *run {
	l := &loop{now: begins.Add(r.into)}
	x := &run{
		loop: l, row: r, rnd: source(seed, r.name, c.name),
		server: &server{loop: l, api: r.api(), rnd: source(seed, r.name, "others"), others: r.others},
	}
	demand := source(seed, r.name, "demand") // the same for all
	for range r.size() {
		p := &process{run: x, strategy: c.make(r, x.rnd)}
		for _, d := range r.demand {
			if len(p.lines) == 0 || r.keyed() {
				p.lines = append(p.lines, &line{process: p})
			}
			u := &user{process: p, line: p.lines[len(p.lines)-1], name: d.user, workers: d.workers, left: d.jobs}
			x.left += d.jobs
			x.users = append(x.users, u)
			x.arrivals = append(x.arrivals, u.plan(d, demand))
		}
	}
	x.score.bound = x.bound()
	x.deadline = l.now.Add(patience*x.score.bound + time.Hour)
	return x
}

// source is a source of random numbers for one purpose.
func source(seed uint64, row, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(row + "\x00" + purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

func (x *run) jobs() (n int) {
	for _, a := range x.arrivals {
		n += len(a)
	}
	return n
}

// count counts a refusal.
func (x *run) count(j *job) {
	j.user.counts.Refused++
	if j.early {
		x.score.wave++
	} else {
		x.score.refused++
	}
}

// finish counts a job that is done.
func (x *run) finish(j *job) {
	x.left--
	x.score.served++
	j.user.counts.Served++
	x.held = append(x.held, j.sent.Sub(j.asked))
}

func (x *run) result() score {
	s := &x.score
	s.over = x.left == 0
	s.taken = x.now.Sub(begins.Add(x.row.into))
	s.burst = x.server.burst
	slices.Sort(x.held)
	s.median, s.worst = percentile(x.held, 50), percentile(x.held, 99)
	s.fair = x.fairness()
	return *s
}

// percentile is the least of sorted times that p percent do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

// fairness is Jain's index of the rates at which users were served: 1 where all
// are equal, 1/n where one of n has it all.
func (x *run) fairness() float64 {
	var sum, squares float64
	for _, u := range x.users {
		rate := float64(u.counts.Served) / u.over.Sub(begins.Add(x.row.into)).Seconds()
		sum += rate
		squares += float64(rate * rate)
	}
	return float64(sum*sum) / float64(float64(len(x.users))*squares)
}
