package quota_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// .NET: ThrowsWhenNoLimitersProvided, ThrowsWhenNullPassedIn. Here a limiter that is
// nil limits nothing.
func TestChainTakesLimiters(t *testing.T) {
	take(t, quota.Chain(), math.MaxInt64)
	for _, none := range []quota.Limiter{nil, (*quota.Limit)(nil)} {
		c := quota.Chain(windowOf(t, 1), none)
		assert.EqualValues(t, 1, c.Stats().Available)
		take(t, c, 1)
	}
	var accounts quota.Accounts
	a, b := accounts.Origin("a").Limiter(quota.Ask{}), accounts.Origin("b").Limiter(quota.Ask{})
	for _, two := range []quota.Limiter{quota.Chain(a, b), quota.Chain(quota.Chain(b, a))} {
		_, err := two.TryAcquire(1)
		assert.ErrorIs(t, err, quota.ErrPermits, "quotas of two origins")
	}
	take(t, quota.Chain(a, windowOf(t, 1), a), 1).Release()
}

// .NET: ArrayChangesAreIgnored.
func TestChainKeepsItsOwnList(t *testing.T) {
	a, b := concurrencyOf(t, 1), concurrencyOf(t, 5)
	ls := []quota.Limiter{a}
	c := chainOf(t, ls...)
	ls[0] = b
	take(t, c, 1)
	assert.Zero(t, a.Stats().Available)
	assert.Zero(t, c.Stats().Available)
	assert.EqualValues(t, 5, b.Stats().Available)
}

// .NET: AcquireFailsWhenOneLimiterDoesNotHaveEnoughResources,
// AcquireFailsAndReleasesAcquiredResources, AcquireForwardsCorrectPermitCount.
func TestChainChargesAllOrNone(t *testing.T) {
	a, b, w := concurrencyOf(t, 5), concurrencyOf(t, 2), windowOf(t, 5)
	c := chainOf(t, a, w, b)
	_, err := c.TryAcquire(3)
	assert.ErrorIs(t, err, quota.ErrPermits, "more than one limiter can ever grant")
	lease := take(t, c, 2)
	left := func() []int64 { return []int64{a.Stats().Available, w.Stats().Available, b.Stats().Available} }
	assert.Equal(t, []int64{3, 3, 0}, left())
	for range 3 {
		_, err = c.TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
	}
	assert.Equal(t, []int64{3, 3, 0}, left())
	assert.EqualValues(t, 3, b.Stats().Refused)
	assert.Zero(t, a.Stats().Refused, "it did not refuse")
	lease.Release()
	assert.Equal(t, []int64{5, 3, 2}, left())
	lease = take(t, c, 2)
	lease.Cancel()
	assert.Equal(t, []int64{5, 3, 2}, left(), "Cancel returns the permits of the window, too")
}

func TestLimiterTwiceInAChainIsChargedOnce(t *testing.T) {
	a, b := concurrencyOf(t, 2), concurrencyOf(t, 2)
	custom, _, asked := customOf(t, quota.Options{})
	c := chainOf(t, a, custom, chainOf(t, b, a, custom), a)
	lease := take(t, c, 2)
	assert.Zero(t, a.Stats().Available)
	assert.EqualValues(t, 1, asked.Load())
	lease.Release()
	assert.EqualValues(t, 2, a.Stats().Available)
	assert.EqualValues(t, 1, custom.Stats().Granted)
}

// A request that waits for one limiter of a chain has not taken the other.
func TestWaitingRequestHasTakenNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := concurrencyOf(t, 1), concurrencyOf(t, 1)
		c := chainOf(t, a, b)
		lease := take(t, b, 1)
		r := acquiring(t.Context(), c, 1)
		assert.True(t, r.waiting())
		take(t, a, 1).Release() // is available meanwhile
		assert.EqualValues(t, 1, c.Stats().Queued)
		lease.Release()
		assert.True(t, r.granted())
	})
}

func TestChainsInOppositeOrdersDoNotDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := concurrencyOf(t, 1), concurrencyOf(t, 1)
		ab, ba := chainOf(t, a, b), chainOf(t, b, a)
		holdA, holdB := take(t, a, 1), take(t, b, 1)
		var rs []*result
		for range 10 {
			rs = append(rs, acquiring(t.Context(), ab, 1), acquiring(t.Context(), ba, 1))
		}
		holdB.Release()
		assert.Empty(t, grantedOf(rs...))
		holdA.Release()
		for i := range rs {
			which := grantedOf(rs...)
			require.Len(t, which, 1, "one after another")
			assert.Equal(t, i, which[0], "in the order of arrival, across chains")
			rs[which[0]].lease.Release()
			rs[which[0]].lease = nil
		}
	})
}

// .NET: AcquireAsyncCanBeCanceled, AcquireAsyncCanceledReleasesAcquiredResources.
func TestChainWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := concurrencyOf(t, 1), concurrencyOf(t, 1)
		c := chainOf(t, a, b)
		take(t, b, 1)
		ctx, cancel := context.WithCancel(t.Context())
		r := acquiring(ctx, c, 1)
		cancel()
		assert.False(t, r.waiting())
		assert.ErrorIs(t, r.err, context.Canceled)
		assert.EqualValues(t, 1, a.Stats().Available)
		assert.Zero(t, c.Stats().Queued)
	})
}

