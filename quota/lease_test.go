package quota_test

import (
	"reflect"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

func TestEndingALeaseTwiceIsHarmless(t *testing.T) {
	eachKind(t, 4, quota.Options{}, func(t *testing.T, l quota.Limiter) {
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

// A copied lease would be ended twice. Go vet (copylocks) tells of copies of what has
// methods Lock and Unlock.
func TestVetTellsOfCopiedLeases(t *testing.T) {
	marker, locker := reflect.PointerTo(reflect.TypeFor[quota.Lease]().Field(0).Type), reflect.TypeFor[sync.Locker]()
	assert.True(t, marker.Implements(locker))
}

func TestNilAndZeroLeasesHoldNothing(t *testing.T) {
	var none *quota.Lease
	none.Release()
	none.Cancel()
	none.Settle(&quota.Report{})
	var zero quota.Lease
	zero.Release()
	zero.Cancel()
	zero.Settle(&quota.Report{})
	assert.Nil(t, zero.Retained())
	assert.Nil(t, none.Retained())
	assert.True(t, zero.Sent().IsZero())
}

func TestCancelReturnsEverythingAtOnce(t *testing.T) {
	eachKind(t, 3, quota.Options{}, func(t *testing.T, l quota.Limiter) {
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

func TestOnlyPermitsOfConcurrencyAreRetained(t *testing.T) {
	c := quota.Concurrency(1)
	w := quota.FixedWindow(1, period)
	assert.NotNil(t, take(t, c, 1).Retained())
	lease := take(t, w, 1)
	assert.Nil(t, lease.Retained())
	lease.Cancel()
	assert.EqualValues(t, 1, w.Stats().Available, "the lease is what it was")
}

// A lease that is never released keeps the limiter from becoming idle.
func TestUnreleasedLeaseShowsInTheStatistics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := quota.Concurrency(2)
		take(t, l, 1)
		comeBack()
		assert.EqualValues(t, 1, l.Stats().Available)
		assert.True(t, l.Stats().IdleSince.IsZero())
	})
}

func TestRetainedLeaseEndsWhereItIs(t *testing.T) {
	c := quota.Concurrency(1)
	lease := take(t, c, 1)
	moved := lease.Retained()
	lease.Release()
	assert.Zero(t, c.Stats().Available)
	moved.Release()
	assert.EqualValues(t, 1, c.Stats().Available)
}
