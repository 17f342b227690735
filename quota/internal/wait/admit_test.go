package wait_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
)

// All are charged, or none is; a refusal is counted with each.
func TestAllOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTurnstile(3, wait.LineOptions{}), newTurnstile(1, wait.LineOptions{})
		one := come(t, append(b.claim(1), a.claim(2)...), patient)
		require.True(t, one.granted())
		assert.Equal(t, []wait.Claim{
			{Constraint: b, Units: 1, Epoch: 9, Retained: true}, {Constraint: a, Units: 2, Epoch: 9, Retained: true},
		}, one.claims)
		two := come(t, append(a.claim(1), b.claim(1)...), wait.Options{MaxDelay: -1})
		assert.Equal(t, wait.Refusal{By: b, Decision: wait.Decision{Reason: empty, Detail: "empty"}}, two.refusal)
		assert.EqualValues(t, 1, a.room)
		assert.Zero(t, b.room)
		assert.Equal(t, [4]int{0, 1, 1, 0}, [4]int{a.refused, a.apart, b.refused, b.apart})

		waits := come(t, append(a.claim(1), b.claim(1)...), patient)
		assert.EqualValues(t, 1, a.room, "a waiter holds nothing")
		one.claims[0].Release(time.Now())
		synctest.Wait()
		assert.True(t, waits.granted())
		assert.Zero(t, a.room)
		next := come(t, a.claim(2), patient)
		one.claims[1].Cancel(time.Now())
		synctest.Wait()
		assert.True(t, next.granted())
		a.noTrace(t)
		b.noTrace(t)
	})
}

// Of several that refuse, the one that will for longest is waited for.
func TestWaitsForTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(0, wait.LineOptions{})
		a.again, b.again = time.Now().Add(2*sec), time.Now().Add(3*sec)
		c := come(t, append(b.claim(1), a.claim(1)...), patient)
		assert.Nil(t, a.line)
		assert.Equal(t, 1, b.line.Len())
		a.locked(func() { a.room = 1 })
		b.locked(func() { b.room = 1 })
		time.Sleep(mins)
		synctest.Wait()
		assert.True(t, c.granted())
		assert.Equal(t, 3*sec, c.after)
		a.noTrace(t)
		b.noTrace(t)
	})
}

// What cannot be in time is refused at once, with the reason; work that waits is
// refused when its time is over.
func TestTooLate(t *testing.T) {
	for name, tt := range map[string]struct {
		set    func(*turnstile)
		o      wait.Options
		within time.Duration // the deadline of the context; 0: none
		why    wait.Why
		after  time.Duration
	}{
		"no delay":              {func(*turnstile) {}, wait.Options{MaxDelay: -1, MaxQueue: -1}, 0, wait.Refused, 0},
		"for good":              {func(g *turnstile) { g.broken = true }, patient, 0, wait.Refused, 0},
		"longer than MaxDelay":  {func(*turnstile) {}, wait.Options{MaxDelay: 10*sec - 1, MaxQueue: -1}, 0, wait.MaxDelay, 0},
		"past the deadline":     {func(*turnstile) {}, patient, 10*sec - 1, wait.Deadline, 0},
		"both, deadline first":  {func(*turnstile) {}, wait.Options{MaxDelay: 9 * sec, MaxQueue: -1}, 8 * sec, wait.Deadline, 0},
		"both, MaxDelay first":  {func(*turnstile) {}, wait.Options{MaxDelay: 8 * sec, MaxQueue: -1}, 9 * sec, wait.MaxDelay, 0},
		"a line that is full":   {func(*turnstile) {}, wait.Options{MaxDelay: mins, MaxQueue: 1}, 0, wait.QueueFull, 0},
		"in time, and nothing":  {func(*turnstile) {}, wait.Options{MaxDelay: 10 * sec, MaxQueue: -1}, 0, wait.MaxDelay, 10 * sec},
		"an event may help":     {func(g *turnstile) { g.sooner = true }, wait.Options{MaxDelay: 5 * sec, MaxQueue: -1}, 0, wait.MaxDelay, 5 * sec},
		"only an event can":     {func(g *turnstile) { g.again = time.Time{} }, wait.Options{MaxDelay: 5 * sec, MaxQueue: -1}, 0, wait.MaxDelay, 5 * sec},
		"broken while it waits": {func(g *turnstile) { time.AfterFunc(sec, func() { g.locked(func() { g.broken = true }); g.kick() }) }, patient, 0, wait.Refused, sec},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTurnstile(0, wait.LineOptions{})
				g.again = time.Now().Add(10 * sec)
				other := come(t, g.claim(1), patient)
				g.locked(func() { tt.set(g) })
				ctx, cancel := context.WithCancel(t.Context())
				if tt.within > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), tt.within)
				}
				defer cancel()
				wait.Lock(g.claim(1))
				r, waits := wait.Check(ctx, time.Now(), g.claim(1), &tt.o)
				wait.Unlock(g.claim(1))
				c := comeUntil(ctx, cancel, g.claim(1), tt.o)
				assert.Equal(t, tt.after > 0, waits)
				if tt.after == 0 {
					assert.Equal(t, r, c.refusal, "Check says what Admit does")
				}
				time.Sleep(mins)
				synctest.Wait()
				require.True(t, c.done.Load())
				assert.NoError(t, c.err)
				assert.Equal(t, tt.why, c.refusal.Why)
				assert.Equal(t, tt.after, c.after)
				other.left()
				g.noTrace(t)
			})
		})
	}
}

