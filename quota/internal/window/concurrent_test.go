package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// When one more request may be in progress, if there are so many, used last at 0.
func TestWhenConcurrent(t *testing.T) {
	for _, c := range []struct {
		name             string
		quota, available int64 // an available of None: no figure came
		ours             int64
		change           func(w *Window)
		want             time.Duration
	}{
		{"nothing is told", None, None, 9, nil, 0},
		{"room by the policy", 3, None, 2, nil, 0},
		{"none by the policy", 3, None, 3, nil, sec},
		{"none by a policy of one window", 3, None, 3, func(w *Window) { w.end = Instant(sec / 2) }, sec / 2},
		{"room by the figure", 3, 2, 1, nil, 0},
		{"none by the figure: one asks after a while", 3, 2, 2, nil, sec},
		{"and later if some were refused", 3, 2, 2, func(w *Window) { w.probes = 3 }, 4 * sec},
		{"not before now", 3, 2, 2, func(w *Window) { w.Used = -Instant(mins) }, 0},
		{"a figure of one window", 3, 2, 2, func(w *Window) { w.end = Instant(sec / 2) }, sec / 2},
		{"a figure that is the policy's", 3, 3, 3, func(w *Window) { w.probes = 3 }, sec},
		{"a figure above the policy's", 3, 5, 3, nil, sec},
		{"a figure without a policy", None, 2, 2, func(w *Window) { w.probes = 3 }, 4 * sec},
		{"none of ours, and none is left: one asks", 3, 0, 0, func(w *Window) { w.Used = Instant(mins) }, 0},
		{"one asks already", 3, 0, 0, func(w *Window) { w.probing, w.probes = true, 3 }, 4 * sec},
		{"it asks for long", 3, 0, 0, func(w *Window) { w.probing, w.asked = true, -Instant(mins) }, 0},
		{"it asks, until the end of the window", 3, 0, 0, func(w *Window) { w.probing, w.end = true, Instant(sec/2) }, sec / 2},
	} {
		w := New(Adaptive)
		w.SetPolicy(Concurrent, c.quota, 0)
		if w.end = Never; c.available != None {
			w.State, w.available = Reported, c.available
		}
		w.Retained = c.ours
		if c.change != nil {
			c.change(&w)
		}
		assert.Equal(t, Instant(c.want), w.whenConcurrent(0, 1), c.name)
	}
}

// How many of ours may be in progress after a figure, which arrives at 5 s.
func TestReportConcurrent(t *testing.T) {
	type after struct {
		available    int64
		probes       uint8
		others       uint8
		received, at time.Duration // at: the end of the window
	}
	for _, c := range []struct {
		name    string
		quota   int64
		others  uint8
		sent    time.Duration
		left    int64
		refused bool
		change  func(w *Window)
		want    after
	}{
		// 6 of ours are in progress, and 8 could be by the last figure, which arrived at 3 s. Three were refused.
		{"as many as are left", 20, 0, 4 * sec, 4, false, nil, after{10, 0, 0, 5 * sec, mins}},
		{"refused", 20, 0, 4 * sec, 0, true, nil, after{6, 4, 1, 5 * sec, mins}},
		{"refused, departed when the last arrived", 20, 0, 3 * sec, 0, true, nil, after{6, 4, 1, 5 * sec, mins}},
		{"refused with the last", 20, 0, 3*sec - 1, 0, true, nil, after{6, 3, 1, 5 * sec, mins}},
		{"refused often", 20, 0, 4 * sec, 0, true, func(w *Window) { w.probes = 63 }, after{6, 63, 1, 5 * sec, mins}},
		{"overlaps, and says more", 20, 0, 3*sec - 1, 3, false, nil, after{8, 0, 0, 3 * sec, 2 * mins}},
		{"overlaps, and says less", 20, 0, 3*sec - 1, 1, false, nil, after{7, 0, 0, 5 * sec, mins}},
		{"overlaps, the first", 20, 0, 3*sec - 1, 3, false, func(w *Window) { w.State = Unknown }, after{9, 0, 0, 5 * sec, mins}},
		{"others, an eighth of what is free", 20, 1, 4 * sec, 13, false, nil, after{9, 0, 1, 5 * sec, mins}},
		{"others, and more", 50, 1, 4 * sec, 40, false, nil, after{13, 0, 1, 5 * sec, mins}},
		{"others, above those of ours", 20, 1, 4 * sec, 13, false, func(w *Window) { w.Retained = 1 }, after{9, 0, 1, 5 * sec, mins}},
		{"others, no figure before", 20, 1, 4 * sec, 13, false, func(w *Window) { w.State = Unknown }, after{7, 0, 1, 5 * sec, mins}},
		{"others, fewer than were thought", 20, 1, 4 * sec, 1, false, nil, after{7, 0, 2, 5 * sec, mins}},
		{"others, the last one", 20, 2, 4 * sec, 1, false, func(w *Window) { w.Retained = 8 }, after{8, 0, 3, 5 * sec, mins}},
		{"others, the last one, told again", 20, 2, 3*sec - 1, 1, false, func(w *Window) { w.Retained = 8 }, after{8, 0, 2, 3 * sec, 2 * mins}},
		{"others, the last one for long", 20, untilLast, 4 * sec, 1, false, func(w *Window) { w.Retained = 8 }, after{9, 0, 1, 5 * sec, mins}},
		{"others, two are free", 20, 9, 4 * sec, 2, false, func(w *Window) { w.Retained = 8 }, after{9, 0, 1, 5 * sec, mins}},
		{"others, none is free", 20, 9, 4 * sec, 0, false, func(w *Window) { w.Retained = 8 }, after{8, 0, 9, 5 * sec, mins}},
		{"all are free: there are no others", 20, 9, 4 * sec, 14, false, nil, after{20, 0, 0, 5 * sec, mins}},
		{"all but one", 20, 1, 4 * sec, 13, false, nil, after{9, 0, 1, 5 * sec, mins}},
		{"others, without a policy", None, 1, 4 * sec, 13, false, nil, after{9, 0, 1, 5 * sec, mins}},
		{"others, another strategy", 20, 1, 4 * sec, 13, false, func(w *Window) { w.Strategy = Plain }, after{19, 0, 1, 5 * sec, mins}},
	} {
		w := New(Adaptive)
		w.SetPolicy(Concurrent, c.quota, 0)
		w.State, w.available, w.Retained, w.probes, w.compared.others = Reported, 8, 6, 3, c.others
		w.received, w.probing = Instant(3*sec), true
		w.ends(Instant(2*mins), 0, Never)
		if c.change != nil {
			c.change(&w)
		}
		w.reportConcurrent(Instant(5*sec), Instant(c.sent), c.left, Instant(mins), c.refused)
		assert.Equal(t, c.want, after{w.available, w.probes, w.compared.others, time.Duration(w.received), time.Duration(w.end)}, c.name)
		assert.False(t, w.probing, c.name)
		assert.Equal(t, Reported, w.State, c.name)
	}
}
