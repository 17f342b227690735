package quota

import (
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// A limit of 5 a second with a burst of 5 turns a burst of 30 into 5 a second.
func TestRateWaitsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(rate.NewLimiter(5, 5))
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
					assert.False(t, l.Held())
					l.Release()
				}
			})
		}
		wg.Wait()
		require.Len(t, waits, 30)
		for i, wait := range waits {
			want := time.Duration(max(i-4, 0)) * 200 * ms
			assert.InDelta(t, want, wait, float64(time.Microsecond), "permit %d", i)
			assert.GreaterOrEqual(t, wait, want-30*time.Nanosecond, "permit %d", i)
		}
		assert.Nil(t, r.line)
	})
}

// Refused where nobody waits; a refusal says when to come back.
func TestRateTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(rate.NewLimiter(1, 2))
		_, err := r.TryAcquire(2)
		require.NoError(t, err)
		_, err = r.TryAcquire(1)
		var refusal *Refusal
		require.ErrorAs(t, err, &refusal)
		assert.Equal(t, ReasonOwnLimit, refusal.Reason)
		assert.InDelta(t, sec, refusal.RetryAfter, float64(ms))
		_, err = r.TryAcquire(0)
		assert.Error(t, err, "there are none")
		time.Sleep(refusal.RetryAfter)
		_, err = r.TryAcquire(0)
		assert.NoError(t, err)
		_, err = r.TryAcquire(1)
		assert.NoError(t, err, "it was worth coming back")
	})
}

// A lease that is cancelled gives its permits back exactly; one that is
// released does not: they replenish by themselves.
func TestRateCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(rate.NewLimiter(1, 3))
		l, err := r.TryAcquire(3)
		require.NoError(t, err)
		assert.InDelta(t, 0, r.rate.Tokens(), 1e-9)
		l.Cancel()
		l.Cancel()
		assert.InDelta(t, 3, r.rate.Tokens(), 1e-9)
		l, err = r.TryAcquire(2)
		require.NoError(t, err)
		l.Release()
		l.Cancel()
		assert.InDelta(t, 1, r.rate.Tokens(), 1e-9)
		time.Sleep(500 * ms)
		l, err = r.TryAcquire(1)
		require.NoError(t, err)
		time.Sleep(10 * sec)
		l.Cancel()
		assert.InDelta(t, 3, r.rate.Tokens(), 1e-9, "never above the burst")
	})
}

// What can never be granted is an error of the argument.
func TestRatePermits(t *testing.T) {
	r := NewRate(rate.NewLimiter(1, 3))
	for _, n := range []int64{-1, 4, math.MaxInt64, math.MinInt64} {
		_, err := r.TryAcquire(n)
		assert.ErrorIs(t, err, ErrPermits, "%d", n)
	}
	free := NewRate(rate.NewLimiter(rate.Inf, 0))
	for range 100 {
		_, err := free.TryAcquire(1_000)
		require.NoError(t, err)
	}
	none := NewRate(rate.NewLimiter(1, 0))
	_, err := none.TryAcquire(1)
	assert.ErrorIs(t, err, ErrPermits)
	o := new(Accounts).Origin("")
	var l Lease
	err = o.Admit(t.Context(), time.Now(), &Ask{Limiter: none}, &l)
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, ReasonOwnLimit, refusal.Reason)
}

// A limit of 0, and a limit that is changed while somebody waits: they wait
// until their time is up, or go as the new limit says; and nobody waits for
// more than the burst.
func TestRateChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(rate.NewLimiter(0, 1))
		_, err := r.TryAcquire(1)
		require.NoError(t, err)
		time.AfterFunc(30*sec, func() { r.rate.SetLimit(1) })
		began := time.Now()
		_, err = r.Acquire(t.Context(), 1)
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(began), mins+sec)
	})
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(rate.NewLimiter(1_000_000, 5))
		_, err := r.TryAcquire(5)
		require.NoError(t, err)
		r.rate.SetBurst(1)
		v := r.look(time.Now(), 5)
		assert.False(t, v.ok, "more than the burst")
		assert.True(t, v.final, "nobody waits for what can never be granted")
	})
}

// Met at the same door: charged only if all have room.
func TestRateAndQuotaTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		r := NewRate(rate.NewLimiter(1, 1))
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		ask := claimOf("api")
		ask.Limiter, ask.MaxDelay = r, NoDelay
		require.Error(t, c.come(t.Context(), "", ask).err)
		assert.InDelta(t, 1, r.rate.Tokens(), 1e-9, "the quota refused, nothing is taken")
		ask.MaxDelay = 0
		got := c.come(t.Context(), "", ask)
		time.Sleep(mins)
		c.wg.Wait()
		require.NoError(t, got.err)
		assert.Equal(t, 10*sec+ms, got.after)
		c.o.Settle(time.Now(), &got.lease, &Report{})
		assert.False(t, got.lease.Held())
	})
}
