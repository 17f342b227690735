package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An untoldServer says how much is left, but not until when. It keeps windows that the first request begins, aligned
// ones, or a bucket.
type untoldServer struct {
	quota   int64
	length  time.Duration // of a window, or from empty to full
	aligned bool
	bucket  bool
	later   *untoldServer // what it becomes
	after   int           // so many units

	left  float64
	since Instant
	began bool
}

func (s *untoldServer) answer(t Instant) (left int64, ok bool) {
	if s.after--; s.after < 0 && s.later != nil {
		*s = *s.later
	}
	switch {
	case s.bucket:
		s.left = min(s.left+float64(t-s.since)*float64(s.quota)/float64(s.length), float64(s.quota))
		s.since = t
	case s.aligned && (!s.began || t/Instant(s.length) > s.since/Instant(s.length)), !s.began, t >= s.since.Add(s.length):
		s.left, s.since = float64(s.quota), t
	}
	if s.bucket && !s.began {
		s.left = float64(s.quota)
	}
	s.began = true
	if s.left < 1 {
		return 0, false
	}
	s.left--
	return int64(s.left), true
}

// playUntold sends n requests one after another, and returns how long that takes and how many were refused.
func playUntold(s *untoldServer, n int, rtt time.Duration) (took time.Duration, refused int) {
	w, server := New(Adaptive), new(Server)
	t := Instant(300 * ms)
	began := t
	for n > 0 {
		if again, _ := w.Ready(t, 1); again > t {
			t = again
			continue
		}
		c := Charge{Sent: t, Units: 1, Mark: w.Take(t, 1)}
		left, ok := s.answer(t.Add(rtt / 2))
		t = t.Add(rtt)
		w.SetUntold(Requests, s.quota, server)
		w.Answered(c, !ok)
		w.Report(t, c.Sent, Figure{Available: left, Window: None, Charge: c, Served: ok}, !ok, server)
		if !ok {
			w.StartBackOff(t, c.Sent, 0)
			refused++
			continue
		}
		n--
	}
	return time.Duration(t - began), refused
}

// How long windows are is learned where no answer says when they end: before, each of them took a second more
// from when it was used up.
func TestUntold(t *testing.T) {
	for name, tt := range map[string]struct {
		server  untoldServer
		most    time.Duration // for 600 units
		refused int
	}{
		"10 in 1 s":           {server: untoldServer{quota: 10, length: sec}, most: 61 * sec, refused: 1},
		"50 in 5 s":           {server: untoldServer{quota: 50, length: 5 * sec}, most: 59200 * ms, refused: 2},
		"60 in a minute":      {server: untoldServer{quota: 60, length: mins}, most: 551 * sec, refused: 7},
		"aligned, 10 in 1 s":  {server: untoldServer{quota: 10, length: sec, aligned: true}, most: 61 * sec, refused: 1},
		"aligned, 300 in 600": {server: untoldServer{quota: 300, length: 10 * mins, aligned: true}, most: 623 * sec, refused: 17},
		"10 in 1300 ms":       {server: untoldServer{quota: 10, length: 1300 * ms}, most: 93 * sec, refused: 3},
		"10 in 100 ms":        {server: untoldServer{quota: 10, length: 100 * ms}, most: 30 * sec},
		"bucket, 10 in 1 s":   {server: untoldServer{quota: 10, length: sec, bucket: true}, most: 63 * sec},
		"bucket, 5 in 500 ms": {server: untoldServer{quota: 5, length: sec / 2, bucket: true}, most: 104 * sec},
		"bucket, 200 in 20 s": {server: untoldServer{quota: 200, length: 20 * sec, bucket: true}, most: 41 * sec},
	} {
		took, refused := playUntold(&tt.server, 600, 50*ms)
		assert.LessOrEqual(t, took, tt.most, name)
		assert.Equal(t, tt.refused, refused, name)
	}
}

// The roundest time between two is taken for the length of a window.
func TestRoundest(t *testing.T) {
	for _, tt := range []struct{ least, most, want time.Duration }{
		{sec * 3 / 4, 1760 * ms, sec},
		{300 * ms, 700 * ms, 700 * ms},
		{38 * sec, 69 * sec, mins},
		{4200 * ms, 11 * sec, 10 * sec},
		{2200 * ms, 5200 * ms, 5 * sec},
		{sec, 2 * sec, 2 * sec},
		{-20 * ms, sec, sec},
		{50 * mins, 62 * mins, time.Hour},
		{8 * mins, 11 * mins, 10 * mins},
	} {
		assert.Equal(t, tt.want, roundest(tt.least, tt.most), "%v to %v", tt.least, tt.most)
	}
}

