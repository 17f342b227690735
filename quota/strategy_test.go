package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What Adaptive does otherwise than Plain, by the habits that its documentation
// counts. Round trips are of 32 ms, so that the guard is 1 ms.
func TestAdaptive(t *testing.T) {
	const trip = 32 * ms
	far := func(l *ledger, _ instant) { l.least = 60 * ms }
	tests := []struct {
		name string
		rows []row
	}{
		{
			name: "1: the guard is what the trip took longer than the shortest, and a part of it",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 5, 10*sec), 5, 10*sec + ms - trip},
				{sec, send("b"), 4, unsaid},
				// Its window ends later by as much as it may have been on its way.
				{sec + 2*trip, says("b", 0, 9*sec), 0, 9*sec + ms - 2*trip},
				{10*sec + ms, nothing, 1, sec},
				{10*sec + ms, send("c"), 0, sec},
				// The shortest trip is forgotten by a 64th of the difference in a window.
				{10*sec + ms + 2*trip, says("c", 0, 10*sec), 0, 10*sec + ms + 2*trip - (trip + trip/64) + 2*ms - (ms + 2*trip)},
			},
		},
		{
			name: "2: a window of 0 that is not over ends at most 1 s later",
			rows: []row{
				{0, all(advertises(100, 0), send("a")), 100, 0},
				{trip, says("a", 5, 9*sec), 5, 9*sec + ms - trip},
				{8500 * ms, send("b"), 4, 501 * ms},
				{8500*ms + trip, says("b", 4, 0), 4, sec - trip},
				{9500 * ms, send("c"), 3, unsaid},
				{9500*ms + trip, says("c", 9, 9*sec), 9, 10*sec + ms - trip},
			},
		},
		{
			name: "2: and not later than the policy's window",
			rows: []row{
				{0, all(advertises(20, sec), send("a")), 100, 0},
				{trip, says("a", 19, 0), 19, sec + ms - trip},
				{sec + ms, send("b"), 18, unsaid},
				{sec + ms + trip, says("b", 19, sec), 19, sec + ms - trip},
				{sec + ms + trip, send("c"), 18, unsaid},
				{sec + ms + 2*trip, says("c", 18, 0), 18, sec + ms - 2*trip},
			},
		},
		{
			name: "2: unless the server says that it is longer",
			rows: []row{
				{0, all(advertises(20, 2*sec), send("a")), 100, 0},
				{trip, says("a", 19, 0), 19, sec + ms - trip},
				{trip, send("b"), 18, unsaid},
				{2 * trip, says("b", 18, 5*sec), 18, 5*sec + ms - trip},
			},
		},
		{
			// 20 in 1 s are one in 50 ms.
			name: "3: who found nothing tries again after the time of one unit",
			rows: []row{
				{0, all(advertises(20, sec), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 50*ms + ms - trip},
				{51 * ms, send("b"), 0, sec},
				{51*ms + trip, says("b", 0, sec), 0, 51*ms - trip},
				{102 * ms, send("c"), 0, sec},
				{102*ms + trip, says("c", 0, sec), 0, 51*ms - trip},
				{153 * ms, send("d"), 0, sec},
				{153*ms + trip, says("d", 0, sec), 0, 51*ms - trip},
				// Three were served, but answers come sooner than units.
				{204 * ms, send("e"), 0, sec},
				// Where they do not, nobody waits for them any more.
				{204 * ms, far, 0, 50 * ms},
				{254 * ms, send("f"), 0, 50 * ms},
				{254*ms + ms, refuses("e", 0, sec), 0, unsaid},
			},
		},
		{
			name: "3: where it is refused, others have used the quota, and the next trials are left out",
			rows: []row{
				{0, all(advertises(20, sec), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 51*ms - trip},
				{51 * ms, send("b"), 0, sec},
				{51*ms + trip, all(refuses("b", 0, sec), pauses(sec)), 0, sec},
				{1100 * ms, send("c"), 0, unsaid},
				{1100*ms + trip, says("c", 0, sec), 0, sec + ms - trip},
				{2200 * ms, send("d"), 0, unsaid},
				{2200*ms + trip, says("d", 0, sec), 0, sec + ms - trip},
				{3300 * ms, send("e"), 0, unsaid},
				{3300*ms + trip, says("e", 0, sec), 0, 51*ms - trip},
			},
		},
		{
			name: "3: nobody tries whose own requests have used it up",
			rows: []row{
				{0, all(advertises(4, sec), send("a")), 100, 0},
				{trip, says("a", 3, sec), 3, unsaid},
				{trip, send("b", "c", "d"), 0, unsaid},
				{2 * trip, all(says("b", 2, sec), says("c", 1, sec), says("d", 0, sec)), 0, sec + ms - 2*trip},
			},
		},
		{
			name: "3: nor where whole seconds say it all",
			rows: []row{
				{0, all(advertises(20, 20*sec), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, sec + ms - trip},
			},
		},
		{
			// It falls by 80, of which 20 were ours: 0.4 × 1/4 × 20 + 0.5 is 2.5.
			name: "4: of a quota with other users, a part of our part is in flight",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 100, mins), 100, unsaid},
				{sec, sendN("b", 20), 80, unsaid},
				{sec + trip, says("b", 20, 59*sec), 2, unsaid},
				{2 * sec, send("c", "d"), 0, 58*sec + ms},
				{2*sec + trip, says("c", 19, 58*sec), 1, unsaid},
				{2*sec + 2*trip, says("d", 18, 58*sec), 2, unsaid},
				// After the window, it is remembered.
				{mins + sec, send("e"), 17, unsaid},
				{mins + sec + trip, says("e", 99, mins), 11, unsaid},
			},
		},
		{
			name: "4: a slip of the server's is nobody's part",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 100, 10*sec), 100, unsaid},
				{sec, send("b"), 99, unsaid},
				{sec + trip, says("b", 0, 9*sec), 0, unsaid},
				{11 * sec, send("c"), 0, unsaid},
				{11*sec + trip, says("c", 99, 10*sec), 99, unsaid},
			},
		},
		{
			name: "4: nothing is told from a few",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 16, mins), 16, unsaid},
				{sec, send("b"), 15, unsaid},
				{sec + trip, says("b", 1, mins), 1, unsaid},
			},
		},
		{
			name: "our own count has a guard, too",
			rows: []row{
				{0, all(counts(3, 10*sec), send("a")), 2, 10 * sec},
				{trip, all(quiet("a"), func(l *ledger, t instant) { l.timed(t, 0) }), 2, 10*sec + ms - trip},
				// Of an answer to another one, nothing is to be learned of the window.
				{5 * sec, send("b"), 1, 5*sec + ms},
				{6 * sec, all(quiet("b"), func(l *ledger, t instant) { l.timed(t, instant(5*sec)) }), 1, 4*sec + ms},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { play(t, Adaptive, tt.rows) })
	}
}

