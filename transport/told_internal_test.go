package transport

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A refusal holds a kind that has a scope of its own. When that is over, requests that come then do
// not go before those that wait: all of them have another scope with the next response.
func TestEndOfHeldKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told toldKinds
		const limited, free, other = kindKey(1), kindKey(2), kindKey(3)
		for range 4 {
			told.note("s", limited, toldLimit+10, false)
			told.note("s", free, toldNothing, false)
		}
		scope, silent, _ := told.narrow("s", free)
		assert.Equal(t, "s"+ofKind, scope)
		assert.True(t, silent)

		assert.True(t, told.hold("s", free, "s", time.Now(), 0, 4*time.Second), "requests have another scope at once")
		assert.False(t, told.hold("s", free, "s", time.Now(), 0, 5*time.Second), "it lasts longer")
		assert.False(t, told.hold("s", other, "s", time.Now(), 0, 9*time.Second))
		time.Sleep(5*time.Second - 1)
		assert.False(t, told.note("s", limited, toldLimit+10, false))
		time.Sleep(time.Second)
		scope, silent, _ = told.narrow("s", free)
		assert.Equal(t, "s", scope)
		assert.False(t, silent)

		assert.True(t, told.note("s", limited, toldLimit+10, false), "those that wait are routed again")
		scope, silent, _ = told.narrow("s", free)
		assert.Equal(t, "s"+ofKind, scope)
		assert.True(t, silent)
		assert.False(t, told.note("s", limited, toldLimit+10, false))
		time.Sleep(4 * time.Second)
		assert.True(t, told.note("s", limited, toldLimit+10, false), "the other hold is over")
	})
}

// Two refusals hold a kind, in the scope that it had and in its own. It waits in the one whose Retry-After ends
// last, although the other one holds it for longer: that may end sooner than it was told.
func TestHeldInTwoScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told toldKinds
		const kind, own, second = kindKey(1), "s" + ofKind + "1", time.Second
		in := func() string {
			scope, _, _ := told.narrow("s", kind)
			return scope
		}
		hold := func(scope string, pause, left time.Duration) bool {
			return told.hold("s", kind, scope, time.Now(), pause, left)
		}
		assert.False(t, hold("s", second, 9*second))
		time.Sleep(second / 2)
		assert.True(t, hold(own, second, 3*second), "those that wait are routed again")
		assert.Equal(t, own, in())
		assert.False(t, hold("s", second/4, 9*second), "ends before")
		assert.False(t, hold("s", 0, 9*second))
		assert.False(t, hold(own, 0, 2*second), "its Retry-After holds on")
		assert.False(t, hold("s", second-1, 9*second), "ends before, by a nanosecond")
		assert.Equal(t, own, in())
		assert.False(t, hold(own, 2*second, 2*second), "its Retry-After is longer")
		assert.False(t, hold("s", 2*second-1, 9*second))
		assert.Equal(t, own, in())
		time.Sleep(2 * second)
		assert.True(t, hold("s", 0, 9*second), "no Retry-After is in force")
		assert.Equal(t, "s", in())
		assert.False(t, hold(own, 0, 8*second))
		assert.True(t, hold(own, 1, second))
		assert.Equal(t, own, in())
	})
}

// A kind that is told another limit puts those in doubt that were told the same. Those that wait are routed
// again then: else one that comes later has another scope, and goes first.
func TestDoubtMovesThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, dry := range []bool{true, false} {
			var told toldKinds
			const tight, one, other = kindKey(1), kindKey(2), kindKey(3)
			note := func(kind kindKey, limit int64) bool { return told.note("s", kind, toldLimit+limit, false) }
			told.several.Store(true)
			told.limits.changes = maxChanges // else they are apart at once
			note(other, 100)
			for range 2 {
				note(tight, 5)
				note(one, 600)
				note(other, 600)
			}
			if dry {
				assert.True(t, told.noteUsedUp("s", toldLimit+5, time.Now().Add(10*time.Second)))
			}
			before, _, _ := told.narrow("s", one)
			assert.Equal(t, dry, note(other, 100))
			after, _, _ := told.narrow("s", one)
			assert.Equal(t, dry, before != after)
			assert.Equal(t, "s", after)
		}
	})
}

