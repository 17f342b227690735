package wait_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
)

// By priority, then by arrival, or the other way round.
func TestOrderOfTurns(t *testing.T) {
	for newest, want := range map[bool][]int{false: {2, 4, 0, 1, 5, 3}, true: {4, 2, 5, 1, 0, 3}} {
		synctest.Test(t, func(t *testing.T) {
			g := newTurnstile(0, wait.LineOptions{NewestFirst: newest})
			var all []*came
			for _, p := range []int{0, 0, 5, -1, 5, 0} {
				all = append(all, come(t, g.claim(1), priority(p)))
			}
			assert.Equal(t, len(all), g.line.Len())
			assert.Equal(t, want, order(g, all))
			g.noTrace(t)
		})
	}
}

// A newcomer passes those in line if it goes before the first.
func TestWhoPassesTheLine(t *testing.T) {
	for _, tt := range []struct {
		newest   bool
		priority int
		passes   bool
	}{{false, 0, false}, {false, 1, true}, {false, -1, false}, {true, 0, true}, {true, -1, false}, {true, 1, true}} {
		synctest.Test(t, func(t *testing.T) {
			g := newTurnstile(1, wait.LineOptions{NewestFirst: tt.newest})
			first := come(t, g.claim(2), patient)
			assert.False(t, first.done.Load())
			newcomer := come(t, g.claim(1), wait.Options{MaxDelay: -1, Priority: tt.priority})
			assert.Equal(t, tt.passes, newcomer.granted(), "%+v", tt)
			if !tt.passes {
				assert.Equal(t, wait.Refusal{By: g, Decision: wait.Decision{Reason: empty}}, newcomer.refusal)
			}
			g.let(2)
			synctest.Wait()
			assert.True(t, first.granted())
		})
	}
}

// A waiter that comes from another line goes before those who came after it, or
// after them where the newest goes first.
func TestWaiterKeepsItsTurnInAnotherLine(t *testing.T) {
	for _, newest := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{NewestFirst: newest})
			old := come(t, append(a.claim(1), b.claim(1)...), patient)
			young := come(t, b.claim(2), patient)
			assert.False(t, old.done.Load() || young.done.Load())
			a.let(1)
			synctest.Wait()
			assert.Equal(t, !newest, old.granted())
			assert.Equal(t, newest, b.line.Len() == 2, "it waits behind the newest")
			b.let(2)
			synctest.Wait()
			b.let(1)
			synctest.Wait()
			assert.True(t, old.granted() && young.granted())
			a.noTrace(t)
			b.noTrace(t)
		})
	}
}

