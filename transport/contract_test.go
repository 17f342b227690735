package transport_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// The comments quote the contract of http.RoundTripper in package net/http.

// "A RoundTripper must be safe for concurrent use by multiple goroutines." This
// includes the first use of the Shaper, of one origin and of many.
func TestRoundTripConcurrently(t *testing.T) {
	const workers, each = 32, 50
	srv := newServer(says(200,
		"RateLimit", `"api";a=1000000;w=60`,
		"RateLimit-Policy", `"api";q=1000000;w=60`,
		"RateLimit-Partition", `"api";user_id`,
	))
	s := &transport.Shaper{Base: srv}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				ctx := partition.WithUserID(t.Context(), fmt.Sprint("user-", (w+i)%5))
				req := newRequest(ctx, http.MethodGet, fmt.Sprintf("http://api-%d.example/items", i%3))
				req.Header.Set("Authorization", fmt.Sprint("Bearer ", i%4))
				resp, err := s.RoundTrip(req)
				if assert.NoError(t, err) {
					drop(resp)
				}
				s.Check(req)
				s.CloseIdleConnections()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, workers*each, srv.count())
}

// "RoundTrip executes a single HTTP transaction": Base is called once for a request
// that is admitted, whatever the response, and never for one that is refused. There
// are no retries.
func TestRoundTripIsOneTransaction(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer answer
	}{
		{"200", says(200)},
		{"301", says(301, "Location", "/elsewhere", "Retry-After", "1")},
		{"408", says(408, "Connection", "close")},
		{"425", says(425)},
		{"429", says(429, "Retry-After", "1")},
		{"503", says(503, "Retry-After", "0")},
		{"error", fails(errBroken)},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			srv := newServer(tt.answer)
			s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
			resp, _ := s.RoundTrip(getItems(t.Context()))
			drop(resp)
			time.Sleep(time.Hour)
			assert.Equal(t, 1, srv.count())
		})
	}
	bubble(t, "refused", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=60`))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		refusal(t, s, getItems(t.Context()))
		time.Sleep(time.Hour)
		assert.Equal(t, 1, srv.count())
	})
}

// "RoundTrip should not attempt to interpret the response. In particular,
// RoundTrip must return err == nil if it obtained a response, regardless of the
// response's HTTP status code." The response is Base's own, its body unread.
func TestResponseIsBases(t *testing.T) {
	fields := map[string][]string{
		"none":      nil,
		"good":      {"RateLimit", `"api";a=0;w=60`, "RateLimit-Policy", `"api";q=10;w=60`, "Retry-After", "30"},
		"malformed": {"RateLimit", `"api";a=`, "RateLimit-Policy", `;;;`, "RateLimit-Partition", `"api"=`, "Retry-After", "soon"},
		"cached":    {"RateLimit", `"api";a=0;w=60`, "Age", "60", "Retry-After", "30"},
	}
	for name, fields := range fields {
		for _, status := range []int{101, 200, 204, 301, 304, 401, 403, 413, 429, 500, 503, 599} {
			bubble(t, fmt.Sprint(name, "-", status), func(t *testing.T) {
				var made *http.Response
				var header http.Header
				content := &closeCounter{Reader: strings.NewReader("content")}
				s := &transport.Shaper{Base: newServer(func(req *http.Request) (*http.Response, error) {
					made, _ = says(status, fields...)(req)
					made.Body = content
					header = made.Header.Clone()
					return made, nil
				})}
				req := getItems(t.Context())
				resp, err := s.RoundTrip(req)
				require.NoError(t, err)
				assert.Same(t, made, resp)
				assert.Equal(t, status, resp.StatusCode)
				assert.Equal(t, header, resp.Header)
				assert.Same(t, content, resp.Body, "the body is wrapped")
				assert.Same(t, req, resp.Request)
				assert.Zero(t, content.reads.Load(), "the body was read")
				assert.Zero(t, content.closes.Load(), "the body was closed")
			})
		}
	}
}

// "A non-nil err should be reserved for failure to obtain a response." Base's
// error is returned as it is.
func TestErrorIsBases(t *testing.T) {
	s := &transport.Shaper{Base: newServer(fails(errBroken))}
	resp, err := s.RoundTrip(getItems(t.Context()))
	assert.Nil(t, resp)
	assert.True(t, err == errBroken, "the error was wrapped")
}

// "Similarly, RoundTrip should not attempt to handle higher-level protocol
// details such as redirects, authentication, or cookies." The request that follows a
// redirect is a new one.
func TestHigherLevelsAreLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(
			says(302, "Location", "/elsewhere", "Set-Cookie", "a=b", "WWW-Authenticate", "Basic"),
			limit(`"api";a=0;w=30`),
			says(200),
		)
		s := &transport.Shaper{Base: srv}
		req := getItems(t.Context())
		req.URL.User = url.UserPassword("alice", "secret")
		_, status := pass(t, s, req)
		assert.Equal(t, 302, status)
		assert.Empty(t, srv.requests[0].Header)

		client := &http.Client{Transport: s}
		resp, err := client.Do(getItems(t.Context()))
		require.NoError(t, err)
		drop(resp)
		assert.Equal(t, 2, srv.count())
	})
}

// The request that follows a redirect is shaped like any other.
func TestRedirectIsShaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(says(302, "Location", "/elsewhere", "RateLimit", `"api";a=0;w=10`), says(200))
		client := &http.Client{Transport: &transport.Shaper{Base: srv}}
		resp, err := client.Get(items)
		require.NoError(t, err)
		drop(resp)
		assert.Equal(t, []time.Duration{0, 10*time.Second + guard(0)}, srv.departures())
	})
}

// A closeCounter is a body that counts calls of its methods.
type closeCounter struct {
	io.Reader
	reads, closes atomic.Int32
}

func (b *closeCounter) Read(p []byte) (int, error) {
	b.reads.Add(1)
	return b.Reader.Read(p)
}

func (b *closeCounter) Close() error {
	b.closes.Add(1)
	return nil
}

// A path is a way that a request with a body can take through a Shaper.
type path struct {
	name string
	// prepare prepares a Shaper over srv and returns the context of the request.
	// The first response of srv has said that nothing is left for 60 s.
	prepare func(t *testing.T, s *transport.Shaper, srv *server) context.Context
	change  func(req *http.Request)
	sent    bool          // Base gets the request
	took    time.Duration // how long RoundTrip takes
	is      error         // matches the error; nil: there is none
	reason  quota.Reason
	panics  any // the value of the panic; nil: there is none
}

// busy returns a limiter that never has a permit.
func busy(t *testing.T) func(*http.Request) quota.Limiter {
	c := quota.Concurrency(1)
	_, err := c.TryAcquire(1)
	require.NoError(t, err)
	return func(*http.Request) quota.Limiter { return c }
}

const boom = "boom"

// paths returns all paths through RoundTrip.
func paths() []path {
	here := func(t *testing.T, _ *transport.Shaper, _ *server) context.Context { return t.Context() }
	panicking := func(set func(s *transport.Shaper)) func(*testing.T, *transport.Shaper, *server) context.Context {
		return func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			set(s)
			return t.Context()
		}
	}
	passing := func(set func(s *transport.Shaper)) func(*testing.T, *transport.Shaper, *server) context.Context {
		return func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			set(s)
			return transport.WithBypass(t.Context())
		}
	}
	errCause := errors.New("the user went away")
	return []path{
		{name: "admitted", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			time.Sleep(time.Hour)
			return t.Context()
		}, sent: true},
		{name: "admitted after waiting", prepare: here, sent: true, took: 60*time.Second + guard(0)},
		{name: "context done before", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			return ctx
		}, is: errCause},
		{name: "deadline passed before", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			time.Sleep(2 * time.Second)
			return ctx
		}, is: context.DeadlineExceeded},
		{name: "context cancelled in line", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(7*time.Second, func() { cancel(errCause) })
			return ctx
		}, took: 7 * time.Second, is: errCause},
		{name: "deadline in line", prepare: func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			s.Limits = busy(t)
			time.Sleep(time.Hour)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			t.Cleanup(cancel)
			return ctx
		}, took: 5 * time.Second, is: context.DeadlineExceeded},
		{name: "would miss its deadline", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			t.Cleanup(cancel)
			return ctx
		}, is: context.DeadlineExceeded, reason: quota.ReasonDeadline},
		{name: "would exceed MaxDelay", prepare: func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			s.MaxDelay = 5 * time.Second
			return t.Context()
		}, is: transport.ErrRejected, reason: quota.ReasonMaxDelay},
		{name: "MaxDelay passed in line", prepare: func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			s.MaxDelay = 5 * time.Second
			s.Limits = busy(t)
			time.Sleep(time.Hour)
			return t.Context()
		}, took: 5 * time.Second, is: transport.ErrRejected, reason: quota.ReasonMaxDelay},
		{name: "NoDelay", prepare: func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			s.MaxDelay = transport.NoDelay
			return t.Context()
		}, is: transport.ErrRejected, reason: quota.ReasonExhausted},
		{name: "never held", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			return transport.WithNoDelay(t.Context())
		}, is: transport.ErrRejected, reason: quota.ReasonExhausted},
		{name: "queue full", prepare: func(t *testing.T, s *transport.Shaper, _ *server) context.Context {
			s.MaxQueue = 1
			go func() {
				resp, err := s.RoundTrip(getItems(context.Background()))
				assert.NoError(t, err)
				drop(resp)
			}()
			synctest.Wait()
			t.Cleanup(func() { time.Sleep(time.Hour) }) // until the queued request has gone
			return t.Context()
		}, is: transport.ErrRejected, reason: quota.ReasonQueueFull},

		{name: "Scope panics", prepare: panicking(func(s *transport.Shaper) {
			s.Scope = func(*http.Request) string { panic(boom) }
		}), panics: boom},
		{name: "Cost panics", prepare: panicking(func(s *transport.Shaper) {
			s.Cost = func(*http.Request, quota.Policy) int64 { panic(boom) }
		}), panics: boom},
		{name: "Cost panics in line", prepare: panicking(func(s *transport.Shaper) {
			asked := 0
			s.Cost = func(*http.Request, quota.Policy) int64 {
				if asked++; asked == 2 {
					panic(boom)
				}
				return 1
			}
		}), took: 60*time.Second + guard(0), panics: boom},
		{name: "Limits panics", prepare: panicking(func(s *transport.Shaper) {
			s.Limits = func(*http.Request) quota.Limiter { panic(boom) }
		}), panics: boom},
		{name: "a dimension panics", prepare: panicking(func(s *transport.Shaper) {
			s.Dimensions = partition.Dimensions{"tenant": func(*http.Request) (string, bool) { panic(boom) }}
		}), panics: boom},
		{name: "Like panics", prepare: panicking(func(s *transport.Shaper) {
			s.Dimensions = partition.Dimensions{"tenant": nil}
			s.Like = func(*http.Request) string { panic(boom) }
		}), panics: boom},
		{name: "Held panics", prepare: panicking(func(s *transport.Shaper) {
			s.Trace = &transport.Trace{Held: func(transport.HeldInfo) { panic(boom) }}
		}), panics: boom},
		{name: "Held panics, WithBypass", prepare: passing(func(s *transport.Shaper) {
			s.Trace = &transport.Trace{Held: func(transport.HeldInfo) { panic(boom) }}
		}), panics: boom},
		{name: "Admitted panics", prepare: passing(func(s *transport.Shaper) {
			s.Trace = &transport.Trace{Admitted: func(transport.AdmittedInfo) { panic(boom) }}
		}), panics: boom},
		{name: "Held of the request panics", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			return transport.WithTrace(t.Context(), &transport.Trace{Held: func(transport.HeldInfo) { panic(boom) }})
		}, panics: boom},
		{name: "Admitted of the request panics", prepare: func(t *testing.T, _ *transport.Shaper, _ *server) context.Context {
			return transport.WithTrace(transport.WithBypass(t.Context()), &transport.Trace{Admitted: func(transport.AdmittedInfo) { panic(boom) }})
		}, panics: boom},
		{name: "Rejected panics", prepare: panicking(func(s *transport.Shaper) {
			s.MaxDelay = transport.NoDelay
			s.Trace = &transport.Trace{Rejected: func(transport.RejectedInfo) { panic(boom) }}
		}), panics: boom},
		{name: "Learned panics", prepare: passing(func(s *transport.Shaper) {
			s.Trace = &transport.Trace{Learned: func(transport.LearnedInfo) { panic(boom) }}
		}), sent: true, panics: boom},
		{name: "Base panics", prepare: passing(func(s *transport.Shaper) {
			base := s.Base
			s.Base = roundTripper(func(req *http.Request) (*http.Response, error) {
				_, _ = base.RoundTrip(req)
				panic(boom)
			})
		}), sent: true, panics: boom},

		{name: "Refused panics", prepare: passing(func(s *transport.Shaper) {
			s.Refused = func(*http.Response) (bool, time.Duration) {
				s.Refused = func(*http.Response) (bool, time.Duration) { return false, 0 }
				panic(boom)
			}
		}), sent: true, panics: boom},

		{name: "nil URL", prepare: here, change: func(req *http.Request) { req.URL = nil }, sent: true},
		{name: "nil Header", prepare: here, change: func(req *http.Request) { req.Header = nil }, sent: true},
		{name: "Base fails", prepare: func(t *testing.T, s *transport.Shaper, srv *server) context.Context {
			srv.choose = func(int, *http.Request) answer { return fails(errBroken) }
			time.Sleep(time.Hour)
			return t.Context()
		}, sent: true, is: errBroken},
	}
}

// run sends a request with the body along the path and checks the result. It returns
// the Shaper.
func (p path) run(t *testing.T, method string, body io.ReadCloser, look func(req *http.Request)) *transport.Shaper {
	srv := newServer(
		says(200, "RateLimit", `"api";a=0;w=60;pk=:YWNtZQ==:`, "RateLimit-Partition", `"api";tenant`),
		says(200),
	)
	tenant := func(req *http.Request) (string, bool) { return "acme", true }
	s := &transport.Shaper{Base: srv, Dimensions: partition.Dimensions{"tenant": tenant}}
	pass(t, s, getItems(t.Context()))

	ctx := p.prepare(t, s, srv)
	req, err := http.NewRequestWithContext(ctx, method, items, nil)
	require.NoError(t, err)
	req.Header.Set("X-Trace", "1")
	req.Body = body
	req.GetBody = func() (io.ReadCloser, error) {
		assert.Fail(t, "GetBody was called")
		return nil, errBroken
	}
	if p.change != nil {
		p.change(req)
	}
	if look != nil {
		look(req)
	}

	before, began := srv.count(), time.Now()
	var resp *http.Response
	recovered := func() (r any) {
		defer func() { r = recover() }()
		resp, err = s.RoundTrip(req)
		return nil
	}()
	took := time.Since(began)

	assert.Equal(t, p.took, took, "duration of RoundTrip")
	assert.Equal(t, p.panics, recovered)
	if p.sent {
		assert.Equal(t, before+1, srv.count(), "calls of Base")
		assert.Same(t, req, srv.requests[before], "Base was given another request")
	} else {
		assert.Equal(t, before, srv.count(), "calls of Base")
	}
	if p.panics != nil {
		return s
	}
	if p.is == nil {
		require.NoError(t, err)
		drop(resp)
		return s
	}
	assert.ErrorIs(t, err, p.is)
	assert.Nil(t, resp)
	var rejected *transport.RejectedError
	if errors.As(err, &rejected) {
		assert.Equal(t, p.reason, rejected.Reason)
	} else {
		assert.Zero(t, p.reason)
		assert.True(t, err == p.is, "not bare: %T", err)
	}
	return s
}

// "RoundTrip must always close the body, including on errors". It is closed once. If
// the request is refused, it is closed before RoundTrip returns: "callers wanting to
// reuse the body for subsequent requests must arrange to wait for the Close call".
func TestBodyIsClosedOnce(t *testing.T) {
	for _, p := range paths() {
		bubble(t, p.name, func(t *testing.T) {
			body := &closeCounter{Reader: strings.NewReader("content")}
			p.run(t, http.MethodPut, body, nil)
			assert.EqualValues(t, 1, body.closes.Load(), "calls of Close")
			assert.Zero(t, body.reads.Load(), "the body was read")
		})
	}
}

// All paths work for a request without a body.
func TestNoBody(t *testing.T) {
	for _, p := range paths() {
		bubble(t, p.name+"/nil", func(t *testing.T) { p.run(t, http.MethodGet, nil, nil) })
		bubble(t, p.name+"/NoBody", func(t *testing.T) { p.run(t, http.MethodGet, http.NoBody, nil) })
	}
}

// "RoundTrip should not modify the request, except for consuming and closing
// the Request's Body." GetBody is not called either.
func TestRequestIsNotModified(t *testing.T) {
	for _, p := range paths() {
		bubble(t, p.name, func(t *testing.T) {
			var req *http.Request
			var before map[string]any
			p.run(t, http.MethodPut, &closeCounter{Reader: strings.NewReader("content")}, func(r *http.Request) {
				req, before = r, snapshot(r)
			})
			assert.Equal(t, before, snapshot(req))
		})
	}
}

// snapshot returns a copy of a request, of its maps and of what it points to.
func snapshot(req *http.Request) map[string]any {
	seen := map[string]any{"context": fmt.Sprintf("%p", req.Context())}
	v := reflect.ValueOf(req).Elem()
	for i := range v.NumField() {
		f, value := v.Type().Field(i), v.Field(i)
		switch {
		case !f.IsExported():
		case value.Kind() == reflect.Func || value.Kind() == reflect.Chan:
			seen[f.Name] = value.Pointer()
		case f.Name == "Body":
			seen[f.Name] = fmt.Sprintf("%p", value.Interface())
		case f.Name == "URL" && req.URL != nil:
			seen[f.Name] = *req.URL
			seen["URL address"] = fmt.Sprintf("%p", req.URL)
		case f.Name == "Header":
			seen[f.Name] = req.Header.Clone()
			seen["Header address"] = value.Pointer()
		default:
			seen[f.Name] = value.Interface()
		}
	}
	return seen
}

// However a request ends, by a panic of a hook, too, it does not hold the next one.
func TestPathsLeaveNothing(t *testing.T) {
	for _, p := range paths() {
		if p.panics == nil {
			continue
		}
		bubble(t, p.name, func(t *testing.T) {
			fresh := newServer(limit(`"api";a=1;w=60`), says(200))
			s := p.run(t, http.MethodGet, nil, nil)
			// The same Shaper, without the functions that panic.
			s.Scope, s.Cost, s.Limits, s.Like, s.Trace = nil, nil, nil, nil, nil
			s.Dimensions = partition.Dimensions{"tenant": func(*http.Request) (string, bool) { return "acme", true }}
			s.Base, s.MaxDelay = fresh, 0
			if !p.sent {
				assert.Equal(t, 60*time.Second+guard(0)-p.took, delay(t, s, getItems(t.Context())), "wait for the window")
				assert.Zero(t, delay(t, s, getItems(t.Context())), "wait although a unit is left")
				return
			}
			assert.LessOrEqual(t, delay(t, s, getItems(t.Context())), 60*time.Second+guard(0))
		})
	}
}

// A panic while a request waits gives back no permit, because none was taken: the
// limit is not raised.
func TestPanicInLineTakesNoPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := quota.Concurrency(2)
		one, err := two.TryAcquire(1)
		require.NoError(t, err)
		srv := newServer(limit(`"api";a=0;w=60`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		s.Limits = func(*http.Request) quota.Limiter { return two }
		s.Trace = &transport.Trace{Held: func(transport.HeldInfo) { panic(boom) }}
		assert.PanicsWithValue(t, boom, func() { _, _ = s.RoundTrip(getItems(t.Context())) })
		assert.EqualValues(t, 1, two.Stats().Available)
		one.Release()
		assert.EqualValues(t, 2, two.Stats().Available)
	})
}

// A request whose Admitted hook panics is not sent, and is not charged.
func TestPanicBeforeSendingCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=1;w=60`), says(200))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))
		s.Trace = &transport.Trace{Admitted: func(transport.AdmittedInfo) { panic(boom) }}
		assert.PanicsWithValue(t, boom, func() { _, _ = s.RoundTrip(getItems(t.Context())) })
		s.Trace = nil
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}

