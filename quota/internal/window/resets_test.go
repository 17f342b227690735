package window

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// names answers a request with a service limit that ends at an instant, so many seconds
// after the Date of the answer. The window is what the instant says if it is rounded
// down.
func names(name string, avail, resets, ahead int64, refused bool) event {
	return func(l *ledger, t Instant) {
		c := l.land(name)
		l.Answered(c, refused)
		f := Figure{Available: avail, Window: time.Duration(ahead+1) * sec, Resets: resets, Ahead: ahead}
		l.Report(t, c.Sent, f, refused, &l.server)
	}
}

// The X-RateLimit-Reset of most servers is a Unix time, and Date is in whole seconds, too
// (RFC 9110, Section 6.6.1). Round trips are of 32 ms, so that the guard is 1 ms.
func TestResets(t *testing.T) {
	const (
		trip            = 32 * ms
		served, refused = false, true
	)
	tests := []struct {
		name string
		rows []row
	}{
		{
			// Of a window of 2 s from 100.4 to 102.4, which is rounded up to 103.
			name: "an instant that is rounded up tells the end of a window of whole seconds",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 1, 103, 3, served), 1, 2*sec + ms - trip},
				// A later answer has a later Date, and one that took longer has no part in the guard.
				{900 * ms, send("b"), 0, 2*sec + ms - 900*ms},
				{900*ms + 2*trip, names("b", 0, 103, 2, served), 0, 2*sec + ms - 900*ms - 2*trip},
				{2*sec + ms, send("c"), 0, sec},
				{2*sec + ms + trip, names("c", 1, 105, 3, served), 1, 2*sec + ms - trip},
			},
		},
		{
			name: "the first departure that was told it counts, whichever answer comes first",
			rows: []row{
				{0, send("a"), 100, 0},
				{700 * ms, send("b"), 100, 0},
				{700*ms + trip, names("b", 1, 103, 2, served), 0, sec + ms - trip},
				{800 * ms, names("a", 1, 103, 3, served), 1, 2*sec + 100*ms - 800*ms}, // a guard of 800 ms
			},
		},
		{
			name: "a late answer of the window before changes nothing",
			rows: []row{
				{0, send("a", "b"), 100, 0},
				{trip, names("a", 1, 103, 3, served), 0, 2*sec + ms - trip},
				{2*sec + ms, send("c"), 0, sec},
				{2*sec + ms + trip, names("c", 4, 105, 3, served), 3, unsaid},
				{2500 * ms, names("b", 1, 103, 3, served), 4, 4*sec + 2*ms - 2500*ms},
				{2500 * ms, send("d"), 3, unsaid},
				{2500*ms + trip, names("d", 3, 105, 3, served), 3, 4*sec + 2*ms - 2500*ms - trip},
			},
		},
		{
			// From 100.4 to 102.4, which is rounded down to 102.
			name: "one that is rounded down makes one request too early",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 0, 102, 2, served), 0, sec + ms - trip},
				{sec + ms, send("b"), 0, sec},
				{sec + ms + trip, names("b", 0, 102, 1, refused), 0, 2*sec + ms - sec - ms - trip},
				{2*sec + ms, send("c"), 0, sec},
				{2*sec + ms + trip, names("c", 0, 104, 2, served), 0, 2*sec + ms - trip},
			},
		},
		{
			// Windows of 2 s from 100.4, 102.8 and 105.2 on. The second one ends at 104.8, which is rounded to 105.
			name: "one that is rounded to the nearest second is told with a second more now and then",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 0, 102, 2, served), 0, sec + ms - trip},
				{sec + ms, send("b"), 0, sec},
				{sec + ms + trip, names("b", 0, 102, 1, refused), 0, sec - trip},
				{2400 * ms, send("c"), 0, sec},
				{2400*ms + trip, names("c", 0, 105, 3, served), 0, 2*sec + ms - trip},
				{4800 * ms, send("d"), 0, sec},
				{4800*ms + trip, names("d", 0, 107, 2, served), 0, 2*sec + ms - trip},
			},
		},
		{
			// Windows begin with a second in which nothing departs: they last 3 s, from 101, 104 and 107 on.
			name: "unless that was too early once",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 0, 104, 2, served), 0, sec + ms - trip},
				{sec + ms, send("b"), 0, sec},
				{sec + ms + trip, names("b", 0, 104, 1, refused), 0, sec - trip},
				{2400 * ms, send("c"), 0, sec},
				{2400*ms + trip, names("c", 0, 107, 3, served), 0, 2*sec + ms - trip},
				{4401 * ms, send("d"), 0, sec},
				{4401*ms + trip, names("d", 0, 107, 1, refused), 0, sec - trip},
				{5500 * ms, send("e"), 0, sec},
				{5500*ms + trip, names("e", 0, 110, 3, served), 0, 3*sec + ms - trip},
				{8501 * ms, send("f"), 0, sec},
				{8501*ms + trip, names("f", 0, 114, 4, served), 0, 4*sec + ms - trip},
			},
		},
		{
			name: "a window is never shorter than a second",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 0, 100, 0, served), 0, sec + ms - trip},
			},
		},
		{
			name: "nor longer than can be said",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 3, 1<<50, 1<<50, served), 3, ProbeInterval},
			},
		},
		{
			name: "units that come back before the instant show that it is not the end",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, names("a", 0, 103, 3, served), 0, 2*sec + ms - trip},
				{2*sec + ms, send("b"), 0, sec},
				{2*sec + ms + trip, names("b", 0, 103, 1, served), 0, sec + ms - trip},
			},
		},
		{
			name: "a Retry-After that ends earlier counts, however near",
			rows: []row{
				{0, all(send("a"), func(l *ledger, _ Instant) { l.server.Instants = lateInstants }), 100, 0},
				{trip, all(names("a", 0, 103, 3, refused), pauses(1997*ms)), 0, 1997 * ms},
				{trip + 1997*ms, send("b"), 0, sec},
			},
		},
		{
			name: "of a quota with other users, an end that is not proved frees nothing",
			rows: []row{
				{0, all(others(50, 100), send("a")), 100, 0},
				{trip, names("a", 50, 103, 3, served), 10, unsaid},
				{2*sec + ms, nothing, 1, sec},
			},
		},
		{
			name: "and one that is proved frees what is left",
			rows: []row{
				{0, all(others(50, 100), send("a"), func(l *ledger, _ Instant) { l.server.Instants = 1 }), 100, 0},
				{trip, names("a", 50, 103, 3, served), 10, unsaid},
				{2*sec + ms, nothing, 50, unsaid},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { play(t, Adaptive, tt.rows) })
	}
}

