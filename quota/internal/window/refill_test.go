package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// 20 in 1 s are one in 50 ms. Round trips are of 32 ms, unless said otherwise,
// so that the guard is 1 ms.
func TestRefill(t *testing.T) {
	const (
		trip = 32 * ms
		us   = time.Microsecond
	)
	steady := func(l *ledger, _ Instant) { l.refill.served = steadyTrials }
	sure := func(l *ledger, _ Instant) { l.refill.served = sureTrials }
	once := func(l *ledger, _ Instant) { l.refill.served = 1 }
	far := func(l *ledger, _ Instant) { l.least = 60 * ms } // longer than a unit takes
	tests := []struct {
		name string
		rows []row
	}{
		{
			// The rest of a window of which the one before is weighed.
			name: "however long it says that nothing is left",
			rows: []row{
				{0, all(later, advertises(20, 10*sec), send("a")), 100, 0},
				{trip, says("a", 0, 9*sec), 0, 500*ms + ms - trip},
				{501 * ms, send("b"), 0, sec},
				{501*ms + trip, says("b", 0, 9*sec), 0, 501*ms - trip},
			},
		},
		{
			name: "but not for more than a second where other clients may use the quota",
			rows: []row{
				{0, all(advertises(20, 10*sec), send("a")), 100, 0},
				{trip, says("a", 0, 2*sec), 0, 2*sec + ms - trip},
				{2*sec + ms, send("b"), 0, unsaid},
				{2*sec + ms + trip, says("b", 0, sec), 0, 501*ms - trip},
			},
		},
		{
			name: "bytes do not come one by one",
			rows: []row{
				{0, all(func(l *ledger, _ Instant) { l.SetPolicy(Bytes, 20, sec) }, send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, sec + ms - trip},
			},
		},
		{
			name: "a request that costs the whole quota leaves none to come back",
			rows: []row{
				{0, all(later, advertises(20, 10*sec), sendN("a", 20)), 100, 0},
				{trip, says("a", 0, 10*sec), 0, 10*sec + ms - trip},
			},
		},
		{
			name: "no pacing by units that take seconds",
			rows: []row{
				{0, all(advertises(10, 20*sec), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, sec + ms - trip},
				{1001 * ms, send("b"), 0, sec},
				{1001*ms + trip, says("b", 0, sec), 0, sec + ms - trip},
				{2002 * ms, send("c"), 0, sec},
				{2002*ms + trip, says("c", 0, sec), 0, sec + ms - trip},
				{3003 * ms, send("d"), 0, sec},
				{3003*ms + trip, says("d", 0, sec), 0, sec + ms - trip},
				{4004 * ms, send("e"), 0, sec},
			},
		},
		{
			// 16 ms longer are 2 ms in the mean: 54 ms, and a guard of 16 + 48/32 ms.
			name: "answers that take longer at times make the pace slower",
			rows: []row{
				{0, all(advertises(20, sec), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 51*ms - trip},
				{51 * ms, send("b"), 0, sec},
				{99 * ms, says("b", 0, sec), 0, 51*ms + 54*ms + 17500*us - 99*ms},
			},
		},
		{
			// 8 ms longer are 1 ms in the mean: 50.25 ms, and a guard of 8 + 40/32 ms.
			name: "but hardly, once many trials were served",
			rows: []row{
				{0, all(later, advertises(20, sec), sure, send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 51*ms - trip},
				{51 * ms, send("b"), 0, unsaid},
				{91 * ms, says("b", 0, sec), 0, 51*ms + 50250*us + 9250*us - 91*ms},
			},
		},
		{
			name: "not where other clients use the quota, for whom half of the units come back",
			rows: []row{
				{0, all(later, others(50, 100), advertises(20, sec), sure, send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 101*ms - trip},
				{101 * ms, send("b"), 0, unsaid},
				{141 * ms, says("b", 0, sec), 0, 101*ms + 104*ms + 9250*us - 141*ms},
			},
		},
		{
			// 800 ms longer are 100 ms in the mean: 900 ms and twice that are 1.1 s.
			name: "but a trial is not later than the end of the window",
			rows: []row{
				{0, all(advertises(2, 1800*ms), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 901*ms - trip},
				{901 * ms, send("b"), 0, sec},
				{1733 * ms, says("b", 0, sec), 0, 901*ms + sec + 100*ms - 1733*ms},
			},
		},
		{
			name: "the first trial is waited for, however long its answer takes",
			rows: []row{
				{0, all(advertises(20, sec), send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 51*ms - trip},
				{51 * ms, all(far, send("b")), 0, sec},
			},
		},
		{
			name: "where answers take longer than a unit, no other is waited for once one was served",
			rows: []row{
				{0, all(advertises(20, sec), once, send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 51*ms - trip},
				{51 * ms, all(far, send("b")), 0, 50 * ms},
			},
		},
		{
			name: "a refusal ends the pace, and one tries again",
			rows: []row{
				{0, all(advertises(20, sec), steady, send("a")), 100, 0},
				{trip, says("a", 0, sec), 0, 51*ms - trip},
				{51 * ms, all(far, send("b")), 0, 50 * ms},
				{51*ms + trip, refuses("b", 0, sec), 0, unsaid},
				{1100 * ms, send("c"), 0, sec},
				{1100*ms + trip, says("c", 0, sec), 0, 51*ms - trip},
				{1151 * ms, send("d"), 0, sec},
			},
		},
		{
			name: "a refusal of none that tried is nothing to learn from",
			rows: []row{
				{0, all(advertises(20, sec), send("a", "b")), 100, 0},
				{trip, refuses("a", 0, sec), 0, unsaid},
				{1100 * ms, send("c"), 0, unsaid},
				{1100*ms + trip, says("c", 0, sec), 0, 51*ms - trip},
			},
		},
		{
			name: "what was there in a window is forgotten after it",
			rows: []row{
				{0, all(advertises(4, sec), send("a")), 100, 0},
				{trip, says("a", 3, sec), 3, unsaid},
				{trip, sendN("b", 3), 0, unsaid},
				{2 * trip, says("b", 0, sec), 0, sec + ms - 2*trip},
				{1001 * ms, send("c"), 0, unsaid},
				{1001*ms + trip, says("c", 0, sec), 0, 251*ms - trip},
			},
		},
		{
			// Of 3 that is 1, and not of 2.
			name: "less than half of the quota is hardly anything",
			rows: []row{
				{0, all(advertises(3, sec), send("a")), 100, 0},
				{trip, says("a", 1, sec), 1, unsaid},
				{trip, send("b"), 0, unsaid},
				{2 * trip, says("b", 0, sec), 0, trip + sec/3 + ms - 2*trip},
			},
		},
		{
			name: "half of it is not",
			rows: []row{
				{0, all(advertises(2, sec), send("a")), 100, 0},
				{trip, says("a", 1, sec), 1, unsaid},
				{trip, send("b"), 0, unsaid},
				{2 * trip, says("b", 0, sec), 0, sec + ms - 2*trip},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { play(t, Adaptive, tt.rows) })
	}
}

// Where our own log was contradicted, not all comes back at once: then one request tries
// if a sixteenth of the quota was not there.
func TestTrialAfterDoubt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		doubts uint8
		there  int64 // of 20, with the request that was told
		served float32
		tries  bool
	}{
		{"less than half", 0, 10, 0, true},
		{"half", 0, 11, 0, false},
		{"less than fifteen sixteenths, in doubt", 1, 18, 0, true},
		{"more, in doubt", 1, 19, 0, false},
		{"less than half, in doubt, beside others", 1, 10, 50, true},
		{"half, in doubt, beside others", 1, 11, 50, false},
		{"half, in doubt, where one unit was spent by another", 1, 11, .5, false},
	} {
		l := newLedger(Adaptive)
		all(later, advertises(20, sec), others(tt.served, 2*tt.served))(l, 0)
		l.server.Most = 20
		l.ownRare().spent = &spent{ownLog: ownLog{length: sec, trust: 1, doubts: tt.doubts, off: Instant(time.Hour)}}
		send("a")(l, 0)
		says("a", tt.there-1, sec)(l, Instant(32*ms))
		sendN("b", tt.there-1)(l, Instant(32*ms))
		says("b", 0, sec)(l, Instant(64*ms))
		assert.Equal(t, tt.tries, l.refill.trying, tt.name)
		assert.Equal(t, tt.tries, l.End() < Instant(500*ms), tt.name)
	}
}

// If our own log was wrong, it was no trial that was refused, and the next one is not left out.
func TestDoubtIsNoTrial(t *testing.T) {
	for _, sure := range []bool{true, false} {
		l := newLedger(Adaptive)
		all(later, advertises(20, sec), send("a"))(l, 0)
		l.server.Most = 20
		l.refill.trying = true
		l.ownRare().spent = &spent{ownLog: ownLog{length: sec, trust: 1, slots: []slot{{units: 1, sure: sure}}}}
		if !sure {
			l.rare.spent.off = Instant(time.Hour)
		}
		stillRefuses("a", sec)(l, Instant(32*ms))
		assert.False(t, l.refill.trying)
		assert.Equal(t, sure, l.refill.failed == 0)
		assert.Equal(t, sure, l.refill.skip == 0)
		assert.Equal(t, sure, l.rare.spent.doubts == 1)
	}
}

// After 32 that were not answered, the pace is that of probes.
func TestRefillOfASilentServer(t *testing.T) {
	l := newLedger(Adaptive)
	all(advertises(20, sec), send("a"))(l, 0)
	l.refill.served = steadyTrials
	says("a", 0, sec)(l, Instant(32*ms))
	l.least = 60 * ms
	now := Instant(51 * ms)
	var waits []time.Duration
	for range 33 {
		l.Roll(now)
		l.Take(now, 1)
		again, _ := l.Ready(now, 1)
		waits = append(waits, time.Duration(again-now))
		now = again
	}
	for i, w := range waits[:31] {
		assert.Equal(t, 50*ms, w, "after %d", i+1)
	}
	assert.Equal(t, []time.Duration{patience(32), patience(33)}, waits[31:])
}

// observe takes over a report that nothing is left for a second.
func (l *ledger) observe(refused bool) { l.due = l.observeRefill(0, 0, sec, refused, new(Server)) }

// A quota is taken to be refilled as trials are served, and leaves out the more of them, the more
// were refused in a row.
func TestRefillTrials(t *testing.T) {
	const served, refused = false, true
	l := newLedger(Adaptive)
	advertises(20, sec)(l, 0)
	p := &l.refill
	play := func(name string, answer bool, times int, trying bool) {
		t.Helper()
		for i := range times {
			l.observe(answer)
			assert.Equal(t, trying && i == times-1, p.trying, "%s, %d", name, i+1)
		}
	}
	play("refused", refused, 1, false)
	play("the first dry window", served, 1, true)
	play("a trial is refused", refused, 1, false)
	play("two are left out", served, 3, true)
	play("it is served", served, 1, true)
	play("and refused again", refused, 1, false)
	play("two are left out again", served, 3, true)
	for _, left := range []int{4, 8, 16, 32, 64, 64} {
		play("refused in a row", refused, 1, false)
		play("twice as many are left out", served, left+1, true)
	}
}

// The pace takes the jitter twice, half of it more after each refusal, and less
// again when it has been kept for long. It is never slower than half.
func TestRefillPace(t *testing.T) {
	l := newLedger(Adaptive)
	advertises(20, sec)(l, 0)
	l.jitter = 4 * ms
	p := &l.refill
	every := func() time.Duration { return l.refillPace() }
	assert.Equal(t, 58*ms, every())
	for range 3 {
		p.served = steadyTrials
		l.failTrial(20)
	}
	assert.Equal(t, uint8(0), p.failed)
	assert.Equal(t, 64*ms, every())
	p.served, p.trying = quickerTrials-1, true
	l.observe(false)
	assert.Equal(t, 62*ms, every())
	assert.True(t, p.steady())
	for range 254 { // a byte is no bound
		p.served = steadyTrials
		l.failTrial(20)
	}
	assert.Equal(t, 100*ms, every())
	l.jitter = 0
	assert.Equal(t, 50*ms, every())
}

// Where requests overlap, the guard of one does not cover the others.
func TestTrialAfter(t *testing.T) {
	l := newLedger(Adaptive)
	all(later, advertises(20, sec))(l, 0)
	l.jitter, l.refill.served = 4*ms, sureTrials
	for least, want := range map[time.Duration]time.Duration{50 * ms: 51 * ms, 50*ms + 1: 58 * ms} {
		l.least = least
		assert.Equal(t, want, l.trialAfter(), "%v", least)
	}
}

const far = time.Hour

// A trial that is refused after one that was served shows that units come back more slowly than the policy says, as those of
// a window do that was used less. The first trial does not: it may have been another client.
func TestUnitTakesLonger(t *testing.T) {
	for served, want := range []time.Duration{50 * ms, 70710678, 70710678, 50 * ms} { // three in a row: see slack
		l := newLedger(Adaptive)
		advertises(20, sec)(l, 0)
		later(l, 0)
		l.refill.served, l.refill.trying = uint8(served), true
		l.failTrial(20)
		assert.Equal(t, want, l.perUnit(), served)
	}
	l := newLedger(Adaptive)
	advertises(20, sec)(l, 0)
	later(l, 0)
	l.refill.served, l.refill.trying = 1, true
	l.failTrial(1)
	assert.Equal(t, 50*ms, l.perUnit(), "a bucket of one unit is no window")
}

// What is served at a pace shows that units come back sooner.
func TestPaceIsQuicker(t *testing.T) {
	l := newLedger(Adaptive)
	server := &Server{Span: 60 * sec, Most: 10}
	l.guessUnit(server)
	l.setPace(twice)
	assert.Equal(t, 12*sec, l.perUnit())
	sees := func(want int8, after time.Duration, served uint32, why string) {
		t.Helper()
		l.received, l.departed = l.received.Add(after), l.departed+served
		l.succeed(server.Most)
		assert.Equal(t, want, l.rare.pace, why)
	}
	sees(twice, sec, 100, "since then")
	sees(twice, 2*time.Minute, 2*10+11, "11.9 units come back in two minutes at the next pace, and windows may have shown two quotas more")
	sees(twice-1, 0, 1, "")
	sees(twice-1, 0, 100, "what was served before does not count again")
	sees(twice-1, 2*time.Minute, 2*10+14, "14.1 units")
	l.setPace(twice - 1)
	sees(twice-1, 0, 100, "a refusal begins it anew")
	l.setPace(twice)
	sees(twice, sec, 0, "it begins")
	sees(twice, time.Hour, 1, "nothing was asked for")
	sees(twice-1, 2*time.Minute, 2*10+12, "idle time hides nothing")
	l.setPace(0)
	sees(0, sec, 100, "")
	sees(0, sec, 100, "no quicker than is told")
}

// Where the policy is not told, the time for a unit is guessed by what answers have told, and found
// by trials.
func TestUnitTimeIsFound(t *testing.T) {
	l := newLedger(Adaptive)
	later(l, 0)
	server := &Server{Span: 60 * sec}
	observe := func(refused bool) time.Duration {
		return l.observeRefill(0, 0, 30*sec, refused, server).Since(0)
	}
	l.due = Instant(far)
	assert.Equal(t, far, observe(false), "no answer has told more than one unit")
	server.Most = 10
	l.epoch = 0
	assert.Equal(t, far, observe(false), "it may be the first window of a client that is not alone")
	later(l, 0)
	assert.Equal(t, 6*sec, observe(false))
	assert.Equal(t, far, observe(true))
	for range 2 {
		assert.Equal(t, far, observe(false), "left out")
	}
	assert.Equal(t, 12*sec, observe(false), "a trial that is refused doubles it")
	for range quickerTrials - 1 {
		assert.Equal(t, 12*sec, observe(false))
	}
	slower := time.Duration(math.Exp2(3./4) * float64(6*sec))
	assert.Equal(t, slower, observe(false), "and it becomes shorter again")
	observe(true)
	assert.Equal(t, 12*sec, observe(false), "until one is refused")

	l.contention.peak = 6
	assert.Equal(t, 12*sec, observe(false), "three quarters of what is most, but for the first unit")
	l.contention.peak = 7
	assert.Equal(t, far, observe(false))
	l.contention.peak = 0
	assert.Equal(t, l.due, Instant(far))

	l.SetPolicy(Requests, 100, 0)
	assert.Equal(t, 1200*ms, observe(false), "the quota is told, and how much longer it takes is still known")
	l.SetPolicy(Requests, 100, sec)
	assert.Equal(t, 20*ms, observe(false))
	l.SetPolicy(Bytes, 100, sec)
	assert.Equal(t, far, observe(false))
}

// Beside other clients the time for a unit is guessed, too, if it is worth more than a
// refusal: a second or more.
func TestUnitTimeIsFoundBesideOthers(t *testing.T) {
	for most, want := range map[int64]time.Duration{60: 2 * sec, 61: far} {
		l := newLedger(Adaptive)
		all(later, others(20, 40))(l, 0)
		l.due = Instant(far)
		assert.Equal(t, want, l.observeRefill(0, 0, 30*sec, false, &Server{Span: 60 * sec, Most: most}).Since(0))
	}
}

// The time stays one that can be said, whatever was refused and is told.
func TestUnitTimeIsBounded(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 2, 31*24*time.Hour)
	l.ownRare().pace = maxPace
	assert.Equal(t, MaxSavedTime, l.perUnit())
}

// Other clients may have taken the unit, and may not: a trial shows it.
func TestTrialBesideOthers(t *testing.T) {
	l := newLedger(Adaptive)
	all(later, advertises(20, 10*sec), others(20, 40))(l, 0)
	l.due = Instant(far)
	observe := func(refused bool) time.Duration {
		return l.observeRefill(0, 0, 9*sec, refused, new(Server)).Since(0)
	}
	assert.Equal(t, sec, observe(false), "half of the units come back for us")
	assert.Equal(t, sec, observe(false))
	assert.Equal(t, refill{trying: true, served: 1}, l.refill)
	assert.Equal(t, far, observe(true))
	assert.Equal(t, refill{failed: 1, skip: 2}, l.refill)
	assert.Equal(t, far, observe(false))
	assert.Equal(t, far, observe(false))
	assert.Equal(t, sec, observe(false), "two are left out")

	l.contention.fall = 160
	assert.Equal(t, 4*sec, observe(false))
	l.contention.fall = 201
	assert.Equal(t, far, observe(false), "nearly all of them come back for others")
	l.contention.fall = 40

	l.SetPolicy(Requests, 20, 0)
	assert.Equal(t, far, observe(true), "the time for a unit is not known any more")
	assert.False(t, l.refill.trying, "a refusal says something of the server again")
}

// Where the more of a quota is missing the longer its window is, that is the time until a
// bucket is full: then units come back one by one, although all of them were there.
func TestUntilFull(t *testing.T) {
	const quota = 20
	tests := []struct {
		name string
		of   func(missing int64) time.Duration // the window with so many missing
		want bool
	}{
		{"a bucket, rounded up", func(n int64) time.Duration { return time.Duration(n*3+1) / 2 * sec }, true},
		{"a bucket, rounded down", func(n int64) time.Duration { return time.Duration(n*3) / 2 * sec }, true},
		{"a bucket that takes three times as long", func(n int64) time.Duration { return time.Duration(n*9+1) / 2 * sec }, true},
		{"a window", func(int64) time.Duration { return 30 * sec }, false},
		{"a window that goes by", func(n int64) time.Duration { return 30*sec - time.Duration(n)*sec }, false},
		{"a log, in which the last unit counts for longest", func(n int64) time.Duration { return 30*sec + time.Duration(n%2)*sec }, false},
		{"two windows, and the next begins", func(n int64) time.Duration { return time.Duration((60-n*6)%40+1) * sec }, false},
		{"seconds that are too coarse", func(n int64) time.Duration { return time.Duration(n+2) / 3 * sec }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var u untilFull
			for n := range int64(quota) {
				observeUntilFull(&u, quota, n+1, tt.of(n+1))
			}
			assert.Equal(t, tt.want, u.shown())
		})
	}

	t.Run("a figure that does not agree contradicts it", func(t *testing.T) {
		u := untilFull{least: 28 * sec, most: 30 * sec, window: 29 * sec, grown: grownBucket}
		assert.True(t, u.shown())
		longer := u
		observeUntilFull(&longer, quota, 10, 25*sec)
		assert.Equal(t, untilFull{least: 48 * sec, most: 520 * sec / 9, window: 25 * sec}, longer)
		observeUntilFull(&u, quota, 10, 10*sec)
		assert.False(t, u.shown())
		assert.Equal(t, untilFull{least: 18 * sec, most: 220 * sec / 9, window: 10 * sec}, u)
	})
	t.Run("twice", func(t *testing.T) {
		var u untilFull
		observeUntilFull(&u, 1000, 100, 6*sec)
		observeUntilFull(&u, 1000, 101, 7*sec)
		assert.Zero(t, u.grown, "it may have been rounded")
		observeUntilFull(&u, 1000, 200, 12*sec)
		assert.False(t, u.shown())
		observeUntilFull(&u, 1000, 217, 13*sec)
		observeUntilFull(&u, 1000, 234, 14*sec)
		assert.True(t, u.shown(), "by a second at a time as well")
	})
	t.Run("units come one by one", func(t *testing.T) {
		l := newLedger(Adaptive)
		all(later, advertises(quota, 30*sec))(l, 0)
		l.due, l.contention.peak = Instant(far), quota-1
		var s Server
		assert.Equal(t, far, l.observeRefill(0, 0, 30*sec, false, &s).Since(0))
		s.Full = untilFull{least: 28 * sec, most: 31 * sec, grown: grownBucket}
		assert.Equal(t, 1500*ms, l.observeRefill(0, 0, 30*sec, false, &s).Since(0))
	})
}

// Report looks at each figure for how the quota comes back, but Plain does not.
func TestReportsShowUntilFull(t *testing.T) {
	for how, want := range map[Strategy]bool{Adaptive: true, Plain: false} {
		l := newLedger(how)
		l.SetPolicy(Requests, 30, 0) // a bucket of 20 at most
		at := Instant(0)
		for n := range int64(20) {
			l.Report(at+1, at, Figure{Available: 19 - n, Window: time.Duration(n*3+4) / 2 * sec}, false, &l.server)
			at = at.Add(ms)
		}
		assert.Equal(t, want, l.server.Full.shown(), how)
	}
}

// Of units that take seconds, whole seconds say when one is there; but not the end of a window.
func TestUnitsOfSeconds(t *testing.T) {
	l := newLedger(Adaptive)
	all(later, advertises(10, 60*sec))(l, 0)
	l.due = Instant(far)
	assert.Equal(t, far, l.observeRefill(0, 0, 7*sec, false, new(Server)).Since(0))
	assert.Equal(t, 6*sec, l.observeRefill(0, 0, 7*sec+1, false, new(Server)).Since(0))
}

// A trial that was refused beside other clients doubles the time for a unit, and leaves out no
// others, where nothing is left for many units.
func TestTrialRefusedBesideOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		but  func(w *Window, s *Server, length *time.Duration)
		skip uint8
	}{
		{"others", func(*Window, *Server, *time.Duration) {}, 0},
		{"alone", func(w *Window, _ *Server, _ *time.Duration) { w.contention.fall = 9.5 }, 2},
		{"four units", func(_ *Window, _ *Server, length *time.Duration) { *length = 40 * sec }, 2},
		{"over four", func(_ *Window, _ *Server, length *time.Duration) { *length = 40*sec + 1 }, 0},
		{"a bucket", func(_ *Window, s *Server, _ *time.Duration) { s.Full.grown = grownBucket }, 2},
		{"quick units", func(w *Window, _ *Server, _ *time.Duration) { w.Length = 29 * sec }, 2},
	} {
		w, s, length := New(Adaptive), Server{}, 280*sec
		w.SetPolicy(Requests, 30, 300*sec)
		w.contention.ours, w.contention.fall, w.refill.trying = 9, 10, true
		tt.but(&w, &s, &length)
		w.observeRefill(0, 0, length, true, &s)
		assert.Equal(t, tt.skip, w.refill.skip, tt.name)
	}
}

// Units of a quota that others spend, too, come back before the end of its window: the reserve that a
// trial waits for grows with refusals, and no trial is left out.
func TestTrialsBesideOthers(t *testing.T) {
	const unit = 100 * ms
	creeps := func() (*ledger, func(refused bool) time.Duration) {
		l := newLedger(Adaptive)
		all(later, advertises(100, 10*sec))(l, 0)
		l.due = Instant(far)
		return l, func(refused bool) time.Duration {
			return l.observeRefill(0, 0, 8*sec, refused, &Server{}).Since(0)
		}
	}
	paced := func(quarters float64) time.Duration {
		return time.Duration(math.Exp2(quarters/4) * float64(unit))
	}

	l, observe := creeps()
	l.contention.peak = 60
	assert.Equal(t, far, observe(false), "much of the quota was there")
	l.contention.peak = 0
	for range steadyTrials + 1 {
		assert.Equal(t, unit, observe(false))
	}
	assert.Equal(t, far, observe(true))
	l.contention.peak = 60
	assert.Equal(t, paced(2), observe(false), "although much was there")
	observe(true)
	assert.Equal(t, paced(6), observe(false), "twice as long, because none was served meanwhile")
	for range steadyTrials {
		observe(false)
	}
	observe(true)
	assert.Equal(t, paced(8), observe(false))

	for l.is(creeping) {
		observe(true)
		observe(false)
	}
	assert.Equal(t, unit, l.perUnit(), "it was not so slow")
	for range 1<<maxFailed - 1 {
		assert.Equal(t, far, observe(false), "left out")
	}
	l.contention.peak = 0
	assert.Equal(t, unit, observe(false))

	l, observe = creeps()
	l.least = unit + 1
	for range steadyTrials + 1 {
		observe(false)
	}
	observe(true)
	assert.Equal(t, unit, l.perUnit(), "requests have not waited for each other's answers")
	l.contention.ours, l.contention.fall = 50, 51
	l.refill.served = steadyTrials
	observe(false)
	observe(true)
	assert.Equal(t, paced(2), l.perUnit(), "another client was seen")
}

// The last unit of a figure, which is left to others, departs when two should have come back.
func TestLastUnitWhereUnitsComeBack(t *testing.T) {
	for creeps, want := range map[bool]time.Duration{false: sec, true: 200 * ms} {
		l, at := newLedger(Adaptive), Instant(32*ms)
		all(later, others(90, 100), advertises(100, 10*sec), send("a"))(l, 0)
		l.set(creeping, creeps)
		says("a", 1, 9*sec)(l, at)
		again, why := l.Ready(at, 1)
		assert.Equal(t, Exhausted, why)
		assert.Equal(t, want, again.Since(at), "%v", creeps)
	}
}

// Figures show that units come back before the end of a window.
func TestFiguresShowUnitsComeBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		length time.Duration
		others uint8
		ours   float32 // of 32 units that were spent; 0: nothing was
		paused bool    // a request with a Retry-After of a second was refused
		was    int64
		sent   time.Duration
		avail  int64
		left   time.Duration
		pace   int8 // 8 before
	}{
		{"more is left", 10 * sec, 1, 0, false, 1, 933 * ms, 7, 8 * sec, 7},
		{"more slowly", 10 * sec, 1, 0, false, 1, 934 * ms, 7, 8 * sec, 8},
		{"more than a tenth is ours", 10 * sec, 1, 3.3, false, 1, 933 * ms, 7, 8 * sec, 7},
		{"less than a tenth is ours", 10 * sec, 1, 3.1, false, 1, 933 * ms, 7, 8 * sec, 0},
		{"as much is left, although a unit was spent", 10 * sec, 1, 0, false, 7, 933 * ms, 7, 8 * sec, 8},
		{"less is left", 10 * sec, 1, 0, false, 7, 933 * ms, 6, 8 * sec, 0},
		{"still nothing is left", 10 * sec, 1, 0, false, 0, 933 * ms, 0, 8 * sec, 0},
		{"the policy does not tell how long", 0, 1, 0, false, 1, 933 * ms, 7, 8 * sec, 8},
		{"alone", 10 * sec, 0, 0, false, 1, 933 * ms, 7, 8 * sec, 0},
		{"another window", 10 * sec, 1, 0, false, 1, 933 * ms, 7, 9968 * ms, 0},
		{"short windows", 2 * sec, 1, 0, false, 1, 933 * ms, 7, 8 * sec, 0},
		{"not in order", 10 * sec, 1, 0, false, 1, 31 * ms, 7, 9 * sec, 0},
		{"after a Retry-After", 10 * sec, 0, 0, true, 0, 1066 * ms, 8, 8 * sec, 7},
		{"after a Retry-After, more slowly", 10 * sec, 0, 0, true, 0, 1067 * ms, 8, 8 * sec, 8},
		{"after a Retry-After, another window", 10 * sec, 0, 0, true, 0, 1032 * ms, 7, 9 * sec, 0},
		{"after its end", 10 * sec, 0, 0, false, 0, 9032 * ms, 7, 500 * ms, 0},
		{"before a Retry-After is over", 10 * sec, 0, 0, true, 0, 31 * ms, 7, 9 * sec, 0},
	} {
		for _, how := range []Strategy{Adaptive, Plain} {
			l, at := newLedger(how), Instant(32*ms)
			all(later, advertises(100, tt.length), send("a"))(l, 0)
			l.ownRare().pace, l.compared.others, l.contention.peak = 8, tt.others, 90
			if tt.ours > 0 {
				l.contention.ours, l.contention.fall = tt.ours, 32
			}
			early := tt.sent < at.Since(0)
			if early {
				send("b")(l, Instant(tt.sent))
			}
			if tt.paused {
				all(stillRefuses("a", 9*sec), pauses(sec))(l, at)
			} else {
				says("a", tt.was, 9*sec)(l, at)
			}
			if !early {
				send("b")(l, Instant(tt.sent))
			}
			says("b", tt.avail, tt.left)(l, Instant(tt.sent+32*ms))
			shown := tt.pace > 0 && how == Adaptive
			assert.Equal(t, shown, l.is(creeping), "%s, %v", tt.name, how)
			if shown {
				assert.Equal(t, tt.pace, l.rarely().pace, tt.name)
			}
		}
	}
}

// Where others take most of what comes back before the end of a window, one request looks each second, although
// longer times are needed for a unit by the trials that were refused.
func TestLooksBesideOthers(t *testing.T) {
	for _, tt := range []struct {
		name       string
		creeps     bool
		ours, fall float32
		trial      time.Duration // after one with which nothing was left
	}{
		{"units do not come back", false, 1, 20, far},
		{"most is theirs", true, 1, 20, sec},
		{"half is theirs", true, 10, 20, sec},
		{"all is ours", true, 20, 20, 1600 * ms},
	} {
		l := newLedger(Adaptive)
		all(later, others(tt.ours, tt.fall), advertises(100, 10*sec))(l, 0)
		l.set(creeping, tt.creeps)
		l.ownRare().pace = 4 * twice
		l.due = Instant(far)
		assert.Equal(t, tt.trial, l.observeRefill(0, 0, 8*sec, false, &Server{}).Since(0), tt.name)
	}
}

// A window whose length only answers tell has units that come back, too: until half of the quota should be back.
func TestUnitsOfUntoldLengthComeBack(t *testing.T) {
	l := newLedger(Adaptive)
	all(later, others(10, 20), advertises(100, 0))(l, 0)
	l.set(creeping, true)
	assert.False(t, l.creeps(), "it is not known how fast")
	l.guessUnit(&Server{Span: 10 * sec})
	assert.True(t, l.creeps())
	assert.Equal(t, 100*ms, l.perUnit())
	for want := 200 * ms; want < 5*sec; want *= 2 {
		l.failTrial(20)
		assert.Equal(t, want, l.perUnit())
	}
	assert.True(t, l.creeps())
	l.failTrial(20)
	assert.False(t, l.creeps())
}

// A figure that is as high as the last one shows units that have come back, because the request has spent one. What
// others have spent since the first figure of the window does not hide it.
func TestFigureThatDoesNotFall(t *testing.T) {
	for third, want := range map[int64]bool{0: false, 6: false, 7: true} {
		l := newLedger(Adaptive)
		all(later, others(10, 20), advertises(100, 10*sec), send("a"))(l, 0)
		l.compared.others = 1
		says("a", 9, 9*sec)(l, Instant(100*ms))
		send("b")(l, Instant(100*ms))
		says("b", 7, 9*sec)(l, Instant(200*ms))
		assert.False(t, l.is(creeping))
		send("c")(l, Instant(200*ms))
		says("c", third, 9*sec)(l, Instant(300*ms))
		assert.Equal(t, want, l.is(creeping), "%d", third)
	}
}

// Two clients use a log of 20 in 1 s, of which the first request of a window finds one unit. The others that departed
// then are back with the last of them, 40 ms later. Trips are of 32 ms, and the guard is 1 ms.
func TestLogBesideFewOthers(t *testing.T) {
	const trip = 32 * ms
	ours := func(of100 float32) event {
		return func(l *ledger, _ Instant) { l.contention.ours, l.contention.fall = of100, 100 }
	}
	told, nothingTold := advertises(20, sec), nothing
	tests := []struct {
		name   string
		policy event
		ours   float32       // of 100
		last   time.Duration // departure of the last one of the window before
		want   time.Duration // from when the request departed that found the first unit
	}{
		{"when the last is back", told, 50, 40 * ms, 40 * ms},
		{"of a policy that is not told, too", nothingTold, 50, 40 * ms, 40 * ms},
		{"if p is more than 0.4", told, 41, 40 * ms, 40 * ms},
		{"unless W/q/p is sooner", told, 50, 300 * ms, 101 * ms},
		{"else after W/q/p", told, 25, 40 * ms, 201 * ms},
		{"or at the end", nothingTold, 25, 40 * ms, 1001 * ms},
		{"alone after W/q", told, 100, 40 * ms, 51 * ms},
	}
	for _, tt := range tests {
		l := newLedger(Adaptive)
		for _, e := range []struct {
			at time.Duration
			do event
		}{
			{0, all(later, ours(tt.ours), tt.policy, send("a"))},
			{trip, says("a", 12, sec)},
			{tt.last, all(send("b"), ours(tt.ours))},
			{tt.last + trip, says("b", 0, sec)},
			{1001 * ms, all(send("c"), ours(tt.ours))},
			{1001*ms + trip, says("c", 0, sec)},
		} {
			e.do(l, Instant(e.at))
		}
		again, _ := l.Ready(Instant(1001*ms+trip), 1)
		assert.Equal(t, tt.want, time.Duration(again)-1001*ms, tt.name)

		// Who was refused then waits for the end of the next two windows.
		send("d")(l, again)
		stillRefuses("d", sec)(l, again.Add(trip))
		end, _ := l.Ready(again.Add(trip), 1)
		all(send("e"), ours(tt.ours))(l, end)
		says("e", 0, sec)(l, end.Add(trip))
		again, _ = l.Ready(end.Add(trip), 1)
		assert.Equal(t, sec+ms, time.Duration(again-end), tt.name)
	}
}

// It tries no sooner if the first request of the window was refused, or has used up most of the quota itself.
func TestLogBesideFewOthersUsedUp(t *testing.T) {
	for name, tt := range map[string]struct {
		units  int64
		answer event
		want   time.Duration
	}{
		"one unit": {1, says("c", 0, sec), 40 * ms},
		"refused":  {1, stillRefuses("c", sec), 1001 * ms},
		"10 units": {10, says("c", 0, sec), 40 * ms},
		"11 units": {11, says("c", 0, sec), 1001 * ms},
	} {
		l := newLedger(Adaptive)
		half := func(l *ledger, _ Instant) { l.contention.ours, l.contention.fall = 50, 100 }
		all(later, half, advertises(20, sec), send("a"))(l, 0)
		says("a", 12, sec)(l, Instant(32*ms))
		all(send("b"), half)(l, Instant(40*ms))
		says("b", 0, sec)(l, Instant(72*ms))
		all(sendN("c", tt.units), half)(l, Instant(1001*ms))
		tt.answer(l, Instant(1033*ms))
		again, _ := l.Ready(Instant(1033*ms), 1)
		assert.Equal(t, tt.want, time.Duration(again)-1001*ms, name)
	}
}

// If a window is over as it was told, and the first request after it is refused with another window and no Retry-After, units
// come back one by one: a trial departs after W/q, and not after another window. It does not if other windows ended
// otherwise, the server says when to come back, or such a trial was refused before.
func TestTrialAfterAnEmptyWindow(t *testing.T) {
	for _, tt := range []struct {
		name string
		but  func(*Window, *Figure)
		wait time.Duration
	}{
		{"a trial", func(*Window, *Figure) {}, 1250 * ms},
		{"a Retry-After", func(_ *Window, f *Figure) { f.Again = 2 * sec }, 10 * sec},
		{"one of 0", func(_ *Window, f *Figure) { f.Again = -1 }, 10 * sec},
		{"no policy", func(w *Window, _ *Figure) { w.set(learned, true) }, 10 * sec},
		{"others", func(w *Window, _ *Figure) { w.contention.ours, w.contention.fall = 50, 100 }, 10 * sec},
		{"a trial that was refused", func(w *Window, _ *Figure) { w.refill.failed = 1 }, 10 * sec},
	} {
		l := newLedger(Adaptive)
		all(advertises(8, 10*sec), send("a", "b"))(l, Instant(ms))
		all(says("a", 1, 2*sec), says("b", 0, 2*sec))(l, Instant(2*ms))
		at := Instant(2100 * ms)
		send("c")(l, at)
		c := l.land("c")
		l.Answered(c, true)
		f := Figure{Window: 10 * sec}
		tt.but(&l.Window, &f)
		l.Report(at, c.Sent, f, true, &l.server)
		_, wait := room(l.Window, at)
		assert.InDelta(t, tt.wait, wait, float64(30*ms), tt.name)
	}
}

// A request that is served after a window, with the last of several units, and is told of a whole window, has found a unit
// that came back alone. Two in a row show it.
func TestLastUnitsShowUnitsComeBack(t *testing.T) {
	type look struct {
		avail   int64
		left    time.Duration
		refused bool
	}
	found := look{0, 10 * sec, false}
	for _, tt := range []struct {
		name         string
		how          Strategy
		quota        int64
		length, late time.Duration // late: of the looks, after the window
		trip         time.Duration
		ours         float32 // of 32 units
		named        bool
		looks        []look
		want         bool
	}{
		{"two in a row", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{found, found}, true},
		{"one", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{found}, false},
		{"not in a row", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{found, {1, 10 * sec, false}, found}, false},
		{"a part of the window is over", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{found, {0, 9 * sec, false}, found}, false},
		{"more is left", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{{1, 10 * sec, false}, {1, 10 * sec, false}}, false},
		{"refused", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{{0, 10 * sec, true}, {0, 10 * sec, true}}, false},
		{"a refusal in between is no look that was served", Adaptive, 5, 10 * sec, sec, 0, 8, false, []look{found, {0, 10 * sec, true}, found}, true},
		{"few units", Adaptive, 4, 10 * sec, sec, 0, 8, false, []look{found, found}, false},
		{"short windows", Adaptive, 5, 2 * sec, sec, 0, 8, false, []look{found, found}, false},
		{"alone", Adaptive, 5, 10 * sec, sec, 0, 32, false, []look{found, found}, false},
		{"within the window", Adaptive, 5, 10 * sec, -5 * sec, 0, 8, false, []look{found, found}, false},
		{"departed within the window", Adaptive, 5, 10 * sec, -sec, 2 * sec, 8, false, []look{found, found}, false},
		{"instants", Adaptive, 5, 10 * sec, sec, 0, 8, true, []look{found, found}, false},
		{"Plain", Plain, 5, 10 * sec, sec, 0, 8, false, []look{found, found}, false},
	} {
		l, at := newLedger(tt.how), Instant(0)
		all(later, others(tt.ours, 32), advertises(tt.quota, tt.length), send("a"))(l, at)
		says("a", 0, 10*sec)(l, at)
		for _, look := range tt.looks {
			at = at.Add(10*sec + tt.late)
			send("a")(l, at)
			l.refill.skip = 9 // no trial shows it
			c, f := l.land("a"), Figure{Available: look.avail, Window: look.left}
			if tt.named {
				f.Ahead = int64(look.left/sec) + 1 // may be a second less
				f.Resets = int64(at.Since(0)/sec) + f.Ahead
			}
			l.Answered(c, look.refused)
			l.Report(at.Add(tt.trip), c.Sent, f, look.refused, &l.server)
			l.contention.ours, l.contention.fall = tt.ours, 32
		}
		assert.Equal(t, tt.want, l.is(creeping), tt.name)
	}
}

// A sliding log of ten a second whose first request after a window finds one unit: the others are back a window after the last
// request. Where trials of units are left out, one departs then, unless the last of these was refused.
func TestLogTrialWhereTrialsAreLeftOut(t *testing.T) {
	const one = Instant(1001 * ms)
	play := func(before func(l *ledger), answer event) *ledger {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 10, 0)
		l.epoch = 1
		l.refill.skip = 9
		before(l)
		l.Roll(0)
		all(send("a"), says("a", 1, sec))(l, 0)
		all(send("b"), says("b", 0, sec))(l, Instant(20*ms))
		l.Roll(one)
		all(send("c"), says("c", 0, sec))(l, one)
		if answer != nil {
			at := Instant(1021 * ms)
			l.Roll(at)
			all(send("d"), answer)(l, at)
		}
		return l
	}
	l := play(func(*ledger) {}, nil)
	assert.Equal(t, 1020*ms, l.due.Since(0))
	assert.Equal(t, refill{trying: true, skip: 7}, l.refill)
	assert.True(t, l.isLogTrial())

	l = play(func(l *ledger) { l.setLogTrial(true) }, nil)
	assert.Equal(t, 2001*ms, l.due.Since(0), "the last one was refused")

	l = play(func(*ledger) {}, nil)
	l.refill = refill{}
	l.due = Instant(2 * sec)
	assert.Equal(t, 2*sec, l.observeLog(one, Instant(20*ms), sec, false, &l.server).Since(0), "none is left out: our own log says when")

	l = play(func(l *ledger) {
		l.refill.skip = 1
		l.setLogTrial(true)
	}, nil)
	assert.Equal(t, 1101*ms, l.due.Since(0), "a unit is tried")
	assert.Equal(t, refill{trying: true}, l.refill)
	assert.False(t, l.isLogTrial())

	for name, tt := range map[string]struct {
		answer      event
		trying, log bool
	}{
		"served, with several": {says("d", 5, sec), true, false},
		"served, with one":     {says("d", 0, sec), true, true}, // another one departs
		"refused":              {stillRefuses("d", sec), false, true},
	} {
		l = play(func(*ledger) {}, tt.answer)
		assert.Equal(t, tt.trying, l.refill.trying, name)
		assert.Equal(t, tt.log, l.isLogTrial(), name)
	}
}

