package wait_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota/internal/wait"
)

func claimsOf(gs ...*turnstile) (cs []wait.Claim) {
	for _, g := range gs {
		cs = append(cs, wait.Claim{Constraint: g, Units: 1})
	}
	return cs
}

func TestMutexesAreTakenByRankInWhateverOrderClaimsStand(t *testing.T) {
	a, b, c := newTurnstile(1, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
	orders := [][]*turnstile{{a, b, c}, {c, b, a}, {b, c, a}}
	var wg sync.WaitGroup
	for _, order := range orders {
		wg.Go(func() { // would block for ever if orders differed
			for range 2000 {
				cs := claimsOf(order...)
				wait.Lock(cs)
				for _, g := range order {
					assert.False(t, g.mutex.TryLock())
				}
				wait.Unlock(cs)
			}
		})
	}
	wg.Wait()
	for _, g := range orders[0] {
		assert.True(t, g.mutex.TryLock())
		g.mutex.Unlock()
	}
}

// A mutex that is locked keeps those of higher rank from being taken.
func TestTheLowestRankIsTakenFirst(t *testing.T) {
	a, b, c := newTurnstile(1, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
	for _, order := range [][]*turnstile{{a, b, c}, {c, b, a}, {b, c, a}} {
		cs := claimsOf(order...)
		begun, locked := make(chan bool), make(chan bool)
		a.mutex.Lock()
		go func() {
			close(begun)
			wait.Lock(cs)
			close(locked)
		}()
		<-begun
		for range 1000 {
			runtime.Gosched()
			for _, g := range []*turnstile{b, c} {
				if !g.mutex.TryLock() {
					t.Fatal("taken before the lowest")
				}
				g.mutex.Unlock()
			}
		}
		a.mutex.Unlock()
		<-locked
		wait.Unlock(cs)
	}
}

func TestMutexThatIsSharedIsTakenOnce(t *testing.T) {
	first := new(wait.Mutex) // of rank 0
	a, b, c := newTurnstile(1, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
	a.mutex, b.mutex = first, first
	for _, cs := range [][]wait.Claim{claimsOf(a, b, c), claimsOf(c, a, b)} {
		wait.Lock(cs)
		assert.False(t, first.TryLock())
		assert.False(t, c.mutex.TryLock())
		wait.Unlock(cs)
		assert.True(t, first.TryLock())
		assert.True(t, c.mutex.TryLock())
		first.Unlock()
		c.mutex.Unlock()
	}
}
