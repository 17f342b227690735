package transport

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// Bounds of what a directory keeps of kinds of requests.
const (
	maxScopes       = 10_000 // beyond them, a scope is forgotten and learned again
	maxKinds        = 1_000  // of one scope; all further kinds share one entry
	maxKindsOfAll   = 20_000 // of all scopes together; as above
	maxKindPolicies = 32     // policies of one kind
)

// maxMissed is the number of responses in a row that may leave out a policy that
// another response to the kind has named, if the responses need not name all
// policies.
const maxMissed = 4

// A kindKey identifies a kind of requests: by the result of Shaper.Like, or by the
// method and the first segment of the path.
type kindKey struct{ method, like string }

func (s *Shaper) kindOf(req *http.Request) kindKey {
	if s.Like != nil {
		return kindKey{like: s.Like(req)}
	}
	return defaultKind(req)
}

func defaultKind(req *http.Request) kindKey {
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	segment, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	return kindKey{method, segment}
}

// DefaultLike returns the kind of a request as a Shaper without Like sees it: the
// method and the first segment of the path, such as "GET /items" for
// GET /items/7. An empty method means GET. The URL of the request must not be
// nil.
//
// A function for Shaper.Like can add to it:
//
//	shaper.Like = func(req *http.Request) string {
//		return transport.DefaultLike(req) + " " + req.URL.Query().Get("action")
//	}
func DefaultLike(req *http.Request) string {
	k := defaultKind(req)
	return k.method + " /" + k.like
}

// kinds are the kinds of one scope that were answered with rate-limit fields. The
// mutex of the directory guards them.
type kinds struct {
	seen map[kindKey]*kind
	// other stands for any kind that is not in seen: the policies that concern it
	// are those that concern every kind in seen. nil: seen is empty.
	other *kind
	// overflow is shared by the kinds that are not in seen because there is no
	// room. nil: none of them was answered yet.
	overflow *kind
	// failed are declarations that led to a wrong prediction. They are not used
	// until the server replaces them. The slice is replaced, never modified.
	failed []*parse.Declaration
}

// A kind is what is known of one kind of requests. A nil kind stands for one of
// which nothing is known: every policy may concern it.
type kind struct {
	policies atomic.Pointer[[]policyStats] // the slice is replaced, never modified

	// Estimates of the bytes of content in requests and in responses.
	sent, received atomic.Int64
}

func newKind(policies []policyStats) *kind {
	k := new(kind)
	k.policies.Store(&policies)
	return k
}

// A policyStats is what is known of a kind of requests under a policy that
// concerns it; or what one response says of that policy.
type policyStats struct {
	policy       string
	key          partition.Key // the partition key seen last
	keyed        bool          // one was seen
	missed       uint8         // responses in a row that left the policy out
	cost         int64         // estimate of c (the draft, Section 3.1.4). 0: none was seen; in a response None
	maxAvailable int64         // the highest available quota seen. None: none was seen
	hold         *kindHold     // the last Retry-After that named the policy; nil: none. Never modified
}

// A kindHold is a Retry-After with which the server has answered a kind of requests,
// on an account of a policy.
type kindHold struct {
	until time.Time
	key   string
	keyed bool
}

func (h *kindHold) inForce() bool { return h != nil && time.Now().Before(h.until) }

// estimate returns an estimate after a value was seen. It errs on the high side, so
// that no more requests go at once than the quota allows: it rises to the value at
// once, and falls by a quarter of the difference.
func estimate(old, seen int64) int64 {
	if seen >= old {
		return seen
	}
	return old - max((old-seen)/4, 1)
}

// stats returns what is known of the kind under a policy. It returns false if the
// policy does not concern the kind.
func (k *kind) stats(policy string) (policyStats, bool) {
	if k == nil {
		return policyStats{policy: policy, maxAvailable: parse.None}, true
	}
	policies := *k.policies.Load()
	if i := find(policies, policy); i >= 0 {
		return policies[i], true
	}
	return policyStats{}, false
}

// find returns the index of a policy, or None.
func find(policies []policyStats, policy string) int {
	for i := range policies {
		if policies[i].policy == policy {
			return i
		}
	}
	return parse.None
}

