package window

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fills answers a request with the figure of a bucket that is full after that time.
func fills(name string, avail int64, full time.Duration) event {
	return func(l *ledger, t Instant) { l.fills(t, name, avail, full, false) }
}

func (l *ledger) fills(t Instant, name string, avail int64, full time.Duration, refused bool) int64 {
	c := l.land(name)
	l.Answered(c, refused)
	return l.Report(t, c.Sent, Figure{Available: avail, Window: 1, Full: full, Charge: c}, refused, &l.server)
}

// newBucket returns a ledger of a quota in that unit, of which one request said at 0 how
// much there is, and the rest of it is there after full.
func newBucket(unit Unit, quota, avail int64, full time.Duration) *ledger {
	l := newLedger(Adaptive)
	l.SetPolicy(unit, quota, 0)
	sendN("first", 1)(l, 0)
	fills("first", avail, full)(l, Instant(ms))
	return l
}

// wait is how long n units are waited for at t.
func wait(l *ledger, t Instant, n int64) time.Duration {
	again, _ := l.Ready(t, n)
	return time.Duration(again - t)
}

// n units are there when they are, and no later than when all are.
func TestBucketWaits(t *testing.T) {
	for _, strategy := range []Strategy{Adaptive, Plain} {
		l := newLedger(strategy)
		l.SetPolicy(Other, 1000, 10*sec) // 100 a second
		sendN("a", 1)(l, 0)
		fills("a", 200, 8*sec)(l, 0)
		guard := ms
		assert.Zero(t, wait(l, 0, 199), "the guard is less than one")
		for n, want := range map[int64]time.Duration{
			200: guard, 201: 10*ms + guard, 400: 2*sec + guard, 1000: 8*sec + guard, 1001: 8*sec + guard, math.MaxInt64: 8*sec + guard,
		} {
			assert.Equal(t, want, wait(l, 0, n), "%v %d", strategy, n)
		}
		assert.Equal(t, sec+guard, wait(l, Instant(sec), 400))
		assert.Zero(t, wait(l, Instant(2*sec+guard), 400))
		assert.Equal(t, int64(399), l.level(Instant(2*sec+guard-1)))
		assert.Equal(t, int64(1000), l.level(Instant(8*sec+guard)))
		assert.Equal(t, int64(1000), l.level(Instant(time.Hour)), "no more than all of it")
		sendN("b", 400)(l, Instant(2*sec+guard))
		assert.Equal(t, 4*sec, wait(l, Instant(2*sec+guard), 400))
		left, known := l.Left(Instant(2*sec + guard + 10*ms))
		assert.Equal(t, int64(1), left)
		assert.True(t, known)
		sendN("big", 5000)(l, Instant(mins))
		assert.Equal(t, int64(-4000), l.level(Instant(mins)))
		assert.Equal(t, 40*sec+10*ms, wait(l, Instant(mins), 1))
	}
}

// The rate is the lowest that a figure allows, and follows a server that becomes slower.
func TestRateOfBucket(t *testing.T) {
	type figure struct {
		avail int64
		full  time.Duration
		want  time.Duration
	}
	for name, figures := range map[string][]figure{
		"exact":                          {{0, 59950 * ms, 59950 * ms * 50 / 49}},
		"more missing is more exact":     {{40, 11950 * ms, 66388888888}, {0, 59950 * ms, 61173469387}},
		"one missing says nothing":       {{49, 10 * ms, 0}, {48, 2 * sec, 100 * sec}},
		"a full one neither":             {{48, 2 * sec, 100 * sec}, {50, 0, 100 * sec}},
		"nor one that is full at once":   {{48, 2 * sec, 100 * sec}, {30, 0, 100 * sec}},
		"slower":                         {{0, 59950 * ms, 61173469387}, {0, 119950 * ms, 122397959183}},
		"whole seconds are rounded":      {{0, 60 * sec, 61224489795}, {0, 62 * sec, 61224489795}, {0, 65 * sec, 66326530612}},
		"faster":                         {{0, 59950 * ms, 61173469387}, {0, 30 * sec, 30612244897}},
		"longer than is ever waited for": {{0, 1 << 62, MaxSavedTime}},
	} {
		l := newLedger(Plain)
		l.SetPolicy(Requests, 50, 0)
		for i, f := range figures {
			send(fmt.Sprint(i))(l, Instant(i)*Instant(sec))
			says := Figure{Available: f.avail, Full: f.full}
			l.Answered(l.out[fmt.Sprint(i)], false)
			l.Report(Instant(i)*Instant(sec), Instant(i)*Instant(sec), says, false, &l.server)
			assert.Equal(t, f.want, l.fill(), "%s, figure %d", name, i)
		}
	}
	l := newBucket(Requests, 50, 0, 59950*ms)
	require.True(t, l.IsBucket())
	send("b")(l, Instant(sec))
	says("b", 3, 10*sec)(l, Instant(sec))
	assert.False(t, l.IsBucket(), "a number of seconds until the end of a window")
}

