package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// What is in flight after a wave of refusals may be in flight again. One more is tried ever more
// rarely, as long as one too many is refused.
func TestCeiling(t *testing.T) {
	now := Instant(sec)
	play := func(c *ceiling, w *Window, served int) {
		for range served {
			w.slow = min(w.slow+1, 127) // see Silent
			w.InFlight = int64(c.most) - 1
			now++
			c.served(w, now)
		}
	}
	refuse := func(c *ceiling, left int64) bool {
		w := New(Adaptive)
		w.InFlight = left
		now++
		return c.refused(&w, now, now)
	}
	wave := func(c *ceiling) (w Window) {
		w = New(Adaptive)
		sent := now
		for _, w.InFlight = range []int64{30, 12, 10} {
			now++
			assert.False(t, c.refused(&w, now, sent))
		}
		w.slow = 2
		return w
	}

	var c ceiling
	w := wave(&c)
	play(&c, &w, 8)
	assert.EqualValues(t, 10, w.slow)
	play(&c, &w, 9)
	assert.EqualValues(t, 10, w.slow)
	play(&c, &w, 2)
	assert.EqualValues(t, 11, w.slow, "one more")
	for want := range 9 {
		assert.True(t, refuse(&c, int64(c.most)-1))
		assert.EqualValues(t, min(want+1, rarest), c.rare)
		n := 0
		for before := c.most; c.most == before; n++ {
			play(&c, &w, 1)
		}
		assert.LessOrEqual(t, n, 10<<c.rare+20)
	}
	assert.EqualValues(t, 11, c.most)
	for range 11 {
		play(&c, &w, 20<<rarest)
	}
	assert.Zero(t, c.rare)
	assert.Greater(t, c.most, uint8(15), "the server has become larger")

	c = ceiling{}
	w = wave(&c)
	assert.False(t, refuse(&c, 9), "none was served since")
	assert.EqualValues(t, 10, c.most)
	play(&c, &w, 30)
	assert.False(t, refuse(&c, 0), "it was not one too many: nothing is in flight")
	play(&c, &w, 30)
	assert.Zero(t, c.most)
	assert.EqualValues(t, 90, func() uint8 { w.slow = 60; play(&c, &w, 30); return w.slow }())
}

// What departed before a refusal, and is answered after it, does not raise the slow start above the
// ceiling; and what departed in the window before is in flight as what departed in this one is.
func TestCeilingHolds(t *testing.T) {
	w := New(Adaptive)
	var c ceiling
	w.InFlight = 10
	c.refused(&w, Instant(2*sec), Instant(sec))
	for range 20 {
		w.slow = min(w.slow+1, 127) // see Silent
		c.served(&w, Instant(sec))
	}
	assert.EqualValues(t, 10, w.slow)

	w.slow = 10
	c.served(&w, Instant(2*sec))
	w.SetPolicy(Requests, 100, sec)
	w.State, w.end = Counting, Instant(3*sec)
	at := Instant(3 * sec)
	w.slow, w.asked = 10, at
	again, _ := w.Ready(at, 1)
	assert.Greater(t, again, at)
	w.DropInferred(Requests, None, 0)
	w.slow = 10
	again, _ = w.Ready(at, 1)
	assert.Equal(t, at, again)
}

// A refusal is of one too many if a request that departed after the last wave was served, and more than half of the
// ceiling is in flight. One that comes after many were served does not lower the ceiling.
func TestOneTooMany(t *testing.T) {
	w := New(Adaptive)
	now := Instant(sec)
	g := NewInferred(10 * sec)
	refused := func(sent Instant, left int64) bool {
		now++
		w.InFlight = left
		return g.ceiling.tooMany(&w, sent) && g.ceiling.refused(&w, now, sent)
	}
	served := func(n int) {
		for range n {
			now++
			w.InFlight = int64(g.most) - 1
			w.slow = g.most + 1
			g.ceiling.served(&w, now)
		}
	}
	wave := now
	for _, w.InFlight = range []int64{30, 12, 10} {
		now++
		g.ceiling.refused(&w, now, wave)
	}
	assert.EqualValues(t, 10, g.most)
	assert.False(t, refused(wave, 10), "it is of the wave")
	assert.False(t, refused(now+1, 9), "none was served since")
	served(1)
	assert.False(t, refused(now+1, 3), "less than half")
	served(1)
	out := now
	assert.True(t, refused(out, 4))
	assert.EqualValues(t, 9, g.most)
	assert.True(t, refused(out, 2), "it departed before")
	assert.EqualValues(t, 9, g.most)
	assert.False(t, refused(now+1, 9), "none was served since")

	g.rare = rarest
	served(often*9 - 1)
	assert.True(t, refused(now+1, 8))
	assert.EqualValues(t, 8, g.most)
	served(often * 8)
	assert.True(t, refused(now+1, 7))
	assert.EqualValues(t, 8, g.most)
}

// Where the server seems to bound what is in flight, no more departs as long as it answers, however long it takes.
func TestCeilingWhileAnswered(t *testing.T) {
	w := New(Adaptive)
	w.slow, w.InFlight, w.asked = 10, 10, Instant(sec)
	w.set(bounded, true)
	at := Instant(sec)
	for range 5 {
		at = at.Add(900 * time.Millisecond)
		w.silent = at
		again, _ := w.Ready(at, 1)
		assert.Equal(t, at.Add(sec), again)
	}
	w.set(bounded, false)
	again, _ := w.Ready(at, 1)
	assert.Equal(t, at, again)
}
