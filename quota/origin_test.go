package quota_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// Policies come in the order in which the server first named them. What an answer
// leaves out stays as it was said last. A slice that was returned is never modified.
func TestPolicies(t *testing.T) {
	d := newDesk(t)
	assert.Empty(t, d.o.Policies())
	d.settle(0, d.send(0, ""), quota.Report{Terms: terms("b", 5, sec), Figures: figure("a", 1, sec)})
	before := d.o.Policies()
	assert.Equal(t, []quota.Policy{{Name: "a", Quota: quota.None}, {Name: "b", Quota: 5, Window: sec}}, before)
	d.settle(0, d.send(0, ""), quota.Report{Figures: figure("b", 3, sec)})
	assert.Equal(t, before, d.o.Policies(), "a figure takes nothing back")
	d.settle(0, d.send(0, ""), quota.Report{Terms: terms("b", 9, sec), Figures: keyedFigure("a", "k", 1, sec)})
	assert.Equal(t, []quota.Policy{{Name: "a", Quota: quota.None, Keyed: true}, {Name: "b", Quota: 9, Window: sec}}, d.o.Policies())
	assert.Equal(t, []quota.Policy{{Name: "a", Quota: quota.None}, {Name: "b", Quota: 5, Window: sec}}, before, "a slice that was returned")
}

// Policies are bounded: the least recently named is forgotten.
func TestPoliciesAreBounded(t *testing.T) {
	d := newDesk(t)
	name := func(i int) string { return fmt.Sprintf("p%03d", i) }
	for i := range quota.MaxPolicies {
		d.settle(time.Duration(i)*sec, d.send(time.Duration(i)*sec, ""), quota.Report{Figures: figure(name(i), 9, sec)})
	}
	now := 100 * sec
	d.settle(now, d.send(now, ""), quota.Report{Figures: figure(name(0), 9, sec)})
	before := d.o.Policies()
	d.settle(now+1, d.send(now+1, ""), quota.Report{Figures: figure("new", 9, sec)})
	var names []string
	for _, p := range d.o.Policies() {
		names = append(names, p.Name)
	}
	assert.Len(t, names, quota.MaxPolicies)
	assert.Contains(t, names, "new")
	assert.Contains(t, names, name(0), "it was named again")
	assert.NotContains(t, names, name(1), "it was named least recently")
	assert.Equal(t, name(1), before[1].Name, "a slice that was returned")
	for i := range 500 {
		d.settle(now, d.send(now, ""), quota.Report{Figures: figure(fmt.Sprint(i), 9, sec)})
		require.Len(t, d.o.Policies(), quota.MaxPolicies)
	}
}

// Accounts are bounded. Idle ones are evicted first, then the least recently used, those
// under a hold last, and none that a request is out for.
func TestOrderOfEviction(t *testing.T) {
	d := boundedDesk(t, 1+4) // one of the scope
	tell := func(now time.Duration, policy string, avail int64, w, pause time.Duration) {
		d.settle(now, d.send(now, ""), quota.Report{Figures: figure(policy, avail, w), Pause: pause})
	}
	tell(0, "held", 5, sec, time.Hour)
	tell(1*sec, "old", 5, time.Hour, 0)
	tell(2*sec, "newer", 5, time.Hour, 0)
	tell(3*sec, "idle", 5, sec, 0)
	out := []*quota.Lease{}
	now := 10 * sec
	for i, want := range []string{"idle", "old", "newer", "held"} {
		require.True(t, d.has(want))
		busy := quota.Claim{Policy: fmt.Sprint("busy", i), Units: 1}
		out = append(out, d.send(now, "", busy))
		assert.False(t, d.has(want), "it is evicted at this place")
		assert.Equal(t, 1+4, d.count())
		now += sec
	}
	d.send(now, "", quota.Claim{Policy: "one more", Units: 1})
	for i := range out {
		assert.True(t, d.has(fmt.Sprint("busy", i)), "a request is out for it")
	}
}

