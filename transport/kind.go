package transport

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/internal/tokens"
	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
)

// Bounds of what a directory keeps of kinds of requests. Beyond them an arbitrary
// kind is evicted, and learned again.
const (
	maxScopes       = 10_000
	maxKinds        = 1_000 // of one scope
	maxKindPolicies = 32    // policies of one kind
)

// kinds are the kinds of one scope that were answered with rate-limit fields. The
// mutex of the directory guards them.
type kinds struct {
	seen   map[kindKey]*kind
	groups map[kindKey]*group   // nil until a second kind is added
	first  *kind                // the only kind, while groups is nil; nil: there is none
	path   kindPath             // of first
	common atomic.Pointer[kind] // see inCommon; nil: it was not asked for since the kind has learned
	// failed are declarations that led to a wrong prediction. They are not used
	// until the server replaces them. The slice is replaced, never modified.
	failed   []*parse.Declaration
	learners map[string]*tokens.Learner // by policy, for those in tokens
	model    string                     // the first model of the scope: see scopeOfModel
	bytes    int                        // that the kinds and groups take up, roughly
}

// A kind is what is known of one kind of requests. A nil kind stands for one of
// which nothing is known: every policy may concern it.
type kind struct {
	policies atomic.Pointer[[]policyStats] // the slice is replaced, never modified

	// Estimates of the bytes of content in requests and in responses.
	sent, received atomic.Int64

	group *group // the smallest that the kind belongs to
	bytes int    // that it takes up, roughly
}

// noPolicies are those of a kind that has not learned yet. Read-only.
var noPolicies []policyStats

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
	unkeyed      bool          // the last response named the policy without a key
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

// noStats is what is known under a policy of which nothing is. It is never modified.
var noStats = policyStats{maxAvailable: parse.None}

