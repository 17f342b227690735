package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// contradicts answers a request with a refusal that says when to come back, and nothing of
// what is left. A Retry-After of less than 0 is none.
func contradicts(name string, retryAfter time.Duration) event {
	return func(l *ledger, t Instant) {
		c := l.land(name)
		l.Silent(t, c, true, &l.server)
		l.Contradict(t, c.Sent, retryAfter)
		if retryAfter > 0 {
			l.Pause(t, retryAfter, l.server)
		}
	}
}

// A refusal that our own count does not expect ends the window with its Retry-After. The next
// one begins slowly, and has the whole quota.
func TestContradictedCount(t *testing.T) {
	play(t, Adaptive, []row{
		{0, all(counts(6, 60*sec), send("a", "b", "c")), 3, unsaid},
		{0, all(quiet("a", "b"), contradicts("c", 20*sec)), 0, 20 * sec},
		{20 * sec, nothing, 2, sec},
		{20 * sec, all(send("a", "b"), quiet("a")), 2, unsaid},
		{20 * sec, quiet("b"), 4, 60*sec + ms},
	})
}

// Plain takes the policy at its word: its window ends when it said.
func TestPlainIsNotContradicted(t *testing.T) {
	play(t, Plain, []row{
		{0, all(counts(3, 60*sec), send("a", "b", "c")), 0, 60 * sec},
		{0, all(quiet("a", "b"), contradicts("c", 20*sec)), 0, unsaid},
		{20 * sec, nothing, 0, unsaid},
	})
}

// contradictedTwice contradicts the count of 6 in 60 s twice, at 0 and at 10 s.
func contradictedTwice() *ledger {
	l := newLedger(Adaptive)
	all(counts(6, 60*sec), send("a"), contradicts("a", 10*sec))(l, 0)
	all(send("a", "b"), quiet("a"), contradicts("b", 10*sec))(l, Instant(10*sec))
	return l
}

// Two refusals in a row that say that a unit comes back soon: from then on, one goes in each
// sixth of a window and its guard, and more after windows without a refusal.
func TestContradictedTwice(t *testing.T) {
	l := contradictedTwice()
	const unit = 10*sec + ms/6
	require.True(t, l.IsBucket())
	assert.InDelta(t, unit, l.Pace(), 1)
	at := Instant(20 * sec)
	for range 100 { // for longer than ProbeInterval
		n, wait := room(l.Window, at)
		require.Equal(t, 0, n)
		require.LessOrEqual(t, wait, unit+time.Duration(1))
		at = at.Add(wait)
		n, _ = room(l.Window, at)
		require.Equal(t, 1, n)
		all(send("a"), quiet("a"))(l, at)
	}
	n, _ := room(l.Window, at.Add(55*sec))
	assert.Equal(t, 5, n, "it holds one more for each window that is over")
	n, _ = room(l.Window, at.Add(20*mins))
	assert.Equal(t, 6, n, "and no more than the quota")
}

// A refusal of a bucket that we count empties it. It holds one unit again, and is filled more
// slowly.
func TestContradictedBucket(t *testing.T) {
	l := contradictedTwice()
	pace := l.Pace()
	at := Instant(10 * mins)
	n, _ := room(l.Window, at)
	require.Equal(t, 6, n)
	all(send("a", "b"), quiet("a"), contradicts("b", 7*sec))(l, at)
	assert.Greater(t, l.Pace(), pace)
	n, _ = room(l.Window, at.Add(7*sec-ms))
	assert.Equal(t, 0, n, "not before the Retry-After")
	n, _ = room(l.Window, at.Add(7*sec+ms))
	assert.Equal(t, 1, n, "a part of a unit was there")
	n, _ = room(l.Window, at.Add(50*sec))
	assert.Equal(t, 1, n, "it holds no more")
	// One that says that all that time nothing comes back ends a window.
	all(send("a"), contradicts("a", 30*sec))(l, at.Add(50*sec))
	assert.False(t, l.IsBucket())
	n, _ = room(l.Window, at.Add(80*sec))
	assert.Equal(t, 2, n)
}

