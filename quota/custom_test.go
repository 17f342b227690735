package quota_test

import (
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
	l, answer, _ := customOf(t, quota.Queue{})
	take(t, l, 5).Release()
	detail := errors.New("the load is 97 %")
	answer.Store(&quota.Answer{RetryAfter: 3 * time.Second, Phrase: "too busy", Detail: detail})
	_, err := l.TryAcquire(1)
	r := refusedWith(t, err, quota.ReasonOwnLimit)
	assert.Equal(t, 3*time.Second, r.RetryAfter)
	assert.Equal(t, "too busy", r.Phrase)
	assert.ErrorIs(t, err, detail)
	assert.EqualError(t, err, "quota: not admitted: own limit, retry after 3s: too busy")
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
		{0, quota.DefaultRecheck},
		{-time.Second, quota.DefaultRecheck},
		{1, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, answer, asked := customOf(t, quota.Queue{})
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
		l, answer, asked := customOf(t, quota.Queue{})
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
		l, answer, _ := customOf(t, quota.Queue{})
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
		l, answer, _ := customOf(t, quota.Queue{Limit: 1})
		answer.Store(&quota.Answer{Phrase: "no"})
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
		custom, err := quota.NewCustom(quota.CustomOptions{Answer: func(int64) quota.Answer {
			calls.Add(1)
			if panics.Load() {
				panic("boom")
			}
			return quota.Answer{}
		}})
		require.NoError(t, err)
		c, err := quota.NewConcurrency(quota.ConcurrencyOptions{Permits: 1})
		require.NoError(t, err)
		l, err := quota.NewChain(c, custom)
		require.NoError(t, err)

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
		time.Sleep(quota.DefaultRecheck)
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
		c, err := quota.NewConcurrency(quota.ConcurrencyOptions{Permits: 1})
		require.NoError(t, err)
		var custom *quota.Custom
		custom, err = quota.NewCustom(quota.CustomOptions{Answer: func(int64) quota.Answer {
			custom.Stats()
			lease, err := c.TryAcquire(1)
			lease.Release()
			return quota.Answer{OK: err == nil}
		}})
		require.NoError(t, err)
		l, err := quota.NewChain(c, custom)
		require.NoError(t, err)
		lease := take(t, l, 1)
		r := acquiring(t.Context(), l, 1)
		assert.True(t, r.waiting())
		lease.Release()
		time.Sleep(quota.DefaultRecheck)
		assert.True(t, r.granted())
	})
}
