package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A slowServer allows q units in each second that begins with a request, and takes so long to
// answer one that it serves.
type slowServer struct {
	q, others int64 // others are units that other clients use in each window
	trip      time.Duration
	slides    time.Duration // q are allowed in any time of this length, and not in such a second; 0: they are not

	spent      []Instant
	into       Instant
	used       int64
	served, no int64
	out        []slowAnswer
}

type slowAnswer struct {
	at      Instant
	figure  Figure
	refused bool
}

func (s *slowServer) arrive(t Instant, c Charge) {
	if t >= s.into.Add(time.Second) {
		s.into, s.used = t, s.others
	}
	window := time.Second
	if s.slides > 0 {
		for len(s.spent) > 0 && s.spent[0].Add(s.slides) <= t {
			s.spent = s.spent[1:]
		}
		if s.used = int64(len(s.spent)); s.used > 0 {
			window = time.Duration(s.spent[0].Add(s.slides) - t)
		}
	}
	a := slowAnswer{at: t.Add(s.trip + time.Duration(s.served%3)*ms), refused: s.used >= s.q}
	if a.refused {
		a.at = t.Add(10 * ms)
		s.no++
	} else {
		s.used++
		s.served++
		s.spent = append(s.spent, t)
	}
	a.figure = Figure{Available: s.q - s.used, Window: window, Charge: c}
	s.out = append(s.out, a)
}

// run plays from one time to another, with no more than most requests out.
func (s *slowServer) run(l *ledger, most int, from, to time.Duration) {
	for t := Instant(from); t < Instant(to); t += Instant(2 * ms) {
		var out []slowAnswer
		for _, a := range s.out {
			if a.at > t {
				out = append(out, a)
				continue
			}
			l.Answered(a.figure.Charge, a.refused)
			l.Report(t, a.figure.Charge.Sent, a.figure, a.refused, &l.server)
			if a.refused {
				l.Pause(t, time.Second, l.server)
			}
		}
		for s.out = out; len(s.out) < most; {
			if again, _ := l.Ready(t, 1); again > t {
				break
			}
			s.arrive(t, Charge{Sent: t, Units: 1, Mark: l.Take(t, 1)})
		}
	}
}

// If answers take as long as windows, or longer, our own log says when units are back: nearly
// all of a quota is used, and nothing is refused, also if the policy does not tell the window.
// With less work than that, no request waits.
func TestLate(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 0} {
		for _, trip := range []time.Duration{600 * ms, time.Second, 1500 * ms, 3 * time.Second} {
			for _, part := range []float64{0.5, 5} {
				l := newLedger(Adaptive)
				l.SetPolicy(Requests, 20, length)
				s := &slowServer{q: 20, trip: trip, into: Instant(-mins)}
				s.run(l, 10, 0, 2*trip) // as at first contact
				s.run(l, int(part*20*trip.Seconds()), 2*trip, 15*time.Second)
				before := s.served
				s.run(l, int(part*20*trip.Seconds()), 15*time.Second, 40*time.Second)
				assert.Greater(t, float64(s.served-before), min(.9, .98*part)*20*25, "window %v, trip %v, %v", length, trip, part)
				assert.Zero(t, s.no, "window %v, trip %v, %v", length, trip, part)
			}
		}
	}
}

// If answers take less, and units come back as they were spent, it says so, too.
func TestSlowAnswersOfSlidingLog(t *testing.T) {
	for _, trip := range []time.Duration{500 * ms, time.Second, 3 * time.Second} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 60, 10*time.Second)
		s := &slowServer{q: 60, trip: trip, slides: 10 * time.Second, into: Instant(-mins)}
		s.run(l, 10, 0, trip)
		s.run(l, 30, trip, 2*time.Minute)
		before := s.served
		s.run(l, 30, 2*time.Minute, 4*time.Minute)
		assert.Greater(t, s.served-before, int64(698), trip)
		assert.Zero(t, s.no, trip)
	}
}

// A server that refuses what our own log has room for counts otherwise: the log is given up.
func TestSlowLogIsGivenUp(t *testing.T) {
	w, s := New(Adaptive), Server{Most: 20, Span: 10 * sec}
	w.SetPolicy(Requests, 20, 10*time.Second)
	w.travelled(time.Second)
	w.travelled(time.Second + ms)
	w.State, w.closed = Expired, Instant(sec)
	assert.False(t, w.observeLate(Instant(3*sec), Instant(2*sec), 14, false, &s), "three quarters of the quota are there")
	assert.True(t, w.observeLate(Instant(3*sec), Instant(2*sec), 13, false, &s))
	assert.EqualValues(t, 2, w.rare.spent.trust)
	at := Instant(20 * sec)
	w.State, w.received, w.end = Reported, Instant(19*sec), Instant(mins)
	w.Take(at, 1)
	assert.False(t, w.observeLate(at.Add(ms), at, 0, true, &s))
	assert.False(t, w.isLate())
	w.State, w.closed = Expired, Instant(30*sec)
	assert.False(t, w.observeLate(Instant(33*sec), Instant(32*sec), 3, false, &s))
}

