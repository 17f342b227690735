package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// in is an ask for work that may not start for d.
func in(d time.Duration, ask quota.Ask) quota.Ask {
	ask.NotBefore = time.Now().Add(d)
	return ask
}

// Work waits exactly until NotBefore; Held and Check say why. Other work does not.
func TestNotBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		var told []quota.Refusal
		ask := in(5*sec, quota.Ask{Held: func(r quota.Refusal, _ quota.Limiter) { told = append(told, r) }})
		want := quota.Refusal{Cause: quota.ReasonRetryAfter, Reason: quota.ReasonRetryAfter, Wait: 5 * sec, RetryAfter: 5 * sec}
		r, waits := c.o.Check(t.Context(), time.Now(), &ask)
		assert.Equal(t, &want, r)
		assert.True(t, waits)
		got := c.come(t.Context(), "later", ask)
		assert.False(t, got.done.Load())
		other := c.come(t.Context(), "now", quota.Ask{})
		assert.Zero(t, other.after)
		time.Sleep(5*sec - 1)
		synctest.Wait()
		assert.False(t, got.done.Load())
		c.wg.Wait()
		require.NoError(t, got.err)
		assert.Equal(t, 5*sec, got.after)
		assert.Equal(t, ask.NotBefore, got.lease.Sent())
		assert.Equal(t, []quota.Refusal{want}, told)
		assert.Nil(t, got.lease.Retained())
		c.settle(got, quota.Report{})
		got.lease.Release()
		c.requireNoWaiter()

		for _, past := range []time.Duration{0, -1, -time.Hour} {
			ask := in(past, quota.Ask{})
			r, _ := c.o.Check(t.Context(), time.Now(), &ask)
			assert.Nil(t, r)
			assert.Zero(t, c.come(t.Context(), "", ask).after)
		}
		assert.Equal(t, []quota.Refusal{want}, told)
	})
}

// Work that cannot start in time is refused at once.
func TestNotBeforeIsTooLate(t *testing.T) {
	for name, tt := range map[string]struct {
		notBefore time.Duration
		ask       quota.Ask
		within    time.Duration // the deadline of the context; 0: none
		reason    quota.Reason
	}{
		"no delay":                    {1, quota.Ask{MaxDelay: quota.NoDelay}, 0, quota.ReasonRetryAfter},
		"longer than MaxDelay":        {5*sec + 1, quota.Ask{MaxDelay: 5 * sec}, 0, quota.ReasonMaxDelay},
		"longer than DefaultMaxDelay": {quota.DefaultMaxDelay + 1, quota.Ask{}, 0, quota.ReasonMaxDelay},
		"past the deadline":           {5*sec + 1, quota.Ask{}, 5 * sec, quota.ReasonDeadline},
		"beside a shorter wait":       {15 * sec, quota.Ask{MaxDelay: 12 * sec, Claims: []quota.Claim{api(1)}}, 0, quota.ReasonMaxDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
				ctx, cancel := context.WithCancel(t.Context())
				if tt.within > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.within)
				}
				defer cancel()
				ask := in(tt.notBefore, tt.ask)
				r, waits := c.o.Check(ctx, time.Now(), &ask)
				got := c.come(ctx, "", ask)
				require.True(t, got.done.Load(), "it waits")
				want := quota.Refusal{Cause: quota.ReasonRetryAfter, Reason: tt.reason, Wait: tt.notBefore, RetryAfter: tt.notBefore}
				assert.Equal(t, want, got.refusal(t))
				assert.Equal(t, &want, r)
				assert.False(t, waits)
				c.requireNoWaiter()
			})
		})
	}
}

// The wait may take as long as MaxDelay and the deadline allow, to the
// nanosecond.
func TestNotBeforeIsJustInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		got := c.come(t.Context(), "", in(5*sec, quota.Ask{MaxDelay: 5 * sec}))
		c.wg.Wait()
		assert.NoError(t, got.err)
		assert.Equal(t, 5*sec, got.after)
	})
}

