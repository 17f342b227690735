package quota_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// .NET: Create_PartitionIsCached, Create_MultiplePartitionsWork,
// Create_AcquireCallsUnderlyingPartitionsLimiter, Create_WaitAsyncCalls…, Create_GetStatisticsCalls….
func TestEachKeyHasOneLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{})
		take(t, of(t, k, "a"), 1)
		assert.Same(t, of(t, k, "a"), of(t, k, "a"))
		_, err := of(t, k, "a").TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		lease, err := of(t, k, "b").Acquire(t.Context(), 1)
		require.NoError(t, err)
		lease.Release()
		assert.EqualValues(t, 2, made.Load())
		assert.Equal(t, 2, k.Len())
		assert.EqualValues(t, 1, of(t, k, "a").Stats().Refused)
	})
}

// .NET: Create_BlockingFactoryDoesNotBlockOtherPartitions,
// Create_BlockingWaitDoesNotBlockOtherPartitions.
func TestMakingALimiterBlocksNoOtherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		proceed := make(chan struct{})
		k := quota.NewKeyed(func(key string) quota.Limiter {
			if key == "slow" {
				<-proceed
			}
			return perKey(&made)(key)
		}, quota.KeyedOptions{MaxKeys: 3})
		got := make([]quota.Limiter, 5)
		for i := range got {
			go func() { got[i], _ = k.Limiter("slow") }()
		}
		synctest.Wait()
		take(t, of(t, k, "quick"), 1)
		assert.Nil(t, got[0])
		close(proceed)
		synctest.Wait()
		for _, l := range got {
			assert.Same(t, got[0], l)
		}
		assert.EqualValues(t, 2, made.Load())

		// A wait for one key blocks no other either.
		lease := take(t, got[0], 1)
		r := acquiring(t.Context(), got[0], 1)
		take(t, of(t, k, "third"), 1)
		lease.Release()
		assert.True(t, r.granted())
	})
}

func TestFailedMakingIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		k := quota.NewKeyed(func(string) quota.Limiter {
			if calls.Add(1) == 1 {
				time.Sleep(time.Second)
				panic("boom")
			}
			return nil
		}, quota.KeyedOptions{})
		go func() {
			defer func() { _ = recover() }()
			_, _ = k.Limiter("a")
		}()
		synctest.Wait()
		_, err := k.Limiter("a")
		assert.EqualError(t, err, "quota: making the limiter of a key panicked")
		assert.Zero(t, k.Len())
		// .NET: Create_NoLimiter.
		l := of(t, k, "a")
		take(t, l, 1<<62).Release()
		assert.EqualValues(t, quota.None, l.Stats().Available)
		assert.False(t, l.Stats().IdleSince.IsZero())
	})
}

// .NET: IdleLimiterIsCleanedUp.
func TestIdleLimitersAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{IdleAfter: time.Minute})
		for i := range 100 {
			of(t, k, fmt.Sprint(i))
		}
		held := take(t, of(t, k, "7"), 1)
		waiting := acquiring(t.Context(), of(t, k, "7"), 1)
		assert.Equal(t, 100, k.Len())
		time.Sleep(time.Minute - 1)
		of(t, k, "x")
		assert.Equal(t, 101, k.Len(), "not before it is time")
		time.Sleep(1 * time.Nanosecond)
		of(t, k, "x")
		assert.Equal(t, 99, k.Len(), "two at a time")
		for range 60 {
			of(t, k, "x")
		}
		assert.Equal(t, 2, k.Len(), "x, and the one in use")
		old := of(t, k, "7")
		_, err := old.TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		held.Release()
		require.True(t, waiting.granted())
		waiting.lease.Release()
		time.Sleep(time.Hour)
		of(t, k, "x")
		of(t, k, "x")
		assert.NotSame(t, old, of(t, k, "7"))
	})
}

func TestLimiterInUseDoesNotStopTheSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{})
		for i := range 10 {
			of(t, k, fmt.Sprint(i))
		}
		_, err := of(t, k, "0").TryAcquire(1)
		require.NoError(t, err)
		for i := range 9 {
			of(t, k, fmt.Sprint(i+1)) // "0" was used longest ago
		}
		time.Sleep(10 * time.Second)
		for range 10 {
			of(t, k, "x")
		}
		assert.Equal(t, 2, k.Len())
	})
}

func TestLimiterIsKeptForIdleAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{})
		lease := take(t, of(t, k, "a"), 1)
		time.Sleep(time.Hour)
		lease.Release()
		of(t, k, "b")
		of(t, k, "b")
		assert.Equal(t, 2, k.Len())
		time.Sleep(10 * time.Second)
		of(t, k, "b")
		assert.Equal(t, 1, k.Len())
	})
}

// dotnet/runtime: a chain with one busy child must not be evicted.
func TestChainWithABusyLimiterIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := concurrencyOf(t, 1)
		k := quota.NewKeyed(func(string) quota.Limiter { return quota.Chain(concurrencyOf(t, 1), busy) }, quota.KeyedOptions{})
		chain := of(t, k, "a")
		take(t, busy, 1)
		time.Sleep(time.Hour)
		for range 5 {
			of(t, k, "b")
		}
		assert.Same(t, chain, of(t, k, "a"))
	})
}

// A limiter is not dropped while a request that claims it waits for something else: for another limiter, or for an
// origin. Afterwards it is, whether the request was granted or has given up.
func TestLimiterOfARequestThatWaitsElsewhereIsNotDropped(t *testing.T) {
	for name, of := range map[string]struct{ custom, origin bool }{
		"for a limiter": {}, "of a custom limiter": {custom: true}, "for an origin": {origin: true},
	} {
		for _, granted := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { keepsWhatIsAwaited(t, of.custom, of.origin, granted) })
			})
		}
	}
}

