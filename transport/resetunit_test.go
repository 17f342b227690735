package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A server that says the milliseconds until a reset under the name under which others say
// seconds: read as seconds, 19100 would be five hours without a request.
func TestResetInMilliseconds(t *testing.T) {
	const window = 20 * time.Second
	for _, tt := range []struct {
		limit, requests int
		pause           time.Duration // between requests
		unit            time.Duration
		window, takes   time.Duration
	}{
		{limit: 4, requests: 40, unit: time.Millisecond, window: window, takes: 9 * window},
		{limit: 4, requests: 40, unit: time.Millisecond, window: window, takes: 10 * window, pause: 4 * time.Second},
		{limit: 100, requests: 500, unit: time.Millisecond, window: time.Minute, takes: 4*time.Minute + 100*rtt},
		{limit: 50, requests: 60, unit: time.Second, window: 90 * time.Minute, takes: 90 * time.Minute},
		{limit: 50, requests: 60, unit: time.Second, window: 90 * time.Minute, takes: 90 * time.Minute, pause: 10 * time.Second},
	} {
		t.Run(fmt.Sprint(tt.limit, tt.unit, tt.pause), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				since, used, refused := time.Now(), 0, 0
				srv := newChooser(func(int, *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					if passed := time.Since(since); passed >= tt.window {
						since, used = since.Add(passed.Truncate(tt.window)), 0
					}
					used++
					reset := fmt.Sprint(int64((tt.window - time.Since(since) + tt.unit - 1) / tt.unit))
					if used > tt.limit {
						refused++
						return slow(rtt, says(429, "X-RateLimit-Limit", fmt.Sprint(tt.limit), "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset))
					}
					return slow(rtt, says(200, "X-RateLimit-Limit", fmt.Sprint(tt.limit), "X-RateLimit-Remaining", fmt.Sprint(tt.limit-used), "X-RateLimit-Reset", reset))
				})
				s := &transport.Shaper{Base: srv, MaxDelay: 100 * time.Minute}
				begin := time.Now()
				for range tt.requests {
					pass(t, s, getItems(context.Background()))
					time.Sleep(tt.pause)
				}
				assert.InDelta(t, tt.takes, time.Since(begin), float64(tt.window/10)+float64(tt.pause))
				assert.LessOrEqual(t, refused, int(tt.window/(10*time.Minute)), "only one in ten minutes looks")
			})
		})
	}
}

// Hourly windows in seconds, of several replicas or endpoints that began minutes after each
// other: what one says after another falls by more than has passed, but not a thousand times.
func TestResetInSecondsOfSeveral(t *testing.T) {
	const limit = 100
	for _, replicas := range []bool{true, false} {
		t.Run(fmt.Sprint("replicas ", replicas), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				began := time.Now()
				var used [3]int
				n, refused := 0, 0
				s := &transport.Shaper{MaxDelay: 3 * time.Hour, Base: newChooser(func(_ int, req *http.Request) answer {
					mu.Lock()
					defer mu.Unlock()
					of := int(req.URL.Path[1] - 'a')
					if replicas {
						of = n % 3
					}
					n++
					window := time.Since(began) + time.Duration(of)*5*time.Minute
					left := fmt.Sprint(int((time.Hour - window%time.Hour).Seconds()))
					used[of]++
					fields := []string{"X-RateLimit-Limit", fmt.Sprint(limit), "X-RateLimit-Remaining", fmt.Sprint(max(limit-used[of], 0)), "X-RateLimit-Reset", left}
					if used[of] > limit && window < time.Hour {
						refused++
						return slow(rtt, says(429, fields...))
					}
					return slow(rtt, says(200, fields...))
				})}
				for i := range 3*limit + 30 {
					pass(t, s, newRequest(context.Background(), "GET", "http://api.example/"+string(rune('a'+i%3))))
				}
				assert.LessOrEqual(t, refused, 6, "one in ten minutes looks")
			})
		})
	}
}

// Hourly windows in seconds, of several users that began ten minutes after each other and
// come in that order: between two requests of others, that is nearly a thousand times the time.
func TestResetInSecondsOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users, limit, gap = 6, 50, 10 * time.Minute
		began := time.Now()
		used, refused := map[string]int{}, 0
		s := &transport.Shaper{MaxDelay: transport.NoDelay, Base: newChooser(func(_ int, req *http.Request) answer {
			user := bearerOf(req)
			window := time.Since(began) + time.Duration(user[0]-'a')*gap
			key := fmt.Sprint(user, window/time.Hour)
			used[key]++
			fields := []string{"X-RateLimit-Limit", fmt.Sprint(limit), "X-RateLimit-Remaining", fmt.Sprint(max(limit-used[key], 0)),
				"X-RateLimit-Reset", fmt.Sprint(int((time.Hour - window%time.Hour).Seconds()))}
			if used[key] > limit {
				refused++
				return slow(rtt, says(429, fields...))
			}
			return slow(rtt, says(200, fields...))
		})}
		for i := range 3000 {
			if resp, err := s.RoundTrip(as(context.Background(), string(rune('a'+i%users)))); err == nil {
				resp.Body.Close()
			}
			time.Sleep(gap/1000 - rtt)
		}
		assert.LessOrEqual(t, refused, 30, "one looks in each minute or two")
	})
}
