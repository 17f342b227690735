package quota

import (
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A turnstile is a gate that lets units through when the test says so.
type turnstile struct {
	guard guard
	line  *line
	room  int64
	again time.Time // what look says where there is no room
}

func (g *turnstile) guarded() *guard { return &g.guard }
func (g *turnstile) rule() Queue     { return Queue{} }
func (g *turnstile) tally(bool)      {}
func (g *turnstile) behind(time.Time, int64) time.Duration {
	return 0
}
func (g *turnstile) queue() **line { return &g.line }
func (g *turnstile) holds() bool   { return true }
func (g *turnstile) refusal() Refusal {
	return Refusal{Policy: "turnstile"}
}
func (g *turnstile) look(_ time.Time, n int64) verdict {
	return verdict{ok: g.room >= n, why: ReasonOwnLimit, again: g.again}
}
func (g *turnstile) charge(_ time.Time, n int64) uint32    { g.room -= n; return 0 }
func (g *turnstile) release(_ time.Time, n int64)          { g.room += n }
func (g *turnstile) cancel(_ time.Time, n int64, _ uint32) { g.room += n }
func (g *turnstile) waiter(seq uint64, priority int) *waiter {
	return &waiter{ready: make(chan struct{}, 1), ticket: seq, priority: priority, units: 1, latest: time.Now().Add(time.Hour)}
}

// By priority, then by arrival.
func TestWhoGoesFirst(t *testing.T) {
	order := []*waiter{
		{priority: 2, ticket: 9},
		{priority: 1, ticket: 1},
		{priority: 1, ticket: 2},
		{priority: 1, ticket: 8},
		{priority: 0, ticket: 3},
		{priority: -1, ticket: 0},
	}
	for i, x := range order {
		for j, y := range order {
			assert.Equal(t, i < j, x.before(y, false), "%d and %d", i, j)
		}
	}
}

// Whoever enters and leaves a line, in whatever order: the first is always the
// one that goes first, and everybody knows where they are.
func TestLineIsOrdered(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := &turnstile{}
		g.guard.Lock()
		var in []*waiter
		for step := range 400 {
			if len(in) == 0 || r.IntN(5) < 3 {
				w := g.waiter(uint64(step), r.IntN(3))
				enter(g, w)
				in = append(in, w)
			} else {
				i := r.IntN(len(in))
				leave(in[i], time.Now())
				in = append(in[:i], in[i+1:]...)
			}
			require.Equal(t, len(in), g.line.len(), "seed %d, step %d", seed, step)
			if len(in) == 0 {
				require.Nil(t, g.line, "an empty line is dismantled")
				continue
			}
			sort.Slice(in, func(i, j int) bool { return in[i].before(in[j], false) })
			require.Same(t, in[0], g.line.first(), "seed %d, step %d", seed, step)
			for i, w := range g.line.waiters.ws {
				require.EqualValues(t, i+1, w.place[byTurn], "seed %d, step %d", seed, step)
			}
		}
		disperse(t, g, in)
		g.guard.Unlock()
	}
}

// One is woken at a time; whoever leaves passes the wake on.
func TestWakeIsPassedOn(t *testing.T) {
	g := &turnstile{room: 1}
	a, b, c := g.waiter(1, 0), g.waiter(2, 0), g.waiter(3, 0)
	for _, w := range []*waiter{a, b, c} {
		enter(g, w)
	}
	now := time.Now()
	assert.Same(t, a, g.line.kick(now))
	assert.Nil(t, g.line.kick(now), "a has been told and has not come yet")
	assert.Nil(t, leave(b, now), "a is still to come")
	assert.Same(t, c, leave(a, now), "a gives up, c is the next")
	assert.Nil(t, leave(c, now))
	assert.Nil(t, g.line)
	var nobody *line
	assert.Nil(t, nobody.kick(now))
	assert.Zero(t, nobody.len())
	assert.Nil(t, nobody.first())
	(*waiter)(nil).wake()
}

// Somebody whose time is up before the gate can let them go is woken to be
// refused; somebody who has time is not.
func TestVainIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		g := &turnstile{again: now.Add(mins)}
		w := g.waiter(1, 0)
		w.latest = now.Add(mins)
		enter(g, w)
		assert.Nil(t, g.line.kick(now))
		assert.Equal(t, now.Add(mins), g.line.armed)
		g.again = now.Add(mins + 1)
		assert.Same(t, w, g.line.kick(now))
		leave(w, now)
	})
}

