package transport_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// An arrivals server has a limit of a second or more, as a sliding log, as two windows weighed, or as windows that begin with a
// request. It says nothing of it but perhaps a Retry-After, or figures. Where two windows are weighed, both say when the present one is over.
type arrivalsServer struct {
	quota        int
	per          time.Duration // 0: a second
	long         time.Duration // that requests arrive; three minutes and 30 windows at least
	load         float64       // arrivals, as a part of what is allowed; 0: four fifths
	log, weighed bool
	bucket       int           // units that a bucket holds; 0: it is none
	spread       time.Duration // by which round trips are longer on average; 0: by 5 ms
	tells        bool
	whole        bool // a Retry-After is that of a whole window
	slow         bool // it takes .2 s and more to serve a request, .7 s on average
	// "RateLimit", "RateLimit on refusals", "RateLimit-Policy", "X-RateLimit", which says no reset, "X-RateLimit-Reset", rounded
	// twice, "X-RateLimit-Reset, Unix time", or ""
	figures string
	round   time.Duration // is added to a Unix time before it is rounded down; 0: just less than a second

	mu     sync.Mutex // guards following
	served []time.Time
	full   time.Time // of a bucket
	denied int
}

func (s *arrivalsServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	first := now.Add(-s.per)
	if s.weighed {
		first = first.Truncate(s.per).Add(-1)
	}
	for len(s.served) > 0 && !s.served[0].After(first) {
		if s.served = s.served[1:]; !s.log && !s.weighed {
			s.served = nil
		}
	}
	denied := s.left(now) < 1
	if !denied {
		s.served = append(s.served, now)
		s.full = now.Add(max(s.full.Sub(now), 0) + s.each())
	}
	var end time.Time
	switch {
	case s.bucket > 0:
		end = s.full
	case s.weighed:
		end = now.Truncate(s.per).Add(s.per)
	default:
		end = s.served[0].Add(s.per)
	}
	seconds := strconv.Itoa(int((end.Sub(now) + time.Second - 1) / time.Second))
	w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	switch left := int(s.left(now)); s.figures {
	case "X-RateLimit-Reset":
		end := end.Add(time.Second - 1).Unix()
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(end-now.Unix(), 10))
		fallthrough
	case "X-RateLimit":
		w.Header().Set("X-RateLimit-Limit", strconv.Itoa(s.quota))
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left))
	case "X-RateLimit-Reset, Unix time":
		round := s.round
		if round == 0 {
			round = time.Second - 1
		}
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(end.Add(round).Unix(), 10))
		w.Header().Set("X-RateLimit-Limit", strconv.Itoa(s.quota))
		w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(left))
	case "RateLimit-Policy":
		w.Header().Set("RateLimit-Policy", fmt.Sprintf(`"api";q=%d;w=%d`, s.quota, s.per/time.Second))
	case "RateLimit on refusals":
		if !denied {
			break
		}
		fallthrough
	case "RateLimit":
		w.Header().Set("RateLimit", fmt.Sprintf(`"api";r=%d;t=%s`, left, seconds))
		w.Header().Set("RateLimit-Policy", fmt.Sprintf(`"api";q=%d;w=%d`, s.quota, s.per/time.Second))
	}
	if denied {
		s.denied++
		if s.whole {
			seconds = strconv.Itoa(int(s.per / time.Second))
		}
		if s.tells {
			w.Header().Set("Retry-After", seconds)
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// each is the time in which one unit comes back to a bucket.
func (s *arrivalsServer) each() time.Duration { return s.per / time.Duration(s.quota) }

// left is how many requests may be served. Of two windows weighed, the one before counts by the part of it that is less
// than a window ago.
func (s *arrivalsServer) left(now time.Time) float64 {
	if s.bucket > 0 {
		return float64(s.bucket) - max(s.full.Sub(now), 0).Seconds()/s.each().Seconds()
	}
	begun := now.Truncate(s.per)
	used := 0.0
	for _, at := range s.served {
		if s.weighed && at.Before(begun) {
			used += 1 - now.Sub(begun).Seconds()/s.per.Seconds()
		} else {
			used++
		}
	}
	return float64(s.quota) - used
}

// Requests arrive at random, at a load below the limit. Where the server only refuses, windows of our own count are begun when
// those of a sliding log are not over, and a Retry-After is rounded up to a second: the quota was taken for half of what it
// is, so that ever more requests waited. Where it tells figures, a sliding log says that nothing is left for a second after the
// first unit that is back, although the others are back soon; and our own log, which knows that, was given up after a refusal
// that did not contradict it. Where only refusals tell figures, nine of ten requests were refused in each second window;
// where answers tell only the policy, a log refused half of all requests, and two windows weighed that tell figures only where
// they refuse did, too.
// Where Unix times are rounded down, our own log was a second too short, and was given up; and windows in which units were left
// seemed to be a log.
// Where seconds are rounded twice, windows of a second seemed to take two. Where no reset is told and two windows are weighed,
// each second began with the few units that had come back. Where longer windows are weighed, each second one of them had
// a refusal at its beginning, with a Retry-After until its end. Where answers are slow, as many as were in flight at a refusal
// were taken for a bound, and no more departed for minutes.
func TestArrivalsAtRandom(t *testing.T) {
	for _, tt := range raced.Rows([]struct {
		name   string
		server func() *arrivalsServer
		wait   time.Duration // on average of five seeds, at most
		denied int           // in all of them, at most
	}{
		{"log, 100 a second", func() *arrivalsServer { return &arrivalsServer{quota: 100, log: true} }, 3 * time.Second, 12_000},
		{"log, 30 a second", func() *arrivalsServer { return &arrivalsServer{quota: 30, log: true} }, time.Second, 600},
		{"log, 10 a second", func() *arrivalsServer { return &arrivalsServer{quota: 10, log: true} }, time.Second, 200},
		{"log, 100 a second, Retry-After", func() *arrivalsServer { return &arrivalsServer{quota: 100, log: true, tells: true} }, time.Second, 3000},
		{"log, 10 a second, Retry-After", func() *arrivalsServer { return &arrivalsServer{quota: 10, log: true, tells: true} }, time.Second, 200},
		{"log, 10 a second, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, log: true, tells: true, figures: "RateLimit"}
		}, 400 * time.Millisecond, 60},
		{"log, 5 a second, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 5, log: true, tells: true, figures: "RateLimit"}
		}, time.Second, 60},
		{"log, 50 a second, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, log: true, tells: true, figures: "RateLimit"}
		}, 100 * time.Millisecond, 60},
		{"log, 10 in two seconds, Unix time rounded down", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, per: 2 * time.Second, load: .9, log: true, tells: true, figures: "X-RateLimit-Reset, Unix time", round: 1}
		}, 4 * time.Second, 60},
		{"log, 50 in three seconds, Unix time to the nearest", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, per: 3 * time.Second, load: .9, log: true, tells: true, figures: "X-RateLimit-Reset, Unix time", round: time.Second / 2}
		}, time.Second, 120},
		{"windows, 50 in three seconds, Unix time rounded down", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, per: 3 * time.Second, load: .9, tells: true, figures: "X-RateLimit-Reset, Unix time", round: 1}
		}, 400 * time.Millisecond, 60},
		{"log, 10 a second, RateLimit on refusals", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, log: true, tells: true, figures: "RateLimit on refusals"}
		}, 400 * time.Millisecond, 400},
		{"windows, 10 a second, RateLimit on refusals", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, tells: true, figures: "RateLimit on refusals"}
		}, 400 * time.Millisecond, 80},
		{"two windows weighed, 50 a second, RateLimit on refusals", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, weighed: true, tells: true, figures: "RateLimit on refusals"}
		}, 2 * time.Second, 600},
		{"two windows weighed, 50 a second, RateLimit-Policy", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, weighed: true, tells: true, figures: "RateLimit-Policy"}
		}, 2 * time.Second, 600},
		{"log, 50 a second, RateLimit-Policy", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, log: true, tells: true, figures: "RateLimit-Policy"}
		}, time.Second, 1200},
		{"log, 10 a second, RateLimit-Policy", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, log: true, tells: true, figures: "RateLimit-Policy"}
		}, 2 * time.Second, 400},
		{"bucket of 4, 20 a second, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 20, long: 4 * time.Minute, bucket: 4, spread: 20 * time.Millisecond, figures: "RateLimit"}
		}, 250 * time.Millisecond, 20},
		{"log, 20 in four seconds, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 20, per: 4 * time.Second, load: .9, log: true, tells: true, figures: "RateLimit"}
		}, time.Second, 40},
		{"two windows weighed, 10 a second, no reset", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, weighed: true, tells: true, figures: "X-RateLimit"}
		}, 10 * time.Second, 100},
		{"two windows weighed, 60 a minute, no reset", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, weighed: true, tells: true, figures: "X-RateLimit"}
		}, 8 * time.Second, 60},
		{"two windows weighed, 60 a minute, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, weighed: true, tells: true, figures: "RateLimit"}
		}, 2 * time.Second, 10},
		{"two windows weighed, 60 a minute, X-RateLimit-Reset", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, weighed: true, tells: true, figures: "X-RateLimit-Reset, Unix time"}
		}, 3 * time.Second, 30},
		{"two windows weighed, 10 a second, X-RateLimit-Reset", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, long: 10 * time.Minute, weighed: true, tells: true, figures: "X-RateLimit-Reset, Unix time"}
		}, 1500 * time.Millisecond, 80},
		{"two windows weighed, 5 a second, X-RateLimit-Reset", func() *arrivalsServer {
			return &arrivalsServer{quota: 5, long: 10 * time.Minute, load: .65, weighed: true, tells: true, figures: "X-RateLimit-Reset, Unix time"}
		}, 3 * time.Second, 200},
		{"two windows weighed, 95 of 100 in ten seconds, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 100, per: 10 * time.Second, load: .95, weighed: true, tells: true, figures: "RateLimit"}
		}, 8 * time.Second, 30},
		{"two windows weighed, 20 in four seconds, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 20, per: 4 * time.Second, long: 8 * time.Minute, weighed: true, tells: true, figures: "RateLimit"}
		}, 2 * time.Second, 50},
		{"two windows weighed, 57 of 60 a minute, RateLimit", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, load: .95, weighed: true, tells: true, figures: "RateLimit"}
		}, 60 * time.Second, 30},
		{"two windows weighed, 100 in ten seconds, RateLimit-Policy", func() *arrivalsServer {
			return &arrivalsServer{quota: 100, per: 10 * time.Second, weighed: true, tells: true, figures: "RateLimit-Policy"}
		}, 3 * time.Second, 30},
		{"two windows weighed, 57 of 60 a minute, RateLimit-Policy", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, load: .95, weighed: true, tells: true, figures: "RateLimit-Policy"}
		}, 110 * time.Second, 250},
		{"two windows weighed, 60 a minute, RateLimit on refusals", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, weighed: true, tells: true, figures: "RateLimit on refusals"}
		}, 40 * time.Second, 300},
		{"two windows weighed, 60 a minute, Retry-After", func() *arrivalsServer {
			return &arrivalsServer{quota: 60, per: time.Minute, weighed: true, tells: true}
		}, 20 * time.Second, 120},
		{"two windows weighed, 95 of 100 in ten seconds, Retry-After", func() *arrivalsServer {
			return &arrivalsServer{quota: 100, per: 10 * time.Second, load: .95, weighed: true, tells: true}
		}, 20 * time.Second, 300},
		{"log, 95 of 100 in ten seconds, RateLimit-Policy, Retry-After of a window", func() *arrivalsServer {
			return &arrivalsServer{quota: 100, per: 10 * time.Second, load: .95, log: true, tells: true, whole: true, figures: "RateLimit-Policy"}
		}, 10 * time.Second, 500},
		{"windows, 50 a second, X-RateLimit-Reset rounded twice", func() *arrivalsServer {
			return &arrivalsServer{quota: 50, tells: true, figures: "X-RateLimit-Reset"}
		}, time.Second, 60},
		{"windows, 10 a second, X-RateLimit-Reset rounded twice", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, tells: true, figures: "X-RateLimit-Reset"}
		}, time.Second, 60},
		{"windows, 100 a second", func() *arrivalsServer { return &arrivalsServer{quota: 100} }, 250 * time.Millisecond, 300},
		{"windows, 100 a second, Retry-After", func() *arrivalsServer { return &arrivalsServer{quota: 100, tells: true} }, 250 * time.Millisecond, 300},
		{"windows, 10 a second, Retry-After", func() *arrivalsServer { return &arrivalsServer{quota: 10, tells: true} }, 400 * time.Millisecond, 80},
		{"log, 10 a second, Retry-After, slow answers", func() *arrivalsServer {
			return &arrivalsServer{quota: 10, log: true, tells: true, slow: true}
		}, 25 * time.Second, 400},
		{"windows, 20 in two seconds, Retry-After, slow answers", func() *arrivalsServer {
			return &arrivalsServer{quota: 20, per: 2 * time.Second, tells: true, slow: true}
		}, 6 * time.Second, 600},
	}) {
		var waited time.Duration
		denied, served := 0, 0
		for seed := range uint64(5) {
			bubble(t, fmt.Sprintf("%s, seed %d", tt.name, seed), func(t *testing.T) {
				srv := tt.server()
				w, n := arrive(t, srv, seed, 1)
				waited, served, denied = waited+w, served+n, denied+srv.denied
			})
		}
		t.Log(tt.name, waited/time.Duration(served), denied)
		assert.LessOrEqual(t, waited/time.Duration(served), tt.wait, tt.name)
		assert.LessOrEqual(t, denied, tt.denied, tt.name)
	}
}

