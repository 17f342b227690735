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

// BenchmarkInLine measures the heap memory of a request in line, without what the
// caller has allocated: the request, its context, and a goroutine in a select with two
// cases.
func BenchmarkInLine(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		reqs := make([]*http.Request, n)
		for i := range reqs {
			reqs[i] = get(ctx)
		}
		accounts := new(quota.Accounts)
		s := &transport.Shaper{
			Base:     stub{fields("RateLimit", `"api";a=0;w=3600`)},
			Accounts: accounts,
			MaxDelay: 2 * time.Hour,
			MaxQueue: -1,
		}
		_, err := s.RoundTrip(get(ctx))
		require.NoError(b, err)
		snapshot := accounts.Snapshot(time.Now(), quota.SnapshotOptions{})
		require.Len(b, snapshot, 1)
		line := accounts.Origin(snapshot[0].Name).Limiter(quota.Ask{Claims: []quota.Claim{{Policy: "api"}}})

		var wg sync.WaitGroup
		parked := make(chan struct{})
		for range n {
			wg.Go(func() {
				select {
				case <-parked:
				case <-ctx.Done():
				}
			})
		}
		time.Sleep(100 * time.Millisecond) // until all goroutines are parked
		before := heap()
		close(parked)
		wg.Wait()
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