// An account that a request waits for is not evicted.
func TestAccountInLineIsNotEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counterOf(t, &quota.Accounts{Jitter: noJitter, MaxAccounts: 1 + 2})
		c.tell(quota.Report{Figures: figure("api", 0, mins)})
		ctx, cancel := context.WithCancel(t.Context())
		waits := c.come(ctx, "", claimOf("api"))
		for i := range 10 {
			time.Sleep(ms)
			c.tell(quota.Report{Figures: figure(fmt.Sprint(i), 1, sec)})
		}
		require.False(t, waits.done.Load())
		assert.NotNil(t, c.account("api"))
		assert.Len(t, c.snapshot().Accounts, 1+2)
		cancel()
		c.wg.Wait()
		c.tell(quota.Report{Figures: figure("x", 1, sec)})
		c.tell(quota.Report{Figures: figure("y", 1, sec)})
		assert.Nil(t, c.account("api"))
	})
}

// A server that makes up partitions and scopes does not exceed the bound.
func TestAccountsStayBounded(t *testing.T) {
	d := boundedDesk(t, 50)
	for i := range 2_000 {
		now := time.Duration(i) * ms
		d.done(now, d.send(now, fmt.Sprint(i)), quota.Report{
			Figures: keyedFigure("api", fmt.Sprint(i), 0, 24*time.Hour), Pause: time.Hour,
			Terms: []quota.Policy{{Name: "c", Quota: 1, Unit: quota.UnitConcurrentRequests, Keyed: true, Key: fmt.Sprint(i)}},
		})
		require.Len(t, d.snapshotAt(now, quota.SnapshotOptions{MaxAccounts: -1}).Accounts, min(3*(i+1), 50))
	}
}

// Scopes are bounded in the same way. One that a request is out for stays.
func TestScopesAreBounded(t *testing.T) {
	d := boundedDesk(t, 3)
	l := d.send(0, "out")
	for i := range 20 {
		now := time.Duration(i+1) * sec
		d.settle(now, d.send(now, fmt.Sprint(i)), quota.Report{})
		assert.Len(t, d.scopes(), min(i+2, 3))
	}
	assert.Equal(t, []string{"18", "19", "out"}, d.scopes())
	d.settle(mins, l, quota.Report{Pause: mins})
	d.refused(mins, "out")
}

// What one scope or origin is told concerns no other.
func TestScopesAndOriginsAreApart(t *testing.T) {
	var a quota.Accounts
	one, two := deskOf(t, &a, "one"), deskOf(t, &a, "two")
	one.settle(0, one.send(0, "alice", api(1)), quota.Report{
		Figures: append(figure("api", 0, mins), keyedFigure("k", "", 0, mins)...), Pause: mins, Refused: true,
	})
	one.refused(0, "alice", api(1))
	one.send(0, "bob", api(1))
	two.send(0, "alice", api(1), keyed("k", ""))
}

// An origin begins with the first time that it is told, of any clock. The rest is the
// same at any time of day, to the nanosecond.
func TestOriginBeginsWithTheFirstTime(t *testing.T) {
	for _, begin := range []time.Time{time.Unix(0, 0), time.Unix(1<<33, 999), time.Now().Add(-time.Hour)} {
		o := (&quota.Accounts{Strategy: quota.Plain}).Origin("https://api.example")
		var l quota.Lease
		ask := quota.Ask{Claims: []quota.Claim{api(1)}, MaxDelay: quota.NoDelay}
		require.NoError(t, o.Admit(t.Context(), begin, &ask, &l))
		assert.Equal(t, begin, l.Sent())
		o.Settle(begin.Add(100*ms), &l, &quota.Report{Figures: figure("api", 0, 10*sec)})
		r, _ := o.Check(t.Context(), begin.Add(sec), &ask)
		require.NotNil(t, r, "%v", begin)
		assert.Equal(t, 9*sec+25*ms, r.RetryAfter, "%v", begin)
		r, _ = o.Check(t.Context(), begin.Add(-sec), &ask)
		require.NotNil(t, r, "%v", begin)
		assert.Equal(t, 11*sec+25*ms, r.RetryAfter, "%v", begin)
	}
}

// Check begins an origin, too.
func TestCheckBeginsTheOrigin(t *testing.T) {
	o := new(quota.Accounts).Origin("https://api.example")
	begin := time.Unix(0, 0)
	r, _ := o.Check(t.Context(), begin, &quota.Ask{Claims: []quota.Claim{api(1)}})
	assert.Nil(t, r)
	var l quota.Lease
	require.NoError(t, o.Admit(t.Context(), begin.Add(-sec), &quota.Ask{}, &l))
	assert.Equal(t, begin, l.Sent(), "a time before the beginning counts as the beginning")
}
