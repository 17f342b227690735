package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A dryWindow is a quota of 100 in two hours of which nothing is left.
type dryWindow struct {
	Window
	server Server
	end    Instant
}

func newDryWindow(how Strategy, rest time.Duration) *dryWindow {
	d := &dryWindow{Window: New(how), end: Instant(rest)}
	d.SetPolicy(Requests, 100, 2*time.Hour)
	d.answer(0, d.take(0), false)
	return d
}

func (d *dryWindow) take(t Instant) Charge {
	d.TakeDry(t, &d.server)
	return Charge{Sent: t, Units: 1, Mark: d.Take(t, 1)}
}

// answer says that nothing is left.
func (d *dryWindow) answer(t Instant, c Charge, refused bool) {
	d.Answered(c, refused)
	d.Report(t, c.Sent, Figure{Window: time.Duration(d.end - t), Charge: c, Served: !refused}, refused, &d.server)
}

func (d *dryWindow) when(t Instant) Instant { return d.WhenSoft(t, 1, &d.server) }

// What a request was served says nothing if others may have used what had come back, if it departed
// before it was known that nothing is left, or if windows are too short to tell them apart.
func TestNotSoft(t *testing.T) {
	d := newDryWindow(Adaptive, 2*time.Hour)
	d.contention = contention{ours: 1, fall: 100}
	c := d.take(Instant(10 * mins))
	d.answer(Instant(10*mins), c, false)
	assert.False(t, d.server.Soft(), "other clients")

	d = newDryWindow(Adaptive, 2*time.Hour)
	for _, c := range []Charge{d.take(0), d.take(0), d.take(0), d.take(0)} {
		d.answer(Instant(2*mins), c, false)
	}
	assert.False(t, d.server.Soft(), "departed before")

	d = newDryWindow(Adaptive, 2*time.Hour)
	c = d.take(Instant(10*mins - 500*ms))
	d.Learn(Instant(10*mins), 0, d.end)
	d.answer(Instant(10*mins), c, false)
	assert.False(t, d.server.Soft(), "departed before others have said so")

	d = newDryWindow(Adaptive, 2*time.Hour)
	d.end += Instant(10 * sec)
	d.answer(Instant(50*sec), d.take(Instant(50*sec)), false)
	d.answer(Instant(62*sec), d.take(Instant(62*sec)), false)
	assert.False(t, d.server.Soft(), "another window, for less than a minute")
	d.answer(Instant(63*sec), d.take(Instant(63*sec)), false)
	assert.False(t, d.server.Soft(), "two of them")
	d.answer(Instant(64*sec), d.take(Instant(64*sec)), false)
	assert.True(t, d.server.Soft())

	d = newDryWindow(Adaptive, 2*sec)
	d.SetPolicy(Requests, 1, 2*sec)
	for at := Instant(1); at < 4; at++ {
		d.answer(at, d.take(at), false)
	}
	assert.False(t, d.server.Soft(), "short windows")
}

// Only Adaptive believes it, for a window that others do not hand out.
func TestSoftStrategies(t *testing.T) {
	for _, how := range []Strategy{Adaptive, Plain, Together} {
		d := newDryWindow(how, 2*time.Hour)
		d.answer(Instant(10*mins), d.take(Instant(10*mins)), false)
		assert.Equal(t, how == Adaptive, d.server.Soft())
		assert.Equal(t, how == Adaptive, d.when(Instant(10*mins)) < Never)
	}
}

