package quota

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// What is over goes by itself, while the origin is in use, once it has not been
// needed for several of its windows, and for as long as a probe interval.
func TestAccountsThatAreOverGo(t *testing.T) {
	for _, tt := range []struct {
		name   string
		report Report
		over   time.Duration
	}{
		{"a short window", Report{Figures: figure("api", 5, mins)}, mins + ProbeInterval},
		{"a figure without a window", Report{Figures: figure("api", 5, None)}, ProbeInterval},
		{"a policy with a long window", Report{Figures: figure("api", 5, 50*mins), Terms: terms("api", 9, time.Hour)}, 50*mins + 4*time.Hour},
		{"our own count, begun", Report{Terms: terms("api", 9, mins)}, mins + ProbeInterval},
		{"a hold", Report{Figures: figure("api", 5, mins), Pause: 2 * time.Hour}, 2*time.Hour + ProbeInterval},
		{"a back-off", Report{Figures: figure("api", 5, None), Refused: true}, sec + ProbeInterval},
		{"a window without end", Report{Figures: figure("api", 5, 1<<62), Terms: terms("api", 9, 1<<62)}, 1 << 62},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.exchange(0, "", tt.report)
			d.tick(tt.over - ms)
			assert.True(t, d.has("api"))
			if tt.over < 1<<62 {
				d.tick(tt.over + 200*ms) // the guard of a window
				assert.Empty(t, d.o.all)
			}
			d.consistent()
		})
	}
}

// What is out, or in line, does not go, however old it is; nor does the scope
// that a request is out for.
func TestAccountsInUseDoNotGo(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Figures: figure("line", 5, mins)})
	d.exchange(0, "", Report{Terms: []Terms{{Policy: Policy{Name: "body", Quota: 5, Unit: UnitConcurrentRequests}}}})
	free := Claim{Policy: "", Units: 0}
	out := d.send(0, "", free)
	body := d.send(0, "alice", Claim{Policy: "body", Units: 1})
	d.settle(0, body, Report{})
	line := []wait.Claim{{Constraint: d.o.find(accountID{policyID: policyID{name: "line"}})}}
	pin(line, 1)
	d.tick(100 * time.Hour)
	assert.Contains(t, d.o.scopes, "")
	assert.NotContains(t, d.o.scopes, "alice")
	assert.True(t, d.has("line"))
	assert.NotNil(t, d.o.find(accountID{policyID{name: "body"}, "alice"}))
	assert.False(t, d.has("body"), "of another scope")

	pin(line, -1)
	out.Release()
	body.Release()
	d.tick(300 * time.Hour)
	assert.Empty(t, d.o.all)
	assert.Empty(t, d.o.byPolicy)
}

// What the answer to a request tells is kept, be the request out for so long
// that the account it was charged to is not there any more.
func TestAnswerAfterTheAccountWasDropped(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Figures: keyedFigure("api", "a", 5, sec)})
	long, also := d.send(sec/2, "", keyed("api", "a")), d.send(sec/2, "")
	for at := sec; at < mins; at += 20 * sec {
		d.wait(at, "", keyed("api", "a")) // it does not count in flight for ever
	}
	now := mins + ProbeInterval + sec
	d.tick(now)
	id := accountID{policyID{"api", true}, "a"}
	require.Nil(t, d.o.find(id))
	d.settle(now, long, Report{Figures: keyedFigure("api", "a", 0, time.Hour)})
	d.refused(now, "", keyed("api", "a"))
	require.NotNil(t, d.o.find(id))
	d.settle(now, also, Report{})
	d.consistent()
}

// Nothing is in flight where nothing is out, even where a request draws on more
// policies than are told apart.
func TestNothingIsLeftInFlight(t *testing.T) {
	d := newDesk(t)
	var many []Claim
	for i := range 2*maxPolicies + 1 {
		many = append(many, keyed(fmt.Sprint(i), "mine"))
	}
	l := d.send(0, "", many...)
	d.exchange(0, "", Report{Figures: keyedFigure("0", "another", 5, None)})
	a := d.o.find(accountID{policyID{"0", true}, "another"})
	require.Equal(t, int64(1), a.InFlight, "nobody knows any more that it is not")
	d.settle(sec, l, Report{})
	assert.Zero(t, a.InFlight)
}

// A request that was charged to a partition, and is over, tells nothing of those
// that are still out, nor of those of another scope.
func TestKinThatIsOver(t *testing.T) {
	d := newDesk(t)
	spare := func(key string) int64 {
		return spare(d.o.find(accountID{policyID{"api", true}, key}))
	}
	one, two, three := d.send(0, "", keyed("api", "alice")), d.send(0, ""), d.send(0, "")
	d.settle(ms, one, Report{Figures: keyedFigure("api", "alice", 9, mins)})
	d.settle(2*ms, two, Report{Figures: keyedFigure("api", "bob", 9, mins)})
	assert.Equal(t, int64(8), spare("bob"), "the third may be his")
	d.settle(3*ms, three, Report{Figures: keyedFigure("api", "alice", 8, mins)})
	assert.Equal(t, int64(9), spare("bob"), "it was not")

	four, five := d.send(4*ms, "another"), d.send(4*ms, "another")
	d.settle(5*ms, four, Report{Figures: keyedFigure("api", "carol", 9, mins)})
	assert.Equal(t, int64(8), spare("carol"))
	d.settle(5*ms, five, Report{})
	require.Len(t, d.o.freeUnattributed, 1)
	assert.Empty(t, d.o.freeUnattributed[0].created)
	assert.Empty(t, d.o.freeUnattributed[0].keyed)
}

