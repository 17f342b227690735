package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An answered request departed at sent, and its answer arrived at t: a window is over after so long.
type answered struct {
	sent, t, length time.Duration
	refused         bool
}

// A window is counted from answers where these, and not the departures, agree on its end.
func TestEndByAnswer(t *testing.T) {
	atEnd := []answered{{0, 2 * sec, 58 * sec, false}, {0, 5 * sec, 55 * sec, false}, {0, 9 * sec, 51 * sec, false}}
	// Answers take 5 s. The first request after the window is too early, and refused at once.
	alike := []answered{
		{0, 5 * sec, 55 * sec, false}, {56 * sec, 56 * sec, 4 * sec, true},
		{60 * sec, 65 * sec, 55 * sec, false}, {116 * sec, 116 * sec, 4 * sec, true},
		{120 * sec, 125 * sec, 55 * sec, false},
	}
	for _, tt := range []struct {
		name      string
		how       Strategy
		instants  bool
		refilled  bool
		answers   []answered
		end, most time.Duration // 0: the same
	}{
		{name: "at the end", answers: atEnd, end: 60 * sec},
		{name: "one comparison", answers: atEnd[:2], end: 58 * sec, most: 58100 * ms},
		{name: "the earliest", answers: append(atEnd[:3:3], answered{9 * sec, 11 * sec, 48500 * ms, false}), end: 59500 * ms},
		{name: "on arrival", answers: []answered{{0, 2 * sec, 60 * sec, false}, {0, 5 * sec, 60 * sec, false}, {0, 9 * sec, 60 * sec, false}}, end: 60 * sec, most: 60100 * ms},
		{name: "on arrival after all", answers: append(atEnd[:3:3],
			answered{70 * sec, 72 * sec, 50 * sec, false}, answered{70 * sec, 75 * sec, 50 * sec, false},
			answered{130 * sec, 133 * sec, 60 * sec, false}), end: 190 * sec, most: 190100 * ms},
		{name: "all take as long", answers: alike, end: 180 * sec},
		{name: "all take as long, once", answers: alike[:3], end: 115 * sec, most: 115100 * ms},
		{name: "plain", how: Plain, answers: atEnd, end: 58 * sec, most: 58100 * ms},
		{name: "short", answers: []answered{{0, 1200 * ms, 2900 * ms, false}, {0, 2400 * ms, 1700 * ms, false}, {0, 2500 * ms, 1600 * ms, false}}, end: 2900 * ms, most: 3 * sec},
		{name: "below 8 s", answers: []answered{{0, 1200 * ms, 6800 * ms, false}, {0, 4 * sec, 4 * sec, false}, {0, 6 * sec, 2 * sec, false}}, end: 6800 * ms, most: 6900 * ms},
		{name: "a second and a half apart", answers: []answered{{0, 2 * sec, 58 * sec, false}, {0, 3500 * ms, 56500 * ms, false}, {0, 3400 * ms, 56600 * ms, false}}, end: 58 * sec, most: 58100 * ms},
		{name: "ends that move", answers: append(atEnd[:3:3], answered{20 * sec, 29 * sec, 51 * sec, false}), end: 71 * sec, most: 71100 * ms},
		{name: "unit by unit", refilled: true, answers: atEnd, end: 58 * sec, most: 58100 * ms},
		{name: "instants", instants: true, answers: atEnd, end: 59 * sec},
		{name: "instants, the earliest", instants: true, answers: append(atEnd[:3:3], answered{0, 11900 * ms, 49 * sec, false}), end: 59 * sec},
		{name: "instants, one comparison", instants: true, answers: atEnd[:2], end: 57 * sec, most: 57100 * ms},
	} {
		w, s := New(tt.how), new(Server)
		if tt.refilled {
			w.refill.served = 1
		}
		for _, a := range tt.answers {
			sent, at := Instant(a.sent), Instant(a.t)
			w.Roll(sent)
			c := Charge{Sent: sent, Units: 1, Mark: w.Take(sent, 1)}
			f := Figure{Available: 5, Window: a.length, Charge: c}
			if a.refused {
				f.Available = 0
			}
			if tt.instants {
				f.Resets = 1_000_060
				f.Ahead = f.Resets - (1_000_000 + int64(a.t/sec))
			}
			w.Answered(c, a.refused)
			w.Report(at, sent, f, a.refused, s)
		}
		end := time.Duration(w.End())
		assert.GreaterOrEqual(t, end, tt.end, tt.name)
		assert.LessOrEqual(t, end, max(tt.end, tt.most), tt.name)
	}
}

// What is known of ends stays when our own log is forgotten, and is not taken for one.
func TestEndsBesideTheLog(t *testing.T) {
	w, s := New(Adaptive), new(Server)
	w.SetPolicy(Requests, 10, time.Minute)
	w.Report(Instant(2*sec), 0, Figure{Available: 5, Window: 58 * sec}, false, s)
	ends := w.rare.spent.ends
	assert.Equal(t, answerEnds{Instant(58 * sec), Instant(60 * sec), Instant(60 * sec)}, ends)
	assert.False(t, w.hasLog())
	w.keepLog(ownLog{length: sec, trust: 1})
	assert.True(t, w.hasLog())
	w.forgetLog()
	assert.False(t, w.hasLog())
	assert.Equal(t, ends, w.rare.spent.ends)
}
