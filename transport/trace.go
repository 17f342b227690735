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
// change the request or keep it. If a hook panics, the others are called all the same.
//
// For each call of RoundTrip, either Admitted or Rejected is called; after Admitted,
// either Answered or Failed. (No hook is called for a request whose URL or Header is
// nil: it is left to Base.) Hooks that several parts of a program want to set are
// joined with JoinTraces.
type Trace struct {
	// Held is called when a request cannot go at once and is about to wait, and again
	// when it begins to wait for something else: HeldInfo.Held is then not 0. In
	// Mode Observe, and for requests with WithBypass, it is called once, when the
	// request would have to wait or would be refused; then the request is sent.
	//
	// When it is called again, the request keeps its place in line, and those behind it
	// wait until the hook returns.
	Held func(HeldInfo)

	// Admitted is called when a request is about to be handed to Base.
	Admitted func(AdmittedInfo)

	// Rejected is called when a request is not sent: it was refused, or its
	// context ended before it could go, or a function of the caller's, such as Shaper.Cost
	// or a hook Held, ended by a panic before that.
	Rejected func(RejectedInfo)

	// Answered is called when Base has returned a response. It is the hook for
	// counting: Learned says more, and makes responses cost more of which nothing can
	// be learned.
	Answered func(AnsweredInfo)

	// Learned is called when the fields of a response have been read, after Answered.
	Learned func(LearnedInfo)

	// Changed is called for each change of what is known of the origin's quotas
	// that a response has brought about, after Learned. If the body of the response
	// says more, such as which policies its Retry-After concerns, Changed is called for
	// that by the goroutine that reads the body to its end or closes it, which waits.
	// That a hold or a window ends when its time has passed is no change: Until has
	// said when.
	Changed func(ChangedInfo)

	// Failed is called when Base has returned an error, or has ended by a panic. So it is
	// if a function of the caller's that is asked about the response, such as
	// Shaper.Refused, ends by a panic, and if a hook Admitted does.
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

// JoinTraces returns a Trace that calls the hooks of each of ts, in order. A hook
// that none of them has is nil, and costs nothing. Nil Traces are left out. Hooks
// that are set in one of ts afterwards are not called.
func JoinTraces(ts ...*Trace) *Trace {
	return &Trace{
		Held:         join(ts, heldHook),
		Admitted:     join(ts, admittedHook),
		Rejected:     join(ts, rejectedHook),
		Answered:     join(ts, answeredHook),
		Learned:      join(ts, learnedHook),
		Changed:      join(ts, changedHook),
		Failed:       join(ts, failedHook),
		Ignored:      join(ts, ignoredHook),
		Mispredicted: join(ts, mispredictedHook),
	}
}

func join[Info any](ts []*Trace, h hook[Info]) func(Info) {
	var hooks []func(Info)
	for _, t := range ts {
		if t != nil && h(t) != nil {
			hooks = append(hooks, h(t))
		}
	}
	switch len(hooks) {
	case 0:
		return nil
	case 1:
		return hooks[0]
	}
	return func(i Info) {
		each(0, len(hooks), func(n int) { hooks[n](i) })
	}
}

// each calls do with the numbers from n to end. A panic of one call keeps none of the
// others from being made: a hook that counts is told the end of all that it was told of.
func each(n, end int, do func(int)) {
	defer func() {
		if n < end {
			each(n, end, do)
		}
	}()
	for n < end {
		n++
		do(n - 1)
	}
}

// A RequestInfo is part of what every hook is told.
type RequestInfo struct {
	Request *http.Request
	Origin  string // its scheme, host and port in their normal form, as in quota.Snapshot
}

// HeldInfo says why a request cannot go now. WaitInfo says what it has waited for until
// now: if its Held is 0, the request begins to wait.
type HeldInfo struct {
	WaitInfo
	Policy    string        // the policy that has too little left; "" if the server named none. Or the name of Limiter
	Limiter   quota.Limiter // the limiter of your own that refuses: printed, it says what it allows, such as "5 at a time". nil: it is none. Not told by Check
	Partition partition.Key // the key of its partition; "" if none is known
	Reason    quota.Reason
	Wait      time.Duration // until the request can go, or less if a response that arrives before then lets it go; 0: not known
	Inferred  bool          // inferred from the server's refusals, not said by it: which requests they concern, or how much it allows
	Observed  bool          // the request is sent all the same
}

// A WaitInfo describes the wait of a request until now. Of several things that it has
// waited for, one after the other, it names the one that took longest.
type WaitInfo struct {
	RequestInfo
	Waited time.Duration // from the call of RoundTrip until now, when the request is held, sent or refused
	Held   quota.Reason  // why the request has waited in line, as Held was told; 0: it has not
	Policy string        // which policy it has waited for, as Held was told
}

// AdmittedInfo describes a request that is about to be sent.
type AdmittedInfo struct {
	WaitInfo
	Sent  time.Time // when it departs
	Probe bool      // too little was left or known, and this request asks the server
	First bool      // the origin had not answered any request yet
}

// RejectedInfo describes a request that is not sent.
type RejectedInfo struct {
	WaitInfo
	Err error // the error of RoundTrip: a *RejectedError, or the cause of the context's end; or that there was a panic
}

// AnsweredInfo describes a response.
type AnsweredInfo struct {
	AdmittedInfo
	Status  int
	Refused bool          // the server refused the request for lack of quota, as far as status and fields say
	Took    time.Duration // from the departure of the request to the response
}

// LearnedInfo says what was understood of the fields of a response. If it came from a
// cache (Cached), nothing was learned, though a 429 is followed by a back-off. RetryAfter
// counts if it is advice about quota (Advised). Do not modify the Reading: the Shaper uses
// it, too.
type LearnedInfo struct {
	AnsweredInfo
	parse.Reading

	// Charged has, for each of Limits, the units that the request was charged under its
	// policy before it left; 0: none.
	Charged []int64
}

// FailedInfo describes a request that was sent and not answered.
type FailedInfo struct {
	AdmittedInfo
	Err    error         // the error of Base, or that there was a panic
	Took   time.Duration // from the departure of the request to the error
	Unsent bool          // the request certainly did not arrive, and nothing is charged; else it counts as one that may have arrived
}

// ChangedInfo says what has changed. AnsweredInfo is of the response that has brought it
// about; its Status is 0 if there is none, because Base has returned an error.
type ChangedInfo struct {
	AnsweredInfo
	quota.Change
}

// IgnoredInfo says which part of a response was ignored, and why.
type IgnoredInfo struct {
	RequestInfo
	parse.Ignored
}

// MispredictedInfo says which prediction of a partition key was wrong.
type MispredictedInfo struct {
	RequestInfo
	Policy    string
	Predicted partition.Key
	Actual    partition.Key
}

// A hook selects one hook of a Trace, which may be nil.
type hook[Info any] func(*Trace) func(Info)

func heldHook(t *Trace) func(HeldInfo)                 { return t.Held }
func admittedHook(t *Trace) func(AdmittedInfo)         { return t.Admitted }
func rejectedHook(t *Trace) func(RejectedInfo)         { return t.Rejected }
func answeredHook(t *Trace) func(AnsweredInfo)         { return t.Answered }
func learnedHook(t *Trace) func(LearnedInfo)           { return t.Learned }
func changedHook(t *Trace) func(ChangedInfo)           { return t.Changed }
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
	if len(x.options.traces) == 0 {
		if x.s.Trace == nil {
			return
		}
		if f := h(x.s.Trace); f != nil {
			f(info())
		}
		return
	}
	if !isSet(x, h) {
		return
	}
	i := info()
	each(-1, len(x.options.traces), func(n int) {
		t := x.s.Trace
		if n >= 0 {
			t = x.options.traces[n]
		}
		if t == nil {
			return
		}
		if f := h(t); f != nil {
			f(i)
		}
	})
}

