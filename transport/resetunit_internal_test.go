package transport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Two samples show that a reset is in seconds where the number falls too little for milliseconds,
// or where a request is refused that looked when so many milliseconds had passed.
func TestShowsSeconds(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	t0 := time.Date(2026, time.April, 23, 10, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return t0.Add(d) }
	look := after(5 * s)
	for _, tt := range []struct {
		name          string
		look          time.Time // of the last sample, of which the reset was 5000 s
		apart, passed time.Duration
		reset         time.Duration
		other         bool // the sample is of another kind
		refused       bool
		slow          int // samples that fell too little
		seconds       bool
	}{
		{"fell too little", time.Time{}, 200 * ms, 300 * ms, 5000 * s, false, false, 1, false},
		{"too near", time.Time{}, 200*ms - 1, 300 * ms, 5000 * s, false, false, 0, false},
		{"of another kind", time.Time{}, 200 * ms, 300 * ms, 5000 * s, true, false, 0, false},
		{"so many milliseconds have nearly passed", time.Time{}, 4 * s, 5*s - 1, 5000 * s, false, false, 1, false},
		{"so many milliseconds have passed", time.Time{}, 4 * s, 5 * s, 5000 * s, false, false, 0, false},
		{"rose by a rounding", time.Time{}, 200 * ms, 300 * ms, 5001*s + 200*ms, false, false, 1, false},
		{"rose by more", time.Time{}, 200 * ms, 300 * ms, 5001*s + 200*ms + 1, false, false, 0, false},
		{"fell by nearly a tenth of what milliseconds would", time.Time{}, 200 * ms, 300 * ms, 4980*s + 1, false, false, 1, false},
		{"fell by a tenth of what milliseconds would", time.Time{}, 200 * ms, 300 * ms, 4980 * s, false, false, 0, false},
		{"refused at half of the time", look, 2500 * ms, 3 * s, 5000 * s, false, true, 0, true},
		{"refused before", look, 2500*ms - 1, 3 * s, 5000 * s, false, true, 0, false},
		{"served then", look, 2500 * ms, 3 * s, 5000 * s, false, false, 0, false},
		{"refused, and the milliseconds fell", look, 2500 * ms, 3 * s, 800 * s, false, true, 0, false},
		{"refused, and they fell by more: it may be another window", look, 2500 * ms, 3 * s, 800*s - 1, false, true, 0, false},
		{"refused, and they fell by less: it may be another window", look, 2500 * ms, 3 * s, 3200*s + 1, false, true, 0, false},
		{"refused, and the seconds fell", look, 2500 * ms, 3 * s, 4997 * s, false, true, 0, true},
		{"refused, and they fell by little more", look, 2500 * ms, 3 * s, 4995800 * ms, false, true, 0, true},
		{"refused, and they fell by too much", look, 2500 * ms, 3 * s, 4995800*ms - 1, false, true, 0, false},
		{"refused, of another kind", look, 2500 * ms, 3 * s, 800 * s, true, true, 0, true},
	} {
		u := resetUnit{last: resetSample{scope: "a", at: t0, reset: 5000 * s, look: tt.look}}
		this := resetSample{scope: "a", at: after(tt.passed), reset: tt.reset}
		if tt.other {
			this.kind++
		}
		assert.Equal(t, tt.seconds, u.showsSeconds(&this, after(tt.apart), tt.refused), tt.name)
		assert.Equal(t, tt.slow, u.slow, tt.name)
		if tt.slow == 1 {
			assert.True(t, u.showsSeconds(&this, after(tt.apart), tt.refused), "the second time: %s", tt.name)
		}
		this.scope = "b"
		u = resetUnit{last: resetSample{scope: "a", at: t0, reset: 5000 * s}}
		assert.False(t, u.showsSeconds(&this, after(tt.apart), tt.refused), "of another scope: %s", tt.name)
		assert.Zero(t, u.slow, "of another scope: %s", tt.name)
	}
	u := resetUnit{}
	assert.False(t, u.showsSeconds(&resetSample{at: t0, reset: 5000 * s}, after(-s), true), "the first")

	for kind, want := range map[kindKey]bool{0: false, 1: true} {
		u := resetUnit{last: resetSample{scope: "a", at: t0, reset: 5000 * s, look: look}}
		for range sureServed {
			u.showsSeconds(&resetSample{scope: "a", kind: kind, at: after(3 * s), reset: 60 * s}, after(3*s), false)
		}
		refused := resetSample{scope: "a", at: after(3 * s), reset: 4997 * s}
		assert.Equal(t, want, u.showsSeconds(&refused, after(3*s), true), "served before, of kind %d", kind)
	}
}

// A sample with nothing left is compared until the next request may have looked; another one until
// one comes that tells more.
func TestReplacesSample(t *testing.T) {
	const s, ms = time.Second, time.Millisecond
	t0 := time.Date(2026, time.April, 23, 10, 0, 0, 0, time.UTC)
	sample := func(at, reset, look time.Duration) resetSample {
		r := resetSample{scope: "a", at: t0.Add(at), reset: reset}
		if look > 0 {
			r.look = t0.Add(look)
		}
		return r
	}
	left, none := sample(0, 5000*s, 0), sample(0, 5000*s, 5*s)
	for _, tt := range []struct {
		name       string
		last, this resetSample
		other      bool
		replaces   bool
	}{
		{"the first", resetSample{}, sample(0, 5000*s, 0), false, true},
		{"nothing left", left, sample(1, 4000*s, 4*s), false, true},
		{"nothing left again", none, sample(1, 4000*s, 4*s), false, true},
		{"before the look", none, sample(5*s, 6000*s, 0), false, false},
		{"after the look", none, sample(5*s+1, 4000*s, 0), false, true},
		{"of another kind, soon", left, sample(30*s-1, 6000*s, 0), true, false},
		{"of another kind, later", left, sample(30*s, 4000*s, 0), true, true},
		{"a larger number", left, sample(1, 5000*s+1, 0), false, true},
		{"the same number, soon", left, sample(400*ms-1, 5000*s, 0), false, false},
		{"the same number, later", left, sample(400*ms, 5000*s, 0), false, true},
	} {
		if tt.other {
			tt.this.kind++
		}
		u := resetUnit{last: tt.last}
		assert.Equal(t, tt.replaces, u.replaces(&tt.this), tt.name)
	}
}
