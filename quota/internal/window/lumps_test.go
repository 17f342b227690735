package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A lumpServer has a bucket of which so many units come back together each so often.
type lumpServer struct {
	every          time.Duration
	lump, holds    int64
	first          Instant // when the first lump comes
	left, lumps    int64   // now, and how many lumps came
	trip, jitter   time.Duration
	rnd            *rand.Rand
	others         time.Duration // between two units that another client takes; 0: there is none
	taken          int64         // by it
	served, failed int64
}

// take takes a unit at t, if there is one, and returns what is left.
func (s *lumpServer) take(t Instant) (left int64, ok bool) {
	if t >= s.first {
		came := int64(t-s.first)/int64(s.every) + 1
		s.left, s.lumps = min(s.left+(came-s.lumps)*s.lump, s.holds), came
	}
	if s.others > 0 {
		for ; s.taken < int64(t)/int64(s.others); s.taken++ {
			s.left = max(s.left-1, 0)
		}
	}
	if s.left == 0 {
		return 0, false
	}
	s.left--
	return s.left, true
}

// play lets all depart until the end that may, together, and answers each in the order in which they arrive.
func (s *lumpServer) play(l *ledger, until Instant) {
	s.left = s.holds
	unit := s.every / time.Duration(s.lump)
	l.SetPolicy(Requests, s.holds, unit*time.Duration(s.holds))
	s.playOn(l, 0, until)
}

// playOn is play from an instant on.
func (s *lumpServer) playOn(l *ledger, from, until Instant) {
	unit := s.every / time.Duration(s.lump)
	for t := from; t < until; {
		arrive, sent := t.Add(s.trip/2), 0
		for again, _ := l.Ready(t, 1); again <= t && sent < 40 && (sent < 1 || l.State != Unknown); again, _ = l.Ready(t, 1) {
			send(fmt.Sprint(sent))(l, t)
			sent++
		}
		for i := range sent {
			arrive = arrive.Add(time.Duration(s.rnd.Int64N(int64(s.jitter) + 1)))
			left, ok := s.take(arrive)
			if ok {
				s.served++
			} else {
				s.failed++
			}
			l.fills(arrive.Add(s.trip/2), fmt.Sprint(i), left, unit*time.Duration(s.holds-left), !ok)
			t = max(t, arrive.Add(s.trip/2))
		}
		if again, _ := l.Ready(t, 1); again > t {
			t = again
		}
	}
}

// Units that come back many at a time are used as they come, after a few refusals.
func TestLumps(t *testing.T) {
	for _, c := range []struct {
		every       time.Duration
		lump, holds int64
		trip        time.Duration
		refused     int64
	}{
		{sec, 10, 20, 50 * ms, 16},
		{sec, 10, 10, 50 * ms, 16},
		{sec, 7, 20, 20 * ms, 12},
		{sec, 50, 100, 50 * ms, 68},
		{sec, 10, 20, 150 * ms, 10},
		{5 * sec, 20, 20, 100 * ms, 33},
		{300 * ms, 30, 60, 20 * ms, 26},
	} {
		var most int64
		for seed := range uint64(9) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			s := lumpServer{every: c.every, lump: c.lump, holds: c.holds, first: Instant(rnd.Int64N(int64(c.every))), trip: c.trip, jitter: ms / 2, rnd: rnd}
			l := newLedger(Adaptive)
			s.play(l, Instant(200*c.every))
			most = max(most, s.failed)
			assert.GreaterOrEqual(t, s.served, 198*c.lump, "%+v, seed %d: served", c, seed)
			assert.Equal(t, c.every, l.lumps().every, "%+v, seed %d", c, seed)
		}
		assert.Equal(t, c.refused, most, "%+v: the most that are refused, of 200 lumps", c)
	}
}

// One lump may be the counter of another route, or a server that has forgotten what was used. Two that agree show
// lumps, if requests that were refused are followed by others.
func TestTwoLumpsAgree(t *testing.T) {
	for name, c := range map[string]struct {
		second   int64 // that are left by the second one
		unit     Unit
		strategy Strategy
		dear     int64         // what the refused one costs
		had      int64         // that were left when it was refused
		served   bool          // it was served
		after    time.Duration // it departed
		lumps    bool
	}{
		// A unit comes in 105263157 ns, and nine are more than one by one if they come within 6 of that.
		"agree":           {9, Requests, Adaptive, 1, 0, false, 150 * ms, true},
		"differ":          {6, Requests, Adaptive, 1, 0, false, 150 * ms, false},
		"tokens":          {9, Other, Adaptive, 1, 0, false, 150 * ms, false},
		"plain":           {9, Requests, Plain, 1, 0, false, 150 * ms, false},
		"more is left":    {9, Requests, Adaptive, 1, 1, false, 150 * ms, false},
		"less than it is": {9, Requests, Adaptive, 2, 0, false, 150 * ms, true},
		"of one served":   {9, Requests, Adaptive, 1, 0, true, 150 * ms, false},
		"answered after":  {9, Requests, Adaptive, 1, 0, false, 20*ms - 1, false},
		"answered before": {9, Requests, Adaptive, 1, 0, false, 20 * ms, true},
		"soon":            {9, Requests, Adaptive, 1, 0, false, 631578941, true},
		"one by one":      {9, Requests, Adaptive, 1, 0, false, 631578942, false},
	} {
		l := newBucket(c.unit, 20, 0, 2*sec)
		l.Strategy = c.strategy
		l.SetPolicy(c.unit, 20, 2*sec)
		at := Instant(100 * ms)
		if c.served { // one refusal before, long ago
			send("a")(l, at)
			l.fills(at.Add(20*ms), "a", 0, 2*sec, true)
			at = at.Add(2 * sec)
		}
		for _, left := range []int64{9, c.second} {
			assert.Nil(t, l.lumps(), name)
			sendN("a", c.dear)(l, at)
			if c.after < 20*ms {
				send("b")(l, at.Add(c.after))
			}
			l.fills(at.Add(20*ms), "a", c.had, 2*sec, !c.served)
			if at = at.Add(c.after); c.after >= 20*ms {
				send("b")(l, at)
			}
			l.fills(at.Add(20*ms), "b", left+c.had, sec/10*time.Duration(20-left-c.had), false)
			at = at.Add(sec)
		}
		assert.Equal(t, c.lumps, l.lumps() != nil, name)
	}
}

