package transport

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// learn settles the lease with what the response says. What is held until the
// response is over stays with its body.
func (x *exchange) learn(resp *http.Response) {
	x.resp = resp
	if x.directory.reader.Silent(resp.Header) && x.silent(resp.StatusCode) {
		x.origin.Settle(time.Time{}, &x.lease, &saysNothing)
		x.watch(false)
		x.resp = nil // it is the caller's
		return
	}
	if x.lesson == nil {
		x.lesson = new(lesson)
	}
	now := time.Now()
	got := x.read(now)
	x.take(&got)
	if restrict := x.origin.Settle(now, &x.lease, &x.report); restrict != nil {
		attend(resp, restrict, x.s.Caps)
	}
	x.watch(got.Cached)
	ts := x.traces()
	if len(got.Ignored) > 0 && ts.any((*Trace).wantsIgnored) {
		x.traceIgnored(ts, &got)
	}
	if ts.any((*Trace).wantsLearned) {
		x.traceLearned(ts, &got)
	}
	x.resp = nil // it is the caller's
}

// saysNothing is the report of a response without fields. Read-only.
var saysNothing quota.Report

// watch follows the body of the response, where something has to be known of it.
func (x *exchange) watch(cached bool) {
	if !cached {
		x.weigh()
	}
	hold(x.resp, &x.lease)
}

// silent reports whether there is nothing to learn from a response of that status
// that has no fields, nor anybody to tell.
func (x *exchange) silent(status int) bool {
	return status != http.StatusTooManyRequests && x.s.Cached == nil && !x.traces().any((*Trace).wantsLearned)
}

// read reads the fields of the response. What another origin says, to which a
// Base has followed a redirect by itself, is not about this one.
func (x *exchange) read(now time.Time) parse.Reading {
	if s := x.s; s.Cached != nil && s.Cached(x.resp) {
		return parse.Reading{Cached: true, RetryAfter: parse.None}
	}
	if to := x.resp.Request; to != nil && to != x.req && to.Response != x.req.Response && !x.sameOrigin(x.resp) {
		return parse.Reading{RetryAfter: parse.None}
	}
	return x.directory.reader.Read(x.req.URL.Host, x.resp.StatusCode, x.resp.Header, now)
}

// fail settles an exchange without an answer. It costs what it would have
// cost, unless it is certain that the request never left.
func (x *exchange) fail(err error) {
	var op *net.OpError
	unsent := errors.As(err, &op) && op.Op == "dial"
	if unsent {
		x.lease.Cancel()
	} else {
		x.origin.Settle(time.Now(), &x.lease, &quota.Report{Outcome: quota.Lost})
	}
	if ts := x.traces(); ts.any((*Trace).wantsFailed) {
		x.traceFailed(ts, FailedInfo{Request: x.req, Err: err, Unsent: unsent})
	}
}

func (x *exchange) traceFailed(ts traces, info FailedInfo) {
	ts.each(func(t *Trace) {
		if t.Failed != nil {
			t.Failed(info)
		}
	})
}

// take turns what a response says into a report.
func (x *exchange) take(got *parse.Reading) {
	status, r := x.resp.StatusCode, &x.report
	*r = quota.Report{}
	if got.Cached {
		// It costs nothing and is not current (the draft, Section 8.4). A stored
		// refusal still makes us back off, by our own times.
		r.Outcome, r.Refused = quota.Unsent, status == http.StatusTooManyRequests
		return
	}
	if len(got.Declarations) > 0 {
		x.directory.declare(got.Declarations)
	}
	join(got.Policies, got.Limits)
	r.Refused = refused(status, got.Limits)
	if got.Advised {
		r.Pause, r.Reach = reach(status, got.RetryAfter)
	}
	if len(got.Policies)+len(got.Limits) == 0 {
		return // it may be silent for other reasons than that nothing concerns it
	}
	r.Terms, r.Figures = x.takeTerms(got.Policies), x.takeFigures(got.Limits)
	r.LeftOut = x.takeKind(got)
}