// Refusals of requests that were out together are one.
func TestContradictedTogether(t *testing.T) {
	l := newLedger(Adaptive)
	all(counts(6, 60*sec), send("a", "b", "c"), contradicts("a", 10*sec))(l, 0)
	all(contradicts("b", 10*sec), contradicts("c", 10*sec))(l, Instant(ms))
	assert.False(t, l.IsBucket())
	n, _ := room(l.Window, Instant(10*sec))
	assert.Equal(t, 0, n, "the last Retry-After counts")
	n, _ = room(l.Window, Instant(10*sec+ms))
	assert.Equal(t, 2, n)
}

// Of a bucket, too: and what is out and refused does not come back to it.
func TestContradictedBucketTogether(t *testing.T) {
	one, two := contradictedTwice(), contradictedTwice()
	at := Instant(10 * mins)
	send("a")(one, at)
	send("a", "b")(two, at)
	at = at.Add(ms)
	contradicts("a", 10*sec)(one, at)
	all(contradicts("a", 10*sec), contradicts("b", 10*sec))(two, at)
	assert.Equal(t, one.Pace(), two.Pace())
	assert.Equal(t, one.End(), two.End())
	at = at.Add(11 * sec)
	all(send("a", "b"), contradicts("a", 10*sec), unsent("b"))(one, at)
	assert.Equal(t, 10*sec, wait(one, at, 1).Truncate(10*ms), "what did not depart costs nothing")
}

// A request of the window before that is refused contradicts nothing.
func TestLateRefusalOfACount(t *testing.T) {
	l := newLedger(Adaptive)
	all(counts(2, 10*sec), send("late"))(l, 0)
	all(send("a"), quiet("a"))(l, Instant(11*sec))
	contradicts("late", None)(l, Instant(11*sec))
	n, _ := room(l.Window, Instant(11*sec+mins/60))
	assert.Equal(t, 1, n)
}

// What costs more than there is departs when one unit is there. The next waits for all of it.
func TestLargeCostOfACountedBucket(t *testing.T) {
	l := contradictedTwice()
	at := Instant(20*sec + ms)
	assert.Zero(t, wait(l, at, 5))
	all(sendN("a", 5), quiet("a"))(l, at)
	assert.Equal(t, 50*sec, wait(l, at, 5).Truncate(10*ms))
}

// A window that passes as counted ends what was contradicted.
func TestNoLongerContradicted(t *testing.T) {
	l := newLedger(Adaptive)
	all(counts(2, 60*sec), send("a"), contradicts("a", 10*sec))(l, 0)
	all(send("a", "b"), quiet("a", "b"))(l, Instant(10*sec))
	at := Instant(71 * sec)
	all(send("a"), contradicts("a", 10*sec))(l, at)
	assert.False(t, l.IsBucket())
	n, _ := room(l.Window, at.Add(10*sec))
	assert.Equal(t, 2, n)
}

// Without a Retry-After, or with one of 0, a refusal contradicts as well.
func TestContradictedWithoutAdvice(t *testing.T) {
	l := newLedger(Adaptive)
	all(counts(6, 60*sec), send("a"), contradicts("a", None))(l, 0)
	all(send("a"), contradicts("a", None))(l, Instant(5*sec))
	require.True(t, l.IsBucket())
	n, _ := room(l.Window, Instant(15*sec))
	assert.Equal(t, 0, n, "all of a unit is missing")
	n, _ = room(l.Window, Instant(15*sec+ms))
	assert.Equal(t, 1, n)
	all(send("a"), contradicts("a", 0))(l, Instant(15*sec+ms))
	n, _ = room(l.Window, Instant(15*sec+2*ms))
	assert.Equal(t, 1, n, "nothing is missing")
}

// A figure, a renewal and another policy end the bucket that we count.
func TestWhatEndsACountedBucket(t *testing.T) {
	at := Instant(20 * sec)
	for name, end := range map[string]event{
		"a figure":       all(send("x"), says("x", 3, 30*sec)),
		"a full one":     all(send("x"), says("x", 6, 30*sec)),
		"a renewal":      renews(at, 30*sec, 0),
		"another policy": advertises(9, 30*sec),
	} {
		l := contradictedTwice()
		end(l, at)
		assert.False(t, l.IsBucket(), name)
		assert.Zero(t, l.Pace(), name)
	}
}

