package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport/transporttest"
)

// A fleet that comes to an unknown origin sends a first flight of ten requests, as one process would. The
// other processes wait for its first answer, and then for units of the accounts that it named.
func TestFleetFirstContact(t *testing.T) {
	fixed := func(quota int64, window int) []transporttest.Policy {
		return policyOf(transporttest.FixedWindow, quota, window, 0)
	}
	two := append(fixed(10, 1), fixed(200, 60)...)
	two[0].Name, two[1].Name = "one", "other"
	for _, c := range []struct {
		name     string
		policies []transporttest.Policy
		procs    int
		way      time.Duration
		refused  int
		within   time.Duration // all are served
	}{
		{"5/10s", fixed(5, 10), 64, 0, 5, 121 * time.Second},
		{"5/10s, 20 ms away", fixed(5, 10), 64, 20 * time.Millisecond, 5, 121 * time.Second},
		{"20/1s", fixed(20, 1), 64, 0, 0, 3200 * time.Millisecond},
		{"two policies", two, 64, 0, 1, 6300 * time.Millisecond}, // one that opens a window may come early
		{"no quota", nil, 64, 0, 0, 110 * time.Millisecond},
		{"enough", fixed(1000, 10), 64, 0, 0, 120 * time.Millisecond},
		{"few processes", fixed(100, 10), 8, 0, 0, 55 * time.Millisecond}, // all at once
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(4) {
				r := fleetRow{policies: c.policies, procs: c.procs, jobs: 1, workers: 1, way: c.way}
				w := newFleetWorld(t, &r, seed)
				w.run(10 * time.Minute)
				took := w.now.Sub(w.start)
				t.Log(w.first, w.refused, took, w.exchanges)
				assert.Equal(t, c.procs, w.served, "seed %d", seed)
				assert.LessOrEqual(t, w.first+w.refused, c.refused, "seed %d: refused", seed)
				assert.LessOrEqual(t, took, c.within, "seed %d", seed)
			}
		})
	}
}

// If the store is away, or forgets all, while a fleet waits for its first answer, nothing waits for longer
// than a second and two round trips.
func TestFleetFirstContactAlone(t *testing.T) {
	for name, f := range map[string]failures{
		"never there":     {deadHub: true},
		"away after that": {away: [2]time.Duration{3 * time.Millisecond, time.Hour}, of: 64},
		"deaf":            {deaf: true},
		"empties":         {empties: true},
		"loses answers":   {loses: .3},
	} {
		t.Run(name, func(t *testing.T) {
			r := fleetRow{policies: policyOf(transporttest.FixedWindow, 1000, 10, 0), procs: 64, jobs: 1, workers: 1}
			w := newFleetWorld(t, &r, 1)
			w.fails = f
			if f.empties {
				w.after(10*time.Millisecond, func() { w.hub.Forget() })
			}
			w.run(10 * time.Minute)
			assert.Equal(t, 64, w.served)
			assert.Zero(t, w.first+w.refused)
			t.Log(w.now.Sub(w.start))
			assert.LessOrEqual(t, w.now.Sub(w.start), 1200*time.Millisecond)
		})
	}
}

// A refusal that names no account does not tell a fleet that the server has no quotas: the other
// processes go on waiting for an answer that says more. Else 53 are refused.
func TestFleetFirstContactRefused(t *testing.T) {
	for seed := range uint64(4) {
		r := fleetRow{policies: policyOf(transporttest.FixedWindow, 20, 10, 0), procs: 64, jobs: 1, workers: 1}
		w := newFleetWorld(t, &r, seed)
		w.fails.sheds = 9
		w.run(10 * time.Minute)
		assert.Equal(t, 64, w.served, "seed %d", seed)
		assert.LessOrEqual(t, w.first+w.refused, 18, "seed %d: refused", seed) // each of the nine twice
	}
}
