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
	play := func(c *Ceiling, w *Window, served int) {
		for range served {
			w.slow = min(w.slow+1, 127) // see Silent
			w.InFlight = int64(c.most) - 1
			now++
			c.Served(w, now, now)
		}
	}
	refuse := func(c *Ceiling, left int64) bool {
		w := New(Adaptive)
		w.InFlight = left
		now++
		return c.Refused(&w, now, now)
	}
	wave := func(c *Ceiling) (w Window) {
		w = New(Adaptive)
		sent := now
		for _, w.InFlight = range []int64{30, 12, 10} {
			now++
			assert.False(t, c.Refused(&w, now, sent))
		}
		w.slow = 2
		return w
	}

	var c Ceiling
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
	for n := 0; c.rare > 0 && n < 11*20<<rarest; n++ {
		play(&c, &w, 1)
	}
	assert.Zero(t, c.rare)
	assert.EqualValues(t, 19, c.most, "the server has become larger")

	c = Ceiling{}
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
	var c Ceiling
	w.InFlight = 10
	c.Refused(&w, Instant(2*sec), Instant(sec))
	for range 20 {
		w.slow = min(w.slow+1, 127) // see Silent
		c.Served(&w, Instant(sec), Instant(sec))
	}
	assert.EqualValues(t, 10, w.slow)

	w.slow = 10
	c.Served(&w, Instant(2*sec), Instant(2*sec))
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
		return g.Ceiling.tooMany(&w, sent) && g.Ceiling.Refused(&w, now, sent)
	}
	served := func(n int) {
		for range n {
			now++
			w.InFlight = int64(g.most) - 1
			w.slow = g.most + 1
			g.Ceiling.Served(&w, now, now)
		}
	}
	wave := now
	for _, w.InFlight = range []int64{30, 12, 10} {
		now++
		g.Ceiling.Refused(&w, now, wave)
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

// A ceiling that has come down to half of the highest that it was is none: the server refuses as often however few are
// in flight.
func TestCeilingIsNone(t *testing.T) {
	for _, c := range []struct{ learned, raised, half uint8 }{{10, 10, 5}, {11, 11, 5}, {10, 13, 6}, {4, 4, 2}} {
		w, now := New(Adaptive), Instant(sec)
		var g Ceiling
		served := func(n int) {
			for range n {
				now++
				w.InFlight = int64(g.most) - 1
				w.slow = min(w.slow+1, 127) // see Silent
				g.Served(&w, now, now)
			}
		}
		w.InFlight = int64(c.learned)
		g.Refused(&w, now, now)
		w.slow = g.most
		for g.most < c.raised {
			served(1)
		}
		assert.Equal(t, c.raised, g.kept)
		tooMany := func() bool {
			served(1)
			now++
			w.InFlight = int64(g.most) - 1
			g.tried = 0
			return g.TooMany(&w, now, now)
		}
		for most := c.raised - 1; most > c.half; most-- {
			assert.True(t, tooMany())
			assert.Equal(t, most, g.most)
		}
		assert.True(t, w.is(bounded))
		assert.False(t, tooMany(), "%+v", c)
		served(20)
		assert.Zero(t, g.most)
		assert.False(t, w.is(bounded))
		assert.Greater(t, w.slow, c.half)
		assert.False(t, tooMany(), "it is not known")
	}

	w, now := New(Adaptive), Instant(sec)
	g := Ceiling{most: 3, kept: 3, heard: true}
	w.InFlight = 2
	assert.True(t, g.TooMany(&w, now, now))
	assert.EqualValues(t, 2, g.most, "a bound of two")
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

// A request that departed although as many as the ceiling were in flight, because they take long, and was
// served, shows that the server works on more.
func TestServedBeyondCeiling(t *testing.T) {
	for _, tt := range []struct {
		most uint8
		left int64
		want uint8
	}{{0, 5, 0}, {4, 3, 4}, {4, 4, 5}, {4, 7, 8}, {4, 200, mostCeiling}} {
		w := New(Adaptive)
		now := Instant(2 * sec)
		w.InFlight, w.slow, w.asked = tt.left, tt.most, now
		c := Ceiling{most: tt.most, kept: tt.most, tried: 3, wave: Instant(sec)}
		c.Served(&w, now, now)
		assert.Equal(t, tt.want, c.most, tt)
		assert.Equal(t, tt.want, c.kept, tt)
		if tt.want > tt.most {
			assert.EqualValues(t, tt.want, w.slow, tt)
			assert.Zero(t, c.tried, tt)
		}
		again, _ := w.Ready(now, 1)
		assert.Equal(t, tt.left < int64(w.slow) || tt.most == 0, again == now, tt)
	}
}

// If the last refusal was of one too many and had a Retry-After, a look that is served shows no pace: nothing would
// bound its burst.
func TestNoPaceUnderCeiling(t *testing.T) {
	for _, tt := range []struct{ one, guessed, want bool }{{false, false, true}, {true, false, false}, {true, true, true}} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 12, sec)
		w.Count(Instant(sec), 1)
		g := NewInferred(sec)
		g.one, g.guessed, g.opened = tt.one, tt.guessed, Instant(sec)
		g.looked(&w, Instant(sec).Add(500*time.Millisecond))
		assert.Equal(t, tt.want, g.pace.unit > 0, tt)
	}
}

