package quota_test

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// .NET: CanAcquireResourceAsync_QueuesAndGrabsOldest.
func TestOldestFirst(t *testing.T) {
	eachKind(t, 2, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 2)
		a, b := acquiring(t.Context(), l, 2), acquiring(t.Context(), l, 1)
		comeBack(lease)
		assert.Equal(t, []int{0}, grantedOf(a, b))
		comeBack(a.lease)
		assert.Equal(t, []int{0, 1}, grantedOf(a, b))
	})
}

// .NET: CanAcquireResourceAsync_QueuesAndGrabsNewest.
func TestNewestFirst(t *testing.T) {
	eachKind(t, 3, quota.Options{NewestFirst: true}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 3)
		a, b, c := acquiring(t.Context(), l, 2), acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 2)
		comeBack(lease)
		assert.Equal(t, []int{1, 2}, grantedOf(a, b, c))
		comeBack(b.lease, c.lease)
		assert.Equal(t, []int{0, 1, 2}, grantedOf(a, b, c))
	})
}

// .NET: FailsWhenQueuingMoreThanLimit_OldestFirst,
// QueueAvailableAfterQueueLimitHitAndResources_BecomeAvailable.
func TestFullQueueRefusesTheNewRequest(t *testing.T) {
	eachKind(t, 3, quota.Options{MaxQueue: 3}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 3)
		a := acquiring(t.Context(), l, 2)
		b := acquiring(t.Context(), l, 2)
		assert.False(t, b.waiting())
		refusedWith(t, b.err, quota.ReasonQueueFull)
		c := acquiring(t.Context(), l, 1)
		assert.True(t, a.waiting() && c.waiting(), "there is room for one permit")
		comeBack(lease)
		assert.Equal(t, []int{0, 1}, grantedOf(a, c))
		d := acquiring(t.Context(), l, 3)
		assert.True(t, d.waiting(), "the queue is free again")
		l.Close()
	})
}

// .NET: DropsOldestWhenQueuingMoreThanLimit_NewestFirst.
func TestFullQueueRefusesTheOldest(t *testing.T) {
	eachKind(t, 2, quota.Options{NewestFirst: true, MaxQueue: 1}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 2)
		a := acquiring(t.Context(), l, 1)
		b := acquiring(t.Context(), l, 1)
		assert.False(t, a.waiting())
		refusedWith(t, a.err, quota.ReasonQueueFull)
		assert.True(t, b.waiting())
		assert.EqualValues(t, 1, l.Stats().Queued)
		comeBack(lease)
		assert.True(t, b.granted())
		assert.EqualValues(t, 1, l.Stats().Refused)
	})
}

// .NET: DropsMultipleOldestWhenQueuingMoreThanLimit_NewestFirst.
func TestFullQueueRefusesNoMoreThanItMust(t *testing.T) {
	eachKind(t, 4, quota.Options{NewestFirst: true, MaxQueue: 4}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 4)
		rs := []*result{
			acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 1),
		}
		big := acquiring(t.Context(), l, 3)
		assert.False(t, rs[0].waiting())
		assert.False(t, rs[1].waiting())
		assert.True(t, rs[2].waiting())
		refusedWith(t, rs[0].err, quota.ReasonQueueFull)
		refusedWith(t, rs[1].err, quota.ReasonQueueFull)
		assert.EqualValues(t, 4, l.Stats().Queued)
		comeBack(lease)
		assert.True(t, big.granted() && rs[2].granted())
	})
}

// .NET: DropsRequestedLeaseIfPermitCountGreaterThanQueueLimitAndNoAvailability_NewestFirst.
func TestRequestLargerThanTheQueueIsRefusedAlone(t *testing.T) {
	eachKind(t, 2, quota.Options{NewestFirst: true, MaxQueue: 1}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 2)
		a := acquiring(t.Context(), l, 1)
		b := acquiring(t.Context(), l, 2)
		assert.False(t, b.waiting())
		refusedWith(t, b.err, quota.ReasonQueueFull)
		assert.True(t, a.waiting(), "it is not refused, because that would not make room")
		comeBack(lease)
		assert.True(t, a.granted())
	})
}

// .NET: CanDequeueMultipleResourcesAtOnce.
func TestOneReleaseGrantsSeveral(t *testing.T) {
	for _, newest := range []bool{false, true} {
		eachKind(t, 5, quota.Options{NewestFirst: newest}, func(t *testing.T, l quota.Limiter) {
			lease := take(t, l, 5)
			a, b, c := acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 2), acquiring(t.Context(), l, 1)
			comeBack(lease)
			assert.Equal(t, []int{0, 1, 2}, grantedOf(a, b, c))
			assert.EqualValues(t, 1, l.Stats().Available)
		})
	}
}

