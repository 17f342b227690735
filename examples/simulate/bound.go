package main

import (
	"slices"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// bound is how long a clairvoyant client takes: one that knows the server's
// state and everybody's wishes, and never stalls or is refused.
//
// With when(n), the time after the first request before which no server of the
// kind has granted n; came(n), when the n-th job came; W workers; and r, the
// round trip: the jobs from the n-th on can neither begin before
// max(when(n), came(n)), nor go faster than W of them in a round trip, so that
//
//	bound = max over n of max(when(n), came(n)) + ⌈(N - n + 1)/W⌉ × r
//
// That holds for any client whose round trip is never shorter; where it varies,
// r is the mean. Users who have quotas of their own are bounded each by itself.
func (x *run) bound() time.Duration {
	if !x.row.keyed() {
		workers := 0
		for _, u := range x.users {
			if u.workers == 0 {
				workers = 0
				break
			}
			workers += u.workers
		}
		all := slices.Concat(x.arrivals...)
		slices.Sort(all)
		return boundOf(x.row, all, workers)
	}
	var longest time.Duration
	for i, u := range x.users {
		longest = max(longest, boundOf(x.row, x.arrivals[i], u.workers))
	}
	return longest
}

// boundOf is the bound for jobs that come at these times, in order.
func boundOf(r *row, came []time.Duration, workers int) time.Duration {
	if workers == 0 {
		workers = len(came)
	}
	var longest time.Duration
	for i, at := range came {
		for _, p := range r.policies {
			at = max(at, when(p, r.into, int64(i+1)))
		}
		rest := len(came) - i
		longest = max(longest, at+time.Duration((rest+workers-1)/workers)*r.rtt)
	}
	return longest
}

// when is the time after the first request before which a policy has not
// granted n requests, where that one came so far into a window aligned to the
// clock. With q, the quota, and w, the window:
//
//   - A window from the first request: ⌊(n-1)/q⌋ × w. Whoever spends each
//     window at once begins the next as early as can be.
//   - A window aligned to the clock: the same, but for the part of the first
//     window that was over, which is given for nothing.
//   - A token bucket: the burst b = q at once, and then (n-b) × w/q.
func when(p transporttest.Policy, into time.Duration, n int64) time.Duration {
	full := time.Duration((n - 1) / p.Quota)
	switch p.Algorithm {
	case transporttest.FixedWindow:
		return full * p.Window
	case transporttest.AlignedWindow:
		return max(full*p.Window-into%p.Window, 0)
	case transporttest.TokenBucket:
		return time.Duration(max(n-p.Quota, 0)) * p.Window / time.Duration(p.Quota)
	}
	panic("simulate: a server of a kind that has no bound")
}