// A unit that is left, of a bucket or of a log, contradicts what was learned, and the next time more windows have to
// agree. So does a refusal, unless two windows were as long.
func TestUntoldContradicted(t *testing.T) {
	const from = Instant(sec)
	learned := func(kept uint8) (*Window, *Server, Instant) {
		w, s := New(Adaptive), new(Server)
		s.untold.length, s.untold.kept = sec, kept
		w.SetUntold(Requests, 10, s)
		w.Report(from.Add(50*ms), from, Figure{Available: 9, Window: None}, false, s)
		assert.Equal(t, from.Add(sec), w.due)
		w.Report(from.Add(850*ms), from.Add(800*ms), Figure{Window: None}, false, s)
		assert.Equal(t, from.Add(sec), w.due, "not a second from then on")
		return &w, s, from.Add(1100 * ms)
	}
	w, s, at := learned(1)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, false, s)
	assert.Zero(t, s.untold.length, "one of ten was there")
	assert.Zero(t, w.Length)
	assert.EqualValues(t, 4, s.untold.enough())
	assert.Equal(t, at.Add(375*ms), w.due, "one came in 300 ms")

	w, s, at = learned(1)
	w.Report(at+Instant(50*ms), at, Figure{Available: 6, Window: None}, false, s)
	assert.Equal(t, sec, s.untold.length, "seven were there")
	assert.Equal(t, at.Add(sec), w.due)

	w, s, at = learned(1)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, true, s)
	assert.Zero(t, s.untold.length, "refused")
	assert.Equal(t, 1050*ms, s.untold.least)

	w, s, at = learned(2)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, true, s)
	assert.Equal(t, sec, s.untold.length, "by chance")
	assert.Equal(t, at.Add(sec), w.due, "it is not over yet")
	w.Roll(at.Add(sec))
	at = at.Add(1100 * ms)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, true, s)
	assert.Zero(t, s.untold.length, "again")
}

// An answer of a window that is over pushes nothing.
func TestUntoldLate(t *testing.T) {
	for _, length := range []time.Duration{0, sec} {
		w, s := New(Adaptive), new(Server)
		s.untold.length = length
		w.SetUntold(Requests, 10, s)
		w.Report(Instant(50*ms), 1, Figure{Available: 9, Window: None}, false, s)
		w.Report(Instant(150*ms), Instant(100*ms), Figure{Window: None}, false, s)
		w.Report(Instant(1250*ms), Instant(1200*ms), Figure{Available: 9, Window: None}, false, s)
		due := w.due
		w.Report(Instant(1300*ms), Instant(900*ms), Figure{Window: None}, false, s)
		assert.EqualValues(t, 9, w.available)
		assert.Equal(t, due, w.due)
		w.InFlight = 2
		w.Report(Instant(1400*ms), Instant(1190*ms), Figure{Available: 7, Window: None}, false, s)
		assert.EqualValues(t, 7, w.available, "it has arrived in the new one")
	}
}

// A server may tell it where it refuses, and only there: that counts as a refusal of what was learned.
func TestUntoldButWhereRefused(t *testing.T) {
	const from = Instant(sec)
	w, s := New(Adaptive), new(Server)
	s.untold.length = sec
	w.SetUntold(Requests, 10, s)
	w.Report(from.Add(50*ms), from, Figure{Available: 9, Window: None}, false, s)
	w.Report(from.Add(850*ms), from.Add(800*ms), Figure{Window: None}, false, s)
	w.Report(from.Add(1150*ms), from.Add(1100*ms), Figure{Window: 2 * sec}, true, s)
	assert.Zero(t, s.untold.length)
	assert.Equal(t, from.Add(3100*ms), w.due)
}

// A figure that has not fallen shows that a unit has come back: then it is not known when a window began.
func TestUntoldRise(t *testing.T) {
	for again, want := range map[int64]time.Duration{7: sec, 8: 0} {
		w, s := New(Adaptive), new(Server)
		w.SetPolicy(Requests, 10, 0)
		for _, f := range []struct {
			sent time.Duration
			left int64
		}{{1000 * ms, 9}, {1100 * ms, 8}, {1200 * ms, again}, {1800 * ms, 0}, {2850 * ms, 9}} {
			w.Report(Instant(f.sent+50*ms), Instant(f.sent), Figure{Available: f.left, Window: None}, false, s)
		}
		assert.Equal(t, want, s.untold.length, "%d", again)
	}
}

