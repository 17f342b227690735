package quota

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line that nobody stands in any more is gone, and its timer does not ring.
func TestNoTimerIsLeft(t *testing.T) {
	for _, how := range []string{"granted", "gave up", "closed", "pushed out"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, err := NewFixedWindow(FixedWindowOptions{Permits: 1, Window: period, Queue: Queue{Order: NewestFirst, Limit: 1}})
				require.NoError(t, err)
				lease := take(t, l, 1)
				ctx, cancel := context.WithCancel(t.Context())
				r := acquiring(ctx, l, 1)
				line := l.line
				require.False(t, line.armed.IsZero())
				switch how {
				case "granted":
					lease.Cancel()
				case "gave up":
					cancel()
				case "closed":
					l.Close()
				case "pushed out":
					acquiring(ctx, l, 1)
					assert.Same(t, line, l.line)
					cancel()
				}
				assert.False(t, r.waiting())
				assert.Nil(t, l.line)
				assert.True(t, line.armed.IsZero())
				assert.False(t, line.timer.Stop(), "it was stopped")
				cancel()
			})
		})
	}
}

func TestPriorityGoesBeforeArrival(t *testing.T) {
	old, young, high := &waiter{ticket: 1}, &waiter{ticket: 2}, &waiter{ticket: 3, priority: 1}
	assert.True(t, old.before(young, false))
	assert.False(t, young.before(old, false))
	assert.True(t, young.before(old, true))
	for _, newest := range []bool{false, true} {
		assert.True(t, high.before(old, newest))
		assert.False(t, old.before(high, newest))
	}
	l := &line{waiters: waiters{ws: []*waiter{young}}}
	assert.False(t, l.lets(nil, 0))
	assert.True(t, l.lets(nil, 1))
	assert.True(t, l.lets(young, 0))
	assert.True(t, l.lets(old, 0))
	l.newest = true
	assert.True(t, l.lets(nil, 0))
	assert.False(t, l.lets(nil, -1))
	assert.False(t, l.lets(old, 0))
	assert.True(t, (*line)(nil).lets(nil, 0))
}

// Who has a higher priority is not pushed out by who has a lower one.
func TestPushingOutBeginsWithWhoGoesLast(t *testing.T) {
	l, err := NewConcurrency(ConcurrencyOptions{Permits: 9, Queue: Queue{Order: NewestFirst, Limit: 4}})
	require.NoError(t, err)
	enters := func(ticket uint64, priority int, units int64) (*waiter, bool) {
		w := &waiter{ready: make(chan struct{}, 1), ticket: ticket, priority: priority, units: units}
		return w, enter(&l.limiterCore, w)
	}
	high, ok := enters(1, 1, 2)
	require.True(t, ok)
	low, ok := enters(2, 0, 2)
	require.True(t, ok)
	_, ok = enters(3, 0, 3)
	assert.False(t, ok, "only 2 go after it")
	assert.NotNil(t, low.line, "nobody is pushed out in vain")
	_, ok = enters(4, 0, 2)
	assert.True(t, ok)
	assert.Nil(t, low.line)
	assert.Len(t, low.ready, 1, "and is told")
	assert.NotNil(t, high.line)
	assert.EqualValues(t, 4, l.Stats().Queued)
}

// Who was told to look and is pushed out before it does cannot pass the wake on.
func TestPushingOutTheWokenWakesTheNext(t *testing.T) {
	l, err := NewConcurrency(ConcurrencyOptions{Permits: 1, Queue: Queue{Order: NewestFirst, Limit: 1}})
	require.NoError(t, err)
	woken := &waiter{ready: make(chan struct{}, 1), ticket: 1, units: 1}
	next := &waiter{ready: make(chan struct{}, 1), ticket: 2, units: 1}
	require.True(t, enter(&l.limiterCore, woken))
	assert.Same(t, woken, l.line.kick(time.Now()))
	assert.Nil(t, l.line.kick(time.Now()), "it will look")
	require.True(t, enter(&l.limiterCore, next))
	assert.False(t, woken.come())
	assert.Same(t, next, l.line.kick(time.Now()))
}

// The heaps agree with each other, whoever comes and goes.
func TestLineIsInOrder(t *testing.T) {
	for _, order := range []Order{OldestFirst, NewestFirst} {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 5))
		l, err := NewConcurrency(ConcurrencyOptions{Permits: 1, Queue: Queue{Order: order, Limit: -1}})
		require.NoError(t, err)
		in := map[*waiter]bool{}
		for i := range 2000 {
			if len(in) > 0 && rnd.IntN(3) == 0 {
				for w := range in {
					delete(in, w)
					leave(w, time.Now())
					break
				}
			} else {
				w := &waiter{ready: make(chan struct{}, 1), ticket: uint64(i), priority: rnd.IntN(3)}
				require.True(t, enter(&l.limiterCore, w))
				in[w] = true
			}
			for w := range in {
				f := l.line.first()
				require.True(t, w == f || f.before(w, l.line.newest), "seed %d", seed)
				if l.line.newest {
					last := l.line.last.ws[0]
					require.True(t, w == last || w.before(last, true), "seed %d", seed)
				}
			}
		}
		for w := range in {
			leave(w, time.Now())
		}
		assert.Nil(t, l.line)
	}
}
