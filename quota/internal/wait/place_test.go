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
