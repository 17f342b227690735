package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
)

// once has one request of an origin answered.
func once(t *testing.T, a *quota.Accounts, origin string, ask quota.Ask, r quota.Report) error {
	o := a.Origin(origin)
	var l quota.Lease
	if err := o.Admit(context.Background(), time.Now(), &ask, &l); err != nil {
		return err
	}
	time.Sleep(10 * time.Millisecond)
	o.Settle(time.Now(), &l, &r)
	l.Release()
	return nil
}

// goneStore is a store that is away.
type goneStore struct{}

func (goneStore) Exchange(context.Context, exchange.ID, *exchange.Turn) (*exchange.Grant, error) {
	return nil, errors.New("away")
}
func (goneStore) Subscribe(ctx context.Context, _ exchange.ID, _ func(*exchange.Word)) error {
	<-ctx.Done()
	return ctx.Err()
}

// Of origins that were dropped or are idle, none tries to reach a store that is away.
func TestIdleOriginsOfADeadStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(goneStore{}, fleet.Options{})
		defer f.Close()
		a := &quota.Accounts{Secret: &secret, Peers: f, MaxOrigins: 0}
		before := runtime.NumGoroutine()
		for i := range 200 {
			require.NoError(t, once(t, a, fmt.Sprint("https://", i), quota.Ask{Scope: "s"}, quota.Report{}))
		}
		time.Sleep(time.Hour)
		was := f.Status().Failures
		time.Sleep(time.Minute)
		assert.LessOrEqual(t, runtime.NumGoroutine()-before, 2*10, "goroutines")
		assert.LessOrEqual(t, f.Status().Failures-was, int64(10*20), "tries in a minute")
	})
}

// An origin that was dropped and comes again is not taken for the old one.
func TestOriginComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(new(fleet.Hub), fleet.Options{})
		defer f.Close()
		a := &quota.Accounts{Secret: &secret, Peers: f, MaxOrigins: 1}
		ask := quota.Ask{Scope: "s", Claims: []quota.Claim{{Policy: "p", Units: 1}}}
		n := int64(100)
		report := func() quota.Report {
			n--
			return quota.Report{Figures: []quota.Figure{{Policy: "p", Available: n, Window: time.Minute}}, Terms: []quota.Policy{{Name: "p", Quota: 100, Window: time.Minute}}}
		}
		for range 10 {
			require.NoError(t, once(t, a, "https://a", ask, report()))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		require.Zero(t, f.Status().Failures)
		require.NoError(t, once(t, a, "https://b", quota.Ask{Scope: "s"}, quota.Report{}))
		for range 10 {
			require.NoError(t, once(t, a, "https://a", ask, report()))
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		assert.Zero(t, f.Status().Failures, f.Status().Err)
	})
}

// A cluster is stores of two origins whose clocks differ.
type cluster struct {
	nodes [2]*fleet.Hub
	mu    sync.Mutex
	of    map[exchange.ID]int
}

func (c *cluster) node(o exchange.ID) *fleet.Hub {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.of[o]
	if !ok {
		i = len(c.of) % 2
		c.of[o] = i
	}
	return c.nodes[i]
}
func (c *cluster) Exchange(ctx context.Context, o exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	return c.node(o).Exchange(ctx, o, turn)
}
func (c *cluster) Subscribe(ctx context.Context, o exchange.ID, hear func(*exchange.Word)) error {
	return c.node(o).Subscribe(ctx, o, hear)
}

// Each node of a cluster has its own clock.
func TestClusterClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{of: map[exchange.ID]int{}}
		c.nodes[0] = &fleet.Hub{}
		c.nodes[1] = &fleet.Hub{Clock: func() time.Time { return time.Now().Add(200 * time.Millisecond) }}
		f := fleet.New(c, fleet.Options{})
		defer f.Close()
		a := &quota.Accounts{Secret: &secret, Peers: f}
		ask := quota.Ask{Scope: "s", Claims: []quota.Claim{{Policy: "p", Units: 1}}}
		n := int64(1000)
		report := func() quota.Report {
			n--
			return quota.Report{Figures: []quota.Figure{{Policy: "p", Available: n, Window: time.Minute}}, Terms: []quota.Policy{{Name: "p", Quota: 1000, Window: time.Minute}}}
		}
		for range 30 {
			require.NoError(t, once(t, a, "https://a", ask, report()))
			require.NoError(t, once(t, a, "https://b", ask, report()))
			time.Sleep(500 * time.Millisecond)
		}
		s := f.Status()
		t.Log(s.Exchanges, s.Failures)
		assert.LessOrEqual(t, s.Failures, int64(1), s.Err)
	})
}

// An msAway store is a millisecond away.
type msAway struct{ *fleet.Hub }

func (m msAway) Exchange(ctx context.Context, o exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	time.Sleep(time.Millisecond)
	return m.Hub.Exchange(ctx, o, turn)
}

