package transport

import (
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kindsOfThings returns how many kinds there are whose things have scopes of their own.
func (t *toldKinds) kindsOfThings() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.resources.kinds {
		if k.apart > 0 {
			n++
		}
	}
	return n
}

// Things that had counters of their own get one for all, and the other way around.
func TestCountersOfThingsChange(t *testing.T) {
	for _, dialect := range []string{"X", "-07"} {
		for _, first := range []bool{true, false} {
			s := &countingServer{quota: 100, window: 15 * time.Second, dialect: dialect, own: func(at time.Duration) bool { return at < 150*time.Second == first }}
			own, most := s.play(t, routeLoad{5, 20, 100 * time.Millisecond, 0, 5 * time.Minute, true}, 1)
			t.Log(dialect, first, own, most, s.served, s.refused)
			assert.Equal(t, 1, most, dialect)
			if first {
				assert.Zero(t, own, dialect)
			} else {
				assert.Equal(t, 1, own, dialect)
			}
			assert.LessOrEqual(t, s.refused, 30, dialect)
		}
	}
}

// Things with one counter for all never get scopes of their own. The servers differ in their algorithm, in what the
// reset means, in whether others use the counter, and in what requests for the first thing cost.
func TestOneCounterOfAllThings(t *testing.T) {
	for seed := range uint64(*oneCounters) {
		rnd := rand.New(rand.NewPCG(seed, 100))
		s := &countingServer{
			quota: 5 + rnd.IntN(100), window: time.Duration(2+rnd.IntN(30)) * time.Second, algo: rnd.IntN(4), reset: rnd.IntN(3),
			dialect: []string{"X", "-07"}[rnd.IntN(2)],
		}
		if s.algo == algoBucket && rnd.IntN(2) == 0 {
			s.dialect, s.quota = "Spring", int(s.window.Seconds())*(1+rnd.IntN(10))
		}
		if rnd.IntN(3) == 0 {
			s.others = float64(s.quota) / s.window.Seconds() * rnd.Float64()
		}
		if rnd.IntN(3) == 0 {
			s.costs = map[string]int{"/items/0": rnd.IntN(4)}
		}
		ld := routeLoad{2 + rnd.IntN(10), 1 + rnd.IntN(20), time.Duration(rnd.IntN(3)) * time.Second, time.Duration(rnd.IntN(3)) * time.Second, 3 * time.Minute, true}
		if _, most := s.play(t, ld, seed); most > 0 {
			t.Errorf("seed %d: %d/%v, algorithm %d, reset %d, %s, others %.1f/s, costs %v; %+v",
				seed, s.quota, s.window, s.algo, s.reset, s.dialect, s.others, s.costs, ld)
		}
	}
}

// If more of what a thing has left is gone than was requested for it, others use its counter, unless requests for all
// things explain it.
func TestFallOfThing(t *testing.T) {
	now := time.Now()
	for served, want := range map[int64]evidence{33: ofOthers, 32: ofOne} { // of which 21 may have come back, and 10 are gone
		own := &ownCounter{base: ownAnswer{left: 50, quota: 100, window: 10 * time.Second, ends: now.Add(9 * time.Second), latest: now.Add(10 * time.Second), came: now}}
		own.base.sent.at = now
		own.kind.departed = 3
		a := own.base
		a.left, a.came = 40, now.Add(time.Second)
		a.sent.all.served = served + 1
		assert.Equal(t, want, own.compare(a), served)
	}
}

// A fall that requests for all things explain ends a proof, or what there is of one, and one that nothing explains
// ends no proof.
func TestEvidenceOfThings(t *testing.T) {
	var p proof
	shows := func(e evidence, n int) (changed bool) {
		for range n {
			changed = p.take(e)
		}
		return changed
	}
	assert.False(t, shows(ofOwn, ownTurns-1))
	assert.True(t, shows(ofOwn, 1))
	assert.False(t, shows(ofOthers, 1))
	assert.True(t, shows(ofOne, 1))
	assert.Equal(t, proof{changes: 1}, p)
	assert.False(t, shows(ofOwn, 2*ownTurns-1))
	shows(ofOthers, 1)
	assert.Equal(t, proof{changes: 1}, p, "there was no proof yet")
	shows(ofOne, 1)
	assert.Equal(t, proof{changes: 1}, p, "there was nothing of one")
	shows(ofOwn, 1)
	shows(ofOne, 1)
	assert.Equal(t, proof{changes: 2}, p)
}

// What counters of things take up is what they are charged as, however often those of a scope make room for those of
// others.
func TestMemoryOfCountersOfThings(t *testing.T) {
	s := &Shaper{}
	d := s.directories.of(s.accounts(), s.fields(), rawOrigin{"https", "api.example"})
	told := &d.told
	request := func(scope string) {
		x := &exchange{s: s, directory: d, req: &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/items/12345678"}}}
		x.ask.Scope = scope
		told.mu.Lock()
		if of := (kindOfScope{scope, x.kind().key()}); told.kinds[of].what < toldLimit {
			told.set(of, toldKind{what: toldLimit + 5})
		}
		x.departResource(scope)
		told.mu.Unlock()
		x.endResource(nil, 0)
	}
	for round := range 20 {
		for user := range maxUsedUp + 6 {
			request(strconv.Itoa(user))
		}
		bytes := len(told.resources.counted) * ownBytes
		for of, k := range told.kinds {
			bytes += k.bytes(of)
		}
		assert.LessOrEqual(t, len(told.resources.counted), maxCounted)
		require.Equal(t, bytes, told.bytes, "round %d", round)
	}
}
