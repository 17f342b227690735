package transport

import (
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
)

// Some servers give each route a counter of its own, and all counters the same limit: a middleware
// that is mounted for each route, or a gateway that has the route in its key. No field tells them
// from one counter. What is left does: it falls by the requests of the route alone, although those of
// other routes were served in the same time.
//
// An ownCount finds that out for a kind. It compares an answer with an earlier one that had come before the
// request departed. A turn is that the requests of the kind explain what is left, and that those of all kinds do not,
// by ownExcess: requests that were in flight may have been counted between the two or not, and as much may
// have come back as comes back in a bucket of that quota, whatever the fields call it. After ownTurns turns
// the kind is sure. Once another kind is, too, it gets accounts of its own.
//
// If then what is left falls by more than requests of the kind explain, or one of them is refused although
// something must be left, all kinds have one counter again, and it takes twice as many turns.
type ownCount struct {
	what  int64 // that the kind is told
	of    count // requests of the kind
	all   *alike
	since left // what later answers are compared with
	sure  proof
	apart bool // the kind has accounts of its own
}

// A count is of requests.
type count struct{ departed, ended, served int64 }

// between returns how many requests were counted at least, if these are the counts when an answer had come
// and then those when the request of another departed; that one included.
func (c count) between(then count) int64 {
	return then.served - c.served - (c.departed - c.ended) + 1
}

// An alike is what the kinds of a scope that are told the same have in common.
type alike struct {
	count        // of their requests
	name  string // the policy and the partition key that they are told of, if any
	sure  int    // kinds
}

// A departure is what was counted when a request departed.
type departure struct {
	own     *ownCount // nil: it is not counted
	at      time.Time
	of, all count
}

// A left is what an answer has said is left.
type left struct {
	units, quota int64
	window       time.Duration // in which a bucket would give back the quota; 0: nothing was said
	ends, latest time.Time     // when the window may end; zero: units come back one by one
	sent         departure
	came         time.Time
	of, all      count // then
}

const (
	ownTurns  = 3   // before the first change
	ownExcess = 4   // requests
	ownBytes  = 400 // that an ownCount takes up, roughly
)

// countKind begins to count the requests of a kind, if others of its scope are told the same; and those of
// the others.
func (t *toldKinds) countKind(of kindOfScope, k *toldKind) {
	if k.own != nil && k.own.what == k.what {
		return
	}
	if k.own != nil && k.own.sure.apart {
		k.own.all.sure--
	}
	if k.own = nil; k.what < toldLimit && k.what != toldNames {
		return
	}
	for other, as := range t.kinds {
		if other == of || other.scope != of.scope || as.what != k.what {
			continue
		}
		if as.own == nil {
			as.own = &ownCount{what: k.what, all: new(alike)}
			t.kinds[other] = as
			t.bytes += ownBytes
		}
		k.own = &ownCount{what: k.what, all: as.own.all}
		t.counts.Store(true)
		return
	}
}

