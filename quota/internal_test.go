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

	"github.com/headway-go/headway/quota/internal/wait"
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

func chainOf(t *testing.T, ls ...Limiter) *Chain {
	t.Helper()
	c, err := NewChain(ls...)
	require.NoError(t, err)
	return c
}

func refusedWith(t *testing.T, err error, why Reason) {
	t.Helper()
	var r *Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, why.String(), r.Reason.String())
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
		require.Equal(t, []wait.Constraint{c.self[0], members[0].constraints()[0], members[1].constraints()[0]}, c.all)
		lease := take(t, c, 1)
		var ended []wait.Constraint
		lease.end(time.Now(), func(c wait.Claim, now time.Time) {
			ended = append(ended, c.Constraint)
			c.Release(now)
		})
		assert.Equal(t, []wait.Constraint{c.all[2], c.all[1], c.all[0]}, ended)
	}
}

// A rate.Limiter that is told an earlier instant would add the tokens of the time
// between once more.
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

// A lease whose memory is used again belongs to its scope, also if that was evicted
// meanwhile. A scope that is used again and again is not evicted.
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

func TestClaimsKeepTheirMemory(t *testing.T) {
	g := concurrencyOf(t, 1).self[0]
	var cs claims
	for range 20 {
		cs.add(g, 1)
	}
	assert.Len(t, cs.all(), 20)
	cs.truncate(3)
	assert.Len(t, cs.all(), 3)
	cs.truncate(1)
	assert.Equal(t, []wait.Claim{{Constraint: g, Units: 1}}, cs.all())
	cs.reset()
	assert.Empty(t, cs.all())
	before := cap(cs.list)
	cs.add(g, 2)
	assert.Equal(t, []wait.Claim{{Constraint: g, Units: 2}}, cs.all())
	assert.Equal(t, before, cap(cs.list))
	for _, c := range cs.list[1:cap(cs.list)] {
		assert.Nil(t, c.Constraint, "nothing is kept alive")
	}
}

func TestAccountsOfAnOriginShareAMutex(t *testing.T) {
	o := new(Accounts).Origin("a")
	var cs claims
	cs.addAll([]wait.Constraint{&o.root, &o.scope(0, "").base, concurrencyOf(t, 1).self[0]}, 1)
	wait.Lock(cs.all()) // takes it once
	assert.False(t, o.mu.TryLock())
	wait.Unlock(cs.all())
	assert.True(t, o.mu.TryLock())
}
