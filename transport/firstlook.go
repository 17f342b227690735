package transport

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// A request whose kind was never answered counts as one that every quota of its scope concerns. But many
// servers limit each route for itself. So while nothing is left of a quota, a request of such a kind looks
// whether the quota concerns it: it departs although nothing is left. The others of such kinds wait for its
// answer, in a scope of their own, as those that try do: see trial.go. If it is served, its kind is told apart by
// what it was told, at once; if it was told the same limit, of which all is left, then by a counter of its own.
// If the quota refuses it, no other request looks before the quota is there again.
//
// Where all kinds share one quota, each look is refused. So after one that was, there are none until the quotas that
// were used up since then have allowed lookEvery requests together, roughly as many as were served; then four times as
// many, …, until one finds a kind that the quota does not concern.
type firstLooks struct {
	spent int64 // of the quotas that were used up since the last look that was refused
	price int64 // no request looks before so much was spent
	count int   // of the times in which requests might look; each has another scope

	resources [resourceLooks]lookPrice // the same, of requests that look for a thing of a kind that is known

	dry  map[string]*dryScope
	ends time.Time // when the first of them does
}

// A dryScope is a scope in which nothing is left of a quota.
type dryScope struct {
	until     time.Time
	looksIn   string  // the scope of the requests that look; "": none may
	looked    bool    // some were routed there
	limits    []int64 // that are used up, as in toldKind
	since     time.Time
	resources map[kindKey]bool      // to which it was told, and their kinds: see resourceKeys
	things    [resourceLooks]string // the scopes of the requests that look for others; "": none may
	named     []quota.Figure        // the same, by policy and key, without a figure; what is in the slice is not modified
}

const (
	leastLook  = 2 * time.Second // a quota that is there again sooner is waited for
	firstPrice = 5               // price of the first look: of a smaller quota, a refusal is too much
	lookEvery  = 400             // price after the first one that was refused
	maxPrice   = 1 << 40
	manyAlike  = 8 // kinds that share a policy: another one that begins as they do is taken to share it, too
)

// noteDry notes that nothing of a quota is left in a scope until then, of which the response to a request of
// a kind has told what. It reports whether requests may have another scope now.
func (t *toldKinds) noteDry(scope string, what int64, now time.Time, x *exchange) (moved bool) {
	figures, terms := x.report.Figures, x.report.Terms
	var until time.Time
	spent := int64(0)
	for i := range figures {
		f := &figures[i]
		if f.Available != 0 || f.Window < leastLook {
			continue
		}
		if end := now.Add(f.Window); end.After(until) {
			until = end
		}
		for j := range terms {
			if terms[j].Name == f.Policy {
				spent = max(spent, terms[j].Quota)
			}
		}
	}
	if until.IsZero() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.look
	d := l.dry[scope]
	if d == nil {
		l.spent = min(l.spent+max(spent, 1), maxPrice)
		d = &dryScope{since: now}
		if l.spent >= max(l.price, firstPrice) {
			l.count++
			d.looksIn = scope + ofKind + "?" + strconv.Itoa(l.count)
		}
		if l.dry == nil {
			l.dry = make(map[string]*dryScope)
		}
		makeRoom(l.dry, maxUsedUp)
		l.dry[strings.Clone(scope)] = d
		moved = d.looksIn != "" && t.unknown.Swap(false)
		for i := range l.resources {
			p := &l.resources[i]
			p.spent = min(p.spent+max(spent, 1), maxPrice)
			if until.Sub(now) >= leastResourceLook && p.spent >= max(p.price, firstPrice) {
				l.count++
				d.things[i] = scope + ofKind + "?" + strconv.Itoa(l.count)
			}
		}
	}
	if keys, ok := x.resourceKeys(); ok {
		moved = d.noteResource(x.kind().key(), keys) || moved
	}
	if until.After(d.until) {
		d.until = until
	}
	if l.ends.IsZero() || d.until.Before(l.ends) {
		l.ends = d.until
	}
	if what >= toldLimit && !slices.Contains(d.limits, what) && len(d.limits) < maxUsedUp {
		d.limits = append(d.limits, what)
	}
	for i := range figures {
		if f := &figures[i]; f.Available == 0 && f.Window >= leastLook && !names(d.named, f) && len(d.named) < maxUsedUp {
			d.named = append(d.named, quota.Figure{
				Policy: strings.Clone(f.Policy), Key: strings.Clone(f.Key), Keyed: f.Keyed, Available: parse.None, Window: parse.None,
			})
		}
	}
	t.looking.Store(true)
	return moved
}