// Where units were found to come back one by one, but a trial that departs when half of them should be back finds so many, they
// come back many at a time: trials of units are left out.
func TestTrialFindsMany(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pace   int8 // of a unit, which takes 2^(pace/4) tenths of a second
		before event
		finds  event
		many   bool
	}{
		{"half", 10, nothing, says("c", 4, sec), true},
		{"half, of units of seconds", 10, func(l *ledger, _ Instant) { l.Length = 10 * sec }, says("c", 4, sec), false},
		{"fewer", 10, nothing, says("c", 3, sec), false},
		{"half, but soon", 9, nothing, says("c", 4, sec), false},
		{"half, and is refused", 10, nothing, func(l *ledger, t Instant) {
			l.Report(t, t, Figure{Available: 4, Window: sec, Charge: l.land("c")}, true, &l.server)
		}, false},
		{"half, after a refusal with a time", 10, func(l *ledger, _ Instant) { l.refill.trying = false }, says("c", 4, sec), false},
		{"none, and an answer that left half is late", 10, all(sentBefore("z", ms), says("z", 5, sec)), says("c", 0, sec), false},
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 10, sec)
		l.epoch = 1
		l.set(creeping, true)
		l.ownRare().pace = tt.pace
		l.Roll(Instant(sec))
		all(send("z", "b"), says("b", 0, sec))(l, Instant(sec))
		assert.True(t, l.refill.trying, tt.name)
		tt.before(l, Instant(sec+ms))
		l.Roll(l.end)
		all(send("c"), tt.finds)(l, l.end)
		assert.Equal(t, tt.many, !l.is(creeping), tt.name)
		if tt.many {
			assert.Equal(t, refill{failed: 1, skip: 2}, l.refill, tt.name)
			assert.Zero(t, l.rare.pace, tt.name)
		}
	}
}
