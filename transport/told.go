package transport

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// A toldKinds finds out whether the kinds of requests have quotas of their own, although nothing
// names them. Many servers limit some of their routes only, or each one for itself, and say what
// is left in the same fields. Then the responses to a kind always tell the same limit, or
// never any, and those to another kind tell another one.
//
// Kinds are told apart once the responses of a scope have shown that in turn, sureTurns times.
// They are one again if a kind is told another limit than before, or any if it was told none, and
// then it takes twice as many turns.
type toldKinds struct {
	ambiguous atomic.Bool  // names is not empty
	several   atomic.Bool  // not always the same was told, or a kind was held, or has a counter of its own
	waited    atomic.Bool  // a request has waited for an account, so that requests are counted: see ownCounter
	same      atomic.Int64 // what was told before, from toldNothing on; 0: nothing was noted
	unknown   atomic.Bool  // a request of a kind of which nothing is known was routed since requests might look last
	looking   atomic.Bool  // a quota is used up, so that requests of unknown kinds may look: see firstLooks

	ofResources atomic.Bool // the things of a kind had scopes of their own

	most atomic.Int64 // bytes that the kinds may take up; 0: no bound is known

	mu      sync.Mutex // guards following
	bytes   int        // that the kinds take up, roughly
	limits  proof      // that kinds are told different limits, each always the same
	silence proof      // that kinds are told nothing while others are told something
	first   int64      // limit that was told, if any was; kinds of which nothing is known are taken to have it
	kinds   map[kindOfScope]toldKind
	last    kindOfScope         // that was told something
	other   kindOfScope         // the last one that was told something else
	ends    time.Time           // when the first of the holds, or of what is used up, does; zero: there is none
	usedUp  map[string][]usedUp // by scope; what is told to kinds that have no scope of their own
	silent  bool                // a kind is sure to be told nothing
	names   map[string]struct{} // of policies that were told with different quotas: see namesNone
	look    firstLooks

	resources resources
}

// A proof that kinds are to be told apart.
type proof struct {
	apart   bool
	turns   int // since the last change
	changes int // of what a kind was told
}

// turn counts a turn. Before the first change, it takes that many.
func (p *proof) turn(sure int) {
	p.turns = min(p.turns+1, sure<<maxChanges)
	p.apart = p.turns >= sure<<p.changes
}

// changed takes over that a kind was told something else than before.
func (p *proof) changed() { *p = proof{changes: min(p.changes+1, maxChanges)} }

// proofOf returns the proof for kinds that are told the one and the other.
func (t *toldKinds) proofOf(one, other int64) *proof {
	if one == toldNothing || other == toldNothing {
		return &t.silence
	}
	return &t.limits
}

// A toldKind is what a kind is told. While a refusal holds it, its scope stays the same; and then
// until the next response, so that requests that wait have another scope with those that come later.
type toldKind struct {
	what  int64
	until time.Time // by the refusal; zero: it is not held
	pause time.Time // when its Retry-After ends; zero: it has none
	scope string    // until then

	sure proof       // that it is told this, always
	own  *ownCounter // nil: no other kind of its scope is told the same
}

type kindOfScope struct {
	scope string
	kind  kindKey
}

// What a kind is told: a limit that has no name, or one of these.
const (
	toldUnknown int64 = iota // it was only refused
	toldNames                // of policies or partition keys, which say themselves what they concern
	toldNothing
	toldLimit // this or more: the limit, plus toldLimit
)

const (
	maxToldKinds  = 256
	toldKindBytes = 192 // with its place in the map, but without strings
	sureTurns     = 2
	maxChanges    = 5 // that are counted
)

// ofKind stands between a scope and what its kinds are told.
const ofKind = "\x1f\x02\x1f"

// narrow returns the scope of a kind: its own if it is told nothing, or another limit than others.
// silent reports whether it is told nothing, and trial whether it is not sure that it needs a
// scope of its own.
func (t *toldKinds) narrow(scope string, kind kindKey) (narrow string, silent, trial bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.narrowed(scope, kind)
}

