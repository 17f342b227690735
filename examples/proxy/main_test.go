package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

var target = &url.URL{Scheme: "https", Host: "api.example"}

// through returns a transport that reaches an API through the proxy.
func through(api http.Handler) http.RoundTripper {
	base := &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 20 * time.Millisecond }}
	return &transporttest.Transport{Handler: newProxy(target, base)}
}

// All requests of three programs are served, and none is refused.
func TestProxy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 20, Window: 2 * time.Second}}}
		served, refused := programs("http://localhost:8080", through(api))
		assert.EqualValues(t, 60, served)
		assert.Zero(t, refused)
		assert.Zero(t, api.Counts().Refused)
	})
}

// A request that would wait for too long is refused as the API would refuse it.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1, Window: time.Hour}}}
		client := &http.Client{Transport: through(api)}
		for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
			resp, err := client.Get("http://localhost:8080/")
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, want, resp.StatusCode)
			assert.Equal(t, want == http.StatusTooManyRequests, resp.Header.Get("Retry-After") != "")
		}
	})
	for err, want := range map[error]int{
		errors.New("no connection"): http.StatusBadGateway,
		&transport.RejectedError{}:  http.StatusTooManyRequests,
	} {
		w := httptest.NewRecorder()
		refuse(w, nil, err)
		assert.Equal(t, want, w.Code)
	}
}