// Requests that depart halfway are rarer and rarer, but one does in 128 windows, or in those of five minutes if they have 200
// requests.
func TestUntoldHalfway(t *testing.T) {
	const from = Instant(sec)
	for _, tt := range []struct {
		quota int64
		least time.Duration // known to be too short; half of a minute and more leaves nothing to look into
		want  time.Duration
		after []int
	}{
		{quota: 2, least: 3 * sec, want: 31500 * ms, after: []int{3, 24, 100, 100}},
		{quota: 10, least: 3 * sec, want: 31500 * ms, after: []int{3, 20, 20, 20}},
		{quota: 60, least: 3 * sec, want: 31500 * ms, after: []int{3, 5, 5, 5}},
		{quota: 500, least: 3 * sec, want: 31500 * ms, after: []int{3, 5, 5, 5}},
		{quota: 2, least: 40 * sec, want: 50 * sec, after: []int{3, 24, 100, 100}},
		{quota: 2, least: 41 * sec, want: 31 * sec, after: []int{100, 100, 100, 100}},
		{quota: 60, least: 41 * sec, want: 31 * sec, after: []int{5, 5, 5, 5}},
		{quota: 500, least: 41 * sec, want: 31 * sec, after: []int{5, 5, 5, 5}},
	} {
		w, s := New(Adaptive), &Server{untold: untold{length: mins, least: tt.least}}
		w.SetUntold(Requests, tt.quota, s)
		w.ownRare().spent = &spent{from: from}
		w.due = from.Add(mins)
		var after []int
		for n := 1; n < 1000 && len(after) < 4; n++ {
			s.untold.rest = min(s.untold.rest+1, untoldRest)
			if due := w.untoldLook(from.Add(2*sec), s); due != w.due {
				assert.Equal(t, from.Add(tt.want), due)
				after, n = append(after, n), 0
			}
		}
		assert.Equal(t, tt.after, after, "%d, %v", tt.quota, tt.least)
	}
}

// One departs halfway whichever answer tells that nothing is left: that of the last request, or of another one that was in
// flight. A refusal shows nothing of when the window was used up, nor does an answer of the window before.
func TestUntoldLook(t *testing.T) {
	const from = Instant(mins)
	figure := func(w *Window, s *Server, sent, took time.Duration, left int64, refused bool) {
		w.Report(from.Add(sent+took), from.Add(sent), Figure{Available: left, Window: None}, refused, s)
	}
	for _, tt := range []struct {
		name   string
		change func(w *Window, s *Server)
		play   func(w *Window, s *Server)
		want   time.Duration // after which the window is due
	}{
		{name: "in order", play: func(w *Window, s *Server) { figure(w, s, 2*sec, 50*ms, 0, false) }, want: 31 * sec},
		{name: "out of order", play: func(w *Window, s *Server) {
			figure(w, s, 1900*ms, 150*ms, 1, false)
			figure(w, s, 2*sec, 60*ms, 0, false)
		}, want: 31 * sec},
		{name: "before another one", play: func(w *Window, s *Server) {
			figure(w, s, 2*sec, 50*ms, 0, false)
			figure(w, s, 1900*ms, 200*ms, 1, false)
		}, want: 31 * sec},
		{name: "and before a refusal", play: func(w *Window, s *Server) {
			figure(w, s, 2*sec, 50*ms, 0, false)
			figure(w, s, 2*sec+10*ms, 50*ms, 0, true)
		}, want: 31 * sec},
		{name: "refused", play: func(w *Window, s *Server) { figure(w, s, 2*sec, 50*ms, 0, true) }, want: mins},
		{name: "some is left", play: func(w *Window, s *Server) { figure(w, s, 2*sec, 50*ms, 1, false) }, want: mins},
		{name: "one was found to be over", change: func(_ *Window, s *Server) { s.untold.short = 20 * sec },
			play: func(w *Window, s *Server) { figure(w, s, 2*sec, 50*ms, 0, false) }, want: 20 * sec},
		{name: "lately", change: func(_ *Window, s *Server) { s.untold.rest = 19 },
			play: func(w *Window, s *Server) { figure(w, s, 2*sec, 50*ms, 0, false) }, want: mins},
		{name: "it took nearly the whole window", play: func(w *Window, s *Server) { figure(w, s, 41*sec, 50*ms, 0, false) }, want: mins},
	} {
		w, s := New(Adaptive), &Server{untold: untold{length: mins, rest: 100}}
		w.SetUntold(Requests, 10, s)
		s.untold.pause = 100
		figure(&w, s, 0, 50*ms, 9, false)
		if tt.change != nil {
			tt.change(&w, s)
		}
		tt.play(&w, s)
		assert.Equal(t, from.Add(tt.want), w.due, tt.name)
	}
}

