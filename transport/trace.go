package transport

import (
	"net/http"
	"slices"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// A Trace is a set of hooks that are told what a Shaper does, in the manner of
// httptrace.ClientTrace. Any of them may be nil.
//
// Hooks are called with no lock held, by the goroutine of the request, which
// they hold up; several may run at once. They must not change the request or
// keep it.
type Trace struct {
	// Held is called when a request cannot go at once and is about to wait. In
	// Mode Observe, and for requests that bypass the Shaper, it is called for
	// those that would have to wait, or would be refused, and then go.
	Held func(HeldInfo)

	// Admitted is called when a request is about to be handed to Base.
	Admitted func(AdmittedInfo)

	// Rejected is called when a request does not go: it was refused, or its
	// context ended while it waited.
	Rejected func(RejectedInfo)

	// Learned is called when a response has been read.
	Learned func(LearnedInfo)

	// Failed is called when Base has returned an error: of each request that was
	// admitted, either Learned is called or Failed.
	Failed func(FailedInfo)

	// Ignored is called for each part of a response's fields that was ignored:
	// malformed, or above a safety cap.
	Ignored func(IgnoredInfo)

	// Mispredicted is called when the server counted a request under another
	// partition key than the one rebuilt from its own declaration. Keys of that
	// policy are not predicted again for the scope of the request, until the
	// server declares something else.
	Mispredicted func(MispredictedInfo)
}

// HeldInfo says what stands in the way of a request.
type HeldInfo struct {
	Request   *http.Request
	Policy    string        // "" where the server named none
	Partition partition.Key // "" where none is known
	Reason    Reason
	Wait      time.Duration // until it can go, unless an answer that is on its way lets it go before; 0: not known
	Observed  bool          // the request goes all the same
}

// AdmittedInfo says that a request leaves.
type AdmittedInfo struct {
	Request *http.Request
	Waited  time.Duration // since RoundTrip was called
}

// RejectedInfo says that a request does not leave.
type RejectedInfo struct {
	Request *http.Request
	Err     error         // what RoundTrip returns: a *RejectedError, or the cause of the context's end
	Waited  time.Duration // since RoundTrip was called
}

// LearnedInfo says what was understood of a response.
type LearnedInfo struct {
	Request    *http.Request
	Status     int
	Dialect    parse.Dialect  // of Policies and Limits
	Vendor     string         // the row of the table that was read; "" where a draft was
	Cached     bool           // it came from a cache, and nothing was learned
	Refused    bool           // the server refused the request for lack of quota
	RetryAfter time.Duration  // how long the server asks to be left alone; 0: not at all, or not for reasons of quota
	Policies   []quota.Policy // what the server names in RateLimit-Policy
	Limits     []Limit        // what the server says in RateLimit
}

// FailedInfo says that a request was not answered.
type FailedInfo struct {
	Request *http.Request
	Err     error // of Base
	Unsent  bool  // it has certainly not arrived, and counts as never sent; else as one that may have
}

// A Limit is a service limit (the draft, Section 3.1).
type Limit struct {
	Policy    string
	Partition partition.Key // "" where the server named none
	Available int64         // negative: not given
	Window    time.Duration // effective window; negative: not given
	Cost      int64         // of the request; negative: not given
}

// IgnoredInfo says what was ignored of a response, and why.
type IgnoredInfo struct {
	Request *http.Request
	parse.Ignored
}

// MispredictedInfo says which prediction failed.
type MispredictedInfo struct {
	Request   *http.Request
	Policy    string
	Predicted partition.Key
	Actual    partition.Key
}

// traces are the hooks that a request is reported to: the Shaper's, which may
// be nil, and its own.
type traces struct {
	shaper *Trace
	own    []*Trace
}

// any reports whether there is a Trace that wants something.
func (ts traces) any(wants func(*Trace) bool) bool {
	return (ts.shaper != nil || len(ts.own) > 0) && ts.want(wants)
}

func (ts traces) want(wants func(*Trace) bool) bool {
	return ts.shaper != nil && wants(ts.shaper) || slices.ContainsFunc(ts.own, wants)
}

// each calls f for every Trace there is.
func (ts traces) each(f func(*Trace)) {
	if ts.shaper != nil {
		f(ts.shaper)
	}
	for _, t := range ts.own {
		f(t)
	}
}

func (t *Trace) wantsHeld() bool     { return t.Held != nil }
func (t *Trace) wantsAdmitted() bool { return t.Admitted != nil }
func (t *Trace) wantsRejected() bool { return t.Rejected != nil }
func (t *Trace) wantsLearned() bool  { return t.Learned != nil }
func (t *Trace) wantsFailed() bool   { return t.Failed != nil }
func (t *Trace) wantsIgnored() bool  { return t.Ignored != nil }
