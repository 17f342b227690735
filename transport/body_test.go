package transport_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// limited returns a Shaper with a limit on concurrency over a server that
// answers with the status and body, and the limit.
func limited(t *testing.T, status int, body io.ReadCloser) (*transport.Shaper, *quota.Limit) {
	c := quota.Concurrency(2)
	return &transport.Shaper{
		Base: newServer(func(req *http.Request) (*http.Response, error) {
			resp, err := says(status)(req)
			resp.Body = body
			return resp, err
		}),
		Limits:   func(*http.Request) quota.Limiter { return c },
		MaxDelay: transport.NoDelay,
	}, c
}

// A permit is retained until the body of the response has been read to its end or
// to an error, or is closed, and is given back once.
func TestPermitEndsWithBody(t *testing.T) {
	for _, tt := range []struct {
		name string
		body func() io.ReadCloser
		end  func(t *testing.T, body io.ReadCloser)
	}{
		{"read to its end", content, func(t *testing.T, body io.ReadCloser) {
			got, err := io.ReadAll(body)
			assert.NoError(t, err)
			assert.Equal(t, "content", string(got))
		}},
		{"end with the last bytes", func() io.ReadCloser {
			return io.NopCloser(iotest.DataErrReader(strings.NewReader("content")))
		}, func(t *testing.T, body io.ReadCloser) {
			n, err := body.Read(make([]byte, 100))
			assert.Equal(t, 7, n)
			assert.Equal(t, io.EOF, err)
		}},
		{"error", func() io.ReadCloser { return io.NopCloser(iotest.ErrReader(errBroken)) }, func(t *testing.T, body io.ReadCloser) {
			_, err := body.Read(make([]byte, 1))
			assert.True(t, err == errBroken, "the error is not the body's own")
		}},
		{"closed unread", content, func(t *testing.T, body io.ReadCloser) { assert.NoError(t, body.Close()) }},
		{"closed twice", content, func(t *testing.T, body io.ReadCloser) {
			assert.NoError(t, body.Close())
			assert.NoError(t, body.Close())
		}},
		{"read to its end and closed", content, func(t *testing.T, body io.ReadCloser) {
			_, _ = io.Copy(io.Discard, body)
			_, _ = body.Read(make([]byte, 1))
			assert.NoError(t, body.Close())
		}},
		{"close fails", func() io.ReadCloser { return &failingCloser{strings.NewReader("")} }, func(t *testing.T, body io.ReadCloser) {
			assert.True(t, body.Close() == errBroken, "the error is not the body's own")
		}},
		{"close panics", func() io.ReadCloser { return panickingCloser{strings.NewReader("")} }, func(t *testing.T, body io.ReadCloser) {
			assert.PanicsWithValue(t, boom, func() { _ = body.Close() })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := limited(t, 200, tt.body())
			other, err := c.TryAcquire(1) // a second release would give it back
			require.NoError(t, err)
			resp, err := s.RoundTrip(getItems(t.Context()))
			require.NoError(t, err)
			assert.Zero(t, c.Stats().Available)
			_, err = s.RoundTrip(getItems(t.Context()))
			var rejected *transport.RejectedError
			if assert.ErrorAs(t, err, &rejected) {
				assert.Equal(t, quota.ReasonOwnLimit, rejected.Reason)
			}
			tt.end(t, resp.Body)
			assert.EqualValues(t, 1, c.Stats().Available)
			other.Release()
			assert.EqualValues(t, 2, c.Stats().Available)
		})
	}
}

func content() io.ReadCloser { return io.NopCloser(strings.NewReader("content")) }

type failingCloser struct{ io.Reader }

func (*failingCloser) Close() error { return errBroken }

type panickingCloser struct{ io.Reader }

func (panickingCloser) Close() error { panic(boom) }

// Without a body, nothing is retained after RoundTrip.
func TestNoBodyRetainsNoPermit(t *testing.T) {
	for name, body := range map[string]io.ReadCloser{"NoBody": http.NoBody, "nil": nil} {
		t.Run(name, func(t *testing.T) {
			s, c := limited(t, 204, body)
			resp, err := s.RoundTrip(getItems(t.Context()))
			require.NoError(t, err)
			assert.Equal(t, body, resp.Body)
			assert.EqualValues(t, 2, c.Stats().Available)
		})
	}
	t.Run("error", func(t *testing.T) {
		for _, err := range []error{errBroken, errors.New("another")} {
			s, c := limited(t, 200, nil)
			s.Base = newServer(fails(err))
			_, got := s.RoundTrip(getItems(t.Context()))
			assert.True(t, got == err)
			assert.EqualValues(t, 2, c.Stats().Available)
		}
	})
	t.Run("panic of Base", func(t *testing.T) {
		s, c := limited(t, 200, nil)
		s.Base = roundTripper(func(*http.Request) (*http.Response, error) { panic(boom) })
		assert.PanicsWithValue(t, boom, func() { _, _ = s.RoundTrip(getItems(t.Context())) })
		assert.EqualValues(t, 2, c.Stats().Available)
	})
}

// The body is wrapped only if its end must be known. A rate limit and quotas in
// requests do not need that.
func TestBodyIsNotWrapped(t *testing.T) {
	body := content()
	s, _ := limited(t, 200, body)
	s.Limits = nil
	resp, err := s.RoundTrip(getItems(t.Context()))
	require.NoError(t, err)
	assert.Equal(t, body, resp.Body)
}

// A conn is the body of a 101 response, as net/http makes it.
type conn struct {
	bytes.Buffer
	closed, closedWrite int
}

