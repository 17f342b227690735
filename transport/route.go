package transport

import (
	"slices"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// route finds the quotas that the request will be charged to: the policies of
// its origin that concern it, and for each the partition key.
func (x *exchange) route() {
	s := x.s
	if url := (rawOrigin{x.req.URL.Scheme, x.req.URL.Host}); x.directory == nil || x.directory.url != url {
		x.directory = s.directories.of(s.accounts(), s.fields(), url)
	}
	x.origin = x.directory.liveOrigin()
	x.ask.Scope = s.scopeOf(x.req)
	x.ask.Priority, x.ask.MaxDelay, x.ask.MaxQueue = x.options.priority, s.MaxDelay, s.MaxQueue
	x.ask.FirstFlight = s.FirstFlight
	x.ask.Force = x.unconditional()
	if x.options.noDelay {
		x.ask.MaxDelay = NoDelay
	}
	x.ask.NotBefore = x.notBefore()
	if s.Limits != nil {
		x.ask.Limiter = s.Limits(x.req)
	}
	if wants(x, heldHook) {
		x.ask.Held = x.traceHeld
	}
	x.ask.Claims = x.claim()
}

// claim lists the units that the request needs of each policy that concerns it.
// It is called again when the request has waited, and reuses the slice.
func (x *exchange) claim() []quota.Claim {
	claims := x.ask.Claims[:0]
	policies := x.origin.Policies()
	if len(policies) == 0 {
		return claims
	}
	k := x.lookUp()
	for i := range policies {
		c, ok := x.claimOf(&policies[i], &k)
		if ok {
			claims = append(claims, c)
		}
		stats, _ := k.assumed.stats(policies[i].Name)
		if h := stats.hold; h.inForce() && !(ok && c.Keyed == h.keyed && c.Key == h.key) {
			claims = append(claims, quota.Claim{Policy: policies[i].Name, Key: h.key, Keyed: h.keyed})
		}
	}
	return claims
}

// claimOf returns the claim on a policy. ok is false if the policy does not
// concern the request, or if it is not known which partition does.
//
// A policy concerns every request of its origin and scope, except requests that
// do not match a literal of its declaration, and kinds that were answered with
// fields that leave the policy out.
func (x *exchange) claimOf(p *quota.Policy, k *known) (c quota.Claim, ok bool) {
	stats, concerned := k.assumed.stats(p.Name)
	if !concerned {
		return c, false
	}
	c.Policy = p.Name
	if decl := x.directory.declaration(p.Name); decl != nil {
		key, answer := x.s.Dimensions.Key(*decl, x.req)
		if answer == partition.Irrelevant && !slices.Contains(k.failed, decl) {
			return c, false
		}
		if answer == partition.Known && p.Keyed && !slices.Contains(k.failed, decl) {
			c.Key, c.Keyed = string(key), true
		}
	}
	if p.Keyed && !c.Keyed {
		// The key must not be predicted (the draft, Section 4.1): use the key
		// last seen for requests of this kind, if there is one.
		if c.Key, c.Keyed = string(stats.key), stats.keyed; !stats.keyed {
			return c, false
		}
	}
	c.Units, c.Estimated = x.cost(p, k.assumed, stats), stats.cost > 0
	return c, true
}

// lookUp returns what is known of requests of this kind.
func (x *exchange) lookUp() known {
	x.known = x.directory.lookUp(x.ask.Scope, x.kind())
	return x.known
}

// kind returns the kind of the request. Shaper.Like is called once, and only if
// the kind is needed.
func (x *exchange) kind() kindKey {
	if !x.hasKindKey {
		x.kindKey, x.hasKindKey = x.s.kindOf(x.req), true
	}
	return x.kindKey
}

// cost returns the expected cost of the request under a policy: what the server
// has said of such requests, but no more than the policy ever had; else the
// result of Shaper.Cost; else the bytes of content, or 1. The first is an estimate.
func (x *exchange) cost(p *quota.Policy, k *kind, stats policyStats) int64 {
	switch {
	case stats.cost > 0:
		capacity := stats.maxAvailable
		if p.Quota >= 0 {
			capacity = p.Quota
		}
		if capacity < 0 {
			return stats.cost
		}
		return max(min(stats.cost, capacity), 1)
	case x.s.Cost != nil:
		return x.s.Cost(x.req, *p)
	case p.Unit == quota.UnitContentBytes:
		return k.contentBytes(x.req)
	}
	return 1
}