// Requests that depart together arrive in any order: the lowest of their figures counts
// once all are answered, and none raises what is there before.
func TestFiguresOfBucketInAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 20
		l := newLedger(Plain)
		l.SetPolicy(Requests, 50, 50*sec)
		send("first")(l, 0)
		fills("first", 49, sec)(l, 0)
		start := Instant(100 * ms)
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint(i))
			send(names[i])(l, start)
		}
		r.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
		left := map[string]int64{} // by order of arrival
		for i, name := range names {
			left[name] = int64(48 - i)
		}
		r.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
		at := start
		for i, name := range names {
			at += Instant(ms)
			fills(name, left[name], time.Duration(50-left[name])*sec)(l, at)
			assert.LessOrEqual(t, l.available, int64(29+i/19), "seed %d, answer %d", seed, i)
		}
		assert.Equal(t, int64(29), l.available, "seed %d", seed)
		if t.Failed() {
			return
		}
	}
}

// A server that says what is left when it answers, seconds after it has charged the request,
// is not taken to have said it before: 2 requests in 100 are refused at most, and all of the
// quota is used.
func TestLateFiguresOfBucket(t *testing.T) {
	const (
		quota   = 40 // a minute
		workers = 20
		trip    = 20 * ms
	)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, quota, 0)
		var full Instant // when the server's bucket is full
		left := func(t Instant) int64 {
			return quota - int64((max(full-t, 0)+Instant(mins/quota)-1)/Instant(mins/quota))
		}
		type exchange struct {
			name              string
			arrives, answered Instant
			charged, refused  bool
		}
		var out []*exchange
		served, refused := 0, 0
		for now := Instant(0); now < Instant(20*mins); now += Instant(10 * ms) {
			for i := 0; i < len(out); i++ {
				e := out[i]
				switch {
				case !e.charged && now >= e.arrives:
					if e.charged = true; left(now) < 1 {
						e.refused, e.answered = true, now
						refused++
					} else {
						full = max(full, now).Add(mins / quota)
						served++
					}
				case e.charged && now >= e.answered.Add(trip):
					l.fills(now, e.name, left(e.answered), time.Duration(max(full-e.answered, 0)), e.refused)
					out = append(out[:i], out[i+1:]...)
					i--
				}
			}
			if len(out) < workers && wait(l, now, 1) == 0 {
				e := &exchange{name: fmt.Sprint(now), arrives: now.Add(trip)}
				e.answered = e.arrives.Add(3*sec + time.Duration(r.Int64N(int64(4*sec))))
				out = append(out, e)
				send(e.name)(l, now)
			}
		}
		assert.LessOrEqual(t, 100*refused, 2*served, "seed %d", seed)
		assert.Greater(t, served, 20*quota*97/100, "seed %d", seed)
	}
}

