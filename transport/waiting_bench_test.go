package transport_test

import (
	"context"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// BenchmarkInLine is the heap that a request in line takes up, beside the
// caller's own: its goroutine, its context and the request.
func BenchmarkInLine(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		accounts := new(quota.Accounts)
		s := &transport.Shaper{
			Base:     stub{fields("RateLimit", `"api";a=0;w=3600`)},
			Accounts: accounts,
			MaxDelay: 2 * time.Hour,
			MaxQueue: -1,
		}
		_, err := s.RoundTrip(get(context.Background()))
		require.NoError(b, err)
		line := accounts.Origin(get(context.Background()).URL.Scheme + "://" + get(context.Background()).URL.Host).
			Limiter(quota.Ask{Claims: []quota.Claim{{Policy: "api", Units: 1}}})

		ctx, cancel := context.WithCancel(context.Background())
		reqs := make([]*http.Request, n)
		for i := range reqs {
			reqs[i] = get(ctx)
		}
		var wg sync.WaitGroup
		before := heap()
		for _, req := range reqs {
			wg.Go(func() { _, _ = s.RoundTrip(req) })
		}
		for line.Stats().Queued < n {
			time.Sleep(10 * time.Millisecond)
		}
		after := heap()
		cancel()
		wg.Wait()
		b.ReportMetric(float64(after-before)/n, "heap-B/request")
		runtime.KeepAlive(reqs)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
