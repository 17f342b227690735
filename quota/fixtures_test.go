package quota_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// period is the time after which all permits of a limiter of kinds are available
// again.
const period = 10 * time.Second

// kinds are the limiters that every rule of Limiter is tested with.
var kinds = []struct {
	name string
	make func(permits int64, q quota.Options) (quota.Limiter, error)
}{
	{"fixed window", func(n int64, q quota.Options) (quota.Limiter, error) {
		return quota.FixedWindow(n, period, q), nil
	}},
	{"sliding window", func(n int64, q quota.Options) (quota.Limiter, error) {
		return quota.SlidingWindow(n, period, 5, q), nil
	}},
	{"token bucket", func(n int64, q quota.Options) (quota.Limiter, error) {
		return quota.TokenBucket(n, n, period, q), nil
	}},
	{"concurrency", func(n int64, q quota.Options) (quota.Limiter, error) {
		return quota.Concurrency(n, q), nil
	}},
	{"chain of one", func(n int64, q quota.Options) (quota.Limiter, error) {
		l := quota.Concurrency(n, q)
		return quota.Chain(l), nil
	}},
	{"chain of two", func(n int64, q quota.Options) (quota.Limiter, error) {
		l := quota.FixedWindow(n, period, q)
		wide := quota.Concurrency(math.MaxInt64)
		return quota.Chain(wide, l), nil
	}},
}

// eachKind runs a test in a bubble for each of kinds.
func eachKind(t *testing.T, permits int64, q quota.Options, test func(t *testing.T, l quota.Limiter)) {
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

// comeBack makes all permits of the leases available again, by release or by
// time.
func comeBack(leases ...*quota.Lease) {
	for _, l := range leases {
		l.Release()
	}
	time.Sleep(period)
	synctest.Wait()
}

func take(t *testing.T, l quota.Limiter, n int64) *quota.Lease {
	t.Helper()
	lease, err := l.TryAcquire(n)
	require.NoError(t, err)
	require.NotNil(t, lease)
	return lease
}

// refusedWith asserts that err is a *Refusal with that reason, and returns it.
func refusedWith(t *testing.T, err error, why quota.Reason) *quota.Refusal {
	t.Helper()
	var r *quota.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, why.String(), r.Reason.String())
	return r
}

// A result is the result of an Acquire, as of the last look.
type result struct {
	lease *quota.Lease
	err   error
	at    time.Time // when it returned; zero: it waits

	over chan result // receives once
}

// acquireSoon starts an Acquire.
func acquireSoon(ctx context.Context, l quota.Limiter, n int64) *result {
	r := &result{over: make(chan result, 1)}
	go func() {
		lease, err := l.Acquire(ctx, n)
		r.over <- result{lease: lease, err: err, at: time.Now()}
	}()
	return r
}

// acquiring starts an Acquire, and returns when it waits or has returned.
func acquiring(ctx context.Context, l quota.Limiter, n int64) *result {
	r := acquireSoon(ctx, l, n)
	r.look()
	return r
}

// look waits until all goroutines wait, and updates the result.
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

// grantedOf returns the indexes of the results that were granted.
func grantedOf(rs ...*result) (which []int) {
	for i, r := range rs {
		if r.granted() {
			which = append(which, i)
		}
	}
	return which
}

func concurrencyOf(t *testing.T, permits int64) *quota.Limit {
	t.Helper()
	l := quota.Concurrency(permits)
	return l
}

func windowOf(t *testing.T, permits int64) *quota.Limit {
	t.Helper()
	l := quota.FixedWindow(permits, period)
	return l
}

func chainOf(t *testing.T, ls ...quota.Limiter) quota.Limiter {
	t.Helper()
	c := quota.Chain(ls...)
	return c
}

// customOf returns a Custom limiter that returns the stored answer, and counts
// how often it is asked.
func customOf(t *testing.T, q quota.Options) (l quota.Limiter, answer *atomic.Pointer[quota.Answer], asked *atomic.Int64) {
	t.Helper()
	answer, asked = new(atomic.Pointer[quota.Answer]), new(atomic.Int64)
	answer.Store(&quota.Answer{OK: true})
	l = quota.Custom(quota.CustomFuncs{Take: func(context.Context, int64) quota.Answer {
		asked.Add(1)
		return *answer.Load()
	}}, q)
	return l, answer, asked
}

// perKey returns a function for NewKeyed that makes limiters of one permit, and
// counts them.
func perKey(made *atomic.Int64) func(string) quota.Limiter {
	return func(string) quota.Limiter {
		made.Add(1)
		return quota.Concurrency(1)
	}
}

// of returns the limiter of a key.
func of[K comparable](t *testing.T, k *quota.Keyed[K], key K) quota.Limiter {
	t.Helper()
	l, err := k.Limiter(key)
	require.NoError(t, err)
	require.NotNil(t, l)
	return l
}

// left is a server's report that n units of "api" are left for the next w.
func left(n int64, w time.Duration) *quota.Report {
	return &quota.Report{Figures: []quota.Figure{{Policy: "api", Available: n, Window: w}}}
}

// apiLimiter returns the quota "api" of an origin that has said nothing yet.
func apiLimiter(ask quota.Ask) quota.Limiter {
	var accounts quota.Accounts
	ask.Claims = []quota.Claim{{Policy: "api", Units: 1}}
	return accounts.Origin("https://api.example").Limiter(ask)
}

// bucketOf returns a bucket of one permit, which comes back after period.
func bucketOf(t testing.TB, period time.Duration) quota.Limiter {
	l := quota.TokenBucket(1, 1, period)
	return l
}

// waitFor acquires one permit.
func waitFor(t testing.TB, l quota.Limiter) *quota.Lease {
	lease, err := l.Acquire(t.Context(), 1)
	require.NoError(t, err)
	return lease
}
