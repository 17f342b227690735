package transport

import (
	"hash/maphash"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
)

// Some servers have a counter for each thing that a path names: each channel, shop or document. All have the same
// limit, and nothing says of which thing a figure is. DefaultLike takes requests for such things as one kind.
//
// Two answers for one thing show it, as two answers to one kind do in ownCounter: if the counter were one for all things, all
// requests that were served between the two would have been counted. ownTurns such pieces of evidence are a proof. Which part
// of the path names the thing is not known. So each part is tried by itself, and of those with a proof, the one that
// tells the fewest apart is taken. The things of the kind then have scopes of their own.
//
// While nothing is left of a limit, nothing is sent that could show anything. So a request for another thing than
// those that were told so looks: see firstLooks. If more is left than can have come back, that is a proof at once. If less
// is left, the figure is ignored: it may be that of the counter that is used up.
//
// The proof is over if one counter for all explains a fall that the requests for one thing do not; or if not even
// these were all counted. The next one takes twice as many pieces of evidence. A thing that a refusal holds stays in the
// scope in which it does.

// Parts of a request that may name a thing.
const (
	byPrefix        = iota // the path, up to the first identifier, whatever the kind
	byKindAndPrefix        // the kind, and the same
	byPath                 // the whole path
	resourceParts
)

// resourceKeys are hashes of the parts of a request.
type resourceKeys [resourceParts]kindKey

const (
	maxCounted         = 128 // things, by all parts, of an origin
	maxResourceKinds   = 64  // of an origin
	maxDryResources    = 64  // of a scope
	leastResourceLook  = 10 * time.Second
	resourceLookMargin = 2 * time.Second // before the end, seconds are rounded
)

// resources are what is known of the things of the kinds of an origin. The mutex of toldKinds guards it.
type resources struct {
	kinds   map[kindOfScope]*resourceKind
	counted map[countedResource]*ownCounter
	alike   map[countedScope]*alikeKinds
	paused  map[kindOfScope]pausedResource // by path
}

// A pausedResource is the scope in which a refusal holds a thing, and until when.
type pausedResource struct {
	scope string
	until time.Time
}

type countedScope struct {
	scope string
	told  int64
}

type countedResource struct {
	countedScope
	key kindKey
}

// A resourceKind is a kind whose requests are for things.
type resourceKind struct {
	proofs [resourceParts]proof
	apart  int // the part that names the thing, plus 1; 0: the things have no scopes of their own
}

// A resourceDeparture is what was counted when a request departed.
type resourceDeparture struct {
	alike *alikeKinds // nil: the request is not counted
	of    kindOfScope
	told  int64
	sent  [resourceParts]departure // without an ownCounter where there was no room
}

// resourceKeys returns the keys of the thing that the request is for. It returns false if none is known.
func (x *exchange) resourceKeys() (keys resourceKeys, ok bool) {
	if x.s.Like != nil {
		return keys, false
	}
	path := x.req.URL.Path
	rest := path
	for n := 0; n < maxSegments; n++ {
		var segment string
		if segment, rest = nextSegment(rest); segment == "" {
			return keys, false
		}
		if !isWord(segment) && !isVersion(segment) {
			start := maphash.String(kindSeed, path[:len(path)-len(rest)])
			keys[byPrefix] = kindKey(start)
			keys[byKindAndPrefix] = kindKey(bits.RotateLeft64(start, 23)) ^ x.kind().key()
			keys[byPath] = kindKey(bits.RotateLeft64(maphash.String(kindSeed, path), 41))
			return keys, true
		}
	}
	return keys, false
}

// departResource counts a request that departs for a thing. The mutex is held.
func (x *exchange) departResource(wide string) {
	t := &x.directory.told
	of := kindOfScope{wide, x.kind().key()}
	k := t.kinds[of]
	if k.what < toldLimit && k.what != toldNames || x.pathKey != "" {
		return
	}
	keys, ok := x.resourceKeys()
	if !ok {
		return
	}
	in := countedScope{wide, k.what}
	alike := t.resources.alikeIn(in)
	sent := &x.resource
	*sent = resourceDeparture{alike: alike, of: of, told: k.what}
	for i, key := range keys {
		if own := t.counterOf(countedResource{in, key}, alike); own != nil {
			sent.sent[i] = departure{own, x.lease.Sent(), own.kind, alike.count}
			own.kind.departed++
		}
	}
	alike.count.departed++
}

// alikeIn returns what is counted of all things of a scope that are told the same.
func (r *resources) alikeIn(in countedScope) *alikeKinds {
	alike := r.alike[in]
	if alike == nil {
		if r.alike == nil {
			r.alike = make(map[countedScope]*alikeKinds)
		}
		alike = new(alikeKinds)
		makeRoom(r.alike, maxUsedUp)
		in.scope = strings.Clone(in.scope)
		r.alike[in] = alike
	}
	return alike
}

