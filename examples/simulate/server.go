package main

import (
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// begins is when every simulation begins: a whole multiple of all windows.
var begins = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// A server is the other side, and counts what it sees.
type server struct {
	*loop
	api    *transporttest.API
	rnd    *rand.Rand
	others time.Duration

	seen   []time.Time // arrivals of ours within the last moment
	burst  int         // the most that ever came within one moment
	theirs transporttest.Counts
}

// moment is what the largest burst is counted in.
const moment = 100 * time.Millisecond

// answer decides on a request that arrives now.
func (s *server) answer(user string) transporttest.Decision {
	first := 0
	for first < len(s.seen) && s.now.Sub(s.seen[first]) >= moment {
		first++
	}
	s.seen = append(s.seen[first:], s.now)
	s.burst = max(s.burst, len(s.seen))
	return s.api.Decide(s.now, requestOf(user))
}

// crowd lets other clients in: each comes when it comes, whatever it is told.
func (s *server) crowd() {
	if s.others == 0 {
		return
	}
	s.after(exponential(s.rnd, s.others), func() {
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

// exponential draws a time with that mean: of events that know nothing of each other.
func exponential(rnd *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(rnd.ExpFloat64() * float64(mean))
}