// fields is the reader of the fields of responses.
func (s *Shaper) fields() *parse.Reader {
	s.readerOnce.Do(func() { s.reader = &parse.Reader{Caps: s.Caps, Vendors: s.Vendors} })
	return s.reader
}

// refused reports whether the server refused the request for lack of quota: by
// the status code, or by one that is used for that and fields which say that
// nothing is left. (A 404 may well be the last answer of a window.)
func refused(status int, limits []parse.Limit) bool {
	if status == http.StatusTooManyRequests {
		return true
	}
	if status != http.StatusForbidden && status != http.StatusServiceUnavailable {
		return false
	}
	for i := range limits {
		if limits[i].Available == 0 {
			return true
		}
	}
	return false
}

// reach is whom advice to come back later concerns: the origin with 5xx (RFC
// 9110, Section 10.2.3: the service is unavailable); with 3xx the request that
// follows the redirect, which finds it there; with 413 the request that was too
// large, and nobody else; else what the response names.
func reach(status int, wait time.Duration) (time.Duration, quota.Reach) {
	switch {
	case status >= 500:
		return wait, quota.ReachOrigin
	case status/100 == 3, status == http.StatusRequestEntityTooLarge:
		return 0, quota.ReachNamed
	}
	return wait, quota.ReachNamed
}

// join gives a service limit without a partition key the one of its policy: a
// pk on the policy alone serves both. limits is changed in place.
func join(policies []parse.Policy, limits []parse.Limit) {
	for i := range limits {
		l := &limits[i]
		if l.HasKey {
			continue
		}
		keys := 0
		for j := range policies {
			if p := &policies[j]; p.Name == l.Policy && p.HasKey {
				l.Key = p.Key
				keys++
			}
		}
		if l.HasKey = keys == 1; !l.HasKey {
			l.Key = "" // two partitions of one policy: it may be either
		}
	}
}

func (x *exchange) takeTerms(policies []parse.Policy) []quota.Terms {
	for _, p := range policies {
		x.terms = append(x.terms, quota.Terms{
			Policy: quota.Policy{Name: p.Name, Quota: p.Quota, Unit: p.Unit, Window: p.Window, Keyed: p.HasKey},
			Key:    p.Key,
		})
	}
	return x.terms
}

func (x *exchange) takeFigures(limits []parse.Limit) []quota.Figure {
	for _, l := range limits {
		x.figures = append(x.figures, quota.Figure{
			Policy: l.Policy, Key: l.Key, Keyed: l.HasKey, Available: l.Available, Window: l.Window, Cost: l.Cost,
		})
	}
	return x.figures
}

// takeKind takes over which policies the response names, and what it says that
// holds for requests of its kind: what it did cost, and the partition key where
// none can be predicted. It returns the policies that turn out not to concern it.
func (x *exchange) takeKind(got *parse.Reading) (leftOut []string) {
	for i := range got.Limits {
		l := &got.Limits[i]
		t := x.saying(l.Policy)
		t.cost, t.most = max(t.cost, l.Cost), max(t.most, l.Available)
		if l.HasKey {
			x.compare(t, partition.Key(l.Key))
		}
	}
	limits := len(x.said)
	for i := range got.Policies {
		p := &got.Policies[i]
		t := x.saying(p.Name)
		if p.HasKey && find(x.said[:limits], p.Name) < 0 {
			x.compare(t, partition.Key(p.Key))
		}
	}
	x.setAside()
	f := finding{said: x.said, whole: !x.report.Refused && exhaustive(got, x.resp.Header)}
	k, fewer := x.memory.kind, false
	if k == nil || !k.knows(f) {
		k, fewer = x.directory.learn(x.ask.Scope, x.likeness(), f)
	}
	return x.leftOut(k, fewer)
}

