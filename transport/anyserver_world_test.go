package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const anyURL = "http://any.example"

// A world is a server, a network and callers, all of which a seed decides.
type world struct {
	t    *testing.T
	seed uint64
	what string // the server, in words

	scope func(*http.Request) string // Shaper.Scope; nil: the seed decides

	api     *transporttest.API
	silent  bool // the server names no quota
	lies    bool // and everything it says is made up
	faults  int  // one request in so many meets with a fault
	orderly bool // it is known which requests need the same
	shaper  *transport.Shaper
	permits *quota.Limit
	max     int64 // permits

	mu          sync.Mutex // guards following
	rnd         *rand.Rand // of the server and the network
	counts      worldCounts
	problems    []string
	passages    map[string][]*passage // by class
	overtakings []overtaking
	holds       map[string][]hold // by class; "" is the origin
	shown       map[string]int    // served in holds of a kind, or the origin, which shows that they are of one request alone
	answered    bool              // the server has, once
	heard       time.Time         // when a response arrived last

	shownOfKinds int // in holds of any kind

	wave       map[string]time.Time // by class: when a refusal came last that names nothing
	crowded    bool                 // one came while two others or more were in flight
	refused    time.Time            // when the last one came
	beside     int                  // others in flight then, and those that departed at that instant
	oneTooMany time.Time            // when one came last that may be of one request too many
	lastServed time.Time            // departure of the last request that was served
}

// problem notes what is wrong. w.mu is held.
func (w *world) problem(format string, args ...any) {
	if len(w.problems) < 5 {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

// build makes the world of a seed.
func (w *world) build() {
	rnd := newRand(w.seed)
	w.rnd = rand.New(rand.NewPCG(w.seed, 1))
	w.passages, w.holds, w.shown, w.wave = make(map[string][]*passage), make(map[string][]hold), make(map[string]int), make(map[string]time.Time)
	w.api = &transporttest.API{
		Dialect:      parse.EditorsDraft + parse.Dialect(rnd.IntN(int(parse.VendorFields))),
		OmitPolicies: rnd.IntN(4) == 0,
		OmitLimits:   rnd.IntN(8) == 0,
		Rounding:     pick(rnd, nil, nil, func(float64) float64 { return 0 }),
		Status:       pick(rnd, 0, 0, 0, 403, 503),
		Problem:      rnd.IntN(4) == 0,
	}
	keyed := false
	for i := range 1 + rnd.IntN(2) {
		partitions := pick(rnd, nil, nil, []string{"user_id"}, []string{"user_id", "method"}, []string{"method=POST"})
		keyed = keyed || partitions != nil
		w.api.Policies = append(w.api.Policies, transporttest.Policy{
			Name:        []string{"burst", "day"}[i],
			Quota:       1 + rnd.Int64N(40),
			Window:      pick(rnd, time.Second, time.Second, 2*time.Second, 5*time.Second, 10*time.Second, time.Minute, time.Hour),
			Algorithm:   transporttest.Algorithm(rnd.IntN(int(transporttest.Concurrency) + 1)),
			PartitionBy: partitions,
		})
	}
	if rnd.IntN(4) == 0 {
		w.api.Cost = costOfSearch
	}
	w.silent, w.lies, w.faults = rnd.IntN(8) == 0, rnd.IntN(8) == 0, pick(rnd, 10, 40, 1000)
	w.orderly = !w.lies // a liar changes all the time what a request needs
	maxDelay := pick(rnd, time.Second, 10*time.Second, 0, 0, 0, 0, 0, transport.NoDelay)
	w.max = 1 + rnd.Int64N(20)
	w.permits = quota.Concurrency(w.max)
	w.shaper = &transport.Shaper{
		Base: w, Accounts: new(quota.Accounts), MaxDelay: maxDelay, MaxQueue: pick(rnd, 0, 0, 3, -1),
		Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			p := passageOf(i.Request)
			p.held, p.flight = !i.Observed, i.Reason == quota.ReasonFirstFlight
		}},
	}
	if rnd.IntN(3) == 0 {
		w.shaper.Limits = func(*http.Request) quota.Limiter { return w.permits }
	}
	if rnd.IntN(4) == 0 && !keyed { // users who are one to the Shaper have no partitions
		w.shaper.Scope = func(*http.Request) string { return "" }
	}
	if w.scope != nil {
		w.shaper.Scope = w.scope
	}
	w.what = fmt.Sprintf("dialect %d, %+v, omits %v %v, status %d, silent %v, lies %v, one fault in %d, max delay %v",
		w.api.Dialect, w.api.Policies, w.api.OmitPolicies, w.api.OmitLimits, w.api.Status, w.silent, w.lies, w.faults, maxDelay)
}

