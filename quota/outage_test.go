package quota_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// outOfOrder is a 5xx with a Retry-After.
func outOfOrder(pause time.Duration) quota.Report {
	return quota.Report{Failed: true, Pause: pause, WholeOrigin: true}
}

// newOutageDesk is newDesk, after which a kind was paused four times: eleven others that are served do not show that it is
// of one request alone.
func newOutageDesk(t *testing.T, kind string) *desk {
	t.Helper()
	d := newDesk(t)
	for i := range 4 {
		d.answer(time.Duration(i)*sec, kind, outOfOrder(sec))
	}
	d.opens(5*sec, "/good")
	d.begin = d.begin.Add(mins)
	return d
}

// opens has so much of a kind served at one instant, one after another, that a slow start is over.
func (d *desk) opens(now time.Duration, kind string) {
	d.t.Helper()
	for range 20 {
		d.answer(now, kind, served)
	}
}

// outage has a kind paused 100 ms after now, while n requests of another kind are out that departed 60 ms after now. They
// are answered at now + 150 ms.
func (d *desk) outage(now time.Duration, kind string, pause time.Duration, n int, other string, r quota.Report) {
	d.t.Helper()
	bad, refusal := d.kindOf(now, kind)
	require.Nil(d.t, refusal)
	ls := d.flightOf(now+60*ms, n, other)
	d.done(now+100*ms, bad, outOfOrder(pause))
	for _, l := range ls {
		d.done(now+150*ms, l, r)
	}
}

// Eleven requests of another kind are served that departed well after a request which is paused: its kind is held until
// the pause ends, and no other work is any more. With ten, the origin is held.
func TestOutageOfOneKind(t *testing.T) {
	for n, free := range map[int]bool{10: false, 11: true} {
		d := newOutageDesk(t, "/bad")
		d.outage(0, "/bad", 30*sec, n, "/good", served)
		assert.Equal(t, free, d.free(sec, "/good"), n)
		assert.False(t, d.free(30*sec+100*ms-1, "/bad"), n)
		now := 40 * sec
		d.opens(now, "/good")
		d.answer(now, "/bad", outOfOrder(30*sec))
		assert.Equal(t, free, d.free(now, "/good"), n)
		assert.False(t, d.free(now+30*sec-1, "/bad"))
		assert.True(t, d.free(now+30*sec, "/bad"))
	}
}

// A pause of a kind that is served again and again between its pauses is no evidence that the origin is out of order, if none other
// could have shown that it is of one request alone. That of another kind is.
func TestSinglePausesOfServedKind(t *testing.T) {
	for between, enough := range map[bool]int{true: 12, false: 17} { // three pauses count, or all of thirteen
		for _, n := range []int{enough - 1, enough} {
			d := newDesk(t)
			now := sec
			for range 12 {
				d.answer(now, "/a", outOfOrder(sec))
				if now += 2 * mins; between {
					d.answer(now-mins, "/a", served)
				}
			}
			d.opens(now, "/a")
			d.outage(now, "/a", 5*sec, n, "/a", served)
			assert.Equal(t, n == enough, d.free(now+200*ms, "/a"), "served between: %v, %d", between, n)
		}
	}
}

// The evidence of several pauses adds up.
func TestOutagesAddUp(t *testing.T) {
	d := newDesk(t)
	for i := range 4 {
		now := time.Duration(i) * mins
		d.opens(now, "/good")
		d.outage(now, "/bad", sec, 3, "/good", served)
		assert.Equal(t, i == 3, d.free(now+200*ms, "/good"), i)
	}
}

// Work is no evidence that departed too early, is served when the pause is over, fails, or is of the kind itself.
func TestNoEvidenceOfOutage(t *testing.T) {
	for what, r := range map[string]quota.Report{"failed": {Failed: true}, "lost": {Lost: true}} {
		d := newDesk(t)
		d.outage(0, "/bad", 30*sec, 20, "/good", r)
		assert.False(t, d.free(sec, "/good"), what)
	}
	d := newDesk(t)
	d.outage(0, "/bad", 30*sec, 10, "/bad", served) // eleven would show that it is of one request alone
	assert.False(t, d.free(sec, "/good"))

	for what, c := range map[string]struct{ departs, answered time.Duration }{
		"early": {30 * ms, 150 * ms}, "late": {60 * ms, 2 * sec},
	} {
		d := newDesk(t)
		bad, _ := d.kindOf(0, "/bad")
		ls := d.flightOf(c.departs, 20, "/good")
		d.done(100*ms, bad, outOfOrder(sec))
		for _, l := range ls {
			d.done(c.answered, l, served)
		}
		d.answer(3*sec, "/bad", outOfOrder(sec))
		assert.False(t, d.free(3*sec, "/good"), what)
	}
}

