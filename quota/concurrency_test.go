package quota_test

import (
	"context"
	"errors"
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

func TestConcurrencyHasAllItsPermits(t *testing.T) {
	for _, n := range []int64{1, math.MaxInt64} {
		c := concurrencyOf(t, n)
		assert.Equal(t, n, c.Stats().Available)
	}
}

// Permits are back after Release or Cancel, once.
func TestConcurrencyTry(t *testing.T) {
	c := concurrencyOf(t, 3)
	two, err := c.TryAcquire(2)
	require.NoError(t, err)
	assert.Equal(t, int64(1), c.Stats().Available)
	_, err = c.TryAcquire(2)
	var r *quota.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, quota.Refusal{Cause: quota.ReasonOwnLimit, Reason: quota.ReasonOwnLimit}, *r)
	one, err := c.TryAcquire(1)
	require.NoError(t, err)
	assert.Zero(t, c.Stats().Available)
	two.Release()
	two.Release()
	two.Cancel()
	assert.Equal(t, int64(2), c.Stats().Available)
	one.Cancel()
	one.Cancel()
	assert.Equal(t, int64(3), c.Stats().Available)
}

// A request for zero permits takes none, and is refused if none is available. A
// number that can never be granted is ErrPermits.
func TestConcurrencyPermits(t *testing.T) {
	c := concurrencyOf(t, 1)
	none, err := c.TryAcquire(0)
	require.NoError(t, err)
	assert.Equal(t, int64(1), c.Stats().Available)
	none.Release()
	all, err := c.TryAcquire(1)
	require.NoError(t, err)
	_, err = c.TryAcquire(0)
	refusedWith(t, err, quota.ReasonOwnLimit)
	all.Release()
	for _, n := range []int64{-1, 2, math.MinInt64, math.MaxInt64} {
		_, err = c.TryAcquire(n)
		assert.ErrorIs(t, err, quota.ErrPermits, "%d", n)
		_, err = c.Acquire(t.Context(), n)
		assert.ErrorIs(t, err, quota.ErrPermits, "%d", n)
	}
	big := concurrencyOf(t, math.MaxInt64)
	l, err := big.TryAcquire(math.MaxInt64)
	require.NoError(t, err)
	assert.Zero(t, big.Stats().Available)
	_, err = big.TryAcquire(1)
	refusedWith(t, err, quota.ReasonOwnLimit)
	l.Release()
	assert.Equal(t, int64(math.MaxInt64), big.Stats().Available)
}

// Waiting requests are granted in the order of arrival, at the instant of the
// release.
func TestConcurrencyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := concurrencyOf(t, 2)
		var mu sync.Mutex
		var order []int
		var waits []time.Duration
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				began := time.Now()
				l, err := c.Acquire(t.Context(), 1)
				if assert.NoError(t, err) {
					mu.Lock()
					order = append(order, i)
					waits = append(waits, time.Since(began))
					mu.Unlock()
					time.Sleep(time.Second)
					l.Release()
				}
			})
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		wg.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, order)
		assert.Equal(t, []time.Duration{0, 0, 998 * time.Millisecond, 998 * time.Millisecond, 1996 * time.Millisecond, 1996 * time.Millisecond}, waits)
		assert.Zero(t, c.Stats().Queued)
		assert.Equal(t, int64(2), c.Stats().Available)
	})
}

// A wait ends with the context, with its cause, and takes nothing.
func TestConcurrencyCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := concurrencyOf(t, 1)
		held, err := c.TryAcquire(1)
		require.NoError(t, err)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		began := time.Now()
		_, err = c.Acquire(ctx, 1)
		assert.True(t, err == cause)
		assert.Equal(t, time.Second, time.Since(began))
		assert.Zero(t, c.Stats().Queued)
		_, err = c.Acquire(ctx, 1)
		assert.True(t, err == cause, "it had ended before")
		held.Release()
		_, err = c.Acquire(ctx, 1)
		assert.True(t, err == cause, "an ended context fails even if permits are available")
		assert.Equal(t, int64(1), c.Stats().Available)

		dead, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		held, err = c.TryAcquire(1)
		require.NoError(t, err)
		_, err = c.Acquire(dead, 1)
		assert.True(t, err == context.DeadlineExceeded)
		held.Release()
	})
}

// Admissions that claim limiters in opposite orders do not deadlock, and never
// take one while they wait for the other.
func TestOppositeOrders(t *testing.T) {
	a, b := concurrencyOf(t, 2), concurrencyOf(t, 3)
	orders := []quota.Limiter{chainOf(t, a, b), chainOf(t, b, a)}
	var accounts quota.Accounts
	o := accounts.Origin("")
	var wg sync.WaitGroup
	var in, largest atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			for n := range 300 {
				ask := quota.Ask{Limiter: orders[i%2], Scope: string(rune('a' + i%3)), MaxQueue: -1, MaxDelay: time.Hour}
				var l quota.Lease
				if !assert.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l)) {
					return
				}
				if now := in.Add(1); now > largest.Load() {
					largest.Store(now)
				}
				in.Add(-1)
				if n%3 == 0 {
					l.Cancel()
				} else {
					o.Settle(time.Now(), &l, &quota.Report{})
					l.Release()
				}
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, largest.Load(), int64(2))
	for _, l := range []quota.Limiter{a, b, orders[0], orders[1]} {
		assert.False(t, l.Stats().IdleSince.IsZero(), "all permits are back, and no request waits")
	}
}

// Everything at once, for the race detector: many callers of one origin, with
// policies that change their unit, and leases that are looked at meanwhile.
func TestManyAtOnce(t *testing.T) {
	accounts := quota.Accounts{MaxAccounts: 4, MaxOrigins: 2}
	limit := concurrencyOf(t, 4)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for n := range 300 {
				o := accounts.Origin(string(rune('a' + (i+n)%3)))
				ask := quota.Ask{
					Claims: []quota.Claim{{Policy: "c", Units: 1}, {Policy: string(rune('d' + n%5)), Units: 1}},
					Scope:  string(rune('a' + n%2)), MaxDelay: quota.NoDelay,
				}
				if n%4 == 0 {
					ask.Limiter = limit
				}
				var l quota.Lease
				if err := o.Admit(t.Context(), time.Now(), &ask, &l); err != nil {
					continue
				}
				unit := []string{quota.UnitConcurrentRequests, "requests"}[n/50%2]
				o.Settle(time.Now(), &l, &quota.Report{
					Terms:   []quota.Policy{{Name: "c", Quota: 100, Unit: unit}},
					Figures: []quota.Figure{{Policy: "c", Available: 100, Window: time.Second}},
				})
				_ = o.Policies()
				_ = o.Dropped()
				_, _ = o.Check(t.Context(), time.Now(), &ask)
				l.Retained().Release()
				l.Release()
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 4, limit.Stats().Available)
	s := accounts.Snapshot(time.Now(), quota.SnapshotOptions{})
	assert.NotEmpty(t, s)
	for _, o := range s {
		assert.Zero(t, o.Out)
		for _, a := range o.Accounts {
			assert.Zero(t, a.Concurrent, "%+v", a)
		}
	}
}
