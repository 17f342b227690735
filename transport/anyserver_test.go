package transport_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// The flags of the long runs: see CONTRIBUTING.md.
var (
	manyRequests = flag.Int("requests", 0, "how many requests TestAnyServer and TestNetworkSoak make; 0: few")
	firstSeed    = flag.Uint64("seed", 1, "the first seed of TestAnyServer")
)

// Whatever a server says and whatever callers do, all requests end, and none of them later
// than MaxDelay or its deadline allow. None departs while a Retry-After holds it. Requests
// that need the same go in the order in which they came. At the end nothing is in flight,
// in line or retained. A request that is left waiting fails the test: its bubble deadlocks.
//
// The seed of a failure decides the server, the callers and their choices. Callers that
// act at the same instant may still run in another order.
func TestAnyServer(t *testing.T) {
	n := *manyRequests
	if n == 0 {
		if n = 30_000; testing.Short() {
			n = 6_000
		}
	}
	var total worldCounts
	seed, failed := *firstSeed, 0
	for ; total.requests < n; seed++ {
		w := &world{t: t, seed: seed}
		synctest.Test(t, w.run)
		total.add(w.counts)
		for _, problem := range w.problems {
			t.Errorf("seed %d, %s: %s", seed, w.what, problem)
		}
		if len(w.problems) > 0 {
			failed++
		}
		if failed == 10 {
			break
		}
	}
	t.Logf("seeds %d to %d: %+v", *firstSeed, seed-1, total)
	for what, n := range map[string]int{
		"sent": total.sent, "waited": total.waited, "rejected": total.rejected, "cancelled": total.cancelled,
		"refused": total.refused, "failed": total.failed, "redirected": total.redirected, "holds": total.holds, "left others behind in line": total.behind,
	} {
		assert.Positive(t, n, what)
	}
}

// What waits for different accounts is in different lines, which know nothing of each other. In these
// worlds requests of kinds that are told nothing wait there, and a later one could try first.
func TestTrialsKeepTheOrder(t *testing.T) {
	for _, seed := range []uint64{501455, 507911, 519641} {
		w := &world{t: t, seed: seed}
		synctest.Test(t, w.run)
		assert.Empty(t, w.problems, "seed %d, %s", seed, w.what)
		assert.Positive(t, w.counts.behind, "seed %d", seed)
	}
}

// A scope may have any bytes: one hash in 65,536 ends with those that a Shaper puts between a scope and a kind. In world 16,
// requests departed in the Retry-After of their kind then, because it was noted of another scope.
func TestScopeOfAnyBytes(t *testing.T) {
	const between = "\x1f\x02\x1f" // see ofKind
	for _, end := range []string{"", between[:2], between, between + "x", between + between} {
		for _, seed := range []uint64{10, 16} {
			for range 3 { // callers that act at the same instant run in any order
				w := &world{t: t, seed: seed, scope: func(req *http.Request) string { return req.Header.Get("X-User") + end }}
				synctest.Test(t, w.run)
				assert.Empty(t, w.problems, "%q, seed %d, %s", end, seed, w.what)
				assert.Positive(t, w.counts.holds)
			}
		}
	}
}

// worldCounts show that a run has tried what it is there to try.
type worldCounts struct{ requests, sent, waited, rejected, cancelled, refused, failed, redirected, holds, spared, behind int }

func (c *worldCounts) add(d worldCounts) {
	c.requests += d.requests
	c.sent += d.sent
	c.waited += d.waited
	c.rejected += d.rejected
	c.cancelled += d.cancelled
	c.refused += d.refused
	c.failed += d.failed
	c.redirected += d.redirected
	c.holds += d.holds
	c.spared += d.spared
	c.behind += d.behind
}

// A passage is one request on its way through the Shaper, and what became of it.
type passage struct {
	class    string // requests of one class need the same
	priority int
	bypass   bool
	hurried  bool // waits for no first flight: see Shaper.FirstFlight

	called   time.Time
	latest   time.Time // it must have departed or ended by then
	held     bool      // it has waited
	flight   bool      // for the first flight, to begin with
	departed time.Time // zero: not yet
	ended    time.Time // RoundTrip returned; zero: not yet
	gone     bool      // its context ended
}

type passageKey struct{}

func passageOf(req *http.Request) *passage { return req.Context().Value(passageKey{}).(*passage) }

// A hold is a Retry-After that the Shaper has received. Those of a kind may turn out to be of the refused requests
// alone, once more than ten were served in holds like it that departed when half of the round trip of the refused one
// was over, four of them of its kind. Or a refusal is of one request too many: see tooMany.
type hold struct {
	from, until time.Time
	half        time.Time
}

func (h hold) forbids(t time.Time) bool { return t.After(h.from) && t.Before(h.until) }

// waiting returns whether the passage has begun to wait and nothing has ended that.
func (p *passage) waiting() bool {
	return p.held && p.departed.IsZero() && p.ended.IsZero() && !p.gone
}

// An overtaking is a request that departed while one that came before it waited. It is
// none if the other ends its wait at the same instant.
type overtaking struct {
	first, second *passage
	at            time.Time
}

func (o overtaking) problem() string {
	if o.first.departed.Equal(o.at) || o.first.ended.Equal(o.at) || o.first.gone {
		return ""
	}
	return fmt.Sprintf("%s of priority %d came at %v, %v before another of priority %d that departed at %v, and it at %v (ended %v)", o.first.class, o.first.priority,
		clock(o.first.called), o.second.called.Sub(o.first.called), o.second.priority, clock(o.at), clock(o.first.departed), clock(o.first.ended))
}