// If a hook panics after the response has come, the caller does not get the response.
// Its body is closed.
func TestPanicAfterResponseClosesIt(t *testing.T) {
	for name, trace := range map[string]*transport.Trace{
		"Learned": {Learned: func(transport.LearnedInfo) { panic(boom) }},
		"Ignored": {Ignored: func(transport.IgnoredInfo) { panic(boom) }},
	} {
		bubble(t, name, func(t *testing.T) {
			content := &closeCounter{Reader: strings.NewReader("content")}
			s := &transport.Shaper{Trace: trace, Base: newServer(func(req *http.Request) (*http.Response, error) {
				resp, err := limit(`"api";a=-1;w=60`)(req)
				resp.Body = content
				return resp, err
			})}
			assert.PanicsWithValue(t, boom, func() { _, _ = s.RoundTrip(getItems(t.Context())) })
			assert.EqualValues(t, 1, content.closes.Load())
		})
	}
}

// "Callers should not mutate or reuse the request until the Response's Body has
// been closed." After that, or after an error was returned, the test changes the
// request; the race detector reports a Shaper that still reads it.
func TestRequestIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spoil := func(req *http.Request) {
			req.Method = "SPOILT"
			req.URL.Host = "spoilt.example"
			req.Header.Set("Authorization", "spoilt")
			req.Header = nil
			req.URL = nil
			req.Body = nil
		}
		c := quota.Concurrency(1)
		s := &transport.Shaper{
			Base:   newServer(limit(`"api";a=3;w=10`), says(200)),
			Limits: func(*http.Request) quota.Limiter { return c },
		}
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Second/2)
				defer cancel()
				req := newRequest(ctx, http.MethodGet, items)
				req.Header.Set("Authorization", "Bearer 1")
				resp, err := s.RoundTrip(req)
				if err == nil {
					drop(resp)
				}
				spoil(req)
			})
		}
		wg.Wait()
		assert.Zero(t, delay(t, s, getItems(t.Context())))
	})
}

