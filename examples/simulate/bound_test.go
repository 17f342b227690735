package main

import (
	"container/heap"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/transport/transporttest"
)

// A clairvoyant is a client whose requests arrive as soon as the server serves them. It
// finds this time by trying until a request is served, which costs nothing. The server is
// that of the row without other clients, penalties and misstatements.
type clairvoyant struct {
	api        *transporttest.API
	row        *row
	now        time.Time // of the last arrival
	inProgress inProgress
}

// step is the interval at which a clairvoyant tries.
const step = time.Millisecond

func newClairvoyant(r *row) *clairvoyant {
	honest := *r
	honest.misstate, honest.others, honest.loops, honest.halved = nil, 0, 0, [2]time.Duration{}
	honest.policies = slices.Clone(r.policies)
	for i, p := range honest.policies {
		honest.policies[i] = r.left(p)
		honest.policies[i].CountRefused, honest.policies[i].Block = false, 0
	}
	honest.omitLimits, honest.omitPolicies, honest.noRetryAfter = false, false, false
	honest.rounding = math.Floor
	s := newServer(&loop{now: begins}, &honest, nil)
	return &clairvoyant{api: s.api, row: r, now: begins}
}

// arrive simulates a user's request that arrives at a time or, if it would be refused
// then, as soon as it is served. It returns the time of arrival.
func (c *clairvoyant) arrive(at time.Time, user string) time.Time {
	if at.After(c.now) {
		c.now = at
	}
	for {
		for len(c.inProgress) > 0 && !c.inProgress[0].end.After(c.now) {
			heap.Pop(&c.inProgress).(served).decision.Done()
		}
		d := c.api.Decide(c.now, requestOf(user))
		if d.Served {
			heap.Push(&c.inProgress, served{c.now.Add(c.row.service), &d})
			return c.now
		}
		wait, _ := strconv.Atoi(d.Header.Get("Retry-After")) // rounded down
		c.now = c.now.Add(max(time.Duration(wait)*time.Second, step))
	}
}

// A served request is in progress until end.
type served struct {
	end      time.Time
	decision *transporttest.Decision
}

// inProgress is a heap, ordered by end.
type inProgress []served

func (h inProgress) Len() int           { return len(h) }
func (h inProgress) Less(i, j int) bool { return h[i].end.Before(h[j].end) }
func (h inProgress) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *inProgress) Push(x any)        { *h = append(*h, x.(served)) }
func (h *inProgress) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// work simulates workers that do jobs with the given arrival times, and returns the time
// that they take.
func (c *clairvoyant) work(came []time.Duration, workers int, user string) time.Duration {
	begin := begins.Add(c.row.into)
	if workers == 0 {
		workers = len(came)
	}
	if limit, ok := c.row.concurrent(); ok {
		workers = min(workers, limit)
	}
	free := slices.Repeat([]time.Time{begin}, workers) // a queue: round trips are equal, so workers come back in order
	for _, at := range came {
		leaves := begin.Add(at)
		if free[0].After(leaves) {
			leaves = free[0]
		}
		arrived := c.arrive(leaves.Add(c.row.rtt/2), user)
		free = append(free[1:], arrived.Add(c.row.service+c.row.rtt/2))
	}
	return free[len(free)-1].Sub(begin)
}

// A clairvoyant client is not quicker than the bound, and less than 3 % slower.
func TestBound(t *testing.T) {
	for _, r := range rows() {
		if r.halved[1] > 0 || r.costs > 0 || raced.Detector && r.policies[0].Quota > 100 {
			continue // TestBoundOfHalf covers halved, and TestBoundOfCosts costs
		}
		r.untold = false // who knows everything knows that policy, too
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			x := &run{loop: &loop{now: begins}, row: &r, rnd: source(1, r.name, "")}
			arrivals := x.populate(contenders()[0], 1)
			bound, each := x.bounds(arrivals)
			if r.keyed() {
				for i, u := range x.users[:4] {
					took := newClairvoyant(&r).work(arrivals[i], u.workers, u.name)
					near(t, each[i], took)
				}
				return
			}
			if r.kinds() { // each has a bound of its own
				for i, u := range x.users {
					alone := r
					if ps := r.demand[i].alone; len(ps) > 0 {
						alone.policies = ps
					}
					near(t, each[i], newClairvoyant(&alone).work(arrivals[i], u.workers, ""))
				}
				return
			}
			workers := 0
			for _, u := range x.users {
				workers += u.workers
			}
			all := slices.Concat(arrivals...)
			slices.Sort(all)
			near(t, bound, newClairvoyant(&r).work(all, workers, ""))
		})
	}
}

// near asserts that the time taken is between the bound and 1.03 times the bound. It is
// longer than the bound because of step and of workers that are busy when they are
// needed.
func near(t *testing.T, bound, took time.Duration) {
	t.Helper()
	require.Positive(t, bound)
	assert.LessOrEqual(t, bound, took)
	assert.Less(t, took.Seconds()/bound.Seconds(), 1.03, "%v, and the bound is %v", took, bound)
}

