package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An exchanger sends requests to a server with a quota of n a minute, and takes over what it answers.
type exchanger struct {
	w    Window
	s    Server
	now  Instant
	from Instant // begin of the window
	left int64
}

func newExchanger(n int64) *exchanger {
	x := &exchanger{w: New(Adaptive), left: n}
	x.w.SetPolicy(Requests, n, time.Minute)
	return x
}

// told sends a request that is counted, and whose answer says what is left.
func (x *exchanger) told() {
	c := x.send()
	x.left--
	x.figure(c, x.left, false)
}

// quiet sends a request whose answer says nothing.
func (x *exchanger) quiet(counted bool) {
	c := x.send()
	if counted {
		x.left--
	}
	x.now = x.now.Add(50 * ms)
	x.w.Silent(x.now, c, false, &x.s)
}

func (x *exchanger) send() Charge {
	return Charge{Sent: x.now, Units: 1, Mark: x.w.Take(x.now, 1)}
}

func (x *exchanger) figure(c Charge, left int64, refused bool) {
	x.now = x.now.Add(50 * ms)
	x.w.Answered(c, refused)
	x.w.Report(x.now, c.Sent, Figure{Available: left, Window: time.Minute - time.Duration(c.Sent-x.from), Charge: c}, refused, &x.s)
}

// begins begins the next window, a second after the end of the last one.
func (x *exchanger) begins(n int64) {
	x.now = x.from.Add(61 * time.Second)
	x.from, x.left = x.now, n
	x.w.Roll(x.now)
}

func (x *exchanger) available() int64 {
	left, _ := x.w.Left(x.now)
	return left
}

// Answers that say nothing are charged until two pairs of figures have shown that they do not count.
func TestQuietAnswersThatDoNotCount(t *testing.T) {
	x := newExchanger(30)
	x.told()
	x.quiet(false)
	x.told() // the first one of a pair
	for range 5 {
		x.quiet(false)
	}
	assert.EqualValues(t, 23, x.available(), "they are charged")
	x.told()
	assert.EqualValues(t, 27, x.available())
	assert.False(t, x.s.uncounted.notCounted(), "one pair")
	for range 3 {
		x.quiet(false)
	}
	x.told()
	assert.False(t, x.s.uncounted.notCounted(), "too few")
	x.quiet(false)
	x.told()
	assert.True(t, x.s.uncounted.notCounted())
	for range 100 {
		x.quiet(false)
	}
	assert.EqualValues(t, 25, x.available(), "they are not charged")
	c := x.send()
	assert.EqualValues(t, 24, x.available(), "until they are answered")
	x.w.Silent(x.now, c, false, &x.s)
	assert.EqualValues(t, 25, x.available())
}

// Those that count are charged, whatever their order.
func TestQuietAnswersThatCount(t *testing.T) {
	x := newExchanger(60)
	for range 4 {
		x.told()
		for range 8 {
			x.quiet(true)
		}
	}
	assert.Equal(t, x.left, x.available())
	assert.Zero(t, x.s.uncounted.shown)
	assert.EqualValues(t, 2, x.s.uncounted.doubts)
}

// Where requests overlap, only those count that departed after the first figure of a pair had arrived, and were answered
// before that of the second one departed.
func TestQuietAnswersThatOverlap(t *testing.T) {
	pair := func() *exchanger { // that begins
		x := newExchanger(60)
		x.told()
		x.quiet(false)
		x.told()
		return x
	}
	sendAll := func(x *exchanger, n int) (out []Charge) {
		for range n {
			out = append(out, x.send())
		}
		return out
	}
	land := func(x *exchanger, cs []Charge) {
		x.now = x.now.Add(50 * ms)
		for _, c := range cs {
			x.w.Silent(x.now, c, false, &x.s)
		}
	}
	t.Run("counted before the first figure", func(t *testing.T) {
		x := newExchanger(60)
		x.told()
		x.quiet(false)
		out := sendAll(x, 10)
		x.left -= 10
		x.told()
		land(x, out)
		x.told()
		x.told()
		assert.Zero(t, x.s.uncounted.shown)
	})
	t.Run("counted after the second request", func(t *testing.T) {
		x := pair()
		early := sendAll(x, 5)
		first := x.left - 1 // what the first of them finds
		land(x, sendAll(x, 4))
		x.left -= 5
		x.told()
		x.figure(early[0], first, false)
		assert.Zero(t, x.s.uncounted.shown)
	})
	t.Run("answered while the second request is out", func(t *testing.T) {
		x := pair()
		for range 2 {
			land(x, sendAll(x, 1)) // nothing else is out
			for range 3 {
				x.quiet(false)
			}
			c := x.send()
			x.left--
			x.quiet(false)
			x.figure(c, x.left, false)
		}
		assert.True(t, x.s.uncounted.notCounted())
	})
	t.Run("answered while the second request is out, and counted after it", func(t *testing.T) {
		x := pair()
		for range 3 {
			c := x.send()
			x.left--
			land(x, sendAll(x, 4))
			x.figure(c, x.left, false)
			x.left -= 4
			assert.Zero(t, x.s.uncounted.shown)
		}
	})
	t.Run("counted between two requests that are answered in the other order", func(t *testing.T) {
		x := newExchanger(60)
		x.told()
		x.quiet(false)
		a, out, b := x.send(), sendAll(x, 4), x.send()
		x.left -= 6
		x.figure(b, x.left, false)
		x.figure(a, x.left+5, false)
		land(x, out)
		x.told()
		assert.EqualValues(t, 1, x.s.uncounted.doubts)
	})
	t.Run("others are out that are told a figure", func(t *testing.T) {
		x := pair()
		land(x, sendAll(x, 2))
		sendAll(x, 6)
		x.left -= 6
		x.told()
		assert.Zero(t, x.s.uncounted.doubts)
	})
	t.Run("others that were told a figure had departed before", func(t *testing.T) {
		x := newExchanger(60)
		x.told()
		x.quiet(false)
		out := sendAll(x, 6)
		x.told()
		for _, c := range out {
			x.left--
			x.figure(c, x.left, false)
		}
		land(x, sendAll(x, 2))
		x.told()
		assert.Zero(t, x.s.uncounted.doubts)
	})
}