// Work comes, gives up, is let go and is pushed out at random: those who are
// granted and pushed out are those of a plain list.
func TestLineIsAPlainList(t *testing.T) {
	for seed := range uint64(40) {
		options := wait.LineOptions{NewestFirst: seed%2 == 1, Limit: []int64{0, 6}[seed/2%2]}
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			g := newTurnstile(0, options)
			g.each = time.Nanosecond
			type one struct {
				*came
				priority int
				units    int64
			}
			var list []one // the first goes first
			for step := range 300 {
				what := fmt.Sprintf("seed %d, step %d", seed, step)
				switch k := r.IntN(6); {
				case k < 3:
					o := one{priority: r.IntN(3) - 1, units: 1 + r.Int64N(2)}
					o.came = come(t, g.claim(o.units), priority(o.priority))
					at := slices.IndexFunc(list, func(x one) bool {
						return x.priority < o.priority || options.NewestFirst && x.priority == o.priority
					})
					if at < 0 {
						at = len(list)
					}
					sum := func(of []one) (n int64) {
						for _, x := range of {
							n += x.units
						}
						return n
					}
					if short := sum(list) + o.units - options.Limit; options.Limit > 0 && short > 0 {
						if !options.NewestFirst || sum(list[at:]) < short {
							require.Equal(t, wait.QueueFull, o.refusal.Why, what)
							break
						}
						for last := len(list) - 1; sum(list)+o.units > options.Limit; last-- {
							require.Equal(t, wait.QueueFull, list[last].refusal.Why, what)
							list = list[:last]
						}
					}
					list = slices.Insert(list, at, o)
				case k == 3 && len(list) > 0:
					i := r.IntN(len(list))
					list[i].left()
					synctest.Wait()
					require.Error(t, list[i].err, what)
					list = slices.Delete(list, i, i+1)
				case len(list) > 0:
					g.let(list[0].units)
					synctest.Wait()
					require.True(t, list[0].granted(), what)
					list = list[1:]
				}
				units := int64(0)
				for _, x := range list {
					require.False(t, x.done.Load(), what)
					units += x.units
				}
				require.Equal(t, len(list), g.line.Len(), what)
				require.Equal(t, units, g.line.Units(), what)
				for p := -1; p < 2; p++ { // what a newcomer has before it
					before := time.Duration(0)
					for _, x := range list {
						if options.Limit > 0 && (x.priority > p || x.priority == p && !options.NewestFirst) {
							before += time.Duration(x.units)
						}
					}
					o := priority(p)
					g.locked(func() {
						r, _ := wait.Check(t.Context(), time.Now(), g.claim(1), &o)
						require.Equal(t, before, r.Wait, "%s: before priority %d", what, p)
					})
				}
				require.Zero(t, g.room, what)
				g.locked(func() { require.Empty(t, g.line.Problem(time.Now(), true), what) })
				require.Equal(t, len(list) == 0, g.line == nil, "an empty line is closed: %s", what)
			}
			for _, x := range list {
				x.left()
			}
			g.noTrace(t)
		})
	}
}

// Two woken at a time are one too many; a waiter that leaves after it was woken
// wakes the next.
func TestWakeIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		a := come(t, g.claim(1), slowly(g.claim(1), sec))
		b, c := come(t, g.claim(1), patient), come(t, g.claim(1), patient)
		g.let(1) // wakes a, which takes a second to look
		g.locked(func() { assert.Nil(t, g.line.Kick(time.Now()), "a has been woken and has not looked yet") })
		b.left()
		synctest.Wait()
		assert.Error(t, b.err)
		assert.False(t, c.done.Load(), "a is still to look")
		a.left()
		time.Sleep(sec)
		synctest.Wait()
		assert.Error(t, a.err)
		assert.True(t, c.granted(), "a has given up, c is the next")
		g.noTrace(t)
	})
	var none *wait.Line
	assert.Nil(t, none.Kick(time.Now()))
	assert.Zero(t, none.Len())
	assert.Zero(t, none.Units())
	assert.Empty(t, none.Append(nil))
	assert.Empty(t, none.AppendTooLate(nil, time.Now()))
	assert.Empty(t, none.Problem(time.Now(), false))
	none.WakeAll()
	(*wait.Waiter)(nil).Wake()
}

// A waiter that was woken for nothing is woken again.
func TestWokenForNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		c := come(t, g.claim(1), slowly(g.claim(1), sec))
		g.let(1)
		g.locked(func() { g.room = 0 }) // other work took it first
		time.Sleep(mins)
		synctest.Wait()
		assert.False(t, c.done.Load())
		g.let(1)
		time.Sleep(mins)
		synctest.Wait()
		assert.True(t, c.granted())
		assert.Equal(t, mins+sec, c.after)
		g.noTrace(t)
	})
}

// A waiter that is pushed out after it was woken cannot wake the next: the one
// that pushes it out is looked at instead.
func TestPushingOutTheWokenWakesTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{NewestFirst: true, Limit: 1})
		woken := come(t, g.claim(1), slowly(g.claim(1), sec))
		g.let(1)
		g.locked(func() { g.room = 0 }) // other work took it first
		next := come(t, g.claim(1), patient)
		assert.False(t, next.done.Load())
		g.let(1)
		synctest.Wait()
		assert.True(t, next.granted())
		time.Sleep(sec)
		synctest.Wait()
		assert.Equal(t, wait.Refusal{By: g, Decision: wait.Decision{Reason: empty, Detail: "empty"}, Why: wait.QueueFull}, woken.refusal)
		g.noTrace(t)
	})
}