// A ceiling that cannot go up further is given up after eight times as many were served. If the server refuses
// each time, that becomes more, up to 128 times as many.
func TestCeilingIsGivenUp(t *testing.T) {
	now := Instant(sec)
	var c Ceiling
	w := New(Adaptive)
	for tries := range 9 {
		now++
		w.InFlight = 200
		assert.False(t, c.Refused(&w, now, now))
		assert.EqualValues(t, mostCeiling, c.most)
		served := 0
		for ; c.most > 0; served++ {
			now++
			w.InFlight, w.slow = mostCeiling-1, mostCeiling+1 // see Silent
			c.Served(&w, now, now)
		}
		assert.Equal(t, mostCeiling*max(gone, 1<<min(tries, rarest)), served)
		assert.False(t, w.is(bounded))
		assert.Zero(t, w.slow, "any number")
	}
}

// A ceiling that was the highest and was lost by one too many was not given up: the next refusal makes no try rarer.
func TestHighestCeilingIsLost(t *testing.T) {
	now := Instant(sec)
	w := New(Adaptive)
	c := Ceiling{most: mostCeiling, kept: mostCeiling, heard: true}
	for _, step := range []struct {
		inFlight int64
		tooMany  bool
	}{{mostCeiling - 1, true}, {10, false}, {1, false}} {
		now++
		w.InFlight, w.slow = step.inFlight, mostCeiling
		assert.Equal(t, step.tooMany, c.Refused(&w, now, now), "%+v", step)
		assert.EqualValues(t, 1, c.rare, "%+v", step)
		now++
		c.Served(&w, now, now)
	}
}

// A refusal is of one too many only if at least two are in flight, and about half of the ceiling.
func TestOneTooManyOfHalf(t *testing.T) {
	for _, tt := range []struct {
		most uint8
		left int64
		want bool
	}{{2, 5, false}, {3, 1, false}, {3, 2, true}, {10, 3, false}, {10, 4, true}, {11, 4, false}, {11, 5, true}} {
		w := New(Adaptive)
		w.InFlight = tt.left
		for _, heard := range []bool{false, true} {
			c := Ceiling{most: tt.most, kept: tt.most, heard: heard}
			assert.Equal(t, tt.want && heard, c.TooMany(&w, Instant(sec), Instant(sec)), tt)
		}
	}
}

// Answers take a hundred times as long as refusals. Each step is a refusal after so many were served with a full ceiling,
// while so many more are in flight than are let.
func TestCeilingIsContradicted(t *testing.T) {
	type step struct {
		served int
		more   int64
	}
	const raised = 9 << rarest // served until one more is tried
	for _, tt := range []struct {
		name  string
		trip  time.Duration
		steps []step
		none  bool
	}{
		{"twice although none was tried", time.Second, []step{{10, 0}, {9, 0}}, true},
		{"twice after it was lowered", time.Second, []step{{9, 0}, {0, 0}, {0, 0}}, true},
		{"once after it was lowered", time.Second, []step{{9, 0}, {0, 0}}, false},
		{"one more was tried in between", time.Second, []step{{10, 0}, {raised, 0}, {9, 0}}, false},
		{"one more was tried, and served", time.Second, []step{{10, 0}, {raised + 10, 0}}, true},
		{"fewer were in flight", time.Second, []step{{10, -1}, {9, -1}, {8, -1}}, false},
		{"more were in flight", time.Second, []step{{10, 1}, {9, 1}, {8, 1}}, false},
		{"quick answers", 90 * time.Millisecond, []step{{10, 0}, {9, 0}, {8, 0}}, false},
	} {
		w, now := New(Adaptive), Instant(sec)
		var c Ceiling
		w.InFlight = 10
		c.Refused(&w, now, now)
		c.rare = rarest
		for _, s := range tt.steps {
			for range max(s.served, 1) {
				now = now.Add(2 * sec)
				w.InFlight, w.slow = int64(c.most)-1, c.most+1 // see Silent
				if s.served == 0 {
					w.InFlight = 0
				}
				c.Served(&w, now, now.Add(-tt.trip))
			}
			now = now.Add(sec)
			w.InFlight = int64(c.most) - 1 + s.more
			c.Refused(&w, now, now.Add(-10*time.Millisecond))
		}
		assert.Equal(t, tt.none, c.most == 0, tt.name)
	}
}

// After a ceiling was contradicted, the next wave of refusals shows none, then the next three, … up to 63.
func TestContradictedCeilings(t *testing.T) {
	w, now := New(Adaptive), Instant(sec)
	var c Ceiling
	for _, want := range []int{0, 1, 3, 7, 15, 31, 63, 63} {
		waves := 0
		for ; c.most == 0; waves++ {
			now++
			w.InFlight, c.heard = 10, true
			assert.False(t, c.Refused(&w, now, now))
		}
		assert.Equal(t, want+1, waves)
		c.contradicted(now)
	}
}