// Nothing is waited for if something beside it is too late, though it may end
// any moment.
func TestTooLateBesideAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(0, wait.LineOptions{})
		a.again, a.sooner, b.again = time.Now().Add(mins), true, time.Now().Add(2*sec)
		c := come(t, append(a.claim(1), b.claim(1)...), wait.Options{MaxDelay: sec, MaxQueue: -1})
		require.True(t, c.done.Load())
		assert.Equal(t, wait.Refusal{
			By: b, Decision: wait.Decision{Again: b.again, Reason: empty, Detail: "empty"}, Why: wait.MaxDelay, Wait: 2 * sec, RetryAfter: 2 * sec,
		}, c.refusal)
	})
}

// A refusal says how long it takes, and when it is worth coming back; to a
// newcomer, not before those in line.
func TestRefusalSaysWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		g.again, g.backlog = time.Now().Add(sec), 3*sec
		c := come(t, g.claim(1), wait.Options{MaxDelay: -1})
		assert.Equal(t, sec, c.refusal.Wait, "nobody is in line")
		assert.Equal(t, sec, c.refusal.RetryAfter)
		first := come(t, g.claim(1), patient)
		c = come(t, g.claim(1), wait.Options{MaxDelay: -1})
		assert.Equal(t, 3*sec, c.refusal.Wait)
		assert.Equal(t, 3*sec, c.refusal.RetryAfter)
		g.again = time.Now().Add(5 * sec)
		c = come(t, g.claim(1), wait.Options{MaxDelay: -1})
		assert.Equal(t, 5*sec, c.refusal.Wait)
		assert.Equal(t, 5*sec, c.refusal.RetryAfter)
		first.left()
		g.noTrace(t)
	})
}

// Force charges what is not there, and never waits. Held is told.
func TestForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		var told []wait.Refusal
		o := wait.Options{Force: true, Held: func(r wait.Refusal) {
			told = append(told, r)
			g.locked(func() {})
		}}
		assert.True(t, come(t, g.claim(2), o).granted())
		assert.EqualValues(t, -2, g.room)
		assert.Equal(t, []wait.Refusal{{By: g, Decision: wait.Decision{Reason: empty, Detail: "empty"}}}, told)
		assert.Zero(t, g.refused)
		g.room = 1
		assert.True(t, come(t, g.claim(1), o).granted())
		assert.Len(t, told, 1, "nothing stood in the way")
	})
}

