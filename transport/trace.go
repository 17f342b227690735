package transport

import (
	"net/http"
	"slices"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// A Trace is a set of hooks that are called with what a Shaper does, in the
// manner of httptrace.ClientTrace. Any of them may be nil.
//
// Hooks are called by the goroutine of the request, which waits for them, and
// with no lock held. Hooks of several requests may run at once. A hook must not
// change the request or keep it.
type Trace struct {
	// Held is called when a request cannot go at once and is about to wait. In
	// Mode Observe, and for requests with WithBypass, it is called when the
	// request would have to wait or would be refused; then the request is sent.
	Held func(HeldInfo)

	// Admitted is called when a request is about to be handed to Base.
	Admitted func(AdmittedInfo)

	// Rejected is called when a request is not sent: it was refused, or its
	// context ended while it waited.
	Rejected func(RejectedInfo)

	// Learned is called when the fields of a response have been read.
	Learned func(LearnedInfo)

	// Failed is called when Base has returned an error. For each request that
	// was admitted, either Learned or Failed is called.
	Failed func(FailedInfo)

	// Ignored is called for each part of a response's fields that was ignored
	// because it is malformed or above a safety cap.
	Ignored func(IgnoredInfo)

	// Mispredicted is called when the server counted a request under another
	// partition key than the one that was computed from the server's own
	// declaration. Keys of that policy are then not predicted for the scope of
	// the request, until the server declares other dimensions.
	Mispredicted func(MispredictedInfo)
}

// HeldInfo says why a request cannot go now.
type HeldInfo struct {
	Request   *http.Request
	Policy    string        // the policy that has too little left; "" if the server named none
	Partition partition.Key // the key of its partition; "" if none is known
	Reason    Reason
	Wait      time.Duration // until the request can go, or less if a response that arrives before then lets it go; 0: not known
	Observed  bool          // the request is sent all the same
}

// AdmittedInfo describes a request that is about to be sent.
type AdmittedInfo struct {
	Request *http.Request
	Waited  time.Duration // since RoundTrip was called
}

// RejectedInfo describes a request that is not sent.
type RejectedInfo struct {
	Request *http.Request
	Err     error         // the error of RoundTrip: a *RejectedError, or the cause of the context's end
	Waited  time.Duration // since RoundTrip was called
}

// LearnedInfo says what was understood of a response.
type LearnedInfo struct {
	Request    *http.Request
	Status     int
	Dialect    parse.Dialect  // of Policies and Limits
	Vendor     string         // the row of the vendors' table that was read; "" if the fields follow a draft
	Cached     bool           // the response came from a cache, and nothing was learned
	Refused    bool           // the server refused the request for lack of quota
	RetryAfter time.Duration  // how long the server asks not to be called; 0: it does not, or not because of quota
	Policies   []quota.Policy // what the server says in RateLimit-Policy
	Limits     []Limit        // what the server says in RateLimit
}

// FailedInfo describes a request that was sent and not answered.
type FailedInfo struct {
	Request *http.Request
	Err     error // the error of Base
	Unsent  bool  // the request certainly did not arrive, and nothing is charged; else it counts as one that may have arrived
}

// A Limit is a service limit (the draft, Section 3.1).
type Limit struct {
	Policy    string
	Partition partition.Key // "" if the server named none
	Available int64         // available quota in units; negative: not given
	Window    time.Duration // effective window; negative: not given
	Cost      int64         // of the request, in units; negative: not given
}

// IgnoredInfo says which part of a response was ignored, and why.
type IgnoredInfo struct {
	Request *http.Request
	parse.Ignored
}

// MispredictedInfo says which prediction of a partition key was wrong.
type MispredictedInfo struct {
	Request   *http.Request
	Policy    string
	Predicted partition.Key
	Actual    partition.Key
}

// A hook selects one hook of a Trace, which may be nil.
type hook[Info any] func(*Trace) func(Info)

func heldHook(t *Trace) func(HeldInfo)                 { return t.Held }
func admittedHook(t *Trace) func(AdmittedInfo)         { return t.Admitted }
func rejectedHook(t *Trace) func(RejectedInfo)         { return t.Rejected }
func learnedHook(t *Trace) func(LearnedInfo)           { return t.Learned }
func failedHook(t *Trace) func(FailedInfo)             { return t.Failed }
func ignoredHook(t *Trace) func(IgnoredInfo)           { return t.Ignored }
func mispredictedHook(t *Trace) func(MispredictedInfo) { return t.Mispredicted }

// traced reports whether the request has a Trace.
func (x *exchange) traced() bool { return x.s.Trace != nil || len(x.options.traces) > 0 }

// wants reports whether the hook is set in the Shaper's Trace or in one of the
// request's own.
func wants[Info any](x *exchange, h hook[Info]) bool {
	return x.traced() && isSet(x, h)
}

func isSet[Info any](x *exchange, h hook[Info]) bool {
	return x.s.Trace != nil && h(x.s.Trace) != nil ||
		slices.ContainsFunc(x.options.traces, func(t *Trace) bool { return h(t) != nil })
}

// call calls the hook of the Shaper's Trace, then those of the request's own, with
// the result of info. If the hook is set nowhere, info is not called.
func call[Info any](x *exchange, h hook[Info], info func() Info) {
	if !wants(x, h) {
		return
	}
	i := info()
	if x.s.Trace != nil {
		if f := h(x.s.Trace); f != nil {
			f(i)
		}
	}
	for _, t := range x.options.traces {
		if f := h(t); f != nil {
			f(i)
		}
	}
}

func (x *exchange) traceHeld(r quota.Refusal) {
	call(x, heldHook, func() HeldInfo {
		return HeldInfo{
			Request:   x.req,
			Policy:    r.Policy,
			Partition: partitionKey(r.Key),
			Reason:    r.Reason,
			Wait:      r.Wait,
			Observed:  x.unconditional(),
		}
	})
}

func (x *exchange) traceAdmitted() {
	call(x, admittedHook, func() AdmittedInfo {
		return AdmittedInfo{Request: x.req, Waited: x.lease.Sent().Sub(x.began)}
	})
}

func (x *exchange) traceRejected(err error) {
	call(x, rejectedHook, func() RejectedInfo {
		return RejectedInfo{Request: x.req, Err: err, Waited: time.Since(x.began)}
	})
}

func (x *exchange) traceFailed(err error, unsent bool) {
	call(x, failedHook, func() FailedInfo {
		return FailedInfo{Request: x.req, Err: err, Unsent: unsent}
	})
}

func (x *exchange) traceIgnored(ignored []parse.Ignored) {
	for _, i := range ignored {
		call(x, ignoredHook, func() IgnoredInfo {
			return IgnoredInfo{Request: x.req, Ignored: i}
		})
	}
}

func (x *exchange) traceMispredicted(policy string, predicted, actual partition.Key) {
	call(x, mispredictedHook, func() MispredictedInfo {
		return MispredictedInfo{Request: x.req, Policy: policy, Predicted: predicted, Actual: actual}
	})
}

func (x *exchange) traceLearned(got *parse.Reading) {
	call(x, learnedHook, func() LearnedInfo {
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
		return info
	})
}
