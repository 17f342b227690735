package transport

import (
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
)

// Some servers have a counter for each route, and all counters have the same limit: a middleware is
// mounted once for each route, or a gateway has the route in its key. Their fields look like those of
// one counter for all routes. Only what is left differs: a request of one route leaves the others as much as before.
//
// An ownCounter collects evidence that the server counts one kind of requests by itself. It compares
// two answers to the kind, of which the second one's request departed after the first one had come. One counter for all
// kinds would have counted all requests that departed and were served between the two. If the second
// answer says that at least ownExcess more are left than that allows, whatever has come back meanwhile, that is
// one piece of evidence. ownTurns pieces are a proof. Once two kinds have a proof, each has accounts of its own.
//
// If less is left than the requests of the kind explain, or one of them is refused although something
// must be left, then all kinds that are told the same have one counter again. The next proof takes twice as
// many pieces.
//
// Only requests that wait gain by this. So none is counted before one has waited.
type ownCounter struct {
	told     int64 // what the kind is told
	kind     requestCount
	alike    *alikeKinds
	base     ownAnswer // that later ones are compared with
	proof    proof     // its turns are the pieces of evidence
	separate bool      // the kind has accounts of its own
	unkeyed  bool      // the policy that it is told has a name and no key: the accounts are those of a scope of its own
}

// alikeKinds are the kinds of a scope that are told the same.
type alikeKinds struct {
	count       requestCount
	policy, key string // that the last answer has told, where keys are told
	changes     int    // of policy and key
}

// A requestCount counts requests.
type requestCount struct{ departed, ended, served int64 }

// atLeast returns how many requests the server has counted at least between two answers: c is the count when the
// first one came, and then is the one when the request of the second one departed. That request is one of
// them. Those that were in flight when the first one came may have been counted before it.
func (c requestCount) atLeast(then requestCount) int64 {
	return then.served - c.served - (c.departed - c.ended) + 1
}

// A departure is what was counted when a request departed, without it.
type departure struct {
	own       *ownCounter // nil: the request is not counted
	at        time.Time
	kind, all requestCount
}

// An ownAnswer is an answer that says what is left.
type ownAnswer struct {
	left, quota  int64
	window       time.Duration // in which a bucket would give back the quota; 0: the answer is not compared
	ends, latest time.Time     // the window ends between the two; zero: units come back one by one
	sent         departure
	came         time.Time
	kind, all    requestCount // when it came
	changes      int          // of the policy and the key, then
}

const (
	ownTurns   = 3   // before the first change
	ownExcess  = 4   // requests
	ownWindows = 10  // as far apart, answers of a bucket are not compared: too much may have come back
	ownBytes   = 450 // that an ownCounter takes up, roughly
)

// countKind begins to count the requests of a kind, if others of its scope are told the same; and those of
// the others.
func (t *toldKinds) countKind(of kindOfScope, k *toldKind) {
	if k.own != nil && k.own.told == k.what {
		return
	}
	if k.own = nil; k.what < toldLimit && k.what != toldNames {
		return
	}
	for other, as := range t.kinds {
		if other == of || other.scope != of.scope || as.what != k.what {
			continue
		}
		if as.own == nil {
			as.own = &ownCounter{told: k.what, alike: new(alikeKinds)}
			t.kinds[other] = as
			t.bytes += ownBytes
		}
		k.own = &ownCounter{told: k.what, alike: as.own.alike}
		return
	}
}

// countDeparture counts a request that departs.
func (x *exchange) countDeparture() {
	told := &x.directory.told
	if !told.waited.Load() {
		return
	}
	wide := x.wideScope()
	kind := x.kind().key() // Like is called with no lock held
	told.mu.Lock()
	defer told.mu.Unlock()
	x.departResource(wide)
	if own := told.kinds[kindOfScope{wide, kind}].own; own != nil {
		x.counted = departure{own, x.lease.Sent(), own.kind, own.alike.count}
		own.kind.departed++
		own.alike.count.departed++
	}
}