func (t *toldKinds) narrowed(scope string, kind kindKey) (narrow string, silent, trial bool) {
	k := t.kinds[kindOfScope{scope, kind}]
	switch {
	case !k.until.IsZero():
		return k.scope, false, false
	case k.own != nil && k.own.separate && !k.own.hasKey():
		return scopeOfOwn(scope, kind, k.what), false, false
	case k.what == toldUnknown && t.limits.apart:
		k.what = t.first
	case k.what < toldNothing:
		return scope, false, false
	}
	if t.stays(scope, k.what) {
		return scope, false, false // the account in the other scope does not know that it is used up
	}
	if !t.proofOf(k.what, k.what).apart {
		if !k.sure.apart || !t.othersUsedUp(scope, k.what) {
			return scope, false, false
		}
		trial = true
	}
	if k.what == toldNothing {
		return scope + ofKind, true, trial
	}
	return scopeOfLimit(scope, k.what), false, trial
}

// note takes over what a response has told a kind. It reports whether requests may have another
// scope now. A refusal may tell of the limit that was exceeded alone: if it tells another one, that
// shows something only where nothing was told before.
func (t *toldKinds) note(scope string, kind kindKey, what int64, refused bool) (moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	over := t.endHolds(now)
	if t.first == 0 {
		if t.first = max(t.same.Load(), what); t.first < toldLimit {
			t.first = 0
		}
	}
	this := kindOfScope{scope, kind}
	k, known := t.kinds[this]
	before := k
	last, toldLast := t.kinds[t.last]
	limits, silence, doubted := t.limits.apart, t.silence.apart, false
	switch {
	case refused && k.what != what && k.what != toldNothing && (known || what != t.first):
		return over
	case !known, k.what == toldUnknown:
		k.what = what
	case what == toldNothing && k.what != toldNothing:
		return over // it is told something now and then
	case k.what != what:
		t.proofOf(k.what, what).changed()
		if k.sure.turns >= sureTurns { // else it is told several
			doubted = t.doubt(this, k.what)
		}
		k.what = what
		k.sure.changed()
	case !toldLast, last.what == what:
	case t.proofOf(last.what, what) == &t.silence:
		t.silence.turn(sureTurns)
	}
	if what >= toldLimit && (t.isSureOfAnother(t.last, this, what) || t.isSureOfAnother(t.other, this, what)) {
		t.limits.turn(sureTurns)
	}
	k.sure.turn(sureTurns)
	if k != before {
		t.set(this, k)
		t.silent = t.silent || what == toldNothing && k.sure.apart
		moved = k.what != before.what && (limits || silence || before.own != nil && before.own.separate) || (doubted || k.sure.apart != before.sure.apart) && len(t.usedUp) > 0
	}
	if known && t.last != this {
		if last.what != what {
			t.other = t.last
		}
		t.last = kindOfScope{strings.Clone(scope), kind}
	}
	return t.limits.apart != limits || t.silence.apart != silence || moved || over
}

// doubt notes that a kind is told something else than before. Others of its scope that were told the
// same may have one account with it, so they are not sure until they are told it again. It reports
// whether one of them was.
func (t *toldKinds) doubt(this kindOfScope, what int64) (doubted bool) {
	for of, k := range t.kinds {
		if of != this && of.scope == this.scope && k.what == what {
			doubted = doubted || k.sure.apart
			k.sure = proof{changes: k.sure.changes}
			t.kinds[of] = k
		}
	}
	return doubted
}

// isSureOfAnother reports whether a kind of the same scope is always told another limit.
func (t *toldKinds) isSureOfAnother(of, than kindOfScope, limit int64) bool {
	k := t.kinds[of]
	return of.scope == than.scope && k.sure.apart && k.what >= toldLimit && k.what != limit
}

