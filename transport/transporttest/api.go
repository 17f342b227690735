package transporttest

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// An API enforces quota policies on the requests that it is asked to serve, and
// advertises them on its responses. The zero value serves everything.
//
// Its fields are set before first use and not changed after. An API is safe for
// concurrent use and must not be copied after first use.
type API struct {
	// Policies are the quota policies. A request is served where every policy
	// that concerns it has enough available, and is charged to all of them at
	// one instant; else it is refused and charged to none. None means that
	// everything is served.
	Policies []Policy

	// Dialect is the form of the fields. The zero value is EditorsDraft.
	Dialect Dialect

	// Advertise says which fields are sent. The zero value is AdvertiseAll.
	Advertise Advertise

	// Rounding says how the time left becomes whole seconds, in effective
	// windows and in Retry-After. The zero value is RoundUp.
	Rounding Rounding

	// RetryAfter is the form of the Retry-After field of a refusal. The zero
	// value is RetryAfterSeconds.
	RetryAfter RetryAfterForm

	// Skew is by how much the clock that the Date field and other absolute times
	// are read from is fast; negative, slow.
	Skew time.Duration

	// Misstate changes what is advertised of a policy, and nothing that is
	// enforced: the available quota and the effective window, negative where
	// there is none. It is called as User is. Nil changes nothing.
	Misstate func(policy string, available int64, window time.Duration) (int64, time.Duration)

	// Problem makes the body of a refusal a problem of the type quota-exceeded
	// (Section 8.1) that names the policies which had too little. Else it is a
	// short text.
	Problem bool

	// Status is the status code of a refusal. Zero means 429 (Too Many Requests).
	Status int

	// User returns who makes a request: the dimension user_id, and who it is
	// counted for. Nil means the value of the X-User field, else the user name of
	// Basic credentials, else the Bearer token, else "". It is called once per
	// request, with no lock held, by several goroutines at once.
	User func(*http.Request) string

	// Cost returns what a request costs under each policy, in quota units; a
	// negative cost is none. It is called as User is. In the editor's draft the
	// cost is advertised on every response, on a refusal as what the request
	// would have cost. Nil means 1, which is not advertised.
	Cost func(*http.Request) int64

	// Handler answers the requests that are served. The fields are set before it
	// is called, and it may change them. Nil means 200 with a short text.
	Handler http.Handler

	mu     sync.Mutex // guards following, and the meters of the rules
	rules  []*rule    // of Policies; nil before first use
	clock  time.Time  // the latest instant of a decision
	counts Counts
	users  map[string]Counts
}

// Counts says how many requests an API has decided on. The two add up to all.
type Counts struct {
	Served  int64
	Refused int64
}

// A Decision is what an API answers to a request.
type Decision struct {
	// Served says whether the request is served. It has been charged if so.
	Served bool

	// Status is the status code: 200 where the request is served, unless the
	// API's Handler answers with another.
	Status int

	// Header holds the Date field, the fields that advertise quota and, of a
	// refusal, Retry-After and Content-Type. It belongs to the caller.
	Header http.Header

	// Body is the content. It is nil where the API's Handler writes it.
	Body []byte

	// Violated holds the names of the policies that had too little, in the order
	// of API.Policies. It is nil where the request is served.
	Violated []string

	held *held // what the request holds until it is over; nil: nothing
}

// A held is so many units of meters that limit what is in progress.
type held struct {
	api    *API
	claims []claim
	cost   int64
}

// Done says that the request is over, and gives back what it held of policies
// that limit concurrency. ServeHTTP calls it; who calls Decide does so. A second
// call does nothing, nor does one for a request that was refused.
func (d *Decision) Done() {
	h := d.held
	if h == nil {
		return
	}
	h.api.mu.Lock()
	defer h.api.mu.Unlock()
	for _, c := range h.claims {
		c.meter.(holder).done(h.cost)
	}
	d.held = nil
}

