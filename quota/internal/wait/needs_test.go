package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
)

// needing are the options of work that needs *d before its deadline. It is changed with the
// mutex held.
func needing(d *time.Duration) wait.Options {
	o := patient
	o.Needs = func(time.Duration) time.Duration { return *d }
	return o
}

// within has work come that has so much time.
func within(t *testing.T, d time.Duration, g *turnstile, o wait.Options) *came {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return comeUntil(ctx, cancel, g.claim(1), o)
}

// Work that waits is refused when it has less time left than it needs: when it comes, when an
// earlier one has departed, and while nothing happens. Work that need not wait departs.
func TestNeedsTimeAfterTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(1, wait.LineOptions{})
		need := 2 * sec
		o := needing(&need)
		assert.True(t, within(t, sec, g, o).granted(), "it need not wait")
		c := within(t, 2*sec, g, o)
		require.True(t, c.done.Load())
		assert.Equal(t, wait.Refusal{By: g, Decision: wait.Decision{Reason: empty, Detail: "empty"}, Why: wait.Deadline}, c.refusal)
		g.again = time.Now().Add(4 * sec)
		assert.Equal(t, wait.Deadline, within(t, 6*sec-1, g, o).refusal.Why, "what it waits for is known to come too late")
		granted := within(t, 6*sec, g, o)
		g.again, g.sooner = time.Now().Add(mins), true
		waits := within(t, 6*sec, g, o)
		time.Sleep(4*sec - 1)
		g.let(1)
		time.Sleep(sec)
		synctest.Wait()
		assert.True(t, granted.granted())
		assert.Equal(t, wait.Deadline, waits.refusal.Why)
		assert.NoError(t, waits.err)
		assert.Equal(t, 4*sec, waits.after)
		g.noTrace(t)
	})
}

// What work needs may change while it waits. The first in line is passed over if it needs more
// than is left, and waits on if it needs less.
func TestNeedsChangeInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		need := 2 * sec
		o := needing(&need)
		first, second, third := within(t, 10*sec, g, o), within(t, 20*sec, g, o), within(t, 30*sec, g, o)
		time.Sleep(5 * sec)
		g.locked(func() { need = 6 * sec })
		g.let(1)
		synctest.Wait()
		require.True(t, first.done.Load())
		assert.Equal(t, wait.Refusal{By: g, Decision: wait.Decision{Reason: empty}, Why: wait.Deadline}, first.refusal)
		assert.True(t, second.granted())
		time.Sleep(18 * sec) // it is woken at 28 s
		g.locked(func() { need = sec })
		time.Sleep(5*sec + sec/2)
		synctest.Wait()
		assert.False(t, third.done.Load(), "its time is not over: it needs less")
		time.Sleep(sec)
		synctest.Wait()
		assert.Equal(t, wait.Deadline, third.refusal.Why)
		assert.Equal(t, 29*sec, third.after)
		g.noTrace(t)
	})
}

// If less is needed than MaxDelay leaves, that ends the wait.
func TestNeedsLessThanMaxDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTurnstile(0, wait.LineOptions{})
		need := 9 * sec
		o := needing(&need)
		o.MaxDelay = 8 * sec
		c := within(t, 10*sec, g, o)
		g.locked(func() { need = sec })
		time.Sleep(mins)
		synctest.Wait()
		assert.Equal(t, wait.MaxDelay, c.refusal.Why)
		assert.Equal(t, 8*sec, c.after)
		g.noTrace(t)
	})
}
