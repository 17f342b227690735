package transport

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// Bounds of what a directory keeps of kinds of requests.
const (
	maxScopes = 10_000 // beyond them, one is forgotten, and learned again
	maxKinds  = 1_000  // of a scope: the others of it are one
	maxAll    = 20_000 // of all scopes: as above
	maxTraits = 32     // policies of a kind
)

// maxMissed is how many answers in a row may leave out a policy that others of
// the kind have named, where an answer need not name them all.
const maxMissed = 4

// A likeness is what requests of one kind have in common: what Shaper.Like says
// of them, or the method and the first segment of the path.
type likeness struct{ method, like string }

func (s *Shaper) likenessOf(req *http.Request) (l likeness) {
	if s.Like != nil {
		return likeness{like: s.Like(req)}
	}
	l.method = req.Method
	if l.method == "" {
		l.method = http.MethodGet
	}
	l.like, _, _ = strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	return l
}

// kinds are the kinds of requests of one scope that have been answered with
// fields, behind the lock of their directory.
type kinds struct {
	known map[likeness]*kind
	// unseen is what a kind that is not known is taken for: it is concerned by
	// the policies that no known kind has left out. nil: no kind is known.
	unseen *kind
	// rest are, past the bound, all kinds that are not known. nil: none of them
	// has been answered.
	rest *kind
	// failed are the declarations that have made a prediction which failed. They
	// are not believed until they are replaced. Never modified, only replaced.
	failed []*parse.Declaration
}

// A kind is what is known of requests that are alike. A nil kind is one of which
// nothing is: every policy may concern it.
type kind struct {
	traits atomic.Pointer[[]trait] // never modified, only replaced

	// What the contents of its requests and responses weigh: see estimate.
	sent, received atomic.Int64
}

func newKind(traits []trait) *kind {
	k := new(kind)
	k.traits.Store(&traits)
	return k
}

// A trait is what is known of a kind of requests under a policy that concerns it.
type trait struct {
	policy string
	key    partition.Key // the one seen last
	keyed  bool          // one was seen
	missed uint8         // answers in a row that left the policy out
	cost   int64         // c (the draft, Section 3.1.4): see estimate. 0: none was seen
	most   int64         // the most that was ever available; None: no figure was seen
}

// estimate moves an estimate to what was seen. It errs on the high side, or too
// much would slip in at once: it rises to what was seen, and falls by a quarter
// of the difference each time.
func estimate(old, seen int64) int64 {
	if seen >= old {
		return seen
	}
	return old - max((old-seen)/4, 1)
}

// trait is what is known of the kind under a policy. It reports false where the
// policy does not concern the kind.
func (k *kind) trait(policy string) (trait, bool) {
	if k == nil {
		return trait{policy: policy, most: parse.None}, true
	}
	traits := *k.traits.Load()
	if i := find(traits, policy); i >= 0 {
		return traits[i], true
	}
	return trait{}, false
}

// find is where the policy is among traits; None, if it is not.
func find(traits []trait, policy string) int {
	for i := range traits {
		if traits[i].policy == policy {
			return i
		}
	}
	return parse.None
}

// with is a trait after an answer said s of it.
func (t trait) with(s *trait) trait {
	t.missed = 0
	if s.keyed {
		t.key, t.keyed = s.key, true
	}
	if s.cost >= 0 {
		t.cost = estimate(t.cost, max(s.cost, 1)) // only Shaper.Cost may say 0
	}
	if t.most < 0 && s.most >= 0 {
		t.most = s.cost // which was there, as far as anybody knows
	}
	t.most = max(t.most, s.most)
	return t
}

// A finding is what an answer says about the policies that concern its request.
type finding struct {
	said  []trait // of each policy that it names: cost is c and most a, None where they are not said
	whole bool    // there are no others
}

// knows reports whether there is nothing new for the kind in a finding.
func (k *kind) knows(f finding) bool {
	traits := *k.traits.Load()
	if len(traits) != len(f.said) {
		return false
	}
	for i := range f.said {
		s := &f.said[i]
		at := find(traits, s.policy)
		if at < 0 || traits[at].with(s) != traits[at] {
			return false
		}
	}
	return true
}

// learn takes over a finding, and returns the traits from before.
//
// A policy that an answer names concerns the kind. One that it leaves out does
// not, if the answer names them all. One that does not may name the policy with
// the least left, and another one each time (draft -09, Appendix A.3.1); or the
// one that has refused. What it leaves out is given up when maxMissed answers in
// a row have not named it: until then it may be held, for its window at the most.
func (k *kind) learn(f finding) (before []trait) {
	var next []trait
	before = *k.traits.Load()
	for _, t := range before {
		if i := find(f.said, t.policy); i >= 0 {
			next = append(next, t.with(&f.said[i]))
		} else if t.missed++; !f.whole && t.missed < maxMissed {
			next = append(next, t)
		}
	}
	for i := range f.said {
		if s := &f.said[i]; find(before, s.policy) < 0 {
			t := trait{policy: strings.Clone(s.policy), most: parse.None}
			next = append(next, t.with(s))
		}
	}
	if over := len(next) - maxTraits; over > 0 {
		next = next[over:] // a server that makes up names
	}
	k.traits.Store(&next)
	return before
}

// lacks reports whether one of the policies does not concern the kind.
func (k *kind) lacks(policies []trait) bool {
	return slices.ContainsFunc(policies, func(t trait) bool {
		_, ok := k.trait(t.policy)
		return !ok
	})
}

// met is the kind that is known of requests of a likeness; nil, if there is none.
func (ks *kinds) met(l likeness) *kind {
	if k := ks.known[l]; k != nil {
		return k
	}
	return ks.rest
}

// learn takes over what an answer to a request says. more says whether there is
// room for another kind. It reports whether one was added, and whether some
// requests of the scope may be concerned by fewer policies than before.
func (ks *kinds) learn(l likeness, f finding, more bool) (added, fewer bool) {
	k := ks.known[l]
	switch {
	case k != nil:
		before := k.learn(f)
		if fewer = k.lacks(before); fewer || len(before) != len(*k.traits.Load()) {
			ks.unseen = nil
			for _, k := range ks.known {
				ks.unseen = common(ks.unseen, k)
			}
		}
		return false, fewer
	case more && len(ks.known) < maxKinds:
		if ks.known == nil {
			ks.known = make(map[likeness]*kind)
		}
		k = newKind(nil)
		k.learn(f)
		ks.known[l] = k
		ks.unseen = common(ks.unseen, k)
		return true, true
	}
	// It speaks of one kind among many, whose partition keys have nothing in
	// common.
	f.whole = false
	for i := range f.said {
		f.said[i].keyed = false
	}
	if ks.rest == nil {
		ks.rest = newKind(nil)
		fewer = true
	}
	return false, ks.rest.lacks(ks.rest.learn(f)) || fewer
}

// common is the kind that is concerned by the policies that concern both; the
// second, if the first is nil.
func common(a, b *kind) *kind {
	both := []trait{}
	for _, t := range *b.traits.Load() {
		if _, ok := a.trait(t.policy); ok {
			both = append(both, trait{policy: t.policy, most: parse.None})
		}
	}
	return newKind(both)
}
