package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A sliding log of 5 in 1 s, whose instants say up to two seconds. Once a window has been
// noted, units may depart when they are back, and first one at a time.
func TestSpent(t *testing.T) {
	const trip = 32 * ms
	loose := func(l *ledger, _ Instant) { l.server.Instants = looseInstants }
	play(t, Adaptive, []row{
		{0, all(loose, advertises(5, 0), send("a")), 100, 0},
		{trip, names("a", 4, 102, 2, false), 4, unsaid},
		{2 * sec, send("b", "c"), 2, unsaid},
		{2*sec + trip, all(names("b", 4, 104, 2, false), names("c", 3, 104, 2, false)), 3, unsaid},
		{2*sec + 300*ms, send("d", "e", "f"), 0, 701 * ms},
		{2*sec + 300*ms + trip, all(names("d", 2, 104, 2, false), names("e", 1, 104, 2, false),
			names("f", 0, 104, 2, false)), 0, 701*ms - trip},
		// b and c are back. One of them goes first, and both once that was served.
		{3*sec + ms, send("g"), 0, unsaid},
		{3*sec + ms + trip, names("g", 0, 104, 1, false), 1, unsaid},
	})
}

// Where a request is refused that was expected to be served, our own log is not believed
// for 64 windows, or for 4 where it was often right; and for twice as many each time.
func TestSpentRefused(t *testing.T) {
	for _, tt := range []struct {
		kept, doubts uint8
		windows      time.Duration
	}{{0, 0, 64}, {manyKept/4 - 1, 0, 64}, {manyKept / 4, 0, 4}, {0, 1, 128}, {manyKept / 4, 2, 16}} {
		l := newLedger(Adaptive)
		l.server.Instants = looseInstants
		all(advertises(5, 0), send("a"))(l, 0)
		names("a", 4, 102, 2, false)(l, Instant(32*ms))
		send("b")(l, Instant(3*sec))
		assert.True(t, l.believes(Instant(3*sec)))
		l.rare.spent.kept, l.rare.spent.doubts = tt.kept, tt.doubts
		names("b", 0, 104, 2, true)(l, Instant(3*sec+32*ms))
		until := Instant(3*sec + 32*ms + tt.windows*sec)
		assert.False(t, l.believes(until-1), tt)
		assert.True(t, l.believes(until), tt)
	}
}

// Where an instant had passed when it was told, it becomes a second longer instead, the first time: a server that rounds 2 s
// down names no instant that is farther away than one that rounds 1 s up. All requests of a flight are refused for the same
// reason. An instant that is farther away shows that the second was too much.
func TestSpentIsTooShort(t *testing.T) {
	l := newLedger(Adaptive)
	l.server.Instants = looseInstants
	all(advertises(5, 0), send("a"))(l, 0)
	names("a", 4, 102, 2, false)(l, Instant(32*ms))
	assert.Equal(t, sec, l.rare.spent.length)
	l.server.ends.down = true
	look := Instant(3 * sec)
	send("b", "c", "d")(l, look)
	for _, name := range []string{"b", "c", "d"} {
		names(name, 0, 103, 1, true)(l, look+Instant(32*ms))
		assert.Equal(t, 2*sec, l.rare.spent.length)
		assert.Zero(t, l.rare.spent.doubts)
	}
	assert.False(t, l.believes(look+Instant(32*ms+3*sec-1)))
	assert.True(t, l.believes(look+Instant(32*ms+3*sec)))
	look = Instant(8 * sec)
	send("e")(l, look)
	names("e", 4, 111, 3, false)(l, look+Instant(32*ms))
	assert.Equal(t, 2*sec, l.rare.spent.length, "three seconds ahead, less one")
	send("f")(l, look+Instant(3*sec))
	names("f", 4, 114, 4, false)(l, look+Instant(3*sec+32*ms))
	assert.Equal(t, 3*sec, l.rare.spent.length)
}