// clock returns a simulated time as the time since bubbles begin.
func clock(t time.Time) time.Duration {
	if t.IsZero() {
		return -1
	}
	return t.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
}

// depart checks a request that the Shaper hands over. w.mu is held.
func (w *world) depart(p *passage, now time.Time) {
	w.counts.sent++
	p.departed = now
	if now.Equal(w.refused) { // the Shaper may hear of that refusal later
		w.beside++
		w.crowded = w.crowded || w.beside >= 2
	}
	if now.After(p.latest) {
		w.problem("%s departed %v too late", p.class, now.Sub(p.latest))
	}
	if p.bypass {
		return
	}
	for where, class := range map[string]string{"of its class": p.class, "of the origin": ""} {
		for _, h := range w.holds[class] {
			if h.forbids(now) && !w.alone(class) {
				w.problem("%s departed at %v, in a hold %s from %v to %v", p.class, clock(now), where, clock(h.from), clock(h.until))
			}
		}
	}
	if !w.orderly {
		return
	}
	for _, q := range w.passages[p.class] {
		switch {
		case !q.waiting():
		case !w.answered && p.hurried && q.flight: // they do not need the same
		case p.called.Equal(now) && w.heard.Equal(now): // it may have come before the response
		case q.called.Before(p.called) && q.priority >= p.priority:
			w.overtakings = append(w.overtakings, overtaking{q, p, now})
		case p.held && q.called.After(p.called):
			w.counts.behind++
		}
	}
}

// hold notes that the Shaper receives a Retry-After now, for a request that departed. If it does not bind, something
// may depart nevertheless. w.mu is held.
func (w *world) hold(class string, departed time.Time, d time.Duration, binds bool) {
	now := time.Now()
	h := hold{from: now, until: now.Add(d), half: departed.Add(now.Sub(departed) / 2)}
	if w.counts.holds++; !binds {
		h.from = h.until
	}
	w.holds[class] = append(w.holds[class], h)
}

// served notes that the Shaper receives what shows that a hold is of one request alone. w.mu is held.
func (w *world) served(p *passage) {
	alone := func(h hold) bool { return h.until.After(time.Now()) && p.departed.After(h.half) }
	shown := make(map[string]bool)
	for class, holds := range w.holds {
		if (class == "" || ofKind(class) == ofKind(p.class)) && slices.ContainsFunc(holds, alone) {
			shown[kindOf(class)] = true
		}
	}
	for kind := range shown {
		w.shown[kind]++
		w.shownOfKinds += min(len(kind), 1)
	}
}

// ofKind returns the class with the first item in place of any: items are of one kind.
func ofKind(class string) string { return strings.Replace(class, "/items/8", "/items/7", 1) }

// tooMany reports whether a response may be a refusal of one request too many, which holds no other one. Such a refusal
// names nothing, and there was one before while two others or more were in flight. Two or more are now, and one that departed
// after the first of the refusals before was served; or the refused one departed before such a refusal came. w.mu is held.
func (w *world) tooMany(p *passage, resp *http.Response) bool {
	if resp.StatusCode != http.StatusTooManyRequests || namesQuota(resp) {
		return false
	}
	now, out := time.Now(), 0
	for _, all := range w.passages {
		for _, q := range all {
			if q != p && !q.departed.IsZero() && (q.ended.IsZero() || q.ended.Equal(now)) {
				out++
			}
		}
	}
	one := w.crowded && out >= 2 && !w.lastServed.Before(w.wave[ofKind(p.class)]) || p.departed.Before(w.oneTooMany)
	w.crowded, w.refused, w.beside = w.crowded || out >= 2, now, out
	if kind := ofKind(p.class); !p.departed.Before(w.wave[kind]) { // else it is one of the refusals before
		w.wave[kind] = now
	}
	if one {
		w.oneTooMany = now
	}
	return one
}

// namesQuota reports whether a response says anything valid of a quota, but for a Retry-After. Policies that contradict
// each other do not.
func namesQuota(resp *http.Response) bool {
	got := new(parse.Reader).Read("any.example", resp.StatusCode, resp.Header, time.Now())
	return len(got.Policies)+len(got.Limits) > 0
}

// kindOf returns a class without the user: users may be one to the Shaper.
func kindOf(class string) string {
	_, kind, _ := strings.Cut(ofKind(class), " ")
	return kind
}

// alone returns whether holds of a class were shown to be of one request alone. w.mu is held.
func (w *world) alone(class string) bool {
	if class == "" {
		return w.shown[class] > 10
	}
	return w.shown[kindOf(class)] > 3 && w.shownOfKinds > 10
}

// end checks a request whose RoundTrip has returned.
func (w *world) end(ctx context.Context, p *passage, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.ended = time.Now()
	if p.held {
		w.counts.waited++
	}
	if !p.departed.IsZero() {
		return
	}
	if p.ended.After(p.latest) {
		w.problem("%s was refused %v too late: %v", p.class, p.ended.Sub(p.latest), err)
	}
	switch rejected, ok := err.(*transport.RejectedError); {
	case ok:
		w.counts.rejected++
		if rejected.RetryAfter < 0 || rejected.Reason == 0 {
			w.problem("%+v", rejected)
		}
	case ctx.Err() != nil && err == context.Cause(ctx):
		w.counts.cancelled++
	default:
		w.problem("%s was not sent: %v", p.class, err)
	}
}
