package transport_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A scale is a server with a policy that counts bytes. Its responses have a
// content of so many, and tell its length or not.
type scale struct {
	size int
	told bool
	left int64
}

func (s *scale) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := says(200, "RateLimit", fmt.Sprintf(`"bytes";a=%d;w=60`, s.left),
		"RateLimit-Policy", `"bytes";q=10000;w=60;qu="content-bytes"`)(req)
	resp.Body = io.NopCloser(bytes.NewReader(make([]byte, s.size)))
	if resp.ContentLength = -1; s.told {
		resp.ContentLength = int64(s.size)
	}
	return resp, err
}

// upload is a request with a content of so many bytes; -1: nobody knows.
func upload(t *testing.T, n int64) *http.Request {
	req := newRequest(t.Context(), "POST", items)
	if req.ContentLength = n; n != 0 {
		req.Body = io.NopCloser(bytes.NewReader(nil))
	}
	return req
}

// costs asserts what a request is expected to cost: it goes if so much is left,
// and no less.
func (s *scale) costs(t *testing.T, want int64, rt http.RoundTripper, req *http.Request) {
	t.Helper()
	for _, less := range []int64{1, 0} {
		s.left = want - less
		teller := req.Clone(transport.WithBypass(t.Context()))
		teller.Method = http.MethodHead // of a kind of its own
		pass(t, rt, teller)
		if less == 1 {
			refusal(t, rt, req)
		} else {
			pass(t, rt, req)
		}
	}
}

// A request under a policy in content-bytes is expected to cost its own length,
// and what the responses to like requests have weighed.
func TestWeight(t *testing.T) {
	for _, told := range []bool{true, false} {
		bubble(t, map[bool]string{true: "told", false: "counted"}[told], func(t *testing.T) {
			srv := &scale{size: 300, told: told, left: 5000}
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			srv.costs(t, 300, s, getItems(t.Context()))
			srv.costs(t, 50, s, upload(t, 50)) // no like one was answered
			srv.costs(t, 307, s, upload(t, 7))
			srv.costs(t, 300+40, s, upload(t, -1)) // like ones had 50, and then 7
			unknown := upload(t, -1)
			unknown.ContentLength = 0
			srv.costs(t, 340, s, unknown)
			srv.size = 100
			srv.costs(t, 307, s, upload(t, 7))
			srv.costs(t, 257, s, upload(t, 7)) // it falls by a quarter of the difference
		})
	}
}

// The body is counted as the caller reads it. What is not read to its end weighs
// no less than what was read of it.
func TestWeightIsCountedAsItIsRead(t *testing.T) {
	bubble(t, "in part", func(t *testing.T) {
		srv := &scale{size: 1000, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		for _, read := range []int{100, 400, 200} {
			resp, err := s.RoundTrip(getItems(transport.WithBypass(t.Context())))
			require.NoError(t, err)
			_, err = io.ReadFull(resp.Body, make([]byte, read))
			require.NoError(t, err)
			resp.Body.Close()
			resp.Body.Close()
		}
		srv.costs(t, 400, s, getItems(t.Context()))
	})
	bubble(t, "not at all", func(t *testing.T) {
		srv := &scale{size: 1000, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		srv.costs(t, 1, s, getItems(t.Context()))
		drop(resp)
	})
	bubble(t, "read and closed", func(t *testing.T) {
		srv := &scale{size: 1000, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		srv.size = 600
		pass(t, s, getItems(t.Context()))
		srv.costs(t, 900, s, getItems(t.Context()))
	})
}

// A body is wrapped only where a policy counts bytes, and nothing tells its length.
func TestWeighedBodyIsNotWrapped(t *testing.T) {
	srv := &scale{size: 10, told: true, left: 5000}
	body := content()
	s := &transport.Shaper{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := srv.RoundTrip(req)
		resp.Body = body
		return resp, err
	})}
	for range 3 {
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		assert.Equal(t, body, resp.Body)
	}
	srv.told = false
	resp, err := s.RoundTrip(getItems(t.Context()))
	require.NoError(t, err)
	assert.NotEqual(t, body, resp.Body)
	s.Base = newServer(says(200))
	other, err := s.RoundTrip(newRequest(t.Context(), "GET", "http://www.example/items"))
	require.NoError(t, err)
	assert.IsType(t, body, other.Body)
}

// What weighs nothing for its kind: the answer to a HEAD, which tells a length
// that it does not have; one from a cache; one to a kind that no such policy
// concerns.
func TestWeighsNothing(t *testing.T) {
	bubble(t, "HEAD", func(t *testing.T) {
		srv := &scale{size: 1000, told: true, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Like: func(*http.Request) string { return "all" }}
		for range 3 {
			pass(t, s, newRequest(t.Context(), "HEAD", items))
		}
		srv.costs(t, 1, s, newRequest(t.Context(), "HEAD", items))
	})
	bubble(t, "from a cache", func(t *testing.T) {
		srv := &scale{size: 10, told: true, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Cached: func(*http.Response) bool { return srv.size > 10 }}
		pass(t, s, getItems(t.Context()))
		srv.size = 1000
		pass(t, s, getItems(t.Context()))
		srv.size = 10
		srv.costs(t, 10, s, getItems(t.Context()))
	})
	bubble(t, "another kind", func(t *testing.T) {
		srv := &scale{size: 1000, left: 5000}
		body := content()
		s := &transport.Shaper{Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.URL.Path == "/items" {
				return srv.RoundTrip(req)
			}
			resp, err := limit(`"other";a=9;w=60`)(req)
			resp.Body, resp.ContentLength = body, -1
			return resp, err
		})}
		pass(t, s, getItems(t.Context()))
		resp, err := s.RoundTrip(getPath(t, "other"))
		require.NoError(t, err)
		assert.Equal(t, body, resp.Body)
	})
}

// Whoever says what requests cost says it of bytes, too.
func TestWeightAndCost(t *testing.T) {
	bubble(t, "cost", func(t *testing.T) {
		srv := &scale{size: 1000, told: true, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Cost: func(*http.Request, quota.Policy) int64 { return 500 }}
		pass(t, s, getItems(t.Context()))
		srv.costs(t, 500, s, getItems(t.Context()))
	})
}
