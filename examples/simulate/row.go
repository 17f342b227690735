package main

import (
	"fmt"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// A row is one experiment: a server, the way to it, and what is wanted of it.
type row struct {
	name string

	// The server. Of policies, all enforce; others is the mean time between two
	// requests of clients that nobody here knows of, zero for none.
	policies  []transporttest.Policy
	dialect   transporttest.Dialect
	advertise transporttest.Advertise
	rounding  transporttest.Rounding
	others    time.Duration

	into time.Duration // how far into a window aligned to the clock the run begins

	// The way to it and back takes rtt in the mean.
	rtt time.Duration

	// The clients: so many processes that do not know of each other, zero for
	// one, of which each has the whole demand.
	processes int
	demand    []demand
}

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

// keyed reports whether each user has a quota of its own.
func (r *row) keyed() bool { return len(r.policies[0].PartitionBy) > 0 }

// api returns a server that nobody has asked yet.
func (r *row) api() *transporttest.API {
	return &transporttest.API{
		Policies:  r.policies,
		Dialect:   r.dialect,
		Advertise: r.advertise,
		Rounding:  r.rounding,
	}
}

// fixed is a window that begins with the first request.
func fixed(quota int64, window time.Duration) []transporttest.Policy {
	return one(quota, window, transporttest.FixedWindow)
}

// aligned is a window that begins when the clock says so.
func aligned(quota int64, window time.Duration) []transporttest.Policy {
	return one(quota, window, transporttest.AlignedWindow)
}

// bucket is a token bucket that holds burst and refills so many in a window.
func bucket(burst int64, window time.Duration) []transporttest.Policy {
	return one(burst, window, transporttest.TokenBucket)
}

func one(quota int64, window time.Duration, a transporttest.Algorithm) []transporttest.Policy {
	return []transporttest.Policy{{Name: "api", Quota: quota, Window: window, Algorithm: a}}
}

const ms = time.Millisecond

// windows are the lengths that every kind of server is tried with, each with
// about as many requests a second.
var windows = []struct {
	quota  int64
	length time.Duration
}{{20, time.Second}, {100, 10 * time.Second}, {300, time.Minute}}

// rows are all experiments.
func rows() []row {
	var all []row
	for _, w := range windows {
		jobs := 10 * int(w.quota)
		in := fmt.Sprintf("/%d/%v", w.quota, w.length)
		all = append(all,
			row{name: "fixed" + in, policies: fixed(w.quota, w.length), rtt: 50 * ms, demand: backlog(jobs, 50)},
			row{name: "aligned" + in, policies: aligned(w.quota, w.length), into: w.length / 3, rtt: 50 * ms, demand: backlog(jobs, 50)},
			row{name: "bucket" + in, policies: bucket(w.quota, w.length), rtt: 50 * ms, demand: backlog(jobs, 50)},
		)
	}
	return append(all,
		row{name: "fixed/100/10s/down", policies: fixed(100, 10*time.Second), rounding: transporttest.RoundDown, rtt: 50 * ms, demand: backlog(1000, 50)},
		row{name: "fixed/20/1s/rtt 200ms", policies: fixed(20, time.Second), rtt: 200 * ms, demand: backlog(400, 50)},
		row{name: "8 processes", policies: fixed(100, 10*time.Second), rtt: 50 * ms, processes: 8, demand: backlog(1000, 6)},
		row{name: "demand fits", policies: fixed(100, 10*time.Second), rtt: 50 * ms, demand: stream(500, 200*ms)},
		row{name: "bursts fit", policies: fixed(100, 10*time.Second), rtt: 50 * ms, demand: batches(600, 60, 11*time.Second)},
	)
}
