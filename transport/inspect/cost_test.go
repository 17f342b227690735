//go:build !race

package inspect_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/internal/paired"
)

// An instant answer allocates nothing.
type instant http.Response

func (i *instant) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(i), nil }

// The hooks of a page do not allocate. With -v, the test also prints how long a request takes
// without a page, with one, and with a viewer. Times depend on what else the machine does, so
// they do not decide the test. (With the race detector sync.Pool drops entries at random,
// so the test is left out.)
func TestCost(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Policy", `"api";q=1000000000;w=60`)
		w.Header().Set("RateLimit", `"api";a=999999999;w=60`)
	}))
	defer served.Close()
	quotas := http.Header{"Ratelimit": {`"api";a=999999999;w=60`}, "Ratelimit-Policy": {`"api";q=1000000000;w=60`}}
	for _, tt := range []struct {
		name string
		base http.RoundTripper
		n    int // requests in a row
	}{
		{"a server on this machine", http.DefaultTransport, 20},
		{"no network, quotas", &instant{StatusCode: http.StatusOK, Header: quotas, Body: http.NoBody}, 200},
		{"no network, no quotas", &instant{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, served.URL, nil)
			require.NoError(t, err)
			roundTrip := func(h *inspect.Handler, tr *transport.Trace) func() {
				s := &transport.Shaper{Base: tt.base, Accounts: h.Accounts, Trace: tr}
				return func() {
					resp, err := s.RoundTrip(req)
					if err != nil {
						panic(err)
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}
			var pages [3]*inspect.Handler
			for i := range pages {
				pages[i] = &inspect.Handler{Accounts: new(quota.Accounts)}
			}
			without, hooks, watched := roundTrip(pages[0], nil), roundTrip(pages[1], pages[1].Trace()), roundTrip(pages[2], pages[2].Trace())
			if tt.base != http.DefaultTransport {
				assert.Equal(t, testing.AllocsPerRun(100, without), testing.AllocsPerRun(100, hooks), "hooks allocate")
			}
			if !testing.Verbose() {
				return
			}
			viewer := watch(t.Context(), pages[2])
			go func() {
				for viewer.next() != "end" {
				}
			}()
			least := paired.Minima(300, tt.n, without, hooks, watched)
			t.Logf("no page %v; hooks %v, %.3f; a viewer %v, %.3f", least[0],
				least[1], float64(least[1])/float64(least[0]), least[2], float64(least[2])/float64(least[0]))
		})
	}
}
