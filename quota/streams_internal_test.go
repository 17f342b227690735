package quota

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		at := 1e9 * instant(i+1)
		st.freed = false
		st.answered(at+instant(trip), at, beyondBound)
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

// Once a bound has turned out to be none, answers to what departed while it was known say nothing of it.
func TestStreamsThatEnded(t *testing.T) {
	st := knownStreams()
	st.lag = endLag
	st.end()
	st.served, st.compared = leastServed, true
	assert.False(t, st.refused(10, 5, withinBound, false))
	assert.Equal(t, 1, st.doubt)
	assert.False(t, st.compared, "it begins a wave")
	st.answered(20, 15, beyondBound)
	assert.False(t, st.known())
}

// What departed before the bound was known and is refused says nothing of it.
func TestRefusedBeforeStreams(t *testing.T) {
	st := knownStreams()
	st.bodies = 4
	assert.False(t, st.refused(10, 5, unbounded, false))
	assert.Zero(t, st.lag)
	assert.False(t, st.refused(12, 6, withinBound, false))
	assert.Equal(t, endLag, st.lag)
}

// What a wave leaves is the fewest at work after a refusal of it. It counts once, however many are served after it.
func TestWaveLeavesFewest(t *testing.T) {
	st := new(streams)
	for _, st.bodies = range []int64{9, 4, 6} {
		st.refused(1e9, 5e8, unbounded, true)
	}
	st.bodies = 1
	for range 3 {
		st.answered(2e9, 1e9+1, unbounded)
	}
	assert.Equal(t, int64(4), st.before.all)
	assert.Equal(t, 1, st.same)
}

// After one more was served, the next one departs when enough were.
func TestStreamsRiseSlowly(t *testing.T) {
	st := knownStreams()
	st.served = 31
	st.answered(1e9+instant(trip), 1e9, beyondBound)
	assert.Equal(t, int64(6), st.most)
	st.bodies = 6
	for range leastServed - 1 {
		st.answered(3e9, 2e9, withinBound)
		assert.False(t, st.more)
	}
	st.answered(3e9, 2e9, withinBound)
	assert.True(t, st.more)
}

// What shows no bound: a wave that leaves one at work, waves that leave different numbers, and a late answer beside more in flight.
func TestWavesThatShowNothing(t *testing.T) {
	st := new(streams)
	for i := range 10 {
		st.waveLeaves(instant(i+1)*1e9, 0, 1)
	}
	assert.False(t, st.known())
	st = new(streams)
	for i := range 10 {
		st.waveLeaves(instant(i+1)*1e9, 0, 5+int64(i%2)*4)
	}
	assert.False(t, st.known())
	st = new(streams)
	for i := range 10 {
		at := instant(i+1) * 1e9
		st.waveLeaves(at, 0, 5)
		st.flight = 6
		st.answered(at+3+instant(2*trip), at+2, unbounded)
		assert.False(t, st.known())
		st.flight, st.bodies = 0, 0
	}
}

// While one more is tried it matters when the first body ends.
func TestFirstBodyEndsBeyondStreams(t *testing.T) {
	st := knownStreams()
	st.more, st.bodies = true, 5
	assert.Equal(t, instant(1e9), st.ready(1e9))
	assert.Equal(t, beyondBound, st.departs(1e9))
	assert.Zero(t, st.waits, "that was no wait")
	st.more = true
	assert.Greater(t, st.ready(1e9), instant(1e9), "one more at a time")
	for _, after := range []instant{instant(trip) / 2, 2 * instant(trip)} {
		st.newly = 1
		st.ready(1e9 + after)
	}
	st.answered(1e9+3*instant(trip), 1e9, beyondBound)
	assert.Equal(t, int64(5), st.most)
	assert.Equal(t, unbounded, new(streams).departs(1))
}

// streamsOf returns what counts the streams of a scope; nil: nothing does.
func (d *desk) streamsOf(scope string) *streams { return d.o.streams[&d.o.scopes[scope].base] }

