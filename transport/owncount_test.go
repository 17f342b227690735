package transport

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

var oneCounters = flag.Int("one-counters", 60, "servers that TestOneCounterOfAllRoutes draws")

// A countingServer counts requests in one counter, or those of each route in one of its own.
type countingServer struct {
	quota   int
	window  time.Duration
	algo    int // a fixed window, a log, two windows weighed, or a bucket
	reset   int // rounded up, rounded down, or always the window
	dialect string
	others  float64        // requests of others in a second
	costs   map[string]int // of routes; else 1
	own     func(at time.Duration) bool
	refuses time.Duration // when one request is refused, although something is left; 0: never

	mu              sync.Mutex
	rnd             *rand.Rand
	began           time.Time
	spent           map[string][]time.Time // by counter, all units
	other           time.Time              // when the next request of others comes
	served, refused int
}

const (
	algoFixed = iota
	algoLog
	algoWeighed
	algoBucket
)

// left returns what is left, and the time until the window ends, the first unit comes back, or the bucket is full.
func (s *countingServer) left(spent []time.Time, now time.Time) (units int, reset time.Duration) {
	end := s.window - now.Sub(s.began)%s.window
	rate := float64(s.quota) / s.window.Seconds()
	level, last, oldest := float64(s.quota), s.began, now
	used, before := 0, 0
	for _, at := range spent {
		level, last = min(float64(s.quota), level+at.Sub(last).Seconds()*rate)-1, at
		switch from := now.Add(end - s.window); {
		case s.algo == algoLog && at.After(now.Add(-s.window)):
			if used++; used == 1 {
				oldest = at
			}
		case s.algo != algoLog && !at.Before(from):
			used++
		case !at.Before(from.Add(-s.window)):
			before++
		}
	}
	switch s.algo {
	case algoLog:
		end = oldest.Add(s.window).Sub(now)
	case algoWeighed:
		used += int(float64(before) * end.Seconds() / s.window.Seconds())
	case algoBucket:
		level = min(float64(s.quota), level+now.Sub(last).Seconds()*rate)
		return int(math.Floor(level)), time.Duration((float64(s.quota) - level) / rate * float64(time.Second))
	}
	return s.quota - used, end
}

func (s *countingServer) answer(route string) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, name, cost := time.Now(), "", 1
	if s.own != nil && s.own(now.Sub(s.began)) {
		name = route
	}
	if c, ok := s.costs[route]; ok {
		cost = c
	}
	for ; s.others > 0 && s.other.Before(now); s.other = s.other.Add(time.Duration(s.rnd.ExpFloat64() / s.others * float64(time.Second))) {
		if n, _ := s.left(s.spent[name], s.other); n > 0 {
			s.spent[name] = append(s.spent[name], s.other)
		}
	}
	units, _ := s.left(s.spent[name], now)
	status, refuses := http.StatusOK, s.refuses > 0 && now.Sub(s.began) > s.refuses
	if units < max(cost, 1) || refuses {
		status, cost = http.StatusTooManyRequests, 0
		s.refused++
		if refuses {
			s.refuses = 0
		}
	} else {
		s.served++
	}
	for range cost {
		s.spent[name] = append(s.spent[name], now)
	}
	units, reset := s.left(s.spent[name], now)
	return &http.Response{StatusCode: status, Header: s.fields(max(units, 0), cost, reset, status), Body: http.NoBody}
}

