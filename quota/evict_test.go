package quota_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// While the origin is in use, accounts that are over are evicted: after ProbeInterval,
// or four windows where that is longer.
func TestAccountsThatAreOverAreEvicted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		report quota.Report
		over   time.Duration
	}{
		{"a short window", quota.Report{Figures: figure("api", 5, mins)}, mins + quota.ProbeInterval},
		{"a figure without a window", quota.Report{Figures: figure("api", 5, quota.None)}, quota.ProbeInterval},
		{"a policy with a long window", quota.Report{Figures: figure("api", 5, 50*mins), Terms: terms("api", 9, time.Hour)}, 50*mins + 4*time.Hour},
		{"our own count, begun", quota.Report{Terms: terms("api", 9, mins)}, mins + quota.ProbeInterval},
		{"a hold", quota.Report{Figures: figure("api", 5, mins), Pause: 2 * time.Hour}, 2*time.Hour + quota.ProbeInterval},
		{"a back-off", quota.Report{Figures: figure("api", 5, quota.None), Refused: true}, sec + quota.ProbeInterval},
		{"a window without end", quota.Report{Figures: figure("api", 5, 1<<62), Terms: terms("api", 9, 1<<62)}, 1 << 62},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.exchange(0, "", tt.report)
			d.tick(tt.over - 5*ms) // which takes 3 ms
			assert.True(t, d.has("api"))
			if tt.over < 1<<62 {
				d.tick(tt.over + 200*ms) // the guard of a window
				assert.Zero(t, d.count())
			}
			d.o.RequireConsistent(t)
		})
	}
}

// Accounts that requests are out or in line for are not evicted, however old they are,
// nor is the scope of a request that is out.
func TestAccountsInUseAreNotEvicted(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: figure("line", 5, mins)})
	d.exchange(0, "", quota.Report{Terms: concurrentTerms("body", 5)})
	free := quota.Claim{Policy: "", Units: 0}
	out := d.send(0, "", free)
	body := d.send(0, "alice", quota.Claim{Policy: "body", Units: 1})
	d.settle(0, body, quota.Report{})
	d.o.Pin("", quota.Claim{Policy: "line"}, 1)
	d.tick(100 * time.Hour)
	assert.Equal(t, []string{""}, d.scopes(), "not that of alice")
	assert.True(t, d.has("line"))
	assert.NotNil(t, d.account("alice", quota.Claim{Policy: "body"}))
	assert.False(t, d.has("body"), "of another scope")

	d.o.Pin("", quota.Claim{Policy: "line"}, -1)
	out.Release()
	body.Release()
	d.tick(300 * time.Hour)
	assert.Zero(t, d.count())
	d.o.RequireConsistent(t)
}

// What an answer says is taken over although the account that the request was charged
// to has been evicted.
func TestAnswerAfterTheAccountWasEvicted(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: keyedFigure("api", "a", 5, sec)})
	long, also := d.send(sec/2, "", keyed("api", "a")), d.send(sec/2, "")
	for at := sec; at < mins; at += 20 * sec {
		d.wait(at, "", keyed("api", "a")) // it does not count in flight for ever
	}
	now := mins + quota.ProbeInterval + sec
	d.tick(now)
	require.Nil(t, d.account("", keyed("api", "a")))
	d.settle(now, long, quota.Report{Figures: keyedFigure("api", "a", 0, time.Hour)})
	d.refused(now, "", keyed("api", "a"))
	require.NotNil(t, d.account("", keyed("api", "a")))
	d.settle(now, also, quota.Report{})
	d.o.RequireConsistent(t)
}

// Nothing is in flight once nothing is out, even if a request was charged under more
// policies than are counted apart.
func TestNothingIsLeftInFlight(t *testing.T) {
	d := newDesk(t)
	var many []quota.Claim
	for i := range 2*quota.MaxPolicies + 1 {
		many = append(many, keyed(fmt.Sprint(i), "mine"))
	}
	l := d.send(0, "", many...)
	d.exchange(0, "", quota.Report{Figures: keyedFigure("0", "another", 5, quota.None)})
	another := keyed("0", "another")
	require.Equal(t, int64(1), d.known("", another).InFlight, "it is not known any more that there is none")
	d.settle(sec, l, quota.Report{})
	assert.Zero(t, d.known("", another).InFlight)
}

