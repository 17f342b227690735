package transport_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// fewAnHour allows five requests an hour, of which four are left.
var fewAnHour = []string{"RateLimit-Policy", `"api";q=5;w=3600`, "RateLimit", `"api";a=4;w=3600`}

// checkFailures lets a request of a Shaper that does not wait be served, and five fail. unsent says whether the Shaper knows
// that these were not sent: then it charges none of them, and the next one is served.
func checkFailures(t *testing.T, s *transport.Shaper, url string, unsent bool, fail func(bool)) {
	t.Helper()
	s.MaxDelay = transport.NoDelay
	s.Trace = &transport.Trace{Failed: func(i transport.FailedInfo) { assert.Equal(t, unsent, i.Unsent, i.Err) }}
	c := &http.Client{Transport: s}
	get := func() error {
		resp, err := c.Get(url)
		if err == nil {
			drop(resp)
		}
		return err
	}
	fail(false)
	require.NoError(t, get())
	fail(true)
	for range 5 {
		require.Error(t, get())
	}
	fail(false)
	if err := get(); unsent {
		assert.NoError(t, err)
	} else {
		assert.ErrorIs(t, err, transport.ErrRejected)
	}
}

// A request that certainly did not arrive is not charged: there was no proxy, or the certificate was not trusted.
func TestUnsentOverNetwork(t *testing.T) {
	says := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fewAnHour); i += 2 {
			w.Header().Set(fewAnHour[i], fewAnHour[i+1])
		}
	})
	api, secure := httptest.NewServer(says), httptest.NewTLSServer(says)
	defer api.Close()
	defer secure.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	gone := l.Addr().String()
	l.Close()
	for _, scheme := range []string{"http", "socks5"} {
		var proxy atomic.Pointer[url.URL]
		base := &http.Transport{DisableKeepAlives: true, Proxy: func(*http.Request) (*url.URL, error) { return proxy.Load(), nil }}
		checkFailures(t, &transport.Shaper{Base: base}, api.URL, true, func(now bool) {
			if proxy.Store(nil); now {
				proxy.Store(&url.URL{Scheme: scheme, Host: gone})
			}
		})
	}
	var use atomic.Pointer[http.Transport]
	base := roundTripper(func(req *http.Request) (*http.Response, error) { return use.Load().RoundTrip(req) })
	trusts := secure.Client().Transport.(*http.Transport)
	trusts.DisableKeepAlives = true
	checkFailures(t, &transport.Shaper{Base: base}, secure.URL, true, func(now bool) {
		if use.Store(trusts); now {
			use.Store(&http.Transport{})
		}
	})
}

// What errors say of whether a request was sent.
func TestUnsentErrors(t *testing.T) {
	for _, tt := range []struct {
		err    error
		unsent bool
	}{
		{&net.OpError{Op: "dial", Err: errBroken}, true},
		{fmt.Errorf("with a proxy: %w", &net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "read", Err: errBroken}}), true},
		{&net.OpError{Op: "socks connect", Err: errBroken}, true},
		{&tls.CertificateVerificationError{Err: errBroken}, true},
		{&transport.RejectedError{Reason: quota.ReasonOwnLimit}, true},
		{&net.OpError{Op: "read", Err: errBroken}, false},
		{&net.OpError{Op: "write", Err: errBroken}, false},
		{errors.New("dial"), false},
		{&url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: errBroken}}, false}, // an http.Client followed a redirect
		{&url.Error{Op: "Get", Err: &transport.RejectedError{Reason: quota.ReasonOwnLimit}}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			srv, failing := newServer(says(200, fewAnHour...)), false
			base := roundTripper(func(req *http.Request) (*http.Response, error) {
				if failing {
					return nil, tt.err
				}
				return srv.RoundTrip(req)
			})
			checkFailures(t, &transport.Shaper{Base: base}, items, tt.unsent, func(now bool) { failing = now })
		})
	}
}

// What a Shaper below has refused is not charged by the one above.
func TestShaperBelowRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := quota.Concurrency(1)
		below := &transport.Shaper{
			Base: newServer(says(200, fewAnHour...)), MaxDelay: transport.NoDelay,
			Limits: func(*http.Request) quota.Limiter { return one },
		}
		var held *quota.Lease
		checkFailures(t, &transport.Shaper{Base: below}, items, true, func(now bool) {
			if now {
				var err error
				held, err = one.TryAcquire(1)
				require.NoError(t, err)
			} else if held != nil {
				held.Release()
			}
		})
	})
}

// A table of limits has none for some hosts: a nil *Limit is no limit.
func TestNilLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := map[string]*quota.Limit{"other.example": quota.PerSecond(10, 20)}
		s := &transport.Shaper{Base: newServer(says(200)), Limits: func(req *http.Request) quota.Limiter { return limits[req.URL.Host] }}
		_, status := pass(t, s, getItems(t.Context()))
		assert.Equal(t, 200, status)
		assert.Zero(t, s.Check(getItems(t.Context())))
	})
}

// A Shaper without Base that is http.DefaultTransport uses the one before.
func TestDefaultTransport(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	defer api.Close()
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = new(transport.Shaper)
	resp, err := http.Get(api.URL)
	require.NoError(t, err)
	drop(resp)
	http.DefaultTransport = newServer(says(418)) // as tests do
	_, status := pass(t, new(transport.Shaper), getItems(t.Context()))
	assert.Equal(t, 418, status)
}

// Like is called with no lock held: one that hangs holds its own request only, and one may send requests.
func TestLikeMayHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(slow(20*time.Millisecond, says(200)))}
		hang := make(chan struct{})
		s.Like = func(req *http.Request) string {
			switch req.URL.Path {
			case "/hangs":
				<-hang
			case "/asks":
				pass(t, s, newRequest(t.Context(), "GET", itemsOrigin+"/routes"))
			}
			return req.URL.Path
		}
		for range 11 { // one of them waits: it is one more than FirstFlight
			go pass(t, s, getItems(t.Context()))
		}
		time.Sleep(time.Second)
		go pass(t, s, newRequest(t.Context(), "GET", itemsOrigin+"/hangs"))
		synctest.Wait()
		assert.Equal(t, 20*time.Millisecond, delay(t, s, getItems(t.Context())))
		_, status := pass(t, s, newRequest(t.Context(), "GET", itemsOrigin+"/asks"))
		assert.Equal(t, 200, status)
		close(hang)
		time.Sleep(time.Second)
	})
}
