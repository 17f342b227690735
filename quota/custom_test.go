package quota_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// .NET: MetadataNamesContainsAllMetadata, and the proposal's reason phrases.
func TestCustomRefusalHasTheAnswer(t *testing.T) {
	l, answer, _ := customOf(t, quota.Options{})
	take(t, l, 5).Release()
	detail := errors.New("the load is 97 %")
	answer.Store(&quota.Answer{RetryAfter: 3 * time.Second, Err: detail})
	_, err := l.TryAcquire(1)
	r := refusedWith(t, err, quota.ReasonOwnLimit)
	assert.Equal(t, 3*time.Second, r.RetryAfter)
	assert.ErrorIs(t, err, detail)
	assert.EqualError(t, err, "quota: not admitted: own limit, retry after 3s: the load is 97 %")
	_, err = l.TryAcquire(-1)
	assert.ErrorIs(t, err, quota.ErrPermits)
	s := l.Stats()
	assert.EqualValues(t, []int64{quota.None, 0, 1, 1}, []int64{s.Available, s.Queued, s.Granted, s.Refused})
}

func TestWaitingRequestAsksCustomLimiterAgain(t *testing.T) {
	for _, c := range []struct {
		says, every time.Duration
	}{
		{3 * time.Second, 3 * time.Second},
		{0, time.Second},
		{-time.Second, time.Second},
		{1, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, answer, asked := customOf(t, quota.Options{})
			answer.Store(&quota.Answer{RetryAfter: c.says})
			began := time.Now()
			r := acquiring(t.Context(), l, 1)
			time.Sleep(4 * c.every)
			assert.True(t, r.waiting())
			assert.EqualValues(t, 5, asked.Load())
			answer.Store(&quota.Answer{OK: true})
			time.Sleep(c.every)
			require.True(t, r.granted())
			assert.Equal(t, 5*c.every, r.at.Sub(began))
		})
	}
}

func TestCustomLimiterGrantsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, answer, asked := customOf(t, quota.Options{})
		answer.Store(&quota.Answer{})
		rs := []*result{acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 1)}
		asked.Store(0)
		answer.Store(&quota.Answer{OK: true})
		_, err := l.TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		assert.Empty(t, grantedOf(rs...), "the line is not overtaken, and is asked again after a second")
		time.Sleep(time.Second)
		assert.Equal(t, []int{0, 1, 2}, grantedOf(rs...))
		assert.EqualValues(t, 4, asked.Load(), "once for each, and the one refused")
	})
}

func TestRefusedRequestsDoNotDelayWaitingOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, answer, _ := customOf(t, quota.Options{})
		answer.Store(&quota.Answer{RetryAfter: 5 * time.Second})
		r := acquiring(t.Context(), l, 1)
		for range 9 {
			time.Sleep(500 * time.Millisecond)
			_, err := l.TryAcquire(1)
			refusedWith(t, err, quota.ReasonOwnLimit)
		}
		answer.Store(&quota.Answer{OK: true})
		time.Sleep(500 * time.Millisecond)
		assert.True(t, r.granted())
	})
}

func TestCustomCloseRefusesWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, answer, _ := customOf(t, quota.Options{MaxQueue: 1})
		answer.Store(&quota.Answer{Err: errors.New("no")})
		a, b := acquiring(t.Context(), l, 0), acquiring(t.Context(), l, 1)
		refusedWith(t, b.err, quota.ReasonQueueFull)
		assert.ErrorContains(t, b.err, ": no")
		l.Close()
		assert.False(t, a.waiting())
		assert.ErrorIs(t, a.err, quota.ErrClosed)
		_, err := l.TryAcquire(1)
		assert.ErrorIs(t, err, quota.ErrClosed)
	})
}

// .NET: AcquireThrows_SingleLimiter, AcquireThrowsAndReleasesAcquiredResources.
func TestCustomPanicLeavesNothingTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var panics atomic.Bool
		var calls atomic.Int64
		custom := quota.Custom(quota.CustomFuncs{Take: func(context.Context, int64) quota.Answer {
			calls.Add(1)
			if panics.Load() {
				panic("boom")
			}
			return quota.Answer{}
		}})
		c := quota.Concurrency(1)
		l := quota.Chain(c, custom)

		panics.Store(true)
		assert.PanicsWithValue(t, "boom", func() { _, _ = l.TryAcquire(1) })
		assert.EqualValues(t, 1, c.Stats().Available)
		take(t, c, 1).Release()

		panics.Store(false)
		var recovered atomic.Value
		go func() {
			defer func() { recovered.Store(recover()) }()
			_, _ = l.Acquire(t.Context(), 1)
		}()
		synctest.Wait()
		assert.EqualValues(t, 1, custom.Stats().Queued)
		panics.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, "boom", recovered.Load())
		assert.Zero(t, custom.Stats().Queued)
		assert.Zero(t, l.Stats().Queued)
		take(t, c, 1).Release()
	})
}

// No lock is held while the function runs, so it may use other limiters.
func TestCustomIsAskedWithNoLockHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := quota.Concurrency(1)
		var custom quota.Limiter
		custom = quota.Custom(quota.CustomFuncs{Take: func(context.Context, int64) quota.Answer {
			custom.Stats()
			lease, err := c.TryAcquire(1)
			lease.Release()
			return quota.Answer{OK: err == nil}
		}})
		l := quota.Chain(c, custom)
		lease := take(t, l, 1)
		r := acquiring(t.Context(), l, 1)
		assert.True(t, r.waiting())
		lease.Release()
		time.Sleep(time.Second)
		assert.True(t, r.granted())
	})
}

// A store of 5 beside a busy limiter keeps what it had, whatever is refused or
// waits; it is told of each work's end.
func TestCustomLimiterUndoesAndReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var store, out atomic.Int64
		store.Store(5)
		var asked context.Context
		custom := quota.Custom(quota.CustomFuncs{
			Take: func(ctx context.Context, n int64) quota.Answer {
				asked = ctx
				if store.Load() < n {
					return quota.Answer{Err: errors.New("empty")}
				}
				store.Add(-n)
				return quota.Answer{OK: true}
			},
			Undo:    func(n int64) { store.Add(n) },
			Release: func(n int64) { out.Add(n) },
			Idle:    func() bool { return store.Load() == 5 },
		}, quota.Options{Name: "store"})
		busy := concurrencyOf(t, 2)
		both := chainOf(t, custom, busy)
		lease := take(t, busy, 2)
		for range 5 {
			_, err := both.TryAcquire(1)
			refusedWith(t, err, quota.ReasonOwnLimit)
			assert.EqualValues(t, 5, store.Load())
		}
		r := acquiring(context.WithValue(t.Context(), key{}, 7), both, 2)
		assert.True(t, r.waiting())
		assert.EqualValues(t, 5, store.Load(), "a waiting request has taken nothing")
		assert.False(t, custom.Stats().IdleSince.IsZero())
		lease.Release()
		require.True(t, r.granted())
		assert.Equal(t, 7, asked.Value(key{}))
		assert.EqualValues(t, 3, store.Load())
		assert.True(t, custom.Stats().IdleSince.IsZero())
		r.lease.Release()
		assert.EqualValues(t, []int64{3, 2}, []int64{store.Load(), out.Load()})
		take(t, both, 1).Cancel()
		assert.EqualValues(t, []int64{3, 2}, []int64{store.Load(), out.Load()})
		_, err := custom.TryAcquire(4)
		assert.EqualError(t, err, `quota: not admitted: own limit "store", retry after 1s: empty`)
	})
}
