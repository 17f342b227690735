package quota

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

// Limiters for tests of what is behind them: lines, claims and accounts.

// period is the window of a FixedWindow.
const period = 10 * time.Second

func concurrencyOf(t *testing.T, permits int64) *Concurrency {
	t.Helper()
	l, err := NewConcurrency(ConcurrencyOptions{Permits: permits})
	require.NoError(t, err)
	return l
}

func take(t *testing.T, l Limiter, n int64) *Lease {
	t.Helper()
	lease, err := l.TryAcquire(n)
	require.NoError(t, err)
	return lease
}

// acquiring starts an Acquire, and returns when it waits or has ended.
func acquiring(ctx context.Context, l Limiter, n int64) *acquisition {
	a := &acquisition{over: make(chan struct{})}
	go func() {
		_, _ = l.Acquire(ctx, n)
		close(a.over)
	}()
	synctest.Wait()
	return a
}

type acquisition struct{ over chan struct{} }

func (a *acquisition) waiting() bool {
	synctest.Wait()
	select {
	case <-a.over:
		return false
	default:
		return true
	}
}

func TestLimitersAreEndedInReverseOrder(t *testing.T) {
	a, b := concurrencyOf(t, 1), concurrencyOf(t, 1)
	for _, members := range [][]Limiter{{a, b}, {b, a}} {
		c, err := NewChain(members...)
		require.NoError(t, err)
		require.Equal(t, []gate{&c.limiterCore, members[0].gates()[0], members[1].gates()[0]}, c.all)
		lease := take(t, c, 1)
		var ended []gate
		lease.end(time.Now(), func(c claim, now time.Time) {
			ended = append(ended, c.gate)
			c.release(now)
		})
		assert.Equal(t, []gate{c.all[2], c.all[1], c.all[0]}, ended)
	}
}

// A rate.Limiter that is told an earlier instant would refill the time between a
// second time.
func TestRateMeterWhenTimeRunsBackwards(t *testing.T) {
	m := &rateMeter{limiter: rate.NewLimiter(1, 100), made: time.Now()}
	m.Take(10*time.Second, 10)
	m.Take(5*time.Second, 1)
	assert.EqualValues(t, 99, m.Available(20*time.Second))
	m.Cancel(5*time.Second, 1, 0)
	assert.EqualValues(t, 100, m.Available(20*time.Second))
	m.Take(20*time.Second, 50)
	assert.EqualValues(t, 50, m.Available(20*time.Second))
}

// A lease whose memory is used again, as a client's are, is of its scope, be that
// dropped meanwhile or not; and who comes again and again is not who is dropped.
func TestLeaseIsUsedAgain(t *testing.T) {
	a := &Accounts{MaxAccounts: sample}
	o := begun(a.Origin(""))
	var alice Lease
	now := o.start
	visit := func(scope string, l *Lease) {
		now = now.Add(time.Second)
		require.NoError(t, o.Admit(t.Context(), now, &Ask{Scope: scope}, l))
	}
	for i := range 3 * sample {
		var other Lease
		visit("alice", &alice)
		o.Settle(time.Time{}, &alice, &Report{})
		visit(fmt.Sprint(i), &other)
		o.Settle(time.Time{}, &other, &Report{})
		require.Contains(t, o.scopes, "alice", "the others were used less recently")
	}
	for i := range 3 * sample {
		visit(fmt.Sprint("stays", i), new(Lease))
	}
	require.NotContains(t, o.scopes, "alice")
	visit("alice", &alice)
	require.EqualValues(t, 1, o.scopes["alice"].out)
	require.Same(t, o.scopes["alice"], alice.scope)
}
