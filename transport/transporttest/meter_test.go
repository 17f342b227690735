package transporttest

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// epoch is a time at which aligned windows of any length start.
var epoch = time.Unix(0, 0).UTC()

const (
	none  = time.Duration(-1) // no window
	never = time.Duration(-2) // no wait is long enough
)

// A step charges n units to a meter at start plus at, if they are available.
type step struct {
	at    time.Duration
	n     int64
	ok    bool          // n units are available
	wait  time.Duration // before the charge: until n units are available
	left  int64         // after the charge
	until time.Duration // after the charge: the effective window
}

// play runs the steps on a new meter of the policy.
func play(t *testing.T, p Policy, start time.Time, steps []step) {
	t.Helper()
	m := newMeter(p)
	for i, s := range steps {
		now := start.Add(s.at)
		wait, ok := m.wait(now, s.n)
		if !ok {
			wait = never
		}
		assert.Equal(t, s.wait, wait, "step %d: wait", i)
		assert.Equal(t, s.ok, m.available(now) >= s.n, "step %d: ok", i)
		if m.available(now) >= s.n {
			m.charge(now, s.n)
		}
		until, ok := m.window(now)
		if !ok {
			until = none
		}
		assert.Equal(t, s.left, m.available(now), "step %d: left", i)
		assert.Equal(t, s.until, until, "step %d: window", i)
	}
}

func TestBudget(t *testing.T) {
	for name, window := range map[string]time.Duration{"zero": 0, "negative": -time.Second} {
		t.Run(name, func(t *testing.T) {
			for _, algorithm := range windowed {
				play(t, Policy{Quota: 3, Window: window, Algorithm: algorithm}, epoch, []step{
					{at: 0, n: 2, ok: true, wait: 0, left: 1, until: none},
					{at: time.Hour, n: 2, ok: false, wait: never, left: 1, until: none},
					{at: 1000 * time.Hour, n: 1, ok: true, wait: 0, left: 0, until: none},
					{at: math.MaxInt64, n: 1, ok: false, wait: never, left: 0, until: none},
				})
			}
		})
	}
}

func TestZeroQuota(t *testing.T) {
	for _, quota := range []int64{0, -5, math.MinInt64} {
		for _, tt := range []struct {
			algorithm Algorithm
			until     time.Duration
		}{
			{FixedWindow, time.Minute}, {AlignedWindow, time.Minute}, {TokenBucket, none},
		} {
			play(t, Policy{Quota: quota, Window: time.Minute, Algorithm: tt.algorithm}, epoch, []step{
				{at: 0, n: 1, ok: false, wait: never, left: 0, until: tt.until},
				{at: 0, n: 0, ok: true, wait: 0, left: 0, until: tt.until},
				{at: time.Minute, n: 1, ok: false, wait: never, left: 0, until: tt.until},
			})
		}
	}
}

func TestUnknownAlgorithm(t *testing.T) {
	assert.Panics(t, func() { newMeter(Policy{Quota: 1, Window: 1, Algorithm: 99}) })
}