// Once another kind is paused, all are held, and what was served of it is no evidence any more. It takes as much as at
// first that only these two are out of order.
func TestOutageSpreads(t *testing.T) {
	d := newOutageDesk(t, "/a")
	d.outage(0, "/a", 30*sec, 11, "/b", served)
	d.answer(sec, "/b", outOfOrder(5*sec))
	assert.False(t, d.free(30*sec+100*ms-1, "/c"), "what held one kind holds all")
	for i := range 20 { // it is not of one request alone
		d.answer(time.Duration(i+1)*mins, "/b", outOfOrder(sec))
	}
	for i, n := range []int{10, 1} {
		now := time.Duration(i+30) * mins
		d.opens(now, "/c")
		d.outage(now, "/a", 30*sec, n, "/c", served)
		assert.Equal(t, i == 1, d.free(now+sec, "/c"))
		assert.False(t, d.free(now+sec, "/b"))
	}
}

// What was served of kinds that are not paused stays evidence when others are found to be out of order, too.
func TestOutageOfSeveralKinds(t *testing.T) {
	d := newOutageDesk(t, "/a")
	for i, kind := range []string{"/a", "/b", "/c"} {
		now := time.Duration(i) * mins
		d.opens(now, "/good")
		d.outage(now, kind, 30*sec, 5, "/good", served)
		assert.Equal(t, i == 2, d.free(now+sec, "/good"), kind)
	}
	d.answer(4*mins, "/a", outOfOrder(30*sec))
	assert.True(t, d.free(4*mins+sec, "/good"))
	for _, kind := range []string{"/a", "/b", "/c"} {
		assert.False(t, d.free(4*mins+sec, kind), kind)
	}
}

// All kinds are paused in turn, and some of each are served: the origin is held each time. (If more were, pauses would be of
// one request alone.)
func TestOutageOfAll(t *testing.T) {
	d := newDesk(t)
	for i := range 40 {
		now := time.Duration(i) * mins
		kind := func(i int) string { return fmt.Sprint("/", i%4) }
		d.opens(now, kind(i+1))
		d.outage(now, kind(i), 30*sec, i%3/2, kind(i+1), served)
		for j := range 4 {
			assert.False(t, d.free(now+sec, kind(j)), i)
		}
	}
}

// Eight paths that differ in the last segment are paused: so are others that do. Another path that is paused is none of
// these, and stays so.
func TestOutageOfFamily(t *testing.T) {
	for n, held := range map[int]bool{7: false, 8: true} {
		d := newDesk(t)
		d.answer(0, "/other", outOfOrder(sec))
		for i := range n {
			d.answer(time.Duration(i+1)*mins, fmt.Sprint("/users/", i), outOfOrder(30*sec))
		}
		now := time.Duration(n+1) * mins
		d.opens(now, "/good")
		d.outage(now, "/users/0", 30*sec, 11, "/good", served)
		assert.True(t, d.free(now+sec, "/good"))
		assert.Equal(t, !held, d.free(now+sec, "/users/x"), n)
		assert.False(t, d.free(now+sec, "/other"), n)
	}
}

// A kind that is served again and again between its pauses is not out of order: they hold nothing. Once it is not
// served any more, they do.
func TestOutageOfSingleRequests(t *testing.T) {
	d := newDesk(t)
	d.outage(0, "/bad", sec, 11, "/good", served)
	now := mins
	for i := range 12 {
		if d.answer(now, "/bad", served); i >= 5 {
			now += 5 * sec
		}
		d.answer(now+ms, "/bad", outOfOrder(sec))
		assert.Equal(t, i >= 2, d.free(now+2*ms, "/bad"), i)
		now += 5 * sec
	}
	for i := range 5 {
		d.answer(now, "/bad", outOfOrder(sec))
		assert.Equal(t, i < 4, d.free(now+ms, "/bad"), i)
		now += 5 * sec
	}
}

// A kind is not out of order any more if 32 requests were served since it was paused, ten minutes ago: what holds
// others does not hold it.
func TestMendedKind(t *testing.T) {
	for what, c := range map[string]struct {
		served int
		later  time.Duration
		free   bool
	}{"mended": {32, 10 * mins, true}, "few": {31, 10 * mins, false}, "soon": {32, 10*mins - sec, false}} {
		d := newDesk(t)
		d.answer(0, "/a", outOfOrder(sec))
		for i := range c.served {
			d.answer(mins+time.Duration(i)*sec, "/a", served)
		}
		d.opens(5*mins, "/good")
		d.outage(5*mins, "/b", sec, 11, "/good", served)
		d.answer(c.later, "/b", outOfOrder(30*sec))
		assert.Equal(t, c.free, d.free(c.later, "/a"), what)
		assert.False(t, d.free(c.later, "/b"))
		assert.True(t, d.free(c.later, "/good"))
	}
}

// An outage is forgotten an hour after its last pause.
func TestOutageIsForgotten(t *testing.T) {
	for later, free := range map[time.Duration]bool{time.Hour - sec: true, time.Hour: false} {
		d := newOutageDesk(t, "/bad")
		d.outage(0, "/bad", sec, 11, "/good", served)
		d.answer(100*ms+later, "/bad", outOfOrder(sec))
		assert.Equal(t, free, d.free(100*ms+later, "/good"), later)
	}
}

