package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// Defaults of a Shaper.
const (
	DefaultMaxDelay = 2 * time.Minute
	DefaultMaxQueue = 10_000 // requests
)

// NoDelay as a MaxDelay means that no request is held: a request that
// cannot go now is refused at once.
const NoDelay time.Duration = -1

// A Mode says what a Shaper does with requests that exceed a quota: Shape, the zero Mode, holds
// or refuses them, and Observe reports and sends them.
type Mode uint8

const (
	// Shape holds them until there is room, or refuses them.
	Shape Mode = iota
	// Observe learns and reports, and sends every request at once.
	Observe
)

// A Shaper is an http.RoundTripper that delays or refuses requests before
// they are sent, so that a server's quotas are used and not exceeded. The zero
// value shapes with safe defaults.
//
// A request is checked against every quota policy that the server has
// advertised and that concerns the request, and against the client's own
// Limits. If all of them have room, the request is charged to all of them at
// one instant and handed to Base. If one has too little left, the request waits
// in line, first come, first served, and takes nothing while it waits. It is
// refused with a *RejectedError as soon as waiting cannot help: the wait would
// be longer than MaxDelay, or would pass the deadline of the request's context,
// or MaxQueue requests are already waiting. If the context ends while the
// request waits, the error is context.Cause of that context. Request.Cancel,
// which contexts have replaced, ends no wait.
//
// Every response that does not come from a cache is read for what it says
// about quota, whatever its status, and returned as Base made it. (If Base has followed
// a redirect to another origin by itself, the fields of the response are not read.) Its body is
// wrapped only in four cases: a concurrency limit has to know when the body
// ends; a quota counts bytes of content, and the length of the body is not
// given; the body of a refusal may name the policies that its Retry-After
// concerns; or the body of an error may say that it is a refusal, or one that has nothing
// to do with quota.
//
// Quotas that the server never advertised are not enforced: FirstFlight requests are
// sent at once, and the others after the first response. Advertised quotas are believed up to Caps, and
// nothing that a server says makes a request wait longer than MaxDelay.
//
// Set the fields before first use, and do not change them afterwards. A Shaper
// is safe for concurrent use, should be reused, and must not be copied. It
// starts no goroutine of its own and does not need to be closed.
type Shaper struct {
	// Base sends the requests. Nil means http.DefaultTransport, which keeps two
	// idle connections per host: use a Transport that keeps more if many
	// requests go to one host at once. If an API says what is left in a form that no row
	// of Vendors can describe, Base may set the fields of the draft on its responses.
	Base http.RoundTripper

	// Mode is Shape or Observe. The zero Mode is Shape.
	Mode Mode

	// MaxDelay is the longest time that a request is held. Zero means
	// DefaultMaxDelay, and not that requests do not wait: a library whose users say 0 for that
	// must pass NoDelay on. NoDelay, or any negative duration, means that no request
	// is held: a request that cannot go now is refused at once. If requests are
	// held for longer than ten minutes, one probe is sent in each ten minutes; the
	// server may refuse it.
	//
	// A request waits for a shorter time if its context has an earlier deadline, and not at all
	// with WithNoDelay. The deadline counts for the response, too: a request that has waited is
	// refused, and not sent, when it has less time left than the server usually takes to answer,
	// but no earlier than after a quarter of its time unless no answer is so quick. A request that
	// need not wait is sent however little time it has. None waits for longer than MaxDelay:
	// if some requests may, send them through a second Shaper with the same Accounts and a longer
	// MaxDelay. A MaxDelay below a second also means that FirstFlight is no bound unless it is set.
	//
	// A quota of 1,000 requests an hour that is used up is not back within
	// two minutes: requests are then refused at once, and RejectedError.RetryAfter says
	// when it is. A program that can wait for that sets a longer MaxDelay; one that has
	// other work to do asks Check.
	MaxDelay time.Duration

	// Respond429 means that a request that is refused is answered as a server would, with the
	// status 429 and, if it is known when to try again, a Retry-After, and not with a
	// *RejectedError: for libraries above the Shaper that retry after such a response and give up after
	// an error, as most do. Their time-outs then bound how long one attempt waits in line, and not all of them
	// together. False means an error. Trace.Rejected is called with the error in any case.
	Respond429 bool

	// MaxQueue is the number of requests that may wait for one account or
	// limiter. Zero means DefaultMaxQueue; a negative number means no bound.
	MaxQueue int

	// FirstFlight is the number of requests that may be on their way to an origin
	// that has not answered yet, because it may allow as few. More requests wait for
	// the first response, whatever it says, but no longer than a second from the
	// departure of the first request. Zero means ten for requests that
	// can wait for that second, and no bound for those that would be refused instead
	// (NoDelay, or a MaxDelay below a second) or have less than two seconds left before
	// their deadline. A negative number means no bound.
	//
	// With the first answer the bound is over, and all that wait go, as far as the quotas that
	// were advertised allow. If a server says nothing until it refuses, a quota.Concurrency in
	// Limits keeps the number small from then on.
	//
	// A new user of an origin that has told others of its quotas begins like that, too:
	// no more of its requests than the quota that others were told of may be on their way before its
	// first answer, and at least FirstFlight unless the server has named the quota. With
	// a MaxQueue there is no such bound.
	FirstFlight int

	// Limits returns the client's own limit on a request. One permit of it is
	// taken together with the server's quotas. A permit of a concurrency limit
	// is retained until the body of the response ends. Nil, or a nil Limiter,
	// means no limit. A limiter of Origin.Limiter is an error of each request.
	Limits func(*http.Request) quota.Limiter

	// Dimensions computes partition dimensions from a request, for dimensions
	// that an API defines itself. It is merged over the standard dimensions:
	// method, and user_id and client_id from the context (see package
	// partition). Nil means the standard dimensions only.
	Dimensions partition.Dimensions

	// Scope returns the identity that a request acts for. If the server names
	// no partition, quotas are kept per scope. Nil means DefaultScope: a keyed
	// hash of the user and client ids in the context of the request; without a
	// user id, of all credentials on it (Basic, Bearer, API keys). Credentials that are added below
	// the Shaper are invisible to it: a client with several users must then put
	// their ids into the context or set Scope.
	Scope func(*http.Request) string

	// Like returns the kind of a request. Five things are learned per scope and
	// kind: which policies concern a request; which limit without a name its responses
	// always tell, if any: then the limits that other kinds are told do not concern it; what
	// it costs under each policy; its partition key, if the server did not declare the
	// dimensions of the policy or they cannot be computed; and whether a refusal that
	// names no policy concerns it (see quota.Strategy). Up to a thousand kinds of a scope are
	// remembered. Of others it is assumed what all kinds have in common. Nil means
	// DefaultLike: the method and the path, with identifiers as one; then it is
	// assumed what the kinds with the same beginning have in common.
	Like func(*http.Request) string

	// Cost returns the cost of a request under a policy, in quota units. A negative
	// number means that it does not know.
	//
	// For a policy in requests or content-bytes it is asked only until the server has
	// said what a request of this kind costs. For one in any other unit, such as
	// tokens, it is asked about each request, and what was learned counts only where
	// it does not know. The next response corrects it.
	//
	// Nil means that nothing is known: what like requests were seen to cost, else 1.
	// For a policy in tokens the default is an estimate from the JSON body of a POST, if
	// it has GetBody: the text, and the longest answer that it asks for. A body without a
	// Content-Type is JSON if it begins with {. What the
	// server charges is learned. The body is read from GetBody, which must return the same
	// content each time: that of the first requests, which depart before the origin has
	// answered one with such a body, for the model; and later only if a policy of the origin counts
	// tokens.
	// http.NewRequest sets GetBody for a bytes.Reader, bytes.Buffer and strings.Reader only.
	// Without it the model is not known either, unless the path names it.
	// For a policy in content-bytes the default is the length of the request's body
	// plus the expected length of the response's body, at least 1; lengths that are
	// not known are estimated from other requests of the kind.
	Cost func(*http.Request, quota.Policy) int64

	// Cached reports whether a response came from a cache. It is asked in
	// addition to the signs that are always recognised: Age, Cache-Status and
	// X-From-Cache. It must not read or change the response. Nil means that
	// there are no other signs.
	Cached func(*http.Response) bool

	// Refused reports whether a response is a refusal for lack of quota, where its
	// status and fields do not say so, and how long to wait before the next request;
	// 0 means that this is not known. If the response has a Retry-After, the longer of the two
	// counts. It is asked about each response whose fields are read, in addition to the signs
	// that are always recognised: the status 429; the status 403, 420 or 503 with a service limit
	// of which nothing is left; and the Refusals of the rows of Vendors. Any other 503 is an outage: its Retry-After
	// holds the whole origin, and without one it holds nothing. It must not read or change the
	// response: its body belongs to the caller. Nil means that there are no other signs.
	Refused func(*http.Response) (refused bool, wait time.Duration)

	// Caps are the safety caps on what a server may say. Values above a cap are
	// ignored. The zero value has the defaults of package parse.
	Caps parse.Caps

	// Vendors says how to read the fields of APIs that follow no draft, one row
	// for each API, in addition to the rows built into package parse. Nil means
	// no further rows.
	Vendors []parse.Vendor

	// Accounts holds what is known of advertised quotas, and says how they are spent
	// (Strategy). Share one between Shapers that talk to the same servers, or with
	// clients that do not use net/http: two Shapers that do not share know nothing of each
	// other. Their other fields may differ. But a request that passes through both of two that share
	// is charged twice. Nil means accounts of the Shaper's own.
	Accounts *quota.Accounts

	// Trace has hooks that are called with what the Shaper does. Nil means no
	// hooks. A request can have further hooks of its own: see WithTrace.
	Trace *Trace

	ownAccounts quota.Accounts
	readerOnce  sync.Once
	reader      *parse.Reader // see fields
	directories directories
	exchanges   sync.Pool // of *exchange
	redirects   sync.Map  // of weak.Pointer[http.Response] to time.Time: see noteRedirect
}