func (s *countingServer) fields(units, cost int, reset time.Duration, status int) http.Header {
	seconds := [...]float64{math.Ceil(reset.Seconds()), math.Floor(reset.Seconds()), s.window.Seconds()}[s.reset]
	h := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	if status != http.StatusOK {
		h.Set("Retry-After", fmt.Sprint(seconds))
	}
	switch s.dialect {
	case "X":
		h.Set("X-RateLimit-Limit", strconv.Itoa(s.quota))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(units))
		h.Set("X-RateLimit-Reset", fmt.Sprint(seconds))
	case "-07":
		h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%v", s.quota, s.window.Seconds()))
		h.Set("RateLimit", fmt.Sprintf("limit=%d, remaining=%d, reset=%v", s.quota, units, seconds))
	case "-08":
		h.Set("RateLimit-Policy", fmt.Sprintf(`"api"; q=%d; w=%v; pk=:MTI=:`, s.quota, s.window.Seconds()))
		h.Set("RateLimit", fmt.Sprintf(`"api"; r=%d; t=%v`, units, seconds))
	case "Spring":
		h.Del("Retry-After")
		h.Set("X-RateLimit-Remaining", strconv.Itoa(units))
		h.Set("X-RateLimit-Burst-Capacity", strconv.Itoa(s.quota))
		h.Set("X-RateLimit-Replenish-Rate", fmt.Sprint(float64(s.quota)/s.window.Seconds()))
		h.Set("X-RateLimit-Requested-Tokens", strconv.Itoa(cost))
	}
	return h
}

// routeLoad is what is sent.
type routeLoad struct {
	routes, workers int
	slow, rest      time.Duration // the longest answer, and the longest time between two requests of a worker
	lasts           time.Duration
}

// play returns how many routes had accounts of their own in the end, and the most that had.
func (s *countingServer) play(t *testing.T, ld routeLoad, seed uint64) (own, most int) {
	synctest.Test(t, func(t *testing.T) {
		s.rnd, s.began, s.other, s.spent = rand.New(rand.NewPCG(seed, 0)), time.Now(), time.Now(), map[string][]time.Time{}
		shaper := &Shaper{Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
		shaper.Base = roundTripperFunc(func(req *http.Request) (*http.Response, error) {
			rnd := req.Context().Value(s).(*rand.Rand)
			time.Sleep(20*time.Millisecond + time.Duration(rnd.Int64N(20e6)))
			resp := s.answer(req.URL.Path)
			time.Sleep(20*time.Millisecond + time.Duration(rnd.Int64N(20e6+int64(ld.slow))))
			told := &shaper.directories.of(shaper.accounts(), shaper.fields(), rawOrigin{"https", "api.example"}).told
			s.mu.Lock()
			defer s.mu.Unlock()
			own = told.ownKinds()
			most = max(own, most)
			return resp, nil
		})
		var wg sync.WaitGroup
		for i := range ld.workers {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(i+1)))
				ctx := context.WithValue(t.Context(), s, rnd)
				for time.Since(s.began) < ld.lasts {
					time.Sleep(time.Duration(rnd.Int64N(1e6 + int64(ld.rest)))) // no two at one time
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/"+"abcd"[rnd.IntN(ld.routes):][:1], nil)
					if resp, err := shaper.RoundTrip(req); err == nil {
						resp.Body.Close()
					}
				}
			})
		}
		wg.Wait()
	})
	return own, most
}

func (t *toldKinds) ownKinds() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.kinds {
		if k.own != nil && k.own.apart {
			n++
		}
	}
	return n
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Each of three routes counts for itself, which nothing tells. What is in flight on one does not hold the
// others.
func TestCountersOfRoutes(t *testing.T) {
	ever := func(time.Duration) bool { return true }
	for _, tt := range []struct {
		name            string
		s               *countingServer
		served, refused int
	}{
		{"X-RateLimit", &countingServer{quota: 100, window: 15 * time.Second, dialect: "X", own: ever}, 5450, 0},
		{"draft -07", &countingServer{quota: 100, window: 15 * time.Second, dialect: "-07", own: ever}, 5450, 0},
		{"draft -08, a partition key", &countingServer{quota: 100, window: 15 * time.Second, dialect: "-08", own: ever}, 5450, 0},
		{"Spring", &countingServer{quota: 10, window: 2 * time.Second, algo: algoBucket, dialect: "Spring", own: ever}, 4000, 5},
	} {
		own, _ := tt.s.play(t, routeLoad{3, 20, 2 * time.Second, 0, 5 * time.Minute}, 1)
		t.Log(tt.name, own, tt.s.served, tt.s.refused)
		assert.Equal(t, 3, own, tt.name)
		assert.GreaterOrEqual(t, tt.s.served, tt.served, tt.name)
		assert.LessOrEqual(t, tt.s.refused, tt.refused, tt.name)
	}
}

