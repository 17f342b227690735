package quota_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota"
)

// .NET: CanAcquireResource, NoMetadataOnAcquiredLease.
func TestTakenIsGoneUntilItComesBack(t *testing.T) {
	eachKind(t, 1, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 1)
		none, err := l.TryAcquire(1)
		assert.Nil(t, none)
		refusedWith(t, err, quota.ReasonOwnLimit)
		comeBack(lease)
		take(t, l, 1).Release()
	})
}

// .NET: CanAcquireResourceAsync.
func TestAcquireWaitsUntilItComesBack(t *testing.T) {
	eachKind(t, 1, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 1)
		r := acquiring(t.Context(), l, 1)
		assert.True(t, r.waiting())
		comeBack(lease)
		assert.True(t, r.granted())
	})
}

// .NET: ThrowsWhenAcquiringMoreThanLimit, ThrowsWhenWaitingForMoreThanLimit,
// ThrowsWhenAcquiringLessThanZero, ThrowsWhenWaitingForLessThanZero.
func TestImpossibleNumbersOfPermitsAreAnErrorAtOnce(t *testing.T) {
	eachKind(t, 3, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		take(t, l, 3)
		for _, n := range []int64{-1, math.MinInt64, 4, math.MaxInt64} {
			_, err := l.TryAcquire(n)
			assert.ErrorIs(t, err, quota.ErrPermits, n)
			_, err = l.Acquire(t.Context(), n)
			assert.ErrorIs(t, err, quota.ErrPermits, n)
		}
		assert.Zero(t, l.Stats().Refused)
	})
}

// .NET: AcquireZero_WithAvailability, AcquireZero_WithoutAvailability,
// WaitAsyncZero_WithAvailability, WaitAsyncZero_WithoutAvailabilityWaitsForAvailability,
// GetStatisticsWithZeroPermitCount.
func TestZeroPermitsAskWithoutTaking(t *testing.T) {
	eachKind(t, 1, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		take(t, l, 0).Release()
		asked, err := l.Acquire(t.Context(), 0)
		require.NoError(t, err)
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.EqualValues(t, 2, l.Stats().Granted)

		lease := take(t, l, 1)
		_, err = l.TryAcquire(0)
		refusedWith(t, err, quota.ReasonOwnLimit)
		r := acquiring(t.Context(), l, 0)
		assert.True(t, r.waiting())
		assert.EqualValues(t, 1, l.Stats().Queued)
		comeBack(lease, asked)
		assert.True(t, r.granted())
		assert.EqualValues(t, 1, l.Stats().Available)
		s := l.Stats()
		assert.EqualValues(t, []int64{4, 1, 0}, []int64{s.Granted, s.Refused, s.Queued})
	})
}

// .NET: LargeAcquiresAndQueuesDoNotIntegerOverflow.
func TestLargestNumbersDoNotOverflow(t *testing.T) {
	eachKind(t, math.MaxInt64, quota.Options{MaxQueue: math.MaxInt64}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, math.MaxInt64)
		r := acquiring(t.Context(), l, math.MaxInt64)
		assert.True(t, r.waiting())
		assert.EqualValues(t, int64(math.MaxInt64), l.Stats().Queued)
		_, err := l.Acquire(t.Context(), 1)
		full := refusedWith(t, err, quota.ReasonQueueFull)
		assert.GreaterOrEqual(t, full.RetryAfter, time.Duration(0))
		_, err = l.TryAcquire(math.MaxInt64)
		refusedWith(t, err, quota.ReasonOwnLimit)
		comeBack(lease)
		assert.True(t, r.granted())
		assert.Zero(t, l.Stats().Queued)
	})
}

// .NET: CanCancelWaitAsyncBeforeQueuing, WaitAsyncThrowsWhenPassedACanceledToken.
func TestContextThatHasEndedTakesNothing(t *testing.T) {
	eachKind(t, 1, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		_, err := l.Acquire(ctx, 1)
		assert.Same(t, cause, err)
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.Zero(t, l.Stats().Granted+l.Stats().Refused)
	})
}

