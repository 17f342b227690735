package quota

import (
	"slices"
	"time"
)

// asleep bounds the requests in flight after refusals of single requests: see alone.go. A client
// without a Shaper sleeps in the goroutine whose request was refused, and goes on in the others.
// So for the back-off of such a refusal, one request less is in flight than there was.
type asleep struct {
	flight int64     // in flight and asleep, at most, since one of them began to sleep
	until  []instant // when each of them wakes, the first to wake first
}

const (
	maxAsleep    = 128
	longestSleep = time.Minute // a longer Retry-After says nothing of how many requests the callers will have
)

// sleep has one request less in flight from t on, for the back-off of a refusal. The caller of one that
// sleeps may sleep, too. If it comes back at once, it waits in the line, and is not counted twice.
func (s *asleep) sleep(t instant, r *refusal) {
	n, _ := s.at(t)
	if s.until = slices.Delete(s.until, 0, len(s.until)-n); n == 0 {
		s.flight = 0
	}
	s.flight = max(s.flight, r.out+max(r.waiting, int64(n)))
	if n == maxAsleep {
		s.until = slices.Delete(s.until, 0, 1)
	}
	until := min(r.until, t.Add(longestSleep))
	i, _ := slices.BinarySearch(s.until, until)
	s.until = slices.Insert(s.until, i, until)
}

// at returns how many sleep at t, and when the first of them wakes.
func (s *asleep) at(t instant) (n int, until instant) {
	i, _ := slices.BinarySearch(s.until, t+1)
	if i == len(s.until) {
		return 0, t
	}
	return len(s.until) - i, s.until[i]
}

// ready returns when one request more than those in flight may depart: t, or when the next one
// wakes. One may always be in flight.
func (s *asleep) ready(t instant, inFlight int64) instant {
	if n, until := s.at(t); n > 0 && inFlight >= max(s.flight-int64(n), 1) {
		return until
	}
	return t
}

// asleepUntil returns when one request more of an account may depart, as far as those that sleep
// matter.
func (o *Origin) asleepUntil(t instant, a *account) instant {
	if len(o.asleep) == 0 {
		return t
	}
	s := o.asleep[a]
	if s == nil {
		return t
	}
	if n, _ := s.at(t); n == 0 {
		delete(o.asleep, a)
		return t
	}
	return s.ready(t, a.Unanswered())
}