// "The Request's URL and Header fields must be initialized." If they are not, Base
// reports the invalid request: http.Transport closes the body and returns an error.
func TestUninitializedRequest(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"URL":    func(req *http.Request) { req.URL = nil },
		"Header": func(req *http.Request) { req.Header = nil },
		"both":   func(req *http.Request) { req.URL, req.Header = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := &transport.Shaper{} // with http.DefaultTransport
			body := &closeCounter{Reader: strings.NewReader("content")}
			req := newRequest(t.Context(), http.MethodPut, items)
			req.Body = body
			change(req)
			resp, err := s.RoundTrip(req)
			assert.Nil(t, resp)
			assert.ErrorContains(t, err, "nil Request")
			assert.EqualValues(t, 1, body.closes.Load())
			assert.Zero(t, s.Check(req))
		})
	}
}

// A RoundTripper returns a response or an error. The Shaper does so even if Base does
// not: http.Client would drop the response and leak its body, or panic.
func TestBaseReturnsBothOrNeither(t *testing.T) {
	bubble(t, "both", func(t *testing.T) {
		content := &closeCounter{Reader: strings.NewReader("content")}
		s := &transport.Shaper{Base: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: content}, errBroken
		})}
		resp, err := s.RoundTrip(getItems(t.Context()))
		assert.Nil(t, resp)
		assert.True(t, err == errBroken)
		assert.EqualValues(t, 1, content.closes.Load())
	})
	bubble(t, "both without a body", func(t *testing.T) {
		s := &transport.Shaper{Base: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{}, errBroken
		})}
		resp, err := s.RoundTrip(getItems(t.Context()))
		assert.Nil(t, resp)
		assert.True(t, err == errBroken)
	})
	bubble(t, "neither", func(t *testing.T) {
		base := newServer(limit(`"api";a=1;w=60`), func(*http.Request) (*http.Response, error) { return nil, nil })
		s := &transport.Shaper{Base: base}
		pass(t, s, getItems(t.Context()))
		resp, err := s.RoundTrip(getItems(t.Context()))
		assert.Nil(t, resp)
		assert.Error(t, err)
		assert.NotErrorIs(t, err, transport.ErrRejected)
		// The request may have arrived, so it is charged.
		assert.Equal(t, quota.ReasonExhausted, refusal(t, s, getItems(transport.WithNoDelay(t.Context()))).Reason)
	})
	bubble(t, "response without header and body", func(t *testing.T) {
		s := &transport.Shaper{
			Base:   roundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 429}, nil }),
			Limits: oneAtATime(t),
		}
		resp, err := s.RoundTrip(getItems(t.Context()))
		require.NoError(t, err)
		assert.Nil(t, resp.Body)
	})
}

