package transport

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// Defaults of a Shaper.
const (
	DefaultMaxDelay = quota.DefaultMaxDelay // 2 minutes
	DefaultMaxQueue = quota.DefaultMaxQueue // 10,000 requests

	// NoDelay as a MaxDelay: never hold a request, refuse it at once.
	NoDelay = quota.NoDelay
)

// A Mode says what a Shaper does with requests that exceed a quota.
type Mode uint8

const (
	// Shape holds them until there is room, or refuses them.
	Shape Mode = iota
	// Observe learns and reports, and lets everything go.
	Observe
)

// A Shaper is an http.RoundTripper that delays or refuses requests before
// they leave, so that a server's quotas are used and not exceeded. The zero
// value shapes with safe defaults.
//
// A request is met with all the quota policies that concern it, as far as the
// server has advertised them, and with the client's own Limits. It is charged
// to all of them at one instant and handed to Base. Where one of them has too
// little left, the request waits in line, first come, first served, and holds
// nothing while it waits. It is refused with a *RejectedError as soon as
// waiting cannot help: when it would last longer than MaxDelay, or past the
// deadline of the request's context, or when MaxQueue requests are waiting
// already. When its context ends while it waits, the error is context.Cause
// of that context.
//
// Every response that does not come from a cache is read for what it says
// about quota, whatever its status, and then returned as Base made it. Its
// body is wrapped only where a limit on concurrency has to know when it ends,
// where a quota counts bytes of content and nothing says how many there are, or
// where the body of a refusal may tell whom its Retry-After concerns.
//
// What was never advertised is not shaped: requests before the first response
// go at once. What is advertised is believed up to Caps; no word of a server
// makes a request wait longer than MaxDelay.
//
// Fields are set before first use and not changed after. A Shaper is safe for
// concurrent use, should be reused, and must not be copied. It has no
// goroutine of its own and needs no closing.
type Shaper struct {
	// Base sends the requests. Nil means http.DefaultTransport, which keeps two
	// idle connections to a host: give it more where many are let go at once.
	Base http.RoundTripper

	// Mode is Shape or Observe. The zero Mode is Shape.
	Mode Mode

	// MaxDelay is the longest that a request is held back. Zero means
	// DefaultMaxDelay. NoDelay, or any negative duration, means that no request
	// is held: one that cannot go now is refused at once. Of those held for longer
	// than quota.ProbeInterval, one in each goes to look, and may be refused by the
	// server.
	MaxDelay time.Duration

	// MaxQueue is how many requests may wait for one account or limiter. Zero
	// means DefaultMaxQueue, a negative number no bound.
	MaxQueue int

	// Limits returns the client's own limits on a request: one permit is taken
	// of it, together with the server's quotas, and held until the body of the
	// response ends where it is a limit on concurrency. Nil, or a nil Limiter,
	// means none.
	Limits func(*http.Request) quota.Limiter

	// Dimensions says how partition dimensions are computed from a request, for
	// those that an API defines for itself. They are merged over the standard
	// ones: method, and user_id and client_id from the context (see package
	// partition). Nil means the standard ones.
	Dimensions partition.Dimensions

	// Scope returns the identity that a request acts for. Quotas for which the
	// server names no partition are kept per scope. Nil means a keyed hash of
	// the credentials on the request (Basic, Bearer, API keys) and of the ids in
	// its context. Where credentials are added below the Shaper, it cannot see
	// them: with several users, put their ids into the context or set Scope.
	Scope func(*http.Request) string

	// Like returns the kind of a request, for what is learned by likeness: which
	// policies concern it, what it costs under each, and the partition key of a
	// policy whose dimensions the server did not declare, or that cannot be
	// computed. A thousand kinds of a scope are told apart; the others are one.
	// Nil means the method and the first segment of the path.
	Like func(*http.Request) string

	// Cost returns what a request costs under a policy, in quota units, as long as
	// the server has not said what like requests did cost: its word comes first. A
	// negative cost counts as 0. Nil means 1, and for a policy in content-bytes, at
	// least 1: the length of the request's body, or of those of like requests where it
	// is not known, and of the bodies of the responses to like requests.
	Cost func(*http.Request, quota.Policy) int64

	// Cached says of a response that it came from a cache, beside the signs that
	// are seen anyway: Age, Cache-Status and X-From-Cache. It must not read or
	// change the response. Nil means that there are no other signs.
	Cached func(*http.Response) bool

	// Caps are the safety caps on what a server may say. Values above them are
	// ignored. The zero value has the defaults of package parse.
	Caps parse.Caps

	// Vendors says how to read the fields of APIs that follow no draft, beside
	// those that package parse knows: a row each. Nil means none.
	Vendors []parse.Vendor

	// Accounts is what is known of advertised quotas. Share one between Shapers
	// that talk to the same servers, or with clients that are not HTTP. Nil
	// means one of the Shaper's own.
	Accounts *quota.Accounts

	// Strategy says how advertised quotas are spent. The zero value is
	// quota.Adaptive. It is that of the Shaper's own Accounts: where Accounts is
	// set, their Strategy counts.
	Strategy quota.Strategy

	// Trace is told what the Shaper does. Nil means nobody is. A request may
	// have a Trace of its own: see WithTrace.
	Trace *Trace

	own         quota.Accounts
	ownOnce     sync.Once // sets its fields
	readerOnce  sync.Once
	reader      *parse.Reader // see fields
	directories directories
	exchanges   sync.Pool // of *exchange
}

func (s *Shaper) base() http.RoundTripper {
	if s.Base != nil {
		return s.Base
	}
	return http.DefaultTransport
}

func (s *Shaper) accounts() *quota.Accounts {
	if s.Accounts != nil {
		return s.Accounts
	}
	s.ownOnce.Do(func() { s.own.Strategy = s.Strategy })
	return &s.own
}