// Windows of another quota may be of another length: it is learned anew, but not from the last one of the old quota.
// Another account of the same policy may have another quota, and its windows are as long.
func TestUntoldOtherQuota(t *testing.T) {
	const from = Instant(mins)
	w, s := New(Adaptive), &Server{untold: untold{length: mins, kept: 9, least: 50 * sec, rest: 9, pause: 16, failed: 1}}
	was := s.untold
	w.SetUntold(Requests, 60, s)
	assert.Equal(t, was, s.untold, "the first one")
	w.SetUntold(Requests, 60, s)
	other := New(Adaptive)
	other.SetUntold(Requests, 6, s)
	assert.Equal(t, was, s.untold, "the same one, and another account")
	w.SetUntold(Requests, None, s)
	w.SetUntold(Requests, MaxUnits+1, s)
	w.SetUntold(Requests, MaxUnits+1, s)
	w.SetUntold(Requests, None, s)
	w.SetUntold(Requests, 60, s)
	assert.Equal(t, was, s.untold, "one that is not told, and one that is too high")

	w.Report(from.Add(50*ms), from, Figure{Available: 0, Window: None}, false, s)
	at := from.Add(mins + 100*ms)
	w.Roll(at)
	w.SetUntold(Requests, 6, s)
	assert.Zero(t, s.untold)
	w.Report(at.Add(50*ms), at, Figure{Available: 5, Window: None}, false, s)
	assert.Zero(t, s.untold, "nor of the window before")
	assert.Equal(t, Never, w.due)
	assert.Zero(t, w.Length)
}

// Where windows become shorter, a Window finds out, also if the quota stays the same.
func TestUntoldShorter(t *testing.T) {
	for name, tt := range map[string]struct {
		server, later untoldServer // for 1,800 units each
		most          time.Duration
		refused       int
	}{
		"60 in 10 s":      {server: untoldServer{quota: 60, length: mins}, later: untoldServer{quota: 60, length: 10 * sec}, most: 34*mins + 54*sec, refused: 13},
		"6 in 6 s":        {server: untoldServer{quota: 60, length: mins}, later: untoldServer{quota: 6, length: 6 * sec}, most: 59*mins + 22*sec, refused: 23},
		"50 in 10 s":      {server: untoldServer{quota: 300, length: 10 * mins}, later: untoldServer{quota: 50, length: 10 * sec}, most: 56*mins + 24*sec, refused: 25},
		"100 in a minute": {server: untoldServer{quota: 100, length: 5 * mins}, later: untoldServer{quota: 100, length: mins}, most: 109*mins + 52*sec, refused: 21},
	} {
		s := tt.server
		s.later, s.after = &tt.later, 1800
		took, refused := playUntold(&s, 3600, 50*ms)
		assert.LessOrEqual(t, took, tt.most, name)
		assert.Equal(t, tt.refused, refused, name)
	}
}