// setAside counts policies as named that do not concern the request by their own
// declarations: a response to it leaves them out, whatever its kind. Others of the
// kind may well match.
func (x *exchange) setAside() {
	all := x.directory.declared.Load()
	if all == nil {
		return
	}
	for _, decl := range *all {
		if find(x.said, decl.Policy) >= 0 {
			continue
		}
		if _, answer := x.s.Dimensions.Key(*decl, x.req); answer == partition.Irrelevant {
			x.saying(decl.Policy)
		}
	}
}

// saying is what the response says of a policy, so far.
func (x *exchange) saying(policy string) *trait {
	i := find(x.said, policy)
	if i < 0 {
		i = len(x.said)
		x.said = append(x.said, trait{policy: policy, cost: parse.None, most: parse.None})
	}
	return &x.said[i]
}

// exhaustive reports whether a response names all the policies that concern its
// request: it has a RateLimit-Policy, of which everything was understood.
func exhaustive(got *parse.Reading, h http.Header) bool {
	return got.Dialect != parse.VendorFields && len(h["Ratelimit-Policy"]) > 0 && len(got.Policies) > 0 && len(got.Ignored) == 0
}

// leftOut are the policies that turn out not to concern the kind of the request:
// those that it was charged to; or all of the origin's, if others of the scope may
// wait for them in vain.
func (x *exchange) leftOut(k *kind, all bool) (policies []string) {
	for _, c := range x.claims {
		if _, concerned := k.trait(c.Policy); !concerned {
			policies = append(policies, c.Policy)
		}
	}
	if !all {
		return policies
	}
	for _, p := range x.origin.Policies() {
		if _, concerned := k.trait(p.Name); !concerned && !slices.Contains(policies, p.Name) {
			policies = append(policies, p.Name)
		}
	}
	return policies
}

// compare holds the key that the server named against the one that is predicted.
// It is remembered where nothing can be.
func (x *exchange) compare(t *trait, actual partition.Key) {
	if decl := x.directory.declaration(t.policy); decl != nil {
		predicted, answer := x.s.Dimensions.Key(*decl, x.req)
		if answer == partition.Known && !slices.Contains(x.memory.failed, decl) {
			if predicted == actual {
				return
			}
			if x.directory.distrust(x.ask.Scope, decl) {
				x.traceMispredicted(t.policy, predicted, actual)
			}
		}
	}
	t.key, t.keyed = actual, true
}

func (x *exchange) traceMispredicted(policy string, predicted, actual partition.Key) {
	info := MispredictedInfo{Request: x.req, Policy: policy, Predicted: predicted, Actual: actual}
	x.traces().each(func(t *Trace) {
		if t.Mispredicted != nil {
			t.Mispredicted(info)
		}
	})
}

func (x *exchange) traceIgnored(ts traces, got *parse.Reading) {
	for _, i := range got.Ignored {
		ts.each(func(t *Trace) {
			if t.Ignored != nil {
				t.Ignored(IgnoredInfo{Request: x.req, Ignored: i})
			}
		})
	}
}

func (x *exchange) traceLearned(ts traces, got *parse.Reading) {
	info := LearnedInfo{
		Request:    x.req,
		Status:     x.resp.StatusCode,
		Dialect:    got.Dialect,
		Vendor:     got.Vendor,
		Cached:     got.Cached,
		Refused:    x.report.Refused,
		RetryAfter: x.report.Pause,
	}
	for _, t := range x.report.Terms {
		info.Policies = append(info.Policies, t.Policy)
	}
	for _, l := range got.Limits {
		info.Limits = append(info.Limits, Limit{
			Policy:    l.Policy,
			Partition: partition.Key(l.Key),
			Available: l.Available,
			Window:    l.Window,
			Cost:      l.Cost,
		})
	}
	ts.each(func(t *Trace) {
		if t.Learned != nil {
			t.Learned(info)
		}
	})
}
