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
