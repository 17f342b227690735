package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snapshot is that of the only origin.
func (d *desk) snapshot(now time.Duration, opts SnapshotOptions) OriginSnapshot {
	d.t.Helper()
	s := d.o.accounts.Snapshot(d.at(now), opts)
	require.Len(d.t, s.Origins, 1)
	return s.Origins[0]
}

// A snapshot says of every account what can be said.
func TestSnapshot(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "alice", Report{
		Figures: append(figure("api", 9, 10*sec), keyedFigure("user", "a\x1fb", 0, 30*sec)...),
		Terms:   append(terms("api", 20, mins), Terms{Policy: Policy{Name: "own", Quota: 5, Window: mins}}),
	})
	out := d.send(sec, "alice", api(2), Claim{Policy: "own", Units: 1})
	d.settle(2*sec, d.send(sec, "bob"), Report{Refused: true})
	d.settle(2*sec, d.send(sec, "carol"), Report{Pause: mins, Reach: ReachOrigin})

	at := d.at(0).Round(0)
	want := OriginSnapshot{
		Name: "https://api.example", Used: at.Add(sec), Refused: at.Add(2 * sec), Refusals: 1, Out: 1, Hold: mins,
		Policies: []Policy{
			{Name: "api", Quota: 20, Window: mins}, {Name: "user", Quota: None, Keyed: true}, {Name: "own", Quota: 5, Window: mins},
		},
		Accounts: []AccountSnapshot{
			{Key: "alice", State: "unknown", Available: None, Quota: None, InFlight: 1, Used: at.Add(sec)},
			{Key: "bob", State: "expired", Available: 0, Quota: None, BackOff: sec, Refusals: 1, Used: at.Add(sec)},
			{Key: "carol", State: "unknown", Available: None, Quota: None, Used: at.Add(sec)},
			{Policy: "api", Key: "alice", State: "reported", Available: 7, Quota: 20, Window: mins, Left: 8*sec + ms, InFlight: 2, Used: at.Add(sec)},
			{Policy: "own", Key: "alice", State: "counting", Available: 3, Quota: 5, Window: mins, Left: 58*sec + ms, InFlight: 1, Used: at.Add(sec)},
			{Policy: "user", Keyed: true, Key: "0x611f62", State: "reported", Available: 0, Quota: None, Left: 28*sec + ms, Used: at},
		},
	}
	before := d.copies()
	got := d.snapshot(2*sec, SnapshotOptions{Keys: true})
	assert.Equal(t, want, got)
	assert.Equal(t, before, d.copies(), "it changes nothing")

	// What is over is shown so, and still nothing changes.
	later := d.snapshot(time.Hour, SnapshotOptions{Keys: true})
	assert.Equal(t, "expired", later.Accounts[3].State)
	assert.Zero(t, later.Accounts[3].Left)
	assert.Zero(t, later.Hold)
	assert.Equal(t, before, d.copies())
	out.Release()
}

// copies are the accounts as they are.
func (d *desk) copies() (as []account) {
	for _, a := range d.o.all {
		as = append(as, *a)
	}
	return as
}

// A snapshot of nothing is one, too, and begins no books.
func TestSnapshotOfNothing(t *testing.T) {
	var a Accounts
	now := time.Unix(0, 0)
	assert.Equal(t, Snapshot{Time: now}, a.Snapshot(now, SnapshotOptions{}))
	o := a.Origin("one")
	assert.Equal(t, []OriginSnapshot{{Name: "one"}}, a.Snapshot(now, SnapshotOptions{}).Origins)
	assert.False(t, o.begun)
}