// .NET: CanCancelWaitAsyncAfterQueuing, Create_CancellationTokenPassedToUnderlyingLimiter.
func TestContextThatEndsWhileWaitingTakesNothing(t *testing.T) {
	eachKind(t, 1, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		lease := take(t, l, 1)
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		r := acquiring(ctx, l, 1)
		assert.True(t, r.waiting())
		cancel(cause)
		assert.False(t, r.waiting())
		assert.Same(t, cause, r.err)
		assert.Zero(t, l.Stats().Queued)
		assert.Zero(t, l.Stats().Refused, "an ended context is no refusal")
		comeBack(lease)
		assert.EqualValues(t, 1, l.Stats().Available)
	})
}

func TestDeadlineThatCannotBeMetIsRefusedAtOnce(t *testing.T) {
	for _, k := range kinds[:3] {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := k.make(1, quota.Options{})
				require.NoError(t, err)
				take(t, l, 1)
				ctx, cancel := context.WithTimeout(t.Context(), period-1)
				defer cancel()
				began := time.Now()
				_, err = l.Acquire(ctx, 1)
				r := refusedWith(t, err, quota.ReasonDeadline)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, period, r.RetryAfter)
				assert.Zero(t, time.Since(began))

				ctx, cancel = context.WithTimeout(t.Context(), period)
				defer cancel()
				_, err = l.Acquire(ctx, 1)
				if err != nil { // permits and deadline come at the same instant
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				}
			})
		})
	}
}

// .NET: DisposeReleasesQueuedAcquires, CanDisposeAfterCancelingQueuedRequest.
func TestCloseRefusesWaitingAndLaterRequests(t *testing.T) {
	for _, newest := range []bool{false, true} {
		eachKind(t, 2, quota.Options{NewestFirst: newest}, func(t *testing.T, l quota.Limiter) {
			lease := take(t, l, 2)
			ctx, cancel := context.WithCancel(t.Context())
			gone := acquiring(ctx, l, 1)
			rs := []*result{acquiring(t.Context(), l, 1), acquiring(t.Context(), l, 2), acquiring(t.Context(), l, 0)}
			cancel()
			assert.False(t, gone.waiting())
			l.Close()
			l.Close()
			for _, r := range rs {
				assert.False(t, r.waiting())
				assert.ErrorIs(t, r.err, quota.ErrClosed)
				refusedWith(t, r.err, quota.ReasonClosed)
			}
			_, err := l.TryAcquire(1)
			assert.ErrorIs(t, err, quota.ErrClosed)
			_, err = l.Acquire(t.Context(), 0)
			assert.ErrorIs(t, err, quota.ErrClosed)
			s := l.Stats()
			assert.EqualValues(t, []int64{0, 5, 1}, []int64{s.Queued, s.Refused, s.Granted})
			lease.Release()
			lease.Release()
			lease.Cancel()
			assert.LessOrEqual(t, l.Stats().Available, int64(2))
			var r *quota.Refusal
			assert.False(t, errors.As(err, &r) && errors.Is(err, context.DeadlineExceeded))
		})
	}
}

// .NET: NullIdleDurationWhenActive, IdleDurationUpdatesWhenIdle,
// IdleDurationUpdatesWhenChangingFromActive.
func TestIdleSince(t *testing.T) {
	eachKind(t, 2, quota.Options{}, func(t *testing.T, l quota.Limiter) {
		made := time.Now()
		time.Sleep(time.Second)
		assert.True(t, made.Equal(l.Stats().IdleSince), "since it was made")
		lease := take(t, l, 1)
		assert.True(t, l.Stats().IdleSince.IsZero())
		other := take(t, l, 1)
		r := acquiring(t.Context(), l, 2)
		assert.True(t, l.Stats().IdleSince.IsZero())
		lease.Release()
		assert.True(t, l.Stats().IdleSince.IsZero())
		time.Sleep(period)
		other.Release()
		synctest.Wait()
		assert.True(t, l.Stats().IdleSince.IsZero(), "the waiting request has taken them")
		comeBack()
		require.True(t, r.granted())
		r.lease.Release()
		back := l.Stats().IdleSince
		assert.False(t, back.IsZero())
		assert.False(t, back.After(time.Now()))
		time.Sleep(period)
		assert.True(t, back.Equal(l.Stats().IdleSince), "it does not change")
	})
}

