package quota

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGuardsAreTakenByRankInWhateverOrderClaimsStand(t *testing.T) {
	a, b, c := concurrencyOf(t, 1), concurrencyOf(t, 1), concurrencyOf(t, 1)
	orders := [][]gate{
		{&a.limiterCore, &b.limiterCore, &c.limiterCore}, {&c.limiterCore, &b.limiterCore, &a.limiterCore}, {&b.limiterCore, &c.limiterCore, &a.limiterCore},
	}
	var wg sync.WaitGroup
	for _, order := range orders {
		wg.Go(func() { // would block for ever if orders differed
			for range 2000 {
				var cs claims
				cs.addAll(order, 1)
				lock(cs.all())
				for _, g := range order {
					assert.False(t, g.guarded().TryLock())
				}
				unlock(cs.all())
			}
		})
	}
	wg.Wait()
	for _, g := range orders[0] {
		assert.True(t, g.guarded().TryLock())
		g.guarded().Unlock()
	}
}

func TestGuardThatIsSharedIsTakenOnce(t *testing.T) {
	o := new(Accounts).Origin("a")
	s := o.scope(0, "")
	a := concurrencyOf(t, 1)
	var cs claims
	cs.addAll([]gate{&o.root, &s.base, &a.limiterCore}, 1)
	lock(cs.all())
	unlock(cs.all())
	assert.True(t, o.guard.TryLock())
}

func TestClaimsKeepTheirMemory(t *testing.T) {
	a := concurrencyOf(t, 1)
	var cs claims
	for range 20 {
		cs.add(&a.limiterCore, 1)
	}
	assert.Len(t, cs.all(), 20)
	cs.truncate(3)
	assert.Len(t, cs.all(), 3)
	cs.truncate(1)
	assert.Equal(t, []claim{{gate: &a.limiterCore, units: 1}}, cs.all())
	cs.reset()
	assert.Empty(t, cs.all())
	cs.add(&a.limiterCore, 2)
	assert.Equal(t, []claim{{gate: &a.limiterCore, units: 2}}, cs.all())
	for _, c := range cs.list[1:cap(cs.list)] {
		assert.Nil(t, c.gate, "nothing is kept alive")
	}
}