// A refusal that turns out to concern others is taken back.
func TestUndoOfContradict(t *testing.T) {
	for name, l := range map[string]*ledger{"a count": newLedger(Adaptive), "a bucket": contradictedTwice()} {
		at := Instant(10 * mins)
		if name == "a count" {
			counts(6, 60*sec)(l, at)
		}
		all(send("a", "b"), quiet("a"))(l, at)
		c := l.land("b")
		l.Silent(at, c, true, &l.server)
		before := l.Copy()
		l.Contradict(at, c.Sent, 30*sec)
		after := l.Copy()
		require.NotEqual(t, before.End(), after.End(), name)
		l.Undo(&before, &after)
		was, _ := room(before.Copy(), at)
		is, _ := room(l.Window, at)
		assert.Equal(t, was, is, name)
		assert.Equal(t, before.End(), l.End(), name)
		assert.Equal(t, before.Pace(), l.Pace(), name)
	}
}

// Policies of any size are counted without overflow.
func TestContradictedHugePolicies(t *testing.T) {
	for _, quota := range []int64{1, 3, MaxUnits} {
		for _, length := range []time.Duration{1, sec, 1<<63 - 1} {
			for _, retryAfter := range []time.Duration{None, 0, 1, sec, 1<<63 - 1} {
				l := newLedger(Adaptive)
				all(counts(quota, length), sendN("a", quota))(l, 0)
				for at := range Instant(6) {
					contradicts("a", retryAfter)(l, at)
					again, _ := l.Ready(at, quota)
					assert.GreaterOrEqual(t, again, at)
					sendN("a", quota)(l, at)
				}
			}
		}
	}
}

// What a server said of its bucket says nothing of a count of our own that follows.
func TestCountIsNoReportedBucket(t *testing.T) {
	for _, length := range []time.Duration{0, time.Minute} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 100, length)
		send("a")(l, 0)
		c := l.land("a")
		l.Answered(c, false)
		l.Report(Instant(ms), 0, Figure{Available: 50, Full: 30 * sec, Charge: c}, false, &l.server)
		assert.True(t, l.IsBucket())
		send("b")(l, Instant(sec))
		l.Silent(Instant(sec+ms), l.land("b"), true, &l.server)
		l.StartBackOff(Instant(sec+ms), Instant(sec), 0)
		send("c")(l, Instant(4*sec))
		l.Silent(Instant(4*sec+ms), l.land("c"), false, &l.server)
		assert.Equal(t, Counting, l.State)
		assert.False(t, l.IsBucket())
		n, _ := l.Left(Instant(5 * sec))
		assert.Equal(t, int64(99), n, length)
	}
	s := Saved{Quota: 10, State: Counting, Available: 3, Left: None, Fill: time.Minute}
	assert.False(t, s.Sound(), "a bucket that we count has a window")
	s.Length = time.Minute
	assert.True(t, s.Sound())
}

// In the slow start after a refusal, each answer lets more requests go. So who waits may
// hope for that, and is not told to come back at the next look.
func TestSlowStartOfACountIsHopeful(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 100, time.Minute)
	l.Count(0, 1)
	send("a")(l, Instant(sec))
	l.Silent(Instant(sec+ms), l.land("a"), true, &l.server)
	l.Contradict(Instant(sec+ms), Instant(sec), 2*sec)
	at := Instant(4 * sec)
	send("b", "c")(l, at)
	again, _ := l.Ready(at, 1)
	assert.Greater(t, again, at)
	assert.True(t, l.Hopeful(at, 1))
	assert.False(t, l.Hopeful(at, 99), "98 are left")
}

// While a server is down it refuses whatever comes. The first of these refusals makes the pace slower, and no other one does
// until a request was served.
func TestContradictedInARow(t *testing.T) {
	l := contradictedTwice()
	was, at := l.Pace(), Instant(10*mins)
	for range 400 {
		all(send("a"), contradicts("a", None))(l, at)
		at = at.Add(mins)
	}
	once := l.Pace()
	assert.InDelta(t, was+ms/6, once, 1)
	all(send("a"), quiet("a"))(l, at)
	all(send("a"), contradicts("a", None))(l, at.Add(mins))
	assert.InDelta(t, was+2*ms/6, l.Pace(), 1)
}

