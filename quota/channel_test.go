package quota_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

func channelOf[T any](t *testing.T, l quota.Limiter, buffer int, weight func(T) int64) *quota.Channel[T] {
	t.Helper()
	c, err := quota.NewChannel(l, buffer, weight)
	require.NoError(t, err)
	return c
}

func receive[T any](t *testing.T, c *quota.Channel[T]) T {
	t.Helper()
	v, err := c.Receive(t.Context())
	require.NoError(t, err)
	return v
}

// The proposal: 500 bytes per second.
func TestChannelTakesPermitsByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quota.TokenBucket(500, 500, time.Second)
		c := channelOf[string](t, l, 0, func(s string) int64 { return int64(len(s)) })
		began := time.Now()
		line := string(make([]byte, 250))
		for range 6 {
			require.NoError(t, c.Send(t.Context(), line))
		}
		assert.Equal(t, 2*time.Second, time.Since(began))
		refusedWith(t, c.TrySend(line), quota.ReasonOwnLimit)
		refusedWith(t, c.TrySend(""), quota.ReasonOwnLimit)
		for range 6 {
			_, ok := c.TryReceive()
			assert.True(t, ok)
		}
		_, ok := c.TryReceive()
		assert.False(t, ok)
	})
}

func TestReceivingReturnsPermitsOfAConcurrencyLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := concurrencyOf(t, 10)
		c := channelOf[int](t, l, 0, func(n int) int64 { return int64(n) })
		require.NoError(t, c.TrySend(6))
		require.NoError(t, c.TrySend(4))
		var sent atomic.Bool
		go func() { assert.NoError(t, c.Send(t.Context(), 5)); sent.Store(true) }()
		synctest.Wait()
		assert.False(t, sent.Load())
		assert.Equal(t, 6, receive(t, c))
		synctest.Wait()
		assert.True(t, sent.Load())
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.Equal(t, 4, receive(t, c))
		assert.Equal(t, 5, receive(t, c))
		assert.EqualValues(t, 10, l.Stats().Available)
	})
}

func TestChannelIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := channelOf[int](t, nil, 2, nil)
		require.NoError(t, c.TrySend(1))
		require.NoError(t, c.TrySend(2))
		refusedWith(t, c.TrySend(3), quota.ReasonQueueFull)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		assert.ErrorIs(t, c.Send(ctx, 3), context.DeadlineExceeded)
		assert.Equal(t, 1, receive(t, c))
		require.NoError(t, c.TrySend(4))
		unbounded := channelOf[int](t, nil, -1, nil)
		for i := range 1000 {
			require.NoError(t, unbounded.TrySend(i))
		}
		usual := channelOf[int](t, nil, 0, nil)
		for i := range 64 {
			require.NoError(t, usual.TrySend(i))
		}
		refusedWith(t, usual.TrySend(0), quota.ReasonQueueFull)
	})
}

// Any number of senders may wait for the buffer.
func TestChannelHasNoBoundForSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := channelOf[int](t, nil, 1, nil)
		const senders = quota.DefaultMaxQueue + 2
		for i := range senders {
			go func() { assert.NoError(t, c.Send(t.Context(), i)) }()
		}
		synctest.Wait()
		for range senders {
			receive(t, c)
		}
	})
}

// Both or none: the limiter is not charged while the buffer is full.
func TestFullChannelTakesNoPermits(t *testing.T) {
	l := windowOf(t, 5)
	c := channelOf[int](t, l, 1, nil)
	require.NoError(t, c.TrySend(1))
	refusedWith(t, c.TrySend(2), quota.ReasonQueueFull)
	assert.EqualValues(t, 4, l.Stats().Available)
}

func TestChannelRejectsImpossibleItems(t *testing.T) {
	c := channelOf[int64](t, windowOf(t, 5), 0, func(n int64) int64 { return n })
	assert.ErrorIs(t, c.TrySend(-1), quota.ErrPermits)
	assert.ErrorIs(t, c.Send(t.Context(), 6), quota.ErrPermits)
	var accounts quota.Accounts
	_, err := quota.NewChannel[int](accounts.Origin("a").Limiter(quota.Ask{}), 0, nil)
	assert.EqualError(t, err, "quota: the limiter of a Channel holds the quota of an origin")
}

func TestClosingReleasesPermitsOfUnreadItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := concurrencyOf(t, 3)
		c := channelOf[int](t, l, 0, nil)
		for i := range 3 {
			require.NoError(t, c.TrySend(i))
		}
		var waited, received error
		go func() { waited = c.Send(t.Context(), 3) }()
		idle := channelOf[int](t, nil, 0, nil)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, err := idle.Receive(t.Context()); assert.ErrorIs(t, err, quota.ErrClosed) })
		}
		synctest.Wait()
		idle.Close()
		wg.Wait()
		c.Close()
		c.Close()
		synctest.Wait()
		assert.Equal(t, quota.ErrClosed, waited)
		assert.Equal(t, quota.ErrClosed, c.TrySend(4))
		assert.EqualValues(t, 3, l.Stats().Available)
		take(t, l, 3).Release()
		for i := range 3 {
			assert.Equal(t, i, receive(t, c), "what was sent can be read")
		}
		_, received = c.Receive(t.Context())
		assert.ErrorIs(t, received, quota.ErrClosed)
		assert.EqualValues(t, 3, l.Stats().Available)
		take(t, l, 1).Release()
	})
}

func TestClosingEndsSendsThatWaitForTheLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := concurrencyOf(t, 1)
		elsewhere := take(t, l, 1)
		c := channelOf[int](t, l, 0, nil)
		over := make(chan error, 1)
		go func() { over <- c.Send(t.Context(), 1) }()
		synctest.Wait()
		assert.EqualValues(t, 1, l.Stats().Queued)
		c.Close()
		assert.Equal(t, quota.ErrClosed, <-over)
		assert.Zero(t, l.Stats().Queued)
		elsewhere.Release()
	})
}

func TestReceiverThatGivesUpPassesTheSignalOn(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			c := channelOf[int](t, nil, 0, nil)
			ctx, cancel := context.WithCancel(t.Context())
			var got atomic.Int64
			receiver := func(ctx context.Context) {
				if v, err := c.Receive(ctx); err == nil {
					got.Add(int64(v))
				}
			}
			go receiver(ctx) // waits first
			synctest.Wait()
			go receiver(t.Context())
			synctest.Wait()
			require.NoError(t, c.TrySend(1))
			cancel() // usually after it was woken and before it looks
			synctest.Wait()
			assert.EqualValues(t, 1, got.Load())
			c.Close()
		})
	}
}

func TestChannelUnderStress(t *testing.T) {
	l := concurrencyOf(t, 7)
	c := channelOf[int](t, l, 5, nil)
	var sum atomic.Int64
	var senders, receivers sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			for i := range 500 {
				assert.NoError(t, c.Send(t.Context(), i))
			}
		})
		receivers.Go(func() {
			for {
				v, err := c.Receive(t.Context())
				if err != nil {
					assert.ErrorIs(t, err, quota.ErrClosed)
					return
				}
				sum.Add(int64(v))
			}
		})
	}
	senders.Wait()
	c.Close()
	receivers.Wait()
	assert.EqualValues(t, 4*499*500/2, sum.Load())
	assert.EqualValues(t, 7, l.Stats().Available)
}

// A full buffer and a limiter that refuses are two reasons; what was sent can be
// received without waiting, or ranged over.
func TestChannelReceivesInThreeWays(t *testing.T) {
	c, err := quota.NewChannel[int](quota.FixedWindow(4, time.Hour), 3, nil)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, c.TrySend(i))
	}
	refusedWith(t, c.TrySend(3), quota.ReasonQueueFull)
	v, ok := c.TryReceive()
	assert.True(t, ok)
	assert.Zero(t, v)
	require.NoError(t, c.TrySend(3))
	v, err = c.Receive(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, v)
	refusedWith(t, c.TrySend(4), quota.ReasonOwnLimit)
	c.Close()
	assert.Equal(t, []int{2, 3}, slices.Collect(c.All(t.Context())))
	_, ok = c.TryReceive()
	assert.False(t, ok)
}