// Requests arrive at random in two processes that share a sliding log, at nine tenths of the quota. Each process waited for a
// second after each unit that was back, although the others are back soon, so nearly a tenth of the quota was lost, or a third
// of a larger one: requests waited longer and longer.
func TestTwoProcessesShareLog(t *testing.T) {
	for _, tt := range []struct {
		quota  int
		load   float64
		long   time.Duration // that requests arrive
		wait   time.Duration // on average of three seeds, at most
		denied int           // for each hundred requests, at most
	}{
		{5, .75, 10 * time.Minute, 2 * time.Second, 25}, // each left the last unit of a window to the other
		{10, .9, 3 * time.Minute, 3 * time.Second, 20},
		{10, .9, 12 * time.Minute, 3 * time.Second, 20}, // the part of others is found to be smaller and smaller
		{50, .9, 3 * time.Minute, time.Second, 8},
	} {
		var waited time.Duration
		served, denied := 0, 0
		for seed := range uint64(3) {
			bubble(t, fmt.Sprintf("%d a second, %v, seed %d", tt.quota, tt.long, seed), func(t *testing.T) {
				srv := &arrivalsServer{quota: tt.quota, load: tt.load, log: true, figures: "RateLimit", long: tt.long}
				w, n := arrive(t, srv, seed, 2)
				waited, served, denied = waited+w, served+n, denied+srv.denied
			})
		}
		t.Log(tt.quota, tt.long, waited/time.Duration(served), denied, served)
		assert.LessOrEqual(t, waited/time.Duration(served), tt.wait, tt)
		assert.LessOrEqual(t, denied, tt.denied*served/100, tt)
	}
}