// A Retry-After of 20.4 s that the server rounds down to 20 s: the request after it is refused, with a Retry-After of 0.
// That is the same window, and no unit that comes back by itself.
func TestContradictedByRoundingDown(t *testing.T) {
	for _, tt := range []struct {
		name       string
		after      time.Duration // the Retry-After
		retryAfter time.Duration
		bucket     bool
	}{
		{"rounded down", 0, 0, false},
		{"at the end of that second", sec - 1, 0, false},
		{"later", sec, 0, true},
		{"a unit comes back", 0, sec, true},
		{"nothing is said", 0, None, true},
	} {
		l := newLedger(Adaptive)
		all(counts(6, 60*sec), send("a"), contradicts("a", 20*sec))(l, 0)
		all(send("a"), contradicts("a", tt.retryAfter))(l, Instant(20*sec+tt.after))
		assert.Equal(t, tt.bucket, l.IsBucket(), tt.name)
	}
}

// A quota of 3 in a second whose units come back as they were spent: each other window has nothing at its beginning. From
// the second of these on, one unit goes in each third of a second.
func TestContradictedAtTheBeginning(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before event // the second refusal
		at     time.Duration
		bucket bool
	}{
		{"twice in a row", nothing, 3030 * ms, true},
		{"after one was served", all(send("b"), quiet("b")), 3030 * ms, false},
		{"much later", nothing, 4013 * ms, false},
	} {
		l := newLedger(Adaptive)
		all(counts(3, sec), send("a", "b", "c"), quiet("a", "b", "c"))(l, 0)
		all(send("a"), contradicts("a", sec))(l, Instant(1010*ms))
		assert.False(t, l.IsBucket())
		all(send("a", "b"), quiet("a", "b"), send("c"), quiet("c"))(l, Instant(2020*ms))
		all(tt.before, send("a"), contradicts("a", sec))(l, Instant(tt.at))
		assert.Equal(t, tt.bucket, l.IsBucket(), tt.name)
	}
}

// A refusal at the pace of a bucket that we count keeps it, if the Retry-After is no longer than a quarter of the window: a log
// whose units were spent at other times says so. The next unit goes then.
func TestContradictedAtPace(t *testing.T) {
	for retryAfter, bucket := range map[time.Duration]bool{15 * sec: true, 15*sec + 1: false} {
		l := contradictedTwice()
		at := Instant(20*sec + ms)
		all(send("a"), contradicts("a", retryAfter))(l, at)
		require.Equal(t, bucket, l.IsBucket())
		if bucket {
			n, _ := room(l.Window, at.Add(15*sec-ms))
			assert.Zero(t, n)
			n, wait := room(l.Window, at.Add(15*sec+ms))
			assert.Equal(t, 1, n)
			assert.Greater(t, wait, 9*sec)
		}
	}
}

// A server that tells its figures only where it refuses contradicts our own count with them. The log of the count knows of all
// that has departed since the first refusal, two seconds later, and explains none of these. So units come back one by one,
// until a served request has a figure.
func TestContradictedByFigures(t *testing.T) {
	l := newLedger(Adaptive)
	all(counts(20, sec), send("a"), stillRefuses("a", sec))(l, 0)
	all(send("b"), quiet("b"), send("c"), stillRefuses("c", sec))(l, Instant(1010*ms))
	assert.False(t, l.IsBucket(), "the log is young")
	l.rare.spent.doubts, l.rare.spent.off = 1, Instant(mins) // one that is doubted is not
	all(send("d"), quiet("d"), send("e"), stillRefuses("e", sec))(l, Instant(2020*ms))
	require.True(t, l.IsBucket())
	assert.InDelta(t, 50*ms+ms/20, l.Pace(), 1)
	all(send("f"), stillRefuses("f", sec))(l, Instant(3030*ms))
	assert.InDelta(t, 50*ms+ms/20+25*ms/20, l.Pace(), 1, "a refusal makes it slower by half of a unit")
	all(send("g"), says("g", 7, sec))(l, Instant(4040*ms))
	assert.False(t, l.IsBucket())
	n, _ := room(l.Window, Instant(4040*ms))
	assert.Equal(t, 7, n)
}