// A traced is what the hooks of a request need of one another.
type traced struct {
	onHeld   func(quota.Refusal, quota.Limiter) // traceHeld; allocated once for each exchange
	longest  stay                               // of those that are over
	present  stay                               // the last one, until the request is sent or refused
	since    time.Time                          // when it began
	admitted AdmittedInfo                       // zero until admitted has been called
	owed     owed
	changes  []quota.Change
}

// A stay is the time for which a request waits for one thing.
type stay struct {
	reason quota.Reason // 0: there is none
	policy string
	length time.Duration // of one that is over
}

// owed is what hooks were told of a request and have not been told the end of.
type owed uint8

const (
	owedNothing owed = iota
	owedStart        // neither Admitted nor Rejected was called
	owedAnswer       // Admitted was called, and neither Answered nor Failed
)

// until returns the longest stay, if the last one ends at that instant.
func (t *traced) until(over time.Time) stay {
	last := t.present
	if last.reason == 0 {
		return stay{}
	}
	if last.length = over.Sub(t.since); last.length < t.longest.length {
		return t.longest
	}
	return last
}

// begin begins a stay.
func (t *traced) begin(now time.Time, reason quota.Reason, policy string) {
	t.longest = t.until(now)
	t.present, t.since = stay{reason: reason, policy: policy}, now
}

