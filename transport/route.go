package transport

import (
	"net/http"
	"strings"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// route finds the quotas that the request will be counted under: the policies
// that its origin has named and that concern it, and for each the partition.
func (x *exchange) route() {
	s := x.s
	x.directory = s.directories.of(s.accounts(), rawOrigin{x.req.URL.Scheme, x.req.URL.Host})
	x.origin = x.directory.books()
	x.ask = quota.Ask{
		Scope:    s.scopeOf(x.req),
		Priority: x.options.priority,
		MaxDelay: s.MaxDelay,
		MaxQueue: s.MaxQueue,
		Force:    x.forced(),
	}
	if x.options.noDelay {
		x.ask.MaxDelay = NoDelay
	}
	if s.Limits != nil {
		x.ask.Limiter = s.Limits(x.req)
	}
	if ts := x.traces(); ts.any() {
		x.ask.Held = x.traceHeld(ts)
	}
	x.ask.Again = x.again
	x.ask.Claims = x.again()
}

// claim lists what the request draws on: of each policy that concerns it.
func (x *exchange) claim() []quota.Claim {
	x.claims = x.claims[:0]
	for _, p := range x.origin.Policies() {
		if c, ok := x.claimOf(p); ok {
			x.claims = append(x.claims, c)
		}
	}
	return x.claims
}

// claimOf is what the request draws on a policy; not ok, if the policy does not
// concern it, or nobody can tell which partition of it does.
func (x *exchange) claimOf(p quota.Policy) (c quota.Claim, ok bool) {
	c = quota.Claim{Policy: p.Name, Units: x.s.cost(x.req, p)}
	decl, declared := x.directory.declaration(p.Name)
	if declared {
		key, answer := x.s.Dimensions.Key(decl, x.req)
		if answer == partition.Irrelevant {
			return c, false
		}
		if answer == partition.Known && p.Keyed && !x.directory.distrusts(kind{p.Name, x.ask.Scope}) {
			c.Key, c.Keyed = string(key), true
			return c, true
		}
	}
	if !p.Keyed {
		return c, true // the account of the scope
	}
	// No prediction (the draft, Section 4.1): the key last seen for requests
	// like this one, or none.
	key, seen := x.directory.recall(x.likeness(p.Name))
	c.Key, c.Keyed = string(key), true
	return c, seen
}

// likeness is what is compared where no key can be computed.
func (x *exchange) likeness(policy string) likeness {
	l := likeness{policy: policy, scope: x.ask.Scope}
	if x.s.Like != nil {
		l.like = x.s.Like(x.req)
		return l
	}
	l.method = x.req.Method
	if l.method == "" {
		l.method = http.MethodGet
	}
	l.like, _, _ = strings.Cut(strings.TrimPrefix(x.req.URL.Path, "/"), "/")
	return l
}

// cost is what a request costs under a policy before anything was learned.
func (s *Shaper) cost(req *http.Request, p quota.Policy) int64 {
	switch {
	case s.Cost != nil:
		return s.Cost(req, p)
	case p.Unit == quota.UnitContentBytes:
		return max(req.ContentLength, 1)
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