// run plays the world to its end.
func (w *world) run(t *testing.T) {
	w.build()
	rnd := rand.New(rand.NewPCG(w.seed, 2))
	var callers sync.WaitGroup
	for i := range 5 + rnd.IntN(30) {
		callers.Go(func() { w.call(t.Context(), rand.New(rand.NewPCG(w.seed, uint64(i+3)))) })
	}
	callers.Wait()
	time.Sleep(2 * time.Hour) // windows end, and what was in flight at their end is forgotten
	for _, o := range w.overtakings {
		if problem := o.problem(); problem != "" {
			w.problem("%s", problem)
		}
	}
	w.atRest()
}

// atRest checks that nothing is left.
func (w *world) atRest() {
	for _, o := range w.shaper.Accounts.Snapshot(time.Now(), quota.SnapshotOptions{MaxAccounts: -1}) {
		if o.Out != 0 || o.InLine != 0 {
			w.problem("%d out, %d in line", o.Out, o.InLine)
		}
		for _, a := range o.Accounts {
			if a.InFlight != 0 || a.Concurrent != 0 || a.InLine != 0 {
				w.problem("left: %+v", a)
			}
		}
	}
	if s := w.permits.Stats(); s.Available != w.max || s.IdleSince.IsZero() || s.Queued != 0 {
		w.problem("permits are left: %+v", s)
	}
}

// call makes the requests of one caller, one after another.
func (w *world) call(ctx context.Context, rnd *rand.Rand) {
	for range 1 + rnd.IntN(25) {
		time.Sleep(time.Duration(rnd.IntN(pick(rnd, 1, 500, 5_000))) * time.Millisecond)
		w.send(ctx, rnd)
	}
}

// send makes one request, and follows redirects to their end.
func (w *world) send(ctx context.Context, rnd *rand.Rand) {
	user, method, path := fmt.Sprint("user", rnd.IntN(2)), pick(rnd, "GET", "GET", "POST"), pick(rnd, "/items/7", "/items/8", "/search/x")
	p := &passage{class: user + " " + method + " " + path, priority: rnd.IntN(8) / 7, bypass: rnd.IntN(40) == 0}
	ctx = transport.WithPriority(partition.WithUserID(context.WithValue(ctx, passageKey{}, p), user), p.priority)
	maxDelay := w.shaper.MaxDelay
	switch {
	case p.bypass:
		ctx, maxDelay = transport.WithBypass(ctx), 0
	case rnd.IntN(10) == 0:
		ctx, maxDelay = transport.WithNoDelay(ctx), 0
		p.hurried = true
	case maxDelay == 0:
		maxDelay = transport.DefaultMaxDelay
	}
	p.called = time.Now()
	p.latest = p.called.Add(max(maxDelay, 0))
	switch rnd.IntN(6) {
	case 0:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(20_000))*time.Millisecond)
		defer cancel()
		deadline, _ := ctx.Deadline()
		if deadline.Before(p.latest) {
			p.latest = deadline
		}
		p.hurried = p.hurried || deadline.Before(p.called.Add(2*time.Second))
	case 1:
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		after := time.AfterFunc(time.Duration(rnd.IntN(20_000))*time.Millisecond, cancel)
		defer after.Stop()
	}
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		p.gone = true
	})
	defer stop()
	req := newRequest(ctx, method, anyURL+path)
	req.Header.Set("X-User", user)
	w.mu.Lock()
	w.counts.requests++
	w.passages[p.class] = append(w.passages[p.class], p)
	w.mu.Unlock()

	resp, err := w.shaper.RoundTrip(req)
	w.end(ctx, p, err)
	if err != nil {
		return
	}
	came := time.Now()
	w.read(resp, rnd)
	if resp.StatusCode == http.StatusTemporaryRedirect {
		w.follow(ctx, req, resp, came, rnd)
	}
}

// follow sends the request that follows a redirect that came at an instant. It waits for the redirect's
// Retry-After.
func (w *world) follow(ctx context.Context, from *http.Request, resp *http.Response, came time.Time, rnd *rand.Rand) {
	w.mu.Lock()
	p := *passageOf(from)
	w.mu.Unlock()
	wait, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	p.called, p.departed, p.ended, p.held = time.Now(), time.Time{}, time.Time{}, false
	p.class, p.latest = "redirected", p.called.Add(max(w.shaper.MaxDelay, transport.DefaultMaxDelay))
	req := from.WithContext(context.WithValue(ctx, passageKey{}, &p))
	req.Response = resp
	w.mu.Lock()
	w.passages["followed"] = append(w.passages["followed"], &p) // it may be in flight, and needs nothing that others wait for
	w.mu.Unlock()
	next, err := w.shaper.RoundTrip(req)
	w.mu.Lock()
	p.ended = time.Now()
	if !p.departed.IsZero() && !p.bypass && p.departed.Before(came.Add(time.Duration(wait)*time.Second)) {
		w.problem("departed %v after a redirect with %d s", p.departed.Sub(came), wait)
	}
	w.mu.Unlock()
	if err == nil {
		w.read(next, rnd)
	}
}