// What one account has found out makes the log of another one longer, which does not know either what departed before.
func TestSpentOfAnotherAccount(t *testing.T) {
	l := newLedger(Adaptive)
	l.server.Instants = looseInstants
	all(advertises(5, 0), send("a"))(l, 0)
	names("a", 4, 102, 2, false)(l, Instant(32*ms))
	l.server.roundsEnds = true
	look := Instant(4 * sec)
	send("b")(l, look)
	names("b", 1, 104, 1, false)(l, look+Instant(32*ms))
	assert.Equal(t, 2*sec, l.rare.spent.length)
	assert.Zero(t, l.rare.spent.doubts, "less is left than the log, which was too short, has room for")
	assert.False(t, l.believes(look+Instant(32*ms+3*sec-1)))
	assert.True(t, l.believes(look+Instant(32*ms+3*sec)))
}

// A copy shares no log with its original.
func TestCopyOfSpent(t *testing.T) {
	l := newLedger(Adaptive)
	l.server.Instants = looseInstants
	all(advertises(5, 0), send("a"))(l, 0)
	names("a", 4, 102, 2, false)(l, Instant(32*ms))
	c := l.Copy()
	c.Take(Instant(3*sec), 5)
	assert.Equal(t, int64(5), l.room(Instant(3*sec)))
	assert.Equal(t, int64(0), c.room(Instant(3*sec)))
}

// An instant far ahead that was named once holds nothing for longer than other windows do.
func TestSpentOfAFarInstant(t *testing.T) {
	w, s := New(Adaptive), Server{Instants: looseInstants}
	w.SetPolicy(Requests, 10, 10*sec)
	now := Instant(100 * sec)
	one := func(available, ahead int64) {
		c := Charge{Sent: now, Units: 1, Mark: w.Take(now, 1)}
		now += Instant(50 * ms)
		w.Answered(c, false)
		w.Report(now, c.Sent, Figure{
			Available: available, Window: time.Duration(ahead) * sec, Resets: int64(now/Instant(sec)) + ahead, Ahead: ahead, Charge: c,
		}, false, &s)
	}
	one(9, 86400)
	now += Instant(25 * time.Hour)
	for i := range int64(10) {
		one(9-i, 11)
	}
	now += Instant(30 * sec)
	again, _ := w.Ready(now, 1)
	assert.LessOrEqual(t, again.Since(now), ProbeInterval)
	again, _ = w.Ready(now+Instant(ProbeInterval), 1)
	assert.Equal(t, now+Instant(ProbeInterval), again)
}

// What a request is given back that departed longer ago than a window is no other's.
func TestSpentRefundsItsOwn(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 10, 10*sec)
	w.ownRare().spent = &spent{ownLog: ownLog{trust: 1, length: 10 * sec}}
	now := Instant(100 * sec)
	old := Charge{Sent: now, Units: 1, Mark: w.Take(now, 1)}
	now += Instant(20 * sec)
	for range 5 {
		w.Take(now, 1)
	}
	assert.EqualValues(t, 5, w.room(now))
	w.Refund(old)
	assert.EqualValues(t, 5, w.room(now))
	w.Refund(Charge{Sent: now, Units: 1, Mark: w.Take(now, 1)})
	assert.EqualValues(t, 5, w.room(now))
}

// One request asks at first, and two at a time once it was served. Work that the figure has room
// for asks for nothing.
func TestSpentAsksOneByOne(t *testing.T) {
	w, s := New(Adaptive), Server{Instants: looseInstants, Span: sec}
	w.SetPolicy(Requests, 5, 0)
	now := Instant(100 * sec)
	report := func(sent Instant, c Charge, available int64) {
		w.Answered(c, false)
		w.Report(now, sent, Figure{Available: available, Window: 2 * sec, Resets: 1000, Ahead: 2, Charge: c}, false, &s)
	}
	take := func() Charge { return Charge{Sent: now, Units: 1, Mark: w.Take(now, 1)} }
	first := take()
	now += Instant(32 * ms)
	report(first.Sent, first, 3)
	l := w.rare.spent
	l.off = 0
	w.Take(now, 1)
	assert.Zero(t, l.asked, "the figure has room for it")
	now += Instant(32 * ms)
	c := take()
	now += Instant(32 * ms)
	report(c.Sent, c, 0)
	w.InFlight, w.before = 0, 0
	at := func() Instant { return w.whenBack(now, 1) }
	now += Instant(2 * sec)
	assert.Equal(t, now, at())
	ask := take()
	assert.Equal(t, now, l.asked)
	assert.Equal(t, Never, at(), "one asks")
	now += Instant(32 * ms)
	report(ask.Sent, ask, 0)
	assert.Equal(t, now, at())
	take()
	assert.Equal(t, now, at(), "two ask")
	take()
	assert.Equal(t, Never, at())
}

