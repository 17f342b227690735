package transport_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// An origin is a scheme, a host and a port (RFC 9110, Section 4.3.1): the host
// and the scheme in any case, with the scheme's default port or without. One
// never influences another.
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
		{"http://alice:secret@api.example", "http://api.example", true},
		{"http://api.example", "https://api.example", false},
		{"http://api.example:443", "https://api.example:80", false},
		{"http://api.example:443", "https://api.example", false},
		{"http://api.example", "http://api.example:8080", false},
		{"http://api.example", "http://www.api.example", false},
		{"http://api.example", "http://example", false},
		{"http://[::1]:8080", "http://[::1]", false},
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

// The origin is that of the URL, which says where a request goes; a Host field
// of another name changes nothing.
func TestHostFieldIsNoOrigin(t *testing.T) {
	bubble(t, "same", func(t *testing.T) {
		s := &transport.Shaper{Base: newServer(limit(`"api";a=0;w=60`), says(200)), MaxDelay: transport.NoDelay}
		pass(t, s, getItems(t.Context()))
		req := getItems(t.Context())
		req.Host = "www.example"
		refusal(t, s, req)
	})
}

// Declarations, kinds and failed predictions are an origin's own, too.
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

// Origins are bounded. Beyond the bound some are forgotten, and then known
// again; nothing else happens.
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
			assert.Greater(t, srv.count(), 40*(round+1))
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
