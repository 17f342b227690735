package main

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// A run is a simulation of one strategy in one row.
type run struct {
	*loop
	row    *row
	server *server
	rnd    *rand.Rand

	users []*user
	left  int             // jobs that are not done
	sent  int             // requests
	each  []time.Duration // the bound of each user
	held  []time.Duration // of each job: from when a worker asked to when the served request left
	half  []float64       // the units of each user when half of all jobs were done
	fleet sharing
	score score
}

// A score is the result of a run.
type score struct {
	end     end
	bound   time.Duration // of a clairvoyant client
	taken   time.Duration
	served  int
	refused int           // without the wave
	wave    int           // refused requests that left before their process received a response
	median  time.Duration // of run.held
	worst   time.Duration // the 99th percentile of run.held
	burst   int           // the largest number of arrivals in a moment
	fair    float64       // see fairness
	turns   int           // of a fleet: exchanges with the Hub
	atOnce  int           // of a fleet: requests that left as soon as a worker asked
	worse   bool          // than retry, in most of the seeds that this is the median of
}

// An end is the way in which a run ended.
type end int

const (
	done  end = iota
	late      // it was given up
	stuck     // jobs were left, but no event was planned
)

// goodput returns the time of a clairvoyant client divided by the time taken.
func (s *score) goodput() float64 { return s.bound.Seconds() / s.taken.Seconds() }

// refusals returns the refused requests in percent of the served ones.
func (s *score) refusals() float64 { return 100 * float64(s.refused) / float64(s.served) }

// price is the cost of a refused request.
const price = time.Second

// cost returns the time lost plus the price of the refused requests. A client that is
// quicker than the bound, at the expense of other clients, gains nothing.
func (s *score) cost() time.Duration {
	return max(s.taken-s.bound, 0) + price*time.Duration(s.refused)
}

// patience bounds a run: it is given up after this many times the clairvoyant time plus
// an hour, or after this many times the necessary requests.
const patience = 20

// play simulates a contender in a row. The same seed gives the same score.
func play(r *row, c contender, seed uint64) score {
	x := newRun(r, c, seed)
	deadline := x.now.Add(patience*x.score.bound + time.Hour)
	maxSent := patience * x.left
	x.run(func() bool { return x.left == 0 || x.now.After(deadline) || x.sent > maxSent })
	return x.result()
}

func newRun(r *row, c contender, seed uint64) *run {
	l := &loop{now: begins.Add(r.into)}
	x := &run{
		loop: l, row: r, rnd: source(seed, r.name, "network"),
		server: newServer(l, r, source(seed, r.name, "server")),
	}
	x.score.bound, x.each = x.bounds(x.populate(c, seed))
	return x
}

// populate creates the processes and their users and plans their jobs. It returns the
// arrival times of each user's jobs, which are the same for all contenders.
func (x *run) populate(c contender, seed uint64) (arrivals [][]time.Duration) {
	rnd := source(seed, x.row.name, "demand")
	for range x.row.size() {
		p := &process{run: x, strategy: c.make(x.row, x.rnd)}
		if m, ok := p.strategy.(*member); ok {
			m.join(p)
		}
		for _, d := range x.row.demand {
			if len(p.lines) == 0 || x.row.keyed() || x.row.kinds() {
				p.lines = append(p.lines, &line{process: p})
			}
			u := &user{process: p, line: p.lines[len(p.lines)-1], name: d.user, kind: d.kind, words: d.words, workers: d.workers}
			u.crawls = d.every == 0
			if x.row.costs > 0 {
				for range d.jobs {
					u.costs = append(u.costs, 1+rnd.Int64N(x.row.costs))
				}
			}
			x.left += d.jobs
			x.users = append(x.users, u)
			arrivals = append(arrivals, u.plan(d, rnd))
		}
	}
	return arrivals
}

// source returns a random generator for one purpose in one row.
func source(seed uint64, row, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(row + "\x00" + purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
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

// finish counts a job that is done. The time for which a crawler's job was held counts
// only if all users are crawlers: it depends on the size of the backlog.
func (x *run) finish(j *job) {
	x.left--
	x.score.served++
	j.user.counts.Served++
	if x.score.served == (x.score.served+x.left)/2 {
		for _, u := range x.users {
			x.half = append(x.half, float64(u.units))
		}
	}
	if x.row.fleet && j.sent.Equal(j.asked) {
		x.score.atOnce++
	}
	if !j.user.crawls || x.crawl() {
		x.held = append(x.held, j.sent.Sub(j.asked))
	}
}

func (x *run) crawl() bool {
	for _, d := range x.row.demand {
		if d.every > 0 {
			return false
		}
	}
	return true
}

func (x *run) result() score {
	s := &x.score
	switch {
	case x.left == 0:
	case len(x.events) == 0:
		s.end = stuck
	default:
		s.end = late
	}
	s.taken = x.now.Sub(begins.Add(x.row.into))
	s.burst = x.server.burst
	slices.Sort(x.held)
	s.median, s.worst = percentile(x.held, 50), percentile(x.held, 99)
	s.fair = x.fairness()
	return *s
}

// percentile returns the p-th percentile of sorted times: the smallest that at least p
// percent of them do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

// fairness returns Jain's index over the goodput of each user and the served fraction
// of the other clients' requests. It is 1 if all are equal, and 1/n if one of n gets
// everything:
//
//	(Σ x)² / (n × Σ x²)
//
// In a fleet it is over the units that each process was served when half of all jobs were done.
func (x *run) fairness() float64 {
	if x.row.fleet {
		return jain(x.half)
	}
	var xs []float64
	for i, u := range x.users {
		if u.counts.Served == 0 {
			xs = append(xs, 0)
			continue
		}
		xs = append(xs, x.each[i].Seconds()/u.over.Sub(begins.Add(x.row.into)).Seconds())
	}
	if c := x.server.theirs; c.Served+c.Refused > 0 {
		xs = append(xs, float64(c.Served)/float64(c.Served+c.Refused))
	}
	return jain(xs)
}

func jain(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
		squares += float64(x * x) // the conversion prevents a fused multiply-add
	}
	if squares == 0 {
		return 1
	}
	return float64(sum*sum) / float64(float64(len(xs))*squares)
}