// If others use the quota, some requests are refused, and fewer depart.
func TestLateBesideOthers(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 20, time.Second)
	s := &slowServer{q: 20, others: 10, trip: time.Second, into: Instant(-mins)}
	s.run(l, 10, 0, 2*time.Second)
	s.run(l, 100, 2*time.Second, mins)
	t.Log(s.served, s.no)
	assert.Greater(t, s.served, int64(.75*10*60))
	assert.Less(t, s.no, s.served/10)
}

// Answers take long if they take half of a window on average, until they take less than a
// quarter. A single one that takes long changes nothing.
func TestIsLate(t *testing.T) {
	w, s := New(Adaptive), Server{Most: 20}
	w.SetPolicy(Requests, 20, 10*time.Second)
	for _, tt := range []struct {
		trip time.Duration
		n    int
		want bool
	}{
		{5*time.Second - 1, 10, false},
		{5 * time.Second, 100, false}, // the mean comes near that
		{5100 * ms, 100, true},
		{2510 * ms, 100, true},
		{2490 * ms, 100, false},
		{ms, 100, false},
		{39 * time.Second, 1, false},
		{ms, 100, false},
		{41 * time.Second, 1, true},
	} {
		for range tt.n {
			w.travelled(tt.trip)
			w.observeLate(Instant(mins), Instant(mins-tt.trip), 0, false, &s)
		}
		assert.Equal(t, tt.want, w.isLate(), "%+v: mean %v", tt, w.least+w.jitter)
		assert.Equal(t, tt.want, w.hasLog(), "%+v", tt)
	}

	for name, but := range map[string]func(w *Window, s *Server){
		"plain":                     func(w *Window, _ *Server) { w.Strategy = Plain },
		"others hand out the units": func(w *Window, _ *Server) { w.Strategy = Together },
		"tokens":                    func(w *Window, _ *Server) { w.Unit = Other },
		"until a bucket is full":    func(_ *Window, s *Server) { s.Full = untilFull{grown: grownBucket} },
		"no window":                 func(w *Window, _ *Server) { w.Length = 0 },
		"long windows":              func(w *Window, _ *Server) { w.Length = ProbeInterval + 1 },
		"nothing served":            func(_ *Window, s *Server) { s.Most = 0 },
		"a huge quota":              func(w *Window, s *Server) { w.Quota, s.Most = MaxUnits, MaxUnits },
	} {
		w, s := New(Adaptive), Server{Most: 20}
		w.SetPolicy(Requests, 20, ProbeInterval)
		but(&w, &s)
		w.travelled(time.Hour)
		w.travelled(time.Hour + 1)
		assert.False(t, w.observeLate(Instant(time.Hour), 0, 0, false, &s), name)
	}
}

// What departs in a window is the quota; of a bucket that holds less, what it holds, as often
// as it comes back in a window.
func TestLateQuota(t *testing.T) {
	for _, tt := range []struct {
		quota, most, units int64
		length, want       time.Duration
	}{
		{20, 20, 20, 9 * sec, 9 * sec},
		{20, 30, 20, 9 * sec, 9 * sec},
		{20, 11, 11, 9 * sec, 9 * sec},
		{20, 10, 10, 9 * sec, 4500 * ms},
		{20, 6, 6, 9 * sec, 3 * sec},
		{None, 20, 20, 9 * sec, 9 * sec},
		{None, 20, 20, 0, 8 * sec},
	} {
		w, s := New(Adaptive), Server{Most: tt.most, Span: 8 * sec}
		w.SetPolicy(Requests, tt.quota, tt.length)
		w.travelled(5 * time.Second)
		assert.False(t, w.observeLate(Instant(5*sec), 0, 0, false, &s), "one answer says nothing")
		w.travelled(5*time.Second + ms)
		assert.True(t, w.observeLate(Instant(5*sec), 0, 0, false, &s))
		l := w.rare.spent
		assert.Equal(t, tt.units, l.quota, "%+v", tt)
		assert.Equal(t, tt.want, l.length, "%+v", tt)
		assert.Equal(t, 1+tt.units/4, l.trust, "%+v", tt)
		assert.Equal(t, Instant(5*sec).Add(tt.want).Add(w.guard(w.rtt)), l.off, "%+v", tt)
	}
}

