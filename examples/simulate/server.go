package main

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// begins is when every simulation begins, but for row.into: windows of any length that is
// aligned to the clock begin with it.
var begins = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A server is the other side, and counts what it sees.
type server struct {
	*loop
	row *row
	api *transporttest.API
	rnd *rand.Rand

	seen   []time.Time          // arrivals of ours within the last moment
	burst  int                  // the most that ever came within one moment
	theirs transporttest.Counts // the other clients'
	watch  func(served bool)    // of each arrival of ours; nil: nobody does
}

// moment is what the largest burst is counted in.
const moment = 100 * time.Millisecond

func newServer(l *loop, r *row, rnd *rand.Rand) *server {
	s := &server{loop: l, row: r, rnd: rnd}
	s.open(1)
	if r.halved[1] > 0 {
		s.after(r.halved[0], func() { s.open(2) })
		s.after(r.halved[1], func() { s.open(1) })
	}
	if r.others > 0 {
		s.crowd()
	}
	return s
}

// open begins to serve with the n-th part of all quotas.
func (s *server) open(n int64) {
	policies := slices.Clone(s.row.policies)
	for i := range policies {
		policies[i].Quota /= n
	}
	s.api = &transporttest.API{
		Policies:     policies,
		Dialect:      s.row.dialect,
		OmitLimits:   s.row.omitLimits,
		OmitPolicies: s.row.omitPolicies,
		Rounding:     s.row.rounding,
		RetryAfter:   s.row.retryAfter,
		Skew:         s.row.skew,
	}
	if s.row.misstate != nil {
		s.api.Misstate = s.row.misstate(s.loop, s.rnd)
	}
}

// answer decides on a request that arrives now.
func (s *server) answer(user string) transporttest.Decision {
	first := 0
	for first < len(s.seen) && s.now.Sub(s.seen[first]) >= moment {
		first++
	}
	s.seen = append(s.seen[first:], s.now)
	s.burst = max(s.burst, len(s.seen))
	d := s.api.Decide(s.now, requestOf(user))
	if s.watch != nil {
		s.watch(d.Served)
	}
	return d
}

// crowd lets other clients in: each comes when it comes, whatever it is told.
func (s *server) crowd() {
	s.after(exponential(s.rnd, s.row.others), func() {
		if s.api.Decide(s.now, requestOf("")).Served {
			s.theirs.Served++
		} else {
			s.theirs.Refused++
		}
		s.crowd()
	})
}

func requestOf(user string) *http.Request {
	return &http.Request{Method: http.MethodGet, Header: http.Header{"X-User": {user}}}
}

// around draws a time with that mean. The longest of a thousand is 1.7 times as long
// as the shortest.
func around(rnd *rand.Rand, mean time.Duration) time.Duration {
	return mean*9/10 + exponential(rnd, mean/10)
}

// exponential draws a time with that mean: of events that know nothing of each other.
func exponential(rnd *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(rnd.ExpFloat64() * float64(mean))
}
