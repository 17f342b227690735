package transport_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// besideServer tells of 100,000 requests in an hour, and refuses for another reason that it does not tell:
// more requests in flight than it works on, or in a window.
type besideServer struct {
	atOnce, quota int           // 0: no such bound
	window        time.Duration // of the quota
	retryAfter    bool          // seconds until the window ends, at least one; else none is sent
	tells         bool
	routes        int // 0: one; else only the first is refused, and each worker keeps to one

	mu              sync.Mutex // guards following
	n, busy, used   int
	until           time.Time
	served, refused int
	free            int // served on the other routes
}

func routeOf(i int) string {
	return "/" + []string{"items", "users", "search", "orders", "login"}[i] + "/list"
}

func (s *besideServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.n++
	delay := rtt/2 + time.Duration(s.n%1000)*time.Microsecond
	s.mu.Unlock()
	time.Sleep(delay)
	bounded := s.routes == 0 || req.URL.Path == routeOf(0)
	ok, fields := s.begin(bounded)
	if !ok {
		time.Sleep(rtt / 2)
		return says(429, fields...)(req)
	}
	time.Sleep(3*rtt + delay)
	if bounded {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}
	time.Sleep(rtt / 2)
	return says(200, fields...)(req)
}

func (s *besideServer) begin(bounded bool) (ok bool, fields []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !now.Before(s.until) {
		s.until, s.used = now.Add(s.window), 0
	}
	ok = (s.atOnce == 0 || s.busy < s.atOnce) && (s.quota == 0 || s.used < s.quota)
	if s.tells {
		fields = []string{"X-RateLimit-Limit", "100000", "X-RateLimit-Remaining", strconv.Itoa(99000 - s.served), "X-RateLimit-Reset", "3600"}
	}
	if !bounded {
		s.free++
		return true, fields
	}
	if ok {
		s.busy, s.used, s.served = s.busy+1, s.used+1, s.served+1
		return true, fields
	}
	s.refused++
	if s.retryAfter {
		wait := max(int((s.until.Sub(now)+time.Second-1)/time.Second), 1)
		fields = append(fields, "Retry-After", strconv.Itoa(wait))
	}
	return false, fields
}

// play has workers send to the server for the time, each request again until it is served. Without a
// Shaper they sleep for the Retry-After.
func (s *besideServer) play(t *testing.T, lasts time.Duration, workers int, shaped bool) {
	rt := http.RoundTripper(s)
	if shaped {
		rt = &transport.Shaper{Base: s, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
	}
	end := time.Now().Add(lasts)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			for time.Now().Before(end) {
				req := getItems(t.Context())
				if s.routes > 0 {
					req = newRequest(t.Context(), "GET", "https://api.example"+routeOf(i%s.routes))
				}
				resp, err := rt.RoundTrip(req)
				if !assert.NoError(t, err) {
					return
				}
				drop(resp)
				if wait, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && !shaped {
					time.Sleep(time.Duration(wait) * time.Second)
				}
			}
		})
	}
	wg.Wait()
}

// A limit that is not told is learned beside figures with much left as where there are none.
func TestBesideFigures(t *testing.T) {
	for name, c := range raced.Cases(map[string]struct {
		atOnce, quota int
		window        time.Duration
		retryAfter    bool
		workers       int
		longer        time.Duration // than ten minutes
		least         float64       // of what a retry loop is served
		most          int           // refusals
	}{
		"two at once":           {atOnce: 2, retryAfter: true, workers: 12, least: .8, most: 60},
		"ten at once":           {atOnce: 10, retryAfter: true, workers: 50, least: .8, most: 100},
		"ten at once, bare":     {atOnce: 10, workers: 30, longer: 10 * time.Minute, most: 100},
		"100 in 10 seconds":     {quota: 100, window: 10 * time.Second, retryAfter: true, workers: 20, least: 1, most: 60},
		"100 in 1 minute, bare": {quota: 100, window: time.Minute, workers: 20, most: 100},
	}) {
		bubble(t, name, func(t *testing.T) {
			server := func(tells bool) *besideServer {
				return &besideServer{atOnce: c.atOnce, quota: c.quota, window: c.window, retryAfter: c.retryAfter, tells: tells}
			}
			lasts := 10*time.Minute + c.longer
			told, silent, loop := server(true), server(false), server(true)
			told.play(t, lasts, c.workers, true)
			silent.play(t, lasts, c.workers, true)
			if c.retryAfter {
				loop.play(t, lasts, c.workers, false)
			}
			t.Logf("served %d, told nothing %d, loop %d; refused %d, %d, %d",
				told.served, silent.served, loop.served, told.refused, silent.refused, loop.refused)
			assert.GreaterOrEqual(t, float64(told.served), c.least*float64(loop.served))
			assert.GreaterOrEqual(t, told.served+c.quota, int(.95*float64(silent.served)), "a window more, at most, is lost until it is learned")
			assert.LessOrEqual(t, told.refused, c.most)
		})
	}
}

