package transport_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/time/rate"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
)

// stub is a Base that answers at once with the same fields.
type stub struct{ header http.Header }

func (s stub) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: s.header, Body: http.NoBody, Request: req}, nil
}

func get(ctx context.Context) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/items/1", nil)
	if err != nil {
		panic(err)
	}
	return req
}

func roundTrips(b *testing.B, rt http.RoundTripper) {
	req := get(context.Background())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rt.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
}

// fields are those of a typical response.
func fields(extra ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Date": {"Mon, 05 Aug 2019 09:27:00 GMT"}}
	for i := 0; i < len(extra); i += 2 {
		h.Add(extra[i], extra[i+1])
	}
	return h
}

// turning answers with an available quota that changes from one response to the
// next, as with a real server.
type turning struct {
	headers []http.Header
	n       atomic.Int64
}

func newTurning(pk string) *turning {
	t := &turning{}
	for i := range 100 {
		t.headers = append(t.headers, fields(
			"RateLimit", `"api";a=`+strconv.Itoa(1_000_000-i)+`;w=60`+pk,
			"RateLimit-Policy", `"api";q=1000000;w=60`,
		))
	}
	return t
}

func (t *turning) RoundTrip(req *http.Request) (*http.Response, error) {
	return stub{t.headers[t.n.Add(1)%int64(len(t.headers))]}.RoundTrip(req)
}

// BenchmarkRoundTrip measures a Shaper and, in the rows called base, its Base alone. The row wait is a
// rate.Limiter that never binds: what a Shaper adds to Base is told in units of it.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("wait", func(b *testing.B) {
		limiter, ctx := rate.NewLimiter(1e9, 1e9), context.Background()
		for b.Loop() {
			if err := limiter.Wait(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, bm := range []struct {
		name string
		base http.RoundTripper
	}{
		{"nothing", stub{fields()}},
		{"fields", newTurning("")},
		{"fields-pk", newTurning(";pk=:R0VUH2FsaWNl:")},
		{"x-ratelimit", stub{fields("X-RateLimit-Limit", "1000000", "X-RateLimit-Remaining", "999999", "X-RateLimit-Reset", "1564997225")}},
	} {
		b.Run(bm.name+"/base", func(b *testing.B) { roundTrips(b, bm.base) })
		b.Run(bm.name+"/shaper", func(b *testing.B) { roundTrips(b, &transport.Shaper{Base: bm.base}) })
	}
}

// BenchmarkParallel measures many callers of one origin, with one partition and
// with a thousand.
func BenchmarkParallel(b *testing.B) {
	for _, partitions := range []int{1, 1000} {
		b.Run(fmt.Sprint("partitions-", partitions), func(b *testing.B) {
			s := &transport.Shaper{Base: newTurning("")}
			reqs := make([]*http.Request, partitions)
			for i := range reqs {
				reqs[i] = get(partition.WithUserID(context.Background(), fmt.Sprint("user-", i)))
			}
			b.ReportAllocs()
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				i := int(next.Add(7919))
				for pb.Next() {
					i++
					if _, err := s.RoundTrip(reqs[i%partitions]); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