// endHolds ends the holds of kinds, and of limits that are used up, that are over at now. It reports
// whether there were any.
func (t *toldKinds) endHolds(now time.Time) (over bool) {
	if t.ends.IsZero() || now.Before(t.ends) {
		return false
	}
	t.ends = time.Time{}
	for of, k := range t.kinds {
		switch {
		case k.until.IsZero():
		case now.Before(k.until):
			t.endsBy(k.until)
		default:
			k.until, over = time.Time{}, true
			t.kinds[of] = k
		}
	}
	over = t.endPauses(now) || over
	return t.endUsedUp(now) || over
}

// endsBy notes that a hold ends then.
func (t *toldKinds) endsBy(until time.Time) {
	if t.ends.IsZero() || until.Before(t.ends) {
		t.ends = until
	}
}

// ofUnknown returns the scope that a refusal concerns which tells a limit, of a kind of which nothing
// else is known: while kinds are told apart, that of what it tells, not the one that the request departed
// in, whose kinds are told another limit. Else it returns "".
func (t *toldKinds) ofUnknown(scope string, kind kindKey, limit int64) (in string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kinds[kindOfScope{scope, kind}]; !t.limits.apart || k.what != toldUnknown {
		return ""
	}
	return scopeOfLimit(scope, limit)
}

// scopeOfLimit returns the scope of the kinds that are told a limit.
func scopeOfLimit(scope string, limit int64) string {
	return scope + ofKind + strconv.FormatInt(limit-toldLimit, 10)
}

// meet notes a kind that was told the same as all others so far.
func (t *toldKinds) meet(scope string, kind kindKey, what int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = kindOfScope{strings.Clone(scope), kind}
	t.set(t.last, toldKind{what: what, sure: proof{apart: true, turns: sureTurns}})
}

// isSame reports whether all responses have told the same so far. Most origins tell all kinds the
// same.
func (t *toldKinds) isSame(what int64) bool {
	if t.several.Load() {
		return false
	}
	if what != toldNothing && (t.same.Load() == what || t.same.CompareAndSwap(0, what)) {
		return true
	}
	t.several.Store(true)
	return false
}

// hold notes that a refusal at now holds a kind in a scope for that long, and for its Retry-After
// before. Where several scopes hold it, it waits in the one whose Retry-After ends last, else in the one
// that holds it longest. It reports whether requests have another scope now: the one that was refused may
// have been sent before it was known which is theirs.
func (t *toldKinds) hold(wide string, kind kindKey, scope string, now time.Time, pause, left time.Duration) (moved bool) {
	t.several.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	before, _, _ := t.narrowed(wide, kind)
	this := kindOfScope{wide, kind}
	k := t.kinds[this]
	until, resumes := now.Add(left), now.Add(pause)
	switch later := until.After(k.until); {
	case k.scope == scope && !k.until.IsZero():
		if later {
			k.until = until
		}
		if resumes.After(k.pause) {
			k.pause = resumes
		}
	case !resumes.Before(k.pause) && (pause > 0 || later):
		k.until, k.pause, k.scope = until, resumes, strings.Clone(scope)
	}
	t.endsBy(k.until)
	t.set(this, k)
	after, _, _ := t.narrowed(wide, kind)
	return after != before
}

// set sets what a kind is told. If there are too many, it forgets another one, that is not held if
// there is one.
func (t *toldKinds) set(of kindOfScope, k toldKind) {
	if t.kinds == nil {
		t.kinds = make(map[kindOfScope]toldKind)
	}
	t.countKind(of, &k)
	if before, known := t.kinds[of]; known {
		t.bytes -= before.bytes(of)
	} else {
		of.scope = strings.Clone(of.scope)
	}
	t.bytes += k.bytes(of)
	t.kinds[of] = k
	t.makeRoom(of)
}

// makeRoom forgets kinds until there is room, but not the one that was set last.
func (t *toldKinds) makeRoom(last kindOfScope) {
	now, most := time.Now(), t.most.Load()
	for len(t.kinds) > maxToldKinds || len(t.kinds) > 1 && most > 0 && int64(t.bytes) > most {
		if counted := &t.resources.counted; len(t.kinds) <= maxToldKinds && len(*counted) > 0 {
			t.bytes -= len(*counted) * ownBytes
			*counted = nil
			continue
		}
		var found kindOfScope
		for of, k := range t.kinds {
			if of == last {
				continue
			}
			if found = of; !now.Before(k.until) {
				break
			}
		}
		t.bytes -= t.kinds[found].bytes(found)
		delete(t.kinds, found)
	}
}

