package transporttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A countingBody counts how often it is closed.
type countingBody struct {
	io.Reader
	closed int
}

func (b *countingBody) Close() error {
	b.closed++
	return nil
}

func constant(d time.Duration) func() time.Duration {
	return func() time.Duration { return d }
}

func TestTransportLatency(t *testing.T) {
	for _, tt := range []struct {
		name     string
		latency  func() time.Duration
		arrives  time.Duration
		answered time.Duration
	}{
		{"nil", nil, 0, 0},
		{"negative", constant(-time.Second), 0, 0},
		{"even", constant(100 * time.Millisecond), 50 * time.Millisecond, 100 * time.Millisecond},
		{"odd", constant(101), 50, 101},
		{"one", constant(1), 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var arrived time.Duration
				tr := &Transport{Latency: tt.latency, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					arrived = time.Since(start)
				})}
				resp, err := tr.RoundTrip(get(t.Context()))
				require.NoError(t, err)
				assert.Equal(t, tt.answered, time.Since(start))
				assert.Equal(t, tt.arrives, arrived)
				assert.Equal(t, 200, resp.StatusCode)
			})
		})
	}
}

// In a bubble, an API's windows run on the bubble's time.
func TestTransportAndAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &API{Policies: []Policy{{Name: "p", Quota: 2, Window: 10 * time.Second}}}
		client := &http.Client{Transport: &Transport{Handler: api, Latency: constant(2 * time.Second)}}
		start := time.Now()
		for _, want := range []struct {
			after  time.Duration // of the response
			status int
			limit  string
		}{
			{2 * time.Second, 200, `"p";a=1;w=10`}, // arrives after 1 s and opens the window
			{4 * time.Second, 200, `"p";a=0;w=8`},
			{6 * time.Second, 429, `"p";a=0;w=6`},
			{8 * time.Second, 429, `"p";a=0;w=4`},
			{10 * time.Second, 429, `"p";a=0;w=2`},
			{12 * time.Second, 200, `"p";a=1;w=10`},
		} {
			resp, err := client.Get("http://api.example/")
			require.NoError(t, err)
			assert.Equal(t, want.after, time.Since(start))
			assert.Equal(t, want.status, resp.StatusCode)
			assert.Equal(t, want.limit, resp.Header.Get("RateLimit"))
		}
		assert.Equal(t, Counts{Served: 3, Refused: 3}, api.Counts())
	})
}

func TestTransportCancel(t *testing.T) {
	cause := errors.New("changed my mind")
	for _, tt := range []struct {
		name   string
		after  time.Duration
		served int64
	}{
		{"before", 0, 0},
		{"on the way", 30 * time.Millisecond, 0},
		{"on the way back", 70 * time.Millisecond, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithCancelCause(t.Context())
				if tt.after == 0 {
					cancel(cause)
				} else {
					time.AfterFunc(tt.after, func() { cancel(cause) })
				}
				api := new(API)
				body := &countingBody{Reader: strings.NewReader("content")}
				req := get(ctx)
				req.Body = body
				resp, err := (&Transport{Handler: api, Latency: constant(100 * time.Millisecond)}).RoundTrip(req)
				assert.Nil(t, resp)
				assert.Same(t, cause, err)
				assert.Equal(t, tt.after, time.Since(start))
				assert.Equal(t, tt.served, api.Counts().Served)
				assert.Equal(t, 1, body.closed)
			})
		})
	}
}

// Without latency, RoundTrip still reports that the context has ended.
func TestTransportCancelWithoutLatency(t *testing.T) {
	api := new(API)
	ctx, cancel := context.WithCancel(t.Context())
	tr := &Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r)
		cancel()
		assert.ErrorIs(t, r.Context().Err(), context.Canceled, "the handler's context ends")
	})}
	for range 2 {
		_, err := tr.RoundTrip(get(ctx))
		assert.Equal(t, context.Canceled, err)
	}
	assert.Equal(t, Counts{Served: 1}, api.Counts())
}

func TestTransportClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: &Transport{Latency: constant(time.Minute)}, Timeout: time.Second}
		start := time.Now()
		_, err := client.Get("http://api.example/")
		var of *url.Error
		require.ErrorAs(t, err, &of)
		assert.True(t, of.Timeout())
		assert.Equal(t, time.Second, time.Since(start))
	})
}

func TestTransportConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &API{Policies: []Policy{{Name: "p", Quota: 70, Window: time.Hour}}}
		client := &http.Client{Transport: &Transport{Handler: api, Latency: constant(time.Second)}}
		start := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_, err := client.Get("http://api.example/")
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Equal(t, time.Second, time.Since(start))
		assert.Equal(t, Counts{Served: 70, Refused: 30}, api.Counts())
	})
}

// The server sees only what a network would carry.
func TestTransportRequest(t *testing.T) {
	type key struct{}
	var seen *http.Request
	var content []byte
	tr := &Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		content, _ = io.ReadAll(r.Body)
		assert.NoError(t, r.Body.Close())
		// Handlers may modify their request.
		r.Header.Set("X-User", "mallory")
		r.URL.Path = "/elsewhere"
		r.Method = "DELETE"
	})}

	body := &countingBody{Reader: strings.NewReader("content")}
	ctx := context.WithValue(t.Context(), key{}, "client")
	req, err := http.NewRequestWithContext(ctx, "POST", "https://api.example:8443/a%20b?c=d#e", body)
	require.NoError(t, err)
	req.Header.Set("X-User", "alice")
	before := req.Clone(ctx)

	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	assert.Equal(t, before, req)
	assert.Equal(t, 1, body.closed)
	assert.Same(t, req, resp.Request)

	assert.Equal(t, "content", string(content))
	assert.Equal(t, "api.example:8443", seen.Host)
	assert.Equal(t, "/a%20b?c=d", seen.RequestURI)
	assert.Empty(t, seen.URL.Host)
	assert.Empty(t, seen.URL.Fragment)
	assert.Equal(t, "c=d", seen.URL.RawQuery)
	assert.Equal(t, int64(-1), seen.ContentLength)
	assert.Nil(t, seen.Context().Value(key{}))
	assert.Nil(t, seen.Context().Value(http.LocalAddrContextKey))
}

// The server's request has the fields that a client may leave unset.
func TestTransportSparseRequest(t *testing.T) {
	var seen *http.Request
	tr := &Transport{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r })}
	_, err := tr.RoundTrip(&http.Request{URL: &url.URL{Scheme: "http", Host: "api.example"}})
	require.NoError(t, err)
	assert.Equal(t, "GET", seen.Method)
	assert.Equal(t, "api.example", seen.Host)
	assert.Equal(t, "/", seen.URL.Path)
	assert.Equal(t, http.NoBody, seen.Body)
	assert.Zero(t, seen.ContentLength)
	assert.NotNil(t, seen.Header)
}

func TestTransportBadRequest(t *testing.T) {
	for _, tt := range []struct {
		url  *url.URL
		want string
	}{
		{nil, "transporttest: nil Request.URL"},
		{&url.URL{Opaque: "secret"}, "transporttest: invalid Request.URL"},
	} {
		api := new(API)
		body := &countingBody{Reader: strings.NewReader("content")}
		resp, err := (&Transport{Handler: api}).RoundTrip(&http.Request{URL: tt.url, Body: body})
		assert.Nil(t, resp)
		assert.EqualError(t, err, tt.want)
		assert.Equal(t, 1, body.closed)
		assert.Zero(t, api.Counts())
	}
}

func TestTransportClosesBodyWhenHandlerPanics(t *testing.T) {
	body := &countingBody{Reader: strings.NewReader("content")}
	req := get(t.Context())
	req.Body = body
	tr := &Transport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("handler") })}
	assert.PanicsWithValue(t, "handler", func() { _, _ = tr.RoundTrip(req) })
	assert.Equal(t, 1, body.closed)
}

func TestTransportResponse(t *testing.T) {
	tr := &Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
		w.Header().Set("X-Sum", "8")
	})}
	resp, err := tr.RoundTrip(get(t.Context()))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Len(t, body, 1000)
	assert.Equal(t, int64(1000), resp.ContentLength)
	assert.Equal(t, "202 Accepted", resp.Status)
	assert.Equal(t, "8", resp.Trailer.Get("X-Sum"))

	head := get(t.Context())
	head.Method = http.MethodHead
	resp, err = tr.RoundTrip(head)
	require.NoError(t, err)
	body, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Empty(t, body)
	assert.Equal(t, 202, resp.StatusCode)
}

func TestZeroTransport(t *testing.T) {
	resp, err := new(Transport).RoundTrip(get(t.Context()))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "served\n", string(body))
}

// get returns a valid request.
func get(ctx context.Context) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example/", nil)
	if err != nil {
		panic(err)
	}
	return req
}