// read treats the body of a response as callers do: it is read, at once or slowly, or
// closed, or closed a while later.
func (w *world) read(resp *http.Response, rnd *rand.Rand) {
	switch rnd.IntN(5) {
	case 0:
		resp.Body.Close()
	case 1:
		time.AfterFunc(time.Duration(rnd.IntN(10_000))*time.Millisecond, func() { resp.Body.Close() })
	case 2:
		_, _ = io.ReadFull(resp.Body, make([]byte, 1))
		time.Sleep(time.Duration(rnd.IntN(3_000)) * time.Millisecond)
		drop(resp)
	default:
		drop(resp)
	}
}

// draw returns a number below n.
func (w *world) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n)
}

// RoundTrip is the network and the server.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	p := passageOf(req)
	w.mu.Lock()
	w.depart(p, time.Now())
	fault := -1
	if w.rnd.IntN(w.faults) == 0 {
		fault = w.rnd.IntN(8)
	}
	w.mu.Unlock()
	if fault == 0 {
		w.fail()
		return nil, dialError
	}
	if err := w.travel(req.Context()); err != nil {
		return nil, err
	}
	d := w.api.Decide(time.Now(), req)
	if err := w.travel(req.Context()); err != nil {
		d.Done()
		return nil, err
	}
	if fault == 1 {
		d.Done()
		w.fail()
		return nil, errBroken
	}
	resp := &http.Response{StatusCode: d.Status, Header: d.Header, Request: req}
	resp.Body = &slowBody{Reader: bytes.NewReader(append(d.Body, "content"...)), done: sync.OnceFunc(d.Done)}
	w.disturb(resp, fault)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = time.Now()
	w.answered = w.answered || resp.Header.Get("Age") == "" // a cache is not the server
	w.note(p, resp)
	return resp, nil
}

func (w *world) fail() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.failed++
}

// travel takes the time of half a round trip, or less if the request is cancelled.
func (w *world) travel(ctx context.Context) error {
	if !sleeps(ctx, time.Duration(w.draw(300))*time.Millisecond) {
		w.fail()
		return errors.New("cancelled on the way")
	}
	return nil
}

// disturb makes another response of one.
func (w *world) disturb(resp *http.Response, fault int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := resp.Header
	if w.silent {
		for name := range h {
			if name != "Retry-After" && name != "Date" {
				delete(h, name)
			}
		}
	}
	if w.lies {
		lie(w.rnd, h)
	}
	set := func(status int, retryAfter int) {
		clear(h)
		resp.StatusCode = status
		if retryAfter > 0 {
			h.Set("Retry-After", strconv.Itoa(retryAfter))
		}
	}
	switch fault {
	case 2:
		set(http.StatusServiceUnavailable, 1+w.rnd.IntN(20))
	case 3:
		set(http.StatusTooManyRequests, w.rnd.IntN(20))
	case 4:
		set(pick(w.rnd, 404, 500, 502, 503), 0)
	case 5:
		set(http.StatusTemporaryRedirect, w.rnd.IntN(6))
		w.counts.redirected++
	case 6:
		h.Set("Age", "10")
	case 7:
		clear(h)
	}
}

// note notes what the Shaper has to do after a response. w.mu is held.
func (w *world) note(p *passage, resp *http.Response) {
	if resp.StatusCode == http.StatusTooManyRequests {
		w.counts.refused++
	}
	if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
		w.served(p) // also a redirect with a Retry-After
		if p.departed.After(w.lastServed) {
			w.lastServed = p.departed
		}
	}
	tooMany := w.tooMany(p, resp)
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || w.lies || resp.Header.Get("Age") != "" {
		return
	}
	d, redirected := time.Duration(seconds)*time.Second, p.class == "redirected"
	switch {
	case resp.StatusCode == http.StatusTooManyRequests && !redirected:
		if tooMany {
			w.counts.spared++
		}
		w.hold(p.class, p.departed, d, !tooMany)
	case resp.StatusCode == http.StatusServiceUnavailable && !w.api.Problem:
		w.hold("", p.departed, d, !redirected && d < 10*time.Minute)
	case resp.StatusCode >= http.StatusBadRequest:
		w.hold(p.class, p.departed, d, false)
	}
}

// A slowBody is the body of a response, whose request is over when it is closed.
type slowBody struct {
	*bytes.Reader
	done func()
}

func (b *slowBody) Close() error {
	b.done()
	return nil
}