// The waiters that would go last are pushed out, as many as it takes: none of a higher
// priority, and none at all if that does not make room.
func TestPushingOutBeginsWithTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{NewestFirst: true, Limit: 4})
		high := come(t, g.claim(2), priority(1))
		low := come(t, g.claim(2), patient)
		big := come(t, g.claim(3), patient)
		assert.Equal(t, wait.QueueFull, big.refusal.Why, "only 2 go after it")
		assert.Equal(t, 1, g.refused)
		assert.False(t, low.done.Load(), "pushing it out would not help")
		last := come(t, g.claim(2), patient)
		assert.Equal(t, wait.QueueFull, low.refusal.Why)
		assert.Equal(t, 2, g.refused)
		assert.False(t, high.done.Load() || last.done.Load())
		assert.EqualValues(t, 4, g.line.Units())
		high.left()
		last.left()
		g.noTrace(t)
	})
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{NewestFirst: true, Limit: 1})
		tooBig := come(t, g.claim(2), patient)
		assert.Equal(t, wait.QueueFull, tooBig.refusal.Why, "it does not fit into an empty line")
		g.noTrace(t)
	})
}

// A waiter whose time is up before the constraint can let it go is woken to be
// refused; one that has time is not.
func TestTooLateIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		g.again = time.Now().Add(mins)
		c := come(t, g.claim(1), wait.Options{MaxDelay: mins, MaxQueue: -1})
		g.kick()
		synctest.Wait()
		assert.False(t, c.done.Load(), "just in time")
		g.locked(func() { g.again = g.again.Add(1) })
		g.kick()
		synctest.Wait()
		require.True(t, c.done.Load())
		assert.Zero(t, c.after)
		assert.Equal(t, wait.MaxDelay, c.refusal.Why)
		assert.Equal(t, mins+1, c.refusal.Wait)
		g.noTrace(t)
	})
}

// Waiters whose time is over at the instant when there is room go if there is enough for all that go
// before them, too: those have been woken, and have not looked yet.
func TestTimeIsOverWhenThereIsRoom(t *testing.T) {
	for name, tt := range map[string]struct {
		options wait.LineOptions
		units   []int64
		last    bool
		others  int // behind them, who wait for longer
		goes    []int
	}{
		"for some":               {wait.LineOptions{}, []int64{1, 1, 1, 1, 1}, false, 0, []int{0, 1, 2}},
		"the newest first":       {wait.LineOptions{NewestFirst: true}, []int64{1, 1, 1, 1, 1}, false, 0, []int{2, 3, 4}},
		"one wants more":         {wait.LineOptions{}, []int64{2, 1, 1}, false, 0, []int{0, 1}},
		"it may be less":         {wait.LineOptions{}, []int64{1, 1, 1}, true, 0, []int{0}},
		"too many to be counted": {wait.LineOptions{}, []int64{1, 1, 1}, false, wait.MostPassed, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTurnstile(0, tt.options)
				g.again, g.last = time.Now().Add(mins), tt.last
				var all, others []*came
				first := 0
				if tt.options.NewestFirst {
					first = len(tt.units) - 1
				}
				for i, n := range tt.units {
					o := wait.Options{MaxDelay: mins, MaxQueue: -1}
					if i == first {
						o.Renew = func() []wait.Claim {
							time.Sleep(ms) // all others look before it, and it goes, too
							claims := g.claim(n)
							wait.Lock(claims)
							return claims
						}
						o.MaxDelay += ms
					}
					all = append(all, come(t, g.claim(n), o))
				}
				for range tt.others {
					others = append(others, come(t, g.claim(1), patient))
				}
				g.locked(func() { g.room = 3 }) // without waking the waiters
				time.Sleep(mins + ms)
				synctest.Wait()
				var goes []int
				for i, c := range all {
					if c.granted() {
						goes = append(goes, i)
					}
				}
				assert.Equal(t, tt.goes, goes)
				for _, c := range others {
					c.left()
				}
				g.noTrace(t)
			})
		})
	}
}