// Whatever gives a kind another scope reports that requests have moved: else those that wait go after those
// that come later.
func TestToldKindsTellThatTheyMove(t *testing.T) {
	const kinds, second = 4, time.Second
	for seed := range uint64(2000) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var told toldKinds
			told.several.Store(true)
			told.limits.changes, told.silence.changes = rnd.IntN(maxChanges+1), rnd.IntN(maxChanges+1)
			whats := []int64{toldNothing, toldLimit + 5, toldLimit + 7, toldLimit + 600, toldNames}
			var usual [kinds]int64
			for i := range usual {
				usual[i] = whats[rnd.IntN(len(whats)-1)]
			}
			scopes := func() (all [2 * kinds]string) {
				for i := range all {
					all[i], _, _ = told.narrow("st"[i%2:i%2+1], kindKey(i/2))
				}
				return all
			}
			for step := range 60 {
				scope, of := "st"[rnd.IntN(2):][:1], rnd.IntN(kinds)
				what, kind, before, moved := usual[of], kindKey(of), scopes(), false
				if rnd.IntN(12) == 0 {
					what = whats[rnd.IntN(len(whats))]
				}
				narrow, _, trial := told.narrow(scope, kind)
				switch rnd.IntN(10) {
				case 0:
					if rnd.IntN(3) == 0 {
						narrow = scope
					}
					pause := time.Duration(rnd.IntN(3)) * second
					moved = told.hold(scope, kind, narrow, time.Now(), pause, pause+time.Duration(1+rnd.IntN(3))*second)
				case 1:
					moved = told.noteUsedUp(scope, what, time.Now().Add(time.Duration(1+rnd.IntN(5))*second))
				case 2:
					if trial {
						moved = told.endTrial(kindOfScope{scope, kind}, what, rnd.IntN(2) == 0, rnd.IntN(2) == 0)
					}
				case 3:
					time.Sleep(time.Duration(rnd.IntN(4)) * second)
				default:
					moved = told.note(scope, kind, what, rnd.IntN(6) == 0)
				}
				if after := scopes(); after != before {
					require.True(t, moved, "seed %d, step %d: %q, then %q", seed, step, before, after)
				}
			}
		})
	}
}

// What kinds are told takes up memory of the kinds of the origin, and at most half of that.
func TestToldKindsAreBounded(t *testing.T) {
	const most = 10 * accountBytes
	var all atomic.Int64
	d := newDirectory(&quota.Accounts{MaxAccounts: 10 * kindsPart}, "https://api.example")
	d.kindsOfAll = &all
	for i := range 1000 {
		scope := strings.Repeat("s", i%50)
		if i%3 == 0 {
			d.told.hold(scope, kindKey(i), scope, time.Now(), 0, time.Hour)
		} else {
			d.told.note(scope, kindKey(i), toldLimit+int64(i), false)
		}
		d.weighTold()
		sum := 0
		for of, k := range d.told.kinds {
			sum += k.bytes(of)
		}
		require.Equal(t, sum, d.told.bytes)
		require.Equal(t, sum, d.kindBytes)
		require.EqualValues(t, sum, all.Load())
		require.LessOrEqual(t, sum, most/2)
	}
	assert.Greater(t, len(d.told.kinds), 2)
	all.Add(1 << 30) // other origins
	d.weighTold()    // the bound is another one, although this origin's kinds are the same
	d.told.note(strings.Repeat("s", 60), 1, toldNothing, false)
	d.weighTold()
	assert.LessOrEqual(t, d.told.bytes, defaultMaxTotal/kindsPart*accountBytes/2/maxDirectories/2)
	all.Add(-1 << 30)
	d.drop()
	assert.Zero(t, all.Load())
	d.told.note("another", 1, toldNothing, false)
	d.weighTold()
	assert.Zero(t, all.Load(), "it is not used any more")
}

