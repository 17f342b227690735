package quota_test

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota"
)

// A limit of 5 a second with a burst of 5 turns a burst of 30 into 5 a second.
func TestRateWaitsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := quota.Rate(rate.NewLimiter(5, 5))
		began := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var waits []time.Duration
		for range 30 {
			wg.Go(func() {
				l, err := r.Acquire(t.Context(), 1)
				if assert.NoError(t, err) {
					mu.Lock()
					waits = append(waits, time.Since(began))
					mu.Unlock()
					assert.Nil(t, l.Retained())
					l.Release()
				}
			})
		}
		wg.Wait()
		require.Len(t, waits, 30)
		for i, wait := range waits {
			var want time.Duration // the burst goes at once
			if i >= 5 {
				want = time.Duration(i-4)*200*time.Millisecond + 1 // for the rounding of float64
			}
			assert.Equal(t, want, wait, "permit %d", i)
		}
		assert.Zero(t, r.Stats().Queued)
	})
}

// TryAcquire does not wait. The refusal says when to retry.
func TestRateTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := quota.Rate(rate.NewLimiter(1, 2))
		_, err := r.TryAcquire(2)
		require.NoError(t, err)
		_, err = r.TryAcquire(1)
		var refusal *quota.Refusal
		require.ErrorAs(t, err, &refusal)
		assert.Equal(t, quota.ReasonOwnLimit, refusal.Reason)
		assert.Equal(t, time.Second+1, refusal.RetryAfter)
		_, err = r.TryAcquire(0)
		refusedWith(t, err, quota.ReasonOwnLimit)
		time.Sleep(refusal.RetryAfter)
		_, err = r.TryAcquire(0)
		assert.NoError(t, err)
		_, err = r.TryAcquire(1)
		assert.NoError(t, err, "after RetryAfter it is granted")
	})
}

// Cancel returns the permits exactly; Release does not, because they replenish.
func TestRateCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := rate.NewLimiter(1, 3)
		r := quota.Rate(tokens)
		l, err := r.TryAcquire(3)
		require.NoError(t, err)
		assert.Equal(t, 0.0, tokens.Tokens())
		l.Cancel()
		l.Cancel()
		assert.Equal(t, 3.0, tokens.Tokens())
		l, err = r.TryAcquire(2)
		require.NoError(t, err)
		l.Release()
		l.Cancel()
		assert.Equal(t, 1.0, tokens.Tokens())
		time.Sleep(500 * time.Millisecond)
		l, err = r.TryAcquire(1)
		require.NoError(t, err)
		time.Sleep(10 * time.Second)
		l.Cancel()
		assert.Equal(t, 3.0, tokens.Tokens(), "never above the burst")
	})
}

// A number of permits that can never be granted is ErrPermits.
func TestRatePermits(t *testing.T) {
	r := quota.Rate(rate.NewLimiter(1, 3))
	for _, n := range []int64{-1, 4, math.MaxInt64, math.MinInt64} {
		_, err := r.TryAcquire(n)
		assert.ErrorIs(t, err, quota.ErrPermits, "%d", n)
	}
	free := quota.Rate(rate.NewLimiter(rate.Inf, 0))
	for range 100 {
		_, err := free.TryAcquire(1_000)
		require.NoError(t, err)
	}
	none := quota.Rate(rate.NewLimiter(1, 0))
	_, err := none.TryAcquire(1)
	assert.ErrorIs(t, err, quota.ErrPermits)
	o := new(quota.Accounts).Origin("")
	var l quota.Lease
	err = o.Admit(t.Context(), time.Now(), &quota.Ask{Limiter: none}, &l)
	var refusal *quota.Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, quota.ReasonOwnLimit, refusal.Reason)
}

// A limit of 0 may be raised while requests wait, and a burst may be lowered: a
// request for more than the burst is refused, because it can never be granted.
func TestRateChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := rate.NewLimiter(0, 1)
		r := quota.Rate(tokens)
		take(t, r, 1)
		time.AfterFunc(30500*time.Millisecond, func() { tokens.SetLimit(1) })
		began := time.Now()
		_, err := r.Acquire(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, 31500*time.Millisecond+1, time.Since(began), "a raised rate.Limiter is seen within a second")
	})
	synctest.Test(t, func(t *testing.T) {
		tokens := rate.NewLimiter(1_000_000, 5)
		r := quota.Rate(tokens)
		take(t, r, 5)
		began := time.Now()
		waits := acquiring(t.Context(), r, 5)
		tokens.SetBurst(1)
		time.Sleep(time.Second)
		require.False(t, waits.waiting())
		refusedWith(t, waits.err, quota.ReasonOwnLimit)
		assert.Equal(t, 5*time.Microsecond+1, waits.at.Sub(began), "when it looks again")
		_, err := r.TryAcquire(5)
		assert.ErrorIs(t, err, quota.ErrPermits)
	})
}

// A Rate and an advertised quota are charged only if both have room.
func TestRateAndQuotaTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := rate.NewLimiter(1, 1)
		o := new(quota.Accounts).Origin("")
		var lease quota.Lease
		require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{Force: true}, &lease))
		o.Settle(time.Now(), &lease, left(0, 10*time.Second))
		ask := quota.Ask{
			Claims:   []quota.Claim{{Policy: "api", Units: 1}},
			Limiter:  quota.Rate(tokens),
			MaxDelay: quota.NoDelay,
		}
		refusedWith(t, o.Admit(t.Context(), time.Now(), &ask, &lease), quota.ReasonExhausted)
		assert.Equal(t, 1.0, tokens.Tokens(), "the quota refused, nothing is taken")
		ask.MaxDelay = 0
		began := time.Now()
		require.NoError(t, o.Admit(t.Context(), time.Now(), &ask, &lease))
		assert.Equal(t, 10*time.Second+time.Millisecond, time.Since(began))
		assert.Equal(t, 0.0, tokens.Tokens())
		o.Settle(time.Now(), &lease, &quota.Report{})
		assert.Nil(t, lease.Retained())
	})
}
