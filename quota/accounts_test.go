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
// is dropped, and who holds it notices.
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

// A pseudonym stands for all of its parts, and for their borders.
func TestPseudonym(t *testing.T) {
	var a, b Accounts
	assert.Equal(t, a.Pseudonym("x", "y"), a.Pseudonym("x", "y"))
	seen := make(map[uint64][]string)
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"x", "y"}, {"xy"}, {"xy", ""}, {"", "xy"}, {"y", "x"}} {
		n := a.Pseudonym(parts...)
		assert.NotContains(t, seen, n, "%q and %q", parts, seen[n])
		seen[n] = parts
	}
	assert.NotEqual(t, a.Pseudonym("x"), b.Pseudonym("x"), "the key is of these accounts")
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
