package window

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// One window that shows less than half of a quota may be the rest of one. Two in a row, or parts of one, show another quota.
func TestEndingIsRest(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 47, sec)
	for name, tt := range map[string]struct {
		ending
		want bool
	}{
		"little after much":      {ending{inferredWindow: inferredWindow{served: 22}, told: true, before: 23}, true},
		"half":                   {ending{inferredWindow: inferredWindow{served: 23}, told: true, before: 47}, false},
		"little after little":    {ending{inferredWindow: inferredWindow{served: 10}, told: true, before: 22}, false},
		"parts of one":           {ending{inferredWindow: inferredWindow{served: 10}, told: true, before: 47, joined: true}, false},
		"the end found by trial": {ending{inferredWindow: inferredWindow{served: 10}, before: 47}, false},
	} {
		assert.Equal(t, tt.want, tt.isRest(&w), name)
	}
	w = New(Adaptive)
	assert.False(t, (&ending{inferredWindow: inferredWindow{served: 10}, told: true, before: 47}).isRest(&w), "nothing is inferred")
}

// A window lasts longer than the time after which a request was refused too soon, and no longer than the shortest that
// was over, as long as these do not contradict each other.
func TestInferredBetween(t *testing.T) {
	g := NewInferred(5 * sec)
	g.least = 4050 * ms
	assert.Equal(t, 4550*ms, g.between(5050*ms), "in the middle")
	assert.Equal(t, 4550*ms, g.between(4020*ms), "counted from later on than the server's")
	assert.Equal(t, 4550*ms, g.between(5600*ms), "no longer than before")
	g.least = 4550 * ms
	assert.Equal(t, 4800*ms, g.between(5560*ms))
	g.least = 4800 * ms
	assert.Equal(t, 5050*ms, g.between(5100*ms), "near enough")
	assert.Equal(t, 4900*ms, g.between(4900*ms))
	g.least = 5200 * ms
	assert.Equal(t, 5650*ms, g.between(6100*ms), "longer than it seemed")
}

// A wave that refuses more than half of what seems to be at work, and leaves nearly nothing at work, shows that there is no ceiling.
func TestCeilingRefusesAll(t *testing.T) {
	for name, tt := range map[string]struct {
		out, refused int
		heard        bool
		want         uint8
	}{
		"nothing is left":        {out: 0, refused: 3, want: 0},
		"one is left":            {out: 1, refused: 3, want: 0},
		"two are at work":        {out: 2, refused: 3, want: 5},
		"half of it was refused": {out: 0, refused: 2, want: 5},
		"one was served":         {out: 0, refused: 3, heard: true, want: 5},
	} {
		w := New(Adaptive)
		for range tt.out {
			w.Take(1, 1)
		}
		c := Ceiling{most: 5, kept: 6, one: true, all: 1, wave: 100, heard: tt.heard}
		for range tt.refused - 1 {
			assert.True(t, c.Refused(&w, 110, 50) || tt.want == 0, name)
		}
		assert.Equal(t, tt.want, c.most, name)
	}
}

// Our own log may be empty when it begins to count: the answer took longer than a window, and all is back.
func TestInferredSlidesWithAnEmptyLog(t *testing.T) {
	w, g := New(Adaptive), NewInferred(5*sec)
	w.SetPolicy(Requests, 5, 5*sec)
	l := w.keepLog(ownLog{infers: true, length: 5 * sec})
	e := ending{inferredWindow: inferredWindow{opened: Instant(sec), dry: Instant(3 * sec), served: 5}, told: true, joined: true}
	for range sureJoins {
		assert.False(t, l.slides)
		g.slides(&w, &e, true)
	}
	assert.True(t, l.slides)
	assert.Equal(t, []slot{{from: Instant(sec), at: Instant(3 * sec), units: 4}}, l.slots)
}

// A window that ran over was used up when it began, unless requests that were out with the refused one were served: then that was
// refused by chance.
func TestEndingRanOver(t *testing.T) {
	for balance, want := range map[int64]Instant{2: Instant(sec), 0: Instant(sec), -1: Instant(6 * sec)} {
		w, g := New(Adaptive), NewInferred(5*sec)
		w.SetPolicy(Requests, 5, 5*sec)
		g.inferredWindow = inferredWindow{opened: Instant(sec), dry: Instant(6 * sec), served: 5, refused: true, ranOver: true, balance: balance, until: Instant(7 * sec)}
		e := g.ending(&w, Instant(7*sec))
		assert.Equal(t, want, e.dry, balance)
		assert.Equal(t, balance >= 0, e.ranOver, balance)
		assert.Equal(t, balance >= 0, g.least == 5*sec, balance)
	}
}
