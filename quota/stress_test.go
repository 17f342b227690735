package quota_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// TestStress is for the race detector: many goroutines do everything at once. In
// the end all permits are back and no request waits.
func TestStress(t *testing.T) {
	for _, newest := range []bool{false, true} {
		t.Run(fmt.Sprint("newest first: ", newest), func(t *testing.T) {
			q := quota.Options{NewestFirst: newest, MaxQueue: 20}
			c := quota.Concurrency(5, q)
			b := quota.TokenBucket(50, 50, time.Millisecond, q)
			s := quota.SlidingWindow(50, time.Millisecond, 4, q)
			custom := quota.Custom(quota.CustomFuncs{Take: func(context.Context, int64) quota.Answer {
				return quota.Answer{OK: rand.IntN(4) > 0, RetryAfter: time.Millisecond}
			}}, q)
			ls := []quota.Limiter{c, b, s, chainOf(t, c, b), chainOf(t, s, b, c), chainOf(t, custom, c), custom}
			var out atomic.Int64
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					for range 300 {
						i := rand.IntN(len(ls))
						n := rand.Int64N(4)
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
						var lease *quota.Lease
						if rand.IntN(2) == 0 {
							lease, err := ls[i].TryAcquire(n)
							_, _ = lease, err
							lease.Cancel()
						} else if lease, _ = ls[i].Acquire(ctx, n); lease != nil {
							if retained := lease.Retained(); retained != nil {
								lease = retained
								assert.LessOrEqual(t, out.Add(n), int64(5))
								runtime.Gosched()
								out.Add(-n)
							}
						}
						ls[i].Stats()
						lease.Release()
						cancel()
					}
				})
			}
			wg.Wait()
			for _, l := range ls {
				assert.Zero(t, l.Stats().Queued)
			}
			assert.EqualValues(t, 5, c.Stats().Available)
		})
	}
}

// Many requests wait, and are granted in the order of arrival.
func TestManyRequestsAreGrantedInOrder(t *testing.T) {
	const many = 20_000
	synctest.Test(t, func(t *testing.T) {
		l := quota.Concurrency(1, quota.Options{MaxQueue: -1})
		lease := take(t, l, 1)
		next, wrong := 0, 0
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				mine, err := l.Acquire(t.Context(), 1)
				if err != nil || i != next {
					wrong++
				}
				next++
				mine.Release()
			})
			if i%1000 == 0 {
				synctest.Wait()
			}
			runtime.Gosched()
		}
		synctest.Wait()
		queued := l.Stats().Queued
		lease.Release()
		wg.Wait()
		assert.EqualValues(t, many, queued)
		assert.Equal(t, many, next)
		t.Log("not in the order in which they were started:", wrong)
	})
}

// The memory of a waiting request, without its goroutine.
func TestMemoryOfAWaiter(t *testing.T) {
	if testing.Short() {
		t.Skip("counts the memory of the process")
	}
	const many = 10_000
	l := quota.Concurrency(1, quota.Options{MaxQueue: -1})
	lease := take(t, l, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var m0, m1 runtime.MemStats
	start := make(chan struct{})
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			<-start
			_, _ = l.Acquire(ctx, 1)
		})
	}
	runtime.GC()
	runtime.ReadMemStats(&m0)
	close(start)
	for l.Stats().Queued < many {
		runtime.Gosched()
	}
	runtime.GC()
	runtime.ReadMemStats(&m1)
	perWaiter := float64(m1.HeapAlloc-m0.HeapAlloc) / many
	t.Log("bytes per waiting request:", perWaiter)
	assert.Less(t, perWaiter, 450.0, "some 200 of them are the runtime's, for a select of two channels")
	cancel()
	wg.Wait()
	lease.Release()
	assert.EqualValues(t, 1, l.Stats().Available)
}