// A waiter passes no other one before its MaxDelay is over, even if there is enough for both.
func TestWhoHasTimeKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		first := come(t, g.claim(1), slowly(g.claim(1), ms))
		second := come(t, g.claim(1), patient)
		g.locked(func() {
			g.room = 2
			g.line.WakeAll()
		})
		synctest.Wait()
		assert.False(t, second.done.Load())
		time.Sleep(ms)
		synctest.Wait()
		assert.True(t, first.granted())
		assert.True(t, second.granted())
		g.noTrace(t)
	})
}

// One timer, which fires when the constraint says, and is set anew when that
// changes.
func TestTimerOfLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		g.again = time.Now().Add(10 * sec)
		c := come(t, g.claim(1), patient)
		time.Sleep(5 * sec)
		g.locked(func() { g.again = g.again.Add(10 * sec) })
		g.kick()
		g.locked(func() { g.looks = 0 })
		time.Sleep(10 * sec)
		synctest.Wait()
		g.locked(func() {
			assert.Zero(t, g.looks, "the first instant was taken back")
			g.room = 1
		})
		time.Sleep(mins)
		synctest.Wait()
		assert.True(t, c.granted())
		assert.Equal(t, 20*sec, c.after)
		g.noTrace(t)
	})
}

// Without waiters there is no line, and its timer does not fire.
func TestNoTimerIsLeft(t *testing.T) {
	for _, how := range []string{"granted", "gave up", "refused for good", "pushed out"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTurnstile(0, wait.LineOptions{NewestFirst: true, Limit: 1})
				g.again = time.Now().Add(mins)
				c := come(t, g.claim(1), patient)
				line := g.line
				switch how {
				case "granted":
					g.let(1)
				case "gave up":
					c.left()
				case "refused for good":
					g.locked(func() { g.broken = true })
					g.kick()
				case "pushed out":
					next := come(t, g.claim(1), patient)
					assert.Same(t, line, g.line)
					next.left()
				}
				synctest.Wait()
				assert.True(t, c.done.Load())
				g.noTrace(t)
			})
		})
	}
}

// A timer that fires when its line has been closed does nothing, also where a
// new line stands in its place.
func TestTimerOfAClosedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		g.again = time.Now().Add(sec)
		c := come(t, g.claim(1), patient)
		old := g.line
		for _, open := range []func(){g.CloseLine, func() { g.OpenLine() }} {
			g.mutex.Lock()
			open()
			g.looks = 0
			g.again = g.again.Add(sec)
			g.mutex.Unlock()
			time.Sleep(sec)
			synctest.Wait()
			g.locked(func() { assert.Nil(t, old.Kick(time.Now())) })
			assert.Zero(t, g.looks)
			assert.False(t, c.done.Load())
		}
		g.line = old
		c.left()
		g.noTrace(t)
	})
}

// Waking several times is waking once, and never blocks.
func TestWakeNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		looked := 0
		o := patient
		o.Renew = func() []wait.Claim {
			looked++
			time.Sleep(sec)
			cs := g.claim(1)
			wait.Lock(cs)
			return cs
		}
		c := come(t, g.claim(1), o)
		g.locked(g.line.WakeAll)
		synctest.Wait()
		for range 3 {
			g.locked(g.line.WakeAll)
		}
		time.Sleep(mins)
		synctest.Wait()
		assert.Equal(t, 2, looked)
		c.left()
		time.Sleep(mins)
		synctest.Wait()
		assert.ErrorIs(t, c.err, context.Canceled)
		g.noTrace(t)
	})
}