// The first refusal that names nothing has a scope count, with what is out. A body is open after an answer that has served.
func TestStreamsAreCounted(t *testing.T) {
	const sec = time.Second
	for name, c := range map[string]struct {
		r      Report
		bodies int64
	}{
		"served":                     {Report{}, 1},
		"refused":                    {Report{Refused: true}, 0},
		"refused, the whole origin":  {Report{Refused: true, WholeOrigin: true}, 0},
		"refused, a figure":          {Report{Refused: true, Figures: figure("", 0, sec)}, 0},
		"failed":                     {Report{Failed: true}, 0},
		"lost":                       {Report{Lost: true}, 0},
		"a pause":                    {Report{Pause: sec}, 0},
		"not refused, out of order ": {Report{Pause: sec, WholeOrigin: true}, 0},
	} {
		d := newDesk(t)
		ls := []*Lease{d.send(0, ""), d.send(0, ""), d.send(0, "")}
		assert.Nil(t, d.streamsOf(""))
		d.done(sec/10, ls[0], Report{Refused: true, Pause: sec})
		assert.Equal(t, int64(2), d.streamsOf("").flight, name)
		d.exchange(sec/10, "another", Report{})
		assert.Nil(t, d.streamsOf("another"))
		st := d.streamsOf("")
		d.exchange(sec/10, "another", Report{Refused: true, Pause: sec})
		assert.NotNil(t, d.streamsOf("another"))
		assert.Same(t, st, d.streamsOf(""), "each scope has its own")
		d.settle(sec/5, ls[1], c.r)
		assert.Equal(t, atWork{1 + c.bodies, 1}, atWork{st.all(), st.flight}, name)
		ls[1].Release()
		assert.Equal(t, int64(1), st.all(), name)
	}
}

// Not every refusal has a scope count.
func TestStreamsAreNotCounted(t *testing.T) {
	const sec = time.Second
	for _, r := range []Report{
		{}, {Lost: true}, {Pause: sec}, {Refused: true, WholeOrigin: true}, {Refused: true, Pause: sec, Figures: figure("api", 1, sec)},
	} {
		d := newDesk(t)
		d.exchange(0, "", r)
		assert.Nil(t, d.streamsOf(""), "%+v", r)
	}
}

// Ten minutes after the last refusal nothing counts any more, unless a bound is known. An answer to what departed before shows it.
func TestStreamsAreForgotten(t *testing.T) {
	for _, most := range []int64{0, 5} {
		d := newDesk(t)
		before := []*Lease{d.send(0, ""), d.send(0, "")}
		d.exchange(0, "", Report{Refused: true, Pause: time.Second})
		st := d.streamsOf("")
		st.most = most
		d.done(kindsLast-1, before[0], Report{})
		assert.Same(t, st, d.streamsOf(""))
		d.done(kindsLast, before[1], Report{})
		assert.Equal(t, most > 0, d.streamsOf("") != nil)
	}
}

// Nothing is kept of the limit of kinds that are free when the kinds are forgotten, or their scope is.
func TestNothingIsKeptOfForgottenKinds(t *testing.T) {
	const sec = time.Second
	for _, evict := range []bool{true, false} {
		d := newDesk(t)
		exchange := func(now time.Duration, kind string, r Report) {
			l := new(Lease)
			require.NoError(t, d.o.Admit(t.Context(), d.at(now), &Ask{Kind: func() string { return kind }, MaxDelay: noDelay}, l))
			d.done(now, l, r)
		}
		exchange(0, "a", Report{})
		exchange(sec, "a", Report{Refused: true, Pause: time.Minute})
		exchange(3*sec, "b", Report{}) // a look finds that b is free
		exchange(4*sec, "b", Report{})
		exchange(5*sec, "b", Report{Refused: true, Pause: 2 * sec})
		s := d.o.scopes[""]
		free := &s.kinds().free.base
		require.Contains(t, d.o.streams, free)
		d.o.asleep = map[*account]*asleep{free: new(asleep)}
		if now := 5*sec + kindsLast; evict {
			d.o.evict(instant(now), &s.base)
		} else {
			exchange(now, "a", Report{})
			require.Nil(t, s.kinds())
		}
		assert.NotContains(t, d.o.streams, free)
		assert.Empty(t, d.o.asleep)
	}
}

// If a bound turns out to be none, what was inferred meanwhile is forgotten; else it stays.
func TestInferredWhileStreamsWereKnown(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", Report{Refused: true, Pause: time.Second})
	inferred := d.o.scopes[""].learned.inferred
	d.exchange(2*time.Second, "", Report{Refused: true, Pause: time.Second})
	assert.Same(t, inferred, d.o.scopes[""].learned.inferred, "no bound was known")
	for _, ends := range []bool{false, true} {
		d := newDesk(t)
		d.exchange(0, "", Report{Refused: true, Pause: time.Second})
		st := d.streamsOf("")
		st.most = 5
		if ends {
			st.lag = endLag
		}
		l := d.send(2*time.Second, "")
		inferred := d.o.scopes[""].learned.inferred
		assert.NotNil(t, inferred)
		d.done(2*time.Second+1, l, Report{Refused: true, Pause: time.Second})
		assert.Equal(t, !ends, st.known())
		assert.Equal(t, !ends, d.o.scopes[""].learned.inferred == inferred)
	}
}