// An outage is not forgotten while its last pause lasts.
func TestLongOutageIsNotForgotten(t *testing.T) {
	d := newOutageDesk(t, "/bad")
	d.outage(0, "/bad", 2*time.Hour, 11, "/good", served)
	d.answer(time.Hour+sec, "/good", served)
	d.kindOf(time.Hour+sec, "/bad") // looks
	assert.False(t, d.free(time.Hour+sec, "/bad"))
	assert.True(t, d.free(time.Hour+sec, "/good"))
}

// With Plain or Peers, a pause of the origin holds all of it, and a refusal all of its scope, whatever is served.
func TestNothingIsAloneInFleet(t *testing.T) {
	for _, a := range []*quota.Accounts{{Jitter: noJitter, Strategy: quota.Plain}, {Jitter: noJitter, Peers: new(silentPeers)}} {
		d := &desk{t: t, accounts: a, o: a.Origin(testOrigin), begin: time.Now()}
		d.free(0, "/good") // the first request waits for the Peers
		d.answer(sec, "/good", served)
		d.outage(2*sec, "/bad", 30*sec, 20, "/good", served)
		assert.False(t, d.free(3*sec, "/good"))

		d.opens(mins, "/good")
		ls := d.flight(mins+sec, 20)
		d.done(mins+1050*ms, ls[0], quota.Report{Refused: true})
		for _, l := range ls[1:] {
			d.done(mins+1051*ms, l, served)
		}
		assert.False(t, d.free(mins+1060*ms, "/good"))
	}
}

// A hold of a kind for longer than ProbeInterval is looked at, as one of the origin is.
func TestLongOutageOfKindIsLookedAt(t *testing.T) {
	d := newOutageDesk(t, "/bad")
	d.outage(0, "/bad", 5*time.Hour, 11, "/good", served)
	assert.False(t, d.free(10*mins, "/bad"))
	d.answer(10*mins+90*ms, "/good", served)
	look, r := d.kindOf(10*mins+100*ms, "/bad")
	require.Nil(t, r)
	assert.False(t, d.free(10*mins+100*ms, "/bad"), "one looks")
	d.answer(10*mins+100*ms, "/good", served)
	assert.False(t, d.free(10*mins+200*ms, "/bad"), "another kind says nothing of it")
	d.done(10*mins+300*ms, look, served)
	assert.True(t, d.free(10*mins+300*ms, "/bad"))
}

// What is exhausted by its own fields is a quota of the origin, and holds all, whatever was learned. So does what held the origin before.
func TestRefusalIsNoOutage(t *testing.T) {
	refused := outOfOrder(30 * sec)
	refused.Refused = true
	d := newOutageDesk(t, "/bad")
	d.outage(0, "/bad", sec, 11, "/good", served)
	d.answer(5*sec, "/bad", refused)
	assert.False(t, d.free(35*sec-1, "/good"))
	assert.False(t, d.free(35*sec-1, "/bad"))

	d = newDesk(t)
	bad, _ := d.kindOf(0, "/bad")
	d.answer(0, "/good", refused)
	d.done(sec, bad, outOfOrder(sec))
	assert.False(t, d.free(30*sec-1, "/bad"))
}

// Changes and snapshots say which kinds it is.
func TestOutageIsShown(t *testing.T) {
	d := newOutageDesk(t, "/bad")
	d.outage(0, "/bad", sec, 10, "/good", served)
	d.opens(5*sec, "/good")
	var changes []quota.Change
	told := func(what, detail string) bool {
		return slices.ContainsFunc(changes, func(c quota.Change) bool { return c.What == what && c.Detail == detail })
	}
	bad, _ := d.kindOf(5*sec, "/bad")
	good := d.flightOf(5*sec+60*ms, 1, "/good")[0]
	r := outOfOrder(30 * sec)
	r.Changes = &changes
	d.done(5*sec+100*ms, bad, r)
	require.Len(t, changes, 1, "the hold of the origin: %v", changes)
	r = served
	r.Changes = &changes
	d.done(5*sec+150*ms, good, r)
	assert.True(t, told("limited", "/bad"), "%v", changes)
	s := d.snapshotAt(6*sec, quota.SnapshotOptions{Keys: true})
	assert.Zero(t, s.Hold)
	i := slices.IndexFunc(s.Accounts, func(a quota.AccountSnapshot) bool { return a.Hold > 29*sec })
	require.GreaterOrEqual(t, i, 0)
	assert.Contains(t, s.Accounts[i].Learned, "its refusals concern /bad")

	changes = nil
	bad, _ = d.kindOf(40*sec, "/bad")
	r = outOfOrder(30 * sec)
	r.Changes = &changes
	d.done(40*sec, bad, r)
	assert.True(t, told("hold", ""), "%v", changes)
	assert.False(t, told("limited", "/bad"), "it is told once")
}