// .NET: GetStatisticsReturnsNewInstances, GetStatisticsHasCorrectValues.
func TestStatsAreASnapshot(t *testing.T) {
	eachKind(t, 100, quota.Options{MaxQueue: 50}, func(t *testing.T, l quota.Limiter) {
		assert.EqualValues(t, 100, l.Stats().Available)
		lease := take(t, l, 60)
		first := l.Stats()
		r := acquiring(t.Context(), l, 50)
		counts := func() []int64 {
			s := l.Stats()
			return []int64{s.Available, s.Queued, s.Granted, s.Refused}
		}
		assert.Equal(t, []int64{40, 50, 1, 0}, counts())
		_, err := l.Acquire(t.Context(), 1)
		refusedWith(t, err, quota.ReasonQueueFull)
		assert.Equal(t, []int64{40, 50, 1, 1}, counts())
		_, err = l.TryAcquire(1)
		refusedWith(t, err, quota.ReasonOwnLimit)
		assert.Equal(t, []int64{40, 50, 1, 2}, counts())
		comeBack(lease)
		require.True(t, r.granted())
		assert.Equal(t, []int64{50, 0, 2, 2}, counts())
		comeBack(r.lease)
		assert.Equal(t, []int64{100, 0, 2, 2}, counts())
		assert.EqualValues(t, 40, first.Available, "a snapshot does not change")
		assert.EqualValues(t, 1, first.Granted)
	})
}

// .NET: MetadataNamesContainsAllMetadata, ReasonMetadataOnFailedWaitAsync.
func TestRefusalSaysWhyAndWhen(t *testing.T) {
	eachKind(t, 1, quota.Options{MaxQueue: 1}, func(t *testing.T, l quota.Limiter) {
		take(t, l, 1)
		acquired := acquiring(t.Context(), l, 1)
		_, err := l.Acquire(t.Context(), 1)
		full := refusedWith(t, err, quota.ReasonQueueFull)
		assert.Equal(t, quota.ReasonOwnLimit, full.Cause)
		assert.Contains(t, err.Error(), "quota: not admitted: queue full")
		assert.False(t, full.Timeout())
		assert.True(t, acquired.waiting())
		l.Close()
	})
}

func TestEveryReasonHasWords(t *testing.T) {
	seen := map[string]bool{}
	for r := quota.ReasonExhausted; r <= quota.ReasonFirstFlight; r++ {
		assert.NotEqual(t, "unknown reason", r.String())
		assert.False(t, seen[r.String()])
		seen[r.String()] = true
	}
	assert.Equal(t, "unknown reason", (quota.ReasonFirstFlight + 1).String())
}

// .NET: InvalidOptionsThrows.
func TestArgumentsOutOfRangeGrantNothing(t *testing.T) {
	for i, l := range []*quota.Limit{
		quota.PerSecond(0, 1), quota.PerSecond(-1, 1), quota.PerSecond(1, 0), quota.PerSecond(math.MaxInt64, 0),
		quota.FixedWindow(0, 1), quota.FixedWindow(1, 0),
		quota.SlidingWindow(-1, 10, 1), quota.SlidingWindow(1, -1, 1), quota.SlidingWindow(1, 10, 0),
		quota.SlidingWindow(1, 10, 11), quota.SlidingWindow(1, time.Hour, 65_537),
		quota.TokenBucket(0, 1, 1), quota.TokenBucket(1, 0, 1), quota.TokenBucket(1, 1, 0),
		quota.Concurrency(0), quota.Concurrency(-1),
	} {
		for n := range int64(2) {
			_, err := l.TryAcquire(n)
			assert.ErrorIs(t, err, quota.ErrPermits, i)
			_, err = quota.Chain(quota.Concurrency(1), l).Acquire(t.Context(), n)
			assert.ErrorIs(t, err, quota.ErrPermits, i)
		}
		assert.Zero(t, l.Stats().Available)
	}
	take(t, quota.Custom(quota.CustomFuncs{}), math.MaxInt64)
}