// countEnd takes over the answer to a request that was counted, and what it tells; nil: no answer came. It
// reports whether requests may have other accounts now.
func (x *exchange) countEnd(got *parse.Reading, what int64) (moved bool) {
	sent, told := x.counted, &x.directory.told
	own := sent.own
	if own == nil {
		return false
	}
	x.counted.own = nil
	told.mu.Lock()
	defer told.mu.Unlock()
	own.kind.ended++
	own.alike.count.ended++
	if got == nil || got.Cached {
		return false
	}
	if x.report.Refused {
		return own.contradictedBy(time.Now()) && told.share(own)
	}
	if what != own.told || x.report.Unsure || !x.tellsOne(got, own) {
		return false
	}
	own.kind.served++
	own.alike.count.served++
	separate := own.separate
	moved = told.compare(own, newOwnAnswer(got, sent))
	if own.separate && !separate {
		if own.hasKey() {
			x.pathKey = pathKeyOfOwn(x.kind().key())
			x.keepInPath()
		}
		for i := range x.report.Figures {
			f := &x.report.Figures[i] // its account is new, and does not know what is in flight
			f.Available = max(f.Available-(own.kind.departed-own.kind.ended), 0)
		}
	}
	return moved
}

// hasKey reports whether the kind is told policies that have partition keys.
func (own *ownCounter) hasKey() bool { return own.told == toldNames && !own.unkeyed }

// tellsOne reports whether a response tells what is left of one quota, of which the request has cost one
// unit.
func (x *exchange) tellsOne(got *parse.Reading, own *ownCounter) bool {
	if len(got.Policies) != 1 || len(got.Limits) != 1 || got.Policies[0].Quota < 0 {
		return false
	}
	l := &got.Limits[0]
	if l.Available < 0 || l.Cost >= 0 && l.Cost != 1 {
		return false
	}
	if !own.hasKey() {
		return own.told != toldNames || !l.HasKey
	}
	if !l.HasKey || x.directory.declared.Load() != nil || x.pathKey != "" && !strings.HasPrefix(x.pathKey, ofKind) {
		return false
	}
	if as := own.alike; as.policy != l.Policy || as.key != string(l.Key) {
		as.policy, as.key = strings.Clone(l.Policy), strings.Clone(string(l.Key))
		as.changes++
	}
	return true
}

// newOwnAnswer returns the answer, that has come just now, to the request that departed then.
func newOwnAnswer(got *parse.Reading, sent departure) ownAnswer {
	l, p, own, now := &got.Limits[0], &got.Policies[0], sent.own, time.Now()
	a := ownAnswer{
		left: l.Available, quota: p.Quota, window: max(p.Window, 0),
		sent: sent, came: now, kind: own.kind, all: own.alike.count, changes: own.alike.changes,
	}
	switch {
	case l.Full > 0 && l.Cost == 1:
	case l.Full > 0, l.Window < 0:
		a.window = 0 // requests of other kinds may cost nothing, and what comes back hides it
	default:
		a.ends, a.latest = sent.at.Add(l.Window-time.Second), now.Add(l.Window) // of whole seconds
		if a.window == 0 {
			a.window = l.Window
		}
	}
	return a
}

// atMost returns how many requests of the kind the server may have counted since the base.
func (own *ownCounter) atMost() int64 { return own.kind.departed - own.base.sent.kind.ended - 1 }

// contradictedBy reports whether something must have been left for a request that was refused, whose refusal came
// then, if the kind has the counter of its own that it is taken to have.
func (own *ownCounter) contradictedBy(came time.Time) bool {
	b := &own.base
	return own.separate && b.window > 0 && (b.ends.IsZero() || came.Before(b.ends)) && b.left >= own.atMost()
}

