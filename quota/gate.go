package quota

import (
	"sync"
	"sync/atomic"
	"time"
)

// A guard is the lock of one gate, or of all accounts of an origin.
//
// An origin has one, and not one for each account: an exchange needs two of
// its accounts or more at one instant, twice, so that finer locks would cost
// each exchange more than they spare a few of them. What is done under the
// guard is a few hundred nanoseconds of arithmetic. By BenchmarkGoroutines, 64
// goroutines on one origin get as much done as one alone where there is one
// core for them, and 1.1 times that on two; with an origin for each, which is
// what the finest locks could give, it would be 1.7 times.
//
// Lock order: whoever needs several takes them by rank. All accounts of an
// origin share the rank 0, limiters follow in the order they were made; an
// admission concerns one origin at the most.
type guard struct {
	sync.Mutex
	rank uint64
}

// serial hands out the ranks of limiters, the identity that orders their
// locks, and the tickets of those who wait.
var serial atomic.Uint64

// A verdict is what a gate says to a claim. Where it is not ok, again is when
// to look again; the zero time means that only an event can help: a release, a
// report. back is when it is worth coming back, where that is later: one
// request may look into a long window, but not everybody. hope says that an
// event may help before.
type verdict struct {
	ok     bool
	hope   bool
	final  bool // nothing will ever help
	why    Reason
	again  time.Time
	back   time.Time
	behind time.Duration // when it is a newcomer's turn, after those in line; 0: not known
	answer *Answer       // of a custom limiter; nil: none
}

// vain reports whether it is in vain to wait until the latest instant; zero is
// for ever.
func (v verdict) vain(latest time.Time) bool {
	return !v.ok && (v.final || !v.hope && !latest.IsZero() && v.again.After(latest))
}

// A gate is one thing to get past: an account, or a limiter of the client's
// own. It is arithmetic behind its guard, which callers of the other methods
// hold.
type gate interface {
	guarded() *guard

	// look says whether n units may be charged now. It charges nothing.
	look(now time.Time, n int64) verdict
	// charge takes n units, whether they are there or not, and returns the
	// epoch that they were charged in.
	charge(now time.Time, n int64) (epoch uint32)
	// cancel undoes a charge: it was never used.
	cancel(now time.Time, n int64, epoch uint32)
	// release ends a charge that is held for the time of its use.
	release(now time.Time, n int64)
	// holds reports whether a charge is held until it is released.
	holds() bool
	// behind is how long n units would take for a newcomer, who comes after
	// those in line; 0: nobody can say, or look has said it.
	behind(now time.Time, n int64) time.Duration
	// tally counts a refusal: by this gate itself, or by one beside it.
	tally(itself bool)

	// queue is where the gate keeps the line of those who wait for it.
	queue() **line
	// rule is how the line is kept.
	rule() Queue
	// refusal names the gate in an error.
	refusal() Refusal
}

// A claim is n units of a gate, and after they were charged, the epoch, and
// whether they are held until they are released.
type claim struct {
	gate  gate
	units int64
	epoch uint32
	held  bool
}

// claims are the claims of one admission. Those that share a guard stand side
// by side.
type claims struct {
	list []claim
	mine int // the first so many are accounts of one origin
}

func (c *claims) add(g gate, units int64) {
	if c.list == nil {
		c.list = make([]claim, 0, 4) // as many as most are
	}
	if n := len(c.list); n < cap(c.list) && c.list[:n+1][n].gate == g {
		// As before: see SettleSilent.
		c.list = c.list[:n+1]
		c.list[n].units, c.list[n].epoch, c.list[n].held = units, 0, false
		return
	}
	c.list = append(c.list, claim{gate: g, units: units})
}

func (c *claims) addAll(gates []gate, units int64) {
	if c.list == nil {
		c.list = make([]claim, 0, len(gates))
	}
	for _, g := range gates {
		c.add(g, units)
	}
}

func (c *claims) all() []claim { return c.list }

// truncate keeps the first n claims, and the memory.
func (c *claims) truncate(n int) {
	for i := n; i < len(c.list); i++ {
		c.list[i].gate = nil // which is less than to clear them
	}
	c.list = c.list[:n]
}

// reset drops all claims, and keeps the memory.
func (c *claims) reset() {
	c.truncate(0)
	c.mine = 0
}

// lock takes the guards of all claims, each once, by rank.
func lock(cs []claim) {
	if !ranked(cs) {
		lockByRank(cs)
		return
	}
	var last *guard
	for i := range cs {
		if g := cs[i].gate.guarded(); g != last {
			g.Lock()
			last = g
		}
	}
}

// ranked reports whether the claims stand in the order of their guards.
func ranked(cs []claim) bool {
	for i := 1; i < len(cs); i++ {
		if cs[i].gate.guarded().rank < cs[i-1].gate.guarded().rank {
			return false
		}
	}
	return true
}

func unlock(cs []claim) {
	var last *guard
	for i := range cs {
		if g := cs[i].gate.guarded(); g != last {
			g.Unlock()
			last = g
		}
	}
}

// lockByRank is lock for claims in any order. Claims are few.
func lockByRank(cs []claim) {
	var last *guard
	for {
		var next *guard
		for i := range cs {
			g := cs[i].gate.guarded()
			if (last == nil || g.rank > last.rank) && (next == nil || g.rank < next.rank) {
				next = g
			}
		}
		if next == nil {
			return
		}
		next.Lock()
		last = next
	}
}
