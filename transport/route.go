package transport

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
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
	for _, p := range x.origin.Policies() {
		if c, ok := x.claim(p); ok {
			x.claims = append(x.claims, c)
		}
	}
	x.ask.Claims = x.claims
}

// claim is what the request draws on a policy; not ok, if the policy does not
// concern it, or nobody can tell which partition of it does.
func (x *exchange) claim(p quota.Policy) (c quota.Claim, ok bool) {
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

// follow waits before a redirect is followed to the origin that sent it, where
// it says how long (RFC 9110, Section 10.2.3). It concerns nobody else.
func (x *exchange) follow() error {
	from := x.req.Response
	if from == nil || from.StatusCode/100 != 3 || x.forced() || !x.sameOrigin(from) {
		return nil
	}
	now := time.Now()
	wait, ok, _ := parse.RetryAfter(from.Header, now, x.s.Caps)
	if !ok || wait <= 0 {
		return nil
	}
	most := x.ask.MaxDelay
	if most == 0 {
		most = DefaultMaxDelay
	}
	refusal := quota.Refusal{Cause: quota.ReasonRetryAfter, Reason: quota.ReasonRetryAfter, RetryAfter: wait}
	deadline, limited := x.req.Context().Deadline()
	switch {
	case most < 0:
		return &refusal
	case wait > most:
		refusal.Reason = quota.ReasonMaxDelay
		return &refusal
	case limited && now.Add(wait).After(deadline):
		refusal.Reason = quota.ReasonDeadline
		return &refusal
	}
	if x.ask.Held != nil {
		x.ask.Held(refusal)
	}
	if err := sleep(x.req.Context(), wait); err != nil {
		return err
	}
	x.ask.MaxDelay = most - wait
	if x.ask.MaxDelay == 0 {
		x.ask.MaxDelay = NoDelay
	}
	return nil
}

func (x *exchange) sameOrigin(resp *http.Response) bool {
	if resp.Request == nil || resp.Request.URL == nil {
		return false
	}
	u := resp.Request.URL
	return rawOrigin{u.Scheme, u.Host}.normal() == x.directory.name
}

// sleep waits for d, or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (x *exchange) traceHeld(ts traces) func(quota.Refusal) {
	req, observed := x.req, x.forced()
	return func(r quota.Refusal) {
		info := HeldInfo{
			Request:   req,
			Policy:    r.Policy,
			Partition: partition.Key(r.Key),
			Reason:    r.Reason,
			Wait:      r.RetryAfter,
			Observed:  observed,
		}
		ts.each(func(t *Trace) {
			if t.Held != nil {
				t.Held(info)
			}
		})
	}
}

// A Verdict is what would happen to a request now. See Shaper.Check.
type Verdict struct {
	Wait      time.Duration  // how long the request would wait at least; 0: it would leave at once, or nothing is known
	Reason    Reason         // what stands in its way; 0: nothing
	Policy    string         // the policy that does; "" where the server named none
	Partition partition.Key  // the key of its partition; "" where none is known
	Rejected  *RejectedError // what it would be refused with; nil: it would leave or wait
}

// Check says what would happen to the request now, and how long it would wait,
// without sending or charging anything. It neither changes nor closes the
// request's body.
func (s *Shaper) Check(req *http.Request) Verdict {
	if req.URL == nil || req.Header == nil {
		return Verdict{}
	}
	x := s.begin(req)
	x.sent = true // the body is the caller's
	defer x.end()
	x.route()
	r := x.origin.Check(time.Now(), &x.ask)
	if r == nil {
		return Verdict{}
	}
	v := Verdict{
		Wait:      r.RetryAfter,
		Reason:    r.Cause,
		Policy:    r.Policy,
		Partition: partition.Key(r.Key),
	}
	if r.Reason != r.Cause || x.ask.MaxDelay < 0 {
		v.Rejected = rejected(r)
	}
	if x.forced() {
		v.Wait, v.Rejected = 0, nil
	}
	return v
}
