package quota_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/quota"
)

// A snapshot shows all that is known of every account.
func TestSnapshot(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", quota.Report{
		Figures: append(figure("api", 9, 10*sec), keyedFigure("user", "a\x1fb", 0, 30*sec)...),
		Terms:   append(terms("api", 20, mins), quota.Policy{Name: "own", Quota: 5, Window: mins}),
	})
	out := d.send(sec, "alice", api(2), quota.Claim{Policy: "own", Units: 1})
	d.settle(2*sec, d.send(sec, "bob"), quota.Report{Refused: true})
	d.settle(2*sec, d.send(sec, "carol"), quota.Report{Pause: mins, WholeOrigin: true})

	at := d.at(0).Round(0)
	learned := func(rtt string) []string { return []string{"round trip " + rtt + " (±0s)"} }
	want := quota.OriginSnapshot{
		Name: "https://api.example", Used: at.Add(sec), Refused: at.Add(2 * sec), Refusals: 1, Out: 1, Hold: mins,
		Policies: []quota.Policy{
			{Name: "api", Quota: 20, Window: mins}, {Name: "user", Quota: quota.None, Keyed: true}, {Name: "own", Quota: 5, Window: mins},
		},
		Accounts: []quota.AccountSnapshot{
			{Policy: quota.Policy{Key: "alice", Quota: quota.None}, State: "unknown", Available: quota.None, InFlight: 1, Used: at.Add(sec), Learned: learned("0s")},
			{Policy: quota.Policy{Key: "bob", Quota: quota.None}, State: "expired", Available: 0, BackOff: sec, Refusals: 1, Used: at.Add(sec), Learned: learned("1s")},
			{Policy: quota.Policy{Key: "carol", Quota: quota.None}, State: "unknown", Available: quota.None, Used: at.Add(sec), Learned: learned("1s")},
			{Policy: quota.Policy{Name: "api", Key: "alice", Quota: 20, Window: mins}, State: "reported", Available: 7, Left: 8*sec + ms, InFlight: 2, Used: at.Add(sec), Learned: learned("0s")},
			{Policy: quota.Policy{Name: "own", Key: "alice", Quota: 5, Window: mins}, State: "counting", Available: 3, Left: 58*sec + ms, InFlight: 1, Used: at.Add(sec), Learned: learned("0s")},
			{Policy: quota.Policy{Name: "user", Keyed: true, Key: "0x611f62", Quota: quota.None}, State: "reported", Available: 0, Left: 28*sec + ms, Used: at, Learned: learned("0s")},
		},
	}
	got := d.snapshotAt(2*sec, quota.SnapshotOptions{Keys: true})
	assert.Equal(t, want, got)
	assert.Equal(t, want, d.snapshotAt(2*sec, quota.SnapshotOptions{Keys: true}), "it changes nothing")

	// A window that is over is shown as such, and still nothing changes.
	later := d.snapshotAt(time.Hour, quota.SnapshotOptions{Keys: true})
	assert.Equal(t, "expired", later.Accounts[3].State)
	assert.Zero(t, later.Accounts[3].Left)
	assert.Zero(t, later.Hold)
	assert.Equal(t, want, d.snapshotAt(2*sec, quota.SnapshotOptions{Keys: true}))
	out.Release()
}