// oneAtATime returns a limit of one request at a time.
func oneAtATime(t *testing.T) func(*http.Request) quota.Limiter {
	c := quota.Concurrency(1)
	return func(*http.Request) quota.Limiter { return c }
}

// "New RoundTripper implementations should use the Request's Context for
// cancellation instead of implementing CancelRequest" (http.Client, Timeout).
func TestNoCancelRequest(t *testing.T) {
	var s any = &transport.Shaper{}
	_, ok := s.(interface{ CancelRequest(*http.Request) })
	assert.False(t, ok)
}

// The Timeout of an http.Client ends a wait, and Timeout of the Client's error is
// true: url.Error.Timeout calls the method of its error and does not unwrap.
func TestClientTimeout(t *testing.T) {
	const timeout = 5 * time.Second
	for _, tt := range []struct {
		name  string
		setup func(t *testing.T, s *transport.Shaper)
		took  time.Duration
	}{
		{"in line", func(t *testing.T, s *transport.Shaper) { s.Limits = busy(t) }, timeout},
		{"would wait longer", func(t *testing.T, s *transport.Shaper) {
			s.Base = newServer(limit(`"api";a=0;w=60`))
			pass(t, s, getItems(t.Context()))
		}, 0},
		{"in Base", func(t *testing.T, s *transport.Shaper) {
			s.Base = &transporttest.Transport{Latency: func() time.Duration { return time.Hour }}
		}, timeout},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(says(200))}
			tt.setup(t, s)
			client := &http.Client{Transport: s, Timeout: timeout}
			began := time.Now()
			resp, err := client.Get(items)
			took := time.Since(began)
			assert.Nil(t, resp)
			var wrapped *url.Error
			require.ErrorAs(t, err, &wrapped)
			assert.True(t, wrapped.Timeout(), "%v", err)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, tt.took, took)
		})
	}
}

