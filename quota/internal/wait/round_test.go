package wait

import (
	"testing"

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

func newRound(n int) (*Round, []*Waiter) {
	r, ws := new(Round), make([]*Waiter, n)
	for i := range ws {
		ws[i] = &Waiter{ready: make(chan struct{}, 1)}
		r.add(ws[i])
	}
	return r, ws
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
	t.Run("nobody waits", func(t *testing.T) {
		r, _ := newRound(0)
		r.Begin()
		assert.Equal(t, Round{number: 1}, *r)
	})
	t.Run("all look once", func(t *testing.T) {
		r, ws := newRound(5)
		r.Begin()
		assert.Equal(t, []int{0}, woken(ws))
		assert.Equal(t, []int{1, 1, 1, 1, 1}, lookAll(t, r, ws))
		r.Begin()
		assert.Equal(t, []int{1, 1, 1, 1, 1}, lookAll(t, r, ws))
	})
	t.Run("begun again", func(t *testing.T) {
		r, ws := newRound(3)
		r.Begin()
		<-ws[0].ready
		r.looked(ws[0])
		r.Begin()
		r.Begin()
		assert.Equal(t, []int{1, 2, 2}, lookAll(t, r, ws))
	})
	t.Run("some leave", func(t *testing.T) {
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
		assert.Equal(t, Round{number: 1}, *r)
	})
	t.Run("who came first looks first", func(t *testing.T) {
		// The second and the fourth have come from lines of other rounds.
		r, ws := new(Round), make([]*Waiter, 5)
		for _, i := range []int{0, 2, 1, 4, 3} {
			ws[i] = &Waiter{ready: make(chan struct{}, 1), ticket: uint64(i + 1)}
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
		late := &Waiter{ready: make(chan struct{}, 1), ticket: 1}
		r.add(late) // before the next, and it has just looked
		r.remove(ws[2])
		r.add(ws[2])
		assert.Equal(t, []int{0, 1, 0, 1, 1, 0}, lookAll(t, r, append(ws, late)))
		for _, w := range append(ws, late) {
			r.remove(w)
		}
		assert.Equal(t, Round{number: 2}, *r)
	})
	t.Run("one moves to another line", func(t *testing.T) {
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
}