// Each account shows its own quota, unit and window: the last answer about another account
// of the same policy does not change them.
func TestSnapshotOfDifferentQuotas(t *testing.T) {
	d := newDesk(t)
	var told []quota.Change
	for _, p := range []struct {
		scope string
		quota.Policy
	}{
		{"a", quota.Policy{Name: "p", Quota: 100_000, Unit: "tokens", Window: mins}},
		{"b", quota.Policy{Name: "p", Quota: 10, Window: sec}},
		{"c", quota.Policy{Name: "p", Quota: 1_000, Unit: quota.UnitContentBytes, Window: mins}},
		{"d", quota.Policy{Name: "p", Quota: 5, Unit: quota.UnitConcurrentRequests}},
		{"e", quota.Policy{Name: "p", Quota: 7, Unit: "points", Window: mins}},
	} {
		d.exchange(0, p.scope, quota.Report{Figures: figure("p", 1, sec), Terms: []quota.Policy{p.Policy}, Changes: &told})
	}
	var got []quota.Policy
	for _, a := range d.snapshotAt(0, quota.SnapshotOptions{Keys: true}).Accounts {
		if a.Name == "p" {
			a.Policy.Name = a.Key
			a.Key = ""
			got = append(got, a.Policy)
		}
	}
	assert.Equal(t, []quota.Policy{
		{Name: "a", Quota: 100_000, Unit: "tokens", Window: mins},
		{Name: "b", Quota: 10, Window: sec},
		{Name: "c", Quota: 1_000, Unit: quota.UnitContentBytes, Window: mins},
		{Name: "d", Quota: 5, Unit: quota.UnitConcurrentRequests},
		{Name: "e", Quota: 7, Unit: "points", Window: mins},
	}, got)
	var units []string
	for _, c := range told {
		if c.What == "policy" {
			units = append(units, fmt.Sprint(c.Name, c.Quota, c.Unit, c.Window))
		}
	}
	assert.Equal(t, []string{"p100000tokens1m0s", "p101s", "p1000content-bytes1m0s", "p5concurrent-requests0s", "p7points1m0s"}, units)
}

// What an account was told last is its unit, also after it was restored. Nothing is kept of
// accounts that are gone.
func TestUnitOfAnAccount(t *testing.T) {
	d := newDesk(t)
	tell := func(scope, unit string) {
		d.exchange(0, scope, quota.Report{Terms: []quota.Policy{{Name: "p", Quota: 9, Unit: unit, Window: mins}}})
	}
	units := func(a *quota.Accounts) (units []string) {
		for _, s := range originOf(t, a.Snapshot(d.at(0), quota.SnapshotOptions{Keys: true}), d.name).Accounts {
			if s.Name == "p" {
				units = append(units, s.Key+" "+s.Unit)
			}
		}
		return units
	}
	tell("a", "tokens")
	tell("b", "points")
	tell("c", "coins")
	assert.Equal(t, []string{"a tokens", "b points", "c coins"}, units(d.accounts))
	tell("a", "points")
	tell("b", "tokens")
	tell("c", "requests")
	assert.Equal(t, []string{"a points", "b tokens", "c requests"}, units(d.accounts))
	tell("c", "points")
	var saved bytes.Buffer
	require.NoError(t, d.accounts.Save(&saved, d.at(0), true))
	d.send(0, "b", quota.Claim{Policy: "p", Units: 1}) // keeps that account
	d.tick(time.Hour)
	d.o.RequireConsistent(t)
	assert.Equal(t, []string{"b tokens"}, units(d.accounts))

	var restored quota.Accounts
	require.NoError(t, restored.Restore(&saved, d.at(0)))
	assert.Equal(t, []string{"a points", "b points", "c points"}, units(&restored), "of several names, the last one is saved")
}

// A snapshot of nothing is empty, and does not begin an origin.
func TestSnapshotOfNothing(t *testing.T) {
	var a quota.Accounts
	now := time.Unix(0, 0)
	assert.Empty(t, a.Snapshot(now, quota.SnapshotOptions{}))
	o := a.Origin("one")
	assert.Equal(t, []quota.OriginSnapshot{{Name: "one"}}, a.Snapshot(now, quota.SnapshotOptions{}))
	// The origin begins with the first request, at an earlier time.
	r, _ := o.Check(t.Context(), now.Add(-time.Hour), &quota.Ask{})
	assert.Nil(t, r)
	assert.Equal(t, now.Add(-time.Hour), a.Snapshot(now, quota.SnapshotOptions{})[0].Used)
}