// What an answer after the window says of the instants of its server. The window ended at
// 2 s and 1 ms.
func TestObserveInstants(t *testing.T) {
	const look = 2*sec + ms
	tests := []struct {
		name    string
		known   Instants
		look    time.Duration
		left    int64
		resets  int64
		refused bool
		want    Instants
	}{
		{"refused", 0, look, 0, 103, true, lateInstants},
		{"refused, once proved", 1, look, 0, 103, true, lateInstants},
		{"refused, proved twice", 2, look, 0, 103, true, lateInstants},
		{"refused, proved more often", 3, look, 0, 103, true, 1},
		{"refused in another window", 0, look, 0, 105, true, 1},
		{"served in another window", 0, look, 0, 105, false, 1},
		{"served in another window, again", 8, look, 0, 105, false, 8},
		{"served long after", 0, look + sec, 0, 105, false, 0},
		{"served in the same window", 0, look, 0, 103, false, looseInstants},
		{"served in the same window of what was left", 0, look, 1, 103, false, 0},
		{"before the end", 0, look - 1, 0, 103, true, 0},
		{"late, served half a second before", lateInstants, look + sec/2, 0, 105, false, lateInstants},
		{"late, served more than that before", lateInstants, look + sec/2 - 2*ms, 0, 105, false, 1},
		{"late again, served more than that before", lateInstants, look + sec/2 - 2*ms, 0, 105, false, lateInstants},
		{"late, served in the same window", lateInstants, look, 0, 103, false, lateInstants},
		{"late, something was left", lateInstants, look, 1, 105, false, lateInstants},
		{"loose, refused", looseInstants, look, 0, 103, true, looseInstants},
		{"loose and late", lateLoose, look, 0, 103, true, lateLoose},
		{"loose, served", looseInstants, look, 0, 103, false, looseInstants},
	}
	for _, tt := range tests {
		l := newLedger(Adaptive)
		send("a")(l, 0)
		l.server.Instants = max(tt.known, 0)
		names("a", tt.left, 103, 3, false)(l, Instant(32*ms))
		l.server.Instants, l.server.Retried = tt.known, strings.HasPrefix(tt.name, "late again")
		send("b")(l, Instant(tt.look))
		names("b", 0, tt.resets, 1, tt.refused)(l, Instant(tt.look+32*ms))
		assert.Equal(t, tt.want, l.server.Instants, tt.name)
	}
}

