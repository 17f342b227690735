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
	if d := x.directory; x.req.Method == http.MethodPost && !d.asked.Load() && mayNameModel(x.req) {
		d.asked.Store(true)
	}
	if len(x.origin.Policies()) == 0 && x.saysNothing(resp.StatusCode) && x.directory.reader.Silent(resp.Header) {
		if x.traced() {
			x.settleSilent(resp)
		} else {
			x.origin.Settle(time.Time{}, &x.lease, &emptyReport)
		}
		x.retainUntilClosed(resp)
		return
	}
	x.resp = resp
	var now time.Time // the clock is read where the time is needed
	if x.traced() || x.s.Cached != nil || x.s.Refused != nil {
		now = time.Now() // those functions may take long
	}
	got := &x.reading
	x.read(got, now)
	if x.looks {
		x.leaveLook(got)
	}
	if !x.repeats(got) {
		x.fillReport(got)
	}
	signs := x.readRefusal(got)
	x.noteTold(got, now)
	hear := x.origin.Settle(now, &x.lease, x.watchChanges(&x.report))
	lesson := x.lesson(got)
	if len(signs) == 0 && lesson != nil {
		lesson(nil)
		lesson = nil
	}
	if waits := hear != nil && x.mayTellWait(got); len(signs) > 0 || waits || hear != nil && x.mayNamePolicies(resp) {
		x.watchRefusal(resp, signs, hear, waits, lesson)
	}
	if !got.Cached {
		x.observeContent()
	}
	if x.traced() {
		x.traceIgnored(got.Ignored)
		x.traceAnswered(x.report.Refused, now)
		x.traceLearned(got, now)
		x.traceChanges(x.report.Refused, now)
	}
	x.findUsedUp()
	x.noteRedirect(resp, got, now)
	x.retainUntilClosed(resp)
	x.resp = nil
}

// settleSilent settles the lease with a response that says nothing, and tells the hooks.
func (x *exchange) settleSilent(resp *http.Response) {
	x.resp = resp
	x.origin.Settle(time.Time{}, &x.lease, x.watchChanges(&emptyReport))
	x.traceAnswered(false, time.Time{})
	x.traceChanges(false, time.Time{})
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
	return status < 400 && x.s.Cached == nil && x.s.Refused == nil && !(x.traced() && wants(x, learnedHook))
}

// read reads the fields of the response. If Base has followed a redirect to
// another origin by itself, the fields are not about this origin and are ignored.
func (x *exchange) read(got *parse.Reading, now time.Time) {
	cached := x.s.Cached != nil && x.s.Cached(x.resp)
	if cached || x.redirectedAway() {
		*got = parse.Reading{Cached: cached, RetryAfter: parse.None}
		return
	}
	x.directory.reader.ReadInto(got, x.req.URL.Host, x.resp.StatusCode, x.resp.Header, now)
	if len(got.Limits) == 1 && got.Limits[0].Bare {
		x.resetInMillis(got, now)
	}
}

// redirectedAway reports whether the response is of another origin: Base has followed
// a redirect by itself.
func (x *exchange) redirectedAway() bool {
	to := x.resp.Request
	return to != nil && to != x.req && to.Response != x.req.Response && !x.sameOrigin(x.resp)
}

// learnKind records what the response says of requests of this kind: which
// policies concern them, what they cost, and the partition keys that cannot be
// predicted. It is called when the report has the policies of the response.
func (x *exchange) learnKind(got *parse.Reading) {
	r := &x.report
	x.policies = x.policies[:0]
	for i := range r.Figures {
		f := &r.Figures[i]
		stats := x.named(f.Policy)
		stats.cost, stats.maxAvailable = max(stats.cost, f.Cost), max(stats.maxAvailable, f.Available)
		x.seeKey(stats, f.Key, f.Keyed)
	}
	limits := len(x.policies)
	for i := range r.Terms {
		t := &r.Terms[i]
		stats := x.named(t.Name)
		if find(x.policies[:limits], t.Name) < 0 {
			x.seeKey(stats, t.Key, t.Keyed)
		}
	}
	x.checkDeclarations()
	x.noteHold()
	for i := range x.partitions {
		// A response leaves out a policy that does not concern the request by its
		// declaration. That says nothing of the kind: other requests of the kind
		// may match the declaration.
		if p := &x.partitions[i]; p.answer == partition.Irrelevant && find(x.policies, p.policy) < 0 {
			x.named(p.policy)
		}
	}
	said := response{policies: x.policies, complete: !r.Refused && namesAllPolicies(got, x.resp.Header)}
	k, isNew := x.known.kind, false
	if k != nil && k.knows(said) {
		if limits == len(r.Figures) && !r.Refused && len(got.Ignored) == 0 { // each of another policy
			x.saidOf = saidOfReading(got)
		}
	} else {
		var moved []string
		k, moved, isNew = x.directory.learn(x.ask.Scope, x.kind(), said)
		r.Moved = append(r.Moved, moved...)
	}
	x.newKind = isNew
	r.LeftOut = x.leftOut(k, isNew)
}

// lesson returns a function that records what the request has cost, or is taken to have
// cost. It gets the body of the response if that has been read. Nil: there is nothing to
// record. It is called after Settle.
func (x *exchange) lesson(got *parse.Reading) func(body []byte) {
	by := x.learnTokens(got)
	if got.Cached {
		return nil
	}
	costs := x.costs()
	if costs == nil && len(by) == 0 {
		return nil
	}
	return func(body []byte) {
		if costs != nil {
			costs()
		}
		by.learn(body)
	}
}