// .NET: DisposeMakesMethodsThrow: children are left alive.
func TestClosedChainLeavesItsLimitersAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := concurrencyOf(t, 1), concurrencyOf(t, 1)
		inner := chainOf(t, a)
		c := chainOf(t, inner, b)
		lease := take(t, b, 1)
		through, direct := acquiring(t.Context(), c, 1), acquiring(t.Context(), b, 1)
		c.Close()
		assert.False(t, through.waiting())
		assert.ErrorIs(t, through.err, quota.ErrClosed)
		assert.True(t, direct.waiting())
		lease.Release()
		assert.True(t, direct.granted())
		direct.lease.Release()
		d := chainOf(t, inner, b)
		take(t, d, 1).Release()
		inner.Close()
		_, err := d.TryAcquire(1)
		assert.ErrorIs(t, err, quota.ErrClosed, "a closed chain in a chain")
		take(t, a, 1)
	})
}

// .NET: GetStatisticsReturnsLowestOrAggregateValues, GetStatisticsWithSingleLimiterWorks,
// GetStatisticsHasCorrectValues.
func TestChainStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, w := concurrencyOf(t, 9), concurrencyOf(t, 2), windowOf(t, 6)
		custom, _, _ := customOf(t, quota.Options{})
		c := chainOf(t, a, b, w, custom)
		lease := take(t, c, 1)
		take(t, a, 3)
		direct, through := acquiring(t.Context(), a, 9), acquiring(t.Context(), c, 2)
		s := c.Stats()
		assert.EqualValues(t, []int64{1, 11, 1, 0}, []int64{s.Available, s.Queued, s.Granted, s.Refused})
		assert.Equal(t, chainOf(t, b).Stats().Available, b.Stats().Available)
		assert.EqualValues(t, quota.None, chainOf(t, custom).Stats().Available)
		a.Close()
		assert.False(t, direct.waiting() || through.waiting())
		assert.EqualValues(t, 1, c.Stats().Refused)
		lease.Release()
	})
}

// .NET: IdleDurationReturnsLowestValue; later: any child active, the chain is.
func TestChainIsIdleSinceItsLastLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := concurrencyOf(t, 1), concurrencyOf(t, 1)
		c := chainOf(t, a, b)
		lease := take(t, a, 1)
		assert.True(t, c.Stats().IdleSince.IsZero())
		time.Sleep(time.Second)
		lease.Release()
		assert.True(t, time.Now().Equal(c.Stats().IdleSince))
		time.Sleep(time.Second)
		take(t, b, 1).Release()
		assert.True(t, time.Now().Equal(c.Stats().IdleSince))
		time.Sleep(time.Second)
		take(t, c, 1)
		assert.True(t, c.Stats().IdleSince.IsZero())
	})
}

// A request that moves to a full queue is refused.
func TestQueueIsBoundedForRequestsThatMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := concurrencyOf(t, 1)
		b := quota.Concurrency(1, quota.Options{MaxQueue: 1})
		c := chainOf(t, a, b)
		holdA, holdB := take(t, a, 1), take(t, b, 1)
		through := acquiring(t.Context(), c, 1)
		direct := acquiring(t.Context(), b, 1)
		holdA.Release()
		assert.False(t, direct.waiting() && through.waiting())
		assert.EqualValues(t, 1, b.Stats().Queued)
		holdB.Release()
		synctest.Wait()
		assert.Zero(t, a.Stats().Queued+b.Stats().Queued)
		a.Close()
		b.Close()
	})
}

func TestChainRefusalIsThatOfTheLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short := quota.FixedWindow(1, time.Second)
		c := chainOf(t, short, windowOf(t, 1))
		take(t, c, 1)
		_, err := c.TryAcquire(1)
		assert.Equal(t, period, refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter)
		_, err = c.Acquire(t.Context(), 2)
		assert.True(t, errors.Is(err, quota.ErrPermits))
	})
}

// Two limits that never say yes at the same instant let the waiter for both
// through nevertheless, though each has work of its own that never ends.
func TestWaiterOfAChainHasItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := bucketOf(t, time.Second), bucketOf(t, time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		busy := func(l quota.Limiter) {
			for range 3 {
				go func() {
					for ctx.Err() == nil {
						lease, _ := l.Acquire(ctx, 1)
						lease.Release()
					}
				}()
			}
		}
		busy(x)
		time.Sleep(500 * time.Millisecond)
		busy(y)
		time.Sleep(1200 * time.Millisecond)
		both := chainOf(t, x, y)
		for range 20 {
			began := time.Now()
			waitFor(t, both).Release()
			assert.LessOrEqual(t, time.Since(began), 12*time.Second)
		}
	})
}

// Whatever the two limits are and how long their work takes, a waiter for both is
// passed over for no longer than eight times the time that one of them is free
// after the other, and a turn in each line.
func TestWaitersOfAChainHaveTheirTurn(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var alone sync.WaitGroup
			defer alone.Wait()
			defer cancel()
			var members []quota.Limiter
			var longest, turns time.Duration
			for range 2 + r.IntN(2) {
				d := time.Duration(1+r.IntN(1000)) * time.Millisecond
				n := 1 + r.Int64N(4)
				longest, turns = max(longest, d), turns+time.Duration(n+1)*d
				permits := int64(1)
				l := quota.Limiter(bucketOf(t, d))
				if r.IntN(2) > 0 {
					permits += int64(r.IntN(2))
					l = concurrencyOf(t, permits)
				}
				members = append(members, l)
				for range n + permits {
					off := time.Duration(r.Int64N(int64(d)))
					alone.Go(func() {
						time.Sleep(off)
						for {
							lease, err := l.Acquire(ctx, 1)
							if err != nil {
								return
							}
							time.Sleep(d)
							lease.Release()
						}
					})
				}
			}
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			both := chainOf(t, members...)
			for range 10 {
				began := time.Now()
				waitFor(t, both).Release()
				bound := 8*longest*time.Duration(len(members)) + turns
				assert.LessOrEqual(t, time.Since(began), bound, "seed %d", seed)
			}
		})
	}
}