// While a limit is used up, kinds that are always told another one, or nothing, have a scope of their own:
// they try whether they need it. One that is refused waits until it was told the same for twice as
// long.
func TestTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told toldKinds
		const tight, wide, free, mixed = kindKey(1), kindKey(2), kindKey(3), kindKey(4)
		const few, many = toldLimit + 5, toldLimit + 600
		tries := func(kind kindKey) bool {
			scope, silent, trial := told.narrow("s", kind)
			assert.Equal(t, trial, scope != "s")
			assert.Equal(t, trial && kind == free, silent)
			return trial
		}
		note := func(kind kindKey, what int64) bool { return told.note("s", kind, what, false) }
		told.several.Store(true)
		told.meet("s", tight, few)
		told.limits.changes, told.silence.changes = maxChanges, maxChanges // else they are apart at once
		for range 2 {
			note(wide, many)
			note(free, toldNothing)
		}
		note(mixed, many)
		note(mixed, few)
		note(mixed, many)
		now := time.Now()
		assert.False(t, tries(wide), "nothing is used up")
		assert.True(t, told.noteUsedUp("s", few, now.Add(10*time.Second)))
		assert.True(t, tries(wide))
		assert.True(t, tries(free))
		assert.False(t, tries(tight), "it is told that limit")
		assert.False(t, tries(mixed), "it is told several")
		assert.False(t, tries(9), "nothing is known of it")
		scope, _, _ := told.narrow("another", wide)
		assert.Equal(t, "another", scope)

		assert.True(t, told.endTrial(kindOfScope{"s", wide}, toldNothing, false, true))
		assert.False(t, tries(wide), "it was refused")
		assert.True(t, tries(free))
		for range 3 {
			assert.False(t, note(wide, many))
		}
		assert.False(t, tries(wide))
		assert.True(t, note(wide, many), "those that wait try")
		assert.True(t, tries(wide), "it was told the same for twice as long")
		turns := told.limits.turns
		assert.False(t, told.endTrial(kindOfScope{"s", wide}, many, true, true), "refused by its own limit")
		assert.Equal(t, turns+1, told.limits.turns)

		assert.True(t, told.noteUsedUp("s", many, now.Add(5*time.Second)))
		assert.False(t, tries(wide), "its own is used up, too")
		assert.True(t, tries(tight) == false && tries(free))
		assert.False(t, told.noteUsedUp("s", many, now.Add(6*time.Second)), "for longer")
		time.Sleep(5 * time.Second)
		assert.False(t, note(mixed, many))
		time.Sleep(time.Second)
		assert.True(t, note(mixed, many))
		assert.True(t, tries(wide))
		time.Sleep(4 * time.Second)
		assert.True(t, note(mixed, many))
		assert.False(t, tries(wide) || tries(free), "it is over")

		assert.True(t, told.noteUsedUp("s", toldUnknown, now.Add(20*time.Second)))
		assert.False(t, tries(wide), "that may concern all that are told a limit")
		assert.True(t, tries(free))
		for i := range 2 * maxUsedUp {
			told.noteUsedUp(strconv.Itoa(i), few, now.Add(20*time.Second))
			told.noteUsedUp("s", few+int64(i), now.Add(20*time.Second))
		}
		assert.LessOrEqual(t, len(told.usedUp), maxUsedUp)
		for _, of := range told.usedUp {
			assert.LessOrEqual(t, len(of), maxUsedUp)
		}
	})
}

// Two kinds are told different limits, each always the same. Then each has a scope of its own, and
// kinds of which nothing is known have that of the larger limit. So few answers do not show it if one
// is told another limit.
func TestLimitsApart(t *testing.T) {
	var told toldKinds
	told.several.Store(true)
	told.meet("s", 1, toldLimit+5)
	assert.False(t, told.note("s", 2, toldLimit+600, false))
	assert.True(t, told.note("s", 2, toldLimit+600, false))
	for kind, want := range map[kindKey]string{1: "s" + ofKind + "5", 2: "s" + ofKind + "600", 3: "s" + ofKind + "600"} {
		scope, silent, trial := told.narrow("s", kind)
		assert.Equal(t, want, scope)
		assert.False(t, silent || trial)
	}
	assert.True(t, told.note("s", 1, toldLimit+600, false), "one account")
	scope, _, _ := told.narrow("s", 2)
	assert.Equal(t, "s", scope)
	answers := 0
	for apart := false; !apart && answers < 20; answers++ {
		told.note("another", 4, toldLimit+5, false)
		if apart = told.note("s", 2, toldLimit+600, false); !apart {
			apart = told.note("s", 3, toldLimit+5, false)
		}
	}
	assert.Equal(t, 3, answers, "four answers, the first of which only shows that there is another kind")
}

// If a kind is told another limit than before, so may others be with which it has one account: that
// they were told the one before shows nothing until they are told it again.
func TestLimitOfAllKindsChanges(t *testing.T) {
	var told toldKinds
	told.several.Store(true)
	const before, now = toldLimit + 100, toldLimit + 10
	told.meet("another", 3, before)
	told.meet("s", 1, before)
	told.meet("s", 2, before)
	for range 1 << maxChanges * sureTurns {
		assert.False(t, told.note("s", 1, now, false))
	}
	scope, _, _ := told.narrow("s", 1)
	assert.Equal(t, "s", scope)
	assert.True(t, told.kinds[kindOfScope{"another", 3}].sure.apart)
	moved := false
	for range 2 * sureTurns {
		moved = told.note("s", 2, before, false) || moved
		moved = told.note("s", 1, now, false) || moved
	}
	assert.True(t, moved, "two accounts")
	scope, _, _ = told.narrow("s", 1)
	assert.Equal(t, "s"+ofKind+"10", scope)
}

// A kind that a Retry-After of its own holds does not look whether a quota concerns it, although it was told nothing so far.
func TestHeldKindDoesNotLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told toldKinds
		const kind, other = kindKey(1), kindKey(2)
		told.look.dry = map[string]*dryScope{"s": {looksIn: "look"}}
		in := func(kind kindKey) string {
			in, _ := told.lookIn("s", kind)
			return in
		}
		told.note("s", kind, toldNothing, false)
		assert.Equal(t, "look", in(kind))
		told.hold("s", kind, "s", time.Now(), time.Second, time.Second)
		assert.Empty(t, in(kind))
		assert.Equal(t, "look", in(other))
		time.Sleep(time.Second)
		told.note("s", other, toldNothing, false) // ends holds
		assert.Equal(t, "look", in(kind))
	})
}
