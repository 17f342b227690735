package quota

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A name has one origin.
func TestOriginOfName(t *testing.T) {
	var a Accounts
	assert.Same(t, a.Origin("one"), a.Origin("one"))
	assert.NotSame(t, a.Origin("one"), a.Origin("two"))
}

// Origins are bounded: the least recently used of those that nothing is out to
// is evicted, and who holds it notices.
func TestOriginsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := Accounts{MaxOrigins: 3}
		use := func(name string) (*Origin, *Lease) {
			o, l := a.Origin(name), new(Lease)
			require.NoError(t, o.Admit(t.Context(), time.Now(), &Ask{}, l))
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

		// What is charged to a dropped origin is lost, and does no harm.
		require.NoError(t, one.Admit(t.Context(), time.Now(), &Ask{}, l))
		one.Settle(time.Now(), l, &Report{Figures: figure("api", 0, mins)})
		assert.NotSame(t, one, a.Origin("one"))
		assert.Empty(t, a.Origin("one").Policies())
		out.Release()
	})
}

// Books that somebody waits in are not dropped.
func TestOriginInLineIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.o.accounts.MaxOrigins = 1
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		got := c.come(t.Context(), "", claimOf("api"))
		c.o.accounts.Origin("another")
		assert.False(t, c.o.Dropped())
		time.Sleep(mins)
		c.wg.Wait()
		assert.NoError(t, got.err)
	})
}

func TestBounds(t *testing.T) {
	assert.Equal(t, 7, bounded(0, 7))
	assert.Equal(t, 3, bounded(3, 7))
	assert.Equal(t, -1, bounded(-1, 7))
	synctest.Test(t, func(t *testing.T) {
		a := Accounts{MaxOrigins: -1}
		first := a.Origin("first")
		for i := range DefaultMaxOrigins + 10 {
			a.Origin(fmt.Sprint(i))
		}
		assert.False(t, first.Dropped(), "negative is no bound")
	})
}

// All origins together are bounded. Each has its share: others may fill up what
// is left, make room only among what is theirs, and never take from it.
func TestTotalIsBounded(t *testing.T) {
	const total, origins = 200, 10 // a share of 10, and 100 for whoever comes first
	a := &Accounts{MaxTotal: total, MaxOrigins: origins}
	var desks []*desk
	for i := range origins {
		desks = append(desks, &desk{t, begun(a.Origin(fmt.Sprint(i)))})
	}
	inAll := func() (n int) {
		for _, d := range desks {
			n += len(d.o.all)
			d.consistent()
		}
		return n
	}
	key := 0
	flood := func(d *desk, n int) {
		for range n {
			key++
			now := time.Duration(key) * ms
			d.exchange(now, "", Report{Figures: keyedFigure("api", fmt.Sprint(key), 0, time.Hour)})
		}
	}
	victim := desks[1]
	flood(victim, 9)
	flood(desks[0], 1_000)
	assert.Len(t, desks[0].o.all, 10+total/2, "one alone has its share and all that is not shared out")
	for i := 1; i <= 9; i++ {
		assert.NotNil(t, victim.o.find(accountID{policyID{"api", true}, fmt.Sprint(i)}))
	}
	for _, d := range desks[1:] {
		flood(d, 50)
		assert.Len(t, d.o.all, 10, "its share")
	}
	assert.Len(t, desks[0].o.all, 10+total/2, "nobody takes them away")
	assert.Equal(t, total, inAll())

	// What is over, or of an origin that was evicted, is free for others.
	later := time.Hour + ProbeInterval + time.Minute
	desks[0].tick(later)
	require.Empty(t, desks[0].o.all)
	flood(desks[2], 30)
	assert.Len(t, desks[2].o.all, 40)
	require.True(t, desks[2].o.retire())
	flood(desks[2], 100)
	flood(desks[3], 200)
	assert.Len(t, desks[3].o.all, 10+total/2)
	require.True(t, desks[3].o.retire())
	assert.Zero(t, a.beyond.Load())
	assert.False(t, func() bool { desks[4].send(mins, ""); return desks[4].o.retire() }(), "it is in use")
}

// The share is equal, and what nobody bounds is not bounded.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		accounts *Accounts
		share    int
	}{
		{&Accounts{}, 50},
		{&Accounts{MaxTotal: 100, MaxOrigins: 5}, 10},
		{&Accounts{MaxTotal: 100_000, MaxOrigins: -1}, 5},
		{&Accounts{MaxTotal: -1}, 0},
	} {
		assert.Equal(t, tt.share, tt.accounts.share())
	}
	a := &Accounts{MaxTotal: -1, MaxAccounts: -1}
	a.beyond.Store(math.MaxInt64)
	assert.False(t, a.full(math.MaxInt))
	a = &Accounts{}
	assert.False(t, a.full(DefaultMaxAccounts-1))
	assert.True(t, a.full(DefaultMaxAccounts))
	a.beyond.Store(DefaultMaxTotal / 2)
	assert.True(t, a.full(50))
	assert.False(t, a.full(49))
}

// A server that makes up keys takes up no memory beyond the bound, for good.
func TestFloodOfKeysTakesNoMemory(t *testing.T) {
	d := boundedDesk(t, 1_000)
	flood := func(from, n int) {
		for i := from; i < from+n; i++ {
			now := time.Duration(i) * ms
			d.exchange(now, "", Report{Figures: keyedFigure("api", fmt.Sprintf("%016x", i*7919), 0, 24*time.Hour)})
		}
	}
	flood(0, 5_000)
	before := inUse()
	flood(5_000, 100_000)
	after := inUse()
	assert.Less(t, after.heap-before.heap, 200e3, "bytes; the accounts themselves are 300e3")
	assert.Len(t, d.o.all, 1_000)
	d.consistent()
}

// The source of jitter is asked once for each refusal, with no lock held, and
// for nothing else.
func TestJitterIsAskedWithNoLockHeld(t *testing.T) {
	var a Accounts
	n := 0
	a.Jitter = func() float64 {
		n++
		a.Origin("https://api.example").Policies()
		_, quiet := a.Origin("https://api.example").quiet()
		assert.False(t, quiet, "it is out")
		return 0.5
	}
	o := a.Origin("https://api.example")
	var l Lease
	now := time.Now()
	require.NoError(t, o.Admit(t.Context(), now, &Ask{}, &l))
	o.Settle(now, &l, &Report{})
	assert.Zero(t, n, "served")
	l = Lease{}
	require.NoError(t, o.Admit(t.Context(), now, &Ask{}, &l))
	o.Settle(now, &l, &Report{Refused: true})
	assert.Equal(t, 1, n)
	r, _ := o.Check(t.Context(), now, &Ask{})
	require.NotNil(t, r)
	assert.Equal(t, 1125*ms, r.RetryAfter)
}

// Jitter is in [0, 1).
func TestRandomIsJitter(t *testing.T) {
	var a Accounts
	low, high := math.Inf(1), math.Inf(-1)
	for range 1_000 {
		j := a.random()
		low, high = min(low, j), max(high, j)
	}
	assert.GreaterOrEqual(t, low, 0.0)
	assert.Less(t, high, 1.0)
	assert.Greater(t, high-low, 0.5)
}