// Routes that had counters of their own get one for all, and the other way around.
func TestCountersOfRoutesChange(t *testing.T) {
	for _, dialect := range []string{"X", "-07", "-08"} {
		for _, first := range []bool{true, false} {
			s := &countingServer{quota: 100, window: 15 * time.Second, dialect: dialect, own: func(at time.Duration) bool { return at < 150*time.Second == first }}
			own, most := s.play(t, routeLoad{3, 20, 500 * time.Millisecond, 0, 5 * time.Minute}, 1)
			t.Log(dialect, first, own, most, s.served, s.refused)
			assert.Equal(t, 3, most, dialect)
			if first {
				assert.Zero(t, own, dialect)
			} else {
				assert.Equal(t, 3, own, dialect)
			}
			assert.LessOrEqual(t, s.refused, 5, dialect)
		}
	}
}

// A refusal although something must be left shows that the route has no counter of its own.
func TestCountersOfRoutesRefuse(t *testing.T) {
	s := &countingServer{quota: 100, window: 15 * time.Second, dialect: "X", own: func(time.Duration) bool { return true }, refuses: 91 * time.Second}
	own, most := s.play(t, routeLoad{3, 20, 500 * time.Millisecond, 0, 92 * time.Second}, 1)
	assert.Equal(t, 1, s.refused)
	assert.Equal(t, 3, most)
	assert.Zero(t, own)
}

// One counter is not taken for several, whatever its algorithm, whatever its reset means, whoever else uses it, and
// whatever requests cost.
func TestOneCounterOfAllRoutes(t *testing.T) {
	for seed := range uint64(*oneCounters) {
		rnd := rand.New(rand.NewPCG(seed, 100))
		s := &countingServer{
			quota: 5 + rnd.IntN(100), window: time.Duration(2+rnd.IntN(30)) * time.Second, algo: rnd.IntN(4), reset: rnd.IntN(3),
			dialect: []string{"X", "-07", "-08"}[rnd.IntN(3)],
		}
		if s.algo == algoBucket && rnd.IntN(2) == 0 {
			s.dialect, s.quota = "Spring", int(s.window.Seconds())*(1+rnd.IntN(10))
		}
		if rnd.IntN(3) == 0 {
			s.others = float64(s.quota) / s.window.Seconds() * rnd.Float64()
		}
		if rnd.IntN(3) == 0 {
			s.costs = map[string]int{"/a": rnd.IntN(4)}
		}
		ld := routeLoad{2 + rnd.IntN(3), 1 + rnd.IntN(20), time.Duration(rnd.IntN(3)) * time.Second, time.Duration(rnd.IntN(3)) * time.Second, 3 * time.Minute}
		if seed == 0 { // requests of one route are free, and as many in flight as are counted in the time that is compared
			*s = countingServer{quota: 74, window: 20 * time.Second, algo: algoWeighed, dialect: "X", costs: map[string]int{"/a": 0}}
			ld = routeLoad{4, 18, 0, 0, 5 * time.Minute}
		}
		if _, most := s.play(t, ld, seed); most > 0 {
			t.Errorf("seed %d: %d of %d routes have accounts of their own: %d/%v, algorithm %d, reset %d, %s, others %.1f/s, costs %v; %+v",
				seed, most, ld.routes, s.quota, s.window, s.algo, s.reset, s.dialect, s.others, s.costs, ld)
		}
	}
}
