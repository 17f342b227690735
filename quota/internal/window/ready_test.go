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

// What was left over departs as soon as nothing of the last window can arrive any more,
// whatever the next trial would wait for.
func TestExpiredOnceTheLastWindowHasLanded(t *testing.T) {
	for name, but := range map[string]func(w *Window){
		"a probe is out": func(w *Window) { w.probing = true },
		"units come back one by one": func(w *Window) {
			w.refill.served, w.least = steadyTrials, 5*sec
		},
		"our own log": func(w *Window) {
			w.ownRare().spent = &spent{ownLog: ownLog{length: 10 * sec, trust: 1, loose: true, slots: []slot{{at: Instant(9 * sec), units: 10}}}}
		},
	} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 10, 20*sec)
		w.State, w.available, w.before, w.closed, w.rtt = Expired, 3, 3, Instant(10*sec), 100*ms
		w.asked = Instant(10 * sec)
		but(&w)
		landed := w.closed.Add(grace(w.rtt))
		again, _ := w.Ready(w.closed, 1)
		assert.Equal(t, landed, again, name)
		again, _ = w.Ready(landed, 1)
		assert.Equal(t, landed, again, name)
	}
}

// A slow start in our own count ends with its window.
func TestSlowStartEndsWithTheWindow(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Requests, 10, 10*sec)
	w.Count(0, 0)
	w.slow = 2
	w.Take(0, 1)
	w.Take(Instant(9500*ms), 1)
	again, _ := w.Ready(Instant(9600*ms), 1)
	assert.Equal(t, Instant(10*sec), again)
	again, _ = w.Ready(again, 1)
	assert.Equal(t, Instant(10*sec), again)
}

// Beside other clients, little of what is there may be in flight. While that hangs the bucket
// fills, and the next request departs when there is enough for both.
func TestBucketFillsBesideHangingRequests(t *testing.T) {
	for _, tt := range []struct{ out, n, there int64 }{{1, 1, 7}, {1, 2, 12}, {2, 1, 11}, {0, 9, 18}} {
		w := New(Adaptive)
		w.State, w.Quota, w.Length = Reported, 20, 20*sec
		w.contention.ours, w.contention.fall = 20, 40
		w.ownRare().fill = 20 * sec
		w.InFlight = tt.out
		w.end = Instant(w.timeOf(20 - tt.n)) // so many are there
		w.received = w.end
		again, _ := w.Ready(0, tt.n)
		if tt.out == 0 { // then it may also look without
			assert.LessOrEqual(t, again, w.WhenThere(tt.there), tt)
			continue
		}
		assert.Equal(t, w.WhenThere(tt.there), again, tt)
		early, _ := w.Ready(again-1, tt.n)
		assert.Equal(t, again, early, tt)
		now, _ := w.Ready(again, tt.n)
		assert.Equal(t, again, now, tt)
	}
}

// An estimate looks with the first unit of a bucket that is empty, a minute after the last
// answer at the earliest, and when no hold is in force.
func TestEstimateOfAnEmptyBucket(t *testing.T) {
	for _, tt := range []struct {
		fill, hold time.Duration
		want       time.Duration
	}{
		{10 * time.Hour, 0, 10 * mins},
		{20 * mins, 0, 2 * mins},
		{5 * mins, 0, mins},
		{5 * mins, 90 * sec, 90 * sec},
	} {
		w := New(Adaptive)
		w.State, w.Quota, w.Unit = Reported, 10, Other
		w.ownRare().fill = tt.fill
		w.end, w.Hold = Instant(tt.fill), Instant(tt.hold)
		again, _ := w.ReadyEstimated(0, 10)
		assert.Equal(t, Instant(tt.want), again, tt)
		now, _ := w.ReadyEstimated(again, 10)
		assert.Equal(t, again, now, tt)
	}
}