// compare compares an answer with the base. It reports whether requests may have other accounts now.
func (t *toldKinds) compare(own *ownCounter, a ownAnswer) (moved bool) {
	b := &own.base
	if b.window == 0 || a.window == 0 || !b.isOfWindow(&a) {
		own.base = a
		return false
	}
	if a.sent.all.ended < b.all.ended {
		return false // its request departed before the base came
	}
	fall, back, explained := b.left-a.left, b.mayComeBack(&a), own.atMost()
	if b.ends.IsZero() {
		explained = fall // of a bucket less than that
	}
	switch {
	case fall > own.atMost():
		moved = t.share(own)
	case fall+back < b.kind.atLeast(a.sent.kind):
		if !own.proof.apart {
			own.proof.turns = 0 // not even those of the kind are counted: the figures are late, or some requests are free
		}
	case b.all.atLeast(a.sent.all)-back-explained < ownExcess:
		return false // the same base may be evidence later
	default:
		own.proof.turn(ownTurns)
		if !own.separate && t.areProven(own) {
			own.separate, moved = true, true
			t.several.Store(true)
		}
	}
	own.base = a
	return moved
}

// areProven reports whether the kind, if it is still known, and another one that is told the same have a proof.
func (t *toldKinds) areProven(own *ownCounter) bool {
	this, another := false, false
	for _, k := range t.kinds {
		if k.own != nil && k.own.alike == own.alike && k.own.proof.apart {
			this, another = this || k.own == own, another || k.own != own
		}
	}
	return this && another
}

// isOfWindow reports whether another answer, which came later, is of the same window and can be compared.
func (b *ownAnswer) isOfWindow(a *ownAnswer) bool {
	switch {
	case b.changes != a.changes, b.ends.IsZero() != a.ends.IsZero():
		return false
	case b.ends.IsZero():
		return a.came.Sub(b.sent.at)/ownWindows < b.window
	}
	return a.came.Before(b.ends) && !a.ends.After(b.latest) && !b.ends.After(a.latest)
}

// mayComeBack returns how many units may have come back until another answer came: as many as in a bucket.
// If the end of the window stays the same, while a bucket would be full later because more is used, it is no
// bucket, and no more have come back than were used.
func (b *ownAnswer) mayComeBack(a *ownAnswer) int64 {
	took := a.came.Sub(b.sent.at) + time.Second // some servers count by the second
	back := int64(min(float64(b.quota)*float64(took)/float64(min(b.window, a.window)), 1<<60)) + 1
	if !b.ends.IsZero() && a.left <= b.left && a.sent.at.Sub(b.came) > a.latest.Sub(b.ends) {
		back = min(back, max(b.quota-b.left, 0))
	}
	return back
}

// share takes over that a kind has no counter of its own. If it had a proof, no kind that is told the same has
// one any more. It reports whether one had accounts of its own.
func (t *toldKinds) share(own *ownCounter) (moved bool) {
	if !own.proof.apart {
		if own.proof.turns > 0 {
			own.proof.changed()
		}
		return false
	}
	for _, k := range t.kinds {
		if k.own != nil && k.own.alike == own.alike {
			moved = moved || k.own.separate
			k.own.separate, k.own.base = false, ownAnswer{}
			k.own.proof.changed()
		}
	}
	return moved
}

// scopeOfOwn returns the scope of a kind that has a counter of its own.
func scopeOfOwn(scope string, kind kindKey, limit int64) string {
	return scopeOfLimit(scope, limit) + " " + strconv.FormatUint(uint64(kind), 36)
}

// pathKeyOfOwn returns what its partition keys have in addition, if it is told of one.
func pathKeyOfOwn(kind kindKey) string { return ofKind + strconv.FormatUint(uint64(kind), 36) }

// ownPathKey returns pathKeyOfOwn, or "" if a kind has no counter of its own under a partition key.
func (t *toldKinds) ownPathKey(scope string, kind kindKey) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kinds[kindOfScope{scope, kind}]; k.own != nil && k.own.separate && k.own.hasKey() {
		return pathKeyOfOwn(kind)
	}
	return ""
}