// Two waiters need a unit of the same constraint, which the first of them does not know
// yet: its claims have changed while it waits. The other is woken at the same instant by
// something else, and looks before it. It does not pass the first one.
func TestEarlierWaiterLooksFirst(t *testing.T) {
	for _, function := range []time.Duration{0, 1, maxTurn - 1, maxTurn + 1, mins} { // takes that long to make the claims again
		synctest.Test(t, func(t *testing.T) {
			old, other, both := newTurnstile(0, wait.LineOptions{}), newTurnstile(0, wait.LineOptions{}), newTurnstile(0, wait.LineOptions{})
			old.round = new(wait.Round)
			both.round = old.round
			other.mutex, both.mutex = old.mutex, old.mutex
			move := func(to []wait.Claim, takes time.Duration) wait.Options {
				o := slowly(to, takes)
				o.MaxDelay = time.Hour
				return o
			}
			first := come(t, old.claim(1), move(both.claim(1), function))
			second := come(t, other.claim(1), move(append(both.claim(1), other.claim(1)...), 0))
			last := come(t, old.claim(1), move(other.claim(1), 0))
			time.Sleep(sec)
			old.locked(func() { both.room, other.room = 1, 2 })
			other.kick()
			old.locked(old.round.Begin)
			time.Sleep(function)
			synctest.Wait()
			hangs := function > maxTurn
			assert.Equal(t, !hangs, first.granted(), "%v", function)
			assert.Equal(t, hangs, second.granted(), "%v", function)
			assert.True(t, last.granted())
			assert.Equal(t, sec+min(function, maxTurn), last.after, "%v", function)
			old.locked(func() {
				for _, g := range []*turnstile{old, other, both} {
					assert.Empty(t, g.line.Problem(time.Now(), true))
				}
				both.room++
			})
			both.kick()
			time.Sleep(2 * mins)
			assert.True(t, first.granted() && second.granted(), "%v", function)
			for _, g := range []*turnstile{old, other, both} {
				g.noTrace(t)
			}
		})
	}
}

const maxTurn = 100 * ms

// Waiters that run out of time before an instant are found, whenever they
// came and whichever have left meanwhile.
func TestAppendTooLate(t *testing.T) {
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 8))
			now := time.Now()
			g := newTurnstile(0, wait.LineOptions{})
			type one struct {
				*came
				latest time.Time // zero: never
				looks  int
			}
			var in []*one
			for range 50 {
				if r.IntN(3) > 0 || len(in) == 0 {
					o, x := patient, new(one)
					if r.IntN(5) > 0 {
						o.MaxDelay = time.Duration(1+r.IntN(100)) * sec
						x.latest = now.Add(o.MaxDelay)
					}
					o.Renew = func() []wait.Claim {
						x.looks++
						cs := g.claim(1)
						wait.Lock(cs)
						return cs
					}
					x.came = come(t, g.claim(1), o)
					in = append(in, x)
				} else {
					i := r.IntN(len(in))
					in[i].left()
					synctest.Wait()
					in = slices.Delete(in, i, i+1)
				}
				for _, x := range in {
					x.looks = 0
				}
				until := now.Add(time.Duration(r.IntN(120)) * sec)
				var woken []*wait.Waiter
				g.locked(func() { woken = g.line.AppendTooLate(nil, until) })
				for _, w := range woken {
					w.Wake()
				}
				synctest.Wait()
				for i, x := range in {
					want := 0
					if !x.latest.IsZero() && until.After(x.latest) {
						want = 1
					}
					require.Equal(t, want, x.looks, "seed %d, waiter %d", seed, i)
				}
			}
			g.locked(func() { assert.Len(t, g.line.Append(nil), len(in)) })
			for _, x := range in {
				x.left()
			}
			g.noTrace(t)
		})
	}
}
