package transport_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// Of a quota of 600 in ten minutes, each fiftieth, tenth or fifth answer says that nothing is left, although much is: a 404 or 403 does, or what
// a cache has kept. Such an answer holds requests for a second, and the fourth one none.
func TestUntrueZero(t *testing.T) {
	for _, tt := range []struct {
		name          string
		workers, each int
		status        int
		reset         string
		served        int // of 1200 that the quota allows, and those that say nothing is left
	}{
		{"404, ten workers", 10, 10, http.StatusNotFound, "60", 1300},
		{"404, one worker", 1, 10, http.StatusNotFound, "60", 1300},
		{"403, one worker", 1, 50, http.StatusForbidden, "60", 1190},
		{"many 403s, one worker", 1, 10, http.StatusForbidden, "60", 1190},
		{"a cache, ten workers", 10, 5, http.StatusOK, "600", 1450},
	} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			n, left, end, refused, served := 0, 0, time.Now(), 0, 0
			server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if now := time.Now(); !now.Before(end) {
					left, end = 600, now.Add(10*time.Minute)
				}
				h := w.Header()
				h.Set("X-RateLimit-Limit", "600")
				if n++; n > 10 && n%tt.each == 0 && left > 0 {
					h.Set("X-RateLimit-Remaining", "0")
					h.Set("X-RateLimit-Reset", tt.reset)
					w.WriteHeader(tt.status)
					return
				}
				left--
				h.Set("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
				h.Set("X-RateLimit-Reset", fmt.Sprint(int((time.Until(end)+time.Second-1)/time.Second)))
				if left < 0 {
					refused++
					w.WriteHeader(http.StatusTooManyRequests)
				}
			})
			base := &transporttest.Transport{Handler: server, Latency: func() time.Duration { return 25 * time.Millisecond }}
			shaper := &transport.Shaper{Base: base, MaxDelay: time.Hour}
			until := time.Now().Add(20*time.Minute - time.Second)
			var workers sync.WaitGroup
			for range tt.workers {
				workers.Go(func() {
					for time.Now().Before(until) {
						resp, err := shaper.RoundTrip(getItems(t.Context()))
						if err != nil {
							return
						}
						resp.Body.Close()
						if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusForbidden && time.Now().Before(until) {
							mu.Lock()
							served++
							mu.Unlock()
						}
					}
				})
			}
			workers.Wait()
			t.Logf("%s: served %d, refused %d", tt.name, served, refused)
			assert.GreaterOrEqual(t, served, tt.served, tt.name)
			assert.LessOrEqual(t, refused, 40, tt.name)
		})
	}
}

// A server refuses with 403 and says that nothing is left (GitHub). Another client uses the quota up after 100 requests in each
// window of ten minutes. Two requests look whether that is so, a second after the first refusal and two seconds later, and
// none does for a day.
func TestTrueZeroOfAForbidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, end, refused := 0, time.Now(), []int{}
		server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if now := time.Now(); !now.Before(end) {
				left, end, refused = 600, now.Add(10*time.Minute), append(refused, 0)
			}
			if left--; left == 500 {
				left = -1
			}
			h := w.Header()
			h.Set("X-RateLimit-Limit", "600")
			h.Set("X-RateLimit-Remaining", strconv.Itoa(max(left, 0)))
			h.Set("X-RateLimit-Reset", fmt.Sprint(int((time.Until(end)+time.Second-1)/time.Second)))
			if left < 0 {
				refused[len(refused)-1]++
				w.WriteHeader(http.StatusForbidden)
			}
		})
		base := &transporttest.Transport{Handler: server, Latency: func() time.Duration { return 25 * time.Millisecond }}
		shaper := &transport.Shaper{Base: base, MaxDelay: time.Hour}
		for until := time.Now().Add(time.Hour); time.Now().Before(until); {
			resp, err := shaper.RoundTrip(getItems(t.Context()))
			if assert.NoError(t, err) {
				resp.Body.Close()
			}
		}
		assert.Equal(t, []int{3, 1, 1, 1, 1, 1}, refused[:6])
	})
}
