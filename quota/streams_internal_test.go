package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// waveLeaves has a wave of refusals leave so many at work while others wait, and one be served after it, which ends.
func (st *streams) waveLeaves(t instant, flight, bodies int64) {
	st.flight, st.bodies = flight, bodies
	st.refused(t, t-instant(trip), unbounded, true)
	st.flight, st.bodies = 0, 1
	st.answered(t+instant(2*trip), t+1, unbounded)
	st.bodies = 0
}

const trip = 40 * time.Millisecond

// Two waves that leave as many at work show a bound; three, if there was none before.
func TestWavesShowStreams(t *testing.T) {
	st := new(streams)
	for i, bodies := range []int64{5, 8, 3, 2} { // beside 0, 1, 2 and 3 in flight
		assert.False(t, st.known())
		st.waveLeaves(instant(i+1)*instant(time.Second), int64(i), bodies)
	}
	assert.Equal(t, int64(5), st.most)
	st.end()
	for i, want := range []int64{0, 0, 5} {
		st.waveLeaves(instant(i+10)*instant(time.Second), int64(i), 5-int64(i))
		assert.Equal(t, want, st.most)
	}
}

// As many in flight after each wave are what a server bounds that counts until the headers. One served while more are at work
// shows that their number is no bound.
func TestWavesShowNoStreams(t *testing.T) {
	st := new(streams)
	for i := range 10 {
		st.waveLeaves(instant(i+1)*instant(time.Second), 5, 1)
		assert.False(t, st.known())
	}
	st = new(streams)
	for i := range 10 {
		at := instant(i+1) * instant(time.Second)
		st.waveLeaves(at, 0, 5)
		st.bodies = 6
		st.answered(at+instant(3*trip), at+2, unbounded)
		assert.False(t, st.known())
	}
}

// Where no body is open after a wave, nothing tells a bound on streams from one on requests in flight.
func TestWaveWithoutBodies(t *testing.T) {
	st := new(streams)
	st.waveLeaves(instant(time.Second), 2, 3)
	st.waveLeaves(instant(2*time.Second), 5, 0)
	assert.False(t, st.known())
}

// Where nothing waits and one is refused, that may be by chance: twenty have to be served, too. The second one of a wave shows that it is not.
func TestWavesByChance(t *testing.T) {
	wave := func(st *streams, at instant, others int) {
		st.flight, st.bodies = 0, 5
		for range 1 + others {
			st.refused(at, at-instant(trip), unbounded, false)
		}
		st.bodies = 1
		st.answered(at+instant(2*trip), at+1, unbounded)
	}
	for others, served := range []int{20, 0} {
		st := new(streams)
		wave(st, 1e9, others)
		n := 1
		for wave(st, 2e9, others); !st.known() && n < 100; n++ {
			st.answered(2e9+instant(2*trip), 2e9+1, unbounded)
		}
		assert.Equal(t, max(served, 1), n)
		assert.Equal(t, int64(5), st.most)
	}
	st := new(streams)
	wave(st, 1e9, 0)
	wave(st, 2e9, 0)
	st.bodies = 6
	for range 2 * noChance {
		st.answered(2e9+instant(2*trip), 2e9+1, unbounded)
	}
	assert.False(t, st.known(), "all of six were at work")
}

func knownStreams() *streams {
	return &streams{most: 5, bodies: 5, before: atWork{all: 5}, trip: trip, next: 32, wave: 1}
}

// A refusal below the bound has bodies count for a while after their end. A second one ends the bound, unless many were served between
// them. Each holds all.
func TestRefusedBelowStreams(t *testing.T) {
	for served, known := range map[int64]bool{39: false, 40: true} {
		st := knownStreams()
		st.bodies = 4
		assert.False(t, st.refused(10, 5, withinBound, false))
		assert.Equal(t, endLag, st.lag)
		assert.False(t, st.refused(11, 6, withinBound, false), "with the first one")
		assert.True(t, st.known())
		st.served += served
		assert.False(t, st.refused(30, 20, withinBound, false))
		assert.Equal(t, known, st.known())
	}
}

// A refusal of one more holds all until enough were served.
func TestRefusedBeyondStreams(t *testing.T) {
	st := knownStreams()
	assert.False(t, st.refused(10, 5, beyondBound, false))
	st.served = leastServed
	assert.True(t, st.refused(20, 15, beyondBound, false))
	assert.True(t, st.refused(20, 15, withinBound, false), "another one has taken the place")
	assert.Equal(t, int64(5), st.most)
}

// One more that is served raises the bound, if no body had ended when it arrived. Then a second one ends it.
func TestServedBeyondStreams(t *testing.T) {
	st := knownStreams()
	st.served = 31
	st.answered(10, 5, withinBound)
	assert.Equal(t, instant(100), st.ready(100))
	assert.Equal(t, beyondBound, st.departs(100))
	assert.Greater(t, st.ready(100), instant(100))
	st.bodies, st.newly = 4, 1
	st.ready(101)
	st.answered(200, 100, beyondBound)
	assert.Equal(t, int64(5), st.most, "a body had ended")
	for i, want := range []int64{6, 0} {
		st.beyond = 1e9 * instant(i+1)
		st.answered(st.beyond+instant(trip), st.beyond, beyondBound)
		assert.Equal(t, want, st.most)
	}
}

// A place is there when a body has ended, a while later if the server is late, or after a wait.
func TestReadyStreams(t *testing.T) {
	st := knownStreams()
	st.last = 1e9
	assert.Equal(t, instant(2e9), st.ready(1e9))
	assert.Equal(t, beyondBound, st.departs(2e9))
	assert.Equal(t, instant(4e9), st.ready(2e9), "it waits for twice as long")
	st.flight, st.bodies, st.newly, st.lag = 0, 4, 1, endLag
	assert.Equal(t, instant(3e9)+instant(endLag), st.ready(3e9))
	assert.Equal(t, instant(4e9), st.ready(4e9))
	assert.Equal(t, withinBound, st.departs(4e9))
}
