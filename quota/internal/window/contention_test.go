package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What a figure falls by is compared with what was served to us. Sums of more
// than 400 units are halved, if more than 16 of them were ours.
func TestContentionCompares(t *testing.T) {
	tests := []struct {
		name       string
		served     int64 // since the row before
		figure     int64
		refused    bool
		ours, fall float32
	}{
		{"the first figure", 7, 100, false, 0, 0},
		{"half of it was another client's", 20, 60, false, 20, 40},
		{"a fall is at most ours, and not more", 50, 40, false, 40, 60},
		{"a rise says nothing", 5, 90, false, 40, 60},
		{"nor does a figure that stands", 1, 90, false, 40, 60},
		{"nor a slip", 0, 0, false, 40, 60},
		{"after a slip, what was served before counts", 29, 60, false, 70, 90},
		{"nothing left is true where a request was refused", 10, 0, true, 80, 150},
		{"the next one is compared with nothing", 0, 400, false, 80, 150},
		{"halved", 9, 149, false, 44.5, 200.5},
	}
	l := newLedger(Adaptive)
	for _, tt := range tests {
		l.contention.served += tt.served
		l.available = tt.figure
		l.compared.refused = l.compared.refused || tt.refused
		l.contention.observe(&l.Window)
		assert.Equal(t, tt.ours, l.contention.ours, "%s: ours", tt.name)
		assert.Equal(t, tt.fall, l.contention.fall, "%s: all", tt.name)
	}
}

// Our part is not told from a few units of ours: the sums are halved once there are more than 16, or at
// 1024, where that is a 64th.
func TestContentionFades(t *testing.T) {
	for _, tt := range []struct {
		ours, fall, halved float32
	}{{17, 400, 1}, {17, 401, 2}, {16, 401, 1}, {16, 1024, 1}, {16, 1025, 2}} {
		l := newLedger(Adaptive)
		others(tt.ours, tt.fall-1)(l, 0)
		l.contention.from, l.available, l.compared.refused = 1, 0, true
		l.contention.compare(&l.Window)
		assert.Equal(t, tt.ours/tt.halved, l.contention.ours, tt)
		assert.Equal(t, tt.fall/tt.halved, l.contention.fall, tt)
	}
}

// Windows are compared each by itself.
func TestContentionOfAWindow(t *testing.T) {
	l := newLedger(Adaptive)
	see := func(figure int64, refused bool) contention {
		l.available = figure
		l.compared.refused = l.compared.refused || refused
		l.contention.observe(&l.Window)
		return contention{ours: l.contention.ours, fall: l.contention.fall}
	}
	see(100, false)
	see(60, true)
	l.contention.close(&l.Window)
	assert.Equal(t, contention{fall: 40}, see(20, false), "the first figure of a window is compared with none before")
	assert.Equal(t, contention{fall: 40}, see(0, false), "a slip, though a request was refused in the window before")
}

// Who sends one at a time, and one only in a window, never sees a figure fall,
// and does not believe for ever that others are there.
func TestContentionForgets(t *testing.T) {
	l := newLedger(Adaptive)
	all(advertises(50, 10*sec), others(1, 100))(l, 0)
	var windows []int
	now := Instant(0)
	for len(windows) < 200 {
		first, n := now, 0
		for again := now; again == now && n < 50; again, _ = l.Ready(now, 1) {
			n++
			send("a")(l, now)
			now = now.Add(32 * ms)
			says("a", int64(50-n), 10*sec-time.Duration(now-first)/sec*sec)(l, now)
		}
		windows = append(windows, n)
		now = l.end
	}
	// Of 99 that were not ours, 38 are left after 121 windows: 1/39 of 49 is enough.
	assert.Equal(t, 1, windows[120])
	assert.GreaterOrEqual(t, windows[123], 48)
	assert.GreaterOrEqual(t, windows[199], 49)
}