// A quota of 10 per 10 s that is halved from 20 s to 40 s grants 10, 10, 5, 5, 10.
func TestBoundOfHalf(t *testing.T) {
	r := &row{policies: aligned(10, 10*sec), halved: [2]time.Duration{20 * sec, 40 * sec}}
	for n, want := range map[int64]time.Duration{
		1: 0, 10: 0, 11: 10 * sec, 20: 10 * sec,
		21: 20 * sec, 25: 20 * sec, 26: 30 * sec, 30: 30 * sec,
		31: 40 * sec, 40: 40 * sec, 41: 50 * sec,
	} {
		assert.Equal(t, want, r.when(n), "the %dth", n)
	}
}

// Of random costs, the bound is the time in which as many units are granted.
func TestBoundOfCosts(t *testing.T) {
	for name, want := range map[string]func(units int64) time.Duration{
		"fleet of 8, costs 1 to 20":       func(n int64) time.Duration { return time.Duration((n-1)/200) * 10 * sec },
		"fleet of 8, bucket, costs to 10": func(n int64) time.Duration { return time.Duration(n-100) * sec / 10 },
	} {
		r := rowCalled(t, name)
		x := newRun(r, contenders()[0], 1)
		var units int64
		for _, u := range x.users {
			require.Len(t, u.costs, r.demand[0].jobs)
			assert.Positive(t, slices.Min(u.costs))
			assert.LessOrEqual(t, slices.Max(u.costs), r.costs)
			for _, n := range u.costs {
				units += n
			}
		}
		assert.Equal(t, want(units)+r.rtt, x.score.bound, name)
	}
}

// Bounds that were computed by hand.
func TestBoundByHand(t *testing.T) {
	at := func(ds ...time.Duration) []time.Duration { return ds }
	for _, tt := range []struct {
		name    string
		row     row
		came    []time.Duration
		workers int
		want    time.Duration
	}{
		{"one", row{policies: fixed(2, 10*sec), rtt: sec}, at(0), 1, sec},
		{"one by one", row{policies: fixed(2, 10*sec), rtt: sec}, at(0, 0), 1, 2 * sec},
		{"together", row{policies: fixed(2, 10*sec), rtt: sec}, at(0, 0), 2, sec},
		{"the next window", row{policies: fixed(2, 10*sec), rtt: sec}, at(0, 0, 0), 2, 11 * sec},
		{"two windows, one by one", row{policies: fixed(2, 10*sec), rtt: sec}, at(0, 0, 0, 0), 1, 12 * sec},
		{"slow workers", row{policies: fixed(2, 10*sec), rtt: 8 * sec}, at(0, 0, 0, 0), 1, 32 * sec},
		{"a late arrival", row{policies: fixed(2, 10*sec), rtt: sec}, at(0, 30*sec), 0, 31 * sec},
		// The second request leaves half a round trip before the window starts.
		{"an aligned window", row{policies: aligned(1, 10*sec), into: 4 * sec, rtt: sec}, at(0, 0), 2, 6*sec + sec/2},
		{"a log", row{policies: slidingLog(2, 10*sec), rtt: sec}, at(0, 0, 0), 0, 11 * sec},
		// At 10 s both units of the first window count; at 15 s, one does.
		{"two buckets", row{policies: slidingWindow(2, 10*sec), rtt: sec}, at(0, 0, 0), 0, 15*sec + sec/2},
		// Units are granted at 13.3 s and 16.7 s in the second window, at 20 s and 25 s in the third.
		{"two buckets, a third window", row{policies: slidingWindow(3, 10*sec), rtt: sec}, at(0, 0, 0, 0, 0, 0, 0), 0, 25*sec + sec/2},
		{"a bucket", row{policies: bucket(1, 10*sec, 2), rtt: sec}, at(0, 0, 0), 0, 11 * sec},
		{"gcra", row{policies: gcra(2, 10*sec, 0), rtt: sec}, at(0, 0, 0), 0, 11 * sec},
		{"concurrency", row{policies: concurrency(2), rtt: sec, service: 2 * sec}, at(0, 0, 0), 50, 6 * sec},
		{"two policies", row{policies: both(fixed(1, sec), fixed(2, 10*sec)), rtt: sec / 2}, at(0, 0, 0, 0), 0, 11*sec + sec/2},
		{"what a loop leaves", row{policies: fixed(3, 10*sec), loops: 2, demand: backlog(2, 1), rtt: sec}, at(0, 0), 1, 11 * sec},
		{"what others leave", row{policies: fixed(3, 10*sec), others: 5 * sec, rtt: sec}, at(0, 0), 0, 11 * sec},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.row.bound(tt.came, tt.workers))
		})
	}
}