// arrive sends requests that arrive at random at as many processes in three minutes, 30 windows or srv.long, each until it is
// served. It returns how long they took, and how many there were.
func arrive(t *testing.T, srv *arrivalsServer, seed uint64, processes int) (waited time.Duration, served int) {
	srv.per = max(srv.per, time.Second)
	of, load := max(3*time.Minute, 30*srv.per, srv.long), srv.load
	if load == 0 {
		load = .8
	}
	lag := rand.New(rand.NewPCG(seed, 2))
	var mu sync.Mutex // guards lag and the results
	serve := func(w http.ResponseWriter, req *http.Request) {
		if srv.ServeHTTP(w, req); srv.slow && w.(*httptest.ResponseRecorder).Code == http.StatusOK {
			mu.Lock()
			takes := 200*time.Millisecond + time.Duration(lag.ExpFloat64()*float64(time.Second/2))
			mu.Unlock()
			time.Sleep(takes)
		}
	}
	base := &transporttest.Transport{Handler: http.HandlerFunc(serve), Latency: func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if srv.spread > 0 {
			return 20*time.Millisecond + time.Duration(lag.ExpFloat64()*float64(srv.spread))
		}
		return 20*time.Millisecond + time.Duration(lag.Int64N(int64(10*time.Millisecond)))
	}}
	var wg sync.WaitGroup
	for process := range processes {
		s, rnd := &transport.Shaper{MaxDelay: 2 * of, Base: base}, rand.New(rand.NewPCG(seed, 1+2*uint64(process)))
		wg.Go(func() {
			for began := time.Now(); time.Since(began) < of; {
				wg.Go(func() {
					at := time.Now()
					for {
						if _, status := pass(t, s, getItems(t.Context())); status == http.StatusOK {
							break
						}
					}
					mu.Lock()
					defer mu.Unlock()
					served++
					waited += time.Since(at)
				})
				time.Sleep(time.Duration(rnd.ExpFloat64() * float64(processes) * float64(srv.per) / (load * float64(srv.quota))))
			}
		})
	}
	wg.Wait()
	return waited, served
}