// Many users that wait do not stall another one, nor have the store asked again and again.
func TestManyUsers(t *testing.T) {
	for _, users := range []int{20, 60, 63, 64, 70, 140} {
		synctest.Test(t, func(t *testing.T) {
			f := fleet.New(msAway{new(fleet.Hub)}, fleet.Options{})
			defer f.Close()
			a := &quota.Accounts{Secret: &secret, Peers: f}
			ends := time.Now().Add(time.Minute)
			use := func(user string, left int64) error {
				ask := quota.Ask{Scope: "s", Claims: []quota.Claim{{Policy: "p", Key: user, Keyed: true, Units: 1}}}
				return once(t, a, "https://a", ask, quota.Report{
					Terms:   []quota.Policy{{Name: "p", Quota: 100, Window: time.Minute, Keyed: true, Key: user}},
					Figures: []quota.Figure{{Policy: "p", Key: user, Keyed: true, Available: left, Window: time.Until(ends)}},
				})
			}
			require.NoError(t, use("light", 99))
			for left := range int64(10) {
				for i := range users {
					require.NoError(t, use(fmt.Sprint("hot", i), 9-left))
				}
			}
			time.Sleep(3 * time.Second)
			var wg sync.WaitGroup
			for i := range users {
				wg.Go(func() { assert.NoError(t, use(fmt.Sprint("hot", i), 9)) })
			}
			time.Sleep(time.Second)
			t.Log("in line", a.Snapshot(time.Now(), quota.SnapshotOptions{})[0].InLine)
			was, began := f.Status().Exchanges, time.Now()
			for i := range int64(40) {
				assert.NoError(t, use("light", 98-i))
			}
			assert.Less(t, time.Since(began), time.Second, "%d users", users)
			time.Sleep(time.Until(began.Add(10 * time.Second)))
			assert.Less(t, f.Status().Exchanges-was, int64(500), "exchanges in 10 s, %d users", users)
			wg.Wait()
		})
	}
}

// The others are told soon of units of work that was cancelled.
func TestCancelled(t *testing.T) {
	for _, cancel := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			hub := new(fleet.Hub)
			f, g := fleet.New(hub, fleet.Options{}), fleet.New(hub, fleet.Options{})
			defer f.Close()
			defer g.Close()
			a := &quota.Accounts{Secret: &secret, Peers: f}
			b := &quota.Accounts{Secret: &secret, Peers: g}
			ask := quota.Ask{Scope: "s", Claims: []quota.Claim{{Policy: "p", Units: 1}}}
			ends := time.Now().Add(100 * time.Second)
			left := int64(12)
			report := func() quota.Report {
				left--
				return quota.Report{
					Figures: []quota.Figure{{Policy: "p", Available: left, Window: time.Until(ends)}},
					Terms:   []quota.Policy{{Name: "p", Quota: 12, Window: 100 * time.Second}},
				}
			}
			require.NoError(t, once(t, a, "https://a", ask, report()))
			require.NoError(t, once(t, b, "https://a", ask, report()))
			time.Sleep(2 * time.Second)
			if cancel {
				ls := make([]quota.Lease, 3)
				for i := range ls {
					require.NoError(t, a.Origin("https://a").Admit(context.Background(), time.Now(), &ask, &ls[i]))
				}
				time.Sleep(15 * time.Second)
				for i := range ls {
					ls[i].Cancel() // Unsent
				}
			}
			began := time.Now()
			for range 10 {
				require.NoError(t, once(t, b, "https://a", ask, report()))
			}
			assert.Less(t, time.Since(began), 5*time.Second, "cancel %v", cancel)
		})
	}
}

// Close gives back what all accounts have, however many there are.
func TestCloseGivesBackAll(t *testing.T) {
	for _, users := range []int{20, 60, 200} {
		hub := new(notingStore)
		synctest.Test(t, func(t *testing.T) {
			f := fleet.New(hub, fleet.Options{})
			a := &quota.Accounts{Secret: &secret, Peers: f}
			for i := range users {
				key := fmt.Sprint(i)
				ask := quota.Ask{Scope: "s", Claims: []quota.Claim{{Policy: "p", Key: key, Keyed: true, Units: 1}}}
				for n := range int64(3) {
					require.NoError(t, once(t, a, "https://a", ask, quota.Report{
						Terms:   []quota.Policy{{Name: "p", Quota: 100, Window: time.Minute, Keyed: true, Key: key}},
						Figures: []quota.Figure{{Policy: "p", Key: key, Keyed: true, Available: 90 - n, Window: time.Minute}},
					}))
				}
			}
			time.Sleep(500 * time.Millisecond)
			f.Close()
			kept := 0
			for _, has := range hub.has {
				if has > 0 {
					kept++
				}
			}
			assert.Zero(t, kept, "of %d accounts not given back", len(hub.has))
		})
	}
}

// A notingStore notes what a process has of each account, by its last turn.
type notingStore struct {
	fleet.Hub
	has map[exchange.ID]int64
}

func (r *notingStore) Exchange(ctx context.Context, o exchange.ID, turn *exchange.Turn) (*exchange.Grant, error) {
	g, err := r.Hub.Exchange(ctx, o, turn)
	if r.has == nil {
		r.has = make(map[exchange.ID]int64)
	}
	for i := range turn.Accounts {
		r.has[turn.Accounts[i].ID] = turn.Accounts[i].Has + g.Accounts[i].Units
	}
	return g, err
}

// What waits for an origin that was dropped goes on: what it charges is lost.
func TestLimiterOfDroppedOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New(new(fleet.Hub), fleet.Options{})
		defer f.Close()
		a := &quota.Accounts{Secret: &secret, Peers: f, MaxOrigins: 1}
		ask := quota.Ask{Scope: "s", Claims: []quota.Claim{{Policy: "p", Units: 1}}}
		lim := a.Origin("https://a").Limiter(ask)
		n := int64(1000)
		use := func() {
			at := time.Now()
			l, err := lim.Acquire(t.Context(), 1)
			require.NoError(t, err)
			assert.Less(t, time.Since(at), time.Second)
			time.Sleep(10 * time.Millisecond)
			n--
			l.Settle(&quota.Report{Figures: []quota.Figure{{Policy: "p", Available: n, Window: time.Minute}}, Terms: []quota.Policy{{Name: "p", Quota: 1000, Window: time.Minute}}})
			l.Release()
		}
		for range 20 {
			use()
			time.Sleep(100 * time.Millisecond)
		}
		a.Origin("https://b") // drops a
		for i := range 200 {
			use()
			if i%10 == 0 {
				time.Sleep(1000 * time.Millisecond)
			}
		}
	})
}