// What a figure shows of how long windows are, if its request departed so long after the first one of a window that was
// used up.
func TestObserveUntold(t *testing.T) {
	const from = Instant(mins)
	for _, tt := range []struct {
		name    string
		before  untold
		after   time.Duration
		found   int64
		refused bool
		change  func(w *Window)
		want    untold
	}{
		{"refused too soon", untold{length: 10 * sec, short: 6 * sec}, 5 * sec, 0, true, nil, untold{length: 10 * sec, least: 4900 * ms}},
		{"one is missing, too soon", untold{length: 10 * sec, short: 6 * sec}, 5 * sec, 9, false, nil, untold{length: 10 * sec, least: 4900 * ms, unit: 4 * sec / 9}},
		{"all is there halfway", untold{length: 10 * sec, least: 4 * sec}, 6 * sec, 10, false, nil, untold{length: 10 * sec, least: 4 * sec, short: 6 * sec}},
		{"and again", untold{length: 10 * sec, least: 4 * sec, short: 6 * sec, kept: 7, rest: 9}, 5500 * ms, 10, false, nil, untold{length: 5 * sec, least: 4 * sec}},
		{"and again, after many windows", untold{length: 10 * sec, least: 4 * sec, short: 6 * sec, kept: 8, rest: 9}, 5500 * ms, 10, false, nil, untold{length: 5 * sec, rest: 128}},
		{"all is there halfway, where it was known to be longer", untold{length: 60 * sec, least: 50 * sec, rest: 9, pause: 16}, 31 * sec, 10, false, nil, untold{length: 60 * sec, short: 31 * sec, rest: 9, pause: 16}},
		{"and again, and the next one may look soon", untold{length: 60 * sec, least: 4 * sec, short: 32 * sec, rest: 9, pause: 16}, 31 * sec, 10, false, nil, untold{length: 10 * sec, least: 4 * sec}},
		{"and again, a little less than a round time", untold{length: 10 * sec, least: 4200 * ms, short: 6 * sec}, 4950 * ms, 10, false, nil, untold{length: 5 * sec, least: 4200 * ms}},
		{"and again, later", untold{length: 10 * sec, least: 4200 * ms, short: 4950 * ms}, 6 * sec, 10, false, nil, untold{length: 5 * sec, least: 4200 * ms}},
		{"as long as known", untold{length: 10 * sec, short: 6 * sec, kept: 6, rest: 9, failed: 2}, 10 * sec, 10, false, nil, untold{length: 10 * sec, kept: 7, rest: 10, failed: 2}},
		{"for the eighth time", untold{length: 10 * sec, kept: 7, rest: 128, failed: 2}, 11 * sec, 10, false, nil, untold{length: 10 * sec, kept: 8, rest: 128}},
		{"for long", untold{length: 10 * sec, kept: 128}, 11 * sec, 10, false, nil, untold{length: 10 * sec, kept: 128, rest: 1}},
		{"half is there", untold{length: 10 * sec, kept: 1}, 10 * sec, 5, false, nil, untold{length: 10 * sec, kept: 2, rest: 1}},
		{"less than half", untold{length: 10 * sec, kept: 9, pause: 24}, 10 * sec, 4, false, nil, untold{failed: 1, pause: 24}},
		{"that, with one unanswered", untold{length: 10 * sec}, 10 * sec, 4, false, func(w *Window) { w.InFlight = 1 }, untold{length: 10 * sec, kept: 1, rest: 1}},
		{"that, beside others", untold{length: 10 * sec}, 10 * sec, 4, false, func(w *Window) { w.contention.fall = 9 }, untold{length: 10 * sec}},
		{"refused, the first time", untold{length: 10 * sec, kept: 1}, 10 * sec, 0, true, nil, untold{failed: 1, kept: 3, least: 9900 * ms}},
		{"refused, the second time", untold{length: 10 * sec, kept: 1, failed: 1}, 10 * sec, 0, true, nil, untold{failed: 2, least: 9900 * ms}},
		{"refused by chance", untold{length: 10 * sec, kept: 2}, 10 * sec, 0, true, nil, untold{length: 10 * sec}},
		{"refused by chance, after many", untold{length: 10 * sec, kept: 20}, 10 * sec, 0, true, nil, untold{length: 10 * sec, kept: 12}},
		{"refused, nothing is known", untold{kept: 2}, 10 * sec, 0, true, nil, untold{kept: 2, least: 9900 * ms}},
		{"nothing is known, less than half", untold{kept: 2}, 10 * sec, 4, false, nil, untold{}},
		{"nothing is known, one is missing", untold{kept: 2}, 10 * sec, 9, false, nil, untold{failed: 1}},
		{"that, with one unanswered", untold{kept: 2}, 10 * sec, 9, false, func(w *Window) { w.InFlight = 1 }, untold{kept: 2}},
		{"that, beside others", untold{kept: 2}, 10 * sec, 9, false, func(w *Window) { w.contention.fall = 9 }, untold{kept: 2}},
		{"that, after two that were wrong", untold{failed: 2, kept: 2}, 10 * sec, 9, false, nil, untold{failed: 2}},
		{"nothing is known, all", untold{least: 4 * sec}, 11 * sec, 10, false, nil, untold{length: 10 * sec, least: 4 * sec}},
		{"nothing is known, used up after a minute", untold{}, 65 * sec, 10, false, func(w *Window) { w.sent = from.Add(61 * sec) }, untold{length: 65 * sec}},
		{"nothing is known, one of four", untold{failed: 1, kept: 2}, 11 * sec, 10, false, nil, untold{failed: 1, kept: 3}},
		{"ten minutes", untold{least: 9 * mins}, ProbeInterval, 10, false, nil, untold{length: ProbeInterval, least: 9 * mins}},
		{"longer", untold{least: 10*mins + 1}, ProbeInterval + 1, 10, false, nil, untold{least: 10*mins + 1}},
		{"often wrong", untold{failed: untoldFailed}, 10 * sec, 10, false, nil, untold{failed: untoldFailed}},
		{"nearly as often", untold{failed: untoldFailed - 1}, 10 * sec, 10, false, nil, untold{failed: untoldFailed - 1, kept: 1}},
		{"some was left", untold{}, 10 * sec, 10, false, func(w *Window) { w.available = 1 }, untold{}},
		{"it is not known when it began", untold{}, 10 * sec, 10, false, func(w *Window) { w.rare.spent.from = 0 }, untold{}},
		{"nothing was observed", untold{}, 10 * sec, 10, false, func(w *Window) { w.rare.spent = nil }, untold{}},
		{"nothing rare is known", untold{}, 10 * sec, 10, false, func(w *Window) { w.rare = nil }, untold{}},
		{"answers take long", untold{}, 10 * sec, 10, false, func(w *Window) { w.rare.spent.quota, w.rare.spent.length = 10, sec }, untold{}},
		{"out of order", untold{}, 10 * sec, 10, false, func(w *Window) { w.received = from.Add(11 * sec) }, untold{}},
		{"not after the one in force", untold{}, 10 * sec, 10, false, func(w *Window) { w.sent = from.Add(10 * sec) }, untold{}},
		{"expired", untold{least: 4 * sec}, 10 * sec, 10, false, func(w *Window) { w.State = Expired }, untold{length: 10 * sec, least: 4 * sec}},
		{"unknown", untold{}, 10 * sec, 10, false, func(w *Window) { w.State = Unknown }, untold{}},
	} {
		w, s := New(Adaptive), &Server{untold: tt.before}
		w.SetUntold(Requests, 10, s)
		w.ownRare().spent = &spent{from: from}
		w.State, w.available, w.sent, w.rtt = Reported, 0, from.Add(sec), 100*ms
		if tt.change != nil {
			tt.change(&w)
		}
		w.observeUntold(from.Add(tt.after), tt.found, tt.refused, s)
		s.untold.shown = 0 // see TestUntoldSlowUnit
		assert.Equal(t, tt.want, s.untold, tt.name)
	}
}

