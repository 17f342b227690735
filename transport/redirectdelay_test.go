package transport_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// The wait for a redirect's Retry-After counts towards MaxDelay. If it takes all of
// MaxDelay, nothing is left for a second wait: the request is refused at once.
func TestRedirectThatTakesAllOfMaxDelay(t *testing.T) {
	for _, tt := range []struct {
		name  string
		set   time.Duration
		retry string
		want  []time.Duration // departures, if the request is sent in spite of the second wait
	}{
		{"the default", 0, "120", nil},
		{"one's own", 8 * time.Second, "8", nil},
		{"a second less", 9 * time.Second, "8", []time.Duration{0, 0, 8*time.Second + 500*time.Millisecond}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := newChooser(func(_ int, req *http.Request) answer {
					if req.URL.Path == "/old" {
						return says(307, "Location", "/new", "Retry-After", tt.retry)
					}
					return says(200)
				})
				permits := quota.Concurrency(1)
				s := &transport.Shaper{Base: srv, MaxDelay: tt.set, Limits: func(req *http.Request) quota.Limiter {
					if req.URL.Path == "/old" {
						return nil
					}
					return permits
				}}
				// Another request takes the only permit until half a second after the redirect's wait.
				wait, err := time.ParseDuration(tt.retry + "s")
				require.NoError(t, err)
				other, err := s.RoundTrip(getItems(t.Context()))
				require.NoError(t, err)
				time.AfterFunc(wait+500*time.Millisecond, func() { other.Body.Close() })

				began := time.Now()
				resp, err := (&http.Client{Transport: s}).Do(newRequest(t.Context(), http.MethodGet, "http://api.example/old"))
				if drop(resp); tt.want != nil {
					require.NoError(t, err)
					assert.Equal(t, tt.want, srv.departures())
					return
				}
				var rejected *transport.RejectedError
				require.ErrorAs(t, err, &rejected)
				assert.Equal(t, wait, time.Since(began))
				assert.Equal(t, 2, srv.count())
				time.Sleep(time.Second) // the permit comes back
			})
		})
	}
}

// A request that follows a redirect, and has to wait longer for a quota than it may, is
// refused at once, not after the redirect's Retry-After.
func TestRedirectThatWaitsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(says(307, "Location", "/new", "Retry-After", "20", "RateLimit", `"api";a=0;w=300`))
		s := &transport.Shaper{Base: srv}
		began := time.Now()
		resp, err := (&http.Client{Transport: s}).Do(newRequest(t.Context(), http.MethodGet, "http://api.example/old"))
		drop(resp)
		var rejected *transport.RejectedError
		require.ErrorAs(t, err, &rejected)
		assert.Equal(t, quota.ReasonMaxDelay, rejected.Reason)
		assert.Equal(t, "api", rejected.Policy)
		assert.Zero(t, time.Since(began))
		assert.Equal(t, 1, srv.count())
	})
}

// The Retry-After of a redirect begins when the redirect comes, for each attempt of a transport that retries.
func TestRedirectRetried(t *testing.T) {
	for _, timeout := range []time.Duration{0, time.Hour} { // with one, http.Client replaces the body
		synctest.Test(t, func(t *testing.T) {
			srv := newServer(says(307, "Location", "/new", "Retry-After", "30"), says(502), says(502), says(200))
			s := &transport.Shaper{Base: srv}
			retries := roundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(req)
				for ; err == nil && resp.StatusCode == 502; resp, err = s.RoundTrip(req) {
					drop(resp)
					time.Sleep(time.Second)
				}
				return resp, err
			})
			resp, err := (&http.Client{Transport: retries, Timeout: timeout}).Do(newRequest(t.Context(), http.MethodGet, "http://api.example/old"))
			require.NoError(t, err)
			drop(resp)
			assert.Equal(t, []time.Duration{0, 30 * time.Second, 31 * time.Second, 32 * time.Second}, srv.departures())
		})
	}
}