// ServeHTTP decides on a request at the present time and answers it.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d := a.Decide(time.Now(), r)
	defer d.Done()
	maps.Copy(w.Header(), d.Header)
	if d.Served && a.Handler != nil {
		a.Handler.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(d.Status)
	_, _ = w.Write(d.Body) // a client that has gone away needs no answer
}

// Decide decides on a request at the instant now, charges and counts it. It reads
// the method and the header of the request, and what User and Cost read.
//
// Only the wall clock of now counts, for the windows as for the Date field. For
// an API time does not run backwards: an instant before that of an earlier
// decision counts as the earlier decision's.
func (a *API) Decide(now time.Time, r *http.Request) Decision {
	user, cost := a.user(r), a.cost(r)
	v := a.judge(now, r, user, cost)

	d := Decision{Status: http.StatusOK, Header: make(http.Header), Violated: v.violated}
	d.Header.Set("Date", v.now.Add(a.Skew).UTC().Format(http.TimeFormat))
	a.misstate(v.claims)
	a.advertise(d.Header, v.now.Add(a.Skew), v.claims, cost)
	if len(v.violated) > 0 {
		a.refuse(&d, v)
		return d
	}
	d.Served, d.held = true, a.hold(v.claims, cost)
	if a.Handler == nil {
		d.Header.Set("Content-Type", "text/plain; charset=utf-8")
		d.Body = []byte("served\n")
	}
	return d
}

// misstate changes what the claims have left as Misstate says.
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

// hold returns what a request that is served holds.
func (a *API) hold(claims []claim, cost int64) *held {
	var h *held
	for _, c := range claims {
		if c.Algorithm != Concurrency {
			continue
		}
		if h == nil {
			h = &held{api: a, cost: cost}
		}
		h.claims = append(h.claims, c)
	}
	return h
}

// Counts returns how many requests have been decided on.
func (a *API) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// CountsOf returns how many requests of one user, as User names them, have been
// decided on. It is zero for one who has made none.
func (a *API) CountsOf(user string) Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.users[user]
}

// A verdict is what was found out about a request at one instant.
type verdict struct {
	now      time.Time // on the clock of the API
	claims   []claim   // on the policies that concern the request
	violated []string  // policies that had too little; where none, all are charged

	// wait is the time until the violated policies have enough; never says that
	// one of them will not.
	wait  time.Duration
	never bool
}

// A claim is what a request asks of one policy, and the service limit (Section
// 3.1) that was left once the request had been decided on.
type claim struct {
	*rule
	partition
	meter meter // guarded by the mutex of the API

	available int64
	window    time.Duration // the effective window, where windowed
	windowed  bool
}

// judge checks all policies that concern a request and charges all or none.
func (a *API) judge(now time.Time, r *http.Request, user string, cost int64) verdict {
	a.mu.Lock()
	defer a.mu.Unlock()

	v := verdict{now: a.tickLocked(now), claims: a.claimsLocked(r, user)}
	for _, c := range v.claims {
		if c.meter.available(v.now) >= cost {
			continue
		}
		v.violated = append(v.violated, c.Name)
		if r, ok := c.meter.(refuser); ok && c.Penalty != NoPenalty {
			r.refuse(v.now, cost)
		}
		wait, ok := c.meter.wait(v.now, cost)
		v.wait = max(v.wait, wait)
		v.never = v.never || !ok
	}
	if len(v.violated) == 0 {
		for _, c := range v.claims {
			c.meter.charge(v.now, cost)
		}
	}
	a.countLocked(user, len(v.violated) == 0)

	for i := range v.claims {
		c := &v.claims[i]
		c.available = c.meter.available(v.now)
		c.window, c.windowed = c.meter.window(v.now)
	}
	return v
}

// tickLocked moves the clock to now, if that is later, and returns it. The
// monotonic reading is dropped: aligned windows and the Date field have only the
// wall clock, and all windows of an API shall run on one clock.
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