// How long one unit takes is what passed since nothing was left, by the units that a request found; and when the next one
// departs.
func TestUntoldUnit(t *testing.T) {
	const from = Instant(mins)
	for _, tt := range []struct {
		name    string
		before  time.Duration // for a unit
		after   time.Duration
		found   int64
		refused bool
		change  func(w *Window)
		want    time.Duration
	}{
		{"six of ten", 0, 900 * ms, 6, false, nil, 150 * ms},
		{"one", 50 * ms, 100 * ms, 1, false, nil, 100 * ms},
		{"nearly all in a second", 0, sec, 8, false, nil, 0},
		{"a little less", 0, sec + 8, 8, false, nil, 125*ms + 1},
		{"nearly all, when it was known", 50 * ms, sec, 8, false, nil, 125 * ms},
		{"all", 50 * ms, sec, 10, false, nil, 0},
		{"all, with one unanswered", 50 * ms, sec, 9, false, func(w *Window) { w.InFlight = 1 }, 0},
		{"beside others", 50 * ms, 900 * ms, 6, false, func(w *Window) { w.contention.fall = 9 }, 0},
		{"a second", 50 * ms, 2 * sec, 2, false, nil, 0},
		{"nearly a second", 50 * ms, 2*sec - 2, 2, false, nil, sec - 1},
		{"refused", 150 * ms, 200 * ms, 0, true, nil, 300 * ms},
		{"refused, a second", 500 * ms, 200 * ms, 0, true, nil, 0},
		{"refused, nothing was known", 0, 200 * ms, 0, true, nil, 0},
		{"some was left", 50 * ms, 900 * ms, 6, false, func(w *Window) { w.available = 1 }, 50 * ms},
		{"out of order", 50 * ms, 900 * ms, 6, false, func(w *Window) { w.received = from.Add(sec) }, 50 * ms},
		{"not after the one in force", 50 * ms, 0, 6, false, nil, 50 * ms},
		{"unknown", 50 * ms, 900 * ms, 6, false, func(w *Window) { w.State = Unknown }, 50 * ms},
		{"answers take long", 50 * ms, 900 * ms, 6, false, func(w *Window) { w.rare.spent.quota, w.rare.spent.length = 10, sec }, 0},
	} {
		w, s := New(Adaptive), &Server{untold: untold{unit: tt.before}}
		w.SetUntold(Requests, 10, s)
		w.ownSpent()
		w.State, w.available, w.sent, w.due = Reported, 0, from, from.Add(sec)
		if tt.change != nil {
			tt.change(&w)
		}
		w.observeUntold(from.Add(tt.after), tt.found, tt.refused, s)
		assert.Equal(t, tt.want, s.untold.unit, tt.name)
		due := from.Add(sec)
		if tt.want > 0 {
			due = min(due, from.Add(tt.want+tt.want/4))
		}
		assert.Equal(t, due, w.untoldLook(from, s), tt.name)
	}
}