// One timer, which rings when the gate says, is set anew when that changes,
// and is stopped when nobody waits.
func TestTimerOfLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		g := &turnstile{again: now.Add(10 * sec)}
		w := g.waiter(1, 0)
		g.guard.Lock()
		enter(g, w)
		g.line.kick(now)
		g.guard.Unlock()
		time.Sleep(5 * sec)

		g.guard.Lock()
		g.again = now.Add(20 * sec)
		g.line.kick(time.Now())
		g.guard.Unlock()
		time.Sleep(10 * sec)
		synctest.Wait()
		assert.Empty(t, w.ready, "the first instant was taken back")

		g.guard.Lock()
		g.room = 1
		g.guard.Unlock()
		<-w.ready
		assert.Equal(t, 20*sec, time.Since(now))
		g.guard.Lock()
		w.come()
		leave(w, time.Now())
		g.guard.Unlock()
		assert.Nil(t, g.line)
	})
}

// A timer that rings when its line has been dismantled does nothing, also
// where a new line stands in its place.
func TestLateRing(t *testing.T) {
	g := &turnstile{room: 5}
	w := g.waiter(1, 0)
	enter(g, w)
	old := g.line
	leave(w, time.Now())
	old.ring()
	assert.Nil(t, g.line)
	w2 := g.waiter(2, 0)
	enter(g, w2)
	old.ring()
	assert.Empty(t, w2.ready)
	assert.Nil(t, g.line.woken)
	leave(w2, time.Now())
}

// Waking twice is waking once, and never blocks.
func TestWakeNeverBlocks(t *testing.T) {
	g := &turnstile{}
	w := g.waiter(1, 0)
	for range 3 {
		w.wake()
	}
	assert.Len(t, w.ready, 1)
}

// Thousands in line are let go in the order in which they came.
func TestLongLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2_000
		c := newCounter(t)
		c.tell(Report{Figures: figure("api", 0, 10*sec)})
		tickets := make([]uint64, n) // in the order in which they departed
		for i := range n {
			ask := claimOf("api")
			c.wg.Go(func() {
				var l Lease
				time.Sleep(time.Duration(i) * time.Microsecond)
				if assert.NoError(t, c.o.Admit(t.Context(), time.Now(), &ask, &l)) {
					tickets[i] = l.ticket
					c.o.Settle(time.Now(), &l, &Report{Figures: figure("api", n, 10*sec)})
				}
			})
		}
		c.wg.Wait()
		for i := range tickets[1:] {
			require.Equal(t, tickets[i]+1, tickets[i+1], "in place %d", i+1)
		}
		c.noTrace()
	})
}

// Those who cannot wait for the end of a pause are found, whenever they came,
// and whoever has left meanwhile.
func TestInVain(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 8))
		now := time.Now()
		g := &new(Accounts).Origin("").root
		g.guarded().Lock() // the timer may ring
		var in []*waiter
		for range 50 {
			switch {
			case r.IntN(3) > 0 || len(in) == 0:
				w := &waiter{ready: make(chan struct{}, 1), ticket: serial.Add(1), latest: now.Add(time.Duration(1+r.IntN(100)) * sec)}
				require.True(t, enter(g, w))
				in = append(in, w)
			default:
				i := r.IntN(len(in))
				leave(in[i], now)
				in = slices.Delete(in, i, i+1)
			}
			if len(in) == 0 {
				continue
			}
			until := now.Add(time.Duration(r.IntN(120)) * sec)
			var want []*waiter
			for _, w := range in {
				if until.After(w.latest) {
					want = append(want, w)
				}
			}
			assert.ElementsMatch(t, want, g.line.inVain(until, nil), "seed %d", seed)
		}
		disperse(t, g, in)
		g.guarded().Unlock()
	}
}

// disperse has everybody leave the line of a gate, so that its timer is stopped.
func disperse(t *testing.T, g gate, in []*waiter) {
	for _, w := range in {
		leave(w, time.Now())
	}
	assert.Nil(t, *g.queue())
}
