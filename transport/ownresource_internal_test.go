package transport

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
