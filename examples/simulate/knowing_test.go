package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport/transporttest"
)

// A knowing client is told the rule of the server and the shortest trip, and has the quota
// alone. It does not know when its requests arrive, but that each is on its way for at least
// the shortest trip, in both directions. It sends only what is sure to be served.
type knowing struct {
	policy transporttest.Policy
	trip   time.Duration      // the shortest one way
	jobs   []*job             // in the order of departure; those that no longer count are gone
	came   map[*job]time.Time // the latest arrival; of none that is on its way
}

func newKnowing(r *row, _ *rand.Rand) strategy {
	trip := r.rtt / 2 * 9 / 10
	if r.wild {
		trip = r.rtt / 4
	}
	return &knowing{policy: r.policies[0], trip: trip, came: make(map[*job]time.Time)}
}

// admit counts the requests that may be less than a window, or a unit, older than one that
// departs now and arrives as soon as it can.
func (s *knowing) admit(now time.Time, j *job) (time.Duration, bool) {
	q, w := int(s.policy.Quota), s.policy.Window
	if s.policy.Algorithm == transporttest.GCRA {
		q, w = 1, w/time.Duration(q)
	}
	arrives := now.Add(s.trip)
	if s.policy.Algorithm == transporttest.SlidingWindow {
		if fits := s.weighed(arrives); fits.After(arrives) {
			return fits.Sub(arrives), false
		}
		s.jobs = append(s.jobs, j)
		return 0, true
	}
	for len(s.jobs) > 0 && s.policy.Algorithm == transporttest.FixedWindow {
		// All of a window is over together, and it has begun when the first of them came.
		n := min(q, len(s.jobs))
		begun, ok := s.earliest(s.jobs[:n])
		if !ok || begun.Add(w).After(arrives) {
			if n < q {
				break
			}
			if ok {
				return begun.Add(w).Sub(arrives), false
			}
			return 0, false
		}
		s.jobs = s.jobs[n:]
	}
	if s.policy.Algorithm != transporttest.FixedWindow {
		s.jobs = slices.DeleteFunc(s.jobs, func(j *job) bool {
			came, ok := s.came[j]
			return ok && !came.Add(w).After(arrives)
		})
		if unitsOf(s.jobs)+j.units > int64(q) {
			if came, ok := s.earliest(s.jobs); ok {
				return came.Add(w).Sub(arrives), false
			}
			return 0, false
		}
	}
	s.jobs = append(s.jobs, j)
	return 0, true
}

// unitsOf returns what the jobs cost.
func unitsOf(jobs []*job) (units int64) {
	for _, j := range jobs {
		units += j.units
	}
	return units
}

// weighed returns when one more is sure to be served in windows of which the one before
// counts by how much of it lies within a window. What has not been answered may still
// arrive.
func (s *knowing) weighed(arrives time.Time) time.Time {
	q, w := int(s.policy.Quota), s.policy.Window
	start := arrives.Truncate(w)
	current, previous := 0, 0
	for _, j := range s.jobs {
		switch came, ok := s.came[j]; {
		case !ok || !came.Before(start):
			current++
		case !came.Before(start.Add(-w)):
			previous++
		}
	}
	switch room := q - 1 - current; {
	case room >= previous:
		return arrives
	case room < 0:
		return start.Add(w)
	default:
		return start.Add(w*time.Duration(previous-room)/time.Duration(previous) + 1)
	}
}

// earliest returns the earliest of the latest arrivals that are known.
func (s *knowing) earliest(jobs []*job) (first time.Time, ok bool) {
	for _, j := range jobs {
		if came, known := s.came[j]; known && (!ok || came.Before(first)) {
			first, ok = came, true
		}
	}
	return first, ok
}

func (s *knowing) settle(now time.Time, j *job, _ transporttest.Decision) time.Duration {
	s.came[j] = now.Add(-s.trip)
	return 0
}

// What a client reaches that knows the rule. The reasons in misses quote it.
func TestKnowing(t *testing.T) {
	want := map[string]float64{
		"gcra 20/1s": 0.913, "gcra 20/1s, 200ms": 0.252, "aligned 20/1s, 200ms": 0.961,
		"fixed 20/1s, 200ms": 0.996, "fixed 20/1s, 200ms, wild": 0.981,
		"two buckets 20/1s": 1, "fixed 20/1s down, no policy": 0.999, "figures mean headroom": 0.995, "replicas that lag": 1, "log 60/60s, costs to 10": 0.941,
	}
	for _, r := range rows() {
		goodput, ok := want[r.name]
		if !ok {
			continue
		}
		s := play(&r, contender{"knowing", false, newKnowing}, 1)
		assert.InDelta(t, goodput, s.goodput(), 0.002, r.name)
		assert.Zero(t, s.refused+s.wave, r.name)
	}
}

// An asking client sends at once, until the first answer says that nothing is left. Then one request departs alone,
// and nothing holds the others any more once that is served.
type asking struct {
	told  time.Time // when the first answer came
	asked bool      // one departs alone
	knows bool      // it was served
}

func (s *asking) admit(time.Time, *job) (time.Duration, bool) {
	if s.told.IsZero() || s.knows {
		return 0, true
	}
	asks := !s.asked
	s.asked = true
	return 0, asks
}

func (s *asking) settle(now time.Time, j *job, _ transporttest.Decision) time.Duration {
	if s.told.IsZero() {
		s.told = now
	}
	s.knows = s.knows || !j.sent.Before(s.told)
	return 0
}

// Where all is over in twenty round trips, who asks once whether nothing is left is slower than with retry by more
// than 3 %. The reason in misses quotes it.
func TestAskingOnce(t *testing.T) {
	r := rowCalled(t, "a=0 always")
	asks := median(playSeeds(r, contender{"asking", false, func(*row, *rand.Rand) strategy { return &asking{} }}, 1, 9))
	retry := median(playSeeds(r, contenders()[2], 1, 9))
	assert.InDelta(t, 0.941, asks.goodput(), 0.002)
	assert.Zero(t, asks.refused+asks.wave)
	assert.True(t, asks.harms(&retry), "%v, and retry %v", asks.goodput(), retry.goodput())
}
