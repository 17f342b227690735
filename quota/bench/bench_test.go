// Package bench measures the limiters of quota beside their peers, in one run:
//
//	go test -bench . github.com/headway-go/headway/quota/bench
//
// It is a module of its own, so that the peers are no dependency of quota.
package bench

import (
	"testing"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// endless is more than a benchmark takes.
const endless = 1 << 40

func run(b *testing.B, name string, f func()) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f()
		}
	})
	b.Run(name+"/parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				f()
			}
		})
	})
}

// BenchmarkTryAcquire takes a permit that is there.
func BenchmarkTryAcquire(b *testing.B) {
	sem := semaphore.NewWeighted(1 << 62)
	run(b, "semaphore", func() { sem.TryAcquire(1) })
	c := quota.Concurrency(1 << 62)
	run(b, "Concurrency", func() { _, _ = c.TryAcquire(1) })

	lim := rate.NewLimiter(1e9, 1<<30)
	run(b, "rate", func() { lim.Allow() })
	t := quota.TokenBucket(endless, 1e6, time.Millisecond)
	run(b, "TokenBucket", func() { _, _ = t.TryAcquire(1) })
	f := quota.FixedWindow(endless, time.Second)
	run(b, "FixedWindow", func() { _, _ = f.TryAcquire(1) })
	s := quota.SlidingWindow(endless, time.Second, 10)
	run(b, "SlidingWindow", func() { _, _ = s.TryAcquire(1) })
}

// BenchmarkAcquireRelease takes a permit and returns it, while another one is
// out, and while none is (then the limiter notes since when it is idle).
func BenchmarkAcquireRelease(b *testing.B) {
	sem := semaphore.NewWeighted(10)
	run(b, "semaphore", func() {
		if sem.TryAcquire(1) {
			sem.Release(1)
		}
	})
	c := quota.Concurrency(10)
	run(b, "Concurrency/idle", func() {
		lease, _ := c.TryAcquire(1)
		lease.Release()
	})
	must(c.TryAcquire(1))
	run(b, "Concurrency", func() {
		lease, _ := c.TryAcquire(1)
		lease.Release()
	})
	// Through the interface, the lease is on the heap.
	var l quota.Limiter = c
	run(b, "Limiter", func() {
		lease, _ := l.TryAcquire(1)
		lease.Release()
	})
	f := quota.FixedWindow(endless, time.Second)
	chain := quota.Chain(c, f)
	run(b, "Chain", func() {
		lease, _ := chain.TryAcquire(1)
		lease.Release()
	})
}

// BenchmarkRefusal asks for a permit that is not there.
func BenchmarkRefusal(b *testing.B) {
	sem := semaphore.NewWeighted(1)
	sem.TryAcquire(1)
	run(b, "semaphore", func() { sem.TryAcquire(1) })
	c := quota.Concurrency(1)
	must(c.TryAcquire(1))
	run(b, "Concurrency", func() { _, _ = c.TryAcquire(1) })
	lim := rate.NewLimiter(rate.Every(time.Hour), 1)
	lim.Allow()
	run(b, "rate", func() { lim.Allow() })
	t := quota.TokenBucket(1, 1, time.Hour)
	must(t.TryAcquire(1))
	run(b, "TokenBucket", func() { _, _ = t.TryAcquire(1) })
}

// BenchmarkBy finds a limiter by its key and takes a permit.
func BenchmarkBy(b *testing.B) {
	of := quota.By(
		func(n int) int { return n },
		func(int) quota.Limiter { return quota.FixedWindow(endless, time.Second) })
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		n++
		_, _ = of(n % 1000).TryAcquire(1)
	}
}