// Where the last refusal was dear, a unit may take more than a second, if two or more have shown that.
func TestUntoldSlowUnit(t *testing.T) {
	const from = Instant(mins)
	type known = untold
	for _, tt := range []struct {
		name    string
		before  known
		after   time.Duration
		found   int64
		refused bool
		want    known
	}{
		{"two", known{dear: true}, 4 * sec, 2, false, known{unit: 2 * sec, shown: 2 * sec, dear: true}},
		{"two, and refusals are cheap", known{}, 4 * sec, 2, false, known{shown: 2 * sec}},
		{"one", known{dear: true}, 4 * sec, 1, false, known{dear: true}},
		{"one, four times as slow", known{unit: 7 * sec, shown: 2 * sec, dear: true}, 8 * sec, 1, false, known{unit: 8 * sec, shown: 2 * sec, dear: true}},
		{"one, slower", known{unit: 7 * sec, shown: 2 * sec, dear: true}, 8*sec + 1, 1, false, known{shown: 2 * sec, dear: true}},
		{"two, slower", known{unit: 7 * sec, shown: 2 * sec, dear: true}, 18 * sec, 2, false, known{unit: 9 * sec, shown: 9 * sec, dear: true}},
		{"ten seconds", known{dear: true}, 30 * sec, 2, false, known{unit: 10 * sec, shown: 15 * sec, dear: true}},
		{"a quarter quicker", known{unit: 4 * sec, shown: 4 * sec, dear: true}, 5 * sec, 5, false, known{unit: 3 * sec, shown: 3 * sec, dear: true}},
		{"less than that", known{unit: 4 * sec, shown: 4 * sec, dear: true}, 14 * sec, 4, false, known{unit: 3500 * ms, shown: 3500 * ms, dear: true}},
		{"refused", known{unit: 3 * sec, shown: 2 * sec, dear: true}, sec, 0, true, known{unit: 6 * sec, shown: 4 * sec, dear: true}},
		{"refused again", known{unit: 6 * sec, shown: 6 * sec, dear: true}, sec, 0, true, known{unit: 10 * sec, shown: 10 * sec, dear: true}},
		{"refused, slower than is waited for", known{unit: 10 * sec, shown: 15 * sec, dear: true}, sec, 0, true, known{unit: 10 * sec, shown: 15 * sec, dear: true}},
		{"refused, quick and not shown", known{unit: 900 * ms, dear: true}, sec, 0, true, known{dear: true}},
	} {
		w, s := New(Adaptive), &Server{untold: tt.before}
		w.SetUntold(Requests, 10, s)
		w.ownSpent()
		w.State, w.available, w.sent, w.due = Reported, 0, from, Never
		w.observeUntold(from.Add(tt.after), tt.found, tt.refused, s)
		assert.Equal(t, tt.want, s.untold, tt.name)
		due := Never
		if tt.want.unit > 0 {
			due = from.Add(tt.want.unit + tt.want.unit/4)
		}
		assert.Equal(t, due, w.untoldLook(from, s), tt.name)
	}
	w, u := New(Adaptive), untold{length: 10 * sec, least: sec, unit: 2 * sec, shown: 3 * sec, dear: true}
	w.failUntold(&u)
	assert.Equal(t, untold{failed: 1, unit: 2 * sec, shown: 3 * sec, dear: true}, u, "what a unit takes is not of that length")
	for _, tt := range []struct {
		shown, again time.Duration
		refused      bool
		want         bool
	}{{0, 4 * sec, true, false}, {0, 4*sec + 1, true, true}, {2 * sec, 8 * sec, true, false}, {2 * sec, 8*sec + 1, true, true}, {0, mins, false, false}} {
		for _, told := range []time.Duration{None, 0} { // whether the answer tells when a window is over
			w, s := New(Adaptive), &Server{untold: untold{shown: tt.shown}}
			w.SetUntold(Requests, 10, s)
			w.dueAt(from, from, 0, &Figure{Window: told, Again: tt.again}, tt.refused, s)
			assert.Equal(t, tt.want, s.untold.dear, tt)
		}
	}
}

// Nothing of this is done where it cannot help: with another strategy, in other units, with a quota of one, and where
// the length is told, also if it is the one that was learned.
func TestUntolds(t *testing.T) {
	s := &Server{untold: untold{length: sec}}
	for want, ws := range map[bool][]func(w *Window){
		true: {
			func(w *Window) { w.SetUntold(Requests, 2, s) },
			func(w *Window) { w.SetPolicy(Requests, 2, 0) },
			func(w *Window) { w.SetUntold(Requests, 2, new(Server)) },
		},
		false: {
			func(w *Window) { w.SetUntold(Requests, 2, s); w.Strategy = Plain },
			func(w *Window) { w.SetUntold(Bytes, 2, s) },
			func(w *Window) { w.SetUntold(Requests, 1, s) },
			func(w *Window) { w.SetUntold(Requests, 2, s); w.SetPolicy(Requests, 2, sec) },
		},
	} {
		for i, change := range ws {
			w := New(Adaptive)
			change(&w)
			assert.Equal(t, want, w.untolds(s), "%t %d", want, i)
		}
	}
}