// A unit that was left when the window was over is no sign that others came back, whichever answer is the last.
func TestLeftUnitsAreNotBack(t *testing.T) {
	for _, left := range []int64{1, 2} {
		l := newLedger(Adaptive)
		send("a")(l, 0)
		names("a", left, 103, 3, false)(l, Instant(32*ms))
		look := Instant(2*sec + ms)
		send("b", "c")(l, look)
		names("b", 1, 103, 1, false)(l, look+Instant(32*ms))
		names("c", 0, 103, 1, false)(l, look+Instant(33*ms))
		assert.Equal(t, unprovedInstants, l.server.Instants, left)
		send("d")(l, look+Instant(40*ms))
		names("d", 0, 103, 1, false)(l, look+Instant(72*ms))
		assert.Equal(t, looseInstants, l.server.Instants, left)
	}
}

// A second more says that the server rounds to the nearest one only if the request began its window: it found
// the most units that were.
func TestNearestInstants(t *testing.T) {
	for _, tt := range []struct {
		avail, ahead int64
		due          time.Duration
	}{{3, 2, 2 * sec}, {3, 3, 2 * sec}, {2, 3, 3 * sec}, {3, 4, 4 * sec}} {
		l := newLedger(Adaptive)
		l.server = Server{Instants: lateInstants, Ahead: 2, Most: 4}
		send("a")(l, 0)
		names("a", tt.avail, 100+tt.ahead, tt.ahead, false)(l, Instant(32*ms))
		assert.Equal(t, Instant(tt.due), l.due, tt)
	}
}

// An end that is counted from an answer is not a second before what the server says, whatever the last one was.
func TestNearestInstantsOfSlowAnswers(t *testing.T) {
	l := newLedger(Adaptive)
	l.server = Server{Instants: lateInstants, Span: 10 * sec, answers: byAnswers}
	l.set(shortened, true)
	send("a")(l, 0)
	names("a", 0, 110, 10, false)(l, Instant(2*sec))
	assert.Equal(t, Instant(12*sec), l.due)
	assert.False(t, l.is(shortened))
}

// Plain takes the window as it is read.
func TestPlainReadsNoInstants(t *testing.T) {
	play(t, Plain, []row{
		{0, send("a"), 100, 0},
		{32 * ms, names("a", 0, 103, 3, false), 0, 4*sec + 8*ms - 32*ms},
	})
}

// A request that relied on a Retry-After and was refused says nothing of the instant.
func TestInstantsAfterRetryAfter(t *testing.T) {
	l := newLedger(Adaptive)
	l.server.Instants = 1
	send("a")(l, 0)
	all(names("a", 0, 103, 3, true), pauses(1500*ms))(l, Instant(32*ms))
	send("b")(l, Instant(1532*ms))
	names("b", 0, 103, 2, true)(l, Instant(1564*ms))
	l.server.soft, l.server.ends, l.server.farthest = soft{}, namedEnds{}, farthest{}
	assert.Equal(t, Server{Instants: 1, Span: 2 * sec, Hasty: true}, l.server)
}

