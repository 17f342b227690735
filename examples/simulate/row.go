package main

import (
	"math/rand/v2"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// A row is one experiment: a server, the way to it, and what is wanted of it.
type row struct {
	name string

	// The server enforces all policies, and says of them what the next fields
	// have it say, as those of a transporttest.API do.
	policies     []transporttest.Policy
	dialect      transporttest.Dialect
	omitLimits   bool
	omitPolicies bool
	rounding     func(float64) float64
	retryAfter   transporttest.RetryAfterForm
	skew         time.Duration
	misstate     func(*loop, *rand.Rand) misstatement // nil: it says what is

	halved  [2]time.Duration // from when to when quotas are half of it; whole windows
	service time.Duration    // the mean time that it works on a request
	others  time.Duration    // the mean time between two requests of clients that nobody here knows of; 0: none
	into    time.Duration    // how far into a window aligned to the clock the run begins

	// The way to it and back takes rtt in the mean, a tenth of which is chance; half
	// of it, if it is wild. A process that dials has to, which takes two round trips
	// more, where it has no idle connection.
	rtt   time.Duration
	wild  bool
	dials bool

	// The clients: so many processes that do not know of each other, zero for
	// one, of which each has the whole demand.
	processes int
	demand    []demand
}

// A misstatement is what a server says in place of what is so.
type misstatement func(policy string, available int64, window time.Duration) (int64, time.Duration)

// A demand is what one user wants.
type demand struct {
	user    string
	jobs    int           // requests that have to be served
	workers int           // how many the user waits for at a time; 0: no bound
	every   time.Duration // mean time between two arrivals; 0: all are there at the beginning
	batch   int           // how many arrive together; 0: one
}

// backlog is a crawler's demand: all at once, so many workers at a time.
func backlog(jobs, workers int) []demand {
	return []demand{{jobs: jobs, workers: workers}}
}

// stream is the demand of people: each comes when they come.
func stream(jobs int, every time.Duration) []demand {
	return []demand{{jobs: jobs, every: every}}
}

// batches come regularly, so many requests together.
func batches(jobs, batch int, every time.Duration) []demand {
	return []demand{{jobs: jobs, batch: batch, every: every}}
}

// size is the number of processes.
func (r *row) size() int { return max(r.processes, 1) }

// half draws how long a request or an answer is on its way.
func (r *row) half(rnd *rand.Rand) time.Duration {
	if mean := r.rtt / 2; r.wild {
		return mean/2 + exponential(rnd, mean/2)
	}
	return around(rnd, r.rtt/2)
}

// keyed reports whether each user has a quota of its own.
func (r *row) keyed() bool { return len(r.policies[0].PartitionBy) > 0 }

// concurrent is the limit on what is in progress, if that is what the server has.
func (r *row) concurrent() (limit int, ok bool) {
	p := r.policies[0]
	return int(p.Quota), p.Algorithm == transporttest.Concurrency
}

func policy(a transporttest.Algorithm, quota int64, window time.Duration) transporttest.Policy {
	return transporttest.Policy{Name: "api", Quota: quota, Window: window, Algorithm: a}
}

func one(p transporttest.Policy) []transporttest.Policy { return []transporttest.Policy{p} }

// fixed is a window that begins with the first request.
func fixed(quota int64, window time.Duration) []transporttest.Policy {
	return one(policy(transporttest.FixedWindow, quota, window))
}

// aligned is a window that begins when the clock says so.
func aligned(quota int64, window time.Duration) []transporttest.Policy {
	return one(policy(transporttest.AlignedWindow, quota, window))
}

func slidingLog(quota int64, window time.Duration) []transporttest.Policy {
	return one(policy(transporttest.SlidingLog, quota, window))
}

func slidingWindow(quota int64, window time.Duration) []transporttest.Policy {
	return one(policy(transporttest.SlidingWindow, quota, window))
}

func bucket(quota int64, window time.Duration, burst int64) []transporttest.Policy {
	p := policy(transporttest.TokenBucket, quota, window)
	p.Burst = burst
	return one(p)
}

func gcra(quota int64, window time.Duration, burst int64) []transporttest.Policy {
	p := policy(transporttest.GCRA, quota, window)
	p.Burst = burst
	return one(p)
}

func concurrency(quota int64) []transporttest.Policy {
	return one(policy(transporttest.Concurrency, quota, 0))
}

// countRefused makes the policy charge refused requests, too.
func countRefused(ps []transporttest.Policy) []transporttest.Policy {
	ps[0].CountRefused = true
	return ps
}

// block makes the policy block a client after a refusal.
func block(ps []transporttest.Policy, d time.Duration) []transporttest.Policy {
	ps[0].Block = d
	return ps
}

// blockLonger is block with a block that doubles.
func blockLonger(ps []transporttest.Policy, d time.Duration) []transporttest.Policy {
	ps[0].Block, ps[0].BlockLonger = d, true
	return ps
}

// perUser gives each user a quota of its own.
func perUser(ps []transporttest.Policy) []transporttest.Policy {
	ps[0].PartitionBy = []string{"user_id"}
	return ps
}

// both are two policies, met together.
func both(x, y []transporttest.Policy) []transporttest.Policy {
	x[0].Name, y[0].Name = "one", "other"
	return []transporttest.Policy{x[0], y[0]}
}
