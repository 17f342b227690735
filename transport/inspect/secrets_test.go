package inspect_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// Nothing secret is shown, wherever it was: neither in the page, nor in the JSON, nor in
// the events.
func TestSecrets(t *testing.T) {
	t.Run("by default", func(t *testing.T) { testSecrets(t, func(*transport.Shaper) {}) })
	t.Run("own names", func(t *testing.T) {
		testSecrets(t, func(s *transport.Shaper) {
			s.Scope = func(*http.Request) string { return "tenant canary" }
			s.Like = func(r *http.Request) string { return "canary " + r.URL.Path }
			slowly := quota.PerSecond(1, 1, quota.Options{Name: "canary-84712365"})
			s.Limits = func(*http.Request) quota.Limiter { return slowly }
		})
	})
}

func testSecrets(t *testing.T, set func(*transport.Shaper)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		set(w.shaper)
		n := 0
		w.serve = func(rw http.ResponseWriter, _ *http.Request) {
			h := rw.Header()
			h.Set("RateLimit", `"canary_live_4eC39HqLyjWDarjtT1zdp7dc";a=3;w=30;pk=:Y2FuYXJ5LWtleQ==:, "x";a=-1`)
			h.Set("X-Canary", "canary")
			if n++; n%4 == 0 {
				h.Set("Retry-After", "2")
				rw.WriteHeader(429)
			}
		}
		w.shaper.MaxDelay = time.Second
		for i := range 12 {
			ctx := partition.WithClientID(t.Context(), "canary")
			if i%2 == 0 {
				ctx = partition.WithUserID(ctx, "canary")
			}
			req, err := http.NewRequestWithContext(ctx, "GET", "https://canary:canary@api.example/canary?canary=canary", nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer canary")
			req.Header.Set("X-Api-Key", "canary")
			if resp, err := w.shaper.RoundTrip(req); err == nil {
				resp.Body.Close()
			}
		}
		s := watch(t.Context(), w.h)
		shown := map[string]string{"/events": s.next()}
		s.r.Close() // the viewer goes
		for _, path := range []string{"/", "/state", "/view"} {
			shown[path] = ask(w.h, "GET", path).Body.String()
		}
		for path, text := range shown {
			assert.Contains(t, text, "api.example", path)
			assert.NotContains(t, strings.ToLower(text), "canary", path)
		}
		time.Sleep(2 * time.Second) // the next event fails, and ends the stream
	})
}