// Keys and scopes are redacted unless they are asked for: what stands for them
// tells them apart, and is the same each time.
func TestSnapshotRedacts(t *testing.T) {
	d := newDesk(t)
	for _, who := range []string{"alice", "bob"} {
		d.exchange(0, who, Report{Figures: append(figure("api", 5, mins), keyedFigure("user", who, 5, mins)...)})
	}
	one := d.o.accounts.Snapshot(d.at(0), SnapshotOptions{})
	text, err := json.Marshal(one)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "alice")
	assert.NotContains(t, string(text), "bob")
	assert.Equal(t, one, d.o.accounts.Snapshot(d.at(0), SnapshotOptions{}))
	as := one.Origins[0].Accounts
	require.Len(t, as, 6)
	assert.Regexp(t, "^[0-9a-f]{8}$", as[0].Key)
	assert.NotEqual(t, as[0].Key, as[1].Key)
	assert.Equal(t, as[0].Key, as[2].Key, "one scope")

	text, err = json.Marshal(d.o.accounts.Snapshot(d.at(0), SnapshotOptions{Keys: true}))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"key":"alice"`)
	var back Snapshot
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Len(t, back.Origins[0].Accounts, 6)
}

// Of more accounts than are asked for, those are shown that were used last, in
// the order of what they are.
func TestSnapshotIsBounded(t *testing.T) {
	d := newDesk(t)
	const n = 3 * chunk
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		now := time.Duration(i) * sec
		d.exchange(now, "", Report{Figures: keyedFigure("api", fmt.Sprintf("%04d", i), 5, 100*time.Hour)})
		few := d.snapshot(now, SnapshotOptions{MaxAccounts: 10})
		require.Len(t, few.Accounts, min(len(d.o.all), 10))
		require.Equal(t, len(d.o.all), len(few.Accounts)+few.Omitted)
	}
	at := n * sec
	d.exchange(at, "", Report{})
	got := d.snapshot(at, SnapshotOptions{Keys: true, MaxAccounts: 10})
	var keys []string
	for _, a := range got.Accounts {
		keys = append(keys, a.Key)
	}
	assert.Equal(t, []string{"", "0759", "0760", "0761", "0762", "0763", "0764", "0765", "0766", "0767"}, keys)
	assert.Equal(t, n+1-10, got.Omitted)

	all := d.snapshot(at, SnapshotOptions{MaxAccounts: -1})
	assert.Len(t, all.Accounts, n+1)
	assert.Zero(t, all.Omitted)
	d.o.all = append(d.o.all, d.o.all[0]) // it has moved, and is seen twice
	assert.Len(t, d.snapshot(at, SnapshotOptions{MaxAccounts: -1}).Accounts, n+1)
	d.o.all = d.o.all[:n+1]

	for i := range DefaultSnapshotAccounts {
		d.exchange(at, "", Report{Figures: keyedFigure("api", fmt.Sprint("x", i), 5, mins)})
	}
	assert.Len(t, d.snapshot(at, SnapshotOptions{}).Accounts, DefaultSnapshotAccounts)
}

// Who waits is counted, and for what.
func TestSnapshotOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		for range 3 {
			c.come(t.Context(), "", claimOf("api"))
		}
		s := c.o.accounts.Snapshot(time.Now(), SnapshotOptions{}).Origins[0]
		assert.Equal(t, 3, s.InLine)
		i := slices.IndexFunc(s.Accounts, func(a AccountSnapshot) bool { return a.Policy == "api" })
		assert.Equal(t, 3, s.Accounts[i].InLine)
		time.Sleep(mins)
		c.wg.Wait()
		assert.Zero(t, c.o.accounts.Snapshot(time.Now(), SnapshotOptions{}).Origins[0].InLine)
	})
}

// A snapshot may be taken at any time. No account has two places in it.
func TestSnapshotMeanwhile(t *testing.T) {
	a := Accounts{MaxAccounts: 3 * chunk}
	o := a.Origin("one")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range 3_000 {
				var l Lease
				key := fmt.Sprint(r.IntN(5 * chunk))
				ask := Ask{Scope: key, Claims: []Claim{keyed("api", key)}, Force: true}
				if err := o.Admit(context.Background(), time.Now(), &ask, &l); err != nil {
					t.Error(err)
					return
				}
				o.Settle(time.Now(), &l, &Report{Figures: keyedFigure("api", key, 5, time.Millisecond)})
			}
		})
	}
	for range 20 {
		s := a.Snapshot(time.Now(), SnapshotOptions{Keys: true, MaxAccounts: -1})
		seen := make(map[string]bool)
		for _, a := range s.Origins[0].Accounts {
			id := fmt.Sprint(a.Policy, a.Keyed, a.Key)
			require.False(t, seen[id], "%s twice", id)
			seen[id] = true
		}
	}
	wg.Wait()
}
