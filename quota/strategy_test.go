package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A part is never so small that a quota which is said to be full is not asked.

// bare answers requests that depart together with a bare refusal where they are
// more than the server takes, and returns how many were served.
func (d *desk) bare(now time.Duration, left *int, pause time.Duration) (served int) {
	d.t.Helper()
	var out []*Lease
	for len(out) < 50 {
		l, r := d.try(now, "")
		if r != nil {
			break
		}
		out = append(out, l)
	}
	for _, l := range out {
		if *left == 0 {
			d.done(now, l, Report{Refused: true, Pause: pause})
			continue
		}
		*left--
		served++
		d.done(now, l, Report{})
	}
	return served
}

// 5: a server that says nothing and takes ten in 10 s is asked for ten in 10 s,
// once it has refused twice, and for more now and then.
func TestGuess(t *testing.T) {
	d := newDesk(t)
	var sent, refusals []int
	for window := range 40 {
		now, left := time.Duration(window)*11*sec, 10
		served, before := 0, left
		for n := 1; n > 0; {
			n = d.bare(now, &left, 10*sec)
			served += n
		}
		require.Equal(t, before-left, served)
		sent = append(sent, served)
		r, _ := d.o.Check(t.Context(), d.at(now), new(Ask))
		require.NotNil(t, r, "window %d: nothing holds the next", window)
		if r.Reason == ReasonRetryAfter {
			refusals = append(refusals, window)
		}
	}
	for window, n := range sent {
		assert.Equal(t, 10, n, "window %d", window)
	}
	// The first two teach; after the eleventh clean one, one more is tried.
	assert.Equal(t, []int{0, 1, 12, 23, 34}, refusals)
}

// Whoever refuses every second request is not taken to allow one at a time.
func TestNoGuessFromFew(t *testing.T) {
	d := newDesk(t)
	now := time.Duration(0)
	for range 10 {
		for left := 3; d.bare(now, &left, sec) > 0; {
		}
		now += 2 * sec
	}
	assert.Nil(t, d.o.find(accountID{}).line)
	assert.Equal(t, int64(None), d.o.find(accountID{}).Quota)
}

// A server that names its policies is not guessed at.
func TestNoGuessOfPolicies(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Terms: []Terms{{Policy: Policy{Name: "api", Quota: 1000, Window: mins}}}})
	for window := range 4 {
		left := 10
		for d.bare(time.Duration(window)*11*sec, &left, 10*sec) > 0 {
		}
	}
	assert.Equal(t, int64(None), d.o.find(accountID{}).Quota)
}

// After a refusal that says nothing, as many follow an answer as came back, and
// one more for each.
func TestSlowStart(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Refused: true, Pause: sec})
	now := sec
	var steps []int
	for range 8 {
		var out []*Lease
		for len(out) < 1000 {
			l, r := d.try(now, "")
			if r != nil {
				break
			}
			out = append(out, l)
		}
		now += 100 * ms
		for _, l := range out {
			d.done(now, l, Report{})
		}
		steps = append(steps, len(out))
	}
	assert.Equal(t, []int{1, 2, 4, 8, 16, 32, 64, 1000}, steps)
}

// While answers are long in coming, one follows at a time, as probes do.
func TestSlowStartBesideLongPolls(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), Report{Refused: true, Pause: sec})
	d.done(1100*ms, d.send(sec, ""), Report{})
	d.send(1100*ms, "")
	d.send(1100*ms, "")
	assert.Equal(t, 900*ms, d.wait(1100*ms, ""))
	now := 2 * sec
	for _, wait := range []time.Duration{sec, 2 * sec, 4 * sec} {
		d.send(now, "")
		assert.Equal(t, wait, d.wait(now, ""))
		now += wait
	}
}

// Plain takes servers at their word.
func TestPlainHasNoHabits(t *testing.T) {
	d := newDesk(t)
	d.o.accounts.Strategy = Plain
	for window := range 5 {
		left := 10
		d.bare(time.Duration(window)*11*sec, &left, 10*sec)
	}
	assert.Nil(t, d.o.scope(0, "").inferred)
	d.bare(mins, new(int), sec)
	d.done(2*mins, d.send(2*mins, ""), Report{})
	assert.Equal(t, 1000, d.more(2*mins, ""), "no slow start")
}

// Windows of our own count have a guard, whether their first answer repeats the
// policy or not.
func TestGuardOfCounts(t *testing.T) {
	for how, want := range map[Strategy]time.Duration{Adaptive: ms, Plain: 8 * ms} {
		d := newDesk(t)
		d.o.accounts.Strategy = how
		const trip = 32 * ms
		first := terms("api", 3, 10*sec)
		d.done(trip, d.send(0, ""), Report{Terms: first})
		d.more(trip, "", api(1))
		assert.Equal(t, 10*sec+want-trip, d.wait(trip, "", api(1)), "%v, the first", how)
		start := 10*sec + want
		d.done(start+trip, d.send(start, "", api(1)), Report{})
		d.more(start+trip, "", api(1))
		assert.Equal(t, 10*sec+want-trip, d.wait(start+trip, "", api(1)), "%v, the next", how)
	}
}

func TestStrategyString(t *testing.T) {
	assert.Equal(t, "adaptive plain", fmt.Sprint(Adaptive, " ", Plain))
}
