package wait_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
)

// A waiter that had its turn at a, and then waits for b, keeps its unit of a for
// an eighth of the time that it has waited. Nothing is kept from work that leaves
// enough for it, or that goes before it.
func TestUnitsAreKeptForAnEighthOfTheWait(t *testing.T) {
	for name, tt := range map[string]struct {
		late  time.Duration // when b has room, after a
		solo  wait.Options
		room  int64         // of a
		last  bool          // of a
		after time.Duration // when the solo goes, after a has room
		both  time.Duration // when the waiter goes, after a has room; 0: not
	}{
		"in time":         {sec, patient, 1, false, mins, sec},
		"too late":        {3 * sec, patient, 1, false, 2 * sec, 0},
		"room for two":    {sec, patient, 2, false, 0, sec},
		"perhaps for two": {sec, patient, 2, true, sec + 1, sec},
		"priority":        {sec, priority(1), 1, false, 0, 0},
		"no longer than":  {2 * sec, patient, 1, false, 2 * sec, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
				both := come(t, append(a.claim(1), b.claim(1)...), patient)
				b.locked(func() { b.room = 0 })
				time.Sleep(16 * sec)
				a.last = tt.last
				a.let(tt.room)
				synctest.Wait()
				began := time.Now()
				solo := come(t, a.claim(1), tt.solo)
				time.AfterFunc(tt.late+1, func() { b.let(1) })
				time.Sleep(mins)
				synctest.Wait()
				if tt.after < mins {
					require.True(t, solo.granted())
					assert.Equal(t, tt.after, solo.after)
				} else {
					assert.False(t, solo.done.Load())
				}
				assert.Equal(t, tt.both > 0, both.granted())
				if tt.both > 0 {
					assert.Equal(t, 16*sec+tt.both+1, both.after)
				}
				assert.Equal(t, mins, time.Since(began))
				solo.left()
				both.left()
				a.noTrace(t)
				b.noTrace(t)
			})
		})
	}
}

// Nothing is kept that would be over at the instant at which the other constraint grants
// the waiter.
func TestNothingIsKeptInVain(t *testing.T) {
	for late, kept := range map[time.Duration]bool{2*sec - 1: true, 2 * sec: false} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
			both := come(t, append(a.claim(1), b.claim(1)...), patient)
			b.locked(func() { b.room, b.again = 0, time.Now().Add(16*sec+late) })
			time.Sleep(16 * sec)
			a.let(1)
			synctest.Wait()
			solo := come(t, a.claim(1), patient)
			assert.Equal(t, !kept, solo.done.Load(), "%v", late)
			solo.left()
			both.left()
			a.noTrace(t)
			b.noTrace(t)
		})
	}
}

// Nothing is kept once there is enough for both, and who waits for that looks then. So it
// is where there may be enough, and that becomes certain.
func TestUnitsAreKeptUntilThereIsEnoughForBoth(t *testing.T) {
	for _, perhaps := range []bool{false, true} {
		for there, after := range map[time.Duration]time.Duration{sec: sec, 3 * sec: 2 * sec} {
			synctest.Test(t, func(t *testing.T) {
				a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
				both := come(t, append(a.claim(1), b.claim(1)...), patient)
				b.locked(func() { b.room = 0 })
				time.Sleep(16 * sec)
				a.let(1)
				synctest.Wait()
				a.locked(func() {
					if at := time.Now().Add(there); perhaps {
						a.room, a.last, a.recheck = 2, true, at
					} else {
						a.again = at
					}
				})
				time.AfterFunc(there-1, func() { a.locked(func() { a.room, a.last, a.recheck = 2, false, time.Time{} }) })
				solo := come(t, a.claim(1), patient)
				time.Sleep(mins)
				require.True(t, solo.granted())
				assert.Equal(t, after, solo.after, perhaps)
				solo.left()
				both.left()
				a.noTrace(t)
				b.noTrace(t)
			})
		}
	}
}

// What is kept is free when the waiter gives up.
func TestUnitsAreKeptNoLongerThanTheirWaiterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
		both := come(t, append(a.claim(1), b.claim(1)...), patient)
		b.locked(func() { b.room = 0 })
		time.Sleep(mins)
		a.let(1)
		solo := come(t, a.claim(1), patient)
		assert.False(t, solo.done.Load())
		both.left()
		synctest.Wait()
		require.True(t, solo.granted())
		assert.Zero(t, solo.after)
		a.noTrace(t)
		b.noTrace(t)
	})
}