// counterOf returns the counter of a thing. If there is none and no room for one, it returns nil.
func (t *toldKinds) counterOf(thing countedResource, alike *alikeKinds) *ownCounter {
	r := &t.resources
	if own := r.counted[thing]; own != nil {
		if own.alike == alike {
			return own
		}
		delete(r.counted, thing) // what was counted of all such things was forgotten meanwhile
		t.bytes -= ownBytes
	}
	if r.counted == nil {
		r.counted = make(map[countedResource]*ownCounter)
	}
	if len(r.counted) >= maxCounted && !t.forgetCounted(time.Now()) {
		return nil
	}
	own := &ownCounter{told: thing.told, alike: alike, unkeyed: true}
	thing.scope = strings.Clone(thing.scope)
	r.counted[thing] = own
	t.bytes += ownBytes
	return own
}

// forgetCounted forgets a counter that is of no use any more. It looks at a few only, and returns false if it finds none.
func (t *toldKinds) forgetCounted(now time.Time) bool {
	looked := 0
	for thing, own := range t.resources.counted {
		if own.kind.departed == own.kind.ended && now.Sub(own.base.came) > own.base.window {
			delete(t.resources.counted, thing)
			t.bytes -= ownBytes
			return true
		}
		if looked++; looked == manyAlike {
			break
		}
	}
	return false
}

// endResource takes over the answer to a request that was counted, and what it tells; nil: no answer came. It reports
// whether requests may have other accounts now.
func (x *exchange) endResource(got *parse.Reading, what int64) (moved bool) {
	if x.resource.alike == nil {
		return false
	}
	sent, t := x.resource, &x.directory.told
	x.resource = resourceDeparture{}
	t.mu.Lock()
	defer t.mu.Unlock()
	sent.alike.count.ended++
	for i := range sent.sent {
		if own := sent.sent[i].own; own != nil {
			own.kind.ended++
		}
	}
	if got == nil || what != sent.told || x.unsure() || !x.tellsOne(got, &ownCounter{told: what, unkeyed: true}) {
		return false
	}
	sent.alike.count.served++
	for i := range sent.sent {
		own := sent.sent[i].own
		if own == nil {
			continue
		}
		own.kind.served++
		evidence := own.compare(newOwnAnswer(got, sent.sent[i]))
		if evidence == noEvidence {
			continue
		}
		k := t.resourceKind(sent.of)
		if k.proofs[i].take(evidence) && k.choose() {
			moved = true
		}
	}
	if moved {
		t.several.Store(true)
		t.ofResources.Store(true)
	}
	return moved
}

// An evidence is what two answers for one thing show.
type evidence int

const (
	noEvidence evidence = iota
	ofOwn               // the thing has a counter of its own
	ofOne               // one counter for all explains what is left, and one of its own does not
	ofFewer             // not even the requests for the thing are all counted
	ofOthers            // neither explains it: others use the counter of the thing, or some requests are free
)

// compare compares an answer with the base.
func (own *ownCounter) compare(a ownAnswer) evidence {
	b := &own.base
	if b.window == 0 || a.window == 0 || !b.isOfWindow(&a) {
		own.base = a
		return noEvidence
	}
	if a.sent.all.ended < b.all.ended {
		return noEvidence // its request departed before the base came
	}
	fall, back, explained := b.left-a.left, b.mayComeBack(&a), own.atMost()
	if b.ends.IsZero() {
		explained = fall // of a bucket less than that
	}
	all := b.all.atLeast(a.sent.all)
	found := ofOwn
	switch {
	case fall > own.atMost():
		if found = ofOne; all-back-fall >= ownExcess {
			found = ofOthers
		}
	case fall+back < b.kind.atLeast(a.sent.kind):
		found = ofFewer
	case all-back-explained < ownExcess:
		return noEvidence // the same base may be evidence later
	}
	own.base = a
	return found
}

// take takes over a piece of evidence that a thing has shown. It reports whether that may change which part names it.
func (p *proof) take(e evidence) (changed bool) {
	before := p.apart
	switch {
	case e == ofOwn:
		p.turn(ownTurns)
	case e == ofOthers && p.apart:
	case p.apart || e == ofOne && p.turns > 0:
		p.changed()
	default:
		p.turns = 0
	}
	return p.apart != before
}

// choose chooses the part that names the thing. It reports whether that is another one than before.
func (k *resourceKind) choose() (changed bool) {
	before := k.apart
	k.apart = 0
	for i := range k.proofs {
		if k.proofs[i].apart {
			k.apart = i + 1
			break
		}
	}
	return k.apart != before
}

// resourceKind returns what is known of the things of a kind.
func (t *toldKinds) resourceKind(of kindOfScope) *resourceKind {
	r := &t.resources
	k := r.kinds[of]
	if k == nil {
		if r.kinds == nil {
			r.kinds = make(map[kindOfScope]*resourceKind)
		}
		k = new(resourceKind)
		makeRoom(r.kinds, maxResourceKinds)
		of.scope = strings.Clone(of.scope)
		r.kinds[of] = k
	}
	return k
}

