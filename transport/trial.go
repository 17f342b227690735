package transport

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/quota"
)

// A route that may serve a few requests in an hour has no turns with others: see toldKinds. So
// trials show whether kinds that were never told anything need what is used up. While requests of
// such a kind are held for a second or longer, one of them departs all the same. If it is served, and told
// nothing, that counts as a turn, and the next one may depart. If it is refused, it takes twice as
// many turns, and none tries for as long as they are held, then for twice as long, four times, ….
type trials struct {
	holds map[string]trialHold          // by scope
	line  map[kindOfScope][]*trialPlace // of requests until they are admitted; the first goes first
	last  uint64
	lost  uint8     // trials that were refused
	pause time.Time // none tries before
}

// A trialHold is the time in which requests of a scope are held.
type trialHold struct {
	until time.Time
	trial uint64    // that is out; 0: none is
	began time.Time // when it did
	waits bool      // another request waits that might try
}

const (
	leastTrialHold = time.Second
	trialLost      = 10 * time.Second // without an answer
	maxLostTrials  = 6
	maxTrialHolds  = 64
)

// begin begins a trial of a request that is held until then. It returns the number of the trial;
// 0: the request is to wait.
func (ts *trials) begin(scope string, until, now time.Time) (trial uint64) {
	h, held := ts.holds[scope]
	if !held || !now.Before(h.until) {
		if ts.holds == nil {
			ts.holds = make(map[string]trialHold)
		}
		if !held {
			makeRoom(ts.holds, maxTrialHolds)
			scope = strings.Clone(scope)
		}
		h = trialHold{}
	}
	if h.until = until; h.waits || h.trial > 0 || now.Before(ts.pause) {
		h.waits = true
	} else {
		ts.last++
		h.trial, h.began, trial = ts.last, now, ts.last
	}
	ts.holds[scope] = h
	return trial
}

// wake lets one of the requests that wait try. It reports whether one may.
func (ts *trials) wake(scope string, now time.Time) (may bool) {
	h, held := ts.holds[scope]
	switch {
	case !held:
	case !now.Before(h.until):
		delete(ts.holds, scope)
	case !h.waits, now.Before(ts.pause), h.trial > 0 && now.Before(h.began.Add(trialLost)):
	default:
		h.trial, h.waits = 0, false
		ts.holds[scope] = h
		return true
	}
	return false
}

// end ends a trial that was answered. It reports whether that shows that its kind does not need
// what the scope waits for.
func (ts *trials) end(scope string, trial uint64, served, refused bool, now time.Time) (free bool) {
	h, held := ts.holds[scope]
	if !held || trial != h.trial || !now.Before(h.until) {
		return false
	}
	if refused {
		ts.pause = now.Add(min(h.until.Sub(now), math.MaxInt64>>maxLostTrials) << ts.lost)
		ts.lost = min(ts.lost+1, maxLostTrials)
	}
	h.trial = 0
	h.waits = h.waits && !served
	ts.holds[scope] = h
	return served
}

// A trialPlace is the place of a request among those of its kind. Only the first of them may try:
// those that came later, wherever they wait, do not depart before it.
type trialPlace struct {
	of       kindOfScope // zero: it is in no line
	priority int
	came     time.Time
	n        uint64 // of two that came at one instant
}

// before is negative if the request goes before the other one.
func (p *trialPlace) before(other *trialPlace) int {
	return cmp.Or(cmp.Compare(other.priority, p.priority), p.came.Compare(other.came), cmp.Compare(p.n, other.n))
}

// join puts a request in line, unless it is there already.
func (ts *trials) join(of kindOfScope, place *trialPlace) {
	if place.of == of {
		return
	}
	ts.leave(place)
	if ts.line == nil {
		ts.line = make(map[kindOfScope][]*trialPlace)
	}
	ts.last++
	place.of, place.n = of, ts.last
	at, _ := slices.BinarySearchFunc(ts.line[of], place, (*trialPlace).before)
	ts.line[of] = slices.Insert(ts.line[of], at, place)
}

// leave takes a request out of line.
func (ts *trials) leave(place *trialPlace) {
	line := ts.line[place.of]
	if at, found := slices.BinarySearchFunc(line, place, (*trialPlace).before); found {
		line = slices.Delete(line, at, at+1)
		ts.line[place.of] = line
	}
	if len(line) == 0 && (cap(line) > maxTrialHolds || len(ts.line) > maxTrialHolds) { // else the next one uses the memory
		delete(ts.line, place.of)
	}
	place.of = kindOfScope{}
}

// mayTry reports whether a request of the kind may try before others of its kind that wait, and
// whether it does so already. It puts the request in line.
func (t *toldKinds) mayTry(this kindOfScope, trial uint64, place *trialPlace) (may, does bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ts := &t.trials
	ts.join(this, place)
	if k := t.kinds[this]; !k.silent || !k.until.IsZero() || t.silence.apart {
		return false, false
	}
	return ts.line[this][0] == place, trial > 0 && trial == ts.holds[this.scope].trial
}

// leave takes a request out of the line of trials.
func (t *toldKinds) leave(place *trialPlace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trials.leave(place)
}

func (t *toldKinds) beginTrial(scope string, until, now time.Time) (trial uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trials.begin(scope, until, now)
}

// endTrial notes the answer to a trial, which arrived at now (zero: just now). It reports whether
// the next one may depart, or all.
func (t *toldKinds) endTrial(scope string, trial uint64, served, refused bool, now time.Time) (moved bool) {
	if now.IsZero() {
		now = time.Now()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if moved = t.trials.end(scope, trial, served, refused, now); moved {
		t.silence.turn()
	}
	if refused {
		t.silence.changed()
	}
	return moved
}

// try has the request try whether it needs what it would wait for, if it may. again says that it has
// waited.
func (x *exchange) try(again bool) {
	told := &x.directory.told
	if x.sent || x.unconditional() || !told.several.Load() {
		return
	}
	now := time.Now()
	if now.Before(x.ask.NotBefore) {
		return // others do not wait for that
	}
	if x.place.of == (kindOfScope{}) {
		if x.place.priority, x.place.came = x.ask.Priority, now; again {
			x.place.came = x.lease.Sent() // it began to wait when all were told the same
		}
	}
	wide, _, _ := strings.Cut(x.ask.Scope, ofKind)
	may, does := told.mayTry(kindOfScope{wide, x.kind().key()}, x.trial, &x.place)
	if !may || x.silent {
		return
	}
	if !does {
		ask := x.ask
		ask.Limiter, ask.Held, ask.Again = nil, nil, nil
		r, _ := x.origin.Check(x.req.Context(), now, &ask)
		if r == nil || r.Wait < leastTrialHold || r.Cause != quota.ReasonExhausted && r.Cause != quota.ReasonRetryAfter && r.Cause != quota.ReasonBackOff {
			return
		}
		if x.trial = told.beginTrial(x.ask.Scope, now.Add(r.Wait), now); x.trial == 0 {
			return
		}
	}
	x.ask.Scope, x.silent = x.ask.Scope+ofKind, true
	x.ask.Claims = x.claim()
}