// A limit of one route that is not told, beside figures that all routes share, does not hold the others.
func TestBesideRoutes(t *testing.T) {
	for name, c := range raced.Cases(map[string]struct {
		atOnce, quota int
		window        time.Duration
	}{
		"two at once":      {atOnce: 2},
		"20 in 10 seconds": {quota: 20, window: 10 * time.Second},
	}) {
		bubble(t, name, func(t *testing.T) {
			server := func() *besideServer {
				return &besideServer{atOnce: c.atOnce, quota: c.quota, window: c.window, retryAfter: true, tells: true, routes: 5}
			}
			told, loop := server(), server()
			told.play(t, 10*time.Minute, 40, true)
			loop.play(t, 10*time.Minute, 40, false)
			t.Logf("served %d and %d, loop %d and %d; refused %d, %d", told.served, told.free, loop.served, loop.free, told.refused, loop.refused)
			assert.GreaterOrEqual(t, float64(told.free), .9*float64(loop.free))
			assert.LessOrEqual(t, told.refused, loop.refused)
		})
	}
}

// A route that is always refused, with fields of no quota, does not hold the others, which share one without a name.
func TestBesideDeadRoute(t *testing.T) {
	for name, fields := range map[string][]string{
		"X":    {"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "60", "X-RateLimit-Reset", "10"},
		"-06":  {"RateLimit-Limit", "100", "RateLimit-Remaining", "60", "RateLimit-Reset", "10"},
		"none": nil,
	} {
		bubble(t, name, func(t *testing.T) {
			base := newChooser(func(n int, req *http.Request) answer {
				if req.URL.Path == "/dead" {
					return says(429, "Retry-After", "60")
				}
				return says(200, fields...)
			})
			shaper := &transport.Shaper{Base: base, Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			end := time.Now().Add(5 * time.Minute)
			var served, dead atomic.Int64
			var wg sync.WaitGroup
			for i, path := range []string{"/a", "/b", "/dead"} {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * rtt)
					for ; time.Now().Before(end); time.Sleep(time.Second) {
						resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin+path))
						if !assert.NoError(t, err) {
							return
						}
						drop(resp)
						if resp.StatusCode == 200 {
							served.Add(1)
						} else {
							dead.Add(1)
						}
					}
				})
			}
			wg.Wait()
			assert.GreaterOrEqual(t, served.Load(), int64(598), "two each second, of which one or two wait for their look")
			assert.LessOrEqual(t, dead.Load(), int64(6))
		})
	}
}

// A server that refuses some requests at random serves most of what is out then. No limit is learned
// of that: else five times less was served than without a Shaper, where an answer takes seconds.
func TestBesideSheds(t *testing.T) {
	for _, one := range []int{20, 100} { // in so many is refused
		bubble(t, "one in "+strconv.Itoa(one), func(t *testing.T) {
			var served, refused int
			rnd := rand.New(rand.NewPCG(1, uint64(one)))
			var mu sync.Mutex
			sheds := func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				left := []string{"X-RateLimit-Limit", "100000", "X-RateLimit-Remaining", strconv.Itoa(99000 - served), "X-RateLimit-Reset", "3600"}
				shed, slow := rnd.IntN(one) == 0, 2*time.Second+time.Duration(rnd.Int64N(int64(8*time.Second)))
				mu.Unlock()
				time.Sleep(rtt)
				mu.Lock()
				if shed {
					refused++
				}
				mu.Unlock()
				if shed {
					return says(429, append(left, "Retry-After", "1")...)(req)
				}
				time.Sleep(slow)
				mu.Lock()
				served++
				mu.Unlock()
				return says(200, left...)(req)
			}
			shaper := &transport.Shaper{Base: roundTripper(sheds), Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
			sendUntil(t, shaper, 20, time.Millisecond, time.Now().Add(10*time.Minute))
			t.Log("served", served, "refused", refused)
			assert.Greater(t, served, 1700) // 20 workers, 6 s each: 2,000
		})
	}
}

// A Retry-After of a limit that is not told holds as long as it says, although the policy that the refusal
// named has not been used for long, or other accounts need the room.
func TestBesideHoldIsNotForgotten(t *testing.T) {
	waits := []time.Duration{time.Minute, 2 * time.Hour}
	for _, named := range []bool{false, true} {
		for _, most := range []int{0, 50} {
			bubble(t, fmt.Sprint(named, most), func(t *testing.T) {
				departed := 0
				base := newChooser(func(n int, req *http.Request) answer {
					fields := []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "900", "X-RateLimit-Reset", "1"}
					if named {
						fields = []string{"RateLimit", `"api";a=900;w=1`, "RateLimit-Policy", `"api";q=1000;w=1`}
					}
					if req.URL.Path != "/slow" {
						return says(200, fields...)
					}
					wait := waits[min(departed, 1)]
					departed++
					return says(429, append(fields, "Retry-After", strconv.Itoa(int(wait.Seconds())))...)
				})
				shaper := &transport.Shaper{Base: base, MaxDelay: transport.NoDelay, Accounts: &quota.Accounts{
					MaxAccounts: most, Jitter: func() float64 { return .5 },
				}}
				get := func(user, path string) {
					req := newRequest(t.Context(), http.MethodGet, itemsOrigin+path)
					req.Header.Set("Authorization", "Bearer "+user)
					if resp, err := shaper.RoundTrip(req); err == nil {
						drop(resp)
					}
				}
				get("a", "/")
				for i, wait := range waits {
					get("a", "/slow")
					assert.Equal(t, i+1, departed)
					for j := range 200 {
						time.Sleep(wait/200 - time.Millisecond)
						if i > 0 {
							get(fmt.Sprint("other", j), "/")
						}
					}
					get("a", "/slow")
					assert.Equal(t, i+1, departed, "it is held")
					time.Sleep(time.Second)
				}
			})
		}
	}
}