// A refusal contradicts our own count with a figure that says that nothing is left, for a while.
func TestFigureThatContradictsNothing(t *testing.T) {
	for _, tt := range []struct {
		avail       int64
		window      time.Duration
		contradicts bool
	}{{0, sec, true}, {0, 0, false}, {0, None, false}, {3, sec, false}} {
		l := newLedger(Adaptive)
		all(counts(20, sec), send("a"))(l, 0)
		l.report(0, "a", tt.avail, tt.window, true)
		assert.Equal(t, tt.contradicts, l.rarely().told > 0, "%d for %s", tt.avail, tt.window)
	}
}

// Units come back as they were spent: all but one in the last second of a window of our own count. The next window seems to have
// all of them, and is refused the second one. Our own log, which the first refusal begins, explains that, and no more depart
// than it says. What was refused was not spent. If a unit takes a second, that takes two refusals within two windows.
func TestCountSlides(t *testing.T) {
	for _, tt := range []struct {
		name    string
		quota   int64
		length  time.Duration
		refused []time.Duration // after the next window began
		slides  bool
	}{
		{"a unit takes less than a second", 20, 10 * sec, []time.Duration{sec}, true},
		{"it takes a second", 10, 10 * sec, []time.Duration{sec}, false},
		{"twice", 10, 10 * sec, []time.Duration{sec, 2 * sec}, true},
		{"twice at a time", 10, 10 * sec, []time.Duration{sec, sec}, false},
		{"it takes longer", 9, 10 * sec, []time.Duration{sec, 2 * sec}, false},
	} {
		l := newLedger(Adaptive)
		all(counts(tt.quota, tt.length), send("a"), contradicts("a", sec))(l, 0)
		at := Instant(mins)
		all(send("a"), quiet("a"))(l, at)
		at = at.Add(tt.length - sec)
		for range tt.quota - 1 {
			all(send("b"), quiet("b"))(l, at)
		}
		back := at.Add(tt.length)
		at = at.Add(sec + ms)
		all(send("c"), quiet("c"))(l, at)
		for _, after := range tt.refused {
			all(send("d"), contradicts("d", None))(l, at.Add(after))
		}
		at = at.Add(tt.refused[len(tt.refused)-1])
		assert.Equal(t, tt.slides, l.hasLog() && l.rare.spent.slides, tt.name)
		if tt.slides {
			assert.Equal(t, back.Add(ms), l.whenSlid(at, 1), tt.name)
			assert.Equal(t, tt.quota-1, l.room(back.Add(ms)), tt.name)
		}
	}
}

// If a unit takes a second, our own log explains two refusals within two windows, and not one now and then.
func TestCountSlidesSeldom(t *testing.T) {
	for after, slides := range map[time.Duration]bool{20 * sec: true, 20*sec + 1: false} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 10, 10*sec)
		const at = Instant(mins)
		w.keepLog(ownLog{length: 10 * sec, slots: []slot{{from: at, at: at.Add(30 * sec), units: 10}}})
		assert.True(t, w.slid(at, at, 0, sec))
		assert.True(t, w.slid(at.Add(after), at.Add(after), 0, sec))
		assert.Equal(t, slides, w.rare.spent.slides, after)
	}
}