// The log of a small quota takes costs that it has no numbers for as more than there is.
func TestSpentHugeCosts(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 10, 10*sec)
	w.ownRare().spent = &spent{ownLog: ownLog{trust: 1, length: 10 * sec}}
	now := Instant(100 * sec)
	const huge = 1 << 32
	w.Take(now, huge)
	assert.EqualValues(t, 10-math.MaxInt32, w.room(now))
	w.Take(now, huge-3)
	assert.EqualValues(t, 10-math.MaxInt32, w.room(now), "at the same time")
	w.respend(now, huge-3)
	assert.EqualValues(t, 10-math.MaxInt32, w.room(now), "it cost more")
	w.respend(now, -huge)
	assert.EqualValues(t, 10, w.room(now))
	w.respend(now, -1)
	assert.EqualValues(t, 10, w.room(now))
}

// It is kept for quotas that it has numbers for.
func TestSpentOfAHugeQuota(t *testing.T) {
	for quota, want := range map[int64]bool{math.MaxInt32: true, math.MaxInt32 + 1: false} {
		w := New(Adaptive)
		w.SetPolicy(Requests, quota, 10*sec)
		w.ownRare().spent = &spent{ownLog: ownLog{trust: 1, length: 10 * sec}}
		assert.Equal(t, want, w.believes(0), quota)
	}
}

// A sliding log of 2 in 1 s, in whole seconds. Once a window has been noted, a unit is back a
// window after it was spent, and not only when the figure says.
func TestSpentInWholeSeconds(t *testing.T) {
	const trip = 32 * ms
	play(t, Adaptive, []row{
		{0, all(advertises(2, sec), send("a", "b")), 100, 0},
		{trip, all(says("a", 1, sec), says("b", 0, sec)), 0, sec + ms - trip},
		{3 * sec, send("c"), 0, unsaid},
		{3*sec + trip, says("c", 1, sec), 1, unsaid},
		{3*sec + 500*ms, send("d"), 0, unsaid},
		{3*sec + 500*ms + trip, says("d", 0, sec), 0, 469 * ms}, // c is back sooner
		{4*sec + ms, send("e"), 0, unsaid},
		{4*sec + ms + trip, says("e", 0, sec), 0, unsaid}, // d is
	})
}

// A server says now and then that nothing is left. By our own log there is, so one request
// asks, and two once it was served.
func TestSpentOfAFigureThatIsWrong(t *testing.T) {
	const trip = 32 * ms
	play(t, Adaptive, []row{
		{0, all(advertises(20, 10*sec), send("a"), sendN("all", 19)), 100, 0},
		{trip, all(says("a", 19, 10*sec), says("all", 0, 10*sec)), 0, 10*sec + ms - trip},
		{30 * sec, send("b"), 0, unsaid},
		{30*sec + trip, says("b", 0, 10*sec), 1, unsaid},
		{30*sec + trip, send("c"), 0, unsaid},
		{30*sec + 2*trip, says("c", 0, 10*sec), 2, unsaid},
		{30*sec + 2*trip, send("d"), 1, unsaid},
		{30*sec + 3*trip, stillRefuses("d", 10*sec), 0, unsaid}, // it was not wrong
		{31 * sec, nothing, 0, unsaid},
	})
}

// Where units of our own count come back as they were spent, none departs before our own log has room: not beside another
// client, unless the quota is inferred.
func TestWhenSlid(t *testing.T) {
	const from = Instant(mins)
	for _, tt := range []struct {
		name string
		but  func(w *Window)
		want Instant
	}{
		{"a log", func(*Window) {}, from.Add(sec)},
		{"no log", func(w *Window) { w.forgetLog() }, from},
		{"it does not slide", func(w *Window) { w.rare.spent.slides = false }, from},
		{"beside another client", func(w *Window) { w.contention.fall = 9 }, from},
		{"inferred", func(w *Window) { w.rare.spent.infers, w.contention.fall = true, 9 }, from.Add(sec)},
	} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 2, sec)
		w.rtt, w.least = 25*ms, 25*ms
		w.keepLog(ownLog{length: sec, slides: true, slots: []slot{{from: from, at: from, trip: 25_000, units: 2}}})
		tt.but(&w)
		guard := time.Duration(0)
		if tt.want > from {
			guard = w.guard(25 * ms)
		}
		assert.Equal(t, tt.want.Add(guard), w.whenSlid(from, 1), tt.name)
	}
}

