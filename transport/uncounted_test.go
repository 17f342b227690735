package transport_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
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