// What was sent before counts as ours unless it was refused, or is older than
// the last window.
func TestContentionOfAnswers(t *testing.T) {
	tests := []struct {
		name       string
		do         event
		ours, fall float32
	}{
		{"served", says("b", 60, 59*sec), 40, 40},
		{"refused", refuses("b", 60, 59*sec), 0, 40},
		{"of the last window", all(func(l *ledger, _ Instant) { l.epoch++ }, says("b", 60, 59*sec)), 40, 40},
		{"of the one before", all(func(l *ledger, _ Instant) { l.epoch += 2 }, says("b", 60, 59*sec)), 0, 40},
		{"answered without a figure", all(quiet("b"), send("c"), says("c", 59, 58*sec)), 41, 41},
	}
	for _, tt := range tests {
		l := newLedger(Adaptive)
		send("a")(l, 0)
		says("a", 100, mins)(l, Instant(ms))
		sendN("b", 40)(l, Instant(sec))
		tt.do(l, Instant(2*sec))
		l.InFlight = 0
		l.contention.observe(&l.Window)
		assert.Equal(t, tt.ours, l.contention.ours, tt.name)
		assert.Equal(t, tt.fall, l.contention.fall, tt.name)
	}
}

// The last unit is left to others, but not if they spend less than one of a whole quota.
func TestLastUnit(t *testing.T) {
	for _, tt := range []struct {
		quota int64
		ours  float32 // of 100
		want  bool
	}{
		{5, 79, false}, {5, 81, true}, {10, 81, false}, {10, 89, false}, {10, 91, true}, {100, 91, false}, {100, 98.75, false}, {100, 99.25, true},
		{None, 99.25, false},
	} {
		l := newLedger(Adaptive)
		send("a")(l, 0)
		says("a", 1, mins)(l, 0)
		l.SetPolicy(Requests, tt.quota, sec)
		others(tt.ours, 100)(l, 0)
		assert.Equal(t, tt.want, l.contention.allows(&l.Window, 1), tt)
		assert.False(t, l.contention.allows(&l.Window, 2), tt)
		l.available = 2
		assert.False(t, l.contention.allows(&l.Window, 2), "one unit only")
		l.available = 1
		l.SetPolicy(Requests, tt.quota, shortReturn+1)
		assert.False(t, l.contention.allows(&l.Window, 1), tt)
		l.SetPolicy(Requests, tt.quota, shortReturn)
		assert.Equal(t, tt.want, l.contention.allows(&l.Window, 1), tt)
		send("b")(l, 0)
		assert.False(t, l.contention.allows(&l.Window, 1), "with one out")
	}
}

// A figure above the quota is not true. What is missing after it shows no other client.
func TestFigureAboveQuota(t *testing.T) {
	for figure, want := range map[int64]float32{20: 14, 21: 0} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 20, mins)
		send("a")(l, 0)
		says("a", figure, mins)(l, Instant(ms))
		send("b")(l, Instant(sec))
		says("b", 5, mins-sec)(l, Instant(sec+ms))
		assert.Equal(t, want, l.contention.fall-l.contention.ours, figure)
	}
}

// others are on the quota of a ledger, so that our part of it is known.
func others(ours, fall float32) event {
	return func(l *ledger, _ Instant) { l.contention.ours, l.contention.fall = ours, fall }
}

// later is after a window that has shown no other client.
func later(l *ledger, t Instant) { l.close(t) }