// The wait ends with the context, and leaves nothing behind.
func TestNotBeforeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 5, mins)})
		before := *c.account("api")
		ctx, cancel := context.WithCancelCause(t.Context())
		got := c.come(ctx, "", in(mins, claimOf("api")))
		time.Sleep(sec)
		cause := errors.New("changed my mind")
		cancel(cause)
		c.wg.Wait()
		assert.True(t, got.err == cause, "%v", got.err)
		assert.Equal(t, sec, got.after)
		before.Used, before.Left = c.account("api").Used, before.Left-sec
		assert.Equal(t, before, *c.account("api"))
		c.requireNoWaiter()
	})
}

// NotBefore is met together with accounts and limiters, whichever takes longer;
// work that waits for it has taken nothing.
func TestNotBeforeBesideOthers(t *testing.T) {
	for _, tt := range []struct{ notBefore, after time.Duration }{{3 * sec, 10*sec + ms}, {20 * sec, 20 * sec}} {
		synctest.Test(t, func(t *testing.T) {
			c := newCounter(t)
			limit := concurrencyOf(t, 1)
			c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
			ask := claimOf("api")
			ask.Limiter = limit
			got := c.come(t.Context(), "", in(tt.notBefore, ask))
			lease, err := limit.TryAcquire(1)
			require.NoError(t, err, "nothing is taken")
			lease.Release()
			c.wg.Wait()
			require.NoError(t, got.err)
			assert.Equal(t, tt.after, got.after)
			assert.EqualValues(t, 1, c.account("api").InFlight)
			assert.Zero(t, limit.Stats().Available)
			c.settle(got, quota.Report{})
			got.lease.Release()
			assert.EqualValues(t, 1, limit.Stats().Available)
			c.requireNoWaiter()
		})
	}
}

// Work with the same limiter and another NotBefore, or none, does not wait for it.
func TestNotBeforeIsOfOneAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		chain := chainOf(t, concurrencyOf(t, 9), concurrencyOf(t, 9)) // a slice with room for more
		ask := quota.Ask{Limiter: chain, MaxQueue: 1}
		late := c.come(t.Context(), "late", in(20*sec, ask))
		soon := c.come(t.Context(), "soon", in(10*sec, ask))
		now := c.come(t.Context(), "now", ask)
		assert.True(t, now.done.Load())
		c.wg.Wait()
		assert.NoError(t, errors.Join(late.err, soon.err, now.err))
		assert.Equal(t, 20*sec, late.after)
		assert.Equal(t, 10*sec, soon.after)
		assert.Equal(t, []string{"now", "soon", "late"}, c.order())
		late.lease.Cancel()
		soon.lease.Cancel()
		now.lease.Cancel()
		c.requireNoWaiter()
	})
}

// The claims are made again after the wait.
func TestNotBeforeClaimsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 5, mins)})
		ask := in(sec, quota.Ask{Again: func() []quota.Claim { return []quota.Claim{api(3)} }})
		got := c.come(t.Context(), "", ask)
		c.wg.Wait()
		require.NoError(t, got.err)
		assert.Equal(t, sec, got.after)
		assert.EqualValues(t, 3, c.account("api").InFlight)
	})
}

// Force does not wait for it either; Held is told.
func TestNotBeforeAndForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		var told []quota.Refusal
		got := c.come(t.Context(), "", in(sec, quota.Ask{Force: true, Held: func(r quota.Refusal, _ quota.Limiter) { told = append(told, r) }}))
		require.True(t, got.done.Load())
		assert.NoError(t, got.err)
		assert.Equal(t, []quota.Refusal{{Cause: quota.ReasonRetryAfter, Reason: quota.ReasonRetryAfter, Wait: sec, RetryAfter: sec}}, told)
	})
}

// The Limiter of an Origin keeps the NotBefore of its ask.
func TestNotBeforeOfALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(quota.Accounts).Origin("").Limiter(in(sec, quota.Ask{}))
		_, err := l.TryAcquire(1)
		refusedWith(t, err, quota.ReasonRetryAfter)
		began := time.Now()
		lease, err := l.Acquire(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, sec, time.Since(began))
		lease.Release()
		lease, err = l.TryAcquire(1)
		require.NoError(t, err)
		lease.Release()
	})
}