// Keys and scopes are redacted unless the options ask for them. What is shown in their
// place tells them apart, and is the same each time.
func TestSnapshotRedacts(t *testing.T) {
	d := newDesk(t)
	for _, user := range []string{"alice", "bob"} {
		d.exchange(0, user, quota.Report{Figures: append(figure("api", 5, mins), keyedFigure("user", user, 5, mins)...)})
	}
	one := d.accounts.Snapshot(d.at(0), quota.SnapshotOptions{})
	text, err := json.Marshal(one)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "alice")
	assert.NotContains(t, string(text), "bob")
	assert.Equal(t, one, d.accounts.Snapshot(d.at(0), quota.SnapshotOptions{}))
	as := one[0].Accounts
	require.Len(t, as, 6)
	assert.Regexp(t, "^[0-9a-f]{8}$", as[0].Key)
	assert.NotEqual(t, as[0].Key, as[1].Key)
	assert.Equal(t, as[0].Key, as[2].Key, "one scope")

	text, err = json.Marshal(d.accounts.Snapshot(d.at(0), quota.SnapshotOptions{Keys: true}))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"key":"alice"`)
	var back []quota.OriginSnapshot
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Len(t, back[0].Accounts, 6)
}

// Of more accounts than the options ask for, with as much left, the most recently used are
// shown, in the order of policies and keys.
func TestSnapshotIsBounded(t *testing.T) {
	d := newDesk(t)
	const n = 3 * quota.Chunk
	accounts := 1 // of the scope
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		now := time.Duration(i) * sec
		d.exchange(now, "", quota.Report{Figures: keyedFigure("api", fmt.Sprintf("%04d", i), 5, 100*time.Hour)})
		few := d.snapshotAt(now, quota.SnapshotOptions{MaxAccounts: 10})
		accounts++
		require.Len(t, few.Accounts, min(accounts, 10))
		require.Equal(t, accounts, len(few.Accounts)+few.Omitted)
	}
	at := n * sec
	d.exchange(at, "", quota.Report{})
	got := d.snapshotAt(at, quota.SnapshotOptions{Keys: true, MaxAccounts: 10})
	var keys []string
	for _, a := range got.Accounts {
		keys = append(keys, a.Key)
	}
	assert.Equal(t, []string{"0758", "0759", "0760", "0761", "0762", "0763", "0764", "0765", "0766", "0767"}, keys)
	assert.Equal(t, n+1-10, got.Omitted)

	all := d.snapshotAt(at, quota.SnapshotOptions{MaxAccounts: -1})
	assert.Len(t, all.Accounts, n+1)
	assert.Zero(t, all.Omitted)
	d.o.ListTwice(func() {
		assert.Len(t, d.snapshotAt(at, quota.SnapshotOptions{MaxAccounts: -1}).Accounts, n+1, "an account that moved meanwhile")
	})

	for i := range quota.DefaultSnapshotAccounts {
		d.exchange(at, "", quota.Report{Figures: keyedFigure("api", fmt.Sprint("x", i), 5, mins)})
	}
	assert.Len(t, d.snapshotAt(at, quota.SnapshotOptions{}).Accounts, quota.DefaultSnapshotAccounts)
}

// A snapshot copies each account, and uses the memory of those that it does not show again: each of
// them takes less than a copy, and not several. An origin of one account takes memory for one.
func TestSnapshotUsesMemoryAgain(t *testing.T) {
	d := newDesk(t)
	const shown, more = 100, 20 * quota.Chunk
	next := 0
	takes := func(accounts int) uint64 {
		for ; next < accounts; next++ {
			d.exchange(0, "", quota.Report{Figures: keyedFigure("api", fmt.Sprint(next), 5, mins)})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		assert.Len(t, d.snapshotAt(0, quota.SnapshotOptions{MaxAccounts: shown}).Accounts, min(shown, accounts+1)) // and the scope
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	one := uint64(16_000)
	if raced.Detector { // which allocates, too
		one = 64_000
	}
	assert.Less(t, takes(1), one, "bytes for one account")
	few, many := takes(2*quota.Chunk), takes(more)
	assert.Less(t, (many-few)/(more-2*quota.Chunk), uint64(1000), "bytes for each account more")
}

// Requests that wait are counted, and shown with the account that they wait for.
func TestSnapshotOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("api", 0, 10*sec)})
		for range 3 {
			c.come(t.Context(), "", claimOf("api"))
		}
		s := c.accounts.Snapshot(time.Now(), quota.SnapshotOptions{})[0]
		assert.Equal(t, 3, s.InLine)
		i := slices.IndexFunc(s.Accounts, func(a quota.AccountSnapshot) bool { return a.Name == "api" })
		assert.Equal(t, 3, s.Accounts[i].InLine)
		time.Sleep(mins)
		c.wg.Wait()
		assert.Zero(t, c.accounts.Snapshot(time.Now(), quota.SnapshotOptions{})[0].InLine)
	})
}

// Who waits for a hold of a scope is shown until woken, even if the hold is over.
func TestSnapshotOfWaitingAtEndOfHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(quota.Report{Figures: figure("", 50, mins)})
		c.tell(retryAfter(10 * sec))
		for range 3 {
			c.come(t.Context(), "", claimOf(""))
		}
		inLine := 0
		for _, a := range c.accounts.Snapshot(time.Now().Add(10*sec), quota.SnapshotOptions{})[0].Accounts {
			inLine += a.InLine
		}
		assert.Equal(t, 3, inLine)
		c.wg.Wait()
	})
}

// A snapshot may be taken at any time. No account has two places in it.
func TestSnapshotMeanwhile(t *testing.T) {
	a := quota.Accounts{MaxAccounts: 3 * quota.Chunk}
	o := a.Origin("one")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 3_000 {
				var l quota.Lease
				key := fmt.Sprint(r.IntN(5 * quota.Chunk))
				ask := quota.Ask{Scope: key, Claims: []quota.Claim{keyed("api", key)}, Force: true}
				if err := o.Admit(context.Background(), time.Now(), &ask, &l); err != nil {
					t.Error(err)
					return
				}
				o.Settle(time.Now(), &l, &quota.Report{Figures: keyedFigure("api", key, 5, time.Millisecond)})
			}
		})
	}
	for range 20 {
		s := a.Snapshot(time.Now(), quota.SnapshotOptions{Keys: true, MaxAccounts: -1})
		seen := make(map[string]bool)
		for _, a := range s[0].Accounts {
			id := fmt.Sprint(a.Policy, a.Keyed, a.Key)
			require.False(t, seen[id], "%s twice", id)
			seen[id] = true
		}
	}
	wg.Wait()
}

// So it may while accounts of a fleet come and go, requests wait for them, and what is rarely
// known of them changes.
func TestSnapshotOfBucketsMeanwhile(t *testing.T) {
	a := quota.Accounts{Peers: new(silentPeers)}
	o := a.Origin("one")
	done := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 60 {
				var l quota.Lease
				const key = "hot"
				ask := quota.Ask{Scope: fmt.Sprint(g, i), Claims: []quota.Claim{keyed("api", key)}}
				if err := o.Admit(context.Background(), time.Now(), &ask, &l); err != nil {
					t.Error(err)
					return
				}
				o.Settle(time.Now(), &l, &quota.Report{
					Terms:   []quota.Policy{{Name: "api", Quota: 1_000, Unit: "tokens", Window: time.Second, Keyed: true, Key: key}},
					Figures: keyedFigure("api", key, 0, time.Millisecond),
				})
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	for {
		for _, a := range a.Snapshot(time.Now(), quota.SnapshotOptions{})[0].Accounts {
			require.GreaterOrEqual(t, a.Next, time.Duration(0))
		}
		assert.NoError(t, a.Save(io.Discard, time.Now(), true))
		select {
		case <-done:
			return
		default:
		}
	}
}