// updated returns p after a response that says r of the policy.
func (p policyStats) updated(r *policyStats) policyStats {
	p.missed = 0
	if r.keyed {
		p.key, p.keyed = r.key, true
	}
	if r.hold != nil {
		p.hold = r.hold
	}
	if r.cost >= 0 {
		p.cost = estimate(p.cost, max(r.cost, 1)) // only Shaper.Cost may return 0
	}
	if p.maxAvailable < 0 && r.maxAvailable >= 0 {
		p.maxAvailable = r.cost // at least this much was available to the request
	}
	p.maxAvailable = max(p.maxAvailable, r.maxAvailable)
	return p
}

// A response is what one response says of the policies that concern its request.
type response struct {
	policies []policyStats // cost and maxAvailable are the c and a of the response, None if not given
	complete bool          // no other policy concerns the request
}

// knows reports whether a response says nothing new about the kind.
func (k *kind) knows(r response) bool {
	policies := *k.policies.Load()
	if len(policies) != len(r.policies) {
		return false
	}
	for i := range r.policies {
		p := &r.policies[i]
		at := find(policies, p.policy)
		if at < 0 || policies[at].updated(p) != policies[at] {
			return false
		}
	}
	return true
}

// learn updates the kind from a response, and returns the policies from before.
//
// A policy that a response names concerns the kind. A policy that a complete
// response leaves out does not. A response that is not complete may name only the
// policy with the least left, which can be another one each time (draft -09,
// Appendix A.3.1), or only the policy that refused the request. A policy that such
// responses leave out is dropped when maxMissed of them in a row have not named it.
// Until then requests may be held by it, for its window at most. A policy whose
// Retry-After holds the kind is kept until that has passed.
func (k *kind) learn(r response) (before []policyStats) {
	var next []policyStats
	before = *k.policies.Load()
	for _, p := range before {
		if i := find(r.policies, p.policy); i >= 0 {
			next = append(next, p.updated(&r.policies[i]))
		} else if p.missed++; !r.complete && p.missed < maxMissed || p.hold.inForce() {
			next = append(next, p)
		}
	}
	for i := range r.policies {
		if said := &r.policies[i]; find(before, said.policy) < 0 {
			p := policyStats{policy: strings.Clone(said.policy), maxAvailable: parse.None}
			next = append(next, p.updated(said))
		}
	}
	if over := len(next) - maxKindPolicies; over > 0 {
		next = next[over:] // the server makes up names
	}
	k.policies.Store(&next)
	return before
}

// lacks reports whether one of the policies does not concern the kind.
func (k *kind) lacks(policies []policyStats) bool {
	return slices.ContainsFunc(policies, func(p policyStats) bool {
		_, concerned := k.stats(p.policy)
		return !concerned
	})
}

// get returns the kind of a key, or nil if nothing is known of it.
func (ks *kinds) get(key kindKey) *kind {
	if k := ks.seen[key]; k != nil {
		return k
	}
	return ks.overflow
}

// learn updates the kind of a key from a response. A kind that is not known is
// added only if mayAdd is set. fewer reports whether fewer policies than before
// may concern some requests of the scope.
func (ks *kinds) learn(key kindKey, r response, mayAdd bool) (added, fewer bool) {
	k := ks.seen[key]
	switch {
	case k != nil:
		before := k.learn(r)
		if fewer = k.lacks(before); fewer || len(before) != len(*k.policies.Load()) {
			ks.other = nil
			for _, k := range ks.seen {
				ks.other = common(ks.other, k)
			}
		}
		return false, fewer
	case mayAdd && len(ks.seen) < maxKinds:
		if ks.seen == nil {
			ks.seen = make(map[kindKey]*kind)
		}
		k = newKind(nil)
		k.learn(r)
		ks.seen[key] = k
		ks.other = common(ks.other, k)
		return true, true
	}
	// The response is about one of the many kinds in overflow: it does not say
	// what concerns the others, and its partition keys are not theirs.
	r.complete = false
	for i := range r.policies {
		r.policies[i].keyed = false
	}
	if ks.overflow == nil {
		ks.overflow = newKind(nil)
		fewer = true
	}
	return false, ks.overflow.lacks(ks.overflow.learn(r)) || fewer
}

// common returns a kind with the policies that concern both a and b. a may be
// nil: then the policies are those of b.
func common(a, b *kind) *kind {
	both := []policyStats{}
	for _, p := range *b.policies.Load() {
		if _, concerned := a.stats(p.policy); concerned {
			both = append(both, policyStats{policy: p.policy, maxAvailable: parse.None})
		}
	}
	return newKind(both)
}
