package transport_test

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Routes are told different limits in the same fields, of a few requests an hour and of many. What
// the one has used up does not hold the other, from which no request is kept longer than for one
// answer: none is rejected. (A request that waits longer than MaxDelay is.)
func TestRoutesToldDifferentLimits(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		name    string
		dialect string
		tight   int // in an hour
		wide    int // in a minute
		workers int // of each route
	}{
		{"a few, X-RateLimit", "X-RateLimit", 3, 600, 2},
		{"a few, -06", "-06", 3, 600, 2},
		{"many workers", "X-RateLimit", 20, 6000, 20},
		{"one worker", "X-RateLimit", 5, 600, 1},
		{"another one", "-06", 100, 60_000, 20},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			routes := map[string]*route{
				"/login": {dialect: tt.dialect, quota: tt.tight, window: time.Hour},
				"/items": {dialect: tt.dialect, quota: tt.wide, window: minute},
			}
			rejected := map[string]int{}
			var mu sync.Mutex // guards routes, rejected and n
			n := 0
			shaper := &transport.Shaper{
				Base: newChooser(func(_ int, req *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					n++
					a := routes[req.URL.Path].answer()
					return slow(rtt+time.Duration(n)*time.Nanosecond, a)
				}),
				Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }},
			}
			var wg sync.WaitGroup
			end := time.Now().Add(10 * minute)
			for i := range tt.workers {
				for at, path := range []string{"/login", "/items"} {
					wg.Go(func() {
						time.Sleep(time.Duration(2*i+at) * time.Millisecond)
						for time.Now().Before(end) {
							resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin+path))
							var refused *transport.RejectedError
							if errors.As(err, &refused) {
								mu.Lock()
								rejected[path]++
								mu.Unlock()
								time.Sleep(refused.RetryAfter)
								continue
							}
							drop(resp)
							time.Sleep(time.Second)
						}
					})
				}
			}
			wg.Wait()
			t.Log(routes["/login"].served, routes["/items"].served, rejected)
			assert.Equal(t, tt.tight, routes["/login"].served)
			assert.Zero(t, routes["/items"].refused)
			assert.LessOrEqual(t, routes["/login"].refused, 2)                // one shows that 3600 is of seconds: see resetUnit
			assert.GreaterOrEqual(t, routes["/items"].served, 530*tt.workers) // of 572, but for the first seconds
			assert.Zero(t, rejected["/items"])
		})
	}
}

// The fields tell the tightest of two limits, and those of another route only the wider one, although
// both count there. A trial that is refused is not repeated before the kind was told the same for
// twice as long.
func TestTrialsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := route{dialect: "X-RateLimit", quota: 10, window: time.Minute}
		var mu sync.Mutex // guards shared, n and refused
		n, refused := 0, map[string]int{}
		shaper := &transport.Shaper{
			Base: newChooser(func(_ int, req *http.Request) answer {
				caller, _ := strconv.Atoi(req.Header.Get("X-Caller"))
				time.Sleep(time.Duration(caller) * time.Nanosecond) // those that depart together arrive in one order
				mu.Lock()
				defer mu.Unlock()
				n++
				a := shared.answer()
				if req.URL.Path == "/b" {
					if shared.used < shared.quota {
						a = says(200, "X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "900", "X-RateLimit-Reset", "30")
					} else if resp, _ := a(req); resp.StatusCode == 429 {
						refused["/b"]++
					}
				}
				return slow(rtt+time.Duration(n)*time.Nanosecond, a)
			}),
			Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }},
		}
		var wg sync.WaitGroup
		end := time.Now().Add(time.Hour)
		for i, path := range []string{"/a", "/b", "/a", "/b", "/b"} {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				for time.Now().Before(end) {
					req := newRequest(t.Context(), http.MethodGet, itemsOrigin+path)
					req.Header.Set("X-Caller", strconv.Itoa(i))
					resp, err := shaper.RoundTrip(req)
					if assert.NoError(t, err) {
						drop(resp)
					}
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		t.Log(shared.served, shared.refused, refused)
		assert.GreaterOrEqual(t, shared.served, 580)
		assert.LessOrEqual(t, shared.refused, 12)
	})
}

// Routes share one quota, whose limit is lowered under load. None has one of its own because it was not
// answered since.
func TestLimitOfAllRoutesChanges(t *testing.T) {
	const s = time.Second
	for _, workers := range []int{2, 20} {
		bubble(t, strconv.Itoa(workers), func(t *testing.T) {
			shared := route{dialect: "X-RateLimit", quota: 20, window: s}
			var mu sync.Mutex // guards shared and n
			n, began := 0, time.Now()
			shaper := &transport.Shaper{
				Base: newChooser(func(_ int, req *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					n++
					shared.quota = []int{20, 2, 10}[time.Since(began)/(3*s)%3]
					return slow(rtt+time.Duration(n)*time.Nanosecond, shared.answer())
				}),
				Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }},
			}
			var wg sync.WaitGroup
			for i := range workers {
				for at, path := range []string{"/a", "/b", "/c", "/d"} {
					wg.Go(func() {
						time.Sleep(time.Duration(4*i+at) * time.Millisecond)
						for time.Since(began) < 60*s {
							resp, err := shaper.RoundTrip(newRequest(t.Context(), http.MethodGet, itemsOrigin+path))
							if assert.NoError(t, err) {
								drop(resp)
							}
							time.Sleep(time.Duration(7+3*at+i) * time.Millisecond)
						}
					})
				}
			}
			wg.Wait()
			t.Log(shared.served, shared.refused)
			assert.GreaterOrEqual(t, shared.served, 650)
			assert.Zero(t, shared.refused)
		})
	}
}