// A bucket of tokens may be in debt: it says 0, and is full later than its rate explains. Its
// rate stays, and nothing departs before the debt is paid.
func TestBucketInDebt(t *testing.T) {
	debts := func(full time.Duration, refused bool) (l *ledger, at Instant) {
		l = newBucket(Other, 6000, 3000, 30*sec) // 100 a second
		send("a")(l, Instant(sec))
		at = Instant(2 * sec)
		l.fills(at, "a", 0, full, refused)
		return l, at
	}
	l, at := debts(90*sec, true)
	assert.InDelta(t, mins.Seconds(), l.fill().Seconds(), 1)
	assert.InDelta(t, 29, wait(l, at, 1).Seconds(), 0.1, "the answer came a second later")
	assert.InDelta(t, 39, wait(l, at, 1000).Seconds(), 0.1)
	assert.Negative(t, l.level(at))

	l, at = debts(90*sec, false)
	assert.InDelta(t, 26, wait(l, at, 1).Seconds(), 0.1, "whole seconds may be 3 s too many")

	l, at = debts(61*sec, false)
	assert.Less(t, wait(l, at, 1), 100*ms, "rounded")
	l, at = debts(62*sec, true)
	assert.InDelta(t, 1, wait(l, at, 1).Seconds(), 0.3, "to be sure, after a refusal")

	l = newBucket(Other, 6000, 0, 90*sec)
	assert.InDelta(t, 90, l.fill().Seconds(), 0.1, "nothing else is known of its rate")
}

// A refusal shows that there is less than the request needs, by whatever part of a unit.
func TestRefusalByPartOfUnit(t *testing.T) {
	l := newBucket(Requests, 10, 5, 5*sec)
	at := Instant(ms)
	for i := range 5 {
		send(fmt.Sprint(i))(l, at)
	}
	at += Instant(wait(l, at, 1))
	send("too early")(l, at)
	l.fills(at+Instant(ms), "too early", 0, 10*sec, true)
	assert.Positive(t, wait(l, at+Instant(ms), 1))
}

// What others take is seen, and from then on what comes back is shared with them.
func TestOthersAtBucket(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 50, 50*sec)
	at := Instant(0)
	for i := range 40 { // one of ours each second, and one of theirs
		name := fmt.Sprint(i)
		send(name)(l, at)
		fills(name, max(int64(49-i), 0), time.Duration(min(i+1, 50))*sec)(l, at+Instant(ms))
		at += Instant(sec)
	}
	assert.InDelta(t, 0.5, l.contention.part(), 0.15)
	assert.InDelta(t, 2, l.filling().Seconds()/l.fill().Seconds(), 0.5)
}

// What figures have told while others seemed to use more is told anew once they seem to use
// less, or the other way round: a wait is never longer than our part of the rate says.
func TestFiguresOfBucketBesideOthers(t *testing.T) {
	l := newBucket(Requests, 50, 45, 5*sec)
	send("a", "b", "c")(l, Instant(50*ms))
	fills("a", 5, 45*sec)(l, Instant(100*ms)) // others seem to take all
	fills("b", 4, 46*sec)(l, Instant(101*ms))
	part := l.contention.part()
	assert.Less(t, part, 0.1)
	fills("c", 3, 47*sec)(l, Instant(102*ms))
	assert.Greater(t, l.contention.part(), part)
	assert.EqualValues(t, 2, l.level(Instant(102*ms)), "a unit less, on the safe side")
}

