package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// usesUp uses up a window of two whose answers say that it takes so long. It returns how long it lasts.
func usesUp(l *ledger, at Instant, told time.Duration) time.Duration {
	l.Roll(at)
	all(send("a", "b"), says("a", 1, told), says("b", 0, told))(l, at)
	return l.due.Since(at)
}

// sentBefore has a request have departed earlier.
func sentBefore(name string, by time.Duration) event {
	return func(l *ledger, _ Instant) {
		c := l.out[name]
		c.Sent -= Instant(by)
		l.out[name] = c
	}
}

// A server says two seconds of a window of a second that did not begin at a whole one. Once a window is used up, one request
// looks after a second. If it is served then, windows are a second, until one is refused.
func TestRoundedTwice(t *testing.T) {
	served, refused := says("c", 1, 2*sec), stillRefuses("c", sec)
	for _, tt := range []struct {
		name  string
		told  time.Duration
		first time.Duration // how long the first window lasts
		at    time.Duration // of the look
		look  event
		then  time.Duration // how long the second window lasts
	}{
		{"served", 2 * sec, sec, 1010 * ms, served, sec},
		{"served, but later", 2 * sec, sec, 2010 * ms, served, 2 * sec},
		{"refused", 2 * sec, sec, 1010 * ms, refused, 2 * sec},
		{"refused, but sent before it was over", 2 * sec, sec, 1010 * ms, all(sentBefore("c", 20*ms), refused, send("c"), served), sec},
		{"refused, without a figure", 2 * sec, sec, 1010 * ms, contradicts("c", sec), 2 * sec},
		{"of a trial", 2 * sec, sec, 1010 * ms, all(func(l *ledger, _ Instant) { l.refill.trying = true }, served), 2 * sec},
		{"of an instant", 2 * sec, sec, 1010 * ms, all(func(l *ledger, _ Instant) { l.ownRare().resets = 1 }, served), 2 * sec},
		{"three seconds", 3 * sec, 3 * sec, 3010 * ms, served, 3 * sec},
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 2, 0)
		assert.Equal(t, tt.first, usesUp(l, 0, tt.told), tt.name)
		at := Instant(tt.at)
		l.Roll(at)
		all(send("c"), tt.look)(l, at)
		assert.Equal(t, tt.then, usesUp(l, Instant(mins), tt.told), tt.name)
	}
}

// There is no look where it is told how long windows are, or an instant was, or that seconds are rounded down, or another
// client was seen, or to a request that was refused, nor while something is left.
func TestNotRoundedTwice(t *testing.T) {
	for name, but := range map[string]func(l *ledger){
		"the length is told": func(l *ledger) { l.SetPolicy(Requests, 2, 2*sec) },
		"an instant":         func(l *ledger) { l.server.ends.first = 1 },
		"rounded down":       func(l *ledger) { l.server.RoundsDown = true },
		"it was in vain":     func(l *ledger) { l.server.Longer = true },
		"windows are longer": func(l *ledger) { l.server.span(0, 9*sec); l.server.span(0, 9*sec) },
		"it has looked":      func(l *ledger) { l.server.looked = true },
		"beside another":     func(l *ledger) { l.contention.fall, l.contention.ours = 2*contentionNeeds, contentionNeeds },
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 2, 0)
		but(l)
		usesUp(l, 0, 2*sec)
		assert.False(t, l.is(shortened), name)
	}
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 2, 0)
	all(send("a"), says("a", 1, 2*sec))(l, 0)
	assert.Equal(t, 2*sec, l.due.Since(0))
	all(send("b"), stillRefuses("b", 2*sec))(l, 0)
	assert.Equal(t, 2*sec, l.due.Since(0))
}

// Once windows were a second, more than one of three that are not shows that they are longer.
func TestRoundedTwiceNoMore(t *testing.T) {
	for sooner, left := range map[int8]int8{1: 0, 2: 0, 3: 1, 8: 6} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 2, 0)
		l.server.Span, l.server.looked, l.server.sooner = 2*sec, true, sooner
		usesUp(l, Instant(mins), 2*sec)
		at := Instant(mins + 1010*ms)
		l.Roll(at)
		all(send("c", "d"), contradicts("c", sec), contradicts("d", sec))(l, at)
		assert.Equal(t, left, l.server.sooner, sooner)
	}
}

// Once eight windows were a second, that is the time of the quota, too.
func TestRoundedTwiceQuota(t *testing.T) {
	for _, tt := range []struct {
		span, is time.Duration
		sooner   int8
	}{
		{2 * sec, sec, 8},
		{2 * sec, 2 * sec, 7},
		{3 * sec, 3 * sec, 8},
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 4, 0)
		l.server.Span, l.server.sooner = tt.span, tt.sooner
		_, length := l.size(&l.server)
		assert.Equal(t, tt.is, length)
		l.guessUnit(&l.server)
		l.epoch = 1
		l.guessUnit(&l.server)
		assert.Equal(t, tt.is/4, l.perUnit())
	}
}

// Of a window that was over sooner, one answer counts; and no more than eight windows.
func TestRoundedTwiceCountsWindows(t *testing.T) {
	for before, after := range map[int8]int8{1: 2, 7: 8, 8: 8} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 3, 0)
		l.server.Span, l.server.looked, l.server.sooner = 2*sec, true, before
		usesUp(l, 0, 2*sec)
		at := Instant(1010 * ms)
		l.Roll(at)
		all(send("c", "d", "e"), says("c", 2, 2*sec), says("d", 1, 2*sec), contradicts("e", sec))(l, at)
		assert.Equal(t, after, l.server.sooner, before)
	}
}

// Where W is not told, a w that is 0 whenever something is left is the time until the next unit: it does not show that seconds
// are rounded down. That it was a second or more before does, or that it is 0 with nothing left.
func TestRoundsDownIfAhead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		length  time.Duration // of the policy
		reports []Figure
		want    bool
	}{
		{"0 while something is left", 0, []Figure{{Available: 5}, {Available: 4}}, false},
		{"a second with nothing left", 0, []Figure{{Available: 5}, {Window: sec}, {Available: 4}}, false},
		{"a second with something left", 0, []Figure{{Available: 5, Window: sec}, {Available: 4}}, true},
		{"0 with nothing left", 0, []Figure{{Available: 5}, {}}, true},
		{"W is told", 2 * sec, []Figure{{Available: 5}}, true},
	} {
		w, s := New(Adaptive), new(Server)
		w.SetPolicy(Requests, 10, tt.length)
		for i, f := range tt.reports {
			at := Instant(i+1) * Instant(100*ms)
			w.Report(at, at, f, false, s)
		}
		assert.Equal(t, tt.want, s.RoundsDown, tt.name)
	}
}
