package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// guessed is at a desk whose server takes ten in 10 s, which has been found out:
// one window has been used up since.
func guessed(t *testing.T) (d *desk, now time.Duration) {
	d = newDesk(t)
	for range 3 {
		left := 10
		for d.bare(now, &left, 10*sec) > 0 {
		}
		now += 11 * sec
	}
	require.Equal(t, int64(10), d.o.find(accountID{}).Quota)
	require.Equal(t, 10*sec, d.o.find(accountID{}).Length.Round(sec))
	return d, now
}

// full sends as many as may go, all of which are served, and returns how many.
func (d *desk) full(now time.Duration) (n int) {
	left := 1000
	for s := 1; s > 0 && n < 1000; n += s {
		s = d.bare(now, &left, 10*sec)
	}
	return n
}

// A server that takes more than before is asked for one more after ten windows
// that were used up, and then for twice as many more in each.
func TestGuessMore(t *testing.T) {
	d, now := guessed(t)
	var sent []int
	for range 15 {
		sent = append(sent, d.full(now))
		now += 11 * sec
	}
	assert.Equal(t, []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 13, 17, 25, 41, 73}, sent)
}

// A window tells nothing in which less was wanted than may be had.
func TestGuessOfUnusedWindows(t *testing.T) {
	d, now := guessed(t)
	for range 30 {
		for range 5 {
			d.done(now, d.send(now, ""), Report{})
		}
		now += 11 * sec
	}
	assert.Equal(t, 10, d.full(now))
	assert.Equal(t, int64(10), d.o.find(accountID{}).Quota)
}

// Nor do nine in a row that were used up.
func TestGuessOfWindowsInARow(t *testing.T) {
	d, now := guessed(t)
	for i := range 40 {
		if i%9 == 8 {
			d.done(now, d.send(now, ""), Report{})
		} else {
			require.Equal(t, 10, d.full(now))
		}
		now += 11 * sec
	}
}

// A window began with the departure of the first request in it, whenever that
// was answered.
func TestGuessOfOverlapping(t *testing.T) {
	d, now := guessed(t)
	first := d.send(now, "")
	late := d.send(now+sec, "")
	d.done(now+2*sec, first, Report{})
	d.done(now+2*sec, late, Report{})
	for range 3 {
		d.done(now+2*sec, d.send(now+2*sec, ""), Report{})
	}
	d.done(now+3*sec, d.send(now+3*sec, ""), Report{Refused: true, Pause: 5 * sec})
	d.done(now+9*sec, d.send(now+9*sec, ""), Report{})
	a := d.o.find(accountID{})
	assert.Equal(t, int64(5), a.Quota)
	assert.Equal(t, 8*sec, a.Length)
}

// What came before the first refusal is not known to have been a window.
func TestNoGuessFromTheFirstRefusal(t *testing.T) {
	d := newDesk(t)
	var ls []*Lease
	for range 10 {
		ls = append(ls, d.send(sec, ""))
	}
	d.done(sec, ls[0], Report{Refused: true, Pause: 10 * sec})
	for _, l := range ls[1:] {
		d.done(sec, l, Report{})
	}
	for range 4 {
		d.done(12*sec, d.send(12*sec, ""), Report{})
		assert.Equal(t, int64(None), d.o.find(accountID{}).Quota)
	}
	d.done(12*sec, d.send(12*sec, ""), Report{Refused: true, Pause: 10 * sec})
	d.done(23*sec, d.send(23*sec, ""), Report{})
	assert.Equal(t, int64(4), d.o.find(accountID{}).Quota, "nor what departed before that")
	assert.Equal(t, 10*sec, d.o.find(accountID{}).Length)
}

// Who comes now and then is refused for what was too much at a time: what it came
// to since the last refusal is not what the server takes in such a time.
func TestNoGuessFromRareUse(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Refused: true, Pause: sec})
	now := time.Duration(0)
	for range 10 {
		now += 5 * mins
		d.done(now, d.send(now, ""), Report{})
	}
	now += 5 * mins
	d.done(now, d.send(now, ""), Report{Refused: true, Pause: 30 * sec})
	now += 31 * sec
	for range 30 {
		d.done(now, d.send(now, ""), Report{})
	}
}

// A window is over when the first refusal says, if it says so, or with the next
// request that is served.
func TestGuessWindow(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause time.Duration
		want  time.Duration
	}{
		{"Retry-After", 10 * sec, 10 * sec},
		{"none", 0, 40 * sec},
	} {
		d := newDesk(t)
		poll := d.send(0, "")
		d.done(0, d.send(0, ""), Report{Refused: true, Pause: sec})
		for range 5 {
			d.done(2*sec, d.send(2*sec, ""), Report{})
		}
		d.done(2*sec, d.send(2*sec, ""), Report{Outcome: Lost})
		d.done(2*sec, poll, Report{}) // of a window before
		again := d.send(2*sec, "")
		d.done(2*sec, d.send(2*sec, ""), Report{Refused: true, Pause: tt.pause})
		again.sent = d.o.at(d.at(8 * sec)) // one that did not wait
		d.done(8*sec, again, Report{Refused: true, Pause: tt.pause})
		d.done(42*sec+32*ms, d.send(42*sec, ""), Report{})
		a := d.o.find(accountID{})
		assert.Equal(t, int64(5), a.Quota, tt.name)
		assert.Equal(t, tt.want, a.Length, tt.name)
		assert.Equal(t, 4, d.more(42*sec+32*ms, ""), "%s: one has gone", tt.name)
		assert.Equal(t, tt.want+ms-32*ms, d.wait(42*sec+32*ms, ""), "%s, with a guard", tt.name)
	}
}

// A guess is given up where the server names its policies.
func TestGuessGivenUp(t *testing.T) {
	t.Run("for a policy", func(t *testing.T) {
		d, now := guessed(t)
		d.done(now, d.send(now, ""), Report{Figures: figure("api", 999, mins)})
		assert.Equal(t, 999, d.more(now, "", api(1)))
		assert.Nil(t, d.o.scopes[""].inferred)
	})
	t.Run("for the unnamed one, which is the server's then", func(t *testing.T) {
		d, now := guessed(t)
		d.done(now, d.send(now, ""), Report{Terms: terms("", 50, 10*sec)})
		d.done(now, d.send(now, ""), Report{})
		assert.Nil(t, d.o.scopes[""].inferred)
		assert.Equal(t, int64(50), d.o.find(accountID{}).Quota)
	})
	t.Run("for a figure of the unnamed one, which it does not bound", func(t *testing.T) {
		d, now := guessed(t)
		d.done(now, d.send(now, ""), Report{Figures: figure("", 999, mins)})
		assert.Equal(t, 999, d.more(now, ""))
	})
	t.Run("for what another scope was told", func(t *testing.T) {
		d, now := guessed(t)
		d.done(now, d.send(now, "other"), Report{Terms: terms("", 50, 10*sec)})
		d.done(now, d.send(now, ""), Report{})
		assert.Nil(t, d.o.scopes[""].inferred)
		assert.Equal(t, int64(50), d.o.find(accountID{}).Quota)
	})
}