// bytes returns the memory that a kind takes up.
func (k toldKind) bytes(of kindOfScope) int {
	n := toldKindBytes + len(of.scope) + len(k.scope)
	if k.own != nil {
		n += ownBytes
	}
	return n
}

// wideScope returns the scope of the request, and of its model, that is not narrowed to its kind. A name of a scope, such as
// a hash, may have any bytes, so that ofKind does not tell it.
func (x *exchange) wideScope() string { return x.ask.Scope[:x.wide] }

// isNarrowed reports whether the scope is narrowed to the kind of the request, or to a look.
func (x *exchange) isNarrowed() bool { return len(x.ask.Scope) > x.wide }

// scopeOfKind narrows the scope to what kinds like that of the request are told.
func (x *exchange) scopeOfKind() {
	x.silent, x.ask.Trial, x.looks, x.looksAs = false, false, false, 0
	if strings.HasPrefix(x.pathKey, ofKind) {
		x.pathKey = ""
	}
	if told := &x.directory.told; told.several.Load() {
		if x.pathKey == "" {
			x.pathKey = told.ownPathKey(x.ask.Scope, x.kind().key())
		}
		scope, silent, trial := told.narrow(x.ask.Scope, x.kind().key())
		if !trial && told.ofResources.Load() {
			scope = x.resourceScope(x.ask.Scope, scope)
		}
		if !trial || !x.unconditional() {
			x.ask.Scope, x.silent, x.ask.Trial = scope, silent, trial
		}
	}
	if x.directory.told.looking.Load() {
		x.mayLook()
	}
}

// noteTold notes what the response, which arrived at now (zero: just now), tells kinds like that of
// the request. If that shows another scope than the one that the request was sent in, the report
// names it.
func (x *exchange) noteTold(got *parse.Reading, now time.Time) {
	r, told := &x.report, &x.directory.told
	if got.Cached {
		return
	}
	wide, tried := x.wideScope(), x.ask.Trial
	if len(r.Figures)+len(r.Terms) == 0 {
		x.newKind = false
	}
	what, known := x.whatTold(got)
	if known && what == toldNothing && x.directory.lookUp(wide, x.kind()).kind != nil {
		known = false // it is told something now and then
	}
	if tried && !x.looks && told.endTrial(kindOfScope{wide, x.kind().key()}, what, known, r.Refused) {
		x.moveAll()
	}
	same := known && told.isSame(what)
	if same && x.newKind {
		told.meet(wide, x.kind().key(), what)
		x.directory.weighTold()
	}
	moved := x.countEnd(got, what)
	moved = x.endResource(got, what) || moved
	if known && !same && told.note(wide, x.kind().key(), what, r.Refused) || moved {
		x.moveAll()
		moved = true
	}
	if !tried && (moved || x.ask.Scope == wide && !same && what >= toldLimit) {
		x.rescope(wide) // others may have shown the scope of its kind since it departed
	}
	if x.looks {
		x.endLook(got, wide, what, known)
	} else if x.newKind && told.looking.Load() && told.looked(wide) {
		x.moveAll() // some of its kind may be waiting for a look
	}
	if told.looking.Load() && told.endDry(time.Now()) {
		x.moveAll()
	}
	if r.Refused && !tried && what >= toldLimit {
		if in := told.ofUnknown(wide, x.kind().key(), what); in != "" {
			x.ask.Scope, r.Scope = in, in
		}
	}
	if !known {
		what = toldUnknown
	}
	x.holdTold(wide, what, now)
}

