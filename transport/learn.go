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
	got := x.read(now)
	x.take(&got)
	pause := x.origin.Settle(now, &x.lease, &x.report)
	if pause.Any() {
		attend(x.resp, x.origin, pause, x.s.Caps)
	}
	if x.lease.Held() {
		hold(x.resp, &x.lease)
	}
	if ts := x.traces(); ts.any() {
		x.traceIgnored(ts, &got)
		x.traceLearned(ts, &got)
	}
}

// read reads the fields of the response.
func (x *exchange) read(now time.Time) parse.Reading {
	if s := x.s; s.Cached != nil && s.Cached(x.resp) {
		return parse.Reading{Cached: true, RetryAfter: parse.None}
	}
	return x.s.fields().ReadWith(&x.directory.memo, x.req.URL.Host, x.resp.StatusCode, x.resp.Header, now)
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

// take turns what a response says into a report.
func (x *exchange) take(got *parse.Reading) {
	status := x.resp.StatusCode
	if got.Cached {
		// It costs nothing and is not current (the draft, Section 8.4). A stored
		// refusal still makes us back off, by our own times.
		x.report = quota.Report{
			Outcome: quota.Unsent,
			Refused: status == http.StatusTooManyRequests,
		}
		return
	}
	if len(got.Declarations) > 0 {
		x.directory.declare(got.Declarations)
	}
	join(got.Policies, got.Limits)
	x.report = quota.Report{
		Outcome: quota.Answered,
		Refused: refused(status, got.Limits),
		Terms:   x.takeTerms(got.Policies),
		Figures: x.takeFigures(got.Limits),
	}
	if got.Advised {
		x.report.Pause, x.report.Reach = reach(status, got.RetryAfter)
	}
	x.compare(got.Policies, got.Limits)
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
