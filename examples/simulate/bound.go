package main

import (
	"slices"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// bound is how long a clairvoyant client takes for jobs that come at these times,
// with so many workers, zero for no bound: one that knows the server's state and
// everybody's wishes, and never stalls or is refused.
//
// With when(n), the time after the first request before which no server of the
// kind has granted n; came(n), when the n-th job came; W, the workers; and r, the
// round trip with the service: the jobs from the n-th on can neither begin before
// max(when(n), came(n)), nor be done faster than W of them in r, so that
//
//	bound = max over n of max(when(n), came(n)) + ⌈(N - n + 1)/W⌉ × r
//
// That holds for every client whose round trip is never shorter than r; where it
// varies, r is the mean, and a long run may beat the bound by the luck of its last
// requests.
//
// A limit of c on concurrency is W = min(W, c): a permit is held for the service
// and the round trip, because nobody learns before that it is free, and who sends
// sooner is sometimes refused.
//
// What other clients ask for is theirs: the quota is what they leave of it. A
// penalty, a misstatement and silence cost a clairvoyant client nothing.
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

// when is the time after the first request has arrived before which the server has
// not granted n requests. Of two policies, the first has the shorter window, which
// begins anew within each of the other's: with q, the quota of the longer,
//
//	when(n) = longer(q × ⌊(n-1)/q⌋ + 1) + shorter(((n-1) mod q) + 1)
//
// A quota that is half of it for a while is granted in whole windows: first those
// before, then those with half of it, then the others.
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

// left is what other clients leave of a policy.
func (r *row) left(p transporttest.Policy) transporttest.Policy {
	if r.others > 0 {
		p.Quota -= int64(p.Window / r.others)
	}
	return p
}

// granted is when of one policy. With q, the quota; w, the window; and p, the time
// from the beginning of an aligned window to the first request's arrival in it:
//
//   - A window from the first request: ⌊(n-1)/q⌋ × w. Whoever spends each window at
//     once begins the next as early as can be.
//   - A window aligned to the clock: ⌊(n-1)/q⌋ × w - p. The part of the first
//     window that is over is a present.
//   - A log: ⌊(n-1)/q⌋ × w. The n-th comes w after the (n-q)-th at the earliest.
//   - Two buckets: q at once, and from the end of the first window on, w - p later,
//     m = n-q more: m × w/q in the window after it, and in those after that, each of
//     which grants q-1 at the most, because some of the last one always counts,
//     w + (m-q) × w/(q-1). With c(k) granted in window k, those in the last one, x of
//     a window after its beginning, are at most q - (1-x) × c(k-1). So all are at
//     most the sum of the c before c(k-1), and x × c(k-1), and q; that is largest
//     where each c is, as it is for whoever takes what there is as soon as it is
//     there.
//   - A token bucket and GCRA, with the burst b: b at once, and then (n-b) × w/q.
func (r *row) granted(p transporttest.Policy, n int64) time.Duration {
	full := time.Duration((n - 1) / max(p.Quota, 1))
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
		return refill(p, max(n-atOnce(p), 0))
	}
	panic("simulate: a server of a kind that has no bound")
}

// refill is the time in which n units come back one by one.
func refill(p transporttest.Policy, n int64) time.Duration {
	return time.Duration(n) * p.Window / time.Duration(p.Quota)
}

// atOnce is the burst of a bucket.
func atOnce(p transporttest.Policy) int64 {
	switch {
	case p.Burst > 0:
		return p.Burst
	case p.Algorithm == transporttest.GCRA:
		return 1
	}
	return p.Quota
}

// bounds are the bound of the whole run, and that of each user: alone where users
// have quotas of their own, else that of all together.
func (x *run) bounds(arrivals [][]time.Duration) (longest time.Duration, each []time.Duration) {
	if x.row.keyed() {
		for i, u := range x.users {
			each = append(each, x.row.bound(arrivals[i], u.workers))
		}
		return slices.Max(each), each
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