// rescope moves the request to the scope of its kind, as the response has shown it, if that is sure. The report
// names it.
func (x *exchange) rescope(wide string) {
	departed := x.ask.Scope
	x.ask.Scope = wide
	if x.scopeOfKind(); x.ask.Trial || x.ask.Scope == wide {
		x.ask.Scope, x.looks, x.looksAs = departed, false, 0 // it has not tried, or kinds are one again
	} else if x.ask.Scope != departed {
		x.report.Scope = x.ask.Scope
	}
}

// holdTold holds the kind of the request for as long as the response asks, and notes until when the limit that it
// was told is used up.
func (x *exchange) holdTold(wide string, what int64, now time.Time) {
	r, told := &x.report, &x.directory.told
	pause, dry := time.Duration(0), r.Refused
	if !r.WholeOrigin {
		pause = max(r.Pause, 0)
	}
	hold, left := pause, pause
	for i := range r.Figures {
		if f := &r.Figures[i]; f.Available == 0 {
			dry, left = true, max(left, f.Window)
		}
	}
	if r.Refused {
		hold = left
	}
	if !dry && hold <= 0 {
		return
	}
	if now.IsZero() {
		now = time.Now()
	}
	if x.ask.Scope == wide && told.noteDry(wide, what, now, x) {
		x.moveAll()
	}
	if x.ask.Scope == wide && (left >= leastTrialHold || r.Refused) {
		if told.noteUsedUp(wide, what, now.Add(max(left, leastTrialHold))) {
			x.moveAll()
		}
	}
	if hold <= 0 {
		return
	}
	x.holdResource(wide, now.Add(hold))
	if !strings.Contains(x.ask.Scope[x.wide:], ofThing) && told.hold(wide, x.kind().key(), x.ask.Scope, now, pause, hold) {
		x.moveAll()
	}
	x.directory.weighTold()
}

// moveAll has all requests that wait routed again.
func (x *exchange) moveAll() {
	r := &x.report
	for _, name := range x.allPolicies() {
		if !slices.Contains(r.Moved, name) {
			r.Moved = append(r.Moved, name)
		}
	}
}

// allPolicies returns the names of all policies, and "".
func (x *exchange) allPolicies() []string {
	names := []string{""}
	for _, p := range x.origin.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// whatTold returns what the response tells; known is false if it shows nothing of what others of
// its kind are told.
func (x *exchange) whatTold(got *parse.Reading) (what int64, known bool) {
	switch {
	case len(got.Policies)+len(got.Limits) == 0:
		// A refusal is by another limit, and an error may come from elsewhere.
		return toldNothing, x.resp.StatusCode >= 200 && x.resp.StatusCode < 400 && !x.report.Refused && len(x.origin.Policies()) > 0
	case len(got.Policies) == 1 && len(got.Limits) <= 1 && got.Policies[0].Quota >= 0 && !got.Policies[0].HasKey && x.pathKey == "" && x.namesNone(got):
		return toldLimit + got.Policies[0].Quota, true
	}
	return toldNames, len(x.origin.Policies()) > 0
}

// namesNone reports whether the only policy of the response has no name that tells which one it is. Some servers give all
// limiters the same name, such as "default": one that was told with different quotas tells nothing.
func (x *exchange) namesNone(got *parse.Reading) bool {
	p, told := &got.Policies[0], &x.directory.told
	if got.Dialect != parse.EditorsDraft && got.Dialect != parse.Draft08 {
		return p.Name == ""
	}
	differs := slices.ContainsFunc(x.origin.Policies(), func(of quota.Policy) bool {
		return of.Name == p.Name && of.Quota >= 0 && of.Quota != p.Quota
	})
	if !differs && !told.ambiguous.Load() {
		return false
	}
	told.mu.Lock()
	defer told.mu.Unlock()
	if _, known := told.names[p.Name]; known {
		return true
	}
	if len(told.names) >= maxUsedUp || !differs || len(told.usedUp)+len(told.look.dry) > 0 {
		return false // while nothing is left, only the account knows it that all kinds have
	}
	if told.names == nil {
		told.names = make(map[string]struct{})
	}
	told.names[strings.Clone(p.Name)] = struct{}{}
	told.ambiguous.Store(true)
	return true
}