// A part is never so small that a quota which is said to be full is not asked.
func TestPart(t *testing.T) {
	s := share{fall: 1000}
	assert.Equal(t, 1./64, s.part())
	assert.Equal(t, 0.5, (&share{ours: 8, fall: 16}).part())
	assert.Equal(t, 1., (&share{ours: 7, fall: 15}).part())
	s.ours = 2000
	assert.Equal(t, 1., s.part())
	assert.Equal(t, 1., new(share).part())
}

// bare answers requests that depart together with a bare refusal where they are
// more than the server takes, and returns how many were served.
func (d *desk) bare(now time.Duration, left *int, pause time.Duration) (served int) {
	d.t.Helper()
	var out []*Lease
	for len(out) < 50 {
		l, r := d.try(now, "")
		if r != nil {
			break
		}
		out = append(out, l)
	}
	for _, l := range out {
		if *left == 0 {
			d.done(now, l, Report{Refused: true, Pause: pause})
			continue
		}
		*left--
		served++
		d.done(now, l, Report{})
	}
	return served
}

// 5: a server that says nothing and takes ten in 10 s is asked for ten in 10 s,
// once it has refused twice, and for more now and then.
func TestGuess(t *testing.T) {
	d := newDesk(t)
	var sent, refusals []int
	for window := range 40 {
		now, left := time.Duration(window)*11*sec, 10
		served, before := 0, left
		for n := 1; n > 0; {
			n = d.bare(now, &left, 10*sec)
			served += n
		}
		require.Equal(t, before-left, served)
		sent = append(sent, served)
		r, _ := d.o.Check(t.Context(), d.at(now), new(Ask))
		require.NotNil(t, r, "window %d: nothing holds the next", window)
		if r.Reason == ReasonRetryAfter {
			refusals = append(refusals, window)
		}
	}
	for window, n := range sent {
		assert.Equal(t, 10, n, "window %d", window)
	}
	// The first two teach; after the eleventh clean one, one more is tried.
	assert.Equal(t, []int{0, 1, 12, 23, 34}, refusals)
}

// Whoever refuses every second request is not taken to allow one at a time.
func TestNoGuessFromFew(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	for range 10 {
		for left := 3; d.bare(now, &left, sec) > 0; {
		}
		now += 2 * sec
	}
	assert.Nil(t, d.o.find(accountID{}).line)
	assert.Equal(t, int64(None), d.o.find(accountID{}).quota)
}

// A server that names its policies is not guessed at.
func TestNoGuessOfPolicies(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Terms: []Terms{{Policy: Policy{Name: "api", Quota: 1000, Window: mins}}}})
	for window := range 4 {
		left := 10
		for d.bare(time.Duration(window)*11*sec, &left, 10*sec) > 0 {
		}
	}
	assert.Equal(t, int64(None), d.o.find(accountID{}).quota)
}

