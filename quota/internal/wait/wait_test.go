package wait_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota/internal/wait"
)

const (
	ms   = time.Millisecond
	sec  = time.Second
	mins = time.Minute
)

// The codes of a turnstile's decisions.
const (
	empty  = 7
	broken = 8
)

// A turnstile is a constraint that lets units through when the test says so.
type turnstile struct {
	mutex   *wait.Mutex
	line    *wait.Line
	options wait.LineOptions
	room    int64
	again   time.Time // what Look says where there is no room
	sooner  bool      // likewise
	broken  bool      // for good
	last    bool      // there may be no more than it grants
	recheck time.Time // when that may change
	round   *wait.Round
	backlog time.Duration
	each    time.Duration // more of it for each unit ahead

	asked          atomic.Int64 // calls of Mutex: each firing of the timer makes one
	looks          int
	refused, apart int // by itself, by others
}

func newTurnstile(room int64, o wait.LineOptions) *turnstile {
	g := &turnstile{mutex: new(wait.Mutex), room: room, options: o}
	g.mutex.TakeRank()
	return g
}

func (g *turnstile) Mutex() *wait.Mutex {
	g.asked.Add(1)
	return g.mutex
}

func (g *turnstile) Look(now time.Time, n int64) wait.Decision {
	g.looks++
	again := g.again
	if !again.After(now) {
		again = time.Time{} // only an event can help now
	}
	switch {
	case g.broken:
		return wait.Decision{Final: true, Reason: broken}
	case g.room >= n:
		return wait.Decision{OK: true, Reason: empty, Last: g.last, Recheck: g.recheck}
	}
	return wait.Decision{Again: again, Sooner: g.sooner, Reason: empty, Detail: "empty"}
}

func (g *turnstile) Charge(_ time.Time, n int64) (uint32, bool) {
	g.room -= n
	return 9, true
}

func (g *turnstile) Cancel(_ time.Time, n int64, _ uint32) { g.room += n }
func (g *turnstile) Release(_ time.Time, n int64)          { g.room += n }
func (g *turnstile) Backlog(_ time.Time, ahead, _ int64) time.Duration {
	return g.backlog + time.Duration(ahead)*g.each
}
func (g *turnstile) Line() *wait.Line           { return g.line }
func (g *turnstile) CloseLine()                 { g.line = nil }
func (g *turnstile) Round() *wait.Round         { return g.round }
func (g *turnstile) claim(n int64) []wait.Claim { return []wait.Claim{{Constraint: g, Units: n}} }
func (g *turnstile) OpenLine() *wait.Line {
	g.line = wait.NewLine(g, g.options)
	return g.line
}

func (g *turnstile) Refused(itself bool) {
	if itself {
		g.refused++
	} else {
		g.apart++
	}
}

// locked calls f with the mutex held.
func (g *turnstile) locked(f func()) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	f()
}

// kick looks at the line and wakes the first, if that is its result.
func (g *turnstile) kick() {
	var w *wait.Waiter
	g.locked(func() { w = g.line.Kick(time.Now()) })
	w.Wake()
}

// let adds room, and looks at the line.
func (g *turnstile) let(n int64) {
	g.locked(func() { g.room += n })
	g.kick()
}

// A came is what became of work that came; only done may be looked at before.
type came struct {
	claims  []wait.Claim
	refusal wait.Refusal
	err     error
	after   time.Duration
	done    atomic.Bool
	left    func() // gives up
}

// come has work come and, if it is not let go at once, wait.
func come(t *testing.T, claims []wait.Claim, o wait.Options) *came {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return comeUntil(ctx, cancel, claims, o)
}

func comeUntil(ctx context.Context, cancel func(), claims []wait.Claim, o wait.Options) *came {
	c := &came{claims: claims, left: cancel}
	go func() {
		began := time.Now()
		wait.Lock(claims)
		c.refusal, c.err = wait.Admit(ctx, began, claims, &o)
		c.after = time.Since(began)
		c.done.Store(true)
	}()
	synctest.Wait()
	return c
}

func (c *came) granted() bool { return c.done.Load() && c.err == nil && c.refusal.By == nil }

// patient are the options of work that waits for as long as it takes.
var patient = wait.Options{MaxDelay: wait.Forever, MaxQueue: -1}

func priority(p int) wait.Options {
	o := patient
	o.Priority = p
	return o
}

// slowly has renewing the claims take d: work that has been woken, and has not
// looked yet.
func slowly(claims []wait.Claim, d time.Duration) wait.Options {
	o := patient
	o.Renew = func() []wait.Claim {
		time.Sleep(d)
		wait.Lock(claims)
		return claims
	}
	return o
}

// noTrace asserts that no line has a waiter or a timer left.
func (g *turnstile) noTrace(t *testing.T) {
	t.Helper()
	synctest.Wait()
	assert.Nil(t, g.line)
	asked := g.asked.Load()
	time.Sleep(1000 * time.Hour)
	synctest.Wait()
	assert.Equal(t, asked, g.asked.Load(), "no timer fires")
}

// order returns the indices of those who were granted, in the order in which
// they were when one unit after another is released.
func order(g *turnstile, all []*came) (granted []int) {
	for range all {
		g.let(1)
		synctest.Wait()
		for i, c := range all {
			if c.granted() && !slices.Contains(granted, i) {
				granted = append(granted, i)
			}
		}
	}
	return granted
}