// A refusal that was not expected costs a quarter of the quota, once for all that were out; and
// each round trip brings back a thirty-second.
func TestLateRefused(t *testing.T) {
	w, s := New(Adaptive), Server{Most: 64}
	w.SetPolicy(Requests, 64, time.Second)
	w.travelled(time.Second)
	w.travelled(time.Second + ms)
	w.observeLate(Instant(sec), 0, 0, false, &s)
	w.State, w.received = Reported, Instant(sec)
	l, at := w.rare.spent, Instant(5*sec)
	take := func() Instant {
		at += Instant(2 * sec)
		w.Take(at, l.quota)
		return at
	}
	one, two := take(), take()
	w.observeLate(at.Add(ms), one, 0, true, &s) // it was asked for longer ago than the log goes back
	assert.Equal(t, int64(64), l.quota)
	w.observeLate(at.Add(ms), two, 0, true, &s)
	assert.Equal(t, int64(48), l.quota)
	assert.Equal(t, int64(1+17/2), l.trust)
	w.observeLate(at.Add(2*ms), two, 0, true, &s)
	assert.Equal(t, int64(48), l.quota, "it departed before that was known")
	for i, want := range []int64{50, 52, 54, 56, 58, 60, 62, 64, 64} {
		sent, trust := take(), l.trust
		w.observeLate(at.Add(sec), sent, 0, false, &s)
		assert.Equal(t, want, l.quota, i)
		assert.Equal(t, 2*trust, l.trust, i)
	}
	at += Instant(2 * sec)
	w.available = 64
	w.Take(at, 31) // less than half of it
	w.observeLate(at.Add(sec), at, 0, false, &s)
	assert.Zero(t, l.asked)
	w.Take(at, 1)
	assert.Equal(t, at, l.asked)
	for range 100 {
		w.observeLate(at.Add(ms), take(), 0, true, &s)
	}
	assert.Equal(t, int64(3), l.quota) // the parts are whole
}

// No more departs than our own log says, even if a figure has room for it.
func TestByLog(t *testing.T) {
	w, s := New(Adaptive), Server{Most: 20}
	w.SetPolicy(Requests, 20, time.Second)
	w.travelled(time.Second)
	w.travelled(time.Second + ms)
	w.observeLate(Instant(sec), 0, 0, false, &s)
	w.State, w.received, w.available, w.end = Reported, Instant(5*sec), 15, Instant(mins)
	w.Take(Instant(5*sec), 20)
	again, _ := w.Ready(Instant(5*sec), 1)
	assert.Equal(t, Instant(6*sec).Add(w.lateGuard()), again)
	w.rare.spent.off = Never
	again, _ = w.Ready(Instant(5*sec), 1)
	assert.Equal(t, Instant(mins), again, "it is not believed yet")
}

// Whole seconds say 0 of windows of less than a second. If answers take longer, our own log is of a second.
func TestAlwaysZero(t *testing.T) {
	w, s := New(Adaptive), new(Server)
	w.SetPolicy(Requests, 10, 0)
	for at := Instant(0); at < Instant(9*sec); at += Instant(sec) {
		w.Report(at.Add(time.Duration(1+at%3)*700*ms), at, Figure{Available: 5 * int64(min(at, 1))}, false, s)
	}
	assert.Equal(t, sec, w.rare.spent.length)
	assert.True(t, w.isLate())
}

// A bucket of 600 a minute that holds 20 is full after two seconds. Answers of two seconds take long there,
// unless a figure has told of a time in which more would come.
func TestLateBucket(t *testing.T) {
	for _, tt := range []struct {
		span time.Duration
		want bool
	}{{2 * time.Second, true}, {3 * time.Second, true}, {3*time.Second + 1, false}, {mins, false}} {
		w, s := New(Adaptive), Server{Most: 20, Span: tt.span}
		w.SetPolicy(Requests, 600, mins)
		for at, trip := range []time.Duration{2 * time.Second, 2*time.Second + ms} {
			w.travelled(trip)
			w.observeLate(Instant(at)*Instant(sec)+Instant(trip), Instant(at)*Instant(sec), 0, false, &s)
		}
		require.Equal(t, tt.want, w.isLate(), tt.span)
		if tt.want {
			assert.Equal(t, int64(20), w.rare.spent.quota)
			assert.Equal(t, 2*time.Second, w.rare.spent.length)
			assert.Equal(t, 2*time.Second/128, w.lateGuard())
		}
	}
}