// What a request has cost is what the figure has fallen by, less what has come back.
func TestCostsByFalls(t *testing.T) {
	l := newBucket(Other, 100_000, 90_000, 6*sec) // 100,000 a minute
	sendN("a", 10)(l, Instant(sec))
	sendN("b", 10)(l, Instant(sec))
	assert.Equal(t, int64(None), l.fills(Instant(2*sec), "a", 91_000, 6*sec, true), "refused")
	assert.InDelta(t, 5_000, l.fills(Instant(2*sec), "b", 86_000, 9*sec, false), 2)
	sendN("c", 10)(l, Instant(2*sec))
	assert.InDelta(t, 4_000, l.fills(Instant(3*sec), "c", 83_667, 10*sec, false), 400)

	w := newLedger(Adaptive)
	w.SetPolicy(Other, 1000, mins)
	cost := func(t1 Instant, name string, avail int64) int64 {
		c := w.land(name)
		w.Answered(c, false)
		return w.Report(t1, c.Sent, Figure{Available: avail, Window: mins, Charge: c}, false, &w.server)
	}
	sendN("a", 1)(w, 0)
	assert.Equal(t, int64(None), cost(Instant(ms), "a", 900))
	sendN("b", 1)(w, Instant(sec))
	sendN("c", 1)(w, Instant(sec))
	sendN("d", 3)(w, Instant(sec))
	assert.Equal(t, int64(60), cost(Instant(2*sec), "b", 840))
	assert.Equal(t, int64(255), cost(Instant(2*sec), "d", 500), "three quarters of 340")
	assert.Equal(t, int64(80), cost(Instant(2*sec), "c", 600), "a fifth of 400")
	sendN("e", 1)(w, Instant(3*sec))
	sendN("f", 4)(w, Instant(3*sec))
	assert.Equal(t, int64(40), cost(Instant(4*sec), "f", 450), "four fifths of 50")
	assert.Equal(t, int64(10), cost(Instant(4*sec), "e", 450), "a fifth of 50")
	sendN("g", 1)(w, Instant(5*sec))
	assert.Equal(t, int64(None), cost(Instant(6*sec), "g", 450), "nothing has fallen")
}

// A bucket is saved and restored, and a change of its size keeps what is there.
func TestBucketSavedAndResized(t *testing.T) {
	l := newBucket(Other, 1000, 200, 8*sec)
	at := Instant(sec)
	l.Roll(at)
	before := wait(l, at, 500)
	s := l.Save(at)
	assert.True(t, s.Sound())
	r := ledger{Window: New(Adaptive)}
	r.Restore(at, s)
	assert.True(t, r.IsBucket())
	assert.Equal(t, before, wait(&r, at, 500))
	s.Quota = None
	assert.False(t, s.Sound())
	s.Quota, s.Fill = 1000, -1
	assert.False(t, s.Sound())

	left := l.level(at)
	l.SetPolicy(Other, 2000, 0)
	assert.InDelta(t, left, l.level(at), 1)
	assert.InDelta(t, before.Seconds(), wait(l, at, 500).Seconds(), 0.01)
	l.SetPolicy(Other, 100, 0)
	assert.LessOrEqual(t, l.level(at), int64(100))
	l.SetPolicy(Other, None, 0)
	assert.False(t, l.IsBucket())
}

// Charges keep their window however much departs, and whatever it costs.
func TestMarks(t *testing.T) {
	for _, quota := range []int64{None, 10, 1 << 20, 1 << 21, MaxUnits} {
		for _, n := range []int64{0, 1, 1 << 24, MaxUnits, math.MaxInt64} {
			l := newLedger(Plain)
			l.SetPolicy(Requests, quota, 0)
			sendN("old", n)(l, 0)
			for range 300 {
				l.Take(0, n)
			}
			assert.Equal(t, thisWindow, l.takenIn(l.out["old"].Mark), "%d of %d", n, quota)
			l.close(0)
			assert.Equal(t, lastWindow, l.takenIn(l.out["old"].Mark))
			l.close(0)
			assert.Equal(t, olderWindow, l.takenIn(l.out["old"].Mark))
		}
	}
	l := newLedger(Plain)
	l.SetPolicy(Other, 1<<30, 0)
	a := l.Take(0, 5<<20)
	assert.Zero(t, l.After(a))
	b := l.Take(0, 3<<20)
	assert.Equal(t, int64(3<<20), l.After(a))
	assert.True(t, sooner(a, b))
	assert.False(t, sooner(b, a))
	assert.False(t, sooner(a, a))
}

// Requests that hang have long reached the server: a figure includes them, and only what has
// departed lately may be missing in it.
func TestFigureIncludesWhatHangs(t *testing.T) {
	l := newBucket(Requests, 10, 9, sec)
	send("hangs", "hangs too")(l, Instant(2*ms))
	for i, name := range []string{"a", "b"} {
		at := Instant(time.Duration(3+2*i) * sec)
		send(name)(l, at)
		fills(name, 5, 5*sec)(l, at+Instant(ms))
	}
	const sent = Instant(6500 * ms)
	send("c")(l, sent)
	fills("c", 9, sec)(l, sent+Instant(ms))
	full := sent.Add(l.guard(ms)).Add(l.timeOf(1))
	assert.Equal(t, full.Add(l.timeOf(1)), l.end, "b departed less than two seconds ago")
}

