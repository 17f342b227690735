package inspect_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
)

// BenchmarkRoundTrip measures RoundTrip over a connection on this machine: without a
// page, with its hooks, and with somebody who looks.
func BenchmarkRoundTrip(b *testing.B) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("RateLimit-Policy", `"api";q=1000000000;w=60`)
		w.Header().Set("RateLimit", `"api";a=999999999;w=60`)
	}))
	defer api.Close()
	for _, with := range []string{"no page", "hooks", "viewer"} {
		b.Run(with, func(b *testing.B) {
			h := &inspect.Handler{Accounts: new(quota.Accounts)}
			s := &transport.Shaper{Accounts: h.Accounts}
			if with != "no page" {
				s.Trace = h.Trace()
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			if with == "viewer" {
				viewer := watch(ctx, h)
				go func() {
					for viewer.next() != "end" {
					}
				}()
			}
			b.ReportAllocs()
			for b.Loop() {
				req, _ := http.NewRequest("GET", api.URL, nil)
				resp, err := s.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
