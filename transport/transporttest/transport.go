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

// A Transport is an [http.RoundTripper] that calls an [http.Handler] in process. It
// opens no connection and starts no goroutine, so it works in a testing/synctest
// bubble, where latency takes no real time. It records the whole response before it
// returns: it does not support 1xx responses, hijacking, or streaming.
//
// The zero value serves every request with a zero API. Set the fields before first
// use. A Transport is safe for concurrent use if Handler and Latency are.
type Transport struct {
	// Handler serves the requests, in the goroutine that calls RoundTrip. If it
	// panics, RoundTrip panics. Nil means a zero API.
	Handler http.Handler

	// Latency returns the round-trip time of one exchange, which is added to the
	// time that Handler takes: one half passes before the call of Handler, the other
	// after it. It may be called concurrently. Nil, zero or negative means none.
	Latency func() time.Duration
}

// withoutValues is a context that ends with its parent but has no values: the
// client's values do not travel to the server.
type withoutValues struct{ context.Context }

func (withoutValues) Value(any) any { return nil }

// RoundTrip calls the Handler and returns its response. The Handler gets a copy of
// the request, as a server would read it from a connection.
//
// If the request's context ends before the request arrives, the Handler is not called.
// If it ends later, the response is dropped, once the Handler has returned. Either
// way the error is the cause of the context's end.
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

// travel waits for d. It returns the context's cause if ctx ends first or has already
// ended, even if d is zero.
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

// incoming returns the client's request as the server sees it. The two share only the
// body, which the server cannot close.
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
		if in.ContentLength == 0 { // means unknown on a client, but empty on a server
			in.ContentLength = -1
		}
	}
	return in.WithContext(withoutValues{r.Context()}), nil
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