// resourceScope returns the scope of the thing that a request is for: the one given, unless the things of its
// kind have scopes of their own. A thing that was told that nothing is left, before it had one, stays where it was until
// that is over.
func (x *exchange) resourceScope(wide, scope string) string {
	t := &x.directory.told
	keys, ok := x.resourceKeys()
	if !ok {
		return scope
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, is := t.resources.paused[kindOfScope{wide, keys[byPath]}]; is {
		return p.scope
	}
	k := t.resources.kinds[kindOfScope{wide, x.kind().key()}]
	if k == nil || k.apart == 0 {
		return scope
	}
	key := keys[k.apart-1]
	if d := t.look.dry[wide]; d != nil && d.resources[key] {
		return scope
	}
	return scope + ofThing + strconv.FormatUint(uint64(key), 36)
}

// ofThing stands between a scope and the key of a thing.
const ofThing = ofKind + "/"

// holdResource notes that a refusal holds the thing that the request is for, in its scope, until then.
func (x *exchange) holdResource(wide string, until time.Time) {
	keys, ok := x.resourceKeys()
	if !ok {
		return
	}
	t := &x.directory.told
	t.mu.Lock()
	defer t.mu.Unlock()
	r, of := &t.resources, kindOfScope{wide, keys[byPath]}
	if p, is := r.paused[of]; is && p.until.After(until) {
		return
	}
	if r.paused == nil {
		r.paused = make(map[kindOfScope]pausedResource)
	}
	makeRoom(r.paused, maxCounted)
	t.endsBy(until)
	of.scope = strings.Clone(of.scope)
	r.paused[of] = pausedResource{strings.Clone(x.ask.Scope), until}
}

// endPauses forgets those that are over at now. It reports whether requests may have another scope now.
func (t *toldKinds) endPauses(now time.Time) (over bool) {
	for of, p := range t.resources.paused {
		if now.Before(p.until) {
			t.endsBy(p.until)
		} else {
			delete(t.resources.paused, of)
			over = true
		}
	}
	return over
}

// noteResource notes the thing of which a response has told that nothing is left, and its kind. It reports whether
// others of the kind may look now.
func (d *dryScope) noteResource(kind kindKey, keys resourceKeys) (moved bool) {
	isNew := !d.resources[kind]
	if d.resources == nil {
		d.resources = make(map[kindKey]bool)
	}
	if len(d.resources) >= maxDryResources*(resourceParts+1) {
		d.things = [resourceLooks]string{}
		return true
	}
	d.resources[kind] = true
	for _, key := range keys {
		d.resources[key] = true
	}
	return isNew && d.things != [resourceLooks]string{}
}

// Requests look for a thing whose path begins otherwise than those of which nothing is left, up to the first identifier;
// or for one whose path is another. The prices of the two are apart, because a path has more to it.
const resourceLooks = 2

// A lookPrice is what a look costs: see firstLooks.
type lookPrice struct{ spent, price int64 }

// lookForResource returns the scope in which a request looks whether the thing that it is for has a counter of its own,
// while nothing is left for others of its kind, and the number of the price, plus 1; "": it may not.
func (t *toldKinds) lookForResource(scope string, kind kindKey, keys resourceKeys) (in string, as int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.look.dry[scope]
	if _, paused := t.resources.paused[kindOfScope{scope, keys[byPath]}]; paused {
		return "", 0
	}
	if d == nil || !d.resources[kind] || d.resources[keys[byPath]] || time.Until(d.until) < resourceLookMargin {
		return "", 0
	}
	if d.resources[keys[byPrefix]] {
		as = 1
	}
	d.looked = d.looked || d.things[as] != ""
	return d.things[as], as + 1
}

// provedByLook reports whether the answer to a request that looked shows that the thing which it is for has a counter
// of its own: more is left than can have come back. It notes that.
func (t *toldKinds) provedByLook(of kindOfScope, d *dryScope, x *exchange) bool {
	got := &x.reading
	if !x.tellsOne(got, &ownCounter{told: t.kinds[of].what, unkeyed: true}) {
		return false
	}
	left, quota := got.Limits[0].Available, got.Policies[0].Quota
	back := float64(quota) * float64(time.Since(d.since)+time.Second) / float64(max(d.until.Sub(d.since), 1))
	if left+1 < quota && float64(left) < back+ownExcess {
		return false
	}
	k := t.resourceKind(of)
	keys, _ := x.resourceKeys()
	for i := range k.proofs {
		if p := &k.proofs[i]; !d.resources[keys[i]] && p.changes == 0 {
			*p = proof{apart: true, turns: ownTurns}
		}
	}
	if !k.choose() {
		return false
	}
	t.several.Store(true)
	t.ofResources.Store(true)
	t.waited.Store(true)
	return true
}
