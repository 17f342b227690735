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

	users []*user
	left  int // jobs that are not done
	sent  int
	each  []time.Duration // the bound of each user
	held  []time.Duration // what each job waited from being asked to leaving for good
	score score
}

// A score is how a strategy did in a row.
type score struct {
	end     end
	bound   time.Duration // of a clairvoyant client
	taken   time.Duration
	served  int
	refused int           // but for the first wave
	wave    int           // refused that had left before their process heard anything
	median  time.Duration // of the time held, with what refusals cost
	worst   time.Duration // the 99th percentile of it
	burst   int           // the most that arrived in a moment
	fair    float64       // see fairness
}

// An end is how a run ended.
type end int

const (
	done  end = iota
	late      // it was given up
	stuck     // nobody was in flight, nothing was planned, and jobs were left
)

// goodput is the time of a clairvoyant client over the time taken.
func (s *score) goodput() float64 { return s.bound.Seconds() / s.taken.Seconds() }

// refusals are in percent of what was served.
func (s *score) refusals() float64 { return 100 * float64(s.refused) / float64(s.served) }

// price is what one refused request costs, in time lost.
const price = time.Second

// cost is the time lost and the price of what was refused. Nothing is won by being
// quicker than the bound, at the expense of other clients.
func (s *score) cost() time.Duration {
	return max(s.taken-s.bound, 0) + price*time.Duration(s.refused)
}

// A run is given up after so many times the clairvoyant time, and an hour, or so
// many times the requests.
const patience = 20

// play lets a contender play a row. The same seed gives the same score.
func play(r *row, c contender, seed uint64) score {
	x := newRun(r, c, seed)
	deadline := x.now.Add(patience*x.score.bound + time.Hour)
	most := patience * x.left
	x.run(func() bool { return x.left == 0 || x.now.After(deadline) || x.sent > most })
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

// populate makes the processes and their users, plans what they want, and returns
// when each user's jobs come: the same for all contenders.
func (x *run) populate(c contender, seed uint64) (arrivals [][]time.Duration) {
	wishes := source(seed, x.row.name, "demand")
	for range x.row.size() {
		p := &process{run: x, strategy: c.make(x.row, x.rnd)}
		for _, d := range x.row.demand {
			if len(p.lines) == 0 || x.row.keyed() {
				p.lines = append(p.lines, &line{process: p})
			}
			u := &user{process: p, line: p.lines[len(p.lines)-1], name: d.user, workers: d.workers}
			u.crawls = d.every == 0
			x.left += d.jobs
			x.users = append(x.users, u)
			arrivals = append(arrivals, u.plan(d, wishes))
		}
	}
	return arrivals
}

// source is a source of random numbers for one purpose.
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

// finish counts a job that is done. What a crawler's jobs are held counts only
// where all are crawlers: it is not delay, but what there is to crawl.
func (x *run) finish(j *job) {
	x.left--
	x.score.served++
	j.user.counts.Served++
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

// percentile is the least of sorted times that p percent do not exceed.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*p+99)/100-1]
}

// fairness is Jain's index, 1 where all fare alike and 1/n where one of n has it
// all, of the goodput of each user, and of the part of what other clients asked for
// that was served:
//
//	(Σ x)² / (n × Σ x²)
func (x *run) fairness() float64 {
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
		squares += float64(x * x) // the conversion keeps it from being fused
	}
	if squares == 0 {
		return 1
	}
	return float64(sum*sum) / float64(float64(len(xs))*squares)
}
