package window

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A figure that rises by more than comes back one by one is of a new window, whose end
// counts, even if requests overlap all the time. The first window begins at 10 ms and says
// 29 units, and a request that departs 60 ms later is told of the next one.
func TestRise(t *testing.T) {
	const begin, guard = 10 * ms, 40 * ms / 32
	const first, next = begin + sec + guard, begin + 60*ms + sec + guard
	for name, tt := range map[string]struct {
		unit  Unit
		quota int64
		most  int64 // that was told before
		says  int64
		who   string // "": the one that departs at 60 ms
		late  bool   // one that overlaps says 10 before
		no    bool   // it is a refusal
		end   time.Duration
	}{
		"in order":                            {quota: 60, says: 59, end: next},
		"it overlaps":                         {quota: 60, late: true, says: 59, end: next},
		"as much as was ever there":           {quota: 60, late: true, says: 29, end: next},
		"less, and it overlaps":               {quota: 60, late: true, says: 28, end: first},
		"tokens, and it overlaps":             {unit: Other, quota: 60, late: true, says: 59, end: first},
		"tokens":                              {unit: Other, quota: 60, says: 59, end: next},
		"so much may have come one by one":    {quota: 500, says: 80, end: first},
		"one more may not":                    {quota: 500, says: 81, end: next},
		"so much may have, as was told":       {quota: None, most: 500, says: 80, end: first},
		"one more may not, as was told":       {quota: None, most: 500, says: 81, end: next},
		"a refusal":                           {quota: 60, says: 59, no: true, end: first},
		"it departed before the first answer": {quota: 60, says: 59, who: "old", end: first},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Adaptive)
			l.server.Most, l.server.Span = tt.most, sec
			l.SetPolicy(tt.unit, tt.quota, 0)
			if tt.quota > 0 {
				l.SetPolicy(tt.unit, tt.quota, sec)
			}
			at := func(d time.Duration, do event) { do(l, Instant(begin+d)) }
			at(0, send("a", "old"))
			at(40*ms, says("a", 29, sec))
			assert.Equal(t, Instant(first), l.End())
			at(55*ms, send("late"))
			at(60*ms, send("b"))
			if tt.late {
				at(95*ms, says("late", 10, sec))
			}
			at(100*ms, func(l *ledger, t Instant) { l.report(t, cmp.Or(tt.who, "b"), tt.says, sec, tt.no) })
			assert.Equal(t, Instant(tt.end), l.End())
		})
	}
}

// An answer that was overtaken by that of the new window does not end it.
func TestRiseOfOlderAnswers(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 60, 2*sec)
	at := func(d time.Duration, do event) { do(l, Instant(d)) }
	at(0, send("a", "b"))
	at(40*ms, says("a", 29, sec))
	at(50*ms, send("older", "oldest"))
	at(60*ms, send("new"))
	at(100*ms, says("new", 59, 2*sec))
	end := l.End()
	assert.Greater(t, end, Instant(2*sec))
	at(101*ms, says("older", 27, sec))
	at(102*ms, says("oldest", 28, sec))
	assert.Equal(t, end, l.End())
	left, _ := l.Left(Instant(102 * ms))
	assert.EqualValues(t, 26, left, "it may have come last, and one is out")
	at(110*ms, send("c"))
	at(150*ms, says("c", 57, 2*sec))
	left, _ = l.Left(Instant(150 * ms))
	assert.EqualValues(t, 56, left)
	assert.Equal(t, end, l.End())
}

// Of several answers of the new window the latest departure counts, of those that overlap
// with the window before.
func TestRiseOfSeveral(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 60, 2*sec)
	at := func(d time.Duration, do event) { do(l, Instant(d)) }
	at(0, send("a"))
	at(40*ms, says("a", 29, sec))
	at(45*ms, send("late"))
	at(50*ms, send("older"))
	at(60*ms, send("new"))
	at(85*ms, says("late", 10, sec))
	at(100*ms, says("new", 58, 2*sec))
	end := l.End()
	assert.Greater(t, end, Instant(2*sec))
	at(102*ms, says("older", 59, sec))
	assert.Equal(t, end, l.End())
}

// What other clients have spent is compared in each window, even if some request of ours is
// out all the time.
func TestRiseShowsOthers(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 60, 3*sec)
	now, out, next := Instant(0), "a", "b"
	send(out)(l, now)
	for window := range 2 {
		for i := range 20 { // two units are spent for each of ours
			now += Instant(25 * ms)
			send(next)(l, now)
			now += Instant(25 * ms)
			says(out, int64(58-2*i), 3*sec)(l, now)
			out, next = next, out
			assert.Equal(t, window > 0 && i > 0, l.Part() < 0.75, "window %d, request %d", window, i)
		}
	}
}

// An overtaken answer that tells of a longer quota does not put off the end of the one in
// force.
func TestRiseIsNotOfALongerQuota(t *testing.T) {
	for _, quota := range []int64{None, 10} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, quota, 0)
		at := func(d time.Duration, do event) { do(l, Instant(time.Second+d)) }
		at(0, send("a"))
		at(40*ms, says("a", 8, sec))
		at(50*ms, send("late"))
		at(60*ms, send("b"))
		at(90*ms, says("late", 0, sec))
		at(100*ms, says("b", 4000, 12*time.Hour))
		now := Instant(3 * time.Second)
		again, _ := l.Ready(now, 1)
		assert.Equal(t, now, again, quota)
	}
}