// When the context ends, the error is its cause, not wrapped, as with http.Transport.
// If the context has already ended, this is so even if there is room.
func TestContextEnds(t *testing.T) {
	errCause := errors.New("the user went away")
	type contexts func(t *testing.T) context.Context
	before := map[string]struct {
		ctx  contexts
		want error
	}{
		"cancelled": {func(t *testing.T) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		}, context.Canceled},
		"cancelled with a cause": {func(t *testing.T) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			return ctx
		}, errCause},
		"deadline with a cause": {func(t *testing.T) context.Context {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Nanosecond, errCause)
			t.Cleanup(cancel)
			time.Sleep(time.Second)
			return ctx
		}, errCause},
	}
	for name, tt := range before {
		for scene, setup := range map[string]func(s *transport.Shaper, req *http.Request){
			"room":     func(*transport.Shaper, *http.Request) {},
			"no delay": func(s *transport.Shaper, _ *http.Request) { s.MaxDelay = transport.NoDelay },
			"observed": func(s *transport.Shaper, _ *http.Request) { s.Mode = transport.Observe },
			"redirected": func(s *transport.Shaper, req *http.Request) {
				from := newRequest(context.Background(), http.MethodGet, items)
				req.Response, _ = says(301, "Retry-After", "7")(from)
			},
			"redirected for long": func(s *transport.Shaper, req *http.Request) {
				from := newRequest(context.Background(), http.MethodGet, items)
				req.Response, _ = says(301, "Retry-After", "7000")(from)
			},
		} {
			bubble(t, name+"/"+scene, func(t *testing.T) {
				srv := newServer(says(200))
				s := &transport.Shaper{Base: srv}
				req := getItems(tt.ctx(t))
				setup(s, req)
				began := time.Now()
				resp, err := s.RoundTrip(req)
				assert.Nil(t, resp)
				assert.True(t, err == tt.want, "%T: %v", err, err)
				assert.Zero(t, time.Since(began))
				assert.Zero(t, srv.count())
			})
		}
	}
}

