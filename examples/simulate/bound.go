package main

import (
	"slices"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// bound returns a lower bound of the time in which any client without refusals can do
// jobs that arrive at the given times: that of a clairvoyant client, which knows the
// server's state and all future arrivals. Zero workers means no bound on their number.
//
// Let N be the number of jobs, when(n) the time after the first request before which
// the server grants fewer than n requests, came(n) the arrival of the n-th job, W the
// number of workers, and r the round trip plus the service time. The jobs from the n-th
// on cannot start before max(when(n), came(n)), and at most W of them are done per r:
//
//	bound = max over n of max(when(n), came(n)) + ⌈(N - n + 1)/W⌉ × r
//
// This holds for every client whose round trip is never shorter than r. If the round
// trip varies, r is its mean, and a long run can beat the bound if its last requests
// happen to be quick.
//
// With a limit of c on concurrency, W is min(W, c). A permit is retained for the
// service time and the round trip, because the client does not know earlier that it is
// free.
//
// Other clients reduce the quota by what they ask for. Penalties, misstatements and
// missing fields cost a clairvoyant client nothing.
func (r *row) bound(came []time.Duration, workers int) time.Duration {
	if workers == 0 {
		workers = len(came)
	}
	if limit, ok := r.concurrent(); ok {
		workers = min(workers, limit)
	}
	trip := r.rtt + r.service
	var longest time.Duration
	for i, at := range came {
		at = max(at, r.when(int64(i+1)))
		rounds := (len(came) - i + workers - 1) / workers
		longest = max(longest, at+time.Duration(rounds)*trip)
	}
	return longest
}

// when returns the earliest time at which the server can have granted n requests, since
// the arrival of the first one. If there are two policies, the first has the shorter
// window, and starts again in each window of the second. With q as the quota of the
// longer one:
//
//	when(n) = longer(q × ⌊(n-1)/q⌋ + 1) + shorter(((n-1) mod q) + 1)
//
// A quota that is halved for a while is granted in three parts: the windows before,
// those with half of the quota, and those after.
func (r *row) when(n int64) time.Duration {
	short := r.left(r.policies[0])
	if len(r.policies) > 1 {
		long := r.left(r.policies[1])
		full := (n - 1) / long.Quota
		return r.granted(long, full*long.Quota+1) + r.granted(short, n-full*long.Quota)
	}
	if r.halved[1] == 0 {
		return r.granted(short, n)
	}
	from, to := r.halved[0], r.halved[1]
	half := short
	half.Quota /= 2
	before := short.Quota * int64(from/short.Window)
	during := half.Quota * int64((to-from)/short.Window)
	switch {
	case n <= before:
		return r.granted(short, n)
	case n <= before+during:
		return from + r.granted(half, n-before)
	}
	return to + r.granted(short, n-before-during)
}

// left returns the policy with the quota that other clients leave: to each worker as much, if theirs retry.
func (r *row) left(p transporttest.Policy) transporttest.Policy {
	if r.others > 0 {
		p.Quota -= int64(p.Window / r.others)
	}
	if r.loops > 0 {
		ours := r.size() * r.demand[0].workers
		p.Quota = p.Quota * int64(ours) / int64(ours+r.loops)
	}
	return p
}

// granted is when for a single policy. Let q be the quota, w the window, and p the time
// from the start of an aligned window to the arrival of the first request.
//
//   - FixedWindow: ⌊(n-1)/q⌋ × w, with ⌊q/c⌋ for q if each request costs c units. A client that spends each window at once starts the
//     next one as early as possible.
//   - AlignedWindow: ⌊(n-1)/q⌋ × w - p. The first window is shorter by p for the
//     client, but grants the whole quota.
//   - SlidingLog: ⌊(n-1)/q⌋ × w. The n-th request is granted at least w after the
//     (n-q)-th.
//   - SlidingWindow: q requests are granted at once. The other m = n-q are granted
//     after the end of the first window, which is at w - p: the m-th after a further
//     m × w/q if it is in the second window, otherwise after w + (m-q) × w/(q-1). Each
//     window after the second grants at most q-1, because a part of the one before
//     always counts. Proof: let window k grant c(k). At a fraction x of window k, at
//     most q - (1-x) × c(k-1) have been granted in it. The total is therefore at most
//     the sum of all c before c(k-1), plus x × c(k-1), plus q. That is largest if each
//     c is, which is so for a client that takes each unit as soon as it is available.
//   - TokenBucket and GCRA with the burst b: b at once, then (n-b) × w/q. If each request
//     costs c units, the n-th needs n × c.
func (r *row) granted(p transporttest.Policy, n int64) time.Duration {
	full := time.Duration((n - 1) / max(p.Quota/r.units(), 1))
	passed := (r.into + r.rtt/2) % max(p.Window, 1)
	switch p.Algorithm {
	case transporttest.Concurrency:
		return 0
	case transporttest.FixedWindow, transporttest.SlidingLog:
		return full * p.Window
	case transporttest.AlignedWindow:
		return max(full*p.Window-passed, 0)
	case transporttest.SlidingWindow:
		more := n - p.Quota
		switch begun := p.Window - passed; {
		case more <= 0:
			return 0
		case more < p.Quota:
			return begun + refill(p, more)
		default:
			return begun + p.Window + time.Duration(more-p.Quota)*p.Window/time.Duration(max(p.Quota-1, 1))
		}
	case transporttest.TokenBucket, transporttest.GCRA:
		return refill(p, max(n*r.units()-capacity(p), 0))
	}
	panic("simulate: no bound for this algorithm")
}

// refill returns the time in which n units come back one by one.
func refill(p transporttest.Policy, n int64) time.Duration {
	return time.Duration(n) * p.Window / time.Duration(p.Quota)
}

// capacity returns the burst of a bucket.
func capacity(p transporttest.Policy) int64 {
	switch {
	case p.Burst > 0:
		return p.Burst
	case p.Algorithm == transporttest.GCRA:
		return 1
	}
	return p.Quota
}

// bounds returns the bound of the whole run and of each user. A user's bound is its own
// if there is a quota per user or per kind, otherwise that of all users together.
func (x *run) bounds(arrivals [][]time.Duration) (longest time.Duration, each []time.Duration) {
	if x.row.kinds() {
		for i, u := range x.users {
			r := *x.row
			if alone := r.demand[i%len(r.demand)].alone; len(alone) > 0 {
				r.policies = alone
			}
			each = append(each, r.bound(arrivals[i], u.workers))
		}
		all := slices.Concat(arrivals...)
		slices.Sort(all)
		return max(slices.Max(each), x.row.bound(all, 0)), each
	}
	if x.row.keyed() {
		for i, u := range x.users {
			each = append(each, x.row.bound(arrivals[i], u.workers))
		}
		return slices.Max(each), each
	}
	if x.row.costs > 0 {
		var units int64
		for _, u := range x.users {
			for _, n := range u.costs {
				units += n
			}
		}
		longest = x.row.granted(x.row.policies[0], units) + x.row.rtt // if they fill all windows
		return longest, slices.Repeat([]time.Duration{longest}, len(x.users))
	}
	workers := 0
	for _, u := range x.users {
		if u.workers == 0 {
			workers = 0
			break
		}
		workers += u.workers
	}
	all := slices.Concat(arrivals...)
	slices.Sort(all)
	longest = x.row.bound(all, workers)
	return longest, slices.Repeat([]time.Duration{longest}, len(x.users))
}
