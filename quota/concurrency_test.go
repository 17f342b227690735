package quota

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
)

func newConcurrency(t *testing.T, permits int64) *Concurrency {
	c, err := NewConcurrency(ConcurrencyOptions{Permits: permits})
	require.NoError(t, err)
	return c
}

func TestNewConcurrency(t *testing.T) {
	for _, n := range []int64{0, -1, math.MinInt64} {
		_, err := NewConcurrency(ConcurrencyOptions{Permits: n})
		assert.Error(t, err, "%d", n)
	}
	for _, n := range []int64{1, math.MaxInt64} {
		c := newConcurrency(t, n)
		assert.Equal(t, n, c.Stats().Available)
	}
}

// So many are out at once, and they come back on Release or Cancel, once.
func TestConcurrencyTry(t *testing.T) {
	c := newConcurrency(t, 3)
	two, err := c.TryAcquire(2)
	require.NoError(t, err)
	assert.True(t, two.Held())
	assert.Equal(t, int64(1), c.Stats().Available)
	_, err = c.TryAcquire(2)
	var r *Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, Refusal{Cause: ReasonOwnLimit, Reason: ReasonOwnLimit}, *r)
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

// Zero permits ask whether there are any, and take none; what can never be
// granted is an error of the argument.
func TestConcurrencyPermits(t *testing.T) {
	c := newConcurrency(t, 1)
	none, err := c.TryAcquire(0)
	require.NoError(t, err)
	assert.Equal(t, int64(1), c.Stats().Available)
	none.Release()
	all, err := c.TryAcquire(1)
	require.NoError(t, err)
	_, err = c.TryAcquire(0)
	assert.Error(t, err, "there are none")
	all.Release()
	for _, n := range []int64{-1, 2, math.MinInt64, math.MaxInt64} {
		_, err = c.TryAcquire(n)
		assert.ErrorIs(t, err, ErrPermits, "%d", n)
		_, err = c.Acquire(t.Context(), n)
		assert.ErrorIs(t, err, ErrPermits, "%d", n)
	}
	big := newConcurrency(t, math.MaxInt64)
	l, err := big.TryAcquire(math.MaxInt64)
	require.NoError(t, err)
	assert.Zero(t, big.Stats().Available)
	_, err = big.TryAcquire(1)
	assert.Error(t, err)
	l.Release()
	assert.Equal(t, int64(math.MaxInt64), big.Stats().Available)
}

// Waiting is first come, first served, and a release lets the next one go at
// that moment.
func TestConcurrencyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConcurrency(t, 2)
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
					time.Sleep(sec)
					l.Release()
				}
			})
			synctest.Wait()
			time.Sleep(ms)
		}
		wg.Wait()
		assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, order)
		assert.Equal(t, []time.Duration{0, 0, 998 * ms, 998 * ms, 1996 * ms, 1996 * ms}, waits)
		assert.Nil(t, c.line)
		assert.Equal(t, int64(2), c.Stats().Available)
	})
}

// A wait ends with the context, with its cause, and takes nothing.
func TestConcurrencyCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConcurrency(t, 1)
		held, err := c.TryAcquire(1)
		require.NoError(t, err)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(sec, func() { cancel(cause) })
		began := time.Now()
		_, err = c.Acquire(ctx, 1)
		assert.True(t, err == cause)
		assert.Equal(t, sec, time.Since(began))
		assert.Nil(t, c.line)
		_, err = c.Acquire(ctx, 1)
		assert.True(t, err == cause, "it had ended before")
		held.Release()
		_, err = c.Acquire(ctx, 1)
		assert.True(t, err == cause, "a done context loses, even if there is room")
		assert.Equal(t, int64(1), c.Stats().Available)

		dead, stop := context.WithTimeout(t.Context(), sec)
		defer stop()
		held, err = c.TryAcquire(1)
		require.NoError(t, err)
		_, err = c.Acquire(dead, 1)
		assert.True(t, err == context.DeadlineExceeded)
		held.Release()
	})
}

// Two admissions that claim limiters in opposite order do not wait for each
// other; nor do they ever hold one while they wait for the other.
func TestOppositeOrders(t *testing.T) {
	a, b := newConcurrency(t, 2), newConcurrency(t, 3)
	both := func(x, y *Concurrency) Limiter {
		if x.guard.rank > y.guard.rank {
			x, y = y, x
		}
		return bothOf{Limiter: a, all: []gate{x, y}}
	}
	var accounts Accounts
	o := accounts.Origin("")
	var wg sync.WaitGroup
	var in, most atomic.Int64
	for i := range 16 {
		wg.Go(func() {
			limiter := both(a, b)
			if i%2 == 1 {
				limiter = both(b, a)
			}
			for n := range 300 {
				ask := Ask{Limiter: limiter, Scope: string(rune('a' + i%3)), MaxQueue: -1, MaxDelay: time.Hour}
				var l Lease
				if !assert.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &l)) {
					return
				}
				if now := in.Add(1); now > most.Load() {
					most.Store(now)
				}
				in.Add(-1)
				if n%3 == 0 {
					l.Cancel()
				} else {
					o.Settle(time.Now(), &l, &Report{})
					l.Release()
				}
			}
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, most.Load(), int64(2))
	assert.Zero(t, a.permits.out)
	assert.Zero(t, b.permits.out)
	assert.Nil(t, a.line)
	assert.Nil(t, b.line)
}

// Everything at once, for the race detector: many callers of one origin, with
// policies that change their unit, and leases that are looked at meanwhile.
func TestManyAtOnce(t *testing.T) {
	accounts := Accounts{MaxAccounts: 4, MaxOrigins: 2}
	limit := newConcurrency(t, 4)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for n := range 300 {
				o := accounts.Origin(string(rune('a' + (i+n)%3)))
				ask := Ask{
					Claims: []Claim{{Policy: "c", Units: 1}, {Policy: string(rune('d' + n%5)), Units: 1}},
					Scope:  string(rune('a' + n%2)), MaxDelay: NoDelay,
				}
				if n%4 == 0 {
					ask.Limiter = limit
				}
				var l Lease
				if err := o.Admit(t.Context(), time.Now(), &ask, &l); err != nil {
					continue
				}
				unit := []string{UnitConcurrentRequests, UnitRequests}[n/50%2]
				o.Settle(time.Now(), &l, &Report{
					Terms:   []Terms{{Policy: Policy{Name: "c", Quota: 100, Unit: unit}}},
					Figures: figure("c", 100, sec),
				})
				_ = l.Held()
				_ = o.Policies()
				_ = o.Dropped()
				_, _ = o.Check(t.Context(), time.Now(), &ask)
				l.Move().Release()
			}
		})
	}
	wg.Wait()
	assert.Zero(t, limit.permits.out)
	for _, o := range accounts.origins {
		for _, s := range o.scopes {
			assert.Zero(t, s.out)
		}
		for _, a := range o.all {
			assert.Zero(t, a.Retained, "%+v", a.policy.policyID)
		}
	}
}
