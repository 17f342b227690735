package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A bucket that refuses requests after a rest holds less than was served before the first refusal.
func TestPaceHoldsLess(t *testing.T) {
	w := New(Adaptive)
	p := pace{burst: 60}
	p.begin(2*sec, 2, Instant(sec)) // and the first try is a second for each
	p.start(&w, Instant(2*sec))
	assert.EqualValues(t, 60, w.Quota)
	for _, want := range []int64{30, 15, 7, 3, 2, 2} {
		rested := w.rare.told.Add(p.length() + time.Second)
		p.refusedAt(&w, rested.Add(sec), rested, 0)
		p.lost = 0 // else it is given up
		assert.Equal(t, want, w.Quota)
		assert.Equal(t, time.Duration(want)*p.unit, w.Length)
	}
	p.refusedAt(&w, w.rare.told.Add(2*sec), w.rare.told.Add(sec), 0)
	assert.EqualValues(t, 2, w.Quota)
}

// A row of windows in which few were served begins a pace. After one was given up it takes eight times as
// many.
func TestFewWindows(t *testing.T) {
	var p pace
	few := func(told bool) bool { return p.isFew(0, Instant(2*sec), 2, told) }
	assert.False(t, few(true))
	assert.False(t, few(true))
	assert.True(t, few(true))
	assert.Equal(t, sec, p.first)
	assert.Equal(t, sec/2, p.unit)
	p = pace{gaveUp: 1}
	for range 8*fewWindows - 1 {
		assert.False(t, few(true))
	}
	assert.True(t, few(true))
	p = pace{}
	for range 2*fewWindows - 1 {
		assert.False(t, few(false), "holds of our own")
	}
	assert.True(t, few(false))
}

// If the first requests after a look are refused, it found what was left of a window, which is counted again.
func TestLookFoundLittle(t *testing.T) {
	for served, mistaken := range map[int64]bool{4: true, 5: false} {
		w, g := New(Adaptive), NewInferred(sec)
		g.pace.burst = 30
		g.pace.begin(sec/10, 10, Instant(sec))
		g.pace.looked = true
		g.pace.start(&w, Instant(2*sec))
		now := Instant(2 * sec)
		for range served {
			now = now.Add(g.pace.unit)
			g.Served(&w, now, now)
		}
		now = now.Add(g.pace.unit)
		w.Pause(now, sec, Server{})
		g.Refused(&w, now, now, sec)
		assert.Equal(t, mistaken, g.pace.unit == 0)
		if assert.Equal(t, !mistaken, w.is(spaced)); mistaken {
			assert.EqualValues(t, 10, w.Quota)
			assert.Equal(t, sec, w.Length)
			assert.EqualValues(t, 64, g.rest)
			assert.Equal(t, Expired, w.State, "one request departs first")
		}
	}
}

// A pace is judged anew now and then. A refusal just after that does not show that its look found what was left of a
// window, if a quicker pace was kept or refused before.
func TestLookIsNotMistakenLater(t *testing.T) {
	for name, later := range map[string]func(*pace){
		"kept":    func(p *pace) { p.slow = p.unit },
		"refused": func(p *pace) { p.fast, p.unit = p.unit, p.slow },
	} {
		w, g := New(Adaptive), NewInferred(sec)
		g.pace.begin(sec/10, 10, Instant(sec))
		g.pace.looked = true
		later(&g.pace)
		g.pace.start(&w, Instant(2*sec))
		g.pace.all.units = judgedUnits - 1
		now := Instant(2 * sec)
		g.Served(&w, now, now)
		assert.Zero(t, g.pace.all.units, name)
		now = now.Add(g.pace.unit)
		w.Pause(now, sec, Server{})
		g.Refused(&w, now, now, sec)
		assert.Positive(t, g.pace.unit, name)
		assert.True(t, w.is(spaced), name)
	}
}

// Many are in flight after a refusal at a pace. That is no bound on requests in flight.
func TestPaceHasNoCeiling(t *testing.T) {
	w, g := New(Adaptive), NewInferred(sec)
	g.pace.begin(sec/10, 10, Instant(sec))
	g.pace.start(&w, Instant(2*sec))
	var out []Charge
	for i := range Instant(10) {
		at := Instant(2*sec) + i*Instant(50*ms)
		out = append(out, Charge{Units: 1, Sent: at, Mark: w.Take(at, 1)})
	}
	now := Instant(3 * sec)
	w.Silent(now, out[0], true, new(Server))
	w.Pause(now, sec, Server{})
	g.Refused(&w, now, out[0].Sent, sec)
	for _, c := range out[1:] {
		w.Silent(now+1, c, false, new(Server))
		g.Served(&w, now+1, c.Sent)
	}
	at := Instant(5 * sec)
	c := Charge{Units: 1, Sent: at, Mark: w.Take(at, 1)}
	w.Silent(at+1, c, false, new(Server))
	g.Served(&w, at+1, at)
	assert.Zero(t, w.slow)
	assert.Zero(t, g.most)
}

// A try that is refused soon shows that units take as long as the holds of the windows before say.
func TestPaceByHolds(t *testing.T) {
	for name, tt := range map[string]struct {
		most, served int64 // in a window, and by the try
		first        time.Duration
		hold         time.Duration
		looked       bool
		byHold, late bool
	}{
		"at once":                   {2, 1, 600 * ms, sec, false, true, true},
		"after a window":            {2, 2, 600 * ms, sec, false, true, false},
		"later":                     {2, 3, 600 * ms, sec, false, false, false},
		"with all round trips":      {2, 1, 625 * ms, sec, false, true, true},
		"longer windows":            {2, 1, 625*ms + 1, sec, false, false, false},
		"much shorter units":        {2, 1, 500*ms - 4, sec, false, false, false},
		"no Retry-After":            {2, 1, 600 * ms, 0, false, false, false},
		"a look":                    {2, 1, 600 * ms, sec, true, false, false},
		"one unit":                  {1, 0, 1300 * ms, sec, false, true, true},
		"one unit that was served":  {1, 1, 1050 * ms, sec, false, false, false},
		"three units in 5 s":        {3, 3, 1720 * ms, 5 * sec, false, true, false},
		"three that take no longer": {3, 1, 1667 * ms, 5 * sec, false, false, true},
	} {
		w, p := New(Adaptive), pace{}
		w.rtt, w.least = 50*ms, 50*ms
		p.begin(tt.first, tt.most, Instant(sec))
		p.looked = tt.looked
		p.start(&w, Instant(2*sec))
		p.now = progress{tt.served, time.Duration(tt.served) * mins} // it does not win in spite of the refusal
		p.refusedAt(&w, Instant(3*sec), Instant(2*sec), tt.hold)
		slow, failed := tt.first, uint8(1)
		if tt.byHold {
			slow = (tt.hold + w.guard(50*ms)) / time.Duration(tt.most)
		}
		if tt.late {
			failed = maxTries
		}
		assert.Equal(t, slow, p.slow, name)
		assert.Equal(t, slow, p.unit, name)
		assert.Equal(t, failed, p.failed, name)
	}
}