// costs returns a function that records what the request seems to have cost in units such as
// tokens, if the response does not say it; nil: nothing is known. It is called after Settle.
func (x *exchange) costs() (learn func()) {
	var seen []policyStats
	for i := range x.report.Figures {
		if f := &x.report.Figures[i]; f.Seen > 0 && f.Cost <= 0 {
			seen = append(seen, policyStats{policy: f.Policy, cost: f.Seen, maxAvailable: parse.None})
		}
	}
	if len(seen) == 0 {
		return nil
	}
	said := response{policies: seen}
	if k := x.lookUp().kind; k != nil && k.knows(said) {
		return nil
	}
	d, scope, path := x.directory, x.ask.Scope, *x.kind()
	return func() { d.learn(scope, &path, said) }
}

// checkDeclarations gives up, for this scope, the declarations by which none of the
// policies that apply to the request concerns it: all policies that the response names;
// of a refusal, those that have nothing left. A response may name other policies beside
// those.
func (x *exchange) checkDeclarations() {
	spent := func(policy string) bool {
		return slices.ContainsFunc(x.report.Figures, func(f quota.Figure) bool { return f.Policy == policy && f.Available == 0 })
	}
	exhausted := x.report.Refused && slices.ContainsFunc(x.policies, func(p policyStats) bool { return spent(p.policy) })
	var wrong []*prediction
	for i := range x.policies {
		policy := x.policies[i].policy
		if exhausted && !spent(policy) {
			continue
		}
		p := x.prediction(policy)
		if p.answer != partition.Irrelevant {
			return
		}
		wrong = append(wrong, p)
	}
	for _, p := range wrong {
		p.answer = partition.Opaque
		if x.directory.distrust(x.ask.Scope, p.decl) {
			x.report.Moved = append(x.report.Moved, p.policy)
			x.traceMispredicted(p.policy, "", x.policies[find(x.policies, p.policy)].key)
		}
	}
}

// noteHold notes the accounts that a Retry-After holds and the response names. They
// hold requests of this kind until it has passed, whatever is declared or named
// meanwhile.
func (x *exchange) noteHold() {
	r := &x.report
	if r.Pause <= 0 || r.WholeOrigin || x.pathKey != "" {
		return // with a path, other requests of the kind have other accounts
	}
	until := time.Now().Add(r.Pause)
	hold := func(policy, key string, keyed bool) {
		if keyed {
			key = x.accountKey(partition.Key(key), x.prediction(policy).failed)
		}
		x.named(policy).hold = &kindHold{until: until, key: key, keyed: keyed}
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		hold(f.Policy, f.Key, f.Keyed)
	}
	if len(r.Figures) > 0 {
		return
	}
	for i := range r.Terms {
		t := &r.Terms[i]
		hold(t.Name, t.Key, t.Keyed)
	}
}

// seeKey records the partition key of an item of a response, unless the key can be
// predicted. Of several keys, the one that is known for the kind is that of the
// request, or else the first.
func (x *exchange) seeKey(stats *policyStats, key string, keyed bool) {
	if p := x.prediction(stats.policy); p.answer == partition.Known && !p.failed {
		return
	}
	if !keyed {
		stats.unkeyed = !stats.keyed
		return
	}
	if stats.keyed {
		last := x.known.kind.stats(stats.policy)
		if last == nil || !last.keyed || string(last.key) != key {
			return
		}
	}
	stats.key, stats.keyed, stats.unkeyed = partition.Key(key), true, false
}

// named returns the entry of a policy that the response names, and adds it if
// there is none yet.
func (x *exchange) named(policy string) *policyStats {
	i := find(x.policies, policy)
	if i < 0 {
		i = len(x.policies)
		x.policies = append(x.policies, policyStats{})
		p := &x.policies[i]
		p.policy, p.cost, p.maxAvailable = policy, parse.None, parse.None
	}
	return &x.policies[i]
}

// namesAllPolicies reports whether a response names all the policies that concern
// its request: it has a RateLimit-Policy, and no part of it was ignored. A single
// policy without a name may be another one in the next response.
func namesAllPolicies(got *parse.Reading, h http.Header) bool {
	if len(got.Policies) == 0 || len(got.Ignored) > 0 {
		return false
	}
	switch got.Dialect {
	case parse.EditorsDraft, parse.Draft08:
		return true // no other field names policies
	case parse.Draft07, parse.Draft06:
		return len(got.Policies) > 1 && len(h["Ratelimit-Policy"]) > 0
	}
	return false
}

// leftOut returns the policies that do not concern kind k, of those that the
// request was charged to. If the kind is new, it returns them of all policies of the
// origin, because other requests of the kind may be waiting for one of them without
// need.
func (x *exchange) leftOut(k *kind, isNew bool) (policies []string) {
	for i := range x.ask.Claims {
		if policy := x.ask.Claims[i].Policy; k.stats(policy) == nil {
			policies = append(policies, policy)
		}
	}
	if !isNew {
		return policies
	}
	for _, p := range x.origin.Policies() {
		if k.stats(p.Name) == nil && !slices.Contains(policies, p.Name) {
			policies = append(policies, p.Name)
		}
	}
	return policies
}