// countDeparture counts a request that departs.
func (x *exchange) countDeparture() {
	told := &x.directory.told
	if !told.counts.Load() {
		return
	}
	wide, _, _ := strings.Cut(x.ask.Scope, ofKind)
	told.mu.Lock()
	defer told.mu.Unlock()
	if own := told.kinds[kindOfScope{wide, x.kind().key()}].own; own != nil {
		x.counted = departure{own, x.lease.Sent(), own.of, own.all.count}
		own.of.departed++
		own.all.departed++
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
	own.of.ended++
	own.all.ended++
	if got == nil || got.Cached {
		return false
	}
	now := time.Now()
	if y := &own.since; x.report.Refused {
		return own.apart && y.window > 0 && (y.ends.IsZero() || now.Before(y.ends)) && y.units >= own.most() && told.share(own)
	}
	if what != own.what || x.report.Unsure || !x.tellsOne(got, own) {
		return false
	}
	own.of.served++
	own.all.served++
	l, p := &got.Limits[0], &got.Policies[0]
	said := left{units: l.Available, quota: p.Quota, window: max(p.Window, 0), sent: sent, came: now, of: own.of, all: own.all.count}
	switch {
	case l.Full > 0 && l.Cost == 1:
	case l.Full > 0, l.Window < 0:
		said.window = 0 // requests of other kinds may cost nothing, and what comes back hides it
	default:
		said.ends, said.latest = sent.at.Add(l.Window-time.Second), now.Add(l.Window) // of whole seconds
		if said.window == 0 {
			said.window = l.Window
		}
	}
	before := own.apart
	moved = told.compare(own, said)
	if own.apart && !before {
		if own.what == toldNames {
			x.pathKey = pathKeyOfOwn(x.kind().key())
			x.keepInPath()
		}
		for i := range x.report.Figures {
			f := &x.report.Figures[i] // its account is new, and does not know what is in flight
			f.Available = max(f.Available-(own.of.departed-own.of.ended), 0)
		}
	}
	return moved
}

// tellsOne reports whether a response tells what is left of one quota, of which the request has cost one
// unit, under the name that others are told.
func (x *exchange) tellsOne(got *parse.Reading, own *ownCount) bool {
	if len(got.Policies) != 1 || len(got.Limits) != 1 || got.Policies[0].Quota < 0 {
		return false
	}
	l := &got.Limits[0]
	if l.Available < 0 || l.Cost >= 0 && l.Cost != 1 {
		return false
	}
	if own.what != toldNames {
		return true
	}
	if !l.HasKey || x.directory.declared.Load() != nil || x.pathKey != "" && !strings.HasPrefix(x.pathKey, ofKind) {
		return false
	}
	name := l.Policy + ofPath + string(l.Key)
	if own.all.name == "" {
		own.all.name = name
	}
	return own.all.name == name
}

// most returns how many requests of the kind were counted at most since the answer that others are compared
// with.
func (own *ownCount) most() int64 { return own.of.departed - own.since.sent.of.ended - 1 }

// compare compares an answer with the one before. It reports whether requests may have other accounts now.
func (t *toldKinds) compare(own *ownCount, said left) (moved bool) {
	y := &own.since
	if y.window == 0 || said.window == 0 || !y.isOfWindow(&said) {
		own.since = said
		return false
	}
	if said.sent.all.ended < y.all.ended {
		return false // its request departed before the other answer came
	}
	fall, back := y.units-said.units, y.mayComeBack(&said)
	explained := own.most()
	if y.ends.IsZero() {
		explained = fall // of a bucket less than that
	}
	switch sure := &own.sure; {
	case fall > own.most():
		moved = t.share(own)
	case fall+back < y.of.between(said.sent.of):
		if !sure.apart {
			sure.turns = 0 // not all of them were counted
		}
	case y.all.between(said.sent.all)-back-explained < ownExcess:
		return false
	default:
		sure.turns++
		if !sure.apart && sure.turns >= ownTurns<<sure.changes {
			sure.apart = true
			own.all.sure++
		}
	}
	own.since = said
	if sure := own.sure.apart && own.all.sure > 1; sure && !own.apart {
		own.apart, moved = true, true
		t.several.Store(true)
	}
	return moved
}

// isOfWindow reports whether the other answer, which came later, is of the same window.
func (y *left) isOfWindow(other *left) bool {
	if y.ends.IsZero() || other.ends.IsZero() {
		return y.ends.IsZero() && other.ends.IsZero()
	}
	return other.came.Before(y.ends) && !other.ends.After(y.latest) && !y.ends.After(other.latest)
}

// mayComeBack returns how many units may have come back until the other answer came: as many as in a bucket.
// If the window ends when it did, although the time until a bucket is full would be longer, no more than were
// missing.
func (y *left) mayComeBack(other *left) int64 {
	took := other.came.Sub(y.sent.at) + time.Second // some servers count by the second
	back := int64(float64(y.quota)*float64(took)/float64(min(y.window, other.window))) + 1
	if !y.ends.IsZero() && other.units <= y.units && other.sent.at.Sub(y.came) > other.latest.Sub(y.ends) {
		back = min(back, max(y.quota-y.units, 0))
	}
	return back
}

// share takes over that a kind has no counter of its own. If it was sure, none has that is told the same. It
// reports whether one had accounts of its own.
func (t *toldKinds) share(own *ownCount) (moved bool) {
	if !own.sure.apart {
		if own.sure.turns > 0 {
			own.sure.changed()
		}
		return false
	}
	for _, k := range t.kinds {
		if k.own != nil && k.own.all == own.all {
			moved = moved || k.own.apart
			k.own.apart, k.own.since = false, left{}
			k.own.sure.changed()
		}
	}
	own.all.sure = 0
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
	if k := t.kinds[kindOfScope{scope, kind}]; k.what == toldNames && k.own != nil && k.own.apart {
		return pathKeyOfOwn(kind)
	}
	return ""
}