// An account that a request waits for is in use.
func TestPinnedIsNotIdle(t *testing.T) {
	a := account{Window: window.New(window.Plain)}
	assert.True(t, a.idle(10))
	a.pins = 1
	assert.False(t, a.idle(10))
}

// A request that goes has the hand move on: books shrink while they are used.
func TestUseSweeps(t *testing.T) {
	d := newDesk(t)
	const n = 1_000
	for i := range n {
		d.exchange(0, "", Report{Figures: keyedFigure("api", fmt.Sprint(i), 5, mins)})
	}
	d.consistent()
	require.Len(t, d.o.all, n+1)
	capacity := cap(d.o.all)
	now := time.Hour
	for range n {
		d.exchange(now, "", Report{})
		d.exchange(now, "", Report{}) // not at every turn
		now += sweepInterval
	}
	d.consistent()
	assert.Len(t, d.o.all, 1)
	assert.Less(t, cap(d.o.all), capacity/8)
	assert.Empty(t, d.o.byPolicy)
}

// A map keeps the memory of what it once had: books that have become thin are
// kept in a new one, and not at every step.
func TestMapsShrink(t *testing.T) {
	const n = 10_000
	m, most, made := make(map[string]int), 0, 0
	for i := range n {
		m[fmt.Sprint(i)] = i
		most = len(m)
	}
	for i := n - 1; i > 0; i-- {
		delete(m, fmt.Sprint(i))
		before := most
		if m, most = shrunk(m, most); most != before {
			made++
		}
		require.Len(t, m, i)
	}
	assert.Equal(t, 0, m["0"])
	assert.Contains(t, m, "0")
	assert.Less(t, most, 64)
	assert.Equal(t, 3, made)
}

// An exchange never loses the accounts that it concerns, however little room
// there is: room is made among the others.
func TestRoomIsNotMadeOfWhatIsConcerned(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 9))
		d := boundedDesk(t, 1+r.IntN(4))
		for i := range 200 {
			now := time.Duration(i) * mins
			scope := fmt.Sprint(r.IntN(3))
			var cs []Claim
			var fs []Figure
			for p := range 1 + r.IntN(4) {
				cs = append(cs, keyed(fmt.Sprint(p), fmt.Sprint(r.IntN(3))))
				fs = append(fs, keyedFigure(fmt.Sprint(p), fmt.Sprint(r.IntN(3)), 100, sec)...)
			}
			l := d.send(now, scope, cs...)
			for _, c := range cs {
				require.NotNil(t, d.o.find(c.id(scope)), "seed %d: %+v is out", seed, c)
			}
			d.settle(now, l, Report{Figures: fs})
			for _, f := range fs {
				a := d.o.find(accountID{policyID{f.Policy, true}, f.Key})
				require.NotNil(t, a, "seed %d: %+v was told just now", seed, f)
				require.Equal(t, int64(100), spare(a))
			}
			require.Contains(t, d.o.scopes, scope)
			d.consistent()
		}
	}
}

// An origin is quiet when nothing is out or in line, at whatever number of
// identities.
func TestQuiet(t *testing.T) {
	d := newDesk(t)
	quiet := func() bool {
		_, quiet := d.o.quiet()
		return quiet
	}
	require.True(t, quiet())
	l := d.send(0, "alice", api(0))
	assert.False(t, quiet(), "it is out")
	d.done(0, l, Report{Terms: []Terms{{Policy: Policy{Name: "c", Quota: 5, Unit: UnitConcurrentRequests}}}})
	assert.True(t, quiet())

	c := Claim{Policy: "c", Units: 2}
	one, two, three := d.send(0, "alice", c), d.send(0, "alice", c), d.send(0, "bob", c)
	d.settle(0, one, Report{})
	d.settle(0, two, Report{Outcome: Unsent})
	three.Cancel()
	assert.False(t, quiet(), "one is held")
	one.Release()
	assert.True(t, quiet())

	in := []wait.Claim{{Constraint: &d.o.root}}
	pin(in, 1)
	assert.False(t, quiet(), "somebody waits")
	pin(in, -1)
	assert.True(t, quiet())
	used, _ := d.o.quiet()
	assert.Equal(t, d.at(0), used)
}

// Keys and names are kept as they are, and nothing that they were cut from.
func TestKeysAreKeptWithoutWhatTheyAreOf(t *testing.T) {
	d := newDesk(t)
	line := []byte("scope policy key and a lot more")
	text := string(line)
	c := Claim{Policy: text[6:12], Key: text[13:16], Keyed: true, Units: 1}
	d.exchange(0, text[:5], Report{}, c)
	a := d.o.find(accountID{policyID{"policy", true}, "key"})
	require.NotNil(t, a)
	for _, kept := range []string{a.owner.String(), a.policy.name, d.o.scopes["scope"].base.owner.String()} {
		assert.False(t, sharesMemory(kept, text), "%q", kept)
	}
}

func sharesMemory(part, whole string) bool {
	p, w := uintptr(unsafe.Pointer(unsafe.StringData(part))), uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	return p >= w && p < w+uintptr(len(whole))
}