func TestContention(t *testing.T) {
	const trip = 32 * ms
	tests := []struct {
		name string
		rows []row
	}{
		{
			name: "what is in flight may be what the figure fell by",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 100, mins), 100, unsaid},
				{sec, all(sendN("b", 40), sendN("c", 40)), 20, unsaid},
				{sec + trip, says("b", 20, 59*sec), 0, unsaid},
				{sec + 2*trip, says("c", 60, 59*sec), 20, unsaid},
			},
		},
		{
			name: "what is in flight when a window ends was ours",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 100, 10*sec), 100, unsaid},
				{9900 * ms, all(sendN("b", 30), send("c")), 69, unsaid},
				{9900*ms + trip, says("c", 69, sec), 39, unsaid},
				{10*sec + ms, send("d"), 8, unsaid},
				{10*sec + ms + trip, says("d", 99, 10*sec), 69, unsaid}, // b may still arrive
				{10*sec + ms + 2*trip, nothing, 99, unsaid},
			},
		},
		{
			name: "what departed at the end of a window may arrive in the next",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 99, 10*sec), 99, unsaid},
				{9990 * ms, sendN("b", 40), 59, unsaid},
				{10*sec + ms, send("c"), 18, unsaid},
				{10*sec + ms + trip, says("c", 99, 10*sec), 59, unsaid},
				{10*sec + 2*trip, says("b", 59, 10*sec), 59, unsaid},
				{10*sec + 3*trip, send("d"), 58, unsaid},
				{10*sec + 4*trip, says("d", 58, 10*sec), 58, unsaid},
			},
		},
		{
			name: "and is waited for",
			rows: []row{
				{0, send("a"), 100, 0},
				{trip, says("a", 99, 10*sec), 99, unsaid},
				{9990 * ms, sendN("b", 40), 59, unsaid},
				{10*sec + ms, send("c"), 18, unsaid},
				{10*sec + ms + trip, all(says("c", 99, 10*sec), send("d")), 58, unsaid},
				{10*sec + 2*trip, all(says("d", 58, 10*sec), says("b", 58, 10*sec)), 58, unsaid},
			},
		},
		{
			name: "what departed at the end of a window counts until it cannot arrive any more",
			rows: []row{
				{0, all(others(50, 100), send("a")), 100, 0},
				{trip, says("a", 50, 10*sec), 10, unsaid}, // 0.4 × 1/2 × 50 + 0.5
				{9990 * ms, sendN("b", 5), 5, unsaid},
				{10*sec + ms, send("c"), 39, unsaid},                    // what was left over may go
				{10*sec + ms + trip, says("c", 95, 10*sec), 14, unsaid}, // 19.5 - 5
				{10*sec + ms + 2*trip, nothing, 19, unsaid},
			},
		},
		{
			name: "a lowered policy was used by no other client",
			rows: []row{
				{0, all(advertises(100, mins), send("a")), 100, 0},
				{trip, says("a", 99, mins), 99, unsaid},
				{sec, sendN("b", 9), 90, unsaid},
				{sec + trip, all(advertises(50, mins), says("b", 40, 59*sec)), 40, unsaid},
			},
		},
		{
			name: "one of two clients takes the last unit but one, and not the last",
			rows: []row{
				{0, all(others(50, 100), send("a")), 100, 0},
				{trip, says("a", 2, mins), 1, unsaid},
				{sec, send("b"), 0, mins - sec + ms},
				{sec + trip, says("b", 1, mins-sec), 0, sec},
			},
		},
		{
			name: "one of three does not",
			rows: []row{
				{0, all(others(39, 100), send("a")), 100, 0},
				{trip, says("a", 3, mins), 0, sec},
			},
		},
		{
			// 0.4 × 1/64 × 50 + 0.5 is less than one.
			name: "after the time of a figure without a window, one asks and not all",
			rows: []row{
				{0, all(others(1, 100), send("a")), 100, 0},
				{trip, says("a", 50, -1), 0, sec},
				{trip + sec, nothing, 1, sec},
			},
		},
		{
			// The draft, Section 3.1.2, bounds what may be used; it does not forbid to use it.
			name: "one asks in a long window, too, and not all",
			rows: []row{
				{0, all(others(1, 100), send("a")), 100, 0},
				{trip, says("a", 50, time.Hour), 0, sec},
				{trip + sec, nothing, 1, ProbeInterval},
				{trip + sec, send("b"), 0, ProbeInterval},
				{2*trip + sec, says("b", 49, time.Hour-sec), 0, sec},
			},
		},
		{
			name: "others that are seen again and again are asked after less often",
			rows: []row{
				{0, all(others(1, 100), send("a")), 100, 0},
				{sec, says("a", 50, time.Hour), 0, sec},
				{2 * sec, send("b"), 0, ProbeInterval},
				{3 * sec, says("b", 40, time.Hour-2*sec), 0, 4 * sec},
				{7 * sec, send("c"), 0, ProbeInterval},
				{8 * sec, says("c", 30, time.Hour-7*sec), 0, 16 * sec},
				{24 * sec, send("d"), 0, ProbeInterval},
				{25 * sec, says("d", 29, time.Hour-24*sec), 0, 4 * sec},
				{29 * sec, send("e"), 0, ProbeInterval},
				{30 * sec, says("e", 28, time.Hour-29*sec), 0, sec},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { play(t, Adaptive, tt.rows) })
	}
}