// names reports whether a policy and key are among those named.
func names(named []quota.Figure, f *quota.Figure) bool {
	return slices.ContainsFunc(named, func(n quota.Figure) bool { return n.Policy == f.Policy && n.Keyed == f.Keyed && n.Key == f.Key })
}

// noteUnknown notes that a request of a kind of which nothing is known was routed.
func (t *toldKinds) noteUnknown() {
	if !t.unknown.Load() {
		t.unknown.Store(true)
	}
}

// endDry forgets what is there again at now. It reports whether requests may have another scope now.
func (t *toldKinds) endDry(now time.Time) (moved bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := &t.look
	if now.Before(l.ends) {
		return false
	}
	l.ends = time.Time{}
	for scope, d := range l.dry {
		switch {
		case !now.Before(d.until):
			delete(l.dry, scope)
			moved = moved || d.looked || t.ofResources.Load()
		case l.ends.IsZero() || d.until.Before(l.ends):
			l.ends = d.until
		}
	}
	t.looking.Store(len(l.dry) > 0)
	return moved
}

// lookIn returns the scope in which a request looks whose kind was never answered as far as the directory
// knows; "": none may.
func (t *toldKinds) lookIn(scope string, kind kindKey) (in string, named []quota.Figure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.look.dry[scope]
	if d == nil {
		return "", nil
	}
	if k, known := t.kinds[kindOfScope{scope, kind}]; known && (k.what != toldNothing || k.sure.apart || !k.until.IsZero()) {
		return "", nil // also if a Retry-After of its own holds it
	}
	d.looked = d.looksIn != ""
	return d.looksIn, d.named
}

// looked reports whether requests of a scope were routed to look.
func (t *toldKinds) looked(scope string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.look.dry[scope]
	return d != nil && d.looked
}

// mayLook sets the scope of a request that may look.
func (x *exchange) mayLook() {
	told := &x.directory.told
	if x.pathKey != "" || x.unconditional() || x.directory.declared.Load() != nil || x.isNarrowed() {
		return
	}
	in, named := told.lookIn(x.ask.Scope, x.kind().key())
	if in == "" || !x.directory.mayBeFree(x.ask.Scope, x.kind(), named) {
		keys, ok := x.resourceKeys()
		if !ok {
			return
		}
		if in, x.looksAs = told.lookForResource(x.ask.Scope, x.kind().key(), keys); in == "" {
			return
		}
	}
	x.ask.Scope, x.silent, x.ask.Trial, x.looks = in, true, true, true
}

// leaveLook has a response that tells of a quota, to a request that looked, teach something of its kind in the scope that
// the request would have had otherwise.
func (x *exchange) leaveLook(got *parse.Reading) {
	if !got.Cached && len(got.Policies)+len(got.Limits) > 0 {
		x.ask.Scope = x.wideScope()
	}
}

