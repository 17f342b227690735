package transport

import (
	"slices"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// route finds the quotas that the request will be counted under: the policies
// that its origin has named and that concern it, and for each the partition.
func (x *exchange) route() {
	s := x.s
	if raw := (rawOrigin{x.req.URL.Scheme, x.req.URL.Host}); x.directory == nil || x.directory.raw != raw {
		x.directory = s.directories.of(s.accounts(), s.fields(), raw)
	}
	if o := x.directory.books(); o != x.origin {
		x.origin = o
	}
	if scope := s.scopeOf(x.req); scope != x.ask.Scope {
		x.ask.Scope = scope
	}
	x.ask.Priority, x.ask.MaxDelay, x.ask.MaxQueue = x.options.priority, s.MaxDelay, s.MaxQueue
	x.ask.Force = x.forced()
	if x.options.noDelay {
		x.ask.MaxDelay = NoDelay
	}
	if s.Limits != nil {
		x.ask.Limiter = s.Limits(x.req)
	}
	if ts := x.traces(); ts.any((*Trace).wantsHeld) {
		x.ask.Held = x.traceHeld(ts)
	}
	if claims := x.claim(); len(claims)+len(x.ask.Claims) > 0 {
		x.ask.Claims = claims
	}
}

// claim lists what the request draws on: of each policy that concerns it.
func (x *exchange) claim() []quota.Claim {
	x.claims = x.claims[:0]
	policies := x.origin.Policies()
	if len(policies) == 0 {
		return x.claims
	}
	m := x.remember()
	for i := range policies {
		if c, ok := x.claimOf(&policies[i], &m); ok {
			x.claims = append(x.claims, c)
		}
	}
	return x.claims
}

// claimOf is what the request draws on a policy by what is known of its like; not ok, if the
// policy does not concern it, or nobody can tell which partition of it does.
//
// A policy concerns every request of its origin and scope, except those that do
// not match a literal of its declaration, and kinds that have been answered with
// fields that leave it out.
func (x *exchange) claimOf(p *quota.Policy, m *memory) (c quota.Claim, ok bool) {
	t, concerned := m.like.trait(p.Name)
	if !concerned {
		return c, false
	}
	c.Policy = p.Name
	if decl := x.directory.declaration(p.Name); decl != nil {
		key, answer := x.s.Dimensions.Key(*decl, x.req)
		if answer == partition.Irrelevant {
			return c, false
		}
		if answer == partition.Known && p.Keyed && !slices.Contains(m.failed, decl) {
			c.Key, c.Keyed = string(key), true
		}
	}
	if p.Keyed && !c.Keyed {
		// No prediction (the draft, Section 4.1): the key last seen for requests
		// like this one, or none.
		if c.Key, c.Keyed = string(t.key), t.keyed; !t.keyed {
			return c, false
		}
	}
	c.Units = x.cost(p, m.like, t)
	return c, true
}

// remember is what is known of requests like this one.
func (x *exchange) remember() memory {
	x.memory = x.directory.recall(x.ask.Scope, x.likeness())
	return x.memory
}

// likeness is what the request has in common with others of its kind.
func (x *exchange) likeness() likeness {
	if !x.alike {
		x.like, x.alike = x.s.likenessOf(x.req), true
	}
	return x.like
}

// cost is what the request, of a kind, is expected to cost under a policy: what
// the server has said of such requests, at most all that there ever was; else
// what Shaper.Cost says; else 1, or what the contents weigh.
func (x *exchange) cost(p *quota.Policy, k *kind, t trait) int64 {
	switch {
	case t.cost > 0:
		most := t.most
		if p.Quota >= 0 {
			most = p.Quota
		}
		if most < 0 {
			return t.cost
		}
		return max(min(t.cost, most), 1)
	case x.s.Cost != nil:
		return x.s.Cost(x.req, *p)
	case p.Unit == quota.UnitContentBytes:
		return k.weight(x.req)
	}
	return 1
}

func (x *exchange) traceHeld(ts traces) func(quota.Refusal) {
	req, observed := x.req, x.forced()
	return func(r quota.Refusal) {
		info := HeldInfo{
			Request:   req,
			Policy:    r.Policy,
			Partition: partition.Key(r.Key),
			Reason:    r.Reason,
			Wait:      r.Wait,
			Observed:  observed,
		}
		ts.each(func(t *Trace) {
			if t.Held != nil {
				t.Held(info)
			}
		})
	}
}
