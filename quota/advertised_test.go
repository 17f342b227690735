package quota_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

func TestAdvertisedLearnsFromSettledLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := apiLimiter(quota.Ask{})
		assert.EqualValues(t, quota.None, l.Stats().Available, "nothing is known")
		lease := take(t, l, 5)
		lease.Settle(left(3, 10*time.Second))
		lease.Settle(left(0, 10*time.Second)) // once
		lease.Release()
		assert.EqualValues(t, 3, l.Stats().Available)
		lease = take(t, l, 2)
		assert.EqualValues(t, 1, l.Stats().Available, "in flight counts")
		assert.True(t, l.Stats().IdleSince.IsZero())
		_, err := l.TryAcquire(2)
		r := refusedWith(t, err, quota.ReasonExhausted)
		assert.Equal(t, "api", r.Policy)
		assert.Equal(t, 10*time.Second+time.Millisecond, r.RetryAfter)
		lease.Cancel()
		assert.EqualValues(t, 3, l.Stats().Available)
		assert.False(t, l.Stats().IdleSince.IsZero())

		lease = take(t, l, 3)
		waiting := acquiring(t.Context(), l, 1)
		assert.EqualValues(t, 1, l.Stats().Queued)
		lease.Settle(left(2, 10*time.Second)) // the server charged less than was claimed
		lease.Release()
		require.True(t, waiting.granted())
		waiting.lease.Settle(&quota.Report{Refused: true, Pause: time.Minute})
		_, err = l.TryAcquire(1)
		assert.Equal(t, time.Minute, refusedWith(t, err, quota.ReasonRetryAfter).RetryAfter)
		s := l.Stats()
		assert.EqualValues(t, []int64{4, 2}, []int64{s.Granted, s.Refused})
	})
}

func TestUnsettledAdvertisedLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := apiLimiter(quota.Ask{})
		lease := take(t, l, 1)
		lease.Settle(left(5, time.Minute))
		take(t, l, 2).Release()
		assert.EqualValues(t, 3, l.Stats().Available, "it may have arrived")
	})
}

func TestAdvertisedInAChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, own := apiLimiter(quota.Ask{}), concurrencyOf(t, 2)
		c := chainOf(t, own, api)
		lease := take(t, c, 1)
		assert.EqualValues(t, 1, own.Stats().Available)
		lease.Settle(left(1, 10*time.Second))
		assert.EqualValues(t, 1, own.Stats().Available, "the work is not over")
		lease.Release()
		assert.EqualValues(t, 2, own.Stats().Available)
		assert.EqualValues(t, 1, c.Stats().Available)

		lease = take(t, c, 1)
		_, err := c.TryAcquire(1)
		refusedWith(t, err, quota.ReasonExhausted)
		assert.EqualValues(t, 1, own.Stats().Available, "all or none")
		lease.Cancel()
		assert.EqualValues(t, 1, api.Stats().Available)

		other := take(t, own, 2)
		began := time.Now()
		waiting := acquiring(t.Context(), c, 1)
		assert.EqualValues(t, 1, api.Stats().Available, "a request that waits for one limiter has not taken the other")
		time.Sleep(time.Second)
		other.Release()
		require.True(t, waiting.granted())
		assert.Equal(t, time.Second, waiting.at.Sub(began))
		assert.Zero(t, api.Stats().Available)

		closed := acquiring(t.Context(), c, 1)
		assert.True(t, closed.waiting())
		c.Close()
		assert.False(t, closed.waiting())
		assert.ErrorIs(t, closed.err, quota.ErrClosed)
	})
}

func TestAdvertisedWaitsAsConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := apiLimiter(quota.Ask{MaxDelay: time.Second, MaxQueue: 1})
		take(t, l, 1).Settle(left(0, 10*time.Second))
		_, err := l.Acquire(t.Context(), 1)
		refusedWith(t, err, quota.ReasonMaxDelay)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = l.Acquire(ctx, 1)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = l.TryAcquire(-1)
		assert.ErrorIs(t, err, quota.ErrPermits)
		waits := apiLimiter(quota.Ask{})
		take(t, waits, 1).Settle(left(0, 10*time.Second))
		r := acquiring(t.Context(), waits, 1)
		assert.True(t, r.waiting())
		waits.Close()
		assert.False(t, r.waiting())
		assert.ErrorIs(t, r.err, quota.ErrClosed)
		_, err = waits.TryAcquire(1)
		assert.ErrorIs(t, err, quota.ErrClosed)
	})
}

func TestAskRejectsAnAdvertisedLimiter(t *testing.T) {
	o := new(quota.Accounts).Origin("https://api.example")
	l := o.Limiter(quota.Ask{Claims: []quota.Claim{{Policy: "api", Units: 1}}})
	var lease quota.Lease
	ask := quota.Ask{Limiter: chainOf(t, l, concurrencyOf(t, 1))}
	err := o.Admit(t.Context(), time.Now(), &ask, &lease)
	assert.EqualError(t, err, "quota: an Ask's Limiter holds the quota of an origin; put it into Claims")
	refused, _ := o.Check(t.Context(), time.Now(), &ask)
	assert.NotNil(t, refused)
	refused, _ = o.Check(t.Context(), time.Now(), &quota.Ask{Limiter: concurrencyOf(t, 1)})
	assert.Nil(t, refused)
}

func TestUnitsOfManyPermitsSaturate(t *testing.T) {
	l := apiLimiter(quota.Ask{})
	take(t, l, math.MaxInt64).Cancel()
}

// Origin.Admit with a lease whose memory is used again.
func TestAdmitAllocatesNothing(t *testing.T) {
	var accounts quota.Accounts
	o := accounts.Origin("https://api.example")
	ask := quota.Ask{
		Claims:  []quota.Claim{{Policy: "api", Units: 1}, {Policy: "day", Units: 1}},
		Limiter: concurrencyOf(t, 1),
	}
	lease, report := new(quota.Lease), left(1<<40, time.Hour)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		now := time.Now()
		if err := o.Admit(context.Background(), now, &ask, lease); err != nil {
			panic(err)
		}
		o.Settle(now, lease, report)
		lease.Release()
	}))
}

// After a wait, the permits of all limiters are charged, and a Custom limiter was
// asked again.
func TestAdvertisedWaitKeepsItsOwnLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api, own := apiLimiter(quota.Ask{}), concurrencyOf(t, 3)
		custom, answer, asked := customOf(t, quota.Options{})
		c := chainOf(t, own, custom, api)
		take(t, api, 1).Settle(left(5, time.Minute))

		elsewhere := take(t, own, 3)
		r := acquiring(t.Context(), c, 2)
		assert.True(t, r.waiting())
		elsewhere.Release()
		require.True(t, r.granted())
		assert.EqualValues(t, 1, own.Stats().Available)
		assert.EqualValues(t, 3, api.Stats().Available)
		assert.EqualValues(t, 2, asked.Load())
		r.lease.Cancel()
		assert.EqualValues(t, 3, own.Stats().Available)

		answer.Store(&quota.Answer{})
		r = acquiring(t.Context(), c, 2)
		answer.Store(&quota.Answer{OK: true})
		time.Sleep(time.Second)
		assert.True(t, r.granted())
	})
}
