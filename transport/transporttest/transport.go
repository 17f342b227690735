package transporttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"
)

// A Transport is an [http.RoundTripper] that has requests served by an
// [http.Handler] in process. It opens no connection and starts no goroutine, so
// that it works in a testing/synctest bubble, where latency takes no real time.
// A response is recorded whole: there are no 1xx responses and no hijacking, and
// nothing of a body arrives before its end.
//
// The zero value has every request served by a zero API. Its fields are set
// before first use. A Transport is safe for concurrent use if its functions and
// its Handler are.
type Transport struct {
	// Handler serves the requests, in the goroutine of the caller of RoundTrip.
	// A panic of it is one of RoundTrip. Nil means a zero API.
	Handler http.Handler

	// Latency returns how long one exchange takes beside the time that Handler
	// takes: half of it passes before the request is served, half after. It may
	// be called by several goroutines at once. Nil, zero or negative means none.
	Latency func() time.Duration
}

// bare is a context that ends as its parent does and has none of its values: a
// client's values do not travel with its request.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// RoundTrip has a request served and returns the response. The Handler is given
// a request of its own, such as a server would read from a connection.
//
// When the context of the request ends before the request arrives, it is not
// served; when it ends after, the response is lost. The error is the cause of the
// context's end in both cases. A Handler that is still at work then is waited for.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	arriving, err := incoming(r)
	if err != nil {
		return nil, err
	}
	latency := t.latency()
	if err := travel(r.Context(), latency/2); err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	t.handler().ServeHTTP(rec, arriving)
	if err := travel(r.Context(), latency-latency/2); err != nil {
		return nil, err
	}
	return outgoing(rec, r), nil
}

// travel lets d pass. It returns the cause if ctx has ended by then, also where
// nothing is left to wait for.
func travel(ctx context.Context, d time.Duration) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// incoming returns a client's request as the server sees it. It shares nothing
// with the client's but the content, which it cannot close.
func incoming(r *http.Request) (*http.Request, error) {
	if r.URL == nil {
		return nil, errors.New("transporttest: nil Request.URL")
	}
	target := r.URL.RequestURI()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, errors.New("transporttest: invalid Request.URL")
	}
	in := &http.Request{
		Method:        r.Method,
		URL:           u,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        r.Header.Clone(),
		Body:          http.NoBody,
		ContentLength: r.ContentLength,
		Host:          r.Host,
		Trailer:       r.Trailer.Clone(),
		RemoteAddr:    "192.0.2.1:1234", // of TEST-NET-1, as in httptest.NewRequest
		RequestURI:    target,
	}
	if in.Method == "" {
		in.Method = http.MethodGet
	}
	if in.Header == nil {
		in.Header = make(http.Header)
	}
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if r.Body != nil && r.Body != http.NoBody {
		in.Body = io.NopCloser(r.Body)
		if in.ContentLength == 0 { // unknown to a client, none to a server
			in.ContentLength = -1
		}
	}
	return in.WithContext(bare{r.Context()}), nil
}

// outgoing returns a recorded response as the client sees it.
func outgoing(rec *httptest.ResponseRecorder, r *http.Request) *http.Response {
	resp := rec.Result()
	resp.Request = r
	if r.Method == http.MethodHead {
		resp.Body = http.NoBody
	} else if resp.ContentLength < 0 {
		resp.ContentLength = int64(rec.Body.Len())
	}
	return resp
}

func (t *Transport) handler() http.Handler {
	if t.Handler != nil {
		return t.Handler
	}
	return new(API)
}

func (t *Transport) latency() time.Duration {
	if t.Latency != nil {
		return max(t.Latency(), 0)
	}
	return 0
}