// randomly calls f with random generators. A failure prints the seed.
func randomly(t *testing.T, f func(t *testing.T, rnd *rand.Rand)) {
	t.Helper()
	for range 50 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			f(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// windowed are the algorithms with a window.
var windowed = []Algorithm{FixedWindow, AlignedWindow, TokenBucket, GCRA, SlidingLog, SlidingWindow}

// checkPolicy checks that the grants comply with a policy that has a window.
func checkPolicy(t *testing.T, p Policy, granted []grant) {
	t.Helper()
	switch p.Algorithm {
	case FixedWindow:
		checkFixed(t, p, granted)
	case AlignedWindow:
		checkAligned(t, p, granted)
	case TokenBucket, GCRA:
		checkBucket(t, p, granted)
	case SlidingLog:
		checkLog(t, p, granted)
	case SlidingWindow:
		checkSliding(t, p, granted)
	}
}

// randomPolicy returns a policy with one of the algorithms.
func randomPolicy(rnd *rand.Rand, algorithms ...Algorithm) Policy {
	return Policy{
		Quota:     1 + rnd.Int64N(30),
		Window:    1 + time.Duration(rnd.Int64N(int64(20*time.Second))),
		Algorithm: algorithms[rnd.IntN(len(algorithms))],
		Burst:     rnd.Int64N(3) * rnd.Int64N(60), // often 0
	}
}

// capacity returns the number of units that a policy grants at once.
func (p Policy) capacity() int64 {
	switch p.Algorithm {
	case TokenBucket:
		return p.burst(p.Quota)
	case GCRA:
		return p.burst(1)
	}
	return p.Quota
}

// maxWait returns the longest possible wait under a policy.
func (p Policy) maxWait() time.Duration {
	switch p.Algorithm {
	case TokenBucket, GCRA:
		return time.Duration((p.capacity()*int64(p.Window) + p.Quota - 1) / p.Quota)
	case SlidingWindow:
		return 2 * p.Window
	}
	return p.Window
}

// The wait that a meter returns is the shortest after which it grants the units.
func TestWaitIsExact(t *testing.T) {
	randomly(t, func(t *testing.T, rnd *rand.Rand) {
		p := randomPolicy(rnd, windowed...)
		m := newMeter(p)
		now := epoch.Add(time.Duration(rnd.Int64N(int64(time.Hour))))
		for range 200 {
			n := rnd.Int64N(p.capacity() + 2)
			wait, ok := m.wait(now, n)
			require.Equal(t, n <= p.capacity(), ok)
			require.LessOrEqual(t, wait, p.maxWait())
			if !ok {
				continue
			}
			if wait > 0 {
				require.Less(t, m.available(now.Add(wait-1)), n)
			}
			now = now.Add(wait)
			require.GreaterOrEqual(t, m.available(now), n)
			m.charge(now, n)
			now = now.Add(time.Duration(rnd.Int64N(int64(p.Window/4) + 1)))
		}
	})
}

// After a charge, the available quota stays the same until the end of the effective
// window, and grows at its end.
func TestWindowIsExact(t *testing.T) {
	randomly(t, func(t *testing.T, rnd *rand.Rand) {
		p := randomPolicy(rnd, FixedWindow, AlignedWindow, TokenBucket, SlidingLog)
		m := newMeter(p)
		now := epoch.Add(time.Duration(rnd.Int64N(int64(time.Hour))))
		for range 200 {
			now = now.Add(time.Duration(rnd.Int64N(int64(p.Window/8) + 1)))
			if left := m.available(now); left > 0 {
				m.charge(now, 1+rnd.Int64N(left))
			}
			left := m.available(now)
			window, ok := m.window(now)
			require.True(t, ok)
			require.Positive(t, window)
			require.LessOrEqual(t, window, p.Window)
			require.Equal(t, left, m.available(now.Add(window-1)))
			now = now.Add(window)
			require.Greater(t, m.available(now), left)
		}
	})
}

// For random charges, no meter grants more than its quota. The check is independent of
// the code of the meters.
func TestNeverMoreThanQuota(t *testing.T) {
	randomly(t, func(t *testing.T, rnd *rand.Rand) {
		p := randomPolicy(rnd, windowed...)
		m := newMeter(p)
		now := epoch.Add(time.Duration(rnd.Int64N(int64(time.Hour))))
		var granted []grant
		for range 400 {
			now = now.Add(time.Duration(rnd.Int64N(int64(p.Window)/max(p.Quota, 4) + 2)))
			n := 1 + rnd.Int64N(3)
			require.LessOrEqual(t, m.available(now), p.capacity())
			require.GreaterOrEqual(t, m.available(now), int64(0))
			if m.available(now) >= n {
				m.charge(now, n)
				granted = append(granted, grant{now, n})
			}
		}
		checkPolicy(t, p, granted)
		require.NotEmpty(t, granted)
	})
}

type grant struct {
	at time.Time
	n  int64
}

func checkFixed(t *testing.T, p Policy, granted []grant) {
	t.Helper()
	for i := 0; i < len(granted); {
		var sum int64
		end := granted[i].at.Add(p.Window)
		for ; i < len(granted) && granted[i].at.Before(end); i++ {
			sum += granted[i].n
		}
		require.LessOrEqual(t, sum, p.Quota)
	}
}

func checkAligned(t *testing.T, p Policy, granted []grant) {
	t.Helper()
	sums := make(map[int64]int64)
	for _, g := range granted {
		sums[g.at.UnixNano()/int64(p.Window)] += g.n
	}
	for _, sum := range sums {
		require.LessOrEqual(t, sum, p.Quota)
	}
}

// checkLog checks that no interval as long as the window has more than the quota.
func checkLog(t *testing.T, p Policy, granted []grant) {
	t.Helper()
	for i, first := range granted {
		var sum int64
		for _, g := range granted[i:] {
			if g.at.Sub(first.at) < p.Window {
				sum += g.n
			}
		}
		require.LessOrEqual(t, sum, p.Quota)
	}
}

// checkSliding checks at each grant that the grants of its window so far and the part
// of the previous window that counts add up to at most the quota.
func checkSliding(t *testing.T, p Policy, granted []grant) {
	t.Helper()
	sums := make(map[int64]int64)
	for _, g := range granted {
		k := g.at.UnixNano() / int64(p.Window)
		sums[k] += g.n
		part := big.NewInt(int64(p.Window) - g.at.UnixNano()%int64(p.Window))
		part.Mul(part, big.NewInt(sums[k-1]))
		room := new(big.Int).Mul(big.NewInt(p.Quota-sums[k]), big.NewInt(int64(p.Window)))
		require.LessOrEqual(t, part.Cmp(room), 0)
	}
}

// checkBucket checks that no more than burst + quota × d / window units were granted
// in any time d.
func checkBucket(t *testing.T, p Policy, granted []grant) {
	t.Helper()
	for i := range granted {
		var sum int64
		for _, g := range granted[i:] {
			sum += g.n
			refill := big.NewInt(int64(g.at.Sub(granted[i].at)))
			refill.Mul(refill, big.NewInt(p.Quota)).Div(refill, big.NewInt(int64(p.Window)))
			if limit := p.capacity() + refill.Int64(); sum > limit {
				require.Failf(t, "too many units", "%d, want at most %d from %v to %v", sum, limit, granted[i].at, g.at)
			}
		}
	}
}
