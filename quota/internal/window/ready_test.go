package window

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The back-off doubles from a second to a minute, and jitter only adds.
func TestBackOff(t *testing.T) {
	tests := []struct {
		n        uint8
		least    time.Duration
		mostly   time.Duration
		withHalf time.Duration
	}{
		{0, sec, 1250 * ms, 1125 * ms},
		{1, sec, 1250 * ms, 1125 * ms},
		{2, 2 * sec, 2500 * ms, 2250 * ms},
		{3, 4 * sec, 5 * sec, 4500 * ms},
		{4, 8 * sec, 10 * sec, 9 * sec},
		{5, 16 * sec, 20 * sec, 18 * sec},
		{6, 32 * sec, 40 * sec, 36 * sec},
		{7, 48 * sec, 60 * sec, 54 * sec},
		{63, 48 * sec, 60 * sec, 54 * sec},
		{255, 48 * sec, 60 * sec, 54 * sec},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.least, backOff(tt.n, 0), "refusal %d", tt.n)
		assert.Equal(t, tt.withHalf, backOff(tt.n, 0.5), "refusal %d", tt.n)
		most := backOff(tt.n, math.Nextafter(1, 0))
		assert.LessOrEqual(t, most, tt.mostly, "refusal %d", tt.n)
		assert.Greater(t, most, tt.mostly-ms, "refusal %d", tt.n)
	}
}

// However many refusals there are in a row, the wait is between 1 s and 1 min.
func TestBackOffCountSaturates(t *testing.T) {
	a := newLedger(Plain)
	now := Instant(0)
	for i := range 300 {
		a.StartBackOff(now, now, 0)
		again, why := a.Ready(now, 1)
		wait := time.Duration(again - now)
		assert.Equal(t, BackingOff, why)
		assert.GreaterOrEqual(t, wait, sec, "refusal %d", i)
		assert.LessOrEqual(t, wait, mins, "refusal %d", i)
		if i > 6 {
			assert.Equal(t, 48*sec, wait, "refusal %d", i)
		}
		now = again
	}
}

func TestPatience(t *testing.T) {
	assert.Equal(t, sec, patience(0))
	assert.Equal(t, sec, patience(1))
	assert.Equal(t, 32*sec, patience(6))
	assert.LessOrEqual(t, patience(math.MaxUint8), mins)
}

func TestInstantSaturates(t *testing.T) {
	assert.Equal(t, Never, Never.Add(1))
	assert.Equal(t, Never, Never.Add(math.MaxInt64))
	assert.Equal(t, Never, Instant(1).Add(math.MaxInt64))
	assert.Equal(t, Never-1, Never.Add(-1))
	assert.Equal(t, Instant(-1), Instant(0).Add(-1))
}

// Ends that whole seconds cannot tell apart are of one window.
func TestSameWindow(t *testing.T) {
	tests := []struct {
		x, y Instant
		want bool
	}{
		{0, 0, true},
		{0, Instant(sec), true},
		{Instant(sec), 0, true},
		{0, Instant(sec) + 1, false},
		{Never, Never, true},
		{Never, 0, false},
		{0, Never, false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, sameWindow(tt.x, tt.y), "%d and %d", tt.x, tt.y)
	}
}

// A request may be on its way for two trips after its window: at least 10 ms,
// at most a second.
func TestGrace(t *testing.T) {
	assert.Equal(t, 10*ms, grace(0))
	assert.Equal(t, 10*ms, grace(-sec))
	assert.Equal(t, 80*ms, grace(40*ms))
	assert.Equal(t, sec, grace(time.Hour))
}

// A figure without a window stands until the next answer, for which one request asks.
// While those are refused, each waits twice as long; one that is served ends that.
func TestPatienceGrowsWithRefusals(t *testing.T) {
	l := newLedger(Plain)
	var waits []time.Duration
	now := Instant(0)
	for _, refused := range []bool{true, true, true, true, false, true, true} {
		send("a")(l, now)
		now = now.Add(ms)
		l.report(now, "a", 0, -1, refused)
		again, _ := l.Ready(now, 1)
		waits = append(waits, time.Duration(again-now))
		now = again
	}
	assert.Equal(t, []time.Duration{sec, sec, 2 * sec, 4 * sec, sec, sec, 2 * sec}, waits)
}

// What may depart is not always there: one request asks how much there is, and after it
// others may have to wait.
func TestThere(t *testing.T) {
	const now = Instant(2 * time.Minute)
	for name, tt := range map[string]struct {
		play  []event // at 0, 1 ms, …
		there int64   // how many units are
	}{
		"nothing is known":     {nil, math.MaxInt64},
		"reported":             {[]event{send("a"), says("a", 5, time.Hour), send("b")}, 4},
		"the window is over":   {[]event{send("a"), says("a", 0, sec)}, 0},
		"some were left":       {[]event{send("a"), says("a", 3, sec)}, 3},
		"counted":              {[]event{counts(3, time.Hour), send("a")}, 2},
		"more than the quota":  {[]event{counts(1, time.Hour)}, 1},
		"concurrent":           {[]event{func(l *ledger, _ Instant) { l.SetPolicy(Concurrent, 3, 0) }, send("a")}, 2},
		"concurrent, no quota": {[]event{func(l *ledger, _ Instant) { l.SetPolicy(Concurrent, -1, 0) }, send("a")}, math.MaxInt64 - 1},
		"slow start":           {[]event{func(l *ledger, _ Instant) { l.slow = 3 }, send("a")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Plain)
			for i, do := range tt.play {
				do(l, Instant(i)*Instant(ms))
			}
			again, _ := l.Ready(now, 1)
			assert.Equal(t, now, again, "one may depart")
			if tt.there > 0 {
				assert.True(t, l.There(tt.there))
			}
			if tt.there < math.MaxInt64-1 {
				assert.False(t, l.There(tt.there+1))
			}
		})
	}
}

// What departed in the last window counts for a moment more. Then as much may depart as
// could without it: of a quota of one, a request that costs two, too.
func TestReadyOnceTheLastWindowHasLanded(t *testing.T) {
	const closed, landed = Instant(sec), Instant(sec + 80*ms)
	for _, state := range []State{Reported, Counting} {
		for _, tt := range []struct {
			quota, n int64
			want     Instant
		}{{1, 1, landed}, {1, 2, landed}, {2, 1, landed}, {2, 2, Instant(10 * sec)}, {None, 2, Instant(10 * sec)}} {
			w := Window{
				State: state, Quota: tt.quota, Length: 9 * sec, available: 1, before: 1, closed: closed,
				due: Instant(10 * sec), end: Instant(10 * sec), rtt: 40 * ms,
			}
			again, _ := w.Ready(closed, tt.n)
			assert.Equal(t, tt.want, again, "%v, %+v", state, tt)
			then, _ := w.Ready(again-1, tt.n)
			assert.Equal(t, again, then, "%v, %+v: not sooner", state, tt)
			then, _ = w.Ready(again, tt.n)
			assert.Equal(t, again, then, "%v, %+v", state, tt)
		}
	}
}