// A window that begins with nothing is refused until it is over. Once two did within three windows, units are spread.
func TestSpread(t *testing.T) {
	begin := func(apart time.Duration) (l *ledger, at Instant) {
		l = newLedger(Adaptive)
		all(counts(5, 10*sec), send("a"), contradicts("a", 10*sec))(l, Instant(sec))
		require.False(t, l.IsBucket())
		at = Instant(sec + apart)
		all(send("b", "c"), contradicts("b", 10*sec))(l, at)
		return l, at
	}
	l, _ := begin(30*sec + 1)
	assert.False(t, l.IsBucket(), "long after")
	l, at := begin(30 * sec)
	require.True(t, l.IsBucket())
	assert.InDelta(t, 12*sec/5, l.Pace(), float64(ms))
	contradicts("c", 10*sec)(l, at.Add(ms))
	assert.InDelta(t, 12*sec/5, l.Pace(), float64(ms), "it departed with b")
	n, wait := room(l.Copy(), at)
	assert.Zero(t, n)
	assert.InDelta(t, 10*sec+12*sec/5, wait, float64(2*ms), "it is empty when the hold is over")

	at = at.Add(25 * sec)
	all(send("d"), contradicts("d", 6*sec))(l, at)
	require.True(t, l.IsBucket())
	assert.InDelta(t, 14*sec/5, l.Pace(), float64(ms), "it is slower by a unit")
	n, wait = room(l.Copy(), at)
	assert.Zero(t, n)
	assert.InDelta(t, 6*sec+14*sec/5, wait, float64(2*ms))

	at = at.Add(6*sec + 5*sec - 1)
	all(send("e"), contradicts("e", 6*sec))(l, at)
	assert.False(t, l.IsBucket(), "others use the quota")
	all(send("f"), contradicts("f", 8*sec))(l, at.Add(20*sec-1))
	assert.False(t, l.IsBucket(), "for two windows")
	all(send("f"), contradicts("f", 8*sec))(l, at.Add(29*sec))
	assert.True(t, l.IsBucket())
	all(send("f"), contradicts("f", 8*sec))(l, at.Add(38*sec))
	assert.False(t, l.IsBucket())
	all(send("f"), contradicts("f", 8*sec))(l, at.Add(77*sec))
	assert.False(t, l.IsBucket(), "for four windows")
	all(send("f"), contradicts("f", 8*sec))(l, at.Add(86*sec))
	assert.False(t, l.IsBucket(), "that is the first one since then")
	all(send("f"), contradicts("f", 8*sec))(l, at.Add(95*sec))
	assert.True(t, l.IsBucket())
	l, at = begin(20 * sec)
	all(send("d"), contradicts("d", 5*sec))(l, at.Add(25*sec))
	assert.False(t, l.IsBucket(), "one that holds for half of a window ends the bucket, as it does another")
	at = at.Add(40 * sec)
	all(send("e"), contradicts("e", sec), send("f"), contradicts("f", sec))(l, at)
	all(send("e"), contradicts("e", sec))(l, at.Add(sec))
	require.True(t, l.IsBucket(), "units come back one by one")
	all(send("e"), contradicts("e", 8*sec))(l, at.Add(30*sec))
	assert.False(t, l.IsBucket(), "that bucket has not been spread")

	l = contradictedTwice()
	all(send("c"), contradicts("c", 40*sec))(l, Instant(100*sec))
	assert.False(t, l.IsBucket(), "nor has this one")
}

// A window of our count soon after such a refusal begins with two requests.
func TestWindowAfterALongRefusal(t *testing.T) {
	for _, tt := range []struct {
		began Instant
		slow  uint8
	}{{Instant(10 * sec), 2}, {Instant(29 * sec), 2}, {Instant(40*sec + 1), 0}} {
		l := newLedger(Adaptive)
		all(counts(5, 10*sec), send("a"), quiet("a"))(l, tt.began-Instant(10*sec))
		l.ownSpent().early = Instant(10*sec) - 1
		l.Roll(tt.began.Add(sec))
		assert.Equal(t, tt.slow, l.slow, tt.began)
	}
}

// Our own log does not explain a refusal if half of the quota is back a moment later, and the Retry-After is much longer.
func TestCountSlidesClearly(t *testing.T) {
	for _, tt := range []struct {
		before, again time.Duration
		units         uint32 // that come back then
		left          int64  // of this window
		explains      bool
	}{
		{5 * sec, 10 * sec, 20, 0, true}, {200 * ms, 10 * sec, 20, 0, true}, {50 * ms, 10 * sec, 20, 0, false}, {0, 2*sec + 100*ms, 11, 0, false},
		{50 * ms, 10 * sec, 10, 0, true},
		{50 * ms, 2 * sec, 20, 0, true}, {50 * ms, 0, 20, 0, true}, {50 * ms, None, 20, 0, true},
		{600 * ms, 10 * sec, 20, 18, true}, {600 * ms, 10 * sec, 20, 19, false}, {630 * ms, 10 * sec, 20, 20, true},
	} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 20, 10*sec)
		w.available = tt.left
		const at = Instant(mins)
		w.keepLog(ownLog{length: 10 * sec, slots: []slot{{from: at, at: at, units: tt.units}, {from: at.Add(5 * sec), at: at.Add(5 * sec), units: 20 - tt.units}}})
		sent := at.Add(10*sec - tt.before)
		assert.Equal(t, tt.explains, w.slid(sent, sent, tt.again, sec/2), "%+v", tt)
	}
}