// Without named instants our own log is not kept where it is not surely right, or of no use.
func TestLogs(t *testing.T) {
	for _, tt := range []struct {
		name string
		but  func(w *Window, s *Server)
		want bool
	}{
		{"it is", func(*Window, *Server) {}, true},
		{"slow units", func(w *Window, _ *Server) { w.Length = 10 * sec }, false},
		{"another client", func(w *Window, _ *Server) { w.contention.fall += 0.5 }, false},
		{"trials are served", func(w *Window, _ *Server) { w.refill.served = 1 }, false},
		{"trials were", func(w *Window, _ *Server) { w.refill.slack = 1 }, true},
		{"a larger bucket", func(_ *Window, s *Server) { s.Most = 11 }, false},
		{"a smaller one", func(_ *Window, s *Server) { s.Most = 9 }, false},
		{"a bucket, by its windows", func(_ *Window, s *Server) { s.Full = untilFull{grown: grownBucket} }, false},
		{"others hand out the units", func(w *Window, _ *Server) { w.Strategy = Together }, false},
		{"no window", func(w *Window, _ *Server) { w.Length = 0 }, false},
	} {
		w, s := New(Adaptive), Server{Most: 10}
		w.SetPolicy(Requests, 10, 10*sec-1)
		tt.but(&w, &s)
		w.observeSpent(0, 0, 1, true, false, &s)
		assert.False(t, w.hasLog(), "%s: something is left", tt.name)
		w.observeSpent(0, 0, 0, true, false, &s)
		assert.Equal(t, tt.want, w.hasLog(), tt.name)
		if tt.want {
			assert.False(t, w.believes(Instant(11*sec-2)), tt.name)
			assert.True(t, w.believes(Instant(11*sec)), tt.name)
			s.Most = 11
			w.observeSpent(0, 0, 1, true, false, &s)
			assert.False(t, w.hasLog(), "there were more")
		}
	}
}

// In the first window of all, our own log is believed at once, if a figure has said that all was
// there but for what had departed.
func TestSpentInTheFirstWindow(t *testing.T) {
	const trip = 32 * ms
	for first, more := range map[int64]int{19: 1, 18: 1, 16: 1, 15: 0} {
		play(t, Adaptive, []row{
			{0, all(advertises(20, 10*sec), func(l *ledger, _ Instant) { l.server.Most = 20 }, send("a", "b", "c")), 100, 0},
			{trip, says("a", first, 10*sec), int(first) - 2, unsaid},
			{trip + ms, says("b", 0, 10*sec), 0, unsaid}, // c is out
			{trip + 2*ms, says("c", max(first-2, 16), 10*sec), more, unsaid},
		})
	}
}

// A log that was doubted is believed again with an answer, and not by time alone: what
// waits is told when it looks, and would not be told that.
func TestSpentAfterDoubt(t *testing.T) {
	w := New(Adaptive)
	w.State, w.Quota, w.Length, w.received, w.end = Reported, 10, 10*sec, Instant(sec), Instant(30*sec)
	w.ownRare().spent = &spent{ownLog: ownLog{length: 10 * time.Second, trust: 1, off: Instant(5 * sec), loose: true}}
	for _, at := range []time.Duration{sec, 5*sec - 1, 5 * sec, 6 * sec} {
		again, _ := w.Ready(Instant(at), 1)
		assert.Equal(t, Instant(30*sec), again, at)
	}
	w.received = Instant(5 * sec)
	again, _ := w.Ready(Instant(6*sec), 1)
	assert.Equal(t, Instant(6*sec), again)
}