// In a volley whose answers arrive in any order, the figures of those that were told one follow each other where the
// others do not count.
func TestQuietAnswersInVolleys(t *testing.T) {
	volley := func(x *exchanger, counted bool) {
		var out []Charge
		left := make([]int64, 12)
		for i := range left {
			out = append(out, x.send())
			if i%3 == 0 || counted {
				x.left--
			}
			left[i] = x.left
		}
		x.now = x.now.Add(50 * ms)
		for _, i := range []int{9, 1, 2, 6, 4, 5, 0, 7, 8, 10, 3, 11} {
			if i%3 > 0 {
				x.w.Silent(x.now, out[i], false, &x.s)
			} else {
				x.now = x.now.Add(-50 * ms)
				x.figure(out[i], left[i], false)
			}
		}
	}
	x := newExchanger(60)
	x.told()
	x.quiet(false)
	volley(x, false)
	assert.Zero(t, x.s.uncounted.shown)
	volley(x, false)
	assert.EqualValues(t, 1, x.s.uncounted.shown)
	volley(x, false)
	x.told()
	assert.True(t, x.s.uncounted.notCounted())
	assert.Zero(t, x.s.uncounted.doubts)

	x = newExchanger(60)
	x.told()
	x.quiet(true)
	for range 4 {
		volley(x, true)
	}
	assert.Zero(t, x.s.uncounted.shown)
	assert.NotZero(t, x.s.uncounted.doubts)
}

// A figure that does not fall begins a window, and what is compared anew.
func TestQuietAnswersWhereWindowsBeginEarlier(t *testing.T) {
	x := newExchanger(30)
	x.told()
	x.quiet(true)
	x.told()
	x.quiet(true)
	x.told()
	x.left = 30
	x.told()
	for range 3 {
		x.quiet(true)
	}
	x.told()
	x.left = 30
	x.told()
	assert.Zero(t, x.s.uncounted.shown)
}

// Few such answers in each window show it together.
func TestFewQuietAnswersInEachWindow(t *testing.T) {
	windows := func(counted, late bool) *exchanger {
		x := newExchanger(30)
		x.told()
		x.quiet(counted)
		for range 7 {
			x.begins(30)
			x.told()
			if !late {
				x.quiet(counted)
				x.quiet(counted)
				x.told()
				continue
			}
			out := []Charge{x.send(), x.send()}
			x.told()
			for _, c := range out {
				x.w.Silent(x.now, c, false, &x.s)
			}
		}
		return x
	}
	assert.True(t, windows(false, false).s.uncounted.notCounted())
	assert.True(t, windows(false, true).s.uncounted.notCounted(), "answered after the last figure")
	x := windows(true, false)
	assert.Zero(t, x.s.uncounted.shown)
	assert.NotZero(t, x.s.uncounted.doubts)
}

// Where units come back in between, figures show nothing.
func TestQuietAnswersWhereUnitsComeBack(t *testing.T) {
	x := newExchanger(60)
	x.told()
	x.quiet(true)
	x.told()
	for range 4 {
		a := x.send()
		for range 4 {
			x.quiet(true)
		}
		b := x.send()
		x.left--
		x.left += 4 // what was counted is back
		x.figure(a, x.left, false)
		x.figure(b, x.left, false)
		assert.Zero(t, x.s.uncounted.shown)
	}
}