// After a refusal that says nothing, as many follow an answer as came back, and
// one more for each.
func TestSlowStart(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Refused: true, Pause: sec})
	now := sec
	var steps []int
	for range 8 {
		var out []*Lease
		for len(out) < 1000 {
			l, r := d.try(now, "")
			if r != nil {
				break
			}
			out = append(out, l)
		}
		now += 100 * ms
		for _, l := range out {
			d.done(now, l, Report{})
		}
		steps = append(steps, len(out))
	}
	assert.Equal(t, []int{1, 2, 4, 8, 16, 32, 64, 1000}, steps)
}

// While answers are long in coming, one follows at a time, as probes do.
func TestSlowStartBesideLongPolls(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Refused: true, Pause: sec})
	d.done(1100*ms, d.send(sec, ""), Report{})
	d.send(1100*ms, "")
	d.send(1100*ms, "")
	assert.Equal(t, 900*ms, d.wait(1100*ms, ""))
	now := 2 * sec
	for _, wait := range []time.Duration{sec, 2 * sec, 4 * sec} {
		d.send(now, "")
		assert.Equal(t, wait, d.wait(now, ""))
		now += wait
	}
}

// An answer may help who waits for our part of a quota, and nobody who wants
// more than there is.
func TestHope(t *testing.T) {
	l := newLedger(Adaptive)
	all(others(50, 100), send("a"))(l, 0)
	says("a", 50, mins)(l, instant(sec))
	assert.False(t, l.hopeful(instant(2*sec), 20), "nothing is in flight")
	sendN("b", 10)(l, instant(2*sec))
	assert.True(t, l.hopeful(instant(2*sec), 40))
	assert.False(t, l.hopeful(instant(2*sec), 41))
	pauses(sec)(l, instant(2*sec))
	assert.False(t, l.hopeful(instant(2*sec), 1))
	l.hold = 0
	for _, b := range []basis{open, presumed} {
		l.basis = b
		assert.True(t, l.hopeful(instant(2*sec), 41))
	}
	l.basis = counted
	assert.False(t, l.hopeful(instant(2*sec), 1))
}

// Plain takes servers at their word.
func TestPlainHasNoHabits(t *testing.T) {
	d := newDesk(t)
	d.o.accounts.Strategy = Plain
	for window := range 5 {
		left := 10
		d.bare(time.Duration(window)*11*sec, &left, 10*sec)
	}
	assert.Nil(t, d.o.scope(0, "").guess)
	d.bare(mins, new(int), sec)
	d.done(2*mins, d.send(2*mins, ""), Report{})
	assert.Equal(t, 1000, d.more(2*mins, ""), "no slow start")
	play(t, Plain, []row{
		{0, all(advertises(20, sec), send("a")), 100, 0},
		{32 * ms, says("a", 0, sec), 0, sec + 8*ms - 32*ms},
		{2 * sec, send("b"), 0, sec},
		{2*sec + 32*ms, says("b", 0, 0), 0, sec - 32*ms},
		{3 * sec, send("c"), 0, sec},
		{3*sec + 32*ms, says("c", 0, sec), 0, sec + 8*ms - 32*ms},
	})
	play(t, Plain, []row{
		{0, send("a"), 100, 0},
		{32 * ms, says("a", 100, mins), 100, unsaid},
		{sec, sendN("b", 20), 80, unsaid},
		{sec + 32*ms, says("b", 20, 59*sec), 20, unsaid},
	})
}

// Windows of our own count have a guard, whether their first answer repeats the
// policy or not.
func TestGuardOfCounts(t *testing.T) {
	for how, want := range map[Strategy]time.Duration{Adaptive: ms, Plain: 0} {
		d := newDesk(t)
		d.o.accounts.Strategy = how
		const trip = 32 * ms
		first := terms("api", 3, 10*sec)
		d.done(trip, d.send(0, ""), Report{Terms: first})
		d.more(trip, "", api(1))
		assert.Equal(t, 10*sec+want-trip, d.wait(trip, "", api(1)), "%v, the first", how)
		start := 10*sec + ms
		d.done(start+trip, d.send(start, "", api(1)), Report{})
		d.more(start+trip, "", api(1))
		assert.Equal(t, 10*sec+want-trip, d.wait(start+trip, "", api(1)), "%v, the next", how)
	}
}

// What says that a server rounds windows down.
func TestFloors(t *testing.T) {
	tests := []struct {
		how          Strategy
		quota, avail int64
		w            time.Duration
		want         bool
	}{
		{Adaptive, None, 0, 0, true},
		{Adaptive, None, 5, 0, false},
		{Adaptive, 10, 9, 0, true},
		{Adaptive, 10, 10, 0, false},
		{Adaptive, 10, 0, sec, false},
		{Plain, 10, 0, 0, false},
	}
	for _, tt := range tests {
		l := newLedger(tt.how)
		all(advertises(tt.quota, 10*sec), send("a"))(l, 0)
		says("a", tt.avail, tt.w)(l, instant(32*ms))
		assert.Equal(t, tt.want, l.book.floors, "%+v", tt)
	}
}

func TestStrategyString(t *testing.T) {
	assert.Equal(t, "adaptive plain", fmt.Sprint(Adaptive, " ", Plain))
}