// A refusal just after a window does not contradict our own log, which says itself when units are back; but where its
// length was found out, that may be wrong. The log is freed when all of it is back.
func TestSpentAfterWindow(t *testing.T) {
	var w Window
	for _, tells := range []bool{true, false} {
		var s Server
		w = New(Adaptive)
		w.SetPolicy(Requests, 20, 10*time.Second)
		w.Quota, w.State, w.closed, w.departed, s.Most = 20, Expired, Instant(20*sec), 40, 20
		w.ownRare().spent = &spent{ownLog: ownLog{length: 10 * time.Second, trust: 1, slots: []slot{{at: Instant(21 * sec), units: 1}}}}
		assert.True(t, w.believes(Instant(22*sec)))
		w.observeSpent(Instant(22*sec), Instant(21*sec), 0, tells, true, &s)
		assert.Equal(t, tells, w.believes(Instant((22+640)*sec-1)))
		assert.True(t, w.believes(Instant((22+640)*sec)))
	}

	back := w.backAt(&w.rare.spent.slots[0])
	w.TrimLog(back - 1)
	assert.Len(t, w.rare.spent.slots, 1)
	w.TrimLog(back)
	assert.Empty(t, w.rare.spent.slots)
}

// Where our own log says that units are back when a back-off is over, what waits looks then.
func TestSpentAfterBackOff(t *testing.T) {
	w := New(Adaptive)
	w.State, w.Quota, w.Length, w.received, w.end = Reported, 10, sec, Instant(sec), Instant(30*sec)
	w.BackOff = Instant(3 * sec)
	w.ownRare().spent = &spent{ownLog: ownLog{length: sec, trust: 1}}
	again, why := w.Ready(Instant(2*sec), 1)
	assert.Equal(t, Instant(3*sec), again)
	assert.Equal(t, BackingOff, why)
	again, _ = w.Ready(again, 1)
	assert.Equal(t, Instant(3*sec), again)
}

// While a request is out, an event may let another one go that only our own log has room for:
// where the log is believed, and the figure tells no end.
func TestHopefulByOwnLog(t *testing.T) {
	for _, tt := range []struct {
		name string
		but  func(w *Window)
		want bool
	}{
		{"an end is told", func(*Window) {}, false},
		{"loose", func(w *Window) { w.rare.spent.loose = true }, true},
		{"nothing is out", func(w *Window) { w.rare.spent.loose, w.InFlight = true, 0 }, false},
		{"doubted", func(w *Window) { w.rare.spent.loose, w.rare.spent.off = true, w.received+1 }, false},
		{"paused, and held for longer by the figure", func(w *Window) { w.rare.spent.loose, w.Hold = true, Instant(2*sec) }, true},
		{"paused", func(w *Window) { w.rare.spent.loose, w.Hold = true, Instant(2*mins) }, false},
		{"another client", func(w *Window) { w.rare.spent.loose, w.contention.fall = true, contentionNeeds }, false},
	} {
		w := New(Adaptive)
		w.State, w.Quota, w.Length, w.received, w.end = Reported, 100, mins, Instant(sec), Instant(mins)
		w.InFlight = 1
		w.ownRare().spent = &spent{ownLog: ownLog{length: mins, trust: 1}}
		tt.but(&w)
		assert.Equal(t, tt.want, w.Hopeful(Instant(sec), 1), tt.name)
	}
}

// Slots of our own log come back together, or a later one sooner, where its round trip was
// shorter. What is needed is there with the later of them, and not with those after.
func TestSpentInAnotherOrder(t *testing.T) {
	for _, tt := range []struct {
		trips [2]uint32 // in milliseconds
		at    [2]time.Duration
		n     int64
		want  time.Duration
	}{
		{[2]uint32{40, 40}, [2]time.Duration{0, 0}, 8, 10*sec + 1250*time.Microsecond},
		{[2]uint32{80, 40}, [2]time.Duration{0, 20 * ms}, 8, 10*sec + 42500*time.Microsecond},
		{[2]uint32{80, 40}, [2]time.Duration{0, 20 * ms}, 4, 10*sec + 21250*time.Microsecond},
		{[2]uint32{80, 40}, [2]time.Duration{0, 20 * ms}, 0, 6 * sec},
	} {
		w := New(Adaptive)
		w.Quota, w.Length, w.least = 10, 10*sec, 40*ms
		l := &spent{ownLog: ownLog{length: 10 * sec, trust: 1}}
		for i, at := range tt.at {
			l.slots = append(l.slots, slot{from: Instant(at), at: Instant(at), trip: 1000 * tt.trips[i], units: 4})
		}
		l.slots = append(l.slots, slot{from: Instant(5 * sec), at: Instant(5 * sec), units: 2})
		w.ownRare().spent = l
		assert.Equal(t, Instant(tt.want), w.whenRoom(Instant(6*sec), tt.n), tt)
	}
}

