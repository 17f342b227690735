package transport

import (
	"math"
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
		scope, silent := told.narrow("s", free)
		assert.Equal(t, "s"+ofKind, scope)
		assert.True(t, silent)

		assert.True(t, told.hold("s", free, "s", time.Now().Add(4*time.Second)), "requests have another scope at once")
		assert.False(t, told.hold("s", free, "s", time.Now().Add(5*time.Second)), "it lasts longer")
		assert.False(t, told.hold("s", other, "s", time.Now().Add(9*time.Second)))
		time.Sleep(5*time.Second - 1)
		assert.False(t, told.note("s", limited, toldLimit+10, false))
		time.Sleep(time.Second)
		scope, silent = told.narrow("s", free)
		assert.Equal(t, "s", scope)
		assert.False(t, silent)

		assert.True(t, told.note("s", limited, toldLimit+10, false), "those that wait are routed again")
		scope, silent = told.narrow("s", free)
		assert.Equal(t, "s"+ofKind, scope)
		assert.True(t, silent)
		assert.False(t, told.note("s", limited, toldLimit+10, false))
		time.Sleep(4 * time.Second)
		assert.True(t, told.note("s", limited, toldLimit+10, false), "the other hold is over")
	})
}

// One request of a kind tries at a time. After one that was refused, none tries for as long as they
// are held, then for twice as long.
func TestTrials(t *testing.T) {
	var ts trials
	start := time.Now()
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	begin := func(s, until int) uint64 { return ts.begin("s", at(until), at(s)) }

	first := begin(0, 10)
	assert.NotZero(t, first)
	assert.Zero(t, begin(1, 10), "one is out")
	assert.False(t, ts.wake("s", at(1)))
	assert.False(t, ts.end("s", first+1, true, false, at(1)), "another one")
	assert.True(t, ts.end("s", first, true, false, at(2)))

	second := begin(2, 10)
	assert.NotZero(t, second)
	assert.Zero(t, begin(3, 10))
	assert.False(t, ts.end("s", second, false, true, at(4)), "refused")
	assert.Zero(t, begin(5, 100), "for as long as it was held")
	assert.False(t, ts.wake("s", at(9)))
	assert.True(t, ts.wake("s", at(10)))
	assert.False(t, ts.wake("s", at(10)), "nothing waits")

	third := begin(10, 20)
	assert.NotZero(t, third)
	assert.Zero(t, begin(10, 20))
	assert.False(t, ts.end("s", third, false, true, at(15)), "refused again")
	assert.Zero(t, begin(16, 100))
	assert.False(t, ts.wake("s", at(24)), "twice as long")
	assert.True(t, ts.wake("s", at(25)))

	assert.NotZero(t, begin(26, 100))
	assert.Zero(t, begin(27, 100))
	assert.False(t, ts.wake("s", at(35)))
	assert.True(t, ts.wake("s", at(36)), "it was lost")
	assert.NotZero(t, begin(36, 40))
	assert.False(t, ts.wake("s", at(40)), "the hold is over")
	assert.Empty(t, ts.holds)
	assert.NotZero(t, begin(50, 60))
	assert.NotZero(t, begin(61, 70), "of another hold")

	for i := range 2 * maxTrialHolds {
		ts.begin(strconv.Itoa(i), at(100), at(70))
	}
	assert.LessOrEqual(t, len(ts.holds), maxTrialHolds)
}

// After a trial that was refused none begins for as long as requests are held, also where the clock
// was not read before, and if that is for hundreds of years.
func TestRefusedTrial(t *testing.T) {
	for _, hold := range []time.Duration{10 * time.Second, math.MaxInt64} {
		var told toldKinds
		for range 2 {
			now := time.Now()
			told.trials.pause = time.Time{}
			trial := told.beginTrial("s", now.Add(hold), now)
			assert.NotZero(t, trial)
			told.endTrial("s", trial, false, true, time.Time{})
			assert.Zero(t, told.beginTrial("s", now.Add(hold), now.Add(5*time.Second)), hold)
			delete(told.trials.holds, "s")
		}
	}
}

// Only the first of a kind may try, whenever it was put in line; of two priorities, the higher is
// first.
func TestOnlyTheFirstTries(t *testing.T) {
	start := time.Now()
	kind, another := kindOfScope{"s", 1}, kindOfScope{"s", 2}
	told := toldKinds{kinds: map[kindOfScope]toldKind{kind: {what: toldNothing, silent: true}, another: {what: toldNothing, silent: true}}}
	place := func(priority, s int) *trialPlace {
		return &trialPlace{priority: priority, came: start.Add(time.Duration(s) * time.Second)}
	}
	may := func(of kindOfScope, p *trialPlace) bool {
		may, _ := told.mayTry(of, 0, p)
		return may
	}
	second, third, first := place(0, 2), place(0, 3), place(0, 1)
	assert.True(t, may(kind, second))
	assert.False(t, may(kind, third))
	assert.True(t, may(kind, first), "it began to wait before all were in line")
	assert.False(t, may(kind, second))
	assert.True(t, may(another, place(0, 9)), "of another kind")

	raised := place(1, 4)
	assert.True(t, may(kind, raised))
	assert.False(t, may(kind, first))
	told.leave(raised)
	told.leave(second)
	assert.False(t, may(kind, third))
	told.leave(first)
	assert.True(t, may(kind, third))
	atOnce := place(0, 3)
	assert.False(t, may(kind, atOnce), "it came at the same instant")

	assert.True(t, may(another, third), "it has moved, to before another one")
	assert.True(t, may(kind, atOnce))
	told.kinds[kind] = toldKind{what: toldNothing, silent: true, until: start}
	held := place(0, 0)
	assert.False(t, may(kind, held), "the kind is held")
	told.kinds[kind] = toldKind{what: toldNothing, silent: true}
	assert.False(t, may(kind, atOnce), "the one that came while it was held is first")
	told.leave(held)
	told.leave(atOnce)

	for i := range 3 * maxTrialHolds {
		of := kindOfScope{strconv.Itoa(i), 0}
		for _, p := range []*trialPlace{place(0, 1), place(0, 2)} {
			told.mayTry(of, 0, p)
			told.leave(p)
		}
	}
	assert.LessOrEqual(t, len(told.trials.line), maxTrialHolds+1)
}

// When a kind is told nothing for the first time, those that wait are put in line. From the second
// time on the first of them may try.
func TestThoseThatWaitAreInLineBeforeTheFirstTries(t *testing.T) {
	var told toldKinds
	told.note("s", 2, toldLimit+5, false)
	assert.True(t, told.note("s", 1, toldNothing, false))
	assert.False(t, told.kinds[kindOfScope{"s", 1}].silent)
	assert.True(t, told.note("s", 1, toldNothing, false))
	assert.True(t, told.kinds[kindOfScope{"s", 1}].silent)
	assert.False(t, told.note("s", 1, toldNothing, false))
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
			d.told.hold(scope, kindKey(i), scope, time.Now().Add(time.Hour))
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
	for i := range 2 {
		d.told.note(strings.Repeat("s", 60+i), 1, toldNothing, false)
		d.weighTold()
	}
	assert.LessOrEqual(t, d.told.bytes, defaultMaxTotal/kindsPart*accountBytes/2/maxDirectories/2)
	all.Add(-1 << 30)
	d.drop()
	assert.Zero(t, all.Load())
	d.told.note("another", 1, toldNothing, false)
	d.weighTold()
	assert.Zero(t, all.Load(), "it is not used any more")
}