// A limiter says what it allows.
func TestLimitersSayWhatTheyAllow(t *testing.T) {
	for want, l := range map[string]quota.Limiter{
		"10 per second, bursts of 20":                 quota.PerSecond(10, 20),
		"3 per second, bursts of 1":                   quota.PerSecond(3, 1),
		"1 per second, bursts of 2":                   quota.PerSecond(1, 2),
		"5 per 1m0s, bursts of 9":                     quota.TokenBucket(9, 5, time.Minute),
		"5 per 1h0m0s":                                quota.FixedWindow(5, time.Hour),
		"7 per second":                                quota.SlidingWindow(7, time.Second, 10),
		"4 at a time":                                 quota.Concurrency(4),
		"2 per second, bursts of 6":                   quota.Rate(rate.NewLimiter(2, 6)),
		"1 per 400ms, bursts of 6":                    quota.Rate(rate.NewLimiter(2.5, 6)),
		"1 per 700ms, bursts of 1":                    quota.Rate(rate.NewLimiter(rate.Every(700*time.Millisecond), 1)),
		"1000000000 per second, bursts of 1":          quota.Rate(rate.NewLimiter(1e10, 1)),
		"1 per 1281023h53m38.427387904s, bursts of 1": quota.Rate(rate.NewLimiter(1e-11, 1)),
		"1 per 5s, bursts of 1":                       quota.Rate(rate.NewLimiter(0.2, 1)),
		"custom":                                      quota.Rate(rate.NewLimiter(rate.Inf, 1)),
	} {
		assert.Equal(t, want, fmt.Sprint(l))
	}
	assert.Equal(t, "custom", fmt.Sprint(quota.Custom(quota.CustomFuncs{})))
	assert.Equal(t, "nothing", fmt.Sprint(quota.PerSecond(0, 1)))
	assert.Equal(t, "nothing", fmt.Sprint(quota.Concurrency(0)))
}

// The rate of PerSecond is never above n.
func TestPerSecond(t *testing.T) {
	for _, n := range []int64{1, 3, 7, 10, 999, 1_000_000, 1_500_999, 1 << 40} {
		synctest.Test(t, func(t *testing.T) {
			l := quota.PerSecond(n, 2*n)
			take(t, l, 2*n)
			time.Sleep(time.Second)
			assert.InDelta(t, n, l.Stats().Available, 1+float64(n)/1000)
			assert.LessOrEqual(t, l.Stats().Available, n)
		})
	}
	assert.EqualValues(t, 20, quota.PerSecond(10, 20).Stats().Available)
}

func TestRateIsALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rate.NewLimiter(1, 2)
		l := quota.Rate(lim)
		take(t, l, 2)
		assert.Zero(t, l.Stats().Available)
		_, err := l.TryAcquire(1)
		assert.Equal(t, time.Second+1, refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter)
		_, err = l.TryAcquire(3)
		assert.ErrorIs(t, err, quota.ErrPermits)
		began := time.Now()
		lease, err := l.Acquire(t.Context(), 1)
		require.NoError(t, err)
		assert.Equal(t, time.Second+1, time.Since(began))
		lease.Cancel()
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.True(t, l.Stats().IdleSince.IsZero())
		time.Sleep(2 * time.Second)
		assert.False(t, l.Stats().IdleSince.IsZero())

		take(t, l, 2)
		r := acquiring(t.Context(), l, 2)
		lim.SetBurst(1) // less than it waits for
		time.Sleep(time.Minute)
		assert.False(t, r.waiting())
		refusedWith(t, r.err, quota.ReasonOwnLimit)

		free := quota.Rate(rate.NewLimiter(rate.Inf, 0))
		take(t, free, math.MaxInt32)
		assert.EqualValues(t, math.MaxInt32, free.Stats().Available)
		_, err = quota.Rate(rate.NewLimiter(0, 0)).TryAcquire(1)
		assert.ErrorIs(t, err, quota.ErrPermits)
		stopped := quota.Rate(rate.NewLimiter(0, 1))
		take(t, stopped, 1)
		_, err = stopped.TryAcquire(1)
		assert.Equal(t, time.Minute, refusedWith(t, err, quota.ReasonOwnLimit).RetryAfter)
	})
}

func TestTryAcquireAllocatesNothing(t *testing.T) {
	c := quota.Concurrency(2)
	w := quota.FixedWindow(1<<40, time.Hour)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		a, _ := c.TryAcquire(1)
		b, _ := w.TryAcquire(1)
		b.Release()
		a.Release()
	}))
	var l quota.Limiter = c
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		lease, _ := l.TryAcquire(1)
		lease.Release()
	}), 1.0)
	take(t, c, 2)
	assert.Equal(t, 1.0, testing.AllocsPerRun(100, func() {
		_, _ = c.TryAcquire(1)
	}), "the refusal")
	chain := quota.Chain(quota.Concurrency(2), w)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		lease, _ := chain.TryAcquire(1)
		lease.Release()
	}), 2.0, "the lease, and its claims")
}