// Nor does it wait for more than those of the last window to land.
func TestEstimateOnceTheLastWindowHasLanded(t *testing.T) {
	w := New(Adaptive)
	w.State, w.Quota, w.Unit, w.available, w.end = Reported, 10, Other, 5, Instant(time.Hour)
	w.closed, w.before, w.rtt = Instant(mins), 1, 100*ms
	again, _ := w.ReadyEstimated(Instant(mins), 10)
	assert.Equal(t, Instant(mins).Add(grace(100*ms)), again)
	now, _ := w.ReadyEstimated(again, 10)
	assert.Equal(t, again, now)
	w.InFlight = 1
	again, _ = w.ReadyEstimated(again, 10)
	assert.Greater(t, again, now, "an answer to it tells more")
}

// After many refusals in a row of requests that came back when they were told, a back-off is
// added, twice as long after each. Refusals of requests that overlap are one. A request that is
// served ends it.
func TestRefusedAgainAndAgain(t *testing.T) {
	w := New(Adaptive)
	now := Instant(sec)
	for range manyRefusals {
		w.RefuseAgain(now, now-1, 0)
		w.RefuseAgain(now, now-1, 0)
		assert.Zero(t, w.BackOff)
		now += Instant(sec)
	}
	for _, wait := range []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec, 48 * sec, 48 * sec} {
		w.RefuseAgain(now, now-1, 0)
		w.RefuseAgain(now, now-1, 0)
		assert.Equal(t, now.Add(wait), w.BackOff)
		now = w.BackOff + 1
	}
	w.served(now - Instant(2*mins))
	w.RefuseAgain(now, now-1, 0)
	assert.Equal(t, now.Add(48*sec), w.BackOff, "that was served before")
	again := *w.rare
	w.served(now - Instant(10*sec))
	w.RefuseAgain(w.BackOff+1, w.BackOff, 0)
	assert.Less(t, w.BackOff, now.Add(49*sec), "that departed after the refusal before the last")
	*w.rare = again
	now = w.BackOff + 1
	w.served(now)
	w.RefuseAgain(now, now-1, 0)
	assert.Less(t, w.BackOff, now)
}

// A request that is served slowly is overtaken by the refusals of later ones. It departed after
// the refusal before the last, so they are not in a row.
func TestRefusalsThatOvertake(t *testing.T) {
	w := New(Adaptive)
	refuse := func(now, sent Instant) time.Duration {
		w.StartBackOff(now, sent, 0)
		return w.BackOff.Since(now)
	}
	at := func(seconds int) Instant { return Instant(time.Duration(seconds) * sec) }
	assert.Equal(t, sec, refuse(at(1), 0))
	assert.Equal(t, 2*sec, refuse(at(4), at(4)-1))
	w.served(at(0))
	assert.Equal(t, 4*sec, refuse(at(8), at(8)-1), "it departed before both")
	w.served(at(6))
	assert.Equal(t, 2*sec, refuse(at(16), at(16)-1), "it departed between them")
	w.served(at(18))
	assert.Equal(t, sec, refuse(at(20), at(19)))
	assert.Equal(t, 2*sec, refuse(at(1020), at(1019)))
	w.served(at(500))
	assert.Equal(t, 4*sec, refuse(at(1024), at(1023)), "long before the last")
}

// A request that departs in spite of a back-off, and is refused, does not make the next back-off twice as long. One that
// departs after it does.
func TestRefusedWithinABackOff(t *testing.T) {
	w := New(Adaptive)
	w.StartBackOff(Instant(sec), 0, 0)
	for _, tt := range []struct {
		sent, t, until time.Duration
		row            uint8
	}{
		{1100 * ms, 1200 * ms, 2200 * ms, 1},
		{2100 * ms, 2150 * ms, 3 * sec, 1},
		{3*sec - 1, 3100 * ms, 3*sec + 1, 1},
		{3*sec + 1, 3200 * ms, 5200 * ms, 2},
		{3100 * ms, 3300 * ms, 5200 * ms, 2},
		{4 * sec, 4100 * ms, 5200*ms + 1, 2},
	} {
		w.StartBackOff(Instant(tt.t), Instant(tt.sent), 0)
		assert.Equal(t, Instant(tt.until), w.BackOff, "%v", tt)
		assert.Equal(t, tt.row, w.Refusals, "%v", tt)
	}
}
