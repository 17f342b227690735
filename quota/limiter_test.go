package quota

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// period is after how long the limiters of these tests have all permits back.
const period = 10 * time.Second

// kinds are the limiters of so many permits that all of the rules of a Limiter
// are held against.
var kinds = []struct {
	name string
	make func(permits int64, q Queue) (Limiter, error)
}{
	{"fixed window", func(n int64, q Queue) (Limiter, error) {
		return NewFixedWindow(FixedWindowOptions{Permits: n, Window: period, Queue: q})
	}},
	{"sliding window", func(n int64, q Queue) (Limiter, error) {
		return NewSlidingWindow(SlidingWindowOptions{Permits: n, Window: period, Segments: 5, Queue: q})
	}},
	{"token bucket", func(n int64, q Queue) (Limiter, error) {
		return NewTokenBucket(TokenBucketOptions{Permits: n, PerPeriod: n, Period: period, Queue: q})
	}},
	{"concurrency", func(n int64, q Queue) (Limiter, error) {
		return NewConcurrency(ConcurrencyOptions{Permits: n, Queue: q})
	}},
	{"chain of one", func(n int64, q Queue) (Limiter, error) {
		l, err := NewConcurrency(ConcurrencyOptions{Permits: n, Queue: q})
		if err != nil {
			return nil, err
		}
		return NewChain(l)
	}},
	{"chain of two", func(n int64, q Queue) (Limiter, error) {
		l, err := NewFixedWindow(FixedWindowOptions{Permits: n, Window: period, Queue: q})
		if err != nil {
			return nil, err
		}
		wide, err := NewConcurrency(ConcurrencyOptions{Permits: math.MaxInt64})
		if err != nil {
			return nil, err
		}
		return NewChain(wide, l)
	}},
}

// eachKind runs a test in a bubble for each kind of limiter.
func eachKind(t *testing.T, permits int64, q Queue, test func(t *testing.T, l Limiter)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := k.make(permits, q)
				require.NoError(t, err)
				test(t, l)
			})
		})
	}
}

// comeBack lets all permits of the leases come back, by release or by time.
func comeBack(leases ...*Lease) {
	for _, l := range leases {
		l.Release()
	}
	time.Sleep(period)
	synctest.Wait()
}

func take(t *testing.T, l Limiter, n int64) *Lease {
	t.Helper()
	lease, err := l.TryAcquire(n)
	require.NoError(t, err)
	require.NotNil(t, lease)
	return lease
}

// refusedWith asserts that err is a refusal for that reason, and returns it.
func refusedWith(t *testing.T, err error, why Reason) *Refusal {
	t.Helper()
	var r *Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, why.String(), r.Reason.String())
	return r
}

// A result is how an Acquire ended, as far as anybody has looked.
type result struct {
	lease *Lease
	err   error
	at    time.Time // zero: it has not

	over chan result // receives once
}

// acquireSoon starts an Acquire.
func acquireSoon(ctx context.Context, l Limiter, n int64) *result {
	r := &result{over: make(chan result, 1)}
	go func() {
		lease, err := l.Acquire(ctx, n)
		r.over <- result{lease: lease, err: err, at: time.Now()}
	}()
	return r
}

// acquiring starts an Acquire, and returns when it is in line or over.
func acquiring(ctx context.Context, l Limiter, n int64) *result {
	r := acquireSoon(ctx, l, n)
	r.look()
	return r
}

// look waits until everybody does, and looks.
func (r *result) look() {
	synctest.Wait()
	select {
	case over := <-r.over:
		r.lease, r.err, r.at = over.lease, over.err, over.at
	default:
	}
}

func (r *result) waiting() bool { r.look(); return r.at.IsZero() }
func (r *result) granted() bool { r.look(); return r.lease != nil }

// .NET: CanAcquireResource, NoMetadataOnAcquiredLease.
func TestTakenIsGoneUntilItComesBack(t *testing.T) {
	eachKind(t, 1, Queue{}, func(t *testing.T, l Limiter) {
		lease := take(t, l, 1)
		none, err := l.TryAcquire(1)
		assert.Nil(t, none)
		refusedWith(t, err, ReasonOwnLimit)
		comeBack(lease)
		take(t, l, 1).Release()
	})
}

