//go:build !race

package transport_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport"
)

// A Shaper allocates nothing if the server says nothing of quota. A policy that
// stays the same is not parsed again. (With the race detector sync.Pool drops
// entries at random, so the test is left out.)
func TestAllocations(t *testing.T) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/plain"}}, Body: http.NoBody}
	base := roundTripper(func(*http.Request) (*http.Response, error) { return resp, nil })
	count := func(h http.Header) float64 {
		s := &transport.Shaper{Base: base}
		resp.Header = h
		req := getItems(context.Background())
		return testing.AllocsPerRun(200, func() { _, _ = s.RoundTrip(req) })
	}
	assert.Zero(t, count(http.Header{"Content-Type": {"text/plain"}}))
	assert.Zero(t, count(http.Header{"Ratelimit-Policy": {`"api";q=1000000;w=60`}}))
	assert.LessOrEqual(t, count(http.Header{
		"Ratelimit":        {`"api";a=1000000;w=60`},
		"Ratelimit-Policy": {`"api";q=1000000;w=60`},
	}), 1.0, "a name")
	assert.LessOrEqual(t, count(http.Header{
		"Ratelimit":        {`"api";a=1000000;w=60;pk=:R0VUH2FsaWNl:`},
		"Ratelimit-Policy": {`"api";q=1000000;w=60`},
	}), 1.0, "and a key, which is that of the response before")
	assert.LessOrEqual(t, count(http.Header{
		"Ratelimit":        {`api;a=1000000;w=60`},
		"Ratelimit-Policy": {`"api";q=1000000;w=60`},
	}), 12.0, "and what the structured-field parser needs")
	assert.LessOrEqual(t, count(http.Header{
		"X-Ratelimit-Limit":     {"1000000"},
		"X-Ratelimit-Remaining": {"999999"},
		"X-Ratelimit-Reset":     {"60"},
	}), 2.0, "another dialect")
}
