package wait

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// First lists the waiters in the order in which they go, whatever the heap looks like.
func TestFirst(t *testing.T) {
	const seed = 1
	rnd := rand.New(rand.NewPCG(seed, 0))
	for n := range 40 {
		l := &Line{}
		l.byTurn.newest = n%2 == 1
		for i := range n {
			heap.Push(&l.byTurn, &Waiter{ticket: uint64(i), units: int64(i), priority: rnd.IntN(3)})
		}
		want := slices.Clone(l.byTurn.ws)
		slices.SortFunc(want, func(x, y *Waiter) int {
			if x.before(y, l.byTurn.newest) {
				return -1
			}
			return 1
		})
		for _, most := range []int{0, 1, 10, 100} {
			got := l.First(most)
			assert.Len(t, got, min(most, n))
			for i := range got {
				assert.Equal(t, Place{Priority: want[i].priority, Units: want[i].units}, got[i], "seed %d: %d of %d", seed, i, n)
			}
		}
	}
	assert.Nil(t, (*Line)(nil).First(3))
}

// How much waits before a newcomer is known without a look at those that wait: else n
// newcomers took n² steps.
func TestUnitsBeforeLooksAtNoWaiter(t *testing.T) {
	unseen := waiters{ws: make([]*Waiter, 3)} // they are nil, so to look at one would panic
	for _, newest := range []bool{false, true} {
		l := &Line{byTurn: unseen, newest: newest, limit: 10, queued: 9, raised: priorities{1: 2, -1: 3}}
		for priority, want := range map[int]int64{2: 0, 1: 2, 0: 6, -1: 9, -2: 9} {
			if newest {
				want = map[int]int64{2: 0, 1: 0, 0: 2, -1: 6, -2: 9}[priority]
			}
			assert.Equal(t, want, l.unitsBefore(priority), "newest %v, priority %d", newest, priority)
		}
	}
	l := &Line{byTurn: unseen}
	l.raised.add(1, l.places(&Waiter{units: 5}))
	assert.Zero(t, l.unitsBefore(0), "without a limit")
	assert.Empty(t, l.raised, "a priority that nobody has is kept")
}