// A request that was charged to a partition and is over does not say which partition
// those are of that are still out, nor those of another scope.
func TestAttributionOfRequestsThatAreOut(t *testing.T) {
	d := newDesk(t)
	spare := func(key string) int64 {
		return d.known("", keyed("api", key)).Available
	}
	one, two, three := d.send(0, "", keyed("api", "alice")), d.send(0, ""), d.send(0, "")
	d.settle(ms, one, quota.Report{Figures: keyedFigure("api", "alice", 9, mins)})
	d.settle(2*ms, two, quota.Report{Figures: keyedFigure("api", "bob", 9, mins)})
	assert.Equal(t, int64(8), spare("bob"), "the third may be of bob")
	d.settle(3*ms, three, quota.Report{Figures: keyedFigure("api", "alice", 8, mins)})
	assert.Equal(t, int64(9), spare("bob"), "it was not")

	four, five := d.send(4*ms, "another"), d.send(4*ms, "another")
	d.settle(5*ms, four, quota.Report{Figures: keyedFigure("api", "carol", 9, mins)})
	assert.Equal(t, int64(8), spare("carol"))
	d.settle(5*ms, five, quota.Report{})
	assert.Empty(t, d.o.Leftovers())
	assert.Equal(t, []int{0}, d.o.FreeUnattributed(), "its memory is used again, and empty")
}

// Requests evict what is over, a few accounts at a time, and the memory is given back.
func TestUseSweeps(t *testing.T) {
	d := newDesk(t)
	const n = 1_000
	for i := range n {
		d.exchange(0, "", quota.Report{Figures: keyedFigure("api", fmt.Sprint(i), 5, mins)})
	}
	d.o.RequireConsistent(t)
	require.Equal(t, n+1, d.count())
	capacity := d.o.Capacity()
	now := time.Hour
	for range n {
		d.exchange(now, "", quota.Report{})
		d.exchange(now, "", quota.Report{}) // not at every turn
		now += quota.SweepInterval
	}
	d.o.RequireConsistent(t)
	assert.Equal(t, 1, d.count())
	assert.Less(t, d.o.Capacity(), capacity/8)
}

// At any bound, the accounts that an exchange concerns are not evicted by it.
func TestAccountsOfAnExchangeAreNotEvicted(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 9))
		d := boundedDesk(t, 1+r.IntN(4))
		for i := range 200 {
			now := time.Duration(i) * mins
			scope := fmt.Sprint(r.IntN(3))
			var cs []quota.Claim
			var fs []quota.Figure
			for p := range 1 + r.IntN(4) {
				cs = append(cs, keyed(fmt.Sprint(p), fmt.Sprint(r.IntN(3))))
				fs = append(fs, keyedFigure(fmt.Sprint(p), fmt.Sprint(r.IntN(3)), 100, sec)...)
			}
			l := d.send(now, scope, cs...)
			for _, c := range cs {
				require.NotNil(t, d.account(scope, c), "seed %d: %+v is out", seed, c)
			}
			d.settle(now, l, quota.Report{Figures: fs})
			for _, f := range fs {
				a := d.account("", keyed(f.Policy, f.Key))
				require.NotNil(t, a, "seed %d: %+v was reported just now", seed, f)
				require.Equal(t, int64(100), a.Available)
			}
			require.Contains(t, d.scopes(), scope)
			d.o.RequireConsistent(t)
		}
	}
}

// The limit of a kind that work waits for is not evicted: the work would not be told.
func TestLimitOfAKindInLineIsNotEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counterOf(t, &quota.Accounts{Jitter: noJitter, MaxAccounts: 2})
		kind := func(name string) quota.Ask { return quota.Ask{Kind: func() string { return name }} }
		refused := c.come(t.Context(), "x", kind("x"))
		paused := c.come(t.Context(), "z", kind("z"))
		c.settle(refused, quota.Report{Refused: true, Pause: time.Hour})
		c.settle(paused, quota.Report{Pause: 7 * sec})
		waits := c.come(t.Context(), "z", kind("z"))
		require.False(t, waits.done.Load())
		for i := range 5 {
			out := claimOf(fmt.Sprint(i))
			out.Force = true
			require.NoError(t, c.come(t.Context(), "out", out).err)
		}
		lines := quota.LineWatch{Origins: []*quota.Origin{c.o}, Conc: concurrencyOf(t, 1), Rate: concurrencyOf(t, 1)}
		assert.Empty(t, lines.Problems(time.Now()))
		time.Sleep(7 * sec)
		synctest.Wait()
		require.True(t, waits.done.Load())
		assert.Equal(t, 7*sec, waits.after)
	})
}
