package transport_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
)

// Servers without a limit for the client say that nothing of nothing is left (Tyk, Brave Search). That
// holds no request that a client without a Shaper would send.
func TestNoQuotaHoldsNothing(t *testing.T) {
	const limit, remaining, reset = "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"
	for name, fields := range map[string][]string{
		"0 of 0":           {limit, "0", remaining, "0", reset, "0"},
		"0 of 0, no reset": {limit, "0", remaining, "0"},
		"0 of 0, -06":      {limit[2:], "0", remaining[2:], "0", reset[2:], "0"},
		"0 of 0 for long":  {limit, "0", remaining, "0", reset, "3600"},
		"Brave Search":     {limit, "50, 0", "X-RateLimit-Policy", "50;w=1, 0;w=2592000", remaining, "49, 0", reset, "1, 1419704"},
		"0 of -1":          {limit, "-1", remaining, "0", reset, "3600"},
		"-1 of -1":         {limit, "-1", remaining, "-1", reset, "3600"},
		"0 of unlimited":   {limit, "unlimited", remaining, "0", reset, "3600"},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &transport.Shaper{Base: newChooser(func(n int, _ *http.Request) answer {
				return says([]int{200, 404, 403, 500}[n%4], fields...)
			})}
			for range 40 {
				assert.Zero(t, delay(t, s, getItems(t.Context())))
			}
		})
	}
}

// A server that sends Retry-After with every response (Flask-Limiter) holds nothing with its
// redirects and errors, as long as something is left.
func TestRetryAfterOfEveryResponse(t *testing.T) {
	left := []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "3600", "Retry-After", "3600"}
	for _, status := range []int{403, 413, 500, 502} {
		bubble(t, http.StatusText(status), func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(status, left...))}
			for range 20 {
				assert.Zero(t, delay(t, s, getItems(t.Context())))
			}
		})
	}
	bubble(t, "an outage is taken at its word", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(says(503, left...)), MaxDelay: 2 * time.Hour}
		assert.Zero(t, delay(t, s, getItems(t.Context())))
		assert.Equal(t, 10*time.Minute, delay(t, s, getItems(t.Context())), "the first look into a long hold")
	})
	bubble(t, "a redirect", func(t *testing.T) {
		s := &transport.Shaper{Base: newChooser(func(_ int, req *http.Request) answer {
			if req.URL.Path == "/old" {
				return says(302, append(left, "Location", "/new")...)
			}
			return says(200, left...)
		})}
		began := time.Now()
		resp, err := (&http.Client{Transport: s}).Do(newRequest(t.Context(), http.MethodGet, "http://api.example/old"))
		require.NoError(t, err)
		drop(resp)
		assert.Zero(t, time.Since(began))
	})
}
