package main

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

// A row is one experiment: a server, the network, and the demand of the clients.
type row struct {
	name string

	// The server enforces all policies and advertises them according to the fields
	// that follow, which are those of a transporttest.API.
	policies     []transporttest.Policy
	dialect      parse.Dialect
	omitLimits   bool
	omitPolicies bool
	rounding     func(float64) float64
	noRetryAfter bool
	skew         time.Duration
	misstate     func(*loop, *rand.Rand) misstatement // nil: true values
	vendor       vendor                               // the fields instead of those of the dialect; nil: those of the dialect

	cost  int64 // of each request, in quota units; 0: 1
	costs int64 // the cost of each request is random, from 1 to so much; 0: it is not
	knows bool  // the clients know it

	sheds      float64 // part of all requests that is refused at random, whatever is left; without fields
	shedsAfter int     // with a Retry-After of so many seconds; 0: without
	shedsAll   bool    // with 503, and not 429

	untold bool // the first policy is not advertised, and what it refuses has no field

	ticks time.Duration // the server's clock stands still between whole multiples of it; 0: it does not

	halved  [2]time.Duration // quotas are halved from the first to the second time; whole windows
	service time.Duration    // mean time that the server takes to serve a request
	others  time.Duration    // mean time between two requests of other clients; 0: there are none
	loops   int              // workers of another client that retries after each Retry-After
	into    time.Duration    // offset of the start of the run into a clock-aligned window

	// The mean round trip is rtt. A tenth of it is random, half if wild. If dials, a
	// process without an idle connection needs two more round trips.
	rtt   time.Duration
	wild  bool
	dials bool

	// The clients are independent processes, each with the whole demand. Zero
	// processes means one.
	processes int
	demand    []demand

	// The processes are a fleet: they share their accounts through a Hub. To it and back it
	// takes hub; 0: a millisecond.
	fleet bool
	hub   time.Duration
}

// A misstatement returns the values that a server advertises instead of the true ones.
type misstatement func(policy string, available int64, window time.Duration) (int64, time.Duration)

// A vendor writes the fields of an API that counts with a bucket: its capacity, what is left
// of it, and how long it takes until it is full.
type vendor func(h http.Header, capacity, left int64, full time.Duration, now time.Time)

// A demand is the work of one user.
type demand struct {
	user    string
	jobs    int           // requests that have to be served
	workers int           // requests in progress or waiting at a time; 0: no bound
	every   time.Duration // mean time between two arrivals; 0: all arrive at the start
	batch   int           // jobs per arrival, at regular times; 0: one, at random times

	// kind is that of the jobs, such as a method of the API; "": all jobs of the row are
	// of one kind. alone are policies that concern only these jobs, beside those of the
	// row. If words, each job is of a kind of its own, and alone concern all of them.
	kind  string
	alone []transporttest.Policy
	words bool
}

// backlog returns a crawler's demand: all jobs arrive at the start, and a fixed number
// of workers does them.
func backlog(jobs, workers int) []demand {
	return []demand{{jobs: jobs, workers: workers}}
}

// stream returns a demand whose jobs arrive independently of each other.
func stream(jobs int, every time.Duration) []demand {
	return []demand{{jobs: jobs, every: every}}
}

// batches returns a demand whose jobs arrive in batches at regular times.
func batches(jobs, batch int, every time.Duration) []demand {
	return []demand{{jobs: jobs, batch: batch, every: every}}
}

// units returns what a request costs.
func (r *row) units() int64 { return max(r.cost, 1) }

// size returns the number of processes.
func (r *row) size() int { return max(r.processes, 1) }

// half returns a random one-way travel time.
func (r *row) half(rnd *rand.Rand) time.Duration {
	if mean := r.rtt / 2; r.wild {
		return mean/2 + exponential(rnd, mean/2)
	}
	return around(rnd, r.rtt/2)
}

// kinds reports whether the jobs are of several kinds.
func (r *row) kinds() bool { return r.demand[0].kind != "" }

// keyed reports whether there is a quota per user.
func (r *row) keyed() bool { return len(r.policies[0].PartitionBy) > 0 }

// concurrent returns the server's limit on concurrent requests, if it has one.
func (r *row) concurrent() (limit int, ok bool) {
	p := r.policies[0]
	return int(p.Quota), p.Algorithm == transporttest.Concurrency
}

func policy(a transporttest.Algorithm, quota int64, window time.Duration) transporttest.Policy {
	return transporttest.Policy{Name: "api", Quota: quota, Window: window, Algorithm: a}
}

func one(p transporttest.Policy) []transporttest.Policy { return []transporttest.Policy{p} }

// fixed returns a policy with a window that starts with the first request.
func fixed(quota int64, window time.Duration) []transporttest.Policy {
	return one(policy(transporttest.FixedWindow, quota, window))
}

// aligned returns a policy with windows aligned to the clock.
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

// perUser partitions the policy by user.
func perUser(ps []transporttest.Policy) []transporttest.Policy {
	ps[0].PartitionBy = []string{"user_id"}
	return ps
}

// both returns two policies that both apply to every request.
func both(x, y []transporttest.Policy) []transporttest.Policy {
	x[0].Name, y[0].Name = "one", "other"
	return []transporttest.Policy{x[0], y[0]}
}
