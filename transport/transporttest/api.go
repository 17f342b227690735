package transporttest

import (
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
)

// An API is an [http.Handler] that enforces quota policies and advertises them on its
// responses. The zero value serves every request.
//
// Set the fields before first use and do not change them afterwards. An API is safe
// for concurrent use and must not be copied after first use.
type API struct {
	// Policies are the quota policies. A request is served if every policy that
	// applies to it has enough quota, and is then charged to all of them at once.
	// Otherwise it is refused and charged to none. Without policies every request
	// is served.
	Policies []Policy

	// Dialect is the form of the fields that advertise quota. They stand on served
	// and refused requests alike, and list all policies that apply to the request, in
	// the order of Policies. The zero value means parse.EditorsDraft:
	//
	//	RateLimit: "api";a=99;w=60;pk=:R0VUH2FsaWNl:
	//	RateLimit-Policy: "api";q=100;w=60
	//	RateLimit-Partition: "api";user_id;method
	//
	// parse.Draft08 has no RateLimit-Partition and no costs:
	//
	//	RateLimit: "api";r=99;t=60;pk=:R0VUH2FsaWNl:
	//	RateLimit-Policy: "api";q=100;w=60
	//
	// The others do not advertise partitions, costs or quota units, and omit policies
	// with the algorithm Concurrency. They have one service limit without a name: that
	// of the policy with the least available quota, the first of equals. parse.Draft07:
	//
	//	RateLimit: limit=100, remaining=99, reset=60
	//	RateLimit-Policy: 100;w=60
	//
	// parse.Draft06, for drafts -03 to -06:
	//
	//	RateLimit-Limit: 100
	//	RateLimit-Remaining: 99
	//	RateLimit-Reset: 60
	//	RateLimit-Policy: 100;w=60
	//
	// parse.VendorFields, with a Unix time on the clock of the API (see Skew), and no
	// field for policies:
	//
	//	X-RateLimit-Limit: 100
	//	X-RateLimit-Remaining: 99
	//	X-RateLimit-Reset: 1776690000
	Dialect parse.Dialect

	// OmitLimits omits the service limits: the field RateLimit, or what stands for
	// it in an older dialect. Partition keys are then sent on RateLimit-Policy.
	OmitLimits bool

	// OmitPolicies omits the field RateLimit-Policy. With both OmitLimits and
	// OmitPolicies, RateLimit-Partition is omitted, too. Retry-After is still sent.
	OmitPolicies bool

	// Rounding rounds effective windows and Retry-After to whole seconds. It is
	// called with the fraction of a second, x in [0, 1), and returns 0 or 1: set it
	// to math.Ceil, math.Floor or math.Round. Nil means math.Ceil.
	Rounding func(x float64) float64

	// A refusal has a Retry-After with the time until the request could be served if no
	// other request comes first, unless the request can never be served because it
	// costs more than a quota. It is a number of seconds; with RetryAfterDate it is an
	// HTTP-date, the Date field plus that number of seconds. OmitRetryAfter omits it.
	RetryAfterDate bool
	OmitRetryAfter bool

	// Skew is added to the API's clock before it is used for the Date field and
	// other absolute times. It does not affect windows.
	Skew time.Duration

	// Misstate returns the available quota and the effective window to advertise
	// for a policy, given the true ones. A negative window means none. It does not
	// change what is enforced. It may be called concurrently, with no lock held. Nil
	// advertises the true values.
	Misstate func(policy string, available int64, window time.Duration) (int64, time.Duration)

	// Problem makes the body of a refusal a problem of the type quota-exceeded
	// (Section 8.1) that names the violated policies. The default is a short text.
	Problem bool

	// Status is the status code of a refusal. Zero means 429 (Too Many Requests).
	Status int

	// User returns the user of a request, for the dimension user_id and for
	// Counts. Nil means the value of the X-User field, else the user name of Basic
	// credentials, else the Bearer token, else "". It is called once per request,
	// possibly concurrently, with no lock held.
	User func(*http.Request) string

	// Cost returns the cost of a request in quota units, which is the same under
	// every policy. A negative cost counts as zero. The editor's draft advertises
	// the cost on every response, including refusals. Cost is called once per
	// request, possibly concurrently, with no lock held. Nil means a cost of 1 that
	// is not advertised.
	Cost func(*http.Request) int64

	// Handler answers the requests that are served. The fields are set before it
	// is called, and it may change them. Nil means 200 with a short text.
	Handler http.Handler

	mu     sync.Mutex // guards the fields below and the meters of the rules
	rules  []*rule    // of Policies; nil before first use
	clock  time.Time  // the latest time of a decision
	counts Counts
	users  map[string]Counts
}

