package transport

import (
	"bytes"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/internal/tokens"
	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// This file is quotas in tokens, as the providers of language models count them. Once an
// origin has named a policy in tokens, and before the first answer to a POST with a JSON body, such
// bodies are read, as copies from GetBody, also those without a Content-Type: for the model,
// because quotas are kept for each model; and for an estimate of the cost. See package tokens.

// A tokenCost is what is known of a request that a quota in tokens may count.
type tokenCost struct {
	scanned bool            // request is known, if it can be
	request *tokens.Request // nil: not known
	body    tokens.Request  // that request points to

	departures []tokenDeparture // of the request, one for each policy in tokens
}

type tokenDeparture struct {
	policy string
	*tokens.Learner
	*tokens.Departure

	left int64 // as the refusal says
}

// reset forgets the request. Departures that were not settled got no response.
func (c *tokenCost) reset() {
	for _, d := range c.departures {
		d.Lost(d.Departure)
	}
	clear(c.departures[:cap(c.departures)])
	c.scanned, c.request, c.departures = false, nil, c.departures[:0]
}

// countsTokens reports whether a policy has a unit such as tokens.
func countsTokens(unit string) bool { return strings.HasSuffix(unit, "tokens") }

// tokenKind returns which tokens a policy counts, by its name.
func tokenKind(policy string) tokens.Kind {
	switch {
	case strings.Contains(policy, "input"), strings.Contains(policy, "prompt"):
		return tokens.Input
	case strings.Contains(policy, "output"), strings.Contains(policy, "generated"):
		return tokens.Output
	}
	return tokens.All
}

// scopeOfModel narrows the scope to the model of the request.
func (x *exchange) scopeOfModel() {
	model := modelInPath(x.req.URL.Path)
	if r := x.tokenRequest(); model == "" && r != nil {
		model = r.Model
	}
	if model != "" {
		x.ask.Scope = x.directory.scopeOfModel(x.ask.Scope, model)
	}
}

// answeredModel narrows the scope to the model of the request, if it departed before a policy
// in tokens was named, and one is now. It returns that scope, or "" if it is the one before.
func (x *exchange) answeredModel(got *parse.Reading) string {
	if x.ofModel {
		return ""
	}
	if !x.directory.tokens.Load() {
		if !slices.ContainsFunc(got.Policies, func(p parse.Policy) bool { return countsTokens(p.Unit) }) {
			return ""
		}
		x.directory.tokens.Store(true)
	}
	x.ofModel, x.tokens.scanned = true, true // what was not read before: Base may still read the body
	before, narrowed := x.ask.Scope, x.isNarrowed()
	if x.scopeOfModel(); x.ask.Scope == before {
		return ""
	}
	if !narrowed {
		x.wide = len(x.ask.Scope)
	}
	return x.ask.Scope
}

// modelInPath returns the model that a path names, as in /v1/models/NAME:generateContent,
// /openai/deployments/NAME/completions or /model/NAME/invoke; "" if there is none.
func modelInPath(path string) string {
	for _, before := range [...]string{"/models/", "/deployments/", "/model/"} {
		if _, rest, ok := strings.Cut(path, before); ok {
			if end := strings.IndexAny(rest, ":/"); end > 0 {
				return rest[:end]
			}
		}
	}
	return ""
}

// tokenRequest returns what the body of the request says of its cost in tokens, or nil. It
// reads a copy of the body.
func (x *exchange) tokenRequest() *tokens.Request {
	c := &x.tokens
	if !c.scanned {
		c.scanned = true
		if r, ok := scanBody(x.req); ok {
			c.body = r
			c.request = &c.body
		}
	}
	return c.request
}

// mayNameModel reports whether a request has a body of which there are copies, in JSON or in no
// format that is named.
func mayNameModel(req *http.Request) bool {
	return req.Method == http.MethodPost && req.GetBody != nil && req.ContentLength <= tokens.MaxBody &&
		req.Header.Get("Content-Encoding") == "" && (isJSON(req.Header) || req.Header.Get("Content-Type") == "")
}

// scanBody reads a copy of a body, if it is a JSON object.
func scanBody(req *http.Request) (tokens.Request, bool) {
	if !mayNameModel(req) {
		return tokens.Request{}, false
	}
	body, err := req.GetBody()
	if err != nil || body == nil {
		return tokens.Request{}, false
	}
	defer closeCopy(req, body)
	r, ok := tokens.Scan(body)
	// The copies of some clients share one reader with the body itself, and each call of
	// GetBody begins it anew.
	if again, err := req.GetBody(); err == nil && again != nil {
		closeCopy(req, again)
	}
	return r, ok
}

// closeCopy closes a copy of the body, unless it is the body itself, which Base still has to send.
func closeCopy(req *http.Request, body io.ReadCloser) {
	if !reflect.ValueOf(body).Comparable() || body != req.Body {
		body.Close()
	}
}

// tokensOf returns the estimated cost of the request under a policy; 0 if the policy does
// not count tokens, or the body is not known. It is no more than 95 % of the quota: a request
// that costs more is for the server to refuse.
func (x *exchange) tokensOf(p *quota.Policy) int64 {
	if !countsTokens(p.Unit) {
		return 0
	}
	r := x.tokenRequest()
	l := x.directory.learner(x.ask.Scope, p.Name)
	if r == nil || l == nil {
		return 0
	}
	n := l.Estimate(r)
	if p.Quota > 0 {
		n = min(n, max(p.Quota-p.Quota/20, 1))
	}
	return n
}

// departTokens notes the departure of the request with the quotas in tokens that count it.
func (x *exchange) departTokens() {
	for _, p := range x.origin.Policies() {
		if countsTokens(p.Unit) && x.claims(p.Name) {
			if l := x.directory.learner(x.ask.Scope, p.Name); l != nil {
				d := l.Depart(x.tokens.kept(), x.lease.Sent().Sub(x.directory.began))
				x.tokens.departures = append(x.tokens.departures, tokenDeparture{policy: p.Name, Learner: l, Departure: d})
			}
		}
	}
}

// kept returns the request in memory that the exchange does not use again.
func (c *tokenCost) kept() *tokens.Request {
	if c.request == nil {
		return nil
	}
	r := *c.request
	return &r
}

// claims reports whether the request was charged to a policy.
func (x *exchange) claims(policy string) bool {
	for i := range x.ask.Claims {
		if x.ask.Claims[i].Policy == policy {
			return true
		}
	}
	return false
}

// learnTokens compares the estimates with what the response says. by are the quotas that
// may have refused the request.
func (x *exchange) learnTokens(got *parse.Reading) (by tokenRefusal) {
	if len(x.tokens.departures) == 0 {
		return nil
	}
	by = x.tokenRefusal(got)
	for _, d := range x.tokens.departures {
		f, ok := tokenFigure(got, d.policy)
		f.At = time.Since(x.directory.began)
		switch {
		case !ok || x.report.Lost:
			d.Lost(d.Departure)
		case x.report.Refused:
			d.Free(d.Departure)
		default:
			d.Served(d.Departure, f)
		}
	}
	x.tokens.departures = x.tokens.departures[:0]
	return by
}

// tokenFigure is what a response says of a quota in tokens.
func tokenFigure(got *parse.Reading, policy string) (f tokens.Figure, ok bool) {
	f = tokens.Figure{Available: tokens.None, Limit: tokens.None, Cost: tokens.None}
	for i := range got.Policies {
		if p := &got.Policies[i]; p.Name == policy {
			f.Limit = p.Quota
		}
	}
	for i := range got.Limits {
		l := &got.Limits[i]
		if l.Policy != policy {
			continue
		}
		f.Available, f.Cost, f.Full = l.Available, l.Cost, l.Full
		if f.Full == 0 {
			f.Window = max(l.Window, 0)
		}
		ok = true
	}
	return f, ok
}

// A tokenRefusal is a refusal for lack of tokens, although they were estimated to suffice.
type tokenRefusal []tokenDeparture

// tokenRefusal returns the quotas in tokens that may have refused the request: those of
// which less is left than it may cost, if all other quotas have something left.
func (x *exchange) tokenRefusal(got *parse.Reading) (by tokenRefusal) {
	if !x.report.Refused {
		return nil
	}
	for i := range x.report.Figures {
		if f := &x.report.Figures[i]; f.Available == 0 && !x.departed(f.Policy) {
			return nil
		}
	}
	r := x.tokens.request
	for _, d := range x.tokens.departures {
		f, ok := tokenFigure(got, d.policy)
		if ok && r != nil && f.Available >= 0 && f.Available < r.Most() {
			d.left = f.Available
			by = append(by, d)
		}
	}
	return by
}

func (x *exchange) departed(policy string) bool {
	for _, d := range x.tokens.departures {
		if d.policy == policy {
			return true
		}
	}
	return false
}

// learn learns that the estimates were too low. body is that of the response, if it is known:
// it may name the cost.
func (by tokenRefusal) learn(body []byte) {
	cost := requestedTokens(body)
	for _, d := range by {
		d.Refused(d.Departure, d.left, cost)
	}
}

// requestedTokens returns the cost that a refusal names, as in "Limit 30000, Used 20000,
// Requested 13621": the form of OpenAI, which others have adopted. It is None if there is
// none.
func requestedTokens(body []byte) int64 {
	_, rest, ok := bytes.Cut(body, []byte("Requested "))
	n, digits := int64(0), 0
	for digits < len(rest) && isDigit(rest[digits]) && digits < 10 {
		n = 10*n + int64(rest[digits]-'0')
		digits++
	}
	if !ok || digits == 0 {
		return tokens.None
	}
	return n
}

// dropTokenSummary removes the account "tokens" beside those of input and output tokens:
// it repeats the one that is in effect.
func dropTokenSummary(got *parse.Reading) {
	apart := false
	for i := range got.Limits {
		apart = apart || countsApart(got.Limits[i].Policy)
	}
	if !apart {
		return
	}
	got.Limits = without(got.Limits, func(l *parse.Limit) bool { return l.Policy == "tokens" })
	if summary := func(p parse.Policy) bool { return p.Name == "tokens" }; slices.ContainsFunc(got.Policies, summary) {
		got.Policies = slices.DeleteFunc(slices.Clone(got.Policies), summary) // the Reader may remember them
	}
}

func countsApart(policy string) bool { return policy == "input-tokens" || policy == "output-tokens" }

// without returns the elements that are not dropped, in the same memory.
func without[T any](all []T, drop func(*T) bool) []T {
	n := 0
	for i := range all {
		if drop(&all[i]) {
			continue
		}
		if n < i { // else it is there: nothing was dropped before
			all[n] = all[i]
		}
		n++
	}
	return all[:n]
}

// learner returns what is learned of a policy in tokens in a scope; nil if too many policies
// are known there.
func (d *directory) learner(scope, policy string) *tokens.Learner {
	d.mu.RLock()
	var l *tokens.Learner
	if ks := d.scopes[scope]; ks != nil {
		l = ks.learners[policy]
	}
	d.mu.RUnlock()
	if l != nil {
		return l
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.findOrCreateLocked(scope)
	if l = ks.learners[policy]; l != nil {
		return l
	}
	if len(ks.learners) >= maxKindPolicies {
		return nil
	}
	if ks.learners == nil {
		ks.learners = make(map[string]*tokens.Learner)
	}
	l = &tokens.Learner{Kind: tokenKind(policy)}
	ks.learners[strings.Clone(policy)] = l
	d.weighLocked(ks, func() { ks.bytes += learnerBytes + len(policy) })
	return l
}

// learnerBytes is the memory of a Learner, with its place in a map.
const learnerBytes = 500

// scopeOfModel returns the scope of a model. That of the first model of a scope is the
// scope itself, so that what was learned before the model was known is not lost.
func (d *directory) scopeOfModel(scope, model string) string {
	d.mu.RLock()
	first := ""
	if ks := d.scopes[scope]; ks != nil {
		first = ks.model
	}
	d.mu.RUnlock()
	if first == "" {
		d.mu.Lock()
		ks := d.findOrCreateLocked(scope)
		if ks.model == "" {
			ks.model = strings.Clone(model)
			d.weighLocked(ks, func() { ks.bytes += len(model) })
		}
		first = ks.model
		d.mu.Unlock()
	}
	if first == model {
		return scope
	}
	return scope + ofModel + model
}

// ofModel stands between a scope and a model.
const ofModel = "\x1f\x01\x1f"