// They give back what they were charged in a window that no figure has been told in yet, too.
func TestQuietAnswersBeforeTheFirstFigure(t *testing.T) {
	x := newExchanger(30)
	x.told()
	x.quiet(false)
	for range 3 {
		x.told()
		for range 4 {
			x.quiet(false)
		}
	}
	assert.True(t, x.s.uncounted.notCounted())
	x.begins(30)
	x.quiet(false)
	assert.Equal(t, Counting, x.w.State)
	for range 40 {
		x.quiet(false)
	}
	assert.EqualValues(t, 29, x.available())
}

// The figures that are compared are of one window.
func TestQuietAnswersOfTwoWindows(t *testing.T) {
	pairs := func(x *exchanger) {
		for range 3 {
			x.told()
			for range 4 {
				x.quiet(false)
			}
		}
		x.told()
	}
	x := newExchanger(30)
	x.told()
	x.quiet(true)
	x.told()
	x.now, x.left = Instant(61*sec), 30
	x.told()
	pairs(x)
	assert.True(t, x.s.uncounted.notCounted(), "it is learned in the next one")

	x = newExchanger(30)
	x.left = 12
	x.told()
	x.quiet(true)
	x.told()
	for range 8 {
		x.quiet(true)
	}
	x.left = 30 // it begins earlier than it was told to
	x.told()
	assert.Zero(t, x.s.uncounted.shown)
}

// A refusal shows nothing if our own count has nothing either.
func TestQuietAnswersAndARefusalThatIsExpected(t *testing.T) {
	x := newExchanger(100)
	x.told()
	for range 3 {
		x.quiet(false)
		for range 4 {
			x.quiet(false)
		}
		x.told()
	}
	assert.True(t, x.s.uncounted.notCounted())
	x.left = 1
	x.told()
	x.quiet(false)
	x.figure(x.send(), 0, true)
	assert.True(t, x.s.uncounted.notCounted())
	x = newExchanger(100)
	x.told()
	for range 3 {
		for range 5 {
			x.quiet(false)
		}
		x.told()
	}
	assert.True(t, x.s.uncounted.notCounted())
	x.figure(x.send(), 0, true)
	assert.True(t, x.s.uncounted.notCounted(), "nothing was given back")
}

// What was shown ends when a figure shows that they count, or a refusal; and it takes more each time.
func TestQuietAnswersThatCountAfterAll(t *testing.T) {
	for name, end := range map[string]func(x *exchanger){
		"a figure": func(x *exchanger) {
			for range 8 {
				x.quiet(true)
			}
			x.told()
		},
		"a refusal": func(x *exchanger) {
			x.quiet(true)
			x.figure(x.send(), 0, true)
		},
		"a refusal in the next window": func(x *exchanger) {
			x.begins(100)
			x.quiet(true)
			x.figure(x.send(), 0, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newExchanger(100)
			x.told()
			x.quiet(false)
			pairs := func(n int) {
				for range n {
					x.told()
					for range 4 {
						x.quiet(false)
					}
				}
				x.told()
			}
			pairs(2)
			assert.True(t, x.s.uncounted.notCounted())
			end(x)
			assert.False(t, x.s.uncounted.notCounted())
			pairs(3)
			assert.False(t, x.s.uncounted.notCounted(), "it takes four")
			pairs(1)
			assert.True(t, x.s.uncounted.notCounted())
		})
	}
}

// Where others use the quota, too, figures show neither.
func TestQuietAnswersBesideOthers(t *testing.T) {
	x := newExchanger(100)
	for range 5 {
		x.told()
		for range 8 {
			x.quiet(false)
		}
		x.left -= 3
	}
	assert.Zero(t, x.s.uncounted.shown)
	assert.Zero(t, x.s.uncounted.doubts)

	x = newExchanger(100)
	x.told()
	x.quiet(false)
	x.told()
	for range 2 {
		for range 8 {
			x.quiet(false)
		}
		x.left--
		x.told()
		x.quiet(false)
	}
	assert.EqualValues(t, 2, x.s.uncounted.shown, "one unit of eight is that of others")

	x = newExchanger(100)
	x.told()
	x.quiet(false)
	x.told()
	x.quiet(false)
	x.quiet(false)
	x.left--
	x.told()
	assert.Zero(t, x.s.uncounted.doubts, "one unit shows nothing")
}

// The windows of other users are compared once that of one has not been for some time.
func TestQuietAnswersOfManyUsers(t *testing.T) {
	one, two := newExchanger(30), newExchanger(30)
	one.told()
	one.quiet(false)
	other := func() {
		c := two.send()
		two.w.Silent(two.now, c, false, &one.s)
	}
	two.told()
	for range mostOthers {
		other()
		assert.Same(t, &one.w, one.s.uncounted.seen.of)
	}
	other()
	assert.Same(t, &two.w, one.s.uncounted.seen.of)
}
