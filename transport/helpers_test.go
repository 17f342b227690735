package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
)

// items is a URL of the server that most tests talk to.
const items = "http://api.example/items"

// itemsOrigin is its origin.
const itemsOrigin = "http://api.example"

// bubble runs a subtest in a bubble of its own.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// An answer makes the response to a request.
type answer func(*http.Request) (*http.Response, error)

// says answers with a status and fields, given as names and values in turn.
func says(status int, fields ...string) answer {
	return func(req *http.Request) (*http.Response, error) {
		h := make(http.Header)
		for i := 0; i < len(fields); i += 2 {
			h.Add(fields[i], fields[i+1])
		}
		return &http.Response{
			StatusCode: status,
			Header:     h,
			Body:       io.NopCloser(strings.NewReader("content")),
			Request:    req,
		}, nil
	}
}

// limit answers with 200 and a RateLimit field.
func limit(value string) answer { return says(200, "RateLimit", value) }

// slow answers after d.
func slow(d time.Duration, a answer) answer {
	return func(req *http.Request) (*http.Response, error) {
		time.Sleep(d)
		return a(req)
	}
}

// fails answers with an error.
func fails(err error) answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// A server is a Base that follows a script and closes the bodies of requests.
type server struct {
	choose func(n int, req *http.Request) answer

	mu       sync.Mutex // guards following
	start    time.Time
	requests []*http.Request
	times    []time.Duration
}

// newServer returns a server that gives the answers in turn, then the last one for
// all further requests.
func newServer(answers ...answer) *server {
	return &server{start: time.Now(), choose: func(n int, _ *http.Request) answer {
		return answers[min(n, len(answers)-1)]
	}}
}

// newChooser returns a server that chooses its answer by the number of requests
// before and by the request.
func newChooser(choose func(n int, req *http.Request) answer) *server {
	return &server{start: time.Now(), choose: choose}
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, req)
	s.times = append(s.times, time.Since(s.start))
	s.mu.Unlock()
	if req.Body != nil {
		defer req.Body.Close()
	}
	return s.choose(n, req)(req)
}

// departures returns when each request was handed over, from the server's start.
func (s *server) departures() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Duration(nil), s.times...)
}

// count returns the number of requests that were handed over.
func (s *server) count() int { return len(s.departures()) }

// newRequest returns a request as NewRequestWithContext does.
func newRequest(ctx context.Context, method, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		panic(err)
	}
	return req
}

func getItems(ctx context.Context) *http.Request { return newRequest(ctx, http.MethodGet, items) }

// drop reads and closes the body of a response.
func drop(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// pass sends a request that must be answered, drops the response, and returns how
// long that took and the status.
func pass(t *testing.T, rt http.RoundTripper, req *http.Request) (time.Duration, int) {
	t.Helper()
	began := time.Now()
	resp, err := rt.RoundTrip(req)
	took := time.Since(began)
	require.NoError(t, err)
	require.NotNil(t, resp)
	drop(resp)
	return took, resp.StatusCode
}

// delay returns how long pass takes.
func delay(t *testing.T, rt http.RoundTripper, req *http.Request) time.Duration {
	t.Helper()
	took, _ := pass(t, rt, req)
	return took
}

// refusal sends a request that must be refused at once, and returns the error.
func refusal(t *testing.T, rt http.RoundTripper, req *http.Request) *transport.RejectedError {
	t.Helper()
	began := time.Now()
	resp, err := rt.RoundTrip(req)
	assert.Zero(t, time.Since(began), "the request was held")
	assert.Nil(t, resp)
	drop(resp)
	var rejected *transport.RejectedError
	require.ErrorAs(t, err, &rejected)
	return rejected
}

// burst sends n requests at once, each in a goroutine, and returns when all of them
// have been answered.
func burst(t *testing.T, rt http.RoundTripper, n int, request func(i int) *http.Request) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			resp, err := rt.RoundTrip(request(i))
			assert.NoError(t, err)
			drop(resp)
		})
	}
	wg.Wait()
}

// plainRequests makes requests that are all the same.
func plainRequests(int) *http.Request { return getItems(context.Background()) }

// guard returns the margin added to the end of a window if all round trips take the
// same time: a 32nd of it, from 1 ms to 100 ms.
func guard(roundTrip time.Duration) time.Duration {
	return min(max(roundTrip/32, time.Millisecond), 100*time.Millisecond)
}

// times returns n equal durations.
func times(n int, d time.Duration) []time.Duration {
	ds := make([]time.Duration, n)
	for i := range ds {
		ds[i] = d
	}
	return ds
}

var errBroken = errors.New("connection broken")

// A roundTripper is a function that implements http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// about returns what every hook is told of a request to items.
func about(req *http.Request) transport.RequestInfo {
	return transport.RequestInfo{Request: req, Origin: itemsOrigin}
}
