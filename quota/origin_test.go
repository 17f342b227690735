package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
)

// The policies that a server has named are told in the order in which it did;
// what it leaves out stands as it said it last; the slice is never modified.
func TestPolicies(t *testing.T) {
	d := newDesk(t)
	assert.Empty(t, d.o.Policies())
	d.settle(0, d.send(0, ""), Report{Terms: terms("b", 5, sec), Figures: figure("a", 1, sec)})
	before := d.o.Policies()
	assert.Equal(t, []Policy{{Name: "a", Quota: None}, {Name: "b", Quota: 5, Window: sec}}, before)
	d.settle(0, d.send(0, ""), Report{Figures: figure("b", 3, sec)})
	assert.Equal(t, before, d.o.Policies(), "a figure takes nothing back")
	d.settle(0, d.send(0, ""), Report{Terms: terms("b", 9, sec), Figures: keyedFigure("a", "k", 1, sec)})
	assert.Equal(t, []Policy{{Name: "a", Quota: None, Keyed: true}, {Name: "b", Quota: 9, Window: sec}}, d.o.Policies())
	assert.Equal(t, []Policy{{Name: "a", Quota: None}, {Name: "b", Quota: 5, Window: sec}}, before, "a slice that was handed out")
}

// A server that makes up policies pushes out those it has named least recently.
func TestPoliciesAreBounded(t *testing.T) {
	d := newDesk(t)
	name := func(i int) string { return fmt.Sprintf("p%03d", i) }
	for i := range maxPolicies {
		d.settle(time.Duration(i)*sec, d.send(time.Duration(i)*sec, ""), Report{Figures: figure(name(i), 9, sec)})
	}
	now := 100 * sec
	d.settle(now, d.send(now, ""), Report{Figures: figure(name(0), 9, sec)})
	before := d.o.Policies()
	d.settle(now+1, d.send(now+1, ""), Report{Figures: figure("new", 9, sec)})
	var names []string
	for _, p := range d.o.Policies() {
		names = append(names, p.Name)
	}
	assert.Len(t, names, maxPolicies)
	assert.Contains(t, names, "new")
	assert.Contains(t, names, name(0), "it was named again")
	assert.NotContains(t, names, name(1), "it was named least recently")
	assert.Equal(t, name(1), before[1].Name, "a slice that was handed out")
	for i := range 500 {
		d.settle(now, d.send(now, ""), Report{Figures: figure(fmt.Sprint(i), 9, sec)})
		require.LessOrEqual(t, len(d.o.Policies()), maxPolicies)
	}
}

// Accounts are bounded. Idle ones go first, then the least recently used,
// those under a hold last, and none that something of is out or in line.
func TestAccountsAreDroppedInOrder(t *testing.T) {
	d := boundedDesk(t, 1+4) // one of the scope
	tell := func(now time.Duration, policy string, avail int64, w, pause time.Duration) {
		d.settle(now, d.send(now, ""), Report{Figures: figure(policy, avail, w), Pause: pause})
	}
	tell(0, "held", 5, sec, time.Hour)
	tell(1*sec, "old", 5, time.Hour, 0)
	tell(2*sec, "newer", 5, time.Hour, 0)
	tell(3*sec, "idle", 5, sec, 0)
	out := []*Lease{}
	now := 10 * sec
	for i, want := range []string{"idle", "old", "newer", "held"} {
		require.True(t, d.has(want))
		busy := Claim{Policy: fmt.Sprint("busy", i), Units: 1}
		out = append(out, d.send(now, "", busy))
		assert.False(t, d.has(want), "it goes at this place")
		assert.Len(t, d.o.all, 1+4)
		now += sec
	}
	d.send(now, "", Claim{Policy: "one more", Units: 1})
	for i := range out {
		assert.True(t, d.has(fmt.Sprint("busy", i)), "something of it is out")
	}
}