// A look departs after 400 requests where more than 90 s are left, and else after 3,000. One that
// is not answered is followed by another after ten minutes.
func TestWhenSoftLooks(t *testing.T) {
	for _, tt := range []struct {
		rest     time.Duration
		quota    int64
		departed uint32
		want     Instant
	}{
		{2 * time.Hour, 100, 399, Never},
		{2 * time.Hour, 100, 400, Instant(2 * time.Hour / 16)},
		{2 * time.Hour, 20, 400, Instant(2 * time.Hour / 5)}, // by then, more than one unit would have come back
		{2 * time.Hour, 4, 400, Never},
		{90 * sec, 100, 400, Instant(90 * sec / 16)},
		{89 * sec, 100, 400, Never},
		{89 * sec, 100, 2999, Never},
		{89 * sec, 100, 3000, Instant(89 * sec / 16)},
		{3*sec - 1, 100, 3000, Never},
	} {
		d := newDryWindow(Adaptive, tt.rest)
		d.SetPolicy(Requests, tt.quota, tt.rest)
		d.departed = tt.departed
		assert.Equal(t, tt.want, d.when(0), "%+v", tt)
		if tt.want == Never {
			continue
		}
		look := d.take(tt.want)
		assert.Equal(t, Never, d.when(tt.want), "it is out")
		d.Lost(tt.want, look)
		if again := tt.want.Add(ProbeInterval); again < d.end {
			assert.Equal(t, again, d.when(tt.want))
		}
	}
}

// Where the server does not say when the window ends, what departs anyway shows that the quota is soft. In
// a bucket that may have had a unit: after a refusal it shows nothing for a day.
func TestSoftWithoutEnd(t *testing.T) {
	d := newDryWindow(Adaptive, 2*time.Hour)
	d.Window = New(Adaptive)
	answer := func(t Instant, refused bool) {
		c := d.take(t)
		d.Answered(c, refused)
		d.Report(t, c.Sent, Figure{Window: None, Charge: c, Served: !refused}, refused, &d.server)
	}
	at := Instant(0)
	serve := func(n int) {
		for range n {
			answer(at, false)
			at += Instant(sec)
		}
	}
	serve(3)
	assert.False(t, d.server.Soft(), "two of them")
	assert.Equal(t, Never, d.when(at), "others look anyway")
	serve(1)
	assert.True(t, d.server.Soft())
	answer(at, true)
	assert.False(t, d.server.Soft())
	at += Instant(sec)
	serve(int(enforcedFor/time.Second) - 1)
	assert.False(t, d.server.Soft(), "for a day")
	assert.EqualValues(t, maxServed, d.server.soft.served)
	assert.Equal(t, Never, d.when(at))
	serve(1)
	assert.True(t, d.server.Soft())
	answer(at, true)
	assert.True(t, d.server.Forgives(at), "many were served")

	for _, departed := range []uint32{2999, 3000} {
		d = newDryWindow(Adaptive, 2*time.Hour)
		d.Window = New(Adaptive)
		d.SetPolicy(Requests, 100, 80*sec)
		at = 0
		serve(1)
		d.departed = departed
		want := Never
		if departed == 3000 {
			want = Instant(5 * sec)
		}
		assert.Equal(t, want, d.when(0), "a sixteenth of what the window lasts at the most")
		c := d.take(Instant(4 * sec)) // departs anyway
		assert.Equal(t, Never, d.when(Instant(4*sec)))
		d.Lost(Instant(4*sec), c)
		assert.Equal(t, Instant(9*sec), d.when(Instant(4*sec)), "3,000 have departed")
	}
}

// Refusals of requests that overlap are one.
func TestSoftForgivesOnce(t *testing.T) {
	d := newDryWindow(Adaptive, 2*time.Hour)
	at := Instant(10 * mins)
	for range forgiven {
		d.answer(at, d.take(at), false)
		at += Instant(ms)
	}
	cs := []Charge{d.take(at), d.take(at), d.take(at)}
	for i, c := range cs {
		d.answer(at.Add(time.Duration(i+1)*ms), c, true)
		assert.Equal(t, i == 0, d.server.Forgives(at.Add(time.Duration(i+1)*ms)))
	}
	at += Instant(3 * ms)
	assert.False(t, d.server.Soft())
	assert.Equal(t, at, d.when(at), "one looks")
	d.answer(at, d.take(at), true)
	assert.Greater(t, d.when(at), at.Add(23*time.Hour), "none does")
}

// A longUntold is a quota of 1,000 in a day of which nothing is left, and the server does not say
// when it ends.
type longUntold struct {
	*dryWindow
	at Instant
}

func newLongUntold(length time.Duration) *longUntold {
	d := &longUntold{&dryWindow{Window: New(Adaptive)}, Instant(sec)}
	d.SetPolicy(Requests, 1000, length)
	d.answer(false)
	return d
}

