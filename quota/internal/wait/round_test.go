package wait

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// woken returns the indexes of the waiters that were woken and have not looked.
func woken(ws []*Waiter) (indexes []int) {
	for i, w := range ws {
		if len(w.ready) > 0 {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// A guarded is a constraint that has a mutex and nothing else.
type guarded struct {
	Constraint
	mutex Mutex
}

func (g *guarded) Mutex() *Mutex { return &g.mutex }

// A granting is a constraint that grants everything.
type granting struct {
	Constraint
	round *Round
}

func (g *granting) Look(time.Time, int64) Decision { return Decision{OK: true} }
func (g *granting) Line() *Line                    { return nil }
func (g *granting) Round() *Round                  { return g.round }

// newWaiter returns one of that ticket, in a line of c.
func newWaiter(c Constraint, ticket int) *Waiter {
	return &Waiter{ready: make(chan struct{}, 1), ticket: uint64(ticket), line: &Line{constraint: c}}
}

func newRound(n int) (*Round, []*Waiter) {
	r, ws, c := new(Round), make([]*Waiter, n), new(guarded)
	for i := range ws {
		ws[i] = newWaiter(c, i+1)
		r.add(ws[i])
	}
	return r, ws
}

// requireOver fails the test if a waiter is left, or a round is on.
func (r *Round) requireOver(t *testing.T) {
	t.Helper()
	require.Equal(t, Round{ends: r.ends, debt: r.debt}, *r)
}

// lookAll has the waiters look that were woken, until there are none, and returns how
// often each of them looked.
func lookAll(t *testing.T, r *Round, ws []*Waiter) []int {
	looked := make([]int, len(ws))
	for range 10 * len(ws) {
		is := woken(ws)
		if len(is) == 0 {
			return looked
		}
		assert.Len(t, is, 1, "more than one was woken at a time")
		<-ws[is[0]].ready
		looked[is[0]]++
		r.looked(ws[is[0]])
	}
	t.Fatal("the round does not end")
	return nil
}

// Beginning a round wakes one waiter only, however many there are; each of the
// others is woken by the one before.
func TestRound(t *testing.T) {
	run := func(name string, test func(t *testing.T)) {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
	run("nobody waits", func(t *testing.T) {
		r, _ := newRound(0)
		r.Begin()
		r.requireOver(t)
	})
	run("all look once", func(t *testing.T) {
		r, ws := newRound(5)
		r.Begin()
		assert.Equal(t, []int{0}, woken(ws))
		assert.Equal(t, []int{1, 1, 1, 1, 1}, lookAll(t, r, ws))
		r.Begin()
		assert.Equal(t, []int{1, 1, 1, 1, 1}, lookAll(t, r, ws))
	})
	run("begun again", func(t *testing.T) {
		r, ws := newRound(3)
		r.Begin()
		<-ws[0].ready
		r.looked(ws[0])
		r.Begin()
		r.Begin()
		assert.Equal(t, []int{1, 2, 2}, lookAll(t, r, ws))
	})
	run("some leave", func(t *testing.T) {
		r, ws := newRound(5)
		r.Begin()
		r.remove(ws[0]) // whose turn it is
		r.remove(ws[3])
		assert.Equal(t, []int{0, 1}, woken(ws))
		<-ws[0].ready
		assert.Equal(t, []int{0, 1, 1, 0, 1}, lookAll(t, r, ws))
		for _, i := range []int{4, 1, 2} {
			r.remove(ws[i])
		}
		r.requireOver(t)
	})
	run("who came first looks first", func(t *testing.T) {
		// The second and the fourth have come from lines of other rounds.
		r, ws, c := new(Round), make([]*Waiter, 5), new(guarded)
		for _, i := range []int{0, 2, 1, 4, 3} {
			ws[i] = newWaiter(c, i+1)
			r.add(ws[i])
		}
		r.Begin()
		for i, w := range ws {
			require.Equal(t, []int{i}, woken(ws))
			<-w.ready
			r.looked(w)
			r.remove(w) // it moves to another line
			r.add(w)
		}
		assert.Empty(t, woken(ws))
		r.Begin()
		<-ws[0].ready
		r.looked(ws[0])
		late := newWaiter(c, 1)
		r.add(late) // before the next, and it has just looked
		r.remove(ws[2])
		r.add(ws[2]) // it has looked before its turn, and looks once more
		assert.Equal(t, []int{0, 1, 1, 1, 1, 0}, lookAll(t, r, append(ws, late)))
		for _, w := range append(ws, late) {
			r.remove(w)
		}
		r.requireOver(t)
	})
	run("one moves to another line", func(t *testing.T) {
		// It has looked, and is not woken again in this round.
		r, ws := newRound(3)
		r.Begin()
		<-ws[0].ready
		r.looked(ws[0])
		r.remove(ws[0])
		r.add(ws[0])
		assert.Equal(t, []int{0, 1, 1}, lookAll(t, r, ws))
		r.Begin()
		assert.Equal(t, []int{1, 1, 1}, lookAll(t, r, ws))
	})
	run("one whose functions hang loses its turn", func(t *testing.T) {
		r, ws := newRound(4)
		m := ws[0].line.constraint.Mutex()
		m.Lock()
		r.Begin()
		for i := range 2 { // each has a turn of its own
			require.Equal(t, []int{i}, woken(ws[:i+1]))
			<-ws[i].ready
			m.Unlock()
			time.Sleep(maxTurn - 1)
			m.Lock()
			require.Empty(t, woken(ws))
			m.Unlock()
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			m.Lock()
		}
		require.Equal(t, []int{2}, woken(ws))
		r.looked(ws[0]) // its turn is over
		require.Equal(t, []int{2}, woken(ws))
		assert.Equal(t, []int{0, 0, 1, 1}, lookAll(t, r, ws))
		r.Begin()
		assert.Equal(t, []int{1, 1, 1, 1}, lookAll(t, r, ws))
		for _, w := range ws {
			r.remove(w)
		}
		r.requireOver(t)
		m.Unlock()
	})
	run("the last one leaves, and another round follows", func(t *testing.T) {
		r, ws := newRound(1)
		r.Begin()
		r.Begin()
		r.remove(ws[0])
		r.requireOver(t)
	})
	run("what is owed", func(t *testing.T) {
		r, ws := newRound(3)
		owed := func() (owed []bool) {
			for _, w := range append(ws, nil) {
				owed = append(owed, !r.owes(w).IsZero())
			}
			return owed
		}
		none := []bool{false, false, false, false}
		assert.Equal(t, none, owed())
		r.Begin()
		assert.Equal(t, []bool{false, true, true, false}, owed())
		r.looked(ws[0])
		assert.Equal(t, []bool{false, false, true, false}, owed())
		r.remove(ws[1])
		assert.Equal(t, none, owed())
		r.looked(ws[2])
		assert.Equal(t, none, owed())
		assert.Zero(t, (*Round)(nil).owes(ws[0]))
	})
	run("who waits for a round goes sooner than when the round has to be over", func(t *testing.T) {
		r, ws := newRound(3)
		m := ws[0].line.constraint.Mutex()
		m.Lock()
		defer m.Unlock()
		r.Begin()
		now := time.Now()
		v := decide([]Claim{{Constraint: &granting{round: r}, Units: 1}}, now, ws[2], 0)
		assert.Equal(t, now.Add(maxTurn), v.Again)
		assert.False(t, v.tooLate(now.Add(time.Millisecond)), "it may have its turn before")
		m.Unlock()
		time.Sleep(maxTurn)
		synctest.Wait()
		m.Lock()
		require.Equal(t, []int{0, 1}, woken(ws))
		assert.Zero(t, r.owes(ws[2]), "the second does not delay it, too")
		for _, w := range ws {
			r.remove(w)
		}
	})
}