// What costs more than the part that may be in flight goes alone, or it would
// wait for the end of the window, whatever is left.
func TestContentionOfDearRequests(t *testing.T) {
	l := newLedger(Adaptive)
	all(others(100, 200), send("a"))(l, 0)
	says("a", 20, mins)(l, Instant(sec))
	now := Instant(2*sec - 1)
	tests := []struct {
		n    int64
		goes bool
	}{{4, true}, {10, true}, {11, false}, {20, false}} // of 20, ours are 10, and 4.5 may be in flight
	for _, tt := range tests {
		again, _ := l.Ready(now, tt.n)
		assert.Equal(t, tt.goes, again == now, "%d", tt.n)
	}
	l.available = 1
	again, _ := l.Ready(now, 1)
	assert.Equal(t, now+1, again, "half of it is ours: it may be another client's")
	l.available = 20
	send("b")(l, now)
	again, _ = l.Ready(now, 10)
	assert.Greater(t, again, now+1, "beside another")
}

// The more a unit is worth, the sooner one request asks for what others may have left.
func TestPatienceBesideOthers(t *testing.T) {
	for unit, want := range map[time.Duration]time.Duration{
		999 * ms: 48 * sec,
		sec:      2 * sec,
		20 * sec: 40 * sec,
		25 * sec: 48 * sec,
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 10, 10*unit)
		l.compared.others = 5
		assert.Equal(t, want, l.patience(), "%v", unit)
	}
}

// Within a data centre the others' answers have come after some round trips. Where many others use the quota, each
// of them would send then; and a unit that takes a second or more is worth looking for anyway.
func TestPatienceWithinADataCentre(t *testing.T) {
	for _, tt := range []struct {
		least time.Duration
		ours  float32 // of 100
		unit  time.Duration
		want  time.Duration
	}{
		{2 * ms, 50, 50 * ms, 40 * ms},
		{6250 * time.Microsecond, 50, 50 * ms, 125 * ms},
		{6251 * time.Microsecond, 50, 50 * ms, 48 * sec},
		{0, 50, 50 * ms, 48 * sec}, // it is not known
		{2 * ms, 41, 50 * ms, 40 * ms},
		{2 * ms, 39, 50 * ms, 48 * sec},
		{2 * ms, 100, 50 * ms, 48 * sec},
		{2 * ms, 50, 999 * ms, 40 * ms},
		{2 * ms, 50, sec, 2 * sec},
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 10, 10*tt.unit)
		l.contention.ours, l.contention.fall, l.compared.others, l.least = tt.ours, 100, 5, tt.least
		assert.Equal(t, tt.want, l.patience(), "%+v", tt)
	}
	b := newBucket(Requests, 50, 40, 20*sec)
	b.rare.fill = 10 * sec // a unit in 200 ms
	b.contention.ours, b.contention.fall, b.compared.others, b.least = 50, 100, 5, 2*ms
	assert.Equal(t, 48*sec, b.patience(), "a bucket")
}

// Of a bucket it is a unit for us that counts.
func TestPatienceAtBucket(t *testing.T) {
	for _, tt := range []struct {
		ours, fall float32
		want       time.Duration
	}{{0, 0, 8 * sec}, {50, 100, 16 * sec}, {10, 100, 48 * sec}} {
		l := newBucket(Requests, 50, 40, 20*sec)
		l.rare.fill = 100 * sec // a unit in 2 s
		l.contention.ours, l.contention.fall, l.compared.others = tt.ours, tt.fall, 5
		assert.Equal(t, tt.want, l.patience(), "%v of %v", tt.ours, tt.fall)
	}
}

// Where no figure says that anything is left, other clients are forgotten once many trials in a row were served. One wrong
// figure of 20 where there is never more than one looks like them.
func TestContentionWithoutFigures(t *testing.T) {
	for _, tt := range []struct {
		served uint8
		from   int64
		part   float64 // after 30 windows, and after one more
		next   float64
	}{
		{sureTrials, 0, .05, .05},
		{sureTrials + 1, 0, .0624, 1},
		{0, 1, .0624, 1},
	} {
		w := New(Adaptive)
		w.contention = contention{ours: 1, fall: 20}
		ends := func() {
			w.contention.from, w.available, w.refill.served = tt.from, tt.from, tt.served
			w.close(0)
		}
		for range 30 {
			ends()
		}
		assert.InDelta(t, tt.part, w.contention.part(), .0001, "%+v", tt)
		ends()
		assert.InDelta(t, tt.next, w.contention.part(), .0001, "%+v", tt)
	}
}
