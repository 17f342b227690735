package quota

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// This file goes once the tests that use it speak the public face: see desk_test.go.

// A desk is an origin that is asked and told at instants of the test's own.
type desk struct {
	t *testing.T
	o *Origin
}

func newDesk(t *testing.T) *desk {
	a := &Accounts{Jitter: func() float64 { return 0 }}
	return &desk{t: t, o: begun(a.Origin("https://api.example"))}
}

// begun are books that begin when they are opened, and not with what they are
// told first.
func begun(o *Origin) *Origin {
	o.at(o.start)
	return o
}

func (d *desk) at(since time.Duration) time.Time { return d.o.start.Add(since) }

func api(units int64) Claim { return Claim{Policy: "api", Units: units} }

func keyed(policy, key string) Claim { return Claim{Policy: policy, Key: key, Keyed: true, Units: 1} }

// try asks to go at once.
func (d *desk) try(now time.Duration, scope string, cs ...Claim) (*Lease, *Refusal) {
	d.t.Helper()
	l := new(Lease)
	err := d.o.Admit(d.t.Context(), d.at(now), &Ask{Scope: scope, Claims: cs, MaxDelay: NoDelay}, l)
	if err == nil {
		return l, nil
	}
	r, ok := err.(*Refusal)
	require.True(d.t, ok, "%v", err)
	return nil, r
}

var aliceID = accountID{policyID{"api", true}, "alice"}

// send asks to go at once, which must succeed.
func (d *desk) send(now time.Duration, scope string, cs ...Claim) *Lease {
	d.t.Helper()
	l, r := d.try(now, scope, cs...)
	require.Nil(d.t, r, "%v", r)
	return l
}

// refused asks to go at once, which must fail.
func (d *desk) refused(now time.Duration, scope string, cs ...Claim) Refusal {
	d.t.Helper()
	l, r := d.try(now, scope, cs...)
	require.Nil(d.t, l, "it went")
	return *r
}

// wait is how long a request would be held.
func (d *desk) wait(now time.Duration, scope string, cs ...Claim) time.Duration {
	r, _ := d.o.Check(d.t.Context(), d.at(now), &Ask{Scope: scope, Claims: cs})
	if r == nil {
		return 0
	}
	return r.RetryAfter
}

func (d *desk) settle(now time.Duration, l *Lease, r Report) { d.o.Settle(d.at(now), l, &r) }

// done settles a lease and releases it.
func (d *desk) done(now time.Duration, l *Lease, r Report) {
	d.settle(now, l, r)
	l.Release()
}

// more is how many requests may go at an instant. They are not taken back.
func (d *desk) more(now time.Duration, scope string, cs ...Claim) (n int) {
	for ; n < 1000; n++ {
		if _, r := d.try(now, scope, cs...); r != nil {
			break
		}
	}
	return n
}

func figure(policy string, avail int64, w time.Duration) []Figure {
	return []Figure{{Policy: policy, Available: avail, Window: w}}
}

func keyedFigure(policy, key string, avail int64, w time.Duration) []Figure {
	return []Figure{{Policy: policy, Key: key, Keyed: true, Available: avail, Window: w}}
}

func terms(name string, q int64, w time.Duration) []Terms {
	return []Terms{{Policy: Policy{Name: name, Quota: q, Window: w}}}
}

// A counter is an origin in a bubble, whose accounts are told what is left.
// Callers wait in goroutines of their own.
type counter struct {
	t  *testing.T
	o  *Origin
	wg sync.WaitGroup

	mu   sync.Mutex
	gone []string // in the order in which they were let go
}

func newCounter(t *testing.T) *counter {
	a := &Accounts{Jitter: func() float64 { return 0 }}
	return &counter{t: t, o: a.Origin("https://api.example")}
}

// tell has an answer say what it says.
func (c *counter) tell(r Report) {
	c.t.Helper()
	var l Lease
	require.NoError(c.t, c.o.Admit(context.Background(), time.Now(), &Ask{Force: true}, &l))
	c.o.Settle(time.Now(), &l, &r)
	l.Release()
}

// come has somebody come and wait; what becomes of it is the result.
func (c *counter) come(ctx context.Context, name string, ask Ask) *came {
	res := new(came)
	c.wg.Go(func() {
		began := time.Now()
		res.err = c.o.Admit(ctx, began, &ask, &res.lease)
		res.after = time.Since(began)
		if res.err == nil {
			c.mu.Lock()
			c.gone = append(c.gone, name)
			c.mu.Unlock()
		}
		res.done.Store(true)
	})
	synctest.Wait()
	return res
}

// A came is what became of somebody who came; only done may be looked at
// before they are.
type came struct {
	lease Lease
	err   error
	after time.Duration
	done  atomic.Bool
}

// order is who was let go, in the order in which they were.
func (c *counter) order() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.gone)
}

// inLine is how many wait for an account.
func (c *counter) inLine(policy string) int {
	return c.account(policy).line.Len()
}

func (c *came) refusal(t *testing.T) Refusal {
	t.Helper()
	var r *Refusal
	require.ErrorAs(t, c.err, &r)
	return *r
}

func claimOf(policy string) Ask {
	return Ask{Claims: []Claim{{Policy: policy, Units: 1}}}
}

// account is a copy of an account as it is; nil, if there is none.
func (c *counter) account(policy string) *account {
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	a := c.o.find(accountID{policyID: policyID{name: policy}})
	if a == nil {
		return nil
	}
	copied := *a
	if a.line != nil { // and of its line
		line := *a.line
		copied.line = &line
	}
	return &copied
}

// noTrace asserts that nobody has left anything in line.
func (c *counter) noTrace() {
	c.t.Helper()
	c.o.mu.Lock()
	defer c.o.mu.Unlock()
	for _, a := range c.everything() {
		assert.Nil(c.t, a.line, "%+v", a.policy.policyID)
		assert.Zero(c.t, a.pins, "%+v", a.policy.policyID)
	}
}

func (c *counter) everything() (as []*account) {
	as = append(as, &c.o.root)
	return append(as, c.o.all...)
}

func (d *desk) consistent() { d.o.RequireConsistent(d.t) }

// exchange is a request that is served at once.
func (d *desk) exchange(now time.Duration, scope string, r Report, cs ...Claim) {
	d.t.Helper()
	d.done(now, d.send(now, scope, cs...), r)
}

// tick has the hand look at as many accounts as there are.
func (d *desk) tick(now time.Duration) {
	d.t.Helper()
	for range len(d.o.all)/sample + 1 {
		d.o.sweep(d.o.at(d.at(now)))
		now += sweepInterval
	}
}

// bounded books keep at most n accounts, those of scopes included.
func boundedDesk(t *testing.T, n int) *desk {
	d := newDesk(t)
	d.o.accounts.MaxAccounts = n
	return d
}

func (d *desk) has(policy string) bool {
	return d.o.find(accountID{policyID: policyID{name: policy}}) != nil
}

// saved is what is saved of the accounts.
func (d *desk) saved(now time.Duration, opts SaveOptions) string {
	d.t.Helper()
	var b strings.Builder
	require.NoError(d.t, d.o.accounts.Save(&b, d.at(now), opts))
	return b.String()
}

// restored is a desk of another process, which is begun now.
func restored(t *testing.T, text string, now time.Time) *desk {
	t.Helper()
	a := &Accounts{Jitter: func() float64 { return 0 }}
	require.NoError(t, a.Restore(strings.NewReader(text), now))
	return &desk{t, a.Origin("https://api.example")}
}
