package quota_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota"
)

// BenchmarkManyWaiters measures the time per waiting request, of many that are
// granted one after another.
func BenchmarkManyWaiters(b *testing.B) {
	for _, many := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			var took time.Duration
			n := 0
			for b.Loop() {
				b.StopTimer()
				l := quota.Concurrency(1, quota.Options{MaxQueue: -1})
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

func BenchmarkConcurrency(b *testing.B) {
	c := quota.Concurrency(1)
	b.ReportAllocs()
	for b.Loop() {
		l, err := c.TryAcquire(1)
		if err != nil {
			b.Fatal(err)
		}
		l.Release()
	}
}

func BenchmarkRate(b *testing.B) {
	r := quota.Rate(rate.NewLimiter(rate.Inf, 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.TryAcquire(1); err != nil {
			b.Fatal(err)
		}
	}
}

// A wait allocates little.
func TestWaiterAllocatesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := concurrencyOf(t, 1)
		wait := func() {
			held, err := c.TryAcquire(1)
			if err != nil {
				panic(err)
			}
			done := make(chan struct{})
			go func() {
				l, err := c.Acquire(context.Background(), 1)
				if err != nil {
					panic(err)
				}
				l.Release()
				close(done)
			}()
			synctest.Wait()
			held.Release()
			<-done
		}
		wait()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const n = 1_000
		for range n {
			wait()
		}
		runtime.ReadMemStats(&after)
		bytes := (after.TotalAlloc - before.TotalAlloc) / n
		assert.Less(t, bytes, uint64(2<<10), "bytes allocated in all for two leases and a wait")
	})
}
