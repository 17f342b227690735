package quota

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// BenchmarkManyWaiters lets so many waiters go, one after another: the time for
// each.
func BenchmarkManyWaiters(b *testing.B) {
	for _, many := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			var took time.Duration
			n := 0
			for b.Loop() {
				b.StopTimer()
				l, err := NewConcurrency(ConcurrencyOptions{Permits: 1, Queue: Queue{Limit: -1}})
				if err != nil {
					b.Fatal(err)
				}
				lease, _ := l.TryAcquire(1)
				var wg sync.WaitGroup
				for range many {
					wg.Go(func() {
						mine, _ := l.Acquire(context.Background(), 1)
						mine.Release()
					})
				}
				for l.Stats().Queued < int64(many) {
					time.Sleep(time.Millisecond)
				}
				b.StartTimer()
				began := time.Now()
				lease.Release()
				wg.Wait()
				took += time.Since(began)
				n += many
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/waiter")
		})
	}
}