func keepsWhatIsAwaited(t *testing.T, custom, origin, granted bool) {
	k := quota.NewKeyed(func(string) quota.Limiter {
		if custom {
			return quota.Custom(quota.CustomFuncs{})
		}
		return concurrencyOf(t, 1)
	}, quota.KeyedOptions{})
	limiter := of(t, k, "a")
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	if !granted {
		time.AfterFunc(30*sec, giveUp)
	}
	var wait func(ctx context.Context) (*quota.Lease, error)
	if origin {
		o := new(quota.Accounts).Origin(testOrigin)
		ask := claimOf("api")
		var first quota.Lease
		require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &first))
		o.Settle(time.Now(), &first, &quota.Report{Refused: true, Pause: mins})
		wait = func(ctx context.Context) (*quota.Lease, error) {
			ask, l := claimOf("api"), new(quota.Lease)
			ask.Limiter = limiter
			return l, o.Admit(ctx, time.Now(), &ask, l)
		}
	} else {
		busy := concurrencyOf(t, 1)
		time.AfterFunc(mins, take(t, busy, 1).Release)
		wait = func(ctx context.Context) (*quota.Lease, error) { return quota.Chain(limiter, busy).Acquire(ctx, 1) }
	}
	var lease *quota.Lease
	var err error
	over := make(chan struct{})
	go func() {
		lease, err = wait(ctx)
		close(over)
	}()
	sweep := func() {
		time.Sleep(11 * sec)
		for range 3 {
			of(t, k, "b")
		}
	}
	for range 2 {
		sweep()
		assert.Same(t, limiter, of(t, k, "a"))
	}
	select {
	case <-over:
		t.Fatal("it does not wait")
	default:
	}
	<-over
	require.Equal(t, granted, err == nil, "%v", err)
	lease.Release()
	sweep()
	assert.NotSame(t, limiter, of(t, k, "a"))
}

func TestKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{MaxKeys: 3})
		a, b, c := take(t, of(t, k, "a"), 1), take(t, of(t, k, "b"), 1), take(t, of(t, k, "c"), 1)
		_, err := k.Limiter("d")
		assert.ErrorIs(t, err, quota.ErrKeys)
		refused := quota.LimiterOf(k, func(s string) string { return s })("d")
		_, err = refused.TryAcquire(1)
		assert.ErrorIs(t, err, quota.ErrKeys)
		assert.ErrorContains(t, err, "too many keys")
		_, err = refused.Acquire(t.Context(), 1)
		assert.ErrorIs(t, err, quota.ErrKeys, "at once, not after a wait")
		refusedWith(t, err, quota.ReasonOwnLimit)
		b.Release()
		take(t, of(t, k, "d"), 1).Release()
		assert.Equal(t, 3, k.Len())
		assert.EqualValues(t, 4, made.Load())
		_, err = of(t, k, "a").TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		a.Release()
		c.Release()
		for i := range 100 {
			take(t, of(t, k, fmt.Sprint(i)), 1).Release()
		}
		assert.Equal(t, 3, k.Len())
	})
}

// A limiter that was returned keeps its place until it is used, or for a second: with
// another one for its key, both would grant all their permits.
func TestKeyedKeepsWhatItHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{MaxKeys: 2})
		a := of(t, k, "a")
		take(t, of(t, k, "b"), 1).Release()
		of(t, k, "c") // in the place of b, which was used
		_, err := k.Limiter("d")
		assert.ErrorIs(t, err, quota.ErrKeys)
		lease := take(t, a, 1)
		_, err = of(t, k, "a").TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		lease.Release()
		of(t, k, "a") // asked for three times, used twice
		time.Sleep(time.Second - 1)
		_, err = k.Limiter("d")
		assert.ErrorIs(t, err, quota.ErrKeys)
		time.Sleep(time.Nanosecond)
		of(t, k, "d")
	})
}

// .NET: Translate_AcquirePassesThroughToInnerLimiter, Translate_WaitAsync…,
// Translate_GetAvailablePermits…: the key is derived once per call.
func TestByDerivesTheKey(t *testing.T) {
	var made, derived atomic.Int64
	k := quota.NewKeyed(perKey(&made), quota.KeyedOptions{})
	by := quota.LimiterOf(k, func(n int) string {
		derived.Add(1)
		return fmt.Sprint(n % 10)
	})
	take(t, by(3), 1)
	_, err := by(13).TryAcquire(1)
	refusedWith(t, err, quota.ReasonOwnLimit)
	assert.Zero(t, by(23).Stats().Available)
	take(t, by(4), 1)
	assert.EqualValues(t, 4, derived.Load())
	assert.EqualValues(t, 2, made.Load())
}

func TestKeyedUnderStress(t *testing.T) {
	k := quota.NewKeyed(func(int) quota.Limiter { return quota.Concurrency(1) },
		quota.KeyedOptions{MaxKeys: 10, IdleAfter: time.Nanosecond})
	var wg sync.WaitGroup
	var out [30]atomic.Int64
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				key := (i*7 + g) % len(out)
				l, err := k.Limiter(key)
				if err != nil {
					continue
				}
				if lease, err := l.TryAcquire(1); err == nil {
					out[key].Add(1)
					out[key].Add(-1)
					lease.Release()
				}
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, k.Len(), 10)
}