// A lump is expected at an instant, and each T before and after it.
func TestRefills(t *testing.T) {
	w := newBucket(Requests, 20, 0, 2*sec).Copy()
	assert.Equal(t, [2]Instant{11, 11}, [2]Instant{w.refilled(11), w.refills(11)}, "without lumps")
	w.ownSpent().lumps = &lumps{every: 10, at: 103}
	for _, c := range [][3]Instant{ // an instant, and the lump before and after
		{103, 103, 103}, {104, 103, 113}, {112, 103, 113}, {113, 113, 113}, {102, 93, 103}, {84, 83, 93},
		{Never - 1, Never - 4, Never - 1},
	} {
		assert.Equal(t, c, [3]Instant{c[0], w.refilled(c[0]), w.refills(c[0])})
	}
	assert.Equal(t, Never, w.refills(Never))
}

// Units that come many at a time are found beside a client that takes some of them.
func TestLumpsBesideOthers(t *testing.T) {
	var served, refused, known int64
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		s := lumpServer{every: sec, lump: 10, holds: 20, first: Instant(rnd.Int64N(int64(sec))), trip: 50 * ms, jitter: ms / 2, rnd: rnd, others: 300 * ms}
		l := newLedger(Adaptive)
		s.play(l, Instant(100*sec))
		served, refused = served+s.served, refused+s.failed
		if l.lumps() != nil {
			known++
		}
	}
	assert.Equal(t, int64(60), known)
	assert.GreaterOrEqual(t, served, int64(42150), "of 60,000 less the 20,000 that the other takes")
	assert.LessOrEqual(t, refused, int64(10894))
}

// Two to five units of a lump of ten that came between two figures show that there are no such lumps, if none of those
// may have found more of it.
func TestPartOfALump(t *testing.T) {
	for _, c := range []struct {
		came, out int64
		lumps     bool
	}{{0, 0, true}, {1, 0, true}, {2, 0, false}, {5, 0, false}, {6, 0, true}, {4, 1, false}, {4, 2, true}, {4, MaxUnits, true}, {MaxUnits, 0, true}} {
		w := newBucket(Requests, 20, 0, 2*sec).Copy()
		w.rare.fill = 2 * sec
		l := &lumps{every: sec, out: c.out}
		w.compareLumps(l, 0, c.came-1, Charge{Units: 1})
		assert.Equal(t, c.lumps, l.every == sec, "%+v", c)
	}
}

// Without lumps, whatever another client takes, none are seen.
func TestNoLumps(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		rate := 2 + rnd.Int64N(40)
		s := lumpServer{every: sec / time.Duration(rate), lump: 1, holds: rate * (1 + rnd.Int64N(3)), trip: time.Duration(5+rnd.Int64N(250)) * ms, jitter: 5 * ms, rnd: rnd}
		if seed%2 == 0 {
			s.others = 3 * s.every
		}
		l := newLedger(Adaptive)
		s.play(l, Instant(100*sec))
		assert.Nil(t, l.lumps(), "seed %d: %+v", seed, s)
	}
}

// If lumps come at other times than before, a wave at most is refused; and if units come one by one, that is seen.
func TestLumpsChange(t *testing.T) {
	for seed := range uint64(9) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		s := lumpServer{every: sec, lump: 10, holds: 20, trip: 50 * ms, jitter: ms / 2, rnd: rnd}
		l := newLedger(Adaptive)
		s.play(l, Instant(20*sec))
		c := l.Copy()
		assert.NotSame(t, l.lumps(), c.lumps(), "a copy has its own")

		s.first, s.lumps, s.served, s.failed = Instant(20*sec+time.Duration(rnd.Int64N(int64(sec)))), 0, 0, 0
		s.playOn(l, Instant(20*sec), Instant(60*sec))
		assert.LessOrEqual(t, s.failed, int64(10), "seed %d: refused", seed)
		assert.GreaterOrEqual(t, s.served, int64(390), "seed %d: served", seed)

		s.every, s.lump, s.first, s.lumps, s.served, s.failed = 2*sec, 20, Instant(61*sec), 0, 0, 0
		s.playOn(l, Instant(60*sec), Instant(160*sec))
		assert.Equal(t, 2*sec, l.lumps().every, "seed %d", seed)
		assert.LessOrEqual(t, s.failed, int64(29), "seed %d: refused, until two agree", seed)
		assert.GreaterOrEqual(t, s.served, int64(980), "seed %d: served", seed)

		s.every, s.lump, s.first, s.lumps, s.left = sec/10, 1, Instant(160*sec), 0, 10
		for at := Instant(160 * sec); at < Instant(161*sec); at = at.Add(250 * ms) {
			send("a")(l, at)
			left, _ := s.take(at.Add(25 * ms))
			l.fills(at.Add(50*ms), "a", left, sec/10*time.Duration(20-left), false)
		}
		assert.Nil(t, l.lumps(), "seed %d", seed)
	}
}
