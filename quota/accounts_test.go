package quota_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A name has one origin.
func TestOriginOfName(t *testing.T) {
	var a quota.Accounts
	assert.Same(t, a.Origin("one"), a.Origin("one"))
	assert.NotSame(t, a.Origin("one"), a.Origin("two"))
}

// Origins are bounded: the least recently used of those that nothing is out to is
// dropped, and says so.
func TestOriginsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := quota.Accounts{MaxOrigins: 3}
		use := func(name string) (*quota.Origin, *quota.Lease) {
			o, l := a.Origin(name), new(quota.Lease)
			require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, l))
			time.Sleep(sec)
			return o, l
		}
		busy, out := use("busy")
		one, l := use("one")
		l.Release()
		two, l := use("two")
		l.Release()
		_, l = use("one")
		l.Release()
		use("three")
		assert.True(t, two.Dropped(), "used less recently than one")
		assert.False(t, one.Dropped())
		assert.False(t, busy.Dropped(), "a request is out to it")
		use("four")
		assert.True(t, one.Dropped())
		assert.False(t, busy.Dropped())

		// What is charged to a dropped origin is lost.
		require.NoError(t, one.Admit(t.Context(), time.Now(), &quota.Ask{}, l))
		one.Settle(time.Now(), l, &quota.Report{Figures: figure("api", 0, mins)})
		assert.NotSame(t, one, a.Origin("one"))
		assert.Empty(t, a.Origin("one").Policies())
		out.Release()
	})
}

// An origin with a Retry-After in force is not dropped as long as there are others, however long it was not used: its
// Retry-After would be forgotten.
func TestPausedOriginIsDroppedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &quota.Accounts{MaxOrigins: 3}
		use := func(name string, pause time.Duration) *quota.Origin {
			o, l := a.Origin(name), new(quota.Lease)
			require.NoError(t, o.Admit(t.Context(), time.Now(), &quota.Ask{}, l))
			o.Settle(time.Now(), l, &quota.Report{Pause: pause, Refused: pause > 0})
			l.Release()
			time.Sleep(sec)
			return o
		}
		long, short := use("long", time.Hour), use("short", 5*sec)
		for _, name := range []string{"one", "two", "three"} {
			use(name, 0)
			assert.False(t, long.Dropped(), name)
			assert.False(t, short.Dropped(), name)
		}
		time.Sleep(sec)
		use("four", 0)
		assert.True(t, short.Dropped(), "its Retry-After is over")
		assert.False(t, long.Dropped())

		var saved bytes.Buffer
		require.NoError(t, a.Save(&saved, time.Now(), false))
		a = &quota.Accounts{MaxOrigins: 3}
		require.NoError(t, a.Restore(&saved, time.Now()))
		for _, name := range []string{"four", "five", "six"} {
			use(name, 0)
		}
		var l quota.Lease
		assert.Error(t, a.Origin("long").Admit(t.Context(), time.Now(), &quota.Ask{MaxDelay: sec}, &l), "it was restored")
	})
}

// An origin that a request waits for is not dropped.
func TestOriginInLineIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counterOf(t, &quota.Accounts{Jitter: noJitter, MaxOrigins: 1})
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		got := c.come(t.Context(), "", claimOf("api"))
		c.accounts.Origin("another")
		assert.False(t, c.o.Dropped())
		time.Sleep(mins)
		c.wg.Wait()
		assert.NoError(t, got.err)
	})
}

// A negative MaxOrigins is no bound.
func TestOriginsAreNotBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := quota.Accounts{MaxOrigins: -1}
		first := a.Origin("first")
		for i := range quota.DefaultMaxOrigins + 10 {
			a.Origin(fmt.Sprint(i))
		}
		assert.False(t, first.Dropped())
	})
}