// watch prepares the hooks of a request that has a Trace.
func (x *exchange) watch() {
	x.trace.longest, x.trace.present, x.trace.changes = stay{}, stay{}, x.trace.changes[:0]
	if x.traced() {
		if x.trace.onHeld == nil {
			x.trace.onHeld = x.traceHeld
		}
		x.ask.Held = x.trace.onHeld
		if !x.sent { // else it is Shaper.Check, which calls no hook
			x.trace.owed = owedStart
		}
	}
}

// watchChanges has the settlement collect changes if a hook wants them. It returns the
// report to settle with.
func (x *exchange) watchChanges(r *quota.Report) *quota.Report {
	if !wants(x, changedHook) {
		return r
	}
	if r != &x.report {
		x.report = quota.Report{Lost: r.Lost, Unsent: r.Unsent, Terms: x.report.Terms[:0], Figures: x.report.Figures[:0]}
		x.saidOf = saidOf{}
	}
	x.report.Changes = &x.trace.changes
	return &x.report
}

func (x *exchange) info() RequestInfo {
	return RequestInfo{Request: x.req, Origin: x.directory.name}
}

func (x *exchange) traceHeld(r quota.Refusal, by quota.Limiter) {
	now := time.Now()
	until := x.waited(now)
	if !x.unconditional() {
		x.trace.begin(now, r.Cause, r.Policy)
	}
	call(x, heldHook, func() HeldInfo { return x.held(&r, by, until) })
}

// held describes a request that cannot go now, after that wait.
func (x *exchange) held(r *quota.Refusal, by quota.Limiter, until WaitInfo) HeldInfo {
	return HeldInfo{
		WaitInfo:  until,
		Policy:    r.Policy,
		Limiter:   by,
		Partition: partitionKey(r.Key),
		Reason:    r.Reason,
		Wait:      r.Wait,
		Inferred:  r.Inferred,
		Observed:  x.unconditional(),
	}
}

func (x *exchange) traceAdmitted() {
	x.trace.owed = owedAnswer
	call(x, admittedHook, func() AdmittedInfo { return *x.admitted() })
}

// admitted describes the request, which has a lease. Several hooks are told it.
func (x *exchange) admitted() *AdmittedInfo {
	t := &x.trace
	if t.admitted.Request == nil {
		sent := x.lease.Sent()
		probe, first := x.lease.Probe()
		probe = probe && !x.unconditional() // what is sent in any case is none
		t.admitted = AdmittedInfo{WaitInfo: x.waited(sent), Sent: sent, Probe: probe, First: first}
	}
	return &t.admitted
}

// waited describes the wait of the request until that instant.
func (x *exchange) waited(until time.Time) WaitInfo {
	longest := x.trace.until(until)
	return WaitInfo{
		RequestInfo: x.info(),
		Waited:      until.Sub(x.began),
		Held:        longest.reason,
		Policy:      longest.policy,
	}
}

func (x *exchange) traceRejected(err error) {
	x.trace.owed = owedNothing
	call(x, rejectedHook, func() RejectedInfo { return RejectedInfo{WaitInfo: x.waited(time.Now()), Err: err} })
}