// .NET: CanAcquireResourcesWithWaitAsyncWithQueuedItemsIfNewestFirst,
// CanAcquireResourcesWithAcquireWithQueuedItemsIfNewestFirst.
func TestNewestOvertakes(t *testing.T) {
	eachKind(t, 2, quota.Options{NewestFirst: true}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 1)
		a := acquiring(t.Context(), l, 2)
		assert.True(t, a.waiting())
		b, err := l.Acquire(t.Context(), 1)
		require.NoError(t, err)
		b.Cancel()
		c := take(t, l, 1)
		assert.True(t, a.waiting())
		comeBack(lease, c)
		assert.True(t, a.granted())
	})
}

// .NET: CannotAcquireResourcesWithWaitAsyncWithQueuedItemsIfOldestFirst,
// CannotAcquireResourcesWithAcquireWithQueuedItemsIfOldestFirst.
func TestOldestIsNotOvertaken(t *testing.T) {
	eachKind(t, 2, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 1)
		a := acquiring(t.Context(), l, 2)
		b := acquiring(t.Context(), l, 1)
		_, err := l.TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		_, err = l.TryAcquire(0)
		refusedWith(t, err, quota.ReasonOwnLimit)
		assert.True(t, a.waiting() && b.waiting())
		comeBack(lease)
		assert.True(t, a.granted())
		comeBack(a.lease)
		assert.True(t, b.granted())
	})
}

// .NET: CancelUpdatesQueueLimit, CanFillQueueWithOldestFirstAfterCancelingFirstQueuedRequestManually.
func TestEndedWaitFreesItsPlace(t *testing.T) {
	for at, name := range []string{"head", "middle", "tail"} {
		t.Run(name, func(t *testing.T) {
			for _, newest := range []bool{false, true} {
				eachKind(t, 3, quota.Options{NewestFirst: newest, MaxQueue: 3}, func(t *testing.T, l quota.Limiter) {
					lease := take(t, l, 3)
					ends, cancel := context.WithCancel(t.Context())
					q := make([]*result, 3)
					for i := range q {
						ctx := t.Context()
						if i == at {
							ctx = ends
						}
						q[i] = acquiring(ctx, l, 1)
					}
					assert.EqualValues(t, 3, l.Stats().Queued)
					cancel()
					assert.False(t, q[at].waiting())
					assert.ErrorIs(t, q[at].err, context.Canceled)
					assert.EqualValues(t, 2, l.Stats().Queued)
					late := acquiring(t.Context(), l, 1)
					assert.True(t, late.waiting(), "its place is free")
					comeBack(lease)
					for i, r := range q {
						assert.Equal(t, i != at, r.granted())
					}
					assert.True(t, late.granted())
					assert.Zero(t, l.Stats().Queued)
				})
			}
		})
	}
}

// .NET: CanFillQueueWithNewestFirstAfterCancelingQueuedRequestWithAnotherQueuedRequest.
func TestEndedWaitIsNotRefusedInstead(t *testing.T) {
	eachKind(t, 2, quota.Options{NewestFirst: true, MaxQueue: 2}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 2)
		ctx, cancel := context.WithCancel(t.Context())
		a := acquiring(ctx, l, 1)
		b := acquiring(t.Context(), l, 1)
		cancel()
		assert.False(t, a.waiting())
		c := acquiring(t.Context(), l, 1)
		assert.True(t, b.waiting())
		d := acquiring(t.Context(), l, 1)
		assert.False(t, b.waiting())
		refusedWith(t, b.err, quota.ReasonQueueFull)
		assert.EqualValues(t, 2, l.Stats().Queued)
		comeBack(lease)
		assert.True(t, c.granted() && d.granted())
		assert.Zero(t, l.Stats().Queued)
	})
}

// A waiter that was woken, and then pushed out before it looked, wakes the next.
func TestPushingOutTheWokenWaiterStrandsNone(t *testing.T) {
	eachKind(t, 2, quota.Options{NewestFirst: true, MaxQueue: 2}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 2)
		a, b := acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 1)
		lease.Cancel() // wakes b, which has not looked yet when the next come
		rs := make([]*result, 4)
		for i := range rs {
			rs[i] = acquireSoon(t.Context(), l, 1)
		}
		synctest.Wait()
		for range 3 {
			for _, r := range append(rs, a, b) {
				if r.granted() {
					r.lease.Cancel()
				}
			}
			synctest.Wait()
		}
		for _, r := range append(rs, a, b) {
			assert.False(t, r.waiting())
		}
		assert.Zero(t, l.Stats().Queued)
		assert.EqualValues(t, 2, l.Stats().Available)
	})
}

// The proposal: a limit of 5 a second with a queue of 25 turns a burst of 30
// into 5 a second over 6 seconds; the 31st is refused.
func TestBurstIsShaped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quota.TokenBucket(5, 5, time.Second, quota.Options{MaxQueue: 25})
		began := time.Now()
		rs := make([]*result, 31)
		for i := range rs {
			rs[i] = acquiring(t.Context(), l, 1)
		}
		refusedWith(t, rs[30].err, quota.ReasonQueueFull)
		time.Sleep(time.Minute)
		for i, r := range rs[:30] {
			require.True(t, r.granted())
			assert.Equal(t, time.Duration(i/5)*time.Second, r.at.Sub(began), i)
		}
	})
}