// A hold, a back-off and its end leave a bucket as it is.
func TestPausesOfBucket(t *testing.T) {
	l := newBucket(Requests, 10, 0, 9500*ms)
	free := wait(l, Instant(ms), 1)
	l.Pause(Instant(ms), 100*ms, l.server)
	assert.Equal(t, free, wait(l, Instant(ms), 1), "the Retry-After does not end it")
	l.Pause(Instant(ms), 5*sec, l.server)
	assert.Equal(t, 5*sec, wait(l, Instant(ms), 1))
	l.Roll(Instant(6 * sec))
	before := l.Copy()
	l.StartBackOff(Instant(6*sec), Instant(5*sec), 0)
	after := l.Copy()
	assert.False(t, l.IsBucket(), "one request looks")
	l.Undo(&before, &after)
	assert.True(t, l.IsBucket())
	assert.Equal(t, before.level(Instant(7*sec)), l.level(Instant(7*sec)))
}

// A figure of 0 without a window does not stop those that are served: one a second goes.
func TestServedDespiteNothingLeft(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 10, 0)
	send("a")(l, 0)
	says("a", 0, -1)(l, 0)
	at := Instant(0)
	for i := range 20 {
		assert.Equal(t, sec, wait(l, at, 1), "request %d", i)
		at += Instant(sec)
		send("b")(l, at)
		says("b", 0, -1)(l, at)
	}
}

// Requests that hang do not keep a client that is not alone from a bucket that is full again.
func TestBucketBesideHangingRequests(t *testing.T) {
	w, s := New(Adaptive), new(Server)
	w.SetPolicy(Requests, 10, 10*sec)
	w.contention.ours, w.contention.fall = 20, 40
	c := Charge{Sent: 0, Units: 1, Mark: w.Take(0, 1)}
	w.Answered(c, false)
	now := Instant(50 * ms)
	w.Report(now, 0, Figure{Available: 8, Window: sec, Full: 2 * sec, Charge: c}, false, s)
	out := 0
	for ; out < 10; out++ {
		if again, _ := w.Ready(now, 1); again > now {
			break
		}
		w.Take(now, 1)
	}
	assert.Positive(t, out)
	again, _ := w.Ready(now, 1)
	assert.Equal(t, 4*w.filling(), again.Since(now))
}

// The sums of a bucket are not exact: if others seem to take up to a quarter of it, all that is there may depart.
func TestBucketBesideFew(t *testing.T) {
	for fall, want := range map[float32]int{25: 8, 30: 2} {
		w, s := New(Adaptive), new(Server)
		w.SetPolicy(Requests, 10, 10*sec)
		w.contention.ours, w.contention.fall = 20, fall
		c := Charge{Sent: 0, Units: 1, Mark: w.Take(0, 1)}
		w.Answered(c, false)
		now, out := Instant(50*ms), 0
		w.Report(now, 0, Figure{Available: 8, Window: sec, Full: 2 * sec, Charge: c}, false, s)
		for ; out < 10; out++ {
			if again, _ := w.Ready(now, 1); again > now {
				break
			}
			w.Take(now, 1)
		}
		assert.Equal(t, want, out, fall)
	}
}

// What costs more than there ever is waits for a Retry-After, but not for the end of a window of
// which all is there.
func TestPauseOfWhatCostsMore(t *testing.T) {
	w := New(Adaptive)
	w.SetPolicy(Other, 10, 10*sec)
	w.Report(0, 0, Figure{Available: 10, Window: 5 * sec}, false, new(Server))
	w.Pause(0, sec, Server{})
	again, why := w.Ready(0, 50)
	assert.Equal(t, Instant(sec), again)
	assert.Equal(t, RetryAfter, why)
	again, _ = w.Ready(Instant(sec), 50)
	assert.Equal(t, Instant(sec), again)
}