// answer is a request that departs, and an answer that says that nothing is left.
func (d *longUntold) answer(refused bool) {
	c := d.take(d.at)
	d.Answered(c, refused)
	d.Report(d.at, c.Sent, Figure{Window: None, Charge: c, Served: !refused}, refused, &d.server)
	if refused {
		d.StartBackOff(d.at, c.Sent, 0)
	}
}

// next goes to the next departure, and returns how long that takes.
func (d *longUntold) next() (wait time.Duration) {
	again, _ := d.Ready(d.at, 1)
	again = min(again, d.when(d.at))
	wait = time.Duration(again - d.at)
	d.at = again
	return wait
}

// The first look into a long window departs after a second, once in a day if it is refused.
func TestLongUntoldLooks(t *testing.T) {
	d := newLongUntold(24 * time.Hour)
	assert.Equal(t, sec, d.next())
	d.answer(true)
	for range 24*6 - 1 {
		assert.Equal(t, ProbeInterval, d.next())
		d.answer(true)
	}
	assert.Equal(t, ProbeInterval, d.next())
	d.Report(d.at, d.at, Figure{Available: 1, Window: None}, false, &d.server)
	d.answer(false)
	assert.Equal(t, ProbeInterval, d.next(), "a day has not passed since the last refusal")

	d = newLongUntold(ProbeInterval)
	assert.Equal(t, ProbeInterval, d.next(), "windows that are no longer than the interval")
	d = newLongUntold(ProbeInterval + 1)
	assert.Equal(t, sec*24/10, d.next().Round(time.Millisecond), "by then, more than one unit would have come back")
}

// While a look is out, what waits is told that its answer may let it go, for a second.
func TestLongUntoldSoftens(t *testing.T) {
	d := newLongUntold(24 * time.Hour)
	assert.Zero(t, d.Softens(d.at, &d.server))
	d.next()
	d.take(d.at)
	assert.Equal(t, d.at+Instant(sec), d.Softens(d.at, &d.server))
}

// A look waits until the requests of the window before have landed: it would not be told apart from them.
func TestSoftLooksWaitForTheWindowBefore(t *testing.T) {
	d := newDryWindow(Adaptive, 4*sec)
	d.take(0)
	over := d.End()
	d.Roll(over)
	d.end = Instant(2 * time.Hour)
	c := d.take(over)
	d.answer(over+1, c, false)
	d.server.soft.again, d.server.soft.look = true, over+1
	assert.Equal(t, over+Instant(10*ms), d.when(over+1))
}

// Three looks that are served show that a long window is not enforced, in the day after a refusal,
// too. Six refusals in a row are forgiven then.
func TestLongUntoldIsSoft(t *testing.T) {
	for _, refused := range []bool{false, true} {
		d := newLongUntold(24 * time.Hour)
		assert.Equal(t, sec, d.next())
		if refused {
			d.answer(true)
			assert.Equal(t, ProbeInterval, d.next())
		}
		for look := range 3 {
			assert.False(t, d.server.Soft(), look)
			d.answer(false)
			if wait := d.next(); look < 2 {
				assert.LessOrEqual(t, wait, sec, look)
			}
		}
		assert.True(t, d.server.Soft(), refused)
		for row, backOff := range []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 32 * sec} {
			d.answer(true)
			assert.Equal(t, backOff, d.next(), row)
		}
		d.answer(false)
		assert.False(t, d.server.Soft(), "a unit may have come back")
		assert.Zero(t, d.next())
		d.answer(false)
		assert.True(t, d.server.Soft(), "served again")
		for range 6 {
			d.answer(true)
			assert.LessOrEqual(t, d.next(), mins)
		}
		d.answer(true)
		assert.Equal(t, ProbeInterval, d.next(), "seven in a row")
	}
}

// A request that is served where a unit may have come back shows nothing, but the next one looks at
// once, also in the day after a refusal.
func TestLongUntoldInBetween(t *testing.T) {
	d := newLongUntold(24 * time.Hour)
	d.next()
	d.answer(true)
	d.at += Instant(100 * sec)
	d.answer(false)
	assert.False(t, d.server.Soft())
	assert.Zero(t, d.next())
}