// The trust in our own log bounds those that are out. Once those of the window before have
// landed, it bounds only the others.
func TestSpentOnceTheLastWindowHasLanded(t *testing.T) {
	for _, tt := range []struct {
		out  int64
		want Instant
	}{{0, Instant(20 * sec).Add(grace(40 * ms))}, {1, Never}} {
		w := New(Adaptive)
		w.State, w.Quota, w.Length, w.received, w.end = Reported, 10, 10*sec, Instant(21*sec), Instant(30*sec)
		w.closed, w.before, w.InFlight, w.rtt = Instant(20*sec), 2, tt.out, 40*ms
		w.ownRare().spent = &spent{ownLog: ownLog{length: 10 * sec, trust: 1, loose: true}}
		assert.Equal(t, tt.want, w.whenBack(Instant(20*sec), 1), tt.out)
	}
}

// A server has told of a window of a day, of another quota or for a block, and our own log holds
// what departed for as long. Two seconds after the instant that it named last, that is over for
// sure: one request looks, and another one when an answer could be there.
func TestSpentHoldsNoLongerThanTheInstant(t *testing.T) {
	w := New(Adaptive)
	w.State, w.Quota, w.closed, w.received, w.asked = Expired, 10, Instant(10*sec), Instant(9*sec), Instant(5*sec)
	w.ownRare().spent = &spent{ownLog: ownLog{length: 24 * time.Hour, trust: 1, loose: true, slots: []slot{{at: Instant(5 * sec), units: 10}}}}
	again, _ := w.Ready(w.closed, 1)
	assert.Equal(t, Instant(12*sec), again)
	for _, wait := range []time.Duration{sec, 2 * sec, 4 * sec} {
		now, _ := w.Ready(again, 1)
		assert.Equal(t, again, now)
		w.Take(again, 1)
		again, _ = w.Ready(again, 1)
		assert.Equal(t, now.Add(wait), again)
	}
}

// However requests follow each other, our own log has no more than so many parts.
func TestLogIsBounded(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 1000, mins)
	l := w.keepLog(ownLog{trust: 1, length: mins, off: Never})
	for i := range Instant(200) {
		w.Take(i*Instant(ms), 1)
		l.slots[len(l.slots)-1].sure = i%2 == 0 // the next one is different
	}
	assert.Len(t, l.slots, maxSlots)
	assert.EqualValues(t, 800, w.room(Instant(200*ms)))
}

// The first request after a window departs although our own log has no room, until two of them were refused. If much more was
// there, a window has begun.
func TestWindowsEndInVain(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 20, 4*sec)
	l.keepLog(ownLog{length: 4 * sec, slots: []slot{{at: Instant(sec / 2), units: 16}, {at: Instant(sec), units: 4}}})
	l.State, l.received, l.closed = Expired, Instant(2*sec), Instant(2*sec)
	now := Instant(2 * sec)
	assert.Equal(t, now, l.when(now, 1))
	for range 2 {
		l.observeEnd(now, 0, true)
	}
	assert.Equal(t, Instant(4*sec), l.when(now, 1), "one looks 2 s after a window")
	l.closed = Instant(3 * sec)
	assert.Equal(t, Instant(4501*ms), l.when(now, 1), "when 16 are back")
	l.observeEnd(now, 5, false)
	assert.Greater(t, l.when(now, 1), now, "5 of 20 may have come back as they were spent")
	l.observeEnd(now, 6, false)
	assert.Equal(t, now, l.when(now, 1))
	l.observeEnd(now, 0, true)
	assert.Equal(t, now, l.when(now, 1), "one may be by chance")
	l.observeEnd(Instant(4501*ms), 0, true)
	assert.Equal(t, now, l.when(now, 1), "our own log had room for one that was refused")
	l.observeEnd(now, 0, true)
	assert.Greater(t, l.when(now, 1), now)
	l.observeEnd(now, 6, true)
	assert.Equal(t, now, l.when(now, 1), "another limit has refused it, and much was there")

	l.server.Most = 20
	for range 2 {
		l.State, l.closed = Expired, now
		send("a")(l, now)
		refuses("a", 0, sec)(l, now)
	}
	assert.Equal(t, uint8(endedInVain), l.rare.spent.ended, "each answer after a window is looked at")
}