// Counts are the numbers of requests that an API has served and refused.
type Counts struct {
	Served  int64
	Refused int64
}

// A Decision is an API's decision on a request, with the response.
type Decision struct {
	// Served says whether the request is served. If so, it has been charged.
	Served bool

	// Status is the status code. It is 200 if the request is served; the API's
	// Handler may answer with another.
	Status int

	// Header holds the Date field, the fields that advertise quota and, for a
	// refusal, Retry-After and Content-Type. It belongs to the caller.
	Header http.Header

	// Body is the content. It is nil if the API's Handler writes the content.
	Body []byte

	// Violated holds the names of the policies that had too little quota, in the
	// order of API.Policies. It is nil if the request is served.
	Violated []string

	retained *retained // until Done; nil: nothing
}

// retained are the units that a request in progress takes from policies that limit
// concurrency.
type retained struct {
	api    *API
	claims []claim
	cost   int64
}

// Done ends the request and returns the units that it retained under policies that
// limit concurrency. ServeHTTP calls it; a caller of Decide must call it. Further calls
// do nothing, nor does a call for a refused request.
func (d *Decision) Done() {
	r := d.retained
	if r == nil {
		return
	}
	r.api.mu.Lock()
	defer r.api.mu.Unlock()
	for _, c := range r.claims {
		c.meter.(releaser).release(r.cost)
	}
	d.retained = nil
}

// ServeHTTP decides on a request at the current time and answers it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := a.Decide(time.Now(), r)
	defer d.Done()
	maps.Copy(w.Header(), d.Header)
	if d.Served && a.Handler != nil {
		a.Handler.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(d.Status)
	_, _ = w.Write(d.Body) // fails only if the client has gone away
}

// Decide decides on a request at the time now: it charges the request if it is served,
// and counts it. It reads only the method and the header of the request, and what User
// and Cost read.
//
// Decide ignores the monotonic clock reading of now. Time does not run backwards for an
// API: if now is before the time of an earlier decision, that time is used.
func (a *API) Decide(now time.Time, r *http.Request) Decision {
	user, cost := a.user(r), a.cost(r)
	o := a.charge(now, r, user, cost)

	d := Decision{Status: http.StatusOK, Header: make(http.Header), Violated: o.violated}
	d.Header.Set("Date", o.now.Add(a.Skew).UTC().Format(http.TimeFormat))
	a.misstate(o.claims)
	a.advertise(d.Header, o.now.Add(a.Skew), o.claims, cost)
	if len(o.violated) > 0 {
		a.refuse(&d, o)
		return d
	}
	d.Served, d.retained = true, a.retain(o.claims, cost)
	if a.Handler == nil {
		d.Header.Set("Content-Type", "text/plain; charset=utf-8")
		d.Body = []byte("served\n")
	}
	return d
}

// misstate replaces the available quota and window of the claims by those of Misstate.
func (a *API) misstate(claims []claim) {
	if a.Misstate == nil {
		return
	}
	for i := range claims {
		c := &claims[i]
		if !c.windowed {
			c.window = -1
		}
		c.available, c.window = a.Misstate(c.Name, c.available, c.window)
		c.available = max(c.available, 0)
		c.windowed, c.window = c.window >= 0, max(c.window, 0)
	}
}