func (s *Shaper) base() http.RoundTripper {
	if s.Base != nil {
		return s.Base
	}
	if http.DefaultTransport == http.RoundTripper(s) {
		return standardTransport
	}
	return http.DefaultTransport
}

// standardTransport is what http.DefaultTransport was at first. It is the base of a Shaper without Base that has replaced it.
var standardTransport = http.DefaultTransport

func (s *Shaper) accounts() *quota.Accounts {
	if s.Accounts != nil {
		return s.Accounts
	}
	return &s.ownAccounts
}

// RoundTrip implements http.RoundTripper.
func (s *Shaper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.Header == nil {
		return s.base().RoundTrip(req) // let Base report the invalid request
	}
	x := s.begin(req)
	defer x.end()
	x.route()
	if err := x.admit(); err != nil {
		return x.refuse(err)
	}
	x.countDeparture()
	resp, err := x.send()
	if err != nil {
		return nil, err
	}
	x.learn(resp)
	return resp, nil
}

// CloseIdleConnections closes the idle connections of Base, if Base has such a
// method. http.Client looks for this method.
func (s *Shaper) CloseIdleConnections() {
	if c, ok := s.base().(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// An exchange is the state of one call of RoundTrip: the request is routed,
// admitted and sent, and its response is read. When the call ends, the exchange
// goes into a pool for the next request.
type exchange struct {
	s       *Shaper
	req     *http.Request
	options *options
	began   time.Time // when RoundTrip was called, if there are hooks

	directory *urlDirectory
	origin    *quota.Origin
	ask       quota.Ask
	lease     quota.Lease
	sent      bool           // Base has the request and closes its body
	resp      *http.Response // to be closed by end; nil once it is the caller's

	kindPath    kindPath // see kind; of kindMethod and kindURL, which are often those of the next request, too
	kindMethod  string
	kindURL     string
	hasKindPath bool
	like        string // what Shaper.Like has returned
	pathKey     string // see Reader.PathKey
	wide        int    // length of wideScope
	known       known  // about the kind, when the request was routed; nothing if the origin had no policies
	knownOf     knownOf
	claimsOf    claimsOf
	saidOf      saidOf

	reading    parse.Reading // what the last response says; the next one uses its memory
	report     quota.Report
	policies   []policyStats         // what the response says of each policy
	partitions []prediction          // of the request, by declared
	declared   *[]*parse.Declaration // what the server had declared

	trace traced

	tokens   tokenCost
	ofModel  bool              // the scope is that of the model
	counted  departure         // if it is: see ownCounter
	newKind  bool              // the response is the first one to such a request that tells something
	silent   bool              // responses to such requests tell nothing, and others tell something: see toldKinds
	looks    bool              // the request looks whether a quota concerns its kind: see firstLooks
	looksAs  int               // it looks for a thing: the number of the price, plus 1; 0: it does not. See lookForResource
	resource resourceDeparture // if it is counted: see departResource
}

func (s *Shaper) begin(req *http.Request) *exchange {
	x, _ := s.exchanges.Get().(*exchange)
	if x == nil {
		x = &exchange{s: s}
		x.ask.Again, x.ask.Kind = x.again, x.kindName
	}
	x.req = req
	if set(&x.options, optionsOf(req.Context())); x.traced() {
		x.began = time.Now()
	}
	return x
}

// end cleans up however RoundTrip ended, by a panic, too. If the request was
// not sent, its body is closed and its lease cancelled. A lease that was not
// settled counts as one whose request may have arrived. A response that is not
// returned to the caller is closed.
func (x *exchange) end() {
	panicked := x.trace.owed != owedNothing
	if panicked {
		x.admitted() // before the lease ends
	}
	if !x.sent {
		x.lease.Cancel()
		if x.req.Body != nil {
			x.req.Body.Close()
		}
	}
	x.countEnd(nil, 0)
	x.endResource(nil, 0)
	x.lease.Release()
	if x.resp != nil {
		if x.resp.Body != nil {
			x.resp.Body.Close()
		}
		x.resp = nil
	}
	if panicked {
		x.tracePanic() // last, because a hook may be what panics
	}
	x.reset()
	x.s.exchanges.Put(x)
}

// reset drops what belongs to the request alone. It keeps the origin, the scope and
// what is known of the kind, which are often those of the next request, too, and the
// memory of slices; begin sets the options again.
func (x *exchange) reset() {
	if x.ask.Held != nil {
		x.ask.Held = nil
	}
	if x.ask.Limiter != nil {
		x.ask.Limiter = nil
	}
	if x.req.Response != nil {
		x.ask.NotBefore = time.Time{}
	}
	if x.tokens.scanned || len(x.tokens.departures) > 0 {
		x.tokens.reset()
	}
	if x.hasKindPath = false; x.like != "" {
		x.like = ""
	}
	if x.trace.admitted.Request != nil {
		x.trace.admitted = AdmittedInfo{}
	}
	x.req, x.sent = nil, false
}

// set sets *p to v, unless it is v already: to write a pointer or a string costs more than
// to compare it while garbage is collected.
func set[T comparable](p *T, v T) {
	if *p != v {
		*p = v
	}
}

// unconditional reports whether the request is sent even if a quota is exceeded.
func (x *exchange) unconditional() bool { return x.s.Mode == Observe || x.options.bypass }

// admit waits until the request may be sent, or returns the error of RoundTrip.
func (x *exchange) admit() error {
	var now time.Time // Admit reads the clock
	if s := x.s; x.traced() && s.Scope == nil && s.Limits == nil && s.Like == nil && s.Cost == nil && len(s.Dimensions) == 0 {
		now = x.began // the caller's functions have taken no time
	}
	err := x.origin.Admit(x.req.Context(), now, &x.ask, &x.lease)
	if err == nil {
		if x.directory.tokens.Load() {
			x.departTokens()
		} else if x.req.Method == http.MethodPost && !x.directory.asked.Load() {
			x.tokenRequest() // perhaps the answer tells of quotas for each model
		}
		if x.traced() {
			x.traceAdmitted()
		}
		return nil
	}
	if refusal, ok := err.(*quota.Refusal); ok {
		err = rejected(refusal)
	}
	x.traceRejected(err)
	return err
}

var (
	errNoResponse = errors.New("transport: Base returned neither a response nor an error")
	errPanic      = errors.New("transport: a panic ended RoundTrip")
)

// send hands the request to Base. If Base fails, send settles the lease.
func (x *exchange) send() (*http.Response, error) {
	x.sent = true
	resp, err := x.s.base().RoundTrip(x.req)
	if err == nil && resp == nil {
		err = errNoResponse
	}
	if err != nil {
		x.resp = resp // a Base must not return both; end closes the response
		x.fail(err)
	}
	return resp, err
}

// isUnsent reports whether an error of Base says that the request has certainly not arrived: there was no connection to the
// server or to a proxy, the server's certificate was not trusted, or a Shaper below refused the request. The error of an
// http.Client says nothing of the requests before, from which it was redirected.
func isUnsent(err error) bool {
	var client *url.Error
	if errors.As(err, &client) {
		return false
	}
	var op *net.OpError
	if errors.As(err, &op) {
		switch op.Op {
		case "dial", "proxyconnect", "socks connect":
			return true
		}
	}
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted) || errors.Is(err, ErrRejected)
}

// fail settles the lease of a request that was not answered. The request is
// charged as if it had arrived, unless it certainly did not.
func (x *exchange) fail(err error) {
	x.trace.owed = owedNothing
	unsent := isUnsent(err)
	now := time.Now()
	admitted := *x.admitted() // before the lease ends
	took := now.Sub(admitted.Sent)
	if unsent {
		x.lease.Cancel()
	} else {
		x.origin.Settle(now, &x.lease, x.watchChanges(&quota.Report{Lost: true}))
	}
	call(x, failedHook, func() FailedInfo {
		return FailedInfo{AdmittedInfo: admitted, Err: err, Unsent: unsent, Took: took}
	})
	x.tellChanges(AnsweredInfo{AdmittedInfo: admitted, Took: took})
}
