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

// One lump may be the counter of another route, or a server that has forgotten what was used. Two that agree show lumps.
func TestTwoLumpsAgree(t *testing.T) {
	for _, second := range []int64{6, 9} {
		l := newBucket(Requests, 20, 0, 2*sec)
		l.SetPolicy(Requests, 20, 2*sec)
		at := Instant(100 * ms)
		for _, left := range []int64{9, second} {
			send("a")(l, at)
			l.fills(at.Add(20*ms), "a", 0, 2*sec, true)
			assert.Nil(t, l.lumps())
			at = at.Add(150 * ms)
			send("b")(l, at)
			l.fills(at.Add(20*ms), "b", left, sec/10*time.Duration(20-left), false)
			at = at.Add(sec)
		}
		assert.Equal(t, second == 9, l.lumps() != nil, "%d left", second)
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

		s.every, s.lump, s.first, s.lumps, s.left = sec/10, 1, Instant(60*sec), 0, 10
		for at := Instant(60 * sec); at < Instant(61*sec); at = at.Add(250 * ms) {
			send("a")(l, at)
			left, _ := s.take(at.Add(25 * ms))
			l.fills(at.Add(50*ms), "a", left, sec/10*time.Duration(20-left), false)
		}
		assert.Nil(t, l.lumps(), "seed %d", seed)
	}
}
