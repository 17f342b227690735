package transport

import (
	"slices"
	"strings"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// route finds the quotas that the request will be charged to: the policies of
// its origin that concern it, and for each the partition key.
func (x *exchange) route() {
	s := x.s
	if url := (rawOrigin{x.req.URL.Scheme, x.req.URL.Host}); x.directory == nil || x.directory.url != url || x.directory.dropped.Load() {
		x.directory = s.directories.of(s.accounts(), s.fields(), url)
	}
	set(&x.origin, x.directory.liveOrigin())
	if x.traced() {
		x.watch() // before the caller's functions: one of them may panic
	}
	if s.Scope != nil {
		set(&x.ask.Scope, s.Scope(x.req))
	} else {
		set(&x.ask.Scope, s.DefaultScope(x.req))
	}
	if row := x.directory.byPath.Load(); row != nil {
		x.pathKey = x.directory.reader.PathKey(*row, x.req.URL.Path)
	} else if x.pathKey != "" {
		x.pathKey = ""
	}
	if x.ofModel = x.directory.tokens.Load(); x.ofModel {
		x.scopeOfModel()
	}
	x.wide = len(x.ask.Scope)
	x.scopeOfKind()
	x.ask.Priority, x.ask.MaxDelay, x.ask.MaxQueue = x.options.priority, s.MaxDelay, s.MaxQueue
	x.ask.FirstFlight = s.FirstFlight
	x.ask.Force = x.unconditional()
	if x.options.noDelay {
		x.ask.MaxDelay = NoDelay
	}
	if x.req.Response != nil {
		x.ask.NotBefore = x.notBefore()
	}
	if s.Limits != nil {
		x.ask.Limiter = s.Limits(x.req)
	}
	x.claim()
}

// again is claim when the request has waited. If a policy that counts tokens was named
// meanwhile, the request is one of its model from now on.
func (x *exchange) again() []quota.Claim {
	x.directory.told.waited.Store(true)
	x.ask.Scope = x.wideScope()
	if !x.ofModel && x.directory.tokens.Load() {
		x.ofModel = true
		x.scopeOfModel()
		x.wide = len(x.ask.Scope)
	}
	x.scopeOfKind()
	x.claim()
	return x.ask.Claims
}

// claim sets the claims of the request: the units that it needs of each policy that concerns it. It
// reuses the slice.
func (x *exchange) claim() {
	policies := x.origin.Policies()
	if len(policies) == 0 || x.silent {
		if x.knownOf.directory != nil {
			x.remember(known{}, knownOf{})
		}
		if x.declared != nil {
			x.predict(nil) // those of the request before
		}
		if x.ask.Claims = x.ask.Claims[:0]; !x.silent {
			x.directory.told.noteUnknown()
		}
		return
	}
	k, declared := x.lookUp(), x.directory.declared.Load()
	if k.kind == nil {
		x.directory.told.noteUnknown()
	}
	of := claimsOf{&policies[0], len(policies)}
	if of == x.claimsOf && declared == nil && x.pathKey == "" {
		return // those of the request before are the same
	}
	claims := x.ask.Claims[:0]
	set(&x.claimsOf, claimsOf{})
	alike := x.pathKey == "" && x.s.Cost == nil
	x.predict(declared)
	for i := range policies {
		stats := k.assumed.stats(policies[i].Name)
		if stats == nil {
			continue
		}
		if unit := policies[i].Unit; stats.hold != nil || !countsAlike(unit) || unit == quota.UnitContentBytes {
			alike = false
		}
		c, ok := x.claimOf(&policies[i], k, stats)
		if ok {
			claims = append(claims, c)
		}
		if h := stats.hold; h != nil && h.inForce() && !(ok && c.Keyed == h.keyed && c.Key == h.key) {
			claims = append(claims, quota.Claim{Policy: policies[i].Name, Key: h.key, Keyed: h.keyed})
		}
	}
	if alike {
		x.claimsOf = of
	}
	x.ask.Claims = claims
}

// claimsOf says from which policies the claims in ask were made, if they depend on nothing else
// but what is known of the kind: not on the time, on the path, or on what one request costs. Else
// it is zero.
type claimsOf struct {
	policies *quota.Policy
	n        int
}

// claimOf returns the claim on a policy that concerns the kind of the request, of which
// stats are known. ok is false if the policy does not concern the request, or if it is
// not known which partition does.
//
// A policy concerns every request of its origin and scope, except requests that
// do not match a literal of its declaration, and kinds that were answered with
// fields that leave the policy out.
func (x *exchange) claimOf(p *quota.Policy, k *known, stats *policyStats) (c quota.Claim, ok bool) {
	c.Policy = p.Name
	predicted := x.prediction(p.Name)
	switch {
	case predicted.answer == partition.Irrelevant:
		return c, false
	case predicted.answer == partition.Known && !predicted.failed:
		// Also if the server sends no pk: the declaration says which requests share a quota.
		c.Key, c.Keyed = string(predicted.key), true
	case stats.keyed:
		// The key must not be predicted (the draft, Section 4.1): use the key
		// last seen for requests of this kind.
		c.Key, c.Keyed = x.accountKey(stats.key, predicted.failed), true
	case p.Keyed && !stats.unkeyed:
		return c, false
	}
	c.Units, c.Estimated = x.cost(p, k.assumed, stats)
	return c, true
}

// A prediction is what the declaration of a policy says of the request.
type prediction struct {
	decl   *parse.Declaration // that it was made by; others may be in force by now
	policy string
	key    partition.Key
	answer partition.Answer
	failed bool // in the scope, predictions by the declaration were wrong
}

// noPrediction is that of a policy without a declaration. It is never modified.
var noPrediction prediction

// predict computes the partitions of the request under the policies of declarations; nil:
// there are none.
func (x *exchange) predict(declared *[]*parse.Declaration) {
	x.partitions = x.partitions[:0]
	if set(&x.declared, declared); declared == nil {
		return
	}
	for _, decl := range *declared {
		p := prediction{decl: decl, policy: listName(decl.Policy)}
		p.key, p.answer = x.s.Dimensions.Key(*decl, x.req)
		if slices.Contains(x.known.failed, decl) {
			switch p.answer {
			case partition.Known:
				p.failed = true
			case partition.Irrelevant:
				p.answer = partition.Opaque // that was wrong
			}
		}
		x.partitions = append(x.partitions, p)
	}
}

// prediction returns the prediction for a policy.
func (x *exchange) prediction(policy string) *prediction {
	for i := range x.partitions {
		if p := &x.partitions[i]; p.policy == policy {
			return p
		}
	}
	return &noPrediction
}

// ofScope stands between a partition key and a scope: see accountKey.
const ofScope = "\x1f\x00\x1f"

// ofPath stands between a partition key and what the path of the request adds to it.
const ofPath = "\x1f\x01\x1f"

// accountKey returns the key of the account for a partition key that the server has
// named. What the path of the request adds belongs to it. Where the key is not the
// predicted one, although the declaration is understood, the account is one of the scope:
// other scopes reach that partition by predictions, and what one is told in error neither
// holds nor frees another.
func (x *exchange) accountKey(key partition.Key, failed bool) string {
	account := string(key)
	if x.pathKey != "" {
		account += ofPath + x.pathKey
	}
	if failed || key == "" && x.pathKey != "" { // by the path alone: the server names no partition that scopes share
		account += ofScope + x.ask.Scope
	}
	return account
}

// partitionKey returns the partition key for which accountKey has returned key.
func partitionKey(key string) partition.Key {
	key, _, _ = strings.Cut(key, ofScope)
	key, _, _ = strings.Cut(key, ofPath)
	return partition.Key(key)
}

// lookUp returns what is known of requests of this kind. If that is what the last request
// in the same memory looked up, and nothing has changed since, it is still there.
func (x *exchange) lookUp() *known {
	d, path, of := x.directory.directory, x.kind(), &x.knownOf
	if changes := d.changes.Load(); of.changes != changes || of.kind != path.key() || of.directory != d || of.scope != x.ask.Scope {
		x.remember(d.lookUp(x.ask.Scope, path), knownOf{d, x.ask.Scope, path.key(), changes})
	}
	return &x.known
}

// remember replaces what is known of the kind, and forgets what was made from that.
func (x *exchange) remember(k known, of knownOf) {
	x.known, x.knownOf, x.claimsOf, x.saidOf = k, of, claimsOf{}, saidOf{}
}

// kind returns the kind of the request. Shaper.Like is called once, and only if
// the kind is needed.
func (x *exchange) kind() *kindPath {
	if x.hasKindPath {
		return &x.kindPath
	}
	x.hasKindPath = true
	if x.s.Like != nil {
		x.like = x.s.Like(x.req)
		x.kindPath = likePath(x.like)
		return &x.kindPath
	}
	if method, path := methodOf(x.req), x.req.URL.Path; method != x.kindMethod || path != x.kindURL {
		x.kindPath, x.kindMethod, x.kindURL = defaultPath(x.req), method, path
	}
	return &x.kindPath
}

// kindName returns the kind of the request as text.
func (x *exchange) kindName() string {
	if x.s.Like != nil {
		x.kind()
		return x.like
	}
	kind, url := DefaultLike(x.req), x.req.URL
	switch {
	case strings.Contains(kind, "*"):
		return kind + ofResource + url.Path
	case url.RawQuery != "":
		return kind + ofResource + url.RawQuery
	}
	return kind
}

// ofResource stands between the kind of a request and what tells which of the things of that kind
// it is of: see quota.Ask.
const ofResource = "\x00"

// cost returns the expected cost of the request under a policy, and whether it is an
// estimate.
//
// In requests and content-bytes it is what the server has said that such requests cost;
// else the result of Shaper.Cost; else the bytes of content, or 1. In other units, such
// as tokens, the requests of a kind differ, so Shaper.Cost comes first; then, of tokens,
// the estimate from the body of the request; then what such requests were seen to cost; then 1.
// What was learned is no more than the policy ever had.
func (x *exchange) cost(p *quota.Policy, k *kind, stats *policyStats) (units int64, estimated bool) {
	differs := !countsAlike(p.Unit)
	if differs {
		if n := x.costByUser(p); n >= 0 {
			return n, false
		}
	}
	if n := x.tokensOf(p); n > 0 {
		return n, true
	}
	if stats.cost > 0 {
		capacity := stats.maxAvailable
		if p.Quota >= 0 {
			capacity = p.Quota
		}
		if capacity < 0 {
			return stats.cost, true
		}
		return max(min(stats.cost, capacity), 1), true
	}
	if !differs {
		if n := x.costByUser(p); n >= 0 {
			return n, false
		}
	}
	if p.Unit == quota.UnitContentBytes {
		return k.contentBytes(x.req), false
	}
	return 1, differs
}

// costByUser returns the result of Shaper.Cost; negative: it does not know.
func (x *exchange) costByUser(p *quota.Policy) int64 {
	if x.s.Cost == nil {
		return parse.None
	}
	return x.s.Cost(x.req, *p)
}

// countsAlike reports whether the unit is one of the draft (Section 2.1.2), in which
// requests of a kind cost alike, or what their contents tell.
func countsAlike(unit string) bool {
	switch unit {
	case "", "requests", quota.UnitContentBytes, quota.UnitConcurrentRequests:
		return true
	}
	return false
}
