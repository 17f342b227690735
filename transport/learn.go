package transport

import (
	"net/http"
	"slices"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// learn settles the lease with what the response says. Permits that must stay
// taken until the response ends move to its body.
func (x *exchange) learn(resp *http.Response) {
	x.resp = resp
	if x.directory.reader.Silent(resp.Header) && x.saysNothing(resp.StatusCode) {
		x.origin.Settle(time.Time{}, &x.lease, &emptyReport)
		x.observeContent()
		retainUntilClosed(resp, &x.lease)
		x.resp = nil
		return
	}
	now := time.Now()
	got := x.read(now)
	x.fillReport(&got)
	signs := x.readRefusal(&got)
	x.watchRefusal(resp, signs)
	if restrict := x.origin.Settle(now, &x.lease, &x.report); restrict != nil {
		watchProblem(resp, restrict, x.s.Caps)
	}
	if !got.Cached {
		x.observeContent()
	}
	retainUntilClosed(resp, &x.lease)
	x.traceIgnored(got.Ignored)
	x.traceLearned(&got)
	x.resp = nil
}

// emptyReport is that of a response without fields. It is never modified.
var emptyReport quota.Report

// fields returns the reader of response fields, which each directory clones.
func (s *Shaper) fields() *parse.Reader {
	s.readerOnce.Do(func() { s.reader = &parse.Reader{Caps: s.Caps, Vendors: s.Vendors} })
	return s.reader
}

// saysNothing reports whether a response with the status and without fields
// teaches nothing, and there is no hook to be called with it.
func (x *exchange) saysNothing(status int) bool {
	return status < 400 && x.s.Cached == nil && x.s.Refused == nil && !wants(x, learnedHook)
}

// read reads the fields of the response. If Base has followed a redirect to
// another origin by itself, the fields are not about this origin and are ignored.
func (x *exchange) read(now time.Time) parse.Reading {
	if s := x.s; s.Cached != nil && s.Cached(x.resp) {
		return parse.Reading{Cached: true, RetryAfter: parse.None}
	}
	if x.redirectedAway() {
		return parse.Reading{RetryAfter: parse.None}
	}
	return x.directory.reader.Read(x.req.URL.Host, x.resp.StatusCode, x.resp.Header, now)
}

// redirectedAway reports whether the response is of another origin: Base has followed
// a redirect by itself.
func (x *exchange) redirectedAway() bool {
	to := x.resp.Request
	return to != nil && to != x.req && to.Response != x.req.Response && !x.sameOrigin(x.resp)
}

// learnKind records what the response says of requests of this kind: which
// policies concern them, what they cost, and the partition keys that cannot be
// predicted. It returns the policies that turned out not to concern the request.
func (x *exchange) learnKind(got *parse.Reading) (leftOut []string) {
	x.policies = x.policies[:0]
	for i := range got.Limits {
		l := &got.Limits[i]
		stats := x.named(l.Policy)
		stats.cost, stats.maxAvailable = max(stats.cost, l.Cost), max(stats.maxAvailable, l.Available)
		if l.HasKey {
			x.checkKey(stats, partition.Key(l.Key))
		}
	}
	limits := len(x.policies)
	for i := range got.Policies {
		p := &got.Policies[i]
		stats := x.named(p.Name)
		if p.HasKey && find(x.policies[:limits], p.Name) < 0 {
			x.checkKey(stats, partition.Key(p.Key))
		}
	}
	x.checkDeclarations(got)
	x.nameIrrelevant()
	x.noteHold()
	r := response{policies: x.policies, complete: !x.report.Refused && namesAllPolicies(got, x.resp.Header)}
	k, fewer := x.known.kind, false
	if k == nil || !k.knows(r) {
		k, fewer = x.directory.learn(x.ask.Scope, x.kind(), r)
	}
	return x.leftOut(k, fewer)
}

// checkDeclarations gives up, for this scope, the declarations by which none of the
// policies that apply to the request concerns it: all policies that the response names;
// of a refusal, those that have nothing left. A response may name other policies beside
// those.
func (x *exchange) checkDeclarations(got *parse.Reading) {
	if x.directory.declared.Load() == nil {
		return
	}
	spent := func(policy string) bool {
		return slices.ContainsFunc(got.Limits, func(l parse.Limit) bool { return l.Policy == policy && l.Available == 0 })
	}
	exhausted := x.report.Refused && slices.ContainsFunc(x.policies, func(p policyStats) bool { return spent(p.policy) })
	var wrong []*parse.Declaration
	for i := range x.policies {
		policy := x.policies[i].policy
		if exhausted && !spent(policy) {
			continue
		}
		decl := x.directory.declaration(policy)
		if decl == nil || slices.Contains(x.known.failed, decl) {
			return
		}
		if _, answer := x.s.Dimensions.Key(*decl, x.req); answer != partition.Irrelevant {
			return
		}
		wrong = append(wrong, decl)
	}
	for _, decl := range wrong {
		if x.directory.distrust(x.ask.Scope, decl) {
			x.traceMispredicted(decl.Policy, "", x.policies[find(x.policies, decl.Policy)].key)
		}
	}
}

// noteHold notes the accounts that a Retry-After holds and the response names. They
// hold requests of this kind until it has passed, whatever is declared or named
// meanwhile.
func (x *exchange) noteHold() {
	r := &x.report
	if r.Pause <= 0 || r.Reach != quota.ReachNamed {
		return
	}
	until := time.Now().Add(r.Pause)
	for i := range r.Figures {
		f := &r.Figures[i]
		x.named(f.Policy).hold = &kindHold{until: until, key: f.Key, keyed: f.Keyed}
	}
	if len(r.Figures) > 0 {
		return
	}
	for i := range r.Terms {
		p := &r.Terms[i]
		x.named(p.Name).hold = &kindHold{until: until, key: p.Key, keyed: p.Keyed}
	}
}

// nameIrrelevant adds the policies that do not concern this request by their own
// declaration. A response leaves them out for that reason, which says nothing of
// the kind: other requests of the kind may match the declaration.
func (x *exchange) nameIrrelevant() {
	declared := x.directory.declared.Load()
	if declared == nil {
		return
	}
	for _, decl := range *declared {
		if find(x.policies, decl.Policy) >= 0 || slices.Contains(x.known.failed, decl) {
			continue
		}
		if _, answer := x.s.Dimensions.Key(*decl, x.req); answer == partition.Irrelevant {
			x.named(decl.Policy)
		}
	}
}

// named returns the entry of a policy that the response names, and adds it if
// there is none yet.
func (x *exchange) named(policy string) *policyStats {
	i := find(x.policies, policy)
	if i < 0 {
		i = len(x.policies)
		x.policies = append(x.policies, policyStats{policy: policy, cost: parse.None, maxAvailable: parse.None})
	}
	return &x.policies[i]
}

// namesAllPolicies reports whether a response names all the policies that concern
// its request: it has a RateLimit-Policy, and no part of it was ignored.
func namesAllPolicies(got *parse.Reading, h http.Header) bool {
	return got.Dialect != parse.VendorFields && len(h["Ratelimit-Policy"]) > 0 && len(got.Policies) > 0 && len(got.Ignored) == 0
}

// leftOut returns the policies that do not concern kind k, of those that the
// request was charged to. With all set it returns them of all policies of the
// origin, because other requests of the scope may be waiting for one of them
// without need.
func (x *exchange) leftOut(k *kind, all bool) (policies []string) {
	for _, c := range x.ask.Claims {
		if _, concerned := k.stats(c.Policy); !concerned {
			policies = append(policies, c.Policy)
		}
	}
	if !all {
		return policies
	}
	for _, p := range x.origin.Policies() {
		if _, concerned := k.stats(p.Name); !concerned && !slices.Contains(policies, p.Name) {
			policies = append(policies, p.Name)
		}
	}
	return policies
}

// checkKey compares the key that the server named with the predicted one. The
// server's key is recorded if there is no prediction or if it was wrong.
func (x *exchange) checkKey(stats *policyStats, actual partition.Key) {
	if decl := x.directory.declaration(stats.policy); decl != nil {
		predicted, answer := x.s.Dimensions.Key(*decl, x.req)
		if answer == partition.Known && !slices.Contains(x.known.failed, decl) {
			if predicted == actual {
				return
			}
			if x.directory.distrust(x.ask.Scope, decl) {
				x.traceMispredicted(stats.policy, predicted, actual)
			}
		}
	}
	stats.key, stats.keyed = actual, true
}