// tracePanic tells the hooks that are still owed something that RoundTrip ends by a panic.
func (x *exchange) tracePanic() {
	if x.trace.owed == owedStart {
		x.traceRejected(errPanic)
		return
	}
	x.trace.owed = owedNothing
	call(x, failedHook, func() FailedInfo {
		return FailedInfo{AdmittedInfo: x.trace.admitted, Err: errPanic, Unsent: !x.sent, Took: time.Since(x.trace.admitted.Sent)}
	})
}

func (x *exchange) traceIgnored(ignored []parse.Ignored) {
	for _, i := range ignored {
		call(x, ignoredHook, func() IgnoredInfo {
			return IgnoredInfo{RequestInfo: x.info(), Ignored: i}
		})
	}
}

func (x *exchange) traceMispredicted(policy string, predicted, actual partition.Key) {
	call(x, mispredictedHook, func() MispredictedInfo {
		return MispredictedInfo{
			RequestInfo: x.info(),
			Policy:      policy,
			Predicted:   predicted,
			Actual:      actual,
		}
	})
	if wants(x, changedHook) {
		x.trace.changes = append(x.trace.changes, quota.Change{
			What: "prediction", Policy: quota.Policy{Name: policy, Quota: quota.None, Keyed: true, Key: string(actual)},
		})
	}
}

// traceAnswered is given when the response arrived; zero: just now.
func (x *exchange) traceAnswered(refused bool, now time.Time) {
	x.trace.owed = owedNothing
	call(x, answeredHook, func() AnsweredInfo { return x.answered(refused, now) })
}

// answered describes the response, which arrived then; zero: just now.
func (x *exchange) answered(refused bool, now time.Time) AnsweredInfo {
	i := AnsweredInfo{AdmittedInfo: *x.admitted(), Status: x.resp.StatusCode, Refused: refused}
	if now.IsZero() {
		i.Took = time.Since(i.Sent) // reads one clock; time.Now reads two
	} else {
		i.Took = now.Sub(i.Sent)
	}
	return i
}

// traceChanges reports what the response has changed, which arrived then; zero: just now.
func (x *exchange) traceChanges(refused bool, now time.Time) {
	if len(x.trace.changes) > 0 {
		x.tellChanges(x.answered(refused, now))
	}
}

// tellChanges reports what a response has changed, or an error of Base.
func (x *exchange) tellChanges(by AnsweredInfo) {
	for _, c := range x.trace.changes {
		call(x, changedHook, func() ChangedInfo {
			c.Key = string(partitionKey(c.Key))
			return ChangedInfo{AnsweredInfo: by, Change: c}
		})
	}
	clear(x.trace.changes)
	x.trace.changes = x.trace.changes[:0]
}

// changedLater returns a function that reports what the body of the response has changed.
// It is called when the caller reads the body or closes it. The exchange may then be that
// of another request.
func (x *exchange) changedLater() func([]quota.Change) {
	if !wants(x, changedHook) {
		return func([]quota.Change) {}
	}
	later := &exchange{s: x.s, req: x.req, options: x.options, directory: x.directory}
	by := x.answered(x.report.Refused, time.Time{})
	return func(changes []quota.Change) {
		later.trace.changes = changes
		later.tellChanges(by)
	}
}

// charged returns the units of the policy that the request was charged before it left.
func (x *exchange) charged(policy, key string) int64 {
	for i := range x.ask.Claims {
		if c := &x.ask.Claims[i]; c.Policy == policy && (!c.Keyed || key == "" || c.Key == key) {
			return c.Units
		}
	}
	return 0
}

// traceLearned is given when the response arrived.
func (x *exchange) traceLearned(got *parse.Reading, now time.Time) {
	call(x, learnedHook, func() LearnedInfo {
		info := LearnedInfo{AnsweredInfo: x.answered(x.report.Refused, now), Reading: *got}
		for i := range got.Limits {
			l := &got.Limits[i]
			info.Charged = append(info.Charged, x.charged(l.Policy, string(l.Key)))
		}
		got.Limits = nil // they are the hook's
		return info
	})
}
