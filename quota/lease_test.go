package quota

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEndingALeaseTwiceIsHarmless(t *testing.T) {
	eachKind(t, 4, Queue{}, func(t *testing.T, l Limiter) {
		others := take(t, l, 2)
		lease := take(t, l, 1)
		lease.Cancel()
		lease.Cancel()
		lease.Release()
		assert.EqualValues(t, 2, l.Stats().Available)
		lease = take(t, l, 1)
		lease.Release()
		before := l.Stats().Available
		lease.Cancel()
		lease.Release()
		assert.Equal(t, before, l.Stats().Available)
		others.Cancel()
	})
}

func TestNilAndZeroLeasesHoldNothing(t *testing.T) {
	var none *Lease
	none.Release()
	none.Cancel()
	none.Settle(&Report{})
	var zero Lease
	zero.Release()
	zero.Cancel()
	zero.Settle(&Report{})
	assert.False(t, zero.Held())
	assert.True(t, zero.Sent().IsZero())
}

func TestCancelGivesEverythingBackAtOnce(t *testing.T) {
	eachKind(t, 3, Queue{}, func(t *testing.T, l Limiter) {
		lease := take(t, l, 3)
		r := acquiring(t.Context(), l, 2)
		assert.True(t, r.waiting())
		lease.Cancel()
		assert.True(t, r.granted())
		assert.EqualValues(t, 1, l.Stats().Available)
		r.lease.Cancel()
		assert.False(t, l.Stats().IdleSince.IsZero())
	})
}

func TestHeldSaysWhatReleaseReturns(t *testing.T) {
	c, err := NewConcurrency(ConcurrencyOptions{Permits: 1})
	require.NoError(t, err)
	w, err := NewFixedWindow(FixedWindowOptions{Permits: 1, Window: period})
	require.NoError(t, err)
	assert.True(t, take(t, c, 1).Held())
	assert.False(t, take(t, w, 1).Held())
}

// What a forgotten lease looks like: the limiter is never idle again.
func TestForgottenLeaseShowsInTheStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := NewConcurrency(ConcurrencyOptions{Permits: 2})
		require.NoError(t, err)
		take(t, l, 1)
		comeBack()
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.True(t, l.Stats().IdleSince.IsZero())
	})
}

func TestMovedLeaseEndsWhereItIs(t *testing.T) {
	c, err := NewConcurrency(ConcurrencyOptions{Permits: 1})
	require.NoError(t, err)
	lease := take(t, c, 1)
	moved := lease.Move()
	lease.Release()
	assert.Zero(t, c.Stats().Available)
	moved.Release()
	assert.EqualValues(t, 1, c.Stats().Available)
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
