package transport_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// An origin is a scheme, a host and a port (RFC 9110, Section 4.3.1). The case of host
// and scheme does not matter, and the scheme's default port may be left out. Origins do
// not affect each other.
func TestOrigins(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"http://api.example/a", "http://api.example/b?c#d", true},
		{"http://api.example", "http://API.EXAMPLE", true},
		{"http://api.example", "HTTP://api.example", true},
		{"http://api.example", "http://api.example:80", true},
		{"http://api.example", "http://api.example:", true},
		{"http://api.example", "http://api.example.", true},
		{"http://api.example", "http://API.example.:80/x", true},
		{"https://api.example", "https://api.example:443", true},
		{"http://[::1]", "http://[::1]:80", true},
		{"http://[2001:DB8::1]:8080", "http://[2001:db8::1]:8080", true},
		{"http://[2001:DB8:0:0::1]", "http://[2001:db8::1]", true},
		{"http://[2001:db8::0.0.0.1]", "http://[2001:db8::1]", true},
		{"http://[fe80::1%25eth0]", "http://[FE80:0::1%25eth0]", true},
		{"http://api.example:080", "http://api.example", true},
		{"http://api.example:08080", "http://api.example:8080", true},
		{"http://bücher.example", "http://xn--bcher-kva.example", true},
		{"http://BÜCHER.example.:80", "http://XN--BCHER-KVA.example", true},
		{"https://例え.テスト", "https://xn--r8jz45g.xn--zckzah:443", true},
		{"http://alice:secret@api.example", "http://api.example", true},
		{"http://api.example", "https://api.example", false},
		{"http://api.example:443", "https://api.example:80", false},
		{"http://api.example:443", "https://api.example", false},
		{"http://api.example", "http://api.example:8080", false},
		{"http://api.example", "http://www.api.example", false},
		{"http://api.example", "http://example", false},
		{"http://[::1]:8080", "http://[::1]", false},
		{"http://[::1]", "http://[::2]", false},
		{"http://[fe80::1%25eth0]", "http://[fe80::1%25eth1]", false},
		{"http://[fe80::1%25eth0]", "http://[fe80::1%25ETH0]", false},
		{"http://[::ffff:192.0.2.1]", "http://192.0.2.1", false},
		{"http://192.0.2.1", "http://192.0.2.2", false},
		{"http://api.example:0", "http://api.example", false},
		{"http://bücher.example", "http://bucher.example", false},
		{"http://bücher.example", "http://büchér.example", false},
	} {
		for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
			bubble(t, pair[0]+" "+pair[1], func(t *testing.T) {
				srv := newServer(says(200, "RateLimit", `"api";a=0;w=60`), says(200))
				s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
				pass(t, s, newRequest(t.Context(), "GET", pair[0]))
				if tt.same {
					refusal(t, s, newRequest(t.Context(), "GET", pair[1]))
					return
				}
				pass(t, s, newRequest(t.Context(), "GET", pair[1]))
			})
		}
	}
}

// A host to which nothing can be sent is an origin, too, and causes no panic.
func TestStrangeHosts(t *testing.T) {
	for _, host := range []string{"", ":", ".", "a b", "ü\nX: y", "ü\x00", "[::1", "[fe80::1%]", "ü%zz", strings.Repeat("ü", 300), "\xff"} {
		bubble(t, fmt.Sprintf("%q", host[:min(len(host), 20)]), func(t *testing.T) {
			s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
			strange := func() *http.Request {
				req := getItems(t.Context())
				req.URL.Host = host
				return req
			}
			pass(t, s, strange())
			refusal(t, s, strange())
			pass(t, s, getItems(t.Context()))
		})
	}
}

// A request that follows a redirect to another origin is not held by the quota or the
// Retry-After of the first origin.
func TestRedirectToAnotherOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newChooser(func(_ int, req *http.Request) answer {
			if req.URL.Host == "api.example" {
				return says(307, "Location", "https://www.example/items", "RateLimit", `"api";a=0;w=60`, "Retry-After", "30")
			}
			return limit(`"api";a=1;w=10`)
		})
		client := &http.Client{Transport: &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}}
		resp, err := client.Get(items)
		require.NoError(t, err)
		drop(resp)
		assert.Equal(t, "www.example", resp.Request.URL.Host)
		_, err = client.Get(items)
		assert.ErrorIs(t, err, transport.ErrRejected)
		resp, err = client.Get("https://www.example/items")
		require.NoError(t, err)
		drop(resp)
	})
}

// The origin is that of the URL, which decides where a request is sent. The Host field
// does not matter.
func TestHostFieldIsNoOrigin(t *testing.T) {
	bubble(t, "same", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		req := getItems(t.Context())
		req.Host = "www.example"
		refusal(t, s, req)
	})
}

// Each origin has its own declarations, kinds and failed predictions.
func TestOriginsAreIndependent(t *testing.T) {
	bubble(t, "declarations", func(t *testing.T) {
		srv := newServer(
			says(200, "RateLimit", `"api";a=0;w=60;pk=:R0VU:`, "RateLimit-Partition", `"api";method`),
			says(200, "RateLimit", `"api";a=0;w=60;pk=:UkVH:`), // undeclared
			says(200),
		)
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		pass(t, s, newRequest(t.Context(), "GET", "http://www.example/items"))
		refusal(t, s, newRequest(t.Context(), "GET", "http://api.example/other"))
		pass(t, s, newRequest(t.Context(), "GET", "http://www.example/other"))
		refusal(t, s, newRequest(t.Context(), "GET", "http://www.example/items"))
	})
}

// The number of origins is bounded. Beyond the bound some are forgotten and learned
// again.
func TestManyOrigins(t *testing.T) {
	bubble(t, "accounts", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=60`))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay, Accounts: &quota.Accounts{MaxOrigins: 10}}
		for round := range 3 {
			for i := range 50 {
				resp, err := s.RoundTrip(newRequest(t.Context(), "GET", fmt.Sprintf("http://api-%d.example", i)))
				if err != nil {
					assert.ErrorIs(t, err, transport.ErrRejected)
				}
				drop(resp)
			}
			assert.Greater(t, srv.count(), 40*(round+1)) // some of them may be refused
		}
	})
	bubble(t, "directories", func(t *testing.T) {
		srv := newServer(limit(`"api";a=0;w=60`))
		s := &transport.Shaper{Base: srv, MaxDelay: transport.NoDelay}
		const many = 12_000
		for i := range many {
			pass(t, s, newRequest(t.Context(), "GET", fmt.Sprintf("http://api-%d.example", i)))
		}
		assert.Equal(t, many, srv.count())
		refusal(t, s, newRequest(t.Context(), "GET", fmt.Sprintf("http://api-%d.example", many-1)))
	})
}