// retain returns what a served request retains until it is done, nil if nothing.
func (a *API) retain(claims []claim, cost int64) *retained {
	var r *retained
	for _, c := range claims {
		if c.Algorithm != Concurrency {
			continue
		}
		if r == nil {
			r = &retained{api: a, cost: cost}
		}
		r.claims = append(r.claims, c)
	}
	return r
}

// Counts returns the counts of all requests; with users, of theirs together (see API.User).
func (a *API) Counts(users ...string) Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(users) == 0 {
		return a.counts
	}
	var sum Counts
	for _, user := range users {
		of := a.users[user]
		sum.Served += of.Served
		sum.Refused += of.Refused
	}
	return sum
}

// An outcome is the result of charging a request.
type outcome struct {
	now      time.Time // on the clock of the API
	claims   []claim   // on the policies that apply to the request
	violated []string  // policies with too little quota; if none, all were charged

	// wait is the time until all violated policies have enough quota. If never, at
	// least one of them never will.
	wait  time.Duration
	never bool
}

// A claim is a request under one policy, with the service limit (Section 3.1) after
// the decision.
type claim struct {
	*rule
	partition
	meter meter // guarded by API.mu

	available int64
	window    time.Duration // the effective window, if windowed
	windowed  bool
}

// charge charges a request to all policies that apply to it, or to none.
func (a *API) charge(now time.Time, r *http.Request, user string, cost int64) outcome {
	a.mu.Lock()
	defer a.mu.Unlock()

	o := outcome{now: a.tickLocked(now), claims: a.claimsLocked(r, user)}
	for _, c := range o.claims {
		if c.meter.available(o.now) >= cost {
			continue
		}
		o.violated = append(o.violated, c.Name)
		if p, ok := c.meter.(*penalized); ok {
			p.refuse(o.now, cost)
		}
		wait, ok := c.meter.wait(o.now, cost)
		o.wait = max(o.wait, wait)
		o.never = o.never || !ok
	}
	if len(o.violated) == 0 {
		for _, c := range o.claims {
			c.meter.charge(o.now, cost)
		}
	}
	a.countLocked(user, len(o.violated) == 0)

	for i := range o.claims {
		c := &o.claims[i]
		c.available = c.meter.available(o.now)
		c.window, c.windowed = c.meter.window(o.now)
	}
	return o
}

// tickLocked advances the clock to now, if that is later, and returns it. It drops the
// monotonic reading: aligned windows and the Date field use the wall clock, so all
// windows do.
func (a *API) tickLocked(now time.Time) time.Time {
	if now = now.Round(0); now.After(a.clock) {
		a.clock = now
	}
	return a.clock
}

// claimsLocked returns the claims of a request, in the order of the policies.
func (a *API) claimsLocked(r *http.Request, user string) []claim {
	if a.rules == nil {
		rules := make([]*rule, len(a.Policies))
		for i, p := range a.Policies {
			rules[i] = newRule(p)
		}
		a.rules = rules
	}
	var claims []claim
	for _, rule := range a.rules {
		if p, ok := rule.partition(r, user); ok {
			claims = append(claims, claim{rule: rule, partition: p, meter: rule.meterFor(p.key)})
		}
	}
	return claims
}

func (a *API) countLocked(user string, served bool) {
	if a.users == nil {
		a.users = make(map[string]Counts)
	}
	of := a.users[user]
	if served {
		a.counts.Served++
		of.Served++
	} else {
		a.counts.Refused++
		of.Refused++
	}
	a.users[user] = of
}

func (a *API) user(r *http.Request) string {
	if a.User != nil {
		return a.User(r)
	}
	return defaultUser(r)
}

func (a *API) cost(r *http.Request) int64 {
	if a.Cost != nil {
		return max(a.Cost(r), 0)
	}
	return 1
}

func (a *API) status() int {
	if a.Status != 0 {
		return a.Status
	}
	return http.StatusTooManyRequests
}
