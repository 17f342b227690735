package transport

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// learn settles the lease with what the response says. What is held until the
// response is over stays with its body.
func (x *exchange) learn() {
	now := time.Now()
	x.read(now, x.resp)
	x.origin.Settle(now, &x.lease, &x.report)
	if x.lease.Held() {
		hold(x.resp, &x.lease)
	}
}

// fail settles an exchange without an answer. It costs what it would have
// cost, unless it is certain that the request never left.
func (x *exchange) fail(err error) {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		x.lease.Cancel()
		return
	}
	x.report = quota.Report{Outcome: quota.Lost}
	x.origin.Settle(time.Now(), &x.lease, &x.report)
}

// read turns a response into a report.
func (x *exchange) read(now time.Time, resp *http.Response) {
	if !x.taught(resp) {
		x.report = quota.Report{}
		return
	}
	if parse.Cached(resp.Header) {
		// It costs nothing and is not current (the draft, Section 8.4). A stored
		// refusal still makes us back off, by our own times.
		x.report = quota.Report{
			Outcome: quota.Unsent,
			Refused: resp.StatusCode == http.StatusTooManyRequests,
		}
		x.traceCached(resp)
		return
	}
	policies, ignoredPolicies := x.directory.policies(resp.Header, x.s.Caps)
	limits, ignoredLimits := parse.Limits(resp.Header, x.s.Caps)
	decls, ignoredDecls := parse.Declarations(resp.Header, x.s.Caps)
	wait, advised, ignoredWait := parse.RetryAfter(resp.Header, now, x.s.Caps)

	if len(decls) > 0 {
		x.directory.declare(decls)
	}
	join(policies, limits)
	x.report = quota.Report{
		Outcome: quota.Answered,
		Refused: refused(resp.StatusCode, limits),
		Terms:   x.takeTerms(policies),
		Figures: x.takeFigures(limits),
	}
	if advised {
		named := len(policies)+len(limits) > 0
		x.report.Pause, x.report.Reach = advice(resp.StatusCode, named, wait)
	}
	x.compare(policies, limits)

	if ts := x.traces(); ts.any() {
		x.traceIgnored(ts, ignoredPolicies, ignoredLimits, ignoredDecls, ignoredWait)
		x.traceLearned(ts, resp.StatusCode, limits)
	}
}

// taught reports whether there can be anything to learn from the response, or
// to settle that depends on whether it came from a cache.
func (x *exchange) taught(resp *http.Response) bool {
	if len(x.claims) > 0 || resp.StatusCode == http.StatusTooManyRequests || x.traces().any() {
		return true
	}
	for _, name := range [...]string{"Ratelimit", "Ratelimit-Policy", "Ratelimit-Partition", "Retry-After"} {
		if _, ok := resp.Header[name]; ok {
			return true
		}
	}
	return false
}

// refused reports whether the server refused the request for lack of quota: by
// the status code, or by an error whose fields say that nothing is left.
func refused(status int, limits []parse.Limit) bool {
	if status == http.StatusTooManyRequests {
		return true
	}
	if status < 400 {
		return false
	}
	for i := range limits {
		if limits[i].Available == 0 {
			return true
		}
	}
	return false
}

// advice is what Retry-After asks for, and of whom. Beside fields that name
// policies it counts on any status. Alone it counts on those that it was
// defined for: some servers send it on every answer.
//
// It concerns the origin with 5xx (RFC 9110, Section 10.2.3: the service is
// unavailable); with 3xx the request that follows the redirect, which finds it
// there; with 413 the request that was too large, and nobody else.
func advice(status int, named bool, wait time.Duration) (time.Duration, quota.Reach) {
	switch {
	case status >= 500:
		return wait, quota.ReachOrigin
	case status/100 == 3, status == http.StatusRequestEntityTooLarge:
		return 0, quota.ReachNamed
	case named, status == http.StatusTooManyRequests, status == http.StatusForbidden:
		return wait, quota.ReachNamed
	}
	return 0, quota.ReachNamed
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
			Policy: l.Policy, Key: l.Key, Keyed: l.HasKey, Available: l.Available, Window: l.Window,
		})
	}
	return x.figures
}

// compare holds the keys that the server named against those that were, or
// would have been, predicted, and remembers them where nothing can be.
func (x *exchange) compare(policies []parse.Policy, limits []parse.Limit) {
	for i := range limits {
		if l := &limits[i]; l.HasKey {
			x.compareKey(l.Policy, partition.Key(l.Key))
		}
	}
	for i := range policies {
		if p := &policies[i]; p.HasKey && !names(limits, p.Name) {
			x.compareKey(p.Name, partition.Key(p.Key))
		}
	}
}

// names reports whether there is a service limit of that policy.
func names(limits []parse.Limit, policy string) bool {
	for i := range limits {
		if limits[i].Policy == policy {
			return true
		}
	}
	return false
}

func (x *exchange) compareKey(policy string, actual partition.Key) {
	decl, declared := x.directory.declaration(policy)
	if declared {
		predicted, answer := x.s.Dimensions.Key(decl, x.req)
		k := kind{policy, x.ask.Scope}
		if answer == partition.Known && predicted == actual && !x.directory.distrusts(k) {
			return
		}
		if answer == partition.Known && predicted != actual && !x.directory.distrusts(k) {
			x.directory.distrust(k)
			x.traceMispredicted(policy, predicted, actual)
		}
	}
	x.directory.remember(x.likeness(policy), actual)
}

func (x *exchange) traceMispredicted(policy string, predicted, actual partition.Key) {
	info := MispredictedInfo{Request: x.req, Policy: policy, Predicted: predicted, Actual: actual}
	x.traces().each(func(t *Trace) {
		if t.Mispredicted != nil {
			t.Mispredicted(info)
		}
	})
}

func (x *exchange) traceCached(resp *http.Response) {
	ts := x.traces()
	if !ts.any() {
		return
	}
	info := LearnedInfo{Request: x.req, Status: resp.StatusCode, Cached: true, Refused: x.report.Refused}
	ts.each(func(t *Trace) {
		if t.Learned != nil {
			t.Learned(info)
		}
	})
}

func (x *exchange) traceIgnored(ts traces, fields ...[]parse.Ignored) {
	for _, ignored := range fields {
		for _, i := range ignored {
			ts.each(func(t *Trace) {
				if t.Ignored != nil {
					t.Ignored(IgnoredInfo{Request: x.req, Ignored: i})
				}
			})
		}
	}
}

func (x *exchange) traceLearned(ts traces, status int, limits []parse.Limit) {
	info := LearnedInfo{
		Request:    x.req,
		Status:     status,
		Refused:    x.report.Refused,
		RetryAfter: x.report.Pause,
	}
	for _, t := range x.report.Terms {
		info.Policies = append(info.Policies, t.Policy)
	}
	for _, l := range limits {
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
