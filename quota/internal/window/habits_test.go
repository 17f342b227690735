package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What Adaptive does otherwise than Plain, by the habits that its documentation
// counts. Round trips are of 32 ms, so that the guard is 1 ms.
func TestAdaptive(t *testing.T) {
	const trip = 32 * ms
	far := func(l *ledger, _ Instant) { l.least = 60 * ms }
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
				{10*sec + ms + 2*trip, says("c", 5, 10*sec), 5, 10*sec + ms + 2*trip - (trip + trip/64) + 2*ms - (ms + 2*trip)},
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
			name: "2: where no policy says how long windows are, a window of 0 may last for 1 s",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 5, 0), 5, sec - trip},
				{trip, sendN("b", 5), 0, sec - trip},
				{2 * trip, says("b", 0, 0), 0, unsaid},
				{3 * sec, send("c"), 0, unsaid},
				{3*sec + trip, says("c", 5, 0), 5, sec - trip}, // as much and as long as ever, but no window lasts for 0 s
			},
		},
		{
			name: "2: where a policy says it, the longest that was told may not be all of it",
			rows: []row{
				{0, all(advertises(20, 3*sec), send("a")), 100, 0},
				{trip, says("a", 18, 0), 18, sec + ms - trip},
				{2 * sec, send("b"), 17, unsaid},
				{2*sec + trip, says("b", 19, sec), 19, 2*sec + ms - trip},
			},
		},
		{
			name: "2: there the request that began a window shows how long it is, until that is refused",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 4, 2*sec), 4, 2*sec + ms - trip},
				{trip, sendN("b", 4), 0, unsaid},
				{2 * trip, says("b", 0, 0), 0, unsaid}, // it rounds down
				{4 * sec, send("c"), 0, unsaid},
				{4*sec + trip, says("c", 4, 2*sec), 4, 2*sec + ms - trip},
				{7 * sec, send("d"), 3, unsaid},
				{7*sec + trip, says("d", 3, 2*sec), 3, 3*sec + ms - trip}, // it has not begun it
				{11 * sec, send("e"), 2, unsaid},
				{11*sec + trip, says("e", 4, sec), 4, 2*sec + ms - trip}, // nor this one
				{14 * sec, send("f"), 3, unsaid},
				{14*sec + trip, says("f", 4, 2*sec), 4, 2*sec + ms - trip},
				{14*sec + trip, sendN("g", 4), 0, 2*sec + ms - trip},
				{14*sec + 2*trip, says("g", 0, sec), 0, unsaid},
				{16*sec + ms, send("h"), 0, unsaid},
				{16*sec + ms + trip, stillRefuses("h", 0), 0, unsaid},
				{18 * sec, send("i"), 0, unsaid},
				{18*sec + trip, says("i", 4, 2*sec), 4, 3*sec + ms - trip},
			},
		},
		{
			name: "2: also if the server says that it is longer",
			rows: []row{
				{0, all(later, advertises(20, 2*sec), send("a")), 100, 0},
				{trip, says("a", 19, 0), 19, sec + ms - trip},
				{trip, send("b"), 18, unsaid},
				{2 * trip, says("b", 18, 5*sec), 18, 2*sec + ms - trip},
			},
		},
		{
			name: "2: until a request is refused that relied on it",
			rows: []row{
				{0, all(later, advertises(20, 2*sec), sendN("a", 20)), 100, 0},
				{trip, says("a", 0, 5*sec), 0, 2*sec + ms - trip},
				{2*sec + ms, send("b"), 0, sec},
				{2*sec + ms + trip, stillRefuses("b", 3*sec), 0, 3*sec + ms - trip},
				{6 * sec, send("c"), 0, sec},
				{6*sec + trip, says("c", 10, 5*sec), 10, 5*sec + ms - trip},
			},
		},
		{
			name: "2: and not where other clients may use the quota",
			rows: []row{
				{0, all(advertises(20, 2*sec), send("a")), 100, 0},
				{trip, says("a", 0, 5*sec), 0, 5*sec + ms - trip},
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
				// If they do not, they are not waited for any more.
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
			name: "3: no trial where our own requests have used it up",
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
			name: "4: a slip of the server was used by no other client",
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
				{trip, all(quiet("a"), func(l *ledger, t Instant) { l.Timed(t, 0) }), 2, 10*sec + ms - trip},
				// Of an answer to another one, nothing is to be learned of the window.
				{5 * sec, send("b"), 1, 5*sec + ms},
				{6 * sec, all(quiet("b"), func(l *ledger, t Instant) { l.Timed(t, Instant(5*sec)) }), 1, 4*sec + ms},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { play(t, Adaptive, tt.rows) })
	}
}

func TestPart(t *testing.T) {
	s := contention{fall: 1000}
	assert.Equal(t, 1./64, s.part())
	assert.Equal(t, 0.5, (&contention{ours: 8, fall: 16}).part())
	assert.Equal(t, 1., (&contention{ours: 7, fall: 15}).part())
	assert.Equal(t, 0.96875, (&contention{ours: 15.5, fall: 16}).part())
	assert.Equal(t, 1., (&contention{ours: 19.75, fall: 20}).part(), "one unit was others', long ago")
	s.ours = 2000
	assert.Equal(t, 1., s.part())
	assert.Equal(t, 1., new(contention).part())
}

// An answer may help a request that waits for our part of a quota, but not one that
// needs more than is left.
func TestHope(t *testing.T) {
	l := newLedger(Adaptive)
	all(others(50, 100), send("a"))(l, 0)
	says("a", 50, mins)(l, Instant(sec))
	assert.False(t, l.Hopeful(Instant(2*sec), 20), "nothing is in flight")
	sendN("b", 10)(l, Instant(2*sec))
	assert.True(t, l.Hopeful(Instant(2*sec), 40))
	assert.False(t, l.Hopeful(Instant(2*sec), 41))
	assert.True(t, l.Hopeful(Instant(2*sec-1), 50), "the figure may count what is in flight already")
	assert.False(t, l.Hopeful(Instant(2*sec-1), 51))
	pauses(sec)(l, Instant(2*sec))
	assert.True(t, l.Hopeful(Instant(2*sec), 1), "an answer may let it go when the pause is over")
	pauses(2*mins)(l, Instant(2*sec))
	assert.False(t, l.Hopeful(Instant(2*sec), 1))
	l.Hold = 0
	for _, b := range []State{Unknown, Expired} {
		l.State = b
		assert.True(t, l.Hopeful(Instant(2*sec), 41))
	}
	l.State = Counting
	assert.False(t, l.Hopeful(Instant(2*sec), 1))
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
		says("a", tt.avail, tt.w)(l, Instant(32*ms))
		assert.Equal(t, tt.want, l.server.RoundsDown, "%+v", tt)
	}
}

// Plain takes servers at their word.
func TestPlainHasNoHabits(t *testing.T) {
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

// A request that cost all units of a window has begun it: what the server says of it is not rounded.
func TestWholeWindowOfOneRequest(t *testing.T) {
	for n, want := range map[int64]time.Duration{9: 11 * sec, 10: 10 * sec} {
		l := newLedger(Adaptive)
		l.server.RoundsDown, l.server.Most = true, 10
		charge := Charge{Units: n, Mark: l.Take(0, n)}
		l.Answered(charge, false)
		l.Report(Instant(32*ms), 0, Figure{Window: 10 * sec, Charge: charge}, false, &l.server)
		assert.Equal(t, want, l.due.Since(0), n)
	}
}
