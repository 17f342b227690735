package transport

import (
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/quota"
)

// A route that may serve a few requests in an hour has no turns with others: see toldKinds. So while
// a limit is used up, a kind that was always told nothing, or another limit, tries whether it needs
// that one: its requests have a scope of their own, in which one departs first and the others wait for
// its answer (see quota.Ask.Trial). If it is served, and told the same as before, that counts as a
// turn. If it is refused, the kind waits with the others, until it was told the same for twice as
// long, four times, ….

// A usedUp is a limit of which nothing is left in a scope.
type usedUp struct {
	what  int64 // as in toldKind
	until time.Time
	stays bool // kinds that are told it stay in the scope until then, although they are told apart
}

const (
	leastTrialHold = time.Second
	longestStay    = 5 * time.Second
	maxUsedUp      = 64 // scopes; and limits of each
)

// noteUsedUp notes that nothing is left in the scope of what a kind was told. It reports whether
// requests may have another scope now.
func (t *toldKinds) noteUsedUp(scope string, what int64, until time.Time) (moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of, known := t.usedUp[scope]
	at := slices.IndexFunc(of, func(u usedUp) bool { return u.what == what })
	switch {
	case at >= 0:
		if of[at].until = until; of[at].stays {
			of[at].until = until.Add(longestStay)
		}
		t.endsBy(until)
		return false
	case len(of) >= maxUsedUp:
		return false
	case !known:
		if t.usedUp == nil {
			t.usedUp = make(map[string][]usedUp)
		}
		makeRoom(t.usedUp, maxUsedUp)
		scope = strings.Clone(scope)
	}
	t.usedUp[scope] = append(of, usedUp{what: what, until: until})
	t.endsBy(until)
	return t.several.Load() && (len(of) > 0 || t.moves(scope, what))
}

// findUsedUp finds out whether something is used up that holds kinds that were told nothing, after
// a response that does not say it: by our own count, for example.
func (x *exchange) findUsedUp() {
	told := &x.directory.told
	if !told.several.Load() || x.isNarrowed() || !told.looks(x.ask.Scope) { // the first spares a lock
		return
	}
	x.claim()
	ask, now := x.ask, time.Now()
	ask.Limiter, ask.NotBefore, ask.Held, ask.Again = nil, time.Time{}, nil, nil
	r, _ := x.origin.Check(x.req.Context(), now, &ask)
	if r == nil || r.Wait < leastTrialHold || r.Cause != quota.ReasonExhausted && r.Cause != quota.ReasonRetryAfter && r.Cause != quota.ReasonBackOff {
		return
	}
	if told.noteUsedUp(x.ask.Scope, toldUnknown, now.Add(r.Wait)) {
		x.origin.Settle(now, &x.lease, &quota.Report{Moved: x.allPolicies()})
	}
}

// looks reports whether it is not known that something is used up in the scope, and a kind would try.
func (t *toldKinds) looks(scope string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.silent && !t.silence.apart && len(t.usedUp[scope]) == 0
}

// endUsedUp forgets what is not used up any more at now. It reports whether requests may have another
// scope now.
func (t *toldKinds) endUsedUp(now time.Time) (over bool) {
	for scope, of := range t.usedUp {
		left := of[:0]
		for _, u := range of {
			if now.Before(u.until) {
				t.endsBy(u.until)
				left = append(left, u)
			} else {
				over = over || len(of) > 1 || t.moves(scope, u.what) || u.stays && t.limits.apart
			}
		}
		if t.usedUp[scope] = left; len(left) == 0 {
			delete(t.usedUp, scope)
		}
	}
	return over
}

// othersUsedUp reports whether a limit is used up that a kind was not told, and its own is not.
func (t *toldKinds) othersUsedUp(scope string, what int64) (others bool) {
	for _, u := range t.usedUp[scope] {
		if u.what == what {
			return false
		}
		others = others || what == toldNothing || u.what >= toldLimit
	}
	return others
}

// stay has kinds that are told a limit which is used up stay in their scope a little longer than that should take: only
// the account in this scope knows how much is left.
func (t *toldKinds) stay(scope string) {
	of := t.usedUp[scope]
	for i := range of {
		if u := &of[i]; u.what >= toldLimit && !t.limits.apart && !u.stays {
			u.stays, u.until = true, u.until.Add(longestStay)
		}
	}
}

// stays reports whether kinds that are told a limit stay in the scope in which it is used up.
func (t *toldKinds) stays(scope string, limit int64) bool {
	return slices.ContainsFunc(t.usedUp[scope], func(u usedUp) bool { return u.what == limit && u.stays })
}

// moves reports whether a kind may have another scope when a limit is used up, or not any more.
func (t *toldKinds) moves(scope string, limit int64) bool {
	for of, k := range t.kinds {
		if of.scope == scope && k.what != limit && k.what >= toldNothing && (k.what == toldNothing || limit >= toldLimit) &&
			(k.sure.apart || t.proofOf(k.what, k.what).apart) {
			return true
		}
	}
	return false
}

// endTrial notes the answer to a request that has tried. known is false if it shows nothing of what
// its kind is told. It reports whether requests may have another scope now.
func (t *toldKinds) endTrial(of kindOfScope, what int64, known, refused bool) (moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[of]
	p := t.proofOf(k.what, k.what)
	switch {
	case known && what == k.what:
		apart := p.apart
		p.turn(sureTurns)
		return p.apart != apart
	case refused:
		p.changed()
		k.sure.changed()
		t.set(of, k)
		return true
	}
	return false
}