// After an answer with a delay, an end is known to a second only.
func TestDelayAfterInstant(t *testing.T) {
	play(t, Adaptive, []row{
		{0, send("a", "b"), 100, 0},
		{32 * ms, names("a", 1, 103, 3, false), 0, 2*sec + ms - 32*ms},
		{32 * ms, all(says("b", 0, 2*sec), pauses(1500*ms)), 0, 2*sec + ms - 32*ms},
	})
}

// Where units come back before the instants that are named, several refusals in a short time show that these are a second
// later, until many requests in a row are served. Then one more refusal does.
func TestObserveLoose(t *testing.T) {
	s := Server{Instants: looseInstants}
	sees := func(want Instants, n int, refused bool) {
		t.Helper()
		for range n {
			assert.NotEqual(t, want, s.Instants)
			s.observeLoose(refused)
		}
		assert.Equal(t, want, s.Instants)
	}
	for range 100 { // one of five
		s.observeLoose(true)
		for range oneEarly {
			s.observeLoose(false)
		}
	}
	sees(lateLoose, 3, true)
	s.observeLoose(false)
	s.observeLoose(true)
	sees(looseInstants, mostEarly, false)
	sees(lateLoose, 1, true)
	sees(looseInstants, mostEarly, false)
	for range severalEarly - oneEarly {
		s.observeLoose(false)
	}
	sees(lateLoose, 3, true)
}

// Only a refusal that says that nothing is left, to a request of a client that is alone and relied on the instant, counts.
func TestLooseInstantsAreLater(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(*ledger)
		left int64
		want Instants
	}{
		"alone":         {func(*ledger) {}, 0, lateLoose},
		"a trial":       {func(l *ledger) { l.refill.trying = true }, 0, looseInstants},
		"others":        {func(l *ledger) { others(50, 100)(l, 0) }, 0, looseInstants},
		"another limit": {func(*ledger) {}, 1, looseInstants},
	} {
		l := newLedger(Adaptive)
		l.server.Instants, l.server.early = looseInstants, severalEarly-oneEarly
		send("a")(l, 0)
		names("a", 0, 103, 3, false)(l, Instant(32*ms))
		l.expire(Instant(100*ms), 0)
		tt.do(l)
		send("b")(l, Instant(200*ms))
		names("b", tt.left, 103, 3, true)(l, Instant(232*ms))
		assert.Equal(t, tt.want, l.server.Instants, name)
	}
}

// A request that relied on the time for a unit and was refused says nothing of the instant, either.
func TestInstantsAfterTrial(t *testing.T) {
	for _, trying := range []bool{false, true} {
		l := newLedger(Adaptive)
		send("a")(l, 0)
		names("a", 0, 103, 3, false)(l, Instant(32*ms))
		l.expire(Instant(100*ms), 0)
		l.refill.trying = trying
		send("b")(l, Instant(200*ms))
		names("b", 0, 103, 3, true)(l, Instant(232*ms))
		assert.Equal(t, map[bool]Instants{false: lateInstants, true: unprovedInstants}[trying], l.server.Instants)
	}
}

// A pause ends a window that was named as an instant if it is over earlier, however near
// that is: one that is over with the window leaves it its guard.
func TestPauseBeforeAnInstant(t *testing.T) {
	for sooner, early := range map[Instant]bool{0: false, 1: true, Instant(5 * sec): true} {
		l := newLedger(Adaptive)
		send("a")(l, 0)
		names("a", 0, 110, 9, false)(l, Instant(32*ms))
		due, end := l.due, l.end
		assert.Equal(t, due+Instant(ms), end)
		now := Instant(40 * ms)
		l.Pause(now, time.Duration(due-sooner-now), l.server)
		if early {
			end = l.Hold
		}
		assert.Equal(t, end, l.end, sooner)
	}
}