// CloseIdleConnections, which http.Client looks for, is forwarded to Base.
func TestCloseIdleConnections(t *testing.T) {
	closer := &idleCloser{}
	client := &http.Client{Transport: &transport.Shaper{Base: closer}}
	client.CloseIdleConnections()
	assert.Equal(t, 1, closer.closed)

	// Two Shapers in a chain forward it. A Base without the method is no error.
	client.Transport = &transport.Shaper{Base: &transport.Shaper{Base: closer}}
	client.CloseIdleConnections()
	assert.Equal(t, 2, closer.closed)
	(&transport.Shaper{Base: newServer(says(200))}).CloseIdleConnections()
}

type idleCloser struct {
	http.RoundTripper
	closed int
}

func (c *idleCloser) CloseIdleConnections() { c.closed++ }

// The text of errors is in lower case, begins with the name of the package, and
// contains neither field values nor keys (net/http: "Don't include the value in the
// error, because it may be sensitive").
func TestErrorsTellNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(says(429, "RateLimit", `"api";a=0;w=60;pk=:c2VjcmV0LWtleQ==:`)) // "secret-key"
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		request := func() *http.Request {
			req := newRequest(partition.WithUserID(t.Context(), "secret-user"), http.MethodGet, items+"?token=secret-token")
			req.Header.Set("Authorization", "Bearer secret-credential")
			req.Header.Set("Cookie", "secret-cookie")
			return req
		}
		pass(t, s, request())
		err := refusal(t, s, request())
		assert.Equal(t, partition.Key("secret-key"), err.Partition)
		for _, text := range []string{err.Error(), fmt.Sprint(err), fmt.Sprintf("%v %+v %s", err, *err, err.Partition)} {
			assert.NotContains(t, text, "secret")
		}
		assert.Equal(t, `transport: request rejected: quota exhausted, policy "api", retry after 1m0.001s`, err.Error())
	})
}