// The default queue has room for any single request; a negative limit means no
// bound.
func TestLimitOfQueue(t *testing.T) {
	for _, c := range []struct{ permits, limit, room int64 }{
		{1, 0, quota.DefaultMaxQueue},
		{quota.DefaultMaxQueue + 1, 0, quota.DefaultMaxQueue + 1},
		{1 << 20, 0, 1 << 20},
		{math.MaxInt64, -1, math.MaxInt64},
		{100, 7, 7},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := quota.Concurrency(c.permits, quota.Options{MaxQueue: c.limit})
			take(t, l, c.permits)
			for left := c.room; left > 0; {
				n := min(left, c.permits)
				acquireSoon(t.Context(), l, n)
				left -= n
			}
			synctest.Wait()
			assert.Equal(t, c.room, l.Stats().Queued)
			_, err := l.Acquire(t.Context(), 1)
			refusedWith(t, err, quota.ReasonQueueFull)
			l.Close()
		})
	}
}

// A request that cannot go in time because of those ahead is refused at once, and
// told when to come back. Those with a lower priority are not ahead of it.
func TestQueueThatIsTooLongRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bucketOf(t, time.Second)
		take(t, l, 1)
		ctx, cancel := context.WithCancel(t.Context())
		for range 20 {
			acquiring(ctx, l, 1)
		}
		for _, limiter := range []quota.Limiter{l, chainOf(t, concurrencyOf(t, 1), l, windowOf(t, 5))} {
			began := time.Now()
			short, stop := context.WithTimeout(ctx, 5*time.Second)
			_, err := limiter.Acquire(short, 1)
			r := refusedWith(t, err, quota.ReasonDeadline)
			assert.Equal(t, []time.Duration{21 * time.Second, 21 * time.Second}, []time.Duration{r.Wait, r.RetryAfter})
			assert.Zero(t, time.Since(began))
			stop()
		}
		var lease quota.Lease
		err := new(quota.Accounts).Origin("o").Admit(ctx, time.Now(), &quota.Ask{Limiter: l, Priority: 1, MaxDelay: time.Second}, &lease)
		assert.NoError(t, err)
		lease.Release()
		cancel()
	})
}

// Of a burst through a bucket, exactly those wait that can go in time.
func TestBurstBeyondMaxDelayIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bucketOf(t, time.Second)
		o := new(quota.Accounts).Origin("o")
		var went, refused atomic.Int64
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				began := time.Now()
				var lease quota.Lease
				err := o.Admit(t.Context(), began, &quota.Ask{Limiter: l, MaxDelay: 2 * time.Minute}, &lease)
				lease.Release()
				if err == nil {
					went.Add(1)
					return
				}
				refusedWith(t, err, quota.ReasonMaxDelay)
				assert.Zero(t, time.Since(began))
				refused.Add(1)
			})
		}
		callers.Wait()
		assert.EqualValues(t, []int64{121, 79}, []int64{went.Load(), refused.Load()})
	})
}

// A chain's RetryAfter reckons with the queues of all its limiters.
func TestChainRetryAfterIsThatOfTheLongestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := bucketOf(t, 5*time.Second), bucketOf(t, time.Second)
		c := chainOf(t, slow, quick)
		take(t, c, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 20 {
			acquiring(ctx, quick, 1)
		}
		_, err := c.TryAcquire(1)
		r := refusedWith(t, err, quota.ReasonOwnLimit)
		assert.Equal(t, 21*time.Second, r.RetryAfter)
		began := time.Now()
		waitFor(t, c).Release()
		assert.Equal(t, 21*time.Second, time.Since(began))
	})
}

// While many waiters of one user look at their claims again, each for a while, a waiter of
// another user goes when its own window is over.
func TestManyWaitersOfOneUserStallNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: keyedFigure("api", "hot", 0, mins)})
		c.tell(quota.Report{Figures: keyedFigure("api", "light", 0, sec)})
		c.tell(quota.Report{Figures: figure("other", 5, mins)})
		out := c.come(t.Context(), "out", quota.Ask{Claims: []quota.Claim{{Policy: "other", Units: 1}}})
		hot, light := keyed("api", "hot"), keyed("api", "light")
		for range 300 {
			c.come(t.Context(), "hot", quota.Ask{Claims: []quota.Claim{hot}, MaxDelay: 2 * time.Hour, Again: func() []quota.Claim {
				time.Sleep(20 * ms) // counts the tokens of a body, say
				return []quota.Claim{hot}
			}})
		}
		l := c.come(t.Context(), "light", quota.Ask{Claims: []quota.Claim{light}, MaxDelay: 2 * time.Hour, Again: func() []quota.Claim { return []quota.Claim{light} }})
		time.Sleep(900 * ms)
		c.settle(out, quota.Report{LeftOut: []string{"api"}})
		time.Sleep(101 * ms) // the window is over, and its guard
		synctest.Wait()
		assert.True(t, l.done.Load())
		out.lease.Release()
		if l.done.Load() {
			l.lease.Release()
		}
		time.Sleep(3 * time.Hour)
	})
}