// That a figure of 0 was untrue is shown by an answer that tells of the same account, not by what is left of another one.
func TestUntrueZeroOfAnotherAccount(t *testing.T) {
	var server Server
	account := func() *Window {
		w := New(Adaptive)
		w.SetPolicy(Requests, 100, 2*time.Hour)
		return &w
	}
	now := Instant(sec)
	answer := func(w *Window, left int64) {
		now += Instant(ms)
		w.TakeDry(now, &server)
		c := Charge{Sent: now, Units: 1, Mark: w.Take(now, 1)}
		now += Instant(20 * ms)
		w.Answered(c, false)
		w.Report(now, c.Sent, Figure{Available: left, Window: time.Duration(Instant(2*time.Hour) - now), Charge: c, Served: true}, false, &server)
	}
	one, other := account(), account()
	for i := range int64(10) {
		answer(one, 99-i)
		answer(other, 99-i)
	}
	answer(one, 0)
	assert.True(t, server.soft.strange)
	answer(other, 89)
	assert.Zero(t, server.soft.strays)
	answer(one, 88)
	assert.EqualValues(t, 1, server.soft.strays)
	assert.False(t, server.soft.strange)
}

// A figure of 0 that alone says that a request was refused may be untrue if nothing explains it: if it says when its window
// ends, and much is left; or if little is, after three that were untrue. So may be those of requests that departed before the second look.
// While such figures are ignored, two in a row are not.
func TestDoubts(t *testing.T) {
	var server Server
	w := New(Adaptive)
	w.SetPolicy(Requests, 100, 2*time.Hour)
	now, left := Instant(sec), int64(100)
	send := func() Charge {
		now += Instant(ms)
		w.TakeDry(now, &server)
		return Charge{Sent: now, Units: 1, Mark: w.Take(now, 1)}
	}
	zero := func(c Charge) Figure {
		return Figure{Window: time.Duration(Instant(2*time.Hour) - now), Charge: c}
	}
	doubts := func(c Charge) bool {
		now += Instant(20 * ms)
		return w.Doubts(now, c.Sent, zero(c), &server)
	}
	forbidden := func(c Charge) (doubted bool) {
		f := zero(c)
		doubted, f.Doubtful = doubts(c), true
		w.Answered(c, !doubted)
		w.Report(now, c.Sent, f, !doubted, &server)
		return doubted
	}
	serve := func(n int) {
		for range n {
			c := send()
			now += Instant(20 * ms)
			left--
			f := zero(c)
			f.Available, f.Served = left, true
			w.Answered(c, false)
			w.Report(now, c.Sent, f, false, &server)
		}
	}
	assert.False(t, forbidden(send()), "nothing is known")
	serve(12)
	c := send()
	untold := zero(c)
	untold.Window = None
	assert.False(t, w.Doubts(now, c.Sent, untold, &server), "it does not say when the window ends")
	w.Refund(c)
	for i := range 3 {
		early := send()
		assert.True(t, forbidden(send()), i)
		assert.Zero(t, w.available)
		assert.True(t, forbidden(early), "it departed before")
		now += Instant(sec)
		assert.True(t, forbidden(send()), "the first look")
		now += Instant(2 * sec)
		c = send()
		assert.False(t, doubts(c), "the second look")
		w.Refund(c)
		serve(2)
	}
	assert.EqualValues(t, enoughStrays, server.soft.strays)
	assert.True(t, forbidden(send()))
	assert.Positive(t, w.available, "it is ignored")
	assert.True(t, forbidden(send()))
	assert.Zero(t, w.available, "it is the second one in a row")
	now += Instant(sec)
	serve(1)
	assert.True(t, forbidden(send()))
	assert.Positive(t, w.available, "more was told in between")
	serve(int(left) - 2)
	c = send()
	assert.True(t, doubts(c), "one is left that nothing explains")
	w.Refund(c)
	serve(1)
	assert.False(t, doubts(send()), "nothing is")
}
