package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// floored answers a request with the only service limit of its answer.
func floored(name string, avail int64, w time.Duration, refused bool) event {
	return func(l *ledger, t Instant) {
		c := l.land(name)
		l.Answered(c, refused)
		l.Report(t, c.Sent, Figure{Available: avail, Window: w, Charge: c, Only: true}, refused, &l.server)
	}
}

// A server of 2 in 12 s says that one is left when none is. After two refusals in a row the last
// unit departs when it is back by our own log, until none is said to be left.
func TestFloor(t *testing.T) {
	const (
		trip            = 32 * ms
		w               = 12 * sec
		guard           = 1001031 * time.Nanosecond // of trips in whole microseconds
		served, refused = false, true
	)
	play(t, Adaptive, []row{
		{0, all(advertises(2, w), send("a", "b")), 100, 0},
		{trip, all(floored("a", 1, w, served), floored("b", 1, w, served)), 1, unsaid},
		{trip, send("c"), 0, unsaid},
		{2 * trip, floored("c", 1, w, refused), 1, unsaid},
		{14 * sec, send("d"), 0, unsaid},
		{14*sec + trip, floored("d", 1, w, served), 1, unsaid},
		{15 * sec, send("e"), 0, unsaid},
		{15*sec + trip, floored("e", 1, w, served), 1, unsaid},
		{16 * sec, send("f"), 0, unsaid},
		{16*sec + trip, floored("f", 1, w, refused), 0, 11*sec + guard - trip}, // e is back then; f may count
		{28*sec + 2*ms, send("g"), 1, unsaid},
		{28*sec + 2*ms + trip, floored("g", 1, w, served), 1, unsaid},
		{29 * sec, send("h"), 0, unsaid},
		{29*sec + trip, floored("h", 1, w, served), 0, 11*sec + 3*ms - trip}, // the window is over then
		{42 * sec, send("i"), 1, unsaid},
		{42*sec + trip, floored("i", 0, w, served), 0, unsaid},
		{60 * sec, send("j"), 0, unsaid},
		{60*sec + trip, floored("j", 1, w, served), 1, unsaid},
		{61 * sec, send("k"), 0, unsaid},
		{61*sec + trip, floored("k", 1, w, served), 1, unsaid}, // it is taken at its word
	})
}

// What shows that a figure of one may mean none, and what that it does not.
func TestFloorIsShown(t *testing.T) {
	one := Figure{Available: 1, Only: true, Charge: Charge{Units: 1}}
	figure := func(but func(*Figure)) Figure {
		f := one
		but(&f)
		return f
	}
	for _, tt := range []struct {
		name    string
		figure  Figure
		refused bool
		out     int64
		want    uint8
	}{
		{"it is refused", one, true, 0, flooredAt},
		{"it is served", one, false, 0, 1},
		{"another is out", one, true, 1, 1},
		{"there is another figure", figure(func(f *Figure) { f.Only = false }), true, 0, 1},
		{"it costs more", figure(func(f *Figure) { f.Charge.Units = 2 }), true, 0, 1},
		{"it was not charged", figure(func(f *Figure) { f.Charge.Units = 0 }), true, 0, 1},
		{"none is left", figure(func(f *Figure) { f.Available = 0 }), true, 0, 1},
		{"more is left", figure(func(f *Figure) { f.Available = 2 }), true, 0, 0},
		{"more is left, and it is served", figure(func(f *Figure) { f.Available = 2 }), false, 0, 1},
		{"none is left, and it is served", figure(func(f *Figure) { f.Available = 0 }), false, 0, 0},
	} {
		w, s := New(Adaptive), Server{floored: 1}
		w.InFlight = tt.out
		w.observeFloor(&tt.figure, tt.refused, &s)
		assert.Equal(t, tt.want, s.floored, tt.name)
		if tt.want == flooredAt {
			w.observeFloor(&tt.figure, tt.refused, &s)
			assert.EqualValues(t, flooredAt, s.floored, tt.name)
		}
	}
}

// Only the last unit of a figure may be none, and no longer than until its window is over, or a look
// into a long one is due. What is there after that is not known.
func TestFloorIsOfTheLastUnit(t *testing.T) {
	const hour = 3600 * sec
	for _, tt := range []struct {
		left              int64
		length, now, ends time.Duration
		wait              time.Duration
	}{
		{1, 12 * sec, 2 * sec, 13 * sec, 10*sec + ms},
		{2, 12 * sec, 2 * sec, 13 * sec, 0},
		{1, 12 * sec, 2 * sec, 6 * sec, 4 * sec},
		{1, 12 * sec, 6 * sec, 6 * sec, 0},
		{1, hour, 2 * sec, 6 * sec, 4 * sec},
		{1, hour, 6 * sec, 6 * sec, 0},
		{1, hour, 2 * sec, hour, ProbeInterval - sec},
		{1, hour, 11 * 60 * sec, hour, 0},
	} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 2, tt.length)
		w.State, w.available, w.end, w.received = Reported, tt.left, Instant(tt.ends), Instant(sec)
		w.ownRare().spent = &spent{ownLog: ownLog{length: tt.length, trust: 1, floor: flooredAt, slots: []slot{{at: 0, units: 2}}}}
		now := Instant(tt.now)
		again, _ := w.Ready(now, 1)
		assert.Equal(t, now.Add(tt.wait), again, tt)
	}
}