// The functions of the options, and what is held when they are called.
func TestOptionsFunctions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTurnstile(0, wait.LineOptions{}), newTurnstile(0, wait.LineOptions{})
		var called []string
		call := func(what string, held bool) {
			called = append(called, what)
			if a.mutex.TryLock() {
				assert.False(t, held, what)
				a.mutex.Unlock()
			} else {
				assert.True(t, held, what)
			}
		}
		now := b.claim(2)
		o := patient
		o.Held = func(wait.Refusal) {
			if call("held", false); len(called) == 2 {
				time.Sleep(sec)
			}
		}
		o.Waiting = func(by int32) { call(map[int32]string{1: "begins", -1: "ends"}[by], true) }
		o.Renew = func() []wait.Claim {
			call("renew", false)
			cs := append(a.claim(1), now...)
			wait.Lock(cs)
			return cs
		}
		o.Charge = func(time.Time) { call("charge", true) }
		c := come(t, append(a.claim(1), b.claim(1)...), o)
		assert.Equal(t, []string{"begins", "held"}, called)
		time.Sleep(sec)
		synctest.Wait()
		a.let(1)
		synctest.Wait()
		assert.Equal(t, []string{"begins", "held", "renew", "held"}, called, "it waits for b now")
		b.let(1)
		synctest.Wait()
		assert.Equal(t, 1, b.line.Len(), "2 of b, as it was told meanwhile")
		b.let(1)
		synctest.Wait()
		assert.True(t, c.granted())
		assert.Equal(t, []string{"begins", "held", "renew", "held", "renew", "charge", "ends"}, called)
		a.noTrace(t)
		b.noTrace(t)
	})
}

// A waiter is refused if what it was pushed out of is not among its claims any
// more.
func TestPushedOutOfWhatIsNotClaimedAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newTurnstile(0, wait.LineOptions{NewestFirst: true, Limit: 1}), newTurnstile(1, wait.LineOptions{})
		o := patient
		o.Renew = func() []wait.Claim {
			wait.Lock(b.claim(1))
			return b.claim(1)
		}
		c := come(t, a.claim(1), o)
		next := come(t, a.claim(1), patient)
		assert.Equal(t, wait.Refusal{By: a, Why: wait.QueueFull}, c.refusal)
		assert.EqualValues(t, 1, b.room)
		next.left()
		a.noTrace(t)
	})
}

// A wait ends with its context; the error is the cause, bare, even if there is
// room at the same moment.
func TestContextEnds(t *testing.T) {
	cause := errors.New("changed my mind")
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		ctx, cancel := context.WithCancelCause(t.Context())
		c := comeUntil(ctx, nil, g.claim(1), patient)
		time.Sleep(sec)
		g.mutex.Lock() // so that it cannot look before
		g.room = 1
		w := g.line.Kick(time.Now())
		cancel(cause)
		g.mutex.Unlock()
		w.Wake()
		synctest.Wait()
		assert.True(t, c.err == cause, "%v", c.err)
		assert.EqualValues(t, 1, g.room)
		assert.Zero(t, g.refused)
		g.noTrace(t)
	})
	synctest.Test(t, func(t *testing.T) {
		// It ends while Held is told, and then there is room.
		g := newTurnstile(0, wait.LineOptions{})
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := int32(0)
		o := patient
		o.Waiting = func(by int32) { waiting += by }
		o.Held = func(wait.Refusal) { cancel(cause); g.let(1) }
		c := comeUntil(ctx, nil, g.claim(1), o)
		assert.True(t, c.err == cause, "%v", c.err)
		assert.Zero(t, waiting)
		g.noTrace(t)
	})
}

// A function that panics leaves nothing in line, nor a mutex locked.
func TestPanicLeavesNoTrace(t *testing.T) {
	for name, set := range map[string]func(*wait.Options){
		"Held": func(o *wait.Options) { o.Held = func(wait.Refusal) { panic("boom") } },
		"Held, in line": func(o *wait.Options) {
			before := false
			o.Held = func(wait.Refusal) {
				if before {
					panic("boom")
				}
				before = true
			}
		},
		"Renew": func(o *wait.Options) { o.Renew = func() []wait.Claim { panic("boom") } },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTurnstile(0, wait.LineOptions{})
				o, waiting := patient, int32(0)
				o.Waiting = func(by int32) { waiting += by }
				set(&o)
				go func() {
					defer func() { assert.Equal(t, "boom", recover()) }()
					wait.Lock(g.claim(1))
					wait.Admit(t.Context(), time.Now(), g.claim(1), &o)
				}()
				synctest.Wait()
				next := come(t, g.claim(1), patient)
				g.locked(func() { g.line.WakeAll() }) // they look, and wait again
				synctest.Wait()
				g.let(1) // wakes the first
				synctest.Wait()
				assert.True(t, next.granted())
				assert.Zero(t, waiting)
				g.noTrace(t)
			})
		})
	}
}