// endLook takes over the answer to a request that looked, and names the scope in which it counts: that of its kind,
// as the answer has shown it. A refusal that names nothing is of the quota at which the request looked.
func (x *exchange) endLook(got *parse.Reading, wide string, what int64, known bool) {
	told, of, r := &x.directory.told, kindOfScope{wide, x.kind().key()}, &x.report
	found := told.learnLook(of, what, known && x.resp.StatusCode < 400, x.lease.Sent(), x)
	as := x.looksAs > 0
	x.looks, x.looksAs, x.ask.Trial = false, 0, false
	x.moveAll()
	bare := len(got.Policies)+len(got.Limits) == 0
	switch {
	case as && !r.Refused && !found.key:
		r.Figures, x.ask.Scope = r.Figures[:0], wide // what is left may not be of the counter that is used up
	case r.Refused && found.same:
		x.ask.Scope = wide
		if bare {
			r.Figures = append(r.Figures, found.named...)
			x.learnKind(got)
		}
	case r.Refused && what >= toldLimit:
		x.ask.Scope = scopeOfLimit(wide, what)
	case bare:
		return
	default:
		if x.scopeOfKind(); x.looks {
			x.ask.Scope, x.silent, x.looks, x.ask.Trial = wide, false, false, false
		}
	}
	if r.Scope == "" {
		r.Scope = cmp.Or(x.ask.Scope, noScope)
	}
	if found.key && !as {
		x.keepInPath()
	}
}

// noScope stands for the scope "" in a quota.Report.
const noScope = "\x00"

// A lookFound is what the answer to a request that looked has shown.
type lookFound struct {
	same  bool           // it is of the quota that is used up, as far as it says
	key   bool           // the kind has a counter of its own, of a quota with a partition key
	named []quota.Figure // what is used up
}

// learnLook takes over the answer to a request of a kind that has looked, and what it was told.
func (t *toldKinds) learnLook(of kindOfScope, what int64, served bool, sent time.Time, x *exchange) (found lookFound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, d, r := &t.look, t.look.dry[of.scope], &x.report
	if d == nil {
		return found
	}
	found.named = d.named
	switch {
	case what >= toldLimit:
		found.same = slices.Contains(d.limits, what)
	case what == toldNames:
		found.same = slices.ContainsFunc(r.Figures, func(f quota.Figure) bool {
			return slices.ContainsFunc(d.named, func(n quota.Figure) bool { return n.Policy == f.Policy })
		})
	default:
		found.same = r.Refused
	}
	k := t.kinds[of]
	switch {
	case !sent.Before(d.until):
	case r.Refused:
		if i := x.looksAs - 1; found.same && i >= 0 {
			l.resources[i] = lookPrice{price: min(max(4*l.resources[i].price, lookEvery), maxPrice)}
			d.things[i] = ""
		} else if found.same {
			l.spent, l.price = 0, min(max(4*l.price, lookEvery), maxPrice)
			d.looksIn = ""
		}
	case !served || k.what != what:
	case x.looksAs > 0:
		found.key = found.same && t.provedByLook(of, d, x)
	case !found.same:
		if l.price = 0; what != toldNames {
			t.stay(of.scope)
			k.sure = proof{apart: true, turns: sureTurns, changes: k.sure.changes}
			t.silent = t.silent || what == toldNothing
			t.set(of, k)
		}
	case t.isFull(&k, x):
		found.key, l.price = k.own.hasKey(), 0
		k.own.separate, k.own.proof.apart, k.own.proof.turns = true, true, ownTurns
		t.set(of, k)
		t.waited.Store(true) // from now on, all of the kind are counted
		t.several.Store(true)
	}
	return found
}

// isFull reports whether the answer to a request of a kind says that all is left of a limit that is used up, as
// far as others are told, and kinds that are told the limit were never taken to have counters of their own in error.
func (t *toldKinds) isFull(k *toldKind, x *exchange) bool {
	got := &x.reading
	if len(got.Limits) != 1 {
		return false
	}
	if k.own == nil { // nothing was noted of the other kinds
		k.own = &ownCounter{told: k.what, alike: new(alikeKinds)}
	}
	k.own.unkeyed = k.own.told == toldNames && !got.Limits[0].HasKey
	if !x.tellsOne(got, k.own) || got.Limits[0].Available+1 < got.Policies[0].Quota {
		return false
	}
	for _, other := range t.kinds {
		if other.own != nil && other.own.alike == k.own.alike && other.own.proof.changes > 0 {
			return false
		}
	}
	return true
}