// .NET: CanAcquireResourceAsync.
func TestAcquireWaitsUntilItComesBack(t *testing.T) {
	eachKind(t, 1, Queue{}, func(t *testing.T, l Limiter) {
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
	eachKind(t, 3, Queue{}, func(t *testing.T, l Limiter) {
		take(t, l, 3)
		for _, n := range []int64{-1, math.MinInt64, 4, math.MaxInt64} {
			_, err := l.TryAcquire(n)
			assert.ErrorIs(t, err, ErrPermits, n)
			_, err = l.Acquire(t.Context(), n)
			assert.ErrorIs(t, err, ErrPermits, n)
		}
		assert.Zero(t, l.Stats().Refused)
	})
}

// .NET: AcquireZero_WithAvailability, AcquireZero_WithoutAvailability,
// WaitAsyncZero_WithAvailability, WaitAsyncZero_WithoutAvailabilityWaitsForAvailability,
// GetStatisticsWithZeroPermitCount.
func TestZeroPermitsAskWithoutTaking(t *testing.T) {
	eachKind(t, 1, Queue{}, func(t *testing.T, l Limiter) {
		take(t, l, 0).Release()
		asked, err := l.Acquire(t.Context(), 0)
		require.NoError(t, err)
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.EqualValues(t, 2, l.Stats().Granted)

		lease := take(t, l, 1)
		_, err = l.TryAcquire(0)
		refusedWith(t, err, ReasonOwnLimit)
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
	eachKind(t, math.MaxInt64, Queue{Limit: math.MaxInt64}, func(t *testing.T, l Limiter) {
		lease := take(t, l, math.MaxInt64)
		r := acquiring(t.Context(), l, math.MaxInt64)
		assert.True(t, r.waiting())
		assert.EqualValues(t, int64(math.MaxInt64), l.Stats().Queued)
		_, err := l.Acquire(t.Context(), 1)
		full := refusedWith(t, err, ReasonQueueFull)
		assert.GreaterOrEqual(t, full.RetryAfter, time.Duration(0))
		_, err = l.TryAcquire(math.MaxInt64)
		refusedWith(t, err, ReasonOwnLimit)
		comeBack(lease)
		assert.True(t, r.granted())
		assert.Zero(t, l.Stats().Queued)
	})
}

// .NET: CanCancelWaitAsyncBeforeQueuing, WaitAsyncThrowsWhenPassedACanceledToken.
func TestContextThatHasEndedTakesNothing(t *testing.T) {
	eachKind(t, 1, Queue{}, func(t *testing.T, l Limiter) {
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
	eachKind(t, 1, Queue{}, func(t *testing.T, l Limiter) {
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
				l, err := k.make(1, Queue{})
				require.NoError(t, err)
				take(t, l, 1)
				ctx, cancel := context.WithTimeout(t.Context(), period-1)
				defer cancel()
				began := time.Now()
				_, err = l.Acquire(ctx, 1)
				r := refusedWith(t, err, ReasonDeadline)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.Equal(t, period, r.RetryAfter)
				assert.Zero(t, time.Since(began))

				ctx, cancel = context.WithTimeout(t.Context(), period)
				defer cancel()
				_, err = l.Acquire(ctx, 1)
				if err != nil { // the permits and the deadline come at one instant
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				}
			})
		})
	}
}

// .NET: DisposeReleasesQueuedAcquires, CanDisposeAfterCancelingQueuedRequest.
func TestCloseRefusesWhoWaitsAndWhoComes(t *testing.T) {
	for _, order := range []Order{OldestFirst, NewestFirst} {
		eachKind(t, 2, Queue{Order: order}, func(t *testing.T, l Limiter) {
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
				assert.ErrorIs(t, r.err, ErrClosed)
				refusedWith(t, r.err, ReasonClosed)
			}
			_, err := l.TryAcquire(1)
			assert.ErrorIs(t, err, ErrClosed)
			_, err = l.Acquire(t.Context(), 0)
			assert.ErrorIs(t, err, ErrClosed)
			s := l.Stats()
			assert.EqualValues(t, []int64{0, 5, 1}, []int64{s.Queued, s.Refused, s.Granted})
			lease.Release()
			lease.Release()
			lease.Cancel()
			assert.LessOrEqual(t, l.Stats().Available, int64(2))
			var r *Refusal
			assert.False(t, errors.As(err, &r) && errors.Is(err, context.DeadlineExceeded))
		})
	}
}

// .NET: NullIdleDurationWhenActive, IdleDurationUpdatesWhenIdle,
// IdleDurationUpdatesWhenChangingFromActive.
func TestIdleSinceAllIsBackAndNobodyWaits(t *testing.T) {
	eachKind(t, 2, Queue{}, func(t *testing.T, l Limiter) {
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
		assert.True(t, l.Stats().IdleSince.IsZero(), "the waiter has it")
		comeBack()
		require.True(t, r.granted())
		r.lease.Release()
		back := l.Stats().IdleSince
		assert.False(t, back.IsZero())
		assert.False(t, back.After(time.Now()))
		time.Sleep(period)
		assert.True(t, back.Equal(l.Stats().IdleSince), "it stays since then")
	})
}

// .NET: GetStatisticsReturnsNewInstances, GetStatisticsHasCorrectValues.
func TestStatsAreASnapshotOfEachKindOfEvent(t *testing.T) {
	eachKind(t, 100, Queue{Limit: 50}, func(t *testing.T, l Limiter) {
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
		refusedWith(t, err, ReasonQueueFull)
		assert.Equal(t, []int64{40, 50, 1, 1}, counts())
		_, err = l.TryAcquire(1)
		refusedWith(t, err, ReasonOwnLimit)
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
	eachKind(t, 1, Queue{Limit: 1}, func(t *testing.T, l Limiter) {
		take(t, l, 1)
		acquired := acquiring(t.Context(), l, 1)
		_, err := l.Acquire(t.Context(), 1)
		full := refusedWith(t, err, ReasonQueueFull)
		assert.Equal(t, ReasonOwnLimit, full.Cause)
		assert.Contains(t, err.Error(), "quota: not admitted: queue full")
		assert.False(t, full.Timeout())
		assert.True(t, acquired.waiting())
		l.Close()
	})
}

func TestEveryReasonHasWords(t *testing.T) {
	seen := map[string]bool{}
	for r := ReasonExhausted; r <= ReasonClosed; r++ {
		assert.NotEqual(t, "unknown reason", r.String())
		assert.False(t, seen[r.String()])
		seen[r.String()] = true
	}
	assert.Equal(t, "unknown reason", (ReasonClosed + 1).String())
}

// .NET: InvalidOptionsThrows.
func TestInvalidOptionsAreErrorsThatNameThem(t *testing.T) {
	badQueue := Queue{Order: 7}
	for _, c := range []struct {
		names string
		make  func() (Limiter, error)
	}{
		{"FixedWindowOptions.Permits", func() (Limiter, error) { return NewFixedWindow(FixedWindowOptions{0, 1, Queue{}}) }},
		{"FixedWindowOptions.Window", func() (Limiter, error) { return NewFixedWindow(FixedWindowOptions{1, 0, Queue{}}) }},
		{"FixedWindowOptions.Queue.Order", func() (Limiter, error) { return NewFixedWindow(FixedWindowOptions{1, 1, badQueue}) }},
		{"SlidingWindowOptions.Permits", func() (Limiter, error) { return NewSlidingWindow(SlidingWindowOptions{-1, 10, 1, Queue{}}) }},
		{"SlidingWindowOptions.Window", func() (Limiter, error) { return NewSlidingWindow(SlidingWindowOptions{1, -1, 1, Queue{}}) }},
		{"SlidingWindowOptions.Segments", func() (Limiter, error) { return NewSlidingWindow(SlidingWindowOptions{1, 10, 0, Queue{}}) }},
		{"SlidingWindowOptions.Segments", func() (Limiter, error) { return NewSlidingWindow(SlidingWindowOptions{1, 10, 11, Queue{}}) }},
		{"SlidingWindowOptions.Segments", func() (Limiter, error) {
			return NewSlidingWindow(SlidingWindowOptions{1, time.Hour, maxSegments + 1, Queue{}})
		}},
		{"SlidingWindowOptions.Queue.Order", func() (Limiter, error) { return NewSlidingWindow(SlidingWindowOptions{1, 10, 1, badQueue}) }},
		{"TokenBucketOptions.Permits", func() (Limiter, error) { return NewTokenBucket(TokenBucketOptions{0, 1, 1, Queue{}}) }},
		{"TokenBucketOptions.PerPeriod", func() (Limiter, error) { return NewTokenBucket(TokenBucketOptions{1, 0, 1, Queue{}}) }},
		{"TokenBucketOptions.Period", func() (Limiter, error) { return NewTokenBucket(TokenBucketOptions{1, 1, 0, Queue{}}) }},
		{"TokenBucketOptions.Queue.Order", func() (Limiter, error) { return NewTokenBucket(TokenBucketOptions{1, 1, 1, badQueue}) }},
		{"ConcurrencyOptions.Permits", func() (Limiter, error) { return NewConcurrency(ConcurrencyOptions{0, Queue{}}) }},
		{"ConcurrencyOptions.Queue.Order", func() (Limiter, error) { return NewConcurrency(ConcurrencyOptions{1, badQueue}) }},
		{"CustomOptions.Answer", func() (Limiter, error) { return NewCustom(CustomOptions{}) }},
		{"CustomOptions.Queue.Order", func() (Limiter, error) {
			return NewCustom(CustomOptions{Answer: func(int64) Answer { return Answer{} }, Queue: badQueue})
		}},
	} {
		_, err := c.make()
		assert.ErrorContains(t, err, c.names)
	}
	_, err := NewTokenBucket(TokenBucketOptions{})
	assert.ErrorContains(t, err, "Permits")
	assert.ErrorContains(t, err, "Period", "all that is wrong is said at once")
}

func TestRateIsMetAtTheSameDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rate.NewLimiter(1, 2)
		l := NewRate(lim)
		take(t, l, 2)
		assert.Zero(t, l.Stats().Available)
		_, err := l.TryAcquire(1)
		assert.Equal(t, time.Second+1, refusedWith(t, err, ReasonOwnLimit).RetryAfter)
		_, err = l.TryAcquire(3)
		assert.ErrorIs(t, err, ErrPermits)
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
		lim.SetBurst(1) // now it can never have them
		time.Sleep(time.Minute)
		assert.False(t, r.waiting())
		refusedWith(t, r.err, ReasonOwnLimit)

		free := NewRate(rate.NewLimiter(rate.Inf, 0))
		take(t, free, math.MaxInt32)
		assert.EqualValues(t, math.MaxInt32, free.Stats().Available)
		_, err = NewRate(rate.NewLimiter(0, 0)).TryAcquire(1)
		assert.ErrorIs(t, err, ErrPermits)
		stopped := NewRate(rate.NewLimiter(0, 1))
		take(t, stopped, 1)
		_, err = stopped.TryAcquire(1)
		assert.Equal(t, time.Minute, refusedWith(t, err, ReasonOwnLimit).RetryAfter)
	})
}

func TestFastPathAllocatesNothing(t *testing.T) {
	c, err := NewConcurrency(ConcurrencyOptions{Permits: 2})
	require.NoError(t, err)
	w, err := NewFixedWindow(FixedWindowOptions{Permits: 1 << 40, Window: time.Hour})
	require.NoError(t, err)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		a, _ := c.TryAcquire(1)
		b, _ := w.TryAcquire(1)
		b.Release()
		a.Release()
	}))
	var l Limiter = c
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		lease, _ := l.TryAcquire(1)
		lease.Release()
	}), 1.0)
	take(t, c, 2)
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		_, _ = c.TryAcquire(1)
	}), 1.0, "a refusal is one allocation")
}
