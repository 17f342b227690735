package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota/internal/wait"
)

// Limiters for tests of what is behind them: lines, claims and accounts.

func concurrencyOf(t *testing.T, permits int64) *Limit {
	t.Helper()
	return Concurrency(permits)
}

func take(t *testing.T, l Limiter, n int64) *Lease {
	t.Helper()
	lease, err := l.TryAcquire(n)
	require.NoError(t, err)
	return lease
}

func TestLimitersAreEndedInReverseOrder(t *testing.T) {
	for _, end := range []func(*Lease){(*Lease).Release, (*Lease).Cancel} {
		var ended []string
		named := func(name string) Limiter {
			add := func(int64) { ended = append(ended, name) }
			return Custom(CustomFuncs{Release: add, Undo: add})
		}
		a, b := named("a"), named("b")
		end(take(t, Chain(a, b), 1))
		end(take(t, Chain(b, a), 1))
		assert.Equal(t, []string{"b", "a", "a", "b"}, ended)
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

// A window of our own count that has not begun lets one request depart while those of
// the last one count. There is more once these have landed: that is worth a look.
func TestLookAgainOnceTheLastWindowHasLanded(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Terms: []Policy{{Name: "api", Quota: 2, Window: time.Second}}}, api(1))
	d.send(0, "", api(1))
	c := api(2)
	a := d.o.known(c.id(""))
	require.NotNil(t, a)
	const closed = time.Second // and its guard
	var landed time.Duration
	for _, now := range []time.Duration{closed + time.Millisecond, closed + 2*time.Millisecond} {
		got := a.Look(d.at(now), 2)
		landed = got.Recheck.Sub(d.at(0))
		assert.Equal(t, wait.Decision{OK: true, Last: true, Reason: got.Reason, Recheck: d.at(closed + 11*time.Millisecond)}, got, now)
	}
	got := a.Look(d.at(landed-1), 2)
	assert.True(t, got.Last)
	got = a.Look(d.at(landed), 2)
	assert.Equal(t, wait.Decision{OK: true, Reason: got.Reason}, got)
}

// While others use the quota, one request departs although its part of what is left is
// less. At the end of the window there is enough: that is worth a look, too.
func TestLookAgainAtTheEndOfTheWindow(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Figures: figure("api", 4, 10*time.Second)}, api(1))
	c := api(1)
	a := d.o.known(c.id(""))
	require.NotNil(t, a)
	a.Contend(d.o.at(d.at(0)), 8)
	end := a.End()
	got := a.Look(d.at(9*time.Second), 2)
	assert.Equal(t, wait.Decision{OK: true, Last: true, Reason: got.Reason, Recheck: d.o.when(end)}, got)
	got = a.Look(d.o.when(end), 2)
	assert.Zero(t, got.Recheck, "it is over")
}

// However many sleep, one may be in flight.
func TestOneIsAwake(t *testing.T) {
	s := asleep{flight: 3, until: []instant{10, 20, 30, 40}}
	assert.Equal(t, instant(5), s.ready(5, 0))
	assert.Equal(t, instant(10), s.ready(5, 1))
	assert.Equal(t, instant(20), s.ready(10, 1))
}

// A lease that is used again is for work of another kind.
func TestLeaseForgetsItsKind(t *testing.T) {
	l := &Lease{ofOrigin: &ofOrigin{name: "a/", named: true}}
	l.unname(new(Ask))
	assert.Empty(t, l.name)
	assert.False(t, l.named)
}