// RoundTrip implements http.RoundTripper.
func (s *Shaper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.Header == nil {
		return s.base().RoundTrip(req) // who knows best how to refuse it
	}
	x := s.begin(req)
	defer x.end()
	x.route()
	if err := x.admit(); err != nil {
		return nil, err
	}
	resp, err := x.send()
	if err != nil {
		return nil, err
	}
	x.learn(resp)
	return resp, nil
}

// CloseIdleConnections closes the idle connections of Base, if it can.
// http.Client looks for this method.
func (s *Shaper) CloseIdleConnections() {
	if c, ok := s.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// An exchange is one request on its way: routed, admitted, sent, its response
// read. It lives from RoundTrip's beginning to its end and is used again.
type exchange struct {
	s       *Shaper
	req     *http.Request
	options *options
	began   time.Time

	directory *found
	origin    *quota.Origin
	ask       quota.Ask
	lease     quota.Lease
	sent      bool           // Base has the request, and closes its body
	resp      *http.Response // Base's, unless the caller has it

	claims []quota.Claim // of ask
	like   likeness      // once it is needed
	alike  bool          // it was
	memory memory        // what was known of the like when the request was routed

	*lesson // nil until there was something to learn, which spares those in line
}

// A lesson is what a response teaches.
type lesson struct {
	report  quota.Report
	figures []quota.Figure // of report
	terms   []quota.Terms  // of report
	said    []trait        // what the response says of each policy
}

// empty keeps the memory, and what is in it until it is used again: names and keys.
func (l *lesson) empty() {
	l.figures = l.figures[:0]
	l.terms = l.terms[:0]
	l.said = l.said[:0]
}

func (s *Shaper) begin(req *http.Request) *exchange {
	x, _ := s.exchanges.Get().(*exchange)
	if x == nil {
		x = &exchange{s: s, options: &noOptions}
		x.ask.Again = x.claim
	}
	if o := optionsOf(req.Context()); o != x.options {
		x.options = o
	}
	x.req, x.began = req, time.Now()
	return x
}

// end leaves nothing behind, however RoundTrip ends, be it by a panic: the
// body of a request that was not sent is closed, and its lease cancelled; a
// lease that nobody settled counts as that of a request that may have arrived;
// a response that nobody gets is closed.
func (x *exchange) end() {
	if !x.sent {
		x.lease.Cancel()
		if x.req.Body != nil {
			x.req.Body.Close()
		}
	}
	x.lease.Release()
	if x.resp != nil && x.resp.Body != nil {
		x.resp.Body.Close()
	}
	x.forget()
	x.s.exchanges.Put(x)
}

// forget lets go of what the exchange points at, but for the origin and the scope, of
// which the next one mostly is, too, and names and keys, which are short. What is nil
// already is left alone: to write a pointer is dear while garbage is collected.
func (x *exchange) forget() {
	if x.lesson != nil {
		x.lesson.empty()
	}
	if x.alike {
		x.like, x.alike, x.memory = likeness{}, false, memory{}
	}
	if x.ask.Held != nil {
		x.ask.Held = nil
	}
	if x.ask.Limiter != nil {
		x.ask.Limiter = nil
	}
	if x.options != &noOptions {
		x.options = &noOptions
	}
	if x.resp != nil {
		x.resp = nil
	}
	x.req, x.sent = nil, false
}

func (x *exchange) traces() traces { return traces{x.s.Trace, x.options.traces} }

// forced reports whether the request goes whatever stands in its way.
func (x *exchange) forced() bool { return x.s.Mode == Observe || x.options.bypass }

// admit waits until the request may go, or says why it does not.
func (x *exchange) admit() error {
	now, err := x.began, error(nil)
	if x.req.Response != nil {
		now, err = x.follow()
	}
	if s := x.s; s.Scope != nil || s.Limits != nil || s.Like != nil || s.Cost != nil || len(s.Dimensions) > 0 {
		now = time.Now() // they may have taken their time
	}
	if err == nil {
		err = x.origin.Admit(x.req.Context(), now, &x.ask, &x.lease)
	}
	if err != nil {
		return x.reject(err)
	}
	if ts := x.traces(); ts.any((*Trace).wantsAdmitted) {
		x.traceAdmitted(ts)
	}
	return nil
}

// reject is the error of a request that does not go.
func (x *exchange) reject(err error) error {
	if refusal, ok := err.(*quota.Refusal); ok {
		err = rejected(refusal)
	}
	if ts := x.traces(); ts.any((*Trace).wantsRejected) {
		x.traceRejected(ts, err)
	}
	return err
}

// errNoResponse is for a Base that breaks the contract of http.RoundTripper.
var errNoResponse = errors.New("transport: Base returned neither a response nor an error")

// send hands the request to Base. A failed exchange is settled here.
func (x *exchange) send() (*http.Response, error) {
	x.sent = true
	resp, err := x.s.base().RoundTrip(x.req)
	if err == nil && resp == nil {
		err = errNoResponse
	}
	if err != nil {
		x.resp = resp // which nobody gets, if there is one
		x.fail(err)
	}
	return resp, err
}

func (x *exchange) traceRejected(ts traces, err error) {
	info := RejectedInfo{Request: x.req, Err: err, Waited: time.Since(x.began)}
	ts.each(func(t *Trace) {
		if t.Rejected != nil {
			t.Rejected(info)
		}
	})
}

func (x *exchange) traceAdmitted(ts traces) {
	info := AdmittedInfo{Request: x.req, Waited: x.lease.Sent().Sub(x.began)}
	ts.each(func(t *Trace) {
		if t.Admitted != nil {
			t.Admitted(info)
		}
	})
}
