package transport_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// An API counts thirty requests a minute. Nine of ten are answered by its cache, or by another route, without
// a word of quota, and do not count. After the first minute, none of them waits.
func TestAnswersThatDoNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		path   string // of those that do not count
		status int
	}{
		"not modified, same route":    {"/items/1", 304},
		"OK, same route":              {"/items/1", 200},
		"not modified, another route": {"/files/1", 304},
		"a redirect, another route":   {"/files/1", 302},
		"not found, another route":    {"/files/1", 404},
	} {
		bubble(t, name, func(t *testing.T) {
			const seed = 1
			rnd := rand.New(rand.NewPCG(seed, 1))
			begun, left, window := time.Now(), 30, 0
			s := &transport.Shaper{
				Base: roundTripper(func(req *http.Request) (*http.Response, error) {
					time.Sleep(50 * time.Millisecond)
					if req.Header.Get("If-None-Match") != "" {
						return says(c.status)(req)
					}
					since := time.Since(begun)
					if now := int(since / time.Minute); now > window {
						left, window = 30, now
					}
					left--
					return says(200, "X-RateLimit-Limit", "30", "X-RateLimit-Remaining", strconv.Itoa(left),
						"X-RateLimit-Reset", strconv.Itoa(60-int(since.Seconds())%60))(req)
				}),
				Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
					if since := time.Since(begun); since > time.Minute {
						t.Errorf("seed %d, %v: %s is held: %v", seed, since, i.Request.URL.Path, i.Reason)
					}
				}},
			}
			for range 1500 { // in ten minutes
				time.Sleep(350 * time.Millisecond)
				req := newRequest(t.Context(), "GET", "http://api.example/items/1")
				if rnd.IntN(10) > 0 {
					req = newRequest(t.Context(), "GET", "http://api.example"+c.path)
					req.Header.Set("If-None-Match", `"1"`)
				}
				pass(t, s, req)
			}
			assert.GreaterOrEqual(t, time.Since(begun), 10*time.Minute)
		})
	}
}

// Three of four requests of an API that counts sixty a minute are answered with 304, which says nothing and does not count.
// That shows, too, if many are on their way at any time. Where they do count, none is refused for it.
func TestNotModifiedAnswersOfManyWorkers(t *testing.T) {
	play := func(t *testing.T, counted bool, requests int) (took time.Duration, refused int) {
		const seed = 1
		var mu sync.Mutex
		var begun time.Time // of the window
		left := 0
		s := &transport.Shaper{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			n, _ := strconv.Atoi(req.URL.Path[len("/items/"):])
			rnd := rand.New(rand.NewPCG(seed, uint64(n)))
			time.Sleep(20*time.Millisecond + time.Duration(rnd.Int64N(1e7)))
			defer time.Sleep(20*time.Millisecond + time.Duration(rnd.Int64N(1e7)))
			mu.Lock()
			defer mu.Unlock()
			same := rnd.IntN(4) > 0
			if same && !counted {
				return says(304)(req)
			}
			if time.Since(begun) >= time.Minute {
				begun, left = time.Now(), 60
			}
			status := 200
			if left--; left < 0 {
				left, status = 0, 429
				refused++
			} else if same {
				return says(304)(req)
			}
			reset := (time.Minute - time.Since(begun) + time.Second - 1) / time.Second
			return says(status, "X-RateLimit-Limit", "60", "X-RateLimit-Remaining", strconv.Itoa(left),
				"X-RateLimit-Reset", strconv.Itoa(int(reset)))(req)
		})}
		start := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for {
					mu.Lock()
					n := requests
					requests--
					mu.Unlock()
					if n <= 0 {
						return
					}
					pass(t, s, newRequest(t.Context(), "GET", "http://api.example/items/"+strconv.Itoa(n)))
				}
			})
		}
		wg.Wait()
		t.Logf("seed %d: %v, %d refused", seed, time.Since(start), refused)
		return time.Since(start), refused
	}
	bubble(t, "not counted", func(t *testing.T) {
		took, refused := play(t, false, 2280) // 570 count
		assert.Less(t, took, 11*time.Minute)
		assert.LessOrEqual(t, refused, 11, "0.5 %")
	})
	bubble(t, "counted", func(t *testing.T) {
		_, refused := play(t, true, 600)
		assert.LessOrEqual(t, refused, 6, "as where it is never learned")
	})
}

// A route that is never told anything, but to look elsewhere, goes on while the quota of the others is used up.
func TestSilentRoutes(t *testing.T) {
	for _, status := range []int{200, 204, 302, 304} {
		synctest.Test(t, func(t *testing.T) {
			left := 10
			s := &transport.Shaper{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
				if req.URL.Path == "/files/1" {
					return says(status)(req)
				}
				left--
				return says(200, "X-RateLimit-Limit", "10", "X-RateLimit-Remaining", strconv.Itoa(left), "X-RateLimit-Reset", "60")(req)
			})}
			items := func() *http.Request { return newRequest(t.Context(), "GET", "http://api.example/items/1") }
			files := func() *http.Request { return newRequest(t.Context(), "GET", "http://api.example/files/1") }
			for range 4 {
				pass(t, s, items())
				pass(t, s, files())
			}
			for left > 0 {
				pass(t, s, items())
			}
			assert.Zero(t, delay(t, s, files()), "status %d", status)
			assert.Greater(t, delay(t, s, items()), 50*time.Second, "status %d", status)
		})
	}
}
