package main

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// begins is the time at which every simulation starts, before row.into is added. It is
// the start of a window for all lengths of aligned windows in use.
var begins = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A server simulates the server and its other clients.
type server struct {
	*loop
	row *row
	api *transporttest.API
	of  map[string]*transporttest.API // with the policies of one kind
	not *transporttest.API            // with the policy that is not told; nil: there is none
	rnd *rand.Rand

	seen   []time.Time          // arrivals of our requests within the last moment
	burst  int                  // the largest number of them within a moment
	theirs transporttest.Counts // of the other clients
	units  int64                // that the request costs that arrives
	watch  func(served bool)    // called at each arrival of our requests; may be nil

	left int64         // of the policy, for a vendor's fields
	full time.Duration // until all of it is there
}

// moment is the period in which a burst is counted.
const moment = 100 * time.Millisecond

func newServer(l *loop, r *row, rnd *rand.Rand) *server {
	s := &server{loop: l, row: r, rnd: rnd, of: make(map[string]*transporttest.API)}
	s.restart(1)
	for _, d := range r.demand {
		if len(d.alone) > 0 {
			s.of[d.kind] = s.enforce(d.alone)
		}
	}
	if r.untold {
		s.not = s.enforce(r.policies[:1])
	}
	if r.halved[1] > 0 {
		s.after(r.halved[0], func() { s.restart(2) })
		s.after(r.halved[1], func() { s.restart(1) })
	}
	if r.others > 0 {
		s.crowd()
	}
	for range r.loops {
		s.after(around(rnd, r.rtt/2), s.repeat)
	}
	return s
}

// restart replaces the API by a new one with all quotas divided by n.
func (s *server) restart(n int64) {
	policies := slices.Clone(s.row.policies)
	if s.row.untold {
		policies = policies[1:]
	}
	for i := range policies {
		policies[i].Quota /= n
	}
	s.api = s.enforce(policies)
}

// enforce returns an API with the policies.
func (s *server) enforce(policies []transporttest.Policy) *transporttest.API {
	api := &transporttest.API{
		Policies:       policies,
		Dialect:        s.row.dialect,
		OmitLimits:     s.row.omitLimits,
		OmitPolicies:   s.row.omitPolicies,
		Rounding:       s.row.rounding,
		OmitRetryAfter: s.row.noRetryAfter,
		Skew:           s.row.skew,
	}
	if s.row.misstate != nil {
		api.Misstate = s.row.misstate(s.loop, s.rnd)
	}
	if s.row.vendor != nil {
		api.OmitLimits, api.OmitPolicies = true, true
		api.Misstate = func(_ string, available int64, window time.Duration) (int64, time.Duration) {
			s.left, s.full = available, max(window, 0)
			return available, window
		}
	}
	if s.row.cost > 0 || s.row.costs > 0 {
		api.Cost = func(*http.Request) int64 { return max(s.units, s.row.cost) }
	}
	return api
}

// answer decides on a request of a user and a kind that arrives now and costs so many units. done ends it.
func (s *server) answer(user, kind string, units int64) (d transporttest.Decision, done func()) {
	s.units = units
	first := 0
	for first < len(s.seen) && s.now.Sub(s.seen[first]) >= moment {
		first++
	}
	s.seen = append(s.seen[first:], s.now)
	s.burst = max(s.burst, len(s.seen))
	if s.row.sheds > 0 && s.rnd.Float64() < s.row.sheds {
		return s.shed(), func() {}
	}
	var untold transporttest.Decision
	if s.not != nil {
		if untold = s.not.Decide(s.clock(), requestOf(user)); !untold.Served {
			return s.shed(), func() {}
		}
	}
	d.Served = true
	if api := s.of[kind]; api != nil {
		d = api.Decide(s.clock(), requestOf(user))
	}
	if d.Served {
		d = s.api.Decide(s.clock(), requestOf(user))
	}
	if s.row.vendor != nil {
		s.row.vendor(d.Header, capacity(s.row.policies[0]), s.left, s.full, s.now)
	}
	if s.watch != nil {
		s.watch(d.Served)
	}
	return d, func() {
		d.Done()
		untold.Done()
	}
}

// clock is the time by the server's clock.
func (s *server) clock() time.Time { return s.now.Truncate(s.row.ticks) }

// shed refuses a request without a field.
func (s *server) shed() transporttest.Decision {
	d := transporttest.Decision{Status: http.StatusTooManyRequests, Header: make(http.Header)}
	if s.row.shedsAll {
		d.Status = http.StatusServiceUnavailable
	}
	if s.row.shedsAfter > 0 {
		d.Header.Set("Retry-After", strconv.Itoa(s.row.shedsAfter))
	}
	if s.watch != nil {
		s.watch(false)
	}
	return d
}

// crowd simulates the requests of other clients, which arrive at random times and ignore
// the responses.
func (s *server) crowd() {
	s.after(exponential(s.rnd, s.row.others), func() {
		s.units = 1
		if s.api.Decide(s.clock(), requestOf("")).Served {
			s.theirs.Served++
		} else {
			s.theirs.Refused++
		}
		s.crowd()
	})
}

// repeat simulates a worker of another client: it sends one request after another, and again after the
// Retry-After if one is refused.
func (s *server) repeat() {
	s.units = 1
	d, wait := s.api.Decide(s.now, requestOf("")), around(s.rnd, s.row.rtt)
	if d.Served {
		s.theirs.Served++
	} else {
		s.theirs.Refused++
		again, _ := strconv.Atoi(d.Header.Get("Retry-After"))
		wait += time.Duration(max(again, 1)) * time.Second
	}
	s.after(wait, s.repeat)
}

func requestOf(user string) *http.Request {
	return &http.Request{Method: http.MethodGet, Header: http.Header{"X-User": {user}}}
}

// around returns a random time with the given mean: nine tenths of it are fixed. The
// longest of a thousand is about 1.7 times as long as the shortest.
func around(rnd *rand.Rand, mean time.Duration) time.Duration {
	return mean*9/10 + exponential(rnd, mean/10)
}

// exponential returns an exponentially distributed time with the given mean, such as the
// time between independent events.
func exponential(rnd *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(rnd.ExpFloat64() * float64(mean))
}
