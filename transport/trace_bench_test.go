package transport_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/headway-go/headway/transport"
)

// BenchmarkTrace measures the cost of hooks. A hook that is not set costs nothing.
func BenchmarkTrace(b *testing.B) {
	for _, bm := range []struct {
		name  string
		trace *transport.Trace
		own   *transport.Trace // of the request
	}{
		{"none", nil, nil},
		{"no-hooks", &transport.Trace{}, nil},
		{"admitted", &transport.Trace{Admitted: func(transport.AdmittedInfo) {}}, nil},
		{"all-hooks", allHooks(func(any) {}), nil},
		{"all-hooks-of-the-request", nil, allHooks(func(any) {})},
	} {
		b.Run(bm.name, func(b *testing.B) {
			s := &transport.Shaper{Base: newTurning(""), Trace: bm.trace}
			req := getTraced(bm.own)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// getTraced returns a request with a Trace of its own, if t is not nil.
func getTraced(t *transport.Trace) *http.Request {
	ctx := context.Background()
	if t != nil {
		ctx = transport.WithTrace(ctx, t)
	}
	return get(ctx)
}