// All origins together are bounded. Each has a share that no other origin takes. The
// rest goes to the origins that need it first, and stays with them.
func TestTotalIsBounded(t *testing.T) {
	const total, origins = 200, 10 // shares of 10, and 100 for the first that need them
	a := &quota.Accounts{MaxTotal: total, MaxOrigins: origins}
	var desks []*desk
	for i := range origins {
		desks = append(desks, deskOf(t, a, fmt.Sprint(i)))
	}
	inAll := func() (n int) {
		for _, d := range desks {
			n += d.count()
			d.o.RequireConsistent(t)
		}
		return n
	}
	key := 0
	flood := func(d *desk, n int) {
		for range n {
			key++
			now := time.Duration(key) * ms
			d.exchange(now, "", quota.Report{Figures: keyedFigure("api", fmt.Sprint(key), 0, time.Hour)})
		}
	}
	victim := desks[1]
	flood(victim, 9)
	flood(desks[0], 1_000)
	assert.Equal(t, 10+total/2, desks[0].count(), "its share, and all that is not shared out")
	for i := 1; i <= 9; i++ {
		assert.NotNil(t, victim.account("", keyed("api", fmt.Sprint(i))))
	}
	for _, d := range desks[1:] {
		flood(d, 50)
		assert.Equal(t, 10, d.count(), "its share")
	}
	assert.Equal(t, 10+total/2, desks[0].count(), "no other origin takes them")
	assert.Equal(t, total, inAll())

	// What is over, or was of a dropped origin, is free for others.
	later := time.Hour + quota.ProbeInterval + time.Minute
	desks[0].tick(later)
	require.Zero(t, desks[0].count())
	flood(desks[2], 30)
	assert.Equal(t, 40, desks[2].count())
	require.True(t, desks[2].o.Retire())
	flood(desks[2], 100)
	flood(desks[3], 200)
	assert.Equal(t, 10+total/2, desks[3].count())
	require.True(t, desks[3].o.Retire())
	assert.Zero(t, a.BeyondShares())
	desks[4].send(mins, "")
	assert.False(t, desks[4].o.Retire(), "it is in use")
}

// A server that makes up keys takes no memory beyond the bound.
func TestFloodOfKeysTakesNoMemory(t *testing.T) {
	d := boundedDesk(t, 1_000)
	flood := func(from, n int) {
		for i := from; i < from+n; i++ {
			now := time.Duration(i) * ms
			d.exchange(now, "", quota.Report{Figures: keyedFigure("api", fmt.Sprintf("%016x", i*7919), 0, 24*time.Hour)})
		}
	}
	flood(0, 5_000)
	before := quota.HeapInUse()
	flood(5_000, 100_000)
	after := quota.HeapInUse()
	assert.Less(t, after-before, 200e3, "bytes; the accounts themselves are 300e3")
	assert.Equal(t, 1_000, d.count())
	d.o.RequireConsistent(t)
}

// Jitter is called once for each refusal, with no lock held, and for nothing else.
func TestJitterIsCalledWithNoLockHeld(t *testing.T) {
	var a quota.Accounts
	n := 0
	a.Jitter = func() float64 {
		n++
		a.Origin("https://api.example").Policies()
		assert.EqualValues(t, 1, a.Snapshot(time.Now(), quota.SnapshotOptions{})[0].Out)
		return 0.5
	}
	o := a.Origin("https://api.example")
	var l quota.Lease
	now := time.Now()
	require.NoError(t, o.Admit(t.Context(), now, &quota.Ask{}, &l))
	o.Settle(now, &l, &quota.Report{})
	assert.Zero(t, n, "served")
	l = quota.Lease{}
	require.NoError(t, o.Admit(t.Context(), now, &quota.Ask{}, &l))
	o.Settle(now, &l, &quota.Report{Refused: true})
	assert.Equal(t, 1, n)
	r, _ := o.Check(t.Context(), now, &quota.Ask{})
	require.NotNil(t, r)
	assert.Equal(t, 1125*ms, r.RetryAfter)
}

// A nil *Limit is no limit, as in a table that has none for some hosts.
func TestAskWithNilLimit(t *testing.T) {
	var limits map[string]*quota.Limit
	ask, l := &quota.Ask{Limiter: limits["other"]}, new(quota.Lease)
	o := new(quota.Accounts).Origin("one")
	refusal, _ := o.Check(t.Context(), time.Now(), ask)
	assert.Nil(t, refusal)
	require.NoError(t, o.Admit(t.Context(), time.Now(), ask, l))
	l.Release()
	assert.NotNil(t, o.Limiter(*ask))
}
