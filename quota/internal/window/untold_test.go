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

	left  float64
	since Instant
	began bool
}

func (s *untoldServer) answer(t Instant) (left int64, ok bool) {
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
		w.SetPolicy(Requests, s.quota, server.Untold())
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
		w.SetPolicy(Requests, 10, sec)
		s.untold.length, s.untold.kept = sec, kept
		w.Report(from.Add(50*ms), from, Figure{Available: 9, Window: None}, false, s)
		assert.Equal(t, from.Add(sec), w.due)
		w.Report(from.Add(850*ms), from.Add(800*ms), Figure{Window: None}, false, s)
		assert.Equal(t, from.Add(sec), w.due, "not a second from then on")
		return &w, s, from.Add(1100 * ms)
	}
	w, s, at := learned(1)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, false, s)
	assert.Zero(t, s.Untold(), "one of ten was there")
	assert.Zero(t, w.Length)
	assert.EqualValues(t, 4, s.untold.enough())
	assert.Equal(t, Never, w.due)

	w, s, at = learned(1)
	w.Report(at+Instant(50*ms), at, Figure{Available: 6, Window: None}, false, s)
	assert.Equal(t, sec, s.Untold(), "seven were there")
	assert.Equal(t, at.Add(sec), w.due)

	w, s, at = learned(1)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, true, s)
	assert.Zero(t, s.Untold(), "refused")
	assert.Equal(t, 1050*ms, s.untold.least)

	w, s, at = learned(2)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, true, s)
	assert.Equal(t, sec, s.Untold(), "by chance")
	assert.Equal(t, at.Add(sec), w.due, "it is not over yet")
	w.Roll(at.Add(sec))
	at = at.Add(1100 * ms)
	w.Report(at+Instant(50*ms), at, Figure{Window: None}, true, s)
	assert.Zero(t, s.Untold(), "again")
}

// An answer of a window that is over pushes nothing.
func TestUntoldLate(t *testing.T) {
	for _, length := range []time.Duration{0, sec} {
		w, s := New(Adaptive), new(Server)
		w.SetPolicy(Requests, 10, length)
		s.untold.length = length
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
	w.SetPolicy(Requests, 10, sec)
	s.untold.length = sec
	w.Report(from.Add(50*ms), from, Figure{Available: 9, Window: None}, false, s)
	w.Report(from.Add(850*ms), from.Add(800*ms), Figure{Window: None}, false, s)
	w.Report(from.Add(1150*ms), from.Add(1100*ms), Figure{Window: 2 * sec}, true, s)
	assert.Zero(t, s.Untold())
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
		assert.Equal(t, want, s.Untold(), "%d", again)
	}
}