// Which figures are those of the first request of a window.
func TestBeginsUntold(t *testing.T) {
	const from = Instant(mins)
	for _, tt := range []struct {
		name         string
		state        State
		avail, found int64 // of 10; 5 were left before
		refused      bool
		change       func(w *Window)
		want, lost   bool // lost: it is not known any more when the window began
		closed       bool // the window before has ended
	}{
		{name: "refused", state: Unknown, refused: true},
		{name: "nothing is known", state: Unknown, avail: 1, found: 2, want: true},
		{name: "expired, all", state: Expired, avail: 9, found: 10, want: true},
		{name: "expired, all that can be", state: Expired, avail: 3, found: 4, change: func(w *Window) { w.InFlight = 6 }, want: true},
		{name: "expired, more than before", state: Expired, avail: 5, found: 6, want: true},
		{name: "expired, as much as before", state: Expired, avail: 4, found: 5},
		{name: "out of order", state: Reported, avail: 9, found: 10, change: func(w *Window) { w.received = from + 1 }},
		{name: "falls", state: Reported, avail: 4, found: 5},
		{name: "does not fall", state: Reported, avail: 5, found: 6, lost: true},
		{name: "does not fall, as one was not answered since", state: Reported, avail: 5, found: 6, change: func(w *Window) { w.received, w.silent = from-2, from-1 }},
		{name: "does not fall, as one was not answered before", state: Reported, avail: 5, found: 6, change: func(w *Window) { w.received, w.silent = from-2, from-2 }, lost: true},
		{name: "all, and more", state: Reported, avail: 9, found: 10, want: true, closed: true},
		{name: "all, and more, of a known length", state: Reported, avail: 9, found: 10, change: func(w *Window) { w.Length = sec }, want: true},
		{name: "all, and as much", state: Reported, avail: 5, found: 6, change: func(w *Window) { w.InFlight = 4 }, want: true},
		{name: "all, and less", state: Reported, avail: 4, found: 5, change: func(w *Window) { w.InFlight = 5 }},
	} {
		w, s := New(Adaptive), new(Server)
		w.SetPolicy(Requests, 10, 0)
		w.ownRare().spent = &spent{from: 7}
		w.State, w.available, w.contention.from = tt.state, 5, 9
		if tt.change != nil {
			tt.change(&w)
		}
		before := w.closed
		assert.Equal(t, tt.want, w.beginsUntold(from, tt.avail, tt.found, tt.refused, s), tt.name)
		assert.Equal(t, tt.lost, w.rare.spent.from == 0, tt.name)
		assert.Equal(t, tt.closed, w.closed == from, tt.name)
		assert.Equal(t, tt.closed && before != from, w.contention.from == 0, "%s: others are compared with", tt.name)
	}
}

// When a window is due: so long after its first request; a second after a request that was refused later than that; and
// long ago, for an answer of the window before.
func TestUntoldEnd(t *testing.T) {
	const from = Instant(mins)
	for _, tt := range []struct {
		name    string
		after   time.Duration
		avail   int64 // 5 were left before
		refused bool
		change  func(w *Window)
		due     Instant
	}{
		{name: "in the window", after: 500 * ms, avail: 4, due: from.Add(sec)},
		{name: "it is not known when it began", after: 500 * ms, avail: 4, change: func(w *Window) { w.rare.spent.from = 0 }, due: Never},
		{name: "refused in the window", after: 999 * ms, refused: true, due: from.Add(sec)},
		{name: "refused at its end", after: sec, refused: true, due: from.Add(2 * sec)},
		{name: "served after its end, and not all is there", after: 1100 * ms, avail: 4, due: from.Add(sec)},
		{name: "of the window before", after: -sec, avail: 4, change: func(w *Window) { w.closed = from }, due: from.Add(-2 * sec)},
		{name: "of the window before, expired", after: -sec, avail: 5, change: func(w *Window) { w.closed, w.State = from, Expired }, due: from.Add(-2 * sec)},
		{name: "says no less than is known", after: -ms, avail: 5, change: func(w *Window) { w.closed, w.rare.spent.from = from, 0 }, due: Never},
		{name: "may have arrived in this window", after: -ms, avail: 4, change: func(w *Window) { w.closed, w.InFlight = from, 1 }, due: from.Add(sec)},
		{name: "nothing is known", after: -ms, avail: 4, change: func(w *Window) { w.closed, w.State = from, Unknown }, due: from.Add(999 * ms)},
	} {
		w, s := New(Adaptive), &Server{untold: untold{length: sec}}
		w.SetUntold(Requests, 10, s)
		w.ownRare().spent = &spent{from: from}
		w.State, w.available = Reported, 5
		if tt.change != nil {
			tt.change(&w)
		}
		due, _ := w.untoldEnd(from.Add(tt.after), tt.avail, tt.avail+1, tt.refused, s)
		assert.Equal(t, tt.due, due, tt.name)
	}
}