// stats returns what is known of the kind under a policy, to be read; nil if the policy
// does not concern the kind.
func (k *kind) stats(policy string) *policyStats {
	if k == nil {
		return &noStats
	}
	policies := *k.policies.Load()
	if i := find(policies, policy); i >= 0 {
		return &policies[i]
	}
	return nil
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

// update takes over what a response says, r, and reports whether that is anything new.
func (p *policyStats) update(r *policyStats) (changed bool) {
	if (r.keyed || r.unkeyed) && (p.key != r.key || p.keyed != r.keyed || p.unkeyed != r.unkeyed) {
		if p.key != r.key {
			p.key = partition.Key(strings.Clone(string(r.key)))
		}
		p.keyed, p.unkeyed = r.keyed, r.unkeyed
		changed = true
	}
	if r.hold != nil && p.hold != r.hold {
		p.hold = r.hold
		changed = true
	}
	if r.cost >= 0 {
		cost := estimate(p.cost, max(r.cost, 1)) // only Shaper.Cost may return 0
		changed = changed || cost != p.cost
		p.cost = cost
	}
	most := p.maxAvailable
	if most < 0 && r.maxAvailable >= 0 {
		most = r.cost // at least this much was available to the request
	}
	most = max(most, r.maxAvailable)
	changed = changed || most != p.maxAvailable
	p.maxAvailable = most
	return changed
}

// A response is what one response says of the policies that concern its request.
type response struct {
	policies []policyStats // cost and maxAvailable are the c and a of the response, None if not given
	complete bool          // no other policy concerns the request
}

// knows reports whether a response says nothing new about the kind.
func (k *kind) knows(r response) bool {
	policies := *k.policies.Load()
	if r.complete && len(policies) != len(r.policies) {
		return false
	}
	for i := range r.policies {
		p := &r.policies[i]
		at := find(policies, p.policy)
		if at < 0 {
			return false
		}
		if known := policies[at]; known.update(p) {
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
// Appendix A.3.1), or only the policy that refused the request: it leaves nothing
// out. A policy that the server does not name to any kind any more is forgotten by
// the accounts of the origin. A policy whose Retry-After holds the kind is kept until
// that has passed.
func (k *kind) learn(r response, intern func(policyStats) policyStats) (before []policyStats) {
	var next []policyStats
	before = *k.policies.Load()
	for _, p := range before {
		if i := find(r.policies, p.policy); i >= 0 {
			p.update(&r.policies[i])
			next = append(next, p)
		} else if !r.complete || p.hold.inForce() {
			next = append(next, p)
		}
	}
	for i := range r.policies {
		if said := &r.policies[i]; find(before, said.policy) < 0 {
			p := policyStats{policy: said.policy, maxAvailable: parse.None}
			p.update(said)
			next = append(next, p)
		}
	}
	if over := len(next) - maxKindPolicies; over > 0 {
		next = next[over:] // the server makes up names
	}
	for i := range next {
		next[i] = intern(next[i])
	}
	k.policies.Store(&next)
	return before
}

// A group is the kinds that begin alike: all of a scope, or those with the same
// method, or also with the same first segments of the path.
type group struct {
	key      kindKey
	parent   *group // nil: the group of all kinds
	depth    int    // 0: the group of all kinds
	kinds    int
	policies []groupPolicy
	assumed  *kind // of a kind of the group of which nothing is known; replaced, never modified. nil: see assume
	bytes    int   // that it takes up, roughly
}

// A groupPolicy is what is known of the kinds of a group under a policy.
type groupPolicy struct {
	policyStats     // key is the one of the sameKey kinds
	kinds       int // that the policy concerns
	sameKey     int // of them, those with the key
}

// find returns the entry of a policy, which is likely to be that of the index, and adds
// it if there is none.
func (g *group) find(policy string, likely int) *groupPolicy {
	if likely < len(g.policies) && g.policies[likely].policy == policy {
		return &g.policies[likely]
	}
	for i := range g.policies {
		if g.policies[i].policy == policy {
			return &g.policies[i]
		}
	}
	g.policies = append(g.policies, groupPolicy{policyStats: policyStats{policy: policy, maxAvailable: parse.None}})
	return &g.policies[len(g.policies)-1]
}

// update replaces what the group knows of one of its kinds. It does not look at the
// others.
func (g *group) update(before, after []policyStats) {
	for i := range before {
		p := g.find(before[i].policy, i)
		p.kinds--
		if before[i].keyed && before[i].key == p.key {
			p.sameKey--
		}
	}
	for i := range after {
		a, p := &after[i], g.find(after[i].policy, i)
		p.kinds++
		if p.sameKey == 0 && a.keyed {
			p.key = a.key
		}
		if a.keyed && a.key == p.key {
			p.sameKey++
		}
		p.cost, p.maxAvailable = estimate(p.cost, a.cost), max(p.maxAvailable, a.maxAvailable)
	}
	g.policies = slices.DeleteFunc(g.policies, func(p groupPolicy) bool { return p.kinds == 0 })
}

// assume computes what is assumed of a kind of which nothing is known: the policies
// that concern every known kind of the group. In a group of paths that begin alike it
// costs what they cost, and has the partition key that is the same for all of them.
// It returns the policies of which less is assumed than before, or another key. Of one
// kind nothing is assumed for others, except in the group of all kinds: see get.
func (g *group) assume() (moved []string) {
	if g.kinds == 1 && g.depth > 0 {
		g.assumed = nil
		return nil
	}
	common := make([]policyStats, 0, len(g.policies))
	for i := range g.policies {
		if p := &g.policies[i]; p.kinds == g.kinds {
			c := policyStats{policy: p.policy, maxAvailable: parse.None}
			if g.depth > 1 {
				c.cost, c.maxAvailable = p.cost, p.maxAvailable
				if c.keyed = p.sameKey == p.kinds; c.keyed {
					c.key = p.key
				}
			}
			common = append(common, c)
		}
	}
	if g.assumed != nil {
		before := *g.assumed.policies.Load()
		for i := range before {
			if at := find(common, before[i].policy); at < 0 || common[at].key != before[i].key {
				moved = append(moved, before[i].policy)
			}
		}
		if slices.Equal(before, common) {
			return nil
		}
	}
	g.assumed = newKind(common)
	return moved
}

// get returns the kind of a path, or nil if nothing is known of it; and what is
// assumed of it: what is known of those with the longest beginning that two known
// kinds have in common with it.
func (ks *kinds) get(path *kindPath) (k, assumed *kind) {
	if k = ks.seen[path.key()]; k != nil {
		return k, k
	}
	if ks.groups == nil && ks.first != nil {
		return nil, ks.inCommon()
	}
	for i := path.n - 2; i >= 0; i-- {
		if g := ks.groups[path.keys[i]]; g != nil && (g.kinds > 1 || i == 0) {
			return nil, g.assumed
		}
	}
	return nil, nil
}

// alike returns how many kinds with the longest beginning that two known kinds have in common with a path are
// known to share a policy.
func (ks *kinds) alike(path *kindPath) int {
	for i := path.n - 2; i >= 0; i-- {
		g := ks.groups[path.keys[i]]
		if g == nil || g.kinds == 1 && i > 0 {
			continue
		}
		if g.assumed != nil && len(*g.assumed.policies.Load()) > 0 {
			return g.kinds
		}
		return 0
	}
	return 0
}

// inCommon returns what is assumed of all kinds while only one is known: that the same
// policies concern them.
func (ks *kinds) inCommon() *kind {
	if ks.common.Load() == nil {
		policies := *ks.first.policies.Load()
		common := make([]policyStats, len(policies))
		for i := range policies {
			common[i] = policyStats{policy: policies[i].policy, maxAvailable: parse.None}
		}
		ks.common.CompareAndSwap(nil, newKind(common)) // others may only read, too
	}
	return ks.common.Load()
}

// learn updates the kind of a path from a response. moved are policies that may
// concern fewer requests of the scope than before, or in another partition.
func (ks *kinds) learn(path *kindPath, r response) (k *kind, moved []string) {
	k = ks.seen[path.key()]
	if k == nil {
		k = ks.add(path)
	}
	before := k.learn(r, ks.intern)
	if k == ks.first {
		ks.common.Store(nil)
	}
	after := *k.policies.Load()
	for i := range before {
		if at := find(after, before[i].policy); at < 0 || after[at].key != before[i].key || after[at].keyed != before[i].keyed {
			moved = append(moved, before[i].policy)
		}
	}
	ks.weigh(k)
	for g := k.group; g != nil; g = g.parent {
		g.update(before, after)
		for _, policy := range g.assume() {
			if !slices.Contains(moved, policy) {
				moved = append(moved, policy)
			}
		}
		ks.weighGroup(g)
	}
	return k, moved
}

// add adds the kind of a path, which is not known. The second one adds the groups, too.
func (ks *kinds) add(path *kindPath) *kind {
	if ks.seen == nil {
		ks.seen = make(map[kindKey]*kind)
	}
	k := new(kind)
	k.policies.Store(&noPolicies)
	ks.seen[path.key()] = k
	switch {
	case ks.groups != nil:
		ks.join(k, path)
	case ks.first == nil:
		ks.first, ks.path = k, *path
	default:
		ks.groups = make(map[kindKey]*group)
		ks.join(ks.first, &ks.path)
		for g := ks.first.group; g != nil; g = g.parent {
			g.update(nil, *ks.first.policies.Load())
			g.assume()
			ks.weighGroup(g)
		}
		ks.first = nil
		ks.join(k, path)
	}
	return k
}

// join adds the groups that a kind belongs to.
func (ks *kinds) join(k *kind, path *kindPath) {
	for i := range path.n - 1 {
		g := ks.groups[path.keys[i]]
		if g == nil {
			g = &group{key: path.keys[i], parent: k.group, depth: i}
			ks.groups[g.key] = g
		}
		g.kinds++
		k.group = g
	}
}

// evict forgets an arbitrary kind, and the groups that it was the last of. (Map
// iteration begins anywhere.)
func (ks *kinds) evict() {
	for key, k := range ks.seen {
		if delete(ks.seen, key); k == ks.first {
			ks.first = nil
		}
		ks.bytes -= k.bytes
		for g := k.group; g != nil; g = g.parent {
			g.kinds--
			g.update(*k.policies.Load(), nil)
			if g.kinds == 0 {
				delete(ks.groups, g.key)
				ks.bytes -= g.bytes
				continue
			}
			g.assume()
			ks.weighGroup(g)
		}
		return
	}
}

// intern returns p with strings that the scope has in memory already, or else with
// strings of its own: those of a response keep its header in memory.
func (ks *kinds) intern(p policyStats) policyStats {
	if ks.first != nil {
		if known := ks.first.stats(p.policy); known != nil {
			p.policy = known.policy
			return p
		}
	}
	if all := ks.groups[0]; all != nil {
		for i := range all.policies {
			if known := &all.policies[i]; known.policy == p.policy {
				if p.policy = known.policy; known.key == p.key {
					p.key = known.key
				}
				return p
			}
		}
	}
	p.policy = strings.Clone(p.policy)
	return p
}

// The memory that an entry takes up, with its place in a map, but without strings.
const (
	scopeBytes       = 256
	kindBytes        = 160
	groupBytes       = 192
	policyStatsBytes = 72
	groupPolicyBytes = 88
)

// weigh counts the memory of a kind.
func (ks *kinds) weigh(k *kind) {
	n := kindBytes
	for _, p := range *k.policies.Load() {
		n += policyStatsBytes + len(p.policy) + len(p.key)
	}
	ks.bytes += n - k.bytes
	k.bytes = n
}

// weighGroup counts the memory of a group.
func (ks *kinds) weighGroup(g *group) {
	n := groupBytes
	for i := range g.policies {
		p := &g.policies[i]
		n += groupPolicyBytes + policyStatsBytes + len(p.policy) + len(p.key)
	}
	ks.bytes += n - g.bytes
	g.bytes = n
}