// What is in line is not dropped.
func TestAccountInLineIsNotDropped(t *testing.T) {
	d := boundedDesk(t, 1+2)
	d.settle(0, d.send(0, ""), Report{Figures: figure("api", 0, mins)})
	a := d.o.find(accountID{policyID: policyID{name: "api"}})
	pin([]wait.Claim{{Constraint: a}}, 1)
	for i := range 10 {
		now := time.Duration(i) * time.Hour
		d.settle(now, d.send(now, ""), Report{Figures: figure(fmt.Sprint(i), 1, sec)})
	}
	assert.True(t, d.has("api"))
	assert.Len(t, d.o.all, 1+2)
	pin([]wait.Claim{{Constraint: a}}, -1)
	d.settle(20*time.Hour, d.send(20*time.Hour, ""), Report{Figures: figure("x", 1, sec)})
	d.settle(21*time.Hour, d.send(21*time.Hour, ""), Report{Figures: figure("y", 1, sec)})
	assert.False(t, d.has("api"))
}

// A server that makes up partitions does not grow the books.
func TestAccountsStayBounded(t *testing.T) {
	d := boundedDesk(t, 50)
	for i := range 2_000 {
		now := time.Duration(i) * ms
		d.done(now, d.send(now, fmt.Sprint(i)), Report{
			Figures: keyedFigure("api", fmt.Sprint(i), 0, 24*time.Hour), Pause: time.Hour,
			Terms: []Terms{{Policy: Policy{Name: "c", Quota: 1, Unit: UnitConcurrentRequests, Keyed: true}, Key: fmt.Sprint(i)}},
		})
		require.LessOrEqual(t, len(d.o.all), 50)
	}
}

// Scopes are bounded in the same way; one that a request is out for stays.
func TestScopesAreBounded(t *testing.T) {
	d := boundedDesk(t, 3)
	l := d.send(0, "out")
	for i := range 20 {
		now := time.Duration(i+1) * sec
		d.settle(now, d.send(now, fmt.Sprint(i)), Report{})
		assert.LessOrEqual(t, len(d.o.scopes), 3)
	}
	assert.Contains(t, d.o.scopes, "out")
	assert.Contains(t, d.o.scopes, "19")
	assert.Contains(t, d.o.scopes, "18")
	d.settle(mins, l, Report{Figures: figure("", 0, mins)})
	d.refused(mins, "out")
}

// One scope, or one origin, does not influence another.
func TestScopesAndOriginsAreApart(t *testing.T) {
	var a Accounts
	one, two := &desk{t, begun(a.Origin("one"))}, &desk{t, begun(a.Origin("two"))}
	one.settle(0, one.send(0, "alice", api(1)), Report{
		Figures: append(figure("api", 0, mins), keyedFigure("k", "", 0, mins)...), Pause: mins, Refused: true,
	})
	one.refused(0, "alice", api(1))
	one.send(0, "bob", api(1))
	two.send(0, "alice", api(1), keyed("k", ""))
}

// The books begin with the first instant that they are told, whatever clock
// that is of: what follows from one is the same at any time of day, to the
// nanosecond.
func TestBooksBeginWithTheFirstInstant(t *testing.T) {
	for _, begin := range []time.Time{time.Unix(0, 0), time.Unix(1<<33, 999), time.Now().Add(-time.Hour)} {
		o := (&Accounts{Strategy: Plain}).Origin("https://api.example")
		var l Lease
		ask := Ask{Claims: []Claim{api(1)}, MaxDelay: NoDelay}
		require.NoError(t, o.Admit(t.Context(), begin, &ask, &l))
		assert.Zero(t, o.at(begin))
		o.Settle(begin.Add(100*ms), &l, &Report{Figures: figure("api", 0, 10*sec)})
		r, _ := o.Check(t.Context(), begin.Add(sec), &ask)
		require.NotNil(t, r, "%v", begin)
		assert.Equal(t, 9*sec+25*ms, r.RetryAfter, "%v", begin)
		r, _ = o.Check(t.Context(), begin.Add(-sec), &ask)
		require.NotNil(t, r, "before the beginning is the beginning")
		assert.Equal(t, begin, o.start)
	}
}

// Asking begins the books, too.
func TestCheckBeginsTheBooks(t *testing.T) {
	o := new(Accounts).Origin("https://api.example")
	begin := time.Unix(0, 0)
	r, _ := o.Check(t.Context(), begin, &Ask{Claims: []Claim{api(1)}})
	assert.Nil(t, r)
	assert.Equal(t, begin, o.start)
}