func (c *conn) Close() error      { c.closed++; return nil }
func (c *conn) CloseWrite() error { c.closedWrite++; return nil }

// "On a 101 Switching Protocols response, Body also implements io.Writer"
// (http.Response); that of net/http also has CloseWrite, which httputil.ReverseProxy
// calls. The body keeps these methods, and the permit is retained until the connection
// is closed, even if the server has sent all it has to send.
func TestUpgradedBody(t *testing.T) {
	c := &conn{}
	s, limit := limited(t, http.StatusSwitchingProtocols, c)
	resp, err := s.RoundTrip(getItems(t.Context()))
	require.NoError(t, err)
	body, ok := resp.Body.(io.ReadWriteCloser)
	require.True(t, ok, "the body has lost its Write")
	assert.EqualValues(t, 1, limit.Stats().Available)

	_, err = body.Write([]byte("ping"))
	assert.NoError(t, err)
	got := make([]byte, 4)
	_, err = io.ReadFull(body, got)
	assert.NoError(t, err)
	assert.Equal(t, "ping", string(got))
	_, err = body.Read(got)
	assert.Equal(t, io.EOF, err)
	assert.EqualValues(t, 1, limit.Stats().Available, "the permit was released when the server had sent everything")

	half, ok := resp.Body.(interface{ CloseWrite() error })
	if assert.True(t, ok, "the body has no CloseWrite") {
		assert.NoError(t, half.CloseWrite())
		assert.Equal(t, 1, c.closedWrite)
		assert.EqualValues(t, 1, limit.Stats().Available, "the permit was released by CloseWrite")
	}
	assert.NoError(t, body.Close())
	assert.NoError(t, body.Close())
	assert.Equal(t, 2, c.closed)
	assert.EqualValues(t, 2, limit.Stats().Available)
}

// A connection that a real server upgrades works through a Shaper, which retains a
// permit for it.
func TestUpgradeOverNetwork(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.CopyN(conn, rw, 4)
	}))
	defer srv.Close()
	s, limit := limited(t, 0, nil)
	s.Base = srv.Client().Transport
	req := newRequest(t.Context(), "GET", srv.URL)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := s.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	body := resp.Body.(io.ReadWriteCloser)
	_, err = body.Write([]byte("ping"))
	require.NoError(t, err)
	got, err := io.ReadAll(body)
	assert.NoError(t, err)
	assert.Equal(t, "ping", string(got))
	assert.EqualValues(t, 1, limit.Stats().Available)
	assert.NoError(t, body.Close())
	assert.EqualValues(t, 2, limit.Stats().Available)
}

// collected collects garbage until the limiter has the given number of permits.
func collected(limit *quota.Limit, permits int64) {
	for limit.Stats().Available < permits {
		runtime.GC()
	}
}

// A body that is neither read to its end nor closed gives its permit back when it
// is garbage. If it was ended before, the permit is not given back again.
func TestLostBodyReleases(t *testing.T) {
	for name, status := range map[string]int{"response": 200, "upgrade": 101} {
		t.Run(name, func(t *testing.T) {
			s, limit := limited(t, status, nil)
			s.Base = roundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := says(status)(req)
				if status == 101 {
					resp.Body = &conn{}
				}
				return resp, err
			})
			for i := range 6 {
				resp, err := s.RoundTrip(getItems(t.Context()))
				require.NoError(t, err)
				if i%2 == 0 {
					require.NoError(t, resp.Body.Close())
				}
				resp = nil
				collected(limit, 2)
				assert.EqualValues(t, 2, limit.Stats().Available)
			}
		})
	}
}

// When a lost body gives its permit back, a request that waits for the permit goes.
// This holds for the client's own limits and for advertised ones.
func TestLostBodyLetsGo(t *testing.T) {
	const policy = `"threads";q=1;qu="concurrent-requests"`
	s := &transport.Shaper{Base: newServer(says(200, "RateLimit-Policy", policy)), MaxDelay: time.Hour}
	for range 3 { // the first response advertises the policy, and its request counts, too
		_, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			pass(t, s, getItems(context.Background()))
		}()
		for waiting := true; waiting; {
			runtime.GC()
			select {
			case <-gone:
				waiting = false
			default:
			}
		}
	}
}

// A body is not garbage while a goroutine reads from it.
func TestBodyIsKeptWhileItIsRead(t *testing.T) {
	s, limit := limited(t, 101, nil)
	read, write := io.Pipe()
	began, ended := make(chan struct{}), make(chan struct{})
	s.Base = roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := says(101)(req)
		resp.Body = struct {
			io.ReadCloser
			io.Writer
		}{readCloser{read, began}, io.Discard}
		return resp, err
	})
	go func() {
		defer close(ended)
		resp, err := s.RoundTrip(getItems(context.Background()))
		if assert.NoError(t, err) {
			_, err = resp.Body.Read(make([]byte, 1))
			assert.Equal(t, io.EOF, err)
		}
	}()
	<-began
	assert.EqualValues(t, 1, limit.Stats().Available)
	s.Base = newServer(says(200))
	_, err := s.RoundTrip(getItems(t.Context())) // a lost body: when its permit is back, garbage was collected
	require.NoError(t, err)
	collected(limit, 1)
	assert.EqualValues(t, 1, limit.Stats().Available)
	write.Close()
	<-ended
	collected(limit, 2)
}

// A readCloser closes a channel when its first Read begins.
type readCloser struct {
	io.ReadCloser
	began chan struct{}
}

func (r readCloser) Read(p []byte) (int, error) {
	close(r.began)
	return r.ReadCloser.Read(p)
}
