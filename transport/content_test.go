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

// A scale is a server with a policy in content-bytes. Its responses have a content
// of a given length, with or without a Content-Length.
type scale struct {
	size      int
	hasLength bool
	left      int64
}

func (s *scale) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := says(200, "RateLimit", fmt.Sprintf(`"bytes";a=%d;w=60`, s.left),
		"RateLimit-Policy", `"bytes";q=10000;w=60;qu="content-bytes"`)(req)
	resp.Body = io.NopCloser(bytes.NewReader(make([]byte, s.size)))
	if resp.ContentLength = -1; s.hasLength {
		resp.ContentLength = int64(s.size)
	}
	return resp, err
}

// upload returns a request with a content of n bytes; -1: the length is not known.
func upload(t *testing.T, n int64) *http.Request {
	req := newRequest(t.Context(), "POST", items)
	if req.ContentLength = n; n != 0 {
		req.Body = io.NopCloser(bytes.NewReader(nil))
	}
	return req
}

// costs asserts the expected cost of a request: it goes if that much is left, and
// is refused if one byte less is left.
func (s *scale) costs(t *testing.T, want int64, rt http.RoundTripper, req *http.Request) {
	t.Helper()
	for _, less := range []int64{1, 0} {
		s.left = want - less
		teller := req.Clone(transport.WithBypass(t.Context()))
		teller.Method = http.MethodHead // which is another kind
		pass(t, rt, teller)
		if less == 1 {
			refusal(t, rt, req)
		} else {
			pass(t, rt, req)
		}
	}
}

// The expected cost of a request under a policy in content-bytes is its own length
// plus the length of the responses to requests of its kind.
func TestContentBytes(t *testing.T) {
	for _, hasLength := range []bool{true, false} {
		bubble(t, map[bool]string{true: "length given", false: "counted"}[hasLength], func(t *testing.T) {
			srv := &scale{size: 300, hasLength: hasLength, left: 5000}
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			pass(t, s, getItems(t.Context()))
			srv.costs(t, 300, s, getItems(t.Context()))
			srv.costs(t, 50, s, upload(t, 50)) // no request of the kind was answered
			srv.costs(t, 307, s, upload(t, 7))
			srv.costs(t, 300+40, s, upload(t, -1)) // requests of the kind had 50, and then 7
			unknown := upload(t, -1)
			unknown.ContentLength = 0
			srv.costs(t, 340, s, unknown)
			srv.size = 100
			srv.costs(t, 307, s, upload(t, 7))
			srv.costs(t, 257, s, upload(t, 7)) // the estimate falls by a quarter of the difference
		})
	}
}

// The body is counted as the caller reads it. If it is not read to its end, the bytes
// that were read are a lower bound.
func TestContentIsCountedAsItIsRead(t *testing.T) {
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

// A body is wrapped only if a policy counts bytes and its length is not given.
func TestCountedBodyIsNotWrapped(t *testing.T) {
	srv := &scale{size: 10, hasLength: true, left: 5000}
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
	srv.hasLength = false
	resp, err := s.RoundTrip(getItems(t.Context()))
	require.NoError(t, err)
	assert.NotEqual(t, body, resp.Body)
	s.Base = newServer(says(200))
	other, err := s.RoundTrip(newRequest(t.Context(), "GET", "http://www.example/items"))
	require.NoError(t, err)
	assert.IsType(t, body, other.Body)
}

// These responses do not count for the estimate of their kind: the response to a
// HEAD, whose Content-Length is not that of its content; one from a cache; one to a
// kind that no policy in content-bytes concerns.
func TestContentThatDoesNotCount(t *testing.T) {
	bubble(t, "HEAD", func(t *testing.T) {
		srv := &scale{size: 1000, hasLength: true, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Like: func(*http.Request) string { return "all" }}
		for range 3 {
			pass(t, s, newRequest(t.Context(), "HEAD", items))
		}
		srv.costs(t, 1, s, newRequest(t.Context(), "HEAD", items))
	})
	bubble(t, "from a cache", func(t *testing.T) {
		srv := &scale{size: 10, hasLength: true, left: 5000}
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

// Shaper.Cost replaces the estimate of bytes.
func TestCostReplacesContentBytes(t *testing.T) {
	bubble(t, "cost", func(t *testing.T) {
		srv := &scale{size: 1000, hasLength: true, left: 5000}
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Cost: func(*http.Request, quota.Policy) int64 { return 500 }}
		pass(t, s, getItems(t.Context()))
		srv.costs(t, 500, s, getItems(t.Context()))
	})
}