// Closing the body does not wait for a concurrent Read (http.Request, Body:
// "Close ... may be called concurrently with Read").
func TestCloseDoesNotWaitForReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=60`))
		s := &transport.Shaper{Base: srv}
		pass(t, s, getItems(t.Context()))

		r, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		req := newRequest(ctx, http.MethodPut, items)
		req.Body = r
		read := make(chan error, 1)
		go func() {
			_, err := r.Read(make([]byte, 1))
			read <- err
		}()
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := s.RoundTrip(req)
		assert.True(t, err == context.Canceled)
		assert.Equal(t, time.Second, time.Since(began))
		assert.ErrorIs(t, <-read, io.ErrClosedPipe)
	})
}

// "Transports should be reused instead of created as needed." Thousands of
// requests leave no goroutine: a bubble ends only when all of its goroutines have.
func TestNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transporttest.API{Policies: []transporttest.Policy{
			{Name: "api", Quota: 100, Window: 10 * time.Second, PartitionBy: []string{"user_id"}},
		}}
		s := &transport.Shaper{
			Base:     &transporttest.Transport{Handler: api, Latency: func() time.Duration { return 20 * time.Millisecond }},
			MaxDelay: time.Hour,
		}
		burst(t, s, 5000, func(i int) *http.Request {
			user := fmt.Sprint("user-", i%7)
			req := getItems(partition.WithUserID(t.Context(), user))
			req.Header.Set("X-User", user)
			return req
		})
		assert.EqualValues(t, 5000, api.Counts().Served+api.Counts().Refused)
		assert.Equal(t, transport.Verdict{}, s.Check(getItems(t.Context())))
	})
}

// With real servers, in HTTP/1.1 and in HTTP/2, content arrives in both directions,
// connections are reused, and a refusal does not break them.
func TestRealServers(t *testing.T) {
	for name, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(name, func(t *testing.T) {
			api := &transporttest.API{
				Policies: []transporttest.Policy{{Name: "api", Quota: 40, Window: time.Hour, PartitionBy: []string{"user_id", "method"}}},
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(w, r.Body)
				}),
			}
			srv := httptest.NewUnstartedServer(api)
			srv.EnableHTTP2 = h2
			srv.StartTLS()
			defer srv.Close()
			limiter := quota.Concurrency(4)
			s := &transport.Shaper{
				Base:     srv.Client().Transport,
				MaxDelay: transport.NoDelay,
				Limits:   func(*http.Request) quota.Limiter { return limiter },
			}
			client := &http.Client{Transport: s}
			send := func() (*http.Response, error) {
				const content = "some content"
				req, err := http.NewRequestWithContext(partition.WithUserID(t.Context(), "alice"),
					http.MethodPost, srv.URL, strings.NewReader(content))
				require.NoError(t, err)
				req.Header.Set("X-User", "alice")
				resp, err := client.Do(req)
				if err != nil {
					return nil, err
				}
				defer resp.Body.Close()
				assert.Equal(t, name, resp.Proto)
				got, err := io.ReadAll(resp.Body)
				assert.NoError(t, err)
				assert.Equal(t, content, string(got))
				return resp, nil
			}
			for range 40 {
				resp, err := send()
				require.NoError(t, err)
				assert.Equal(t, 200, resp.StatusCode)
			}
			_, err := send()
			var rejected *transport.RejectedError
			require.ErrorAs(t, err, &rejected)
			assert.Equal(t, "api", rejected.Policy)
			assert.Equal(t, partition.Key("POST\x1falice"), rejected.Partition)
			assert.Greater(t, rejected.RetryAfter, 59*time.Minute)
			assert.EqualValues(t, 40, api.Counts().Served)
			assert.Zero(t, api.Counts().Refused)
			assert.EqualValues(t, 4, limiter.Stats().Available)
			client.CloseIdleConnections()
		})
	}
}

// The first request to an origin is not held. (This test uses real time, which
// passes between one step and the next; in a bubble it would stand still.)
func TestFirstRequestIsNotHeld(t *testing.T) {
	for range 100 {
		s := &transport.Shaper{
			Base:     stillServer(),
			MaxDelay: transport.NoDelay,
			Trace:    &transport.Trace{Held: func(i transport.HeldInfo) { assert.Fail(t, "held", "%+v", i) }},
		}
		_, status := pass(t, s, getItems(t.Context()))
		require.Equal(t, 200, status)
	}
}

// stillServer returns a server that says nothing of quota.
func stillServer() *server { return newServer(says(200)) }
