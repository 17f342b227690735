package quota_test

import (
	"cmp"
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

	"github.com/headway-go/headway/quota"
)

const (
	ms   = time.Millisecond
	sec  = time.Second
	mins = time.Minute
)

const testOrigin = "https://api.example"

// unnamed is a claim on the policy without a name.
var unnamed = quota.Claim{Units: 1}

// A desk is an origin that is asked and told at instants of the test's own: the time
// since it began. No request waits.
type desk struct {
	t        *testing.T
	accounts *quota.Accounts
	o        *quota.Origin
	name     string
	begin    time.Time
	now      time.Duration // when the origin was asked or told last
}

func newDesk(t *testing.T) *desk {
	return deskOf(t, &quota.Accounts{Jitter: noJitter}, testOrigin)
}

func noJitter() float64 { return 0 }

// boundedDesk returns a desk that keeps at most n accounts, those of scopes included.
func boundedDesk(t *testing.T, n int) *desk {
	return deskOf(t, &quota.Accounts{Jitter: noJitter, MaxAccounts: n}, testOrigin)
}

// deskOf returns the desk of an origin, which begins now.
func deskOf(t *testing.T, a *quota.Accounts, name string) *desk {
	d := &desk{t: t, accounts: a, o: a.Origin(name), name: name, begin: time.Now()}
	r, _ := d.o.Check(t.Context(), d.begin, &quota.Ask{})
	require.Nil(t, r)
	return d
}

func (d *desk) at(since time.Duration) time.Time { return d.begin.Add(since) }

// try asks to go at once.
func (d *desk) try(now time.Duration, scope string, cs ...quota.Claim) (*quota.Lease, *quota.Refusal) {
	d.t.Helper()
	d.now = now
	l := new(quota.Lease)
	err := d.o.Admit(d.t.Context(), d.at(now), &quota.Ask{Scope: scope, Claims: cs, MaxDelay: quota.NoDelay}, l)
	if err == nil {
		return l, nil
	}
	r, ok := err.(*quota.Refusal)
	require.True(d.t, ok, "%v", err)
	return nil, r
}

// send asks to go at once, which must succeed.
func (d *desk) send(now time.Duration, scope string, cs ...quota.Claim) *quota.Lease {
	d.t.Helper()
	l, r := d.try(now, scope, cs...)
	require.Nil(d.t, r, "%v", r)
	return l
}

// sendAll sends n requests.
func (d *desk) sendAll(n int, now time.Duration, scope string, cs ...quota.Claim) (ls []*quota.Lease) {
	d.t.Helper()
	for range n {
		ls = append(ls, d.send(now, scope, cs...))
	}
	return ls
}

// refused asks to go at once, which must fail.
func (d *desk) refused(now time.Duration, scope string, cs ...quota.Claim) quota.Refusal {
	d.t.Helper()
	l, r := d.try(now, scope, cs...)
	require.Nil(d.t, l, "it was admitted")
	return *r
}

// wait returns how long a request would wait.
func (d *desk) wait(now time.Duration, scope string, cs ...quota.Claim) time.Duration {
	d.now = now
	r, _ := d.o.Check(d.t.Context(), d.at(now), &quota.Ask{Scope: scope, Claims: cs})
	if r == nil {
		return 0
	}
	return r.RetryAfter
}

func (d *desk) settle(now time.Duration, l *quota.Lease, r quota.Report) {
	d.now = now
	d.o.Settle(d.at(now), l, &r)
}

// done settles a lease and releases it.
func (d *desk) done(now time.Duration, l *quota.Lease, r quota.Report) {
	d.settle(now, l, r)
	l.Release()
}

// exchange sends a request that is answered at once.
func (d *desk) exchange(now time.Duration, scope string, r quota.Report, cs ...quota.Claim) {
	d.t.Helper()
	d.done(now, d.send(now, scope, cs...), r)
}

// more sends requests until one is refused, 1000 at most, and returns how many went.
// They are not settled.
func (d *desk) more(now time.Duration, scope string, cs ...quota.Claim) (n int) {
	for ; n < 1000; n++ {
		if _, r := d.try(now, scope, cs...); r != nil {
			break
		}
	}
	return n
}

// sweeper is the scope of the requests that tick sends.
const sweeper = "sweeper"

// tick sends requests until every account has been looked at, and evicted if it is
// over.
func (d *desk) tick(now time.Duration) {
	d.t.Helper()
	for range 2*len(d.snapshot().Accounts)/quota.Sample + 2 {
		d.exchange(now, sweeper, quota.Report{})
		now += quota.SweepInterval
	}
}

// snapshot returns all of the origin, as of the last instant.
func (d *desk) snapshot() quota.OriginSnapshot {
	d.t.Helper()
	return d.snapshotAt(d.now, quota.SnapshotOptions{Keys: true, MaxAccounts: -1})
}

func (d *desk) snapshotAt(now time.Duration, opts quota.SnapshotOptions) quota.OriginSnapshot {
	d.t.Helper()
	return originOf(d.t, d.accounts.Snapshot(d.at(now), opts), d.name)
}

func originOf(t *testing.T, s []quota.OriginSnapshot, name string) quota.OriginSnapshot {
	t.Helper()
	i := slices.IndexFunc(s, func(o quota.OriginSnapshot) bool { return o.Name == name })
	require.NotEqual(t, -1, i, "no origin %q", name)
	return s[i]
}

// account returns the account that a claim is charged to; nil, if there is none.
func (d *desk) account(scope string, c quota.Claim) *quota.AccountSnapshot {
	d.t.Helper()
	return accountOf(d.snapshot(), scope, c)
}

// known returns the account that a claim is charged to, which must exist.
func (d *desk) known(scope string, c quota.Claim) quota.AccountSnapshot {
	d.t.Helper()
	a := d.account(scope, c)
	require.NotNil(d.t, a, "no account of %+v, scope %q", c, scope)
	return *a
}

func accountOf(o quota.OriginSnapshot, scope string, c quota.Claim) *quota.AccountSnapshot {
	key := scope
	if c.Keyed {
		key = c.Key
	}
	for i := range o.Accounts {
		if a := &o.Accounts[i]; a.Name == c.Policy && a.Keyed == c.Keyed && a.Key == key {
			return a
		}
	}
	return nil
}

// has reports whether there is an account of a policy and the scope "".
func (d *desk) has(policy string) bool {
	d.t.Helper()
	return d.account("", quota.Claim{Policy: policy}) != nil
}

// count returns how many accounts the origin has, without that of tick.
func (d *desk) count() (n int) {
	d.t.Helper()
	for _, a := range d.snapshot().Accounts {
		if a.Name != "" || a.Key != sweeper {
			n++
		}
	}
	return n
}

// scopes returns the names of the scopes that have an account, without that of tick.
func (d *desk) scopes() (names []string) {
	d.t.Helper()
	for _, a := range d.snapshot().Accounts {
		if a.Name == "" && !a.Keyed && a.Key != sweeper {
			names = append(names, a.Key)
		}
	}
	return names
}

// names returns the names of the policies that are known.
func (d *desk) names() (names []string) {
	for _, p := range d.o.Policies() {
		names = append(names, p.Name)
	}
	return names
}

// saved returns what Save writes.
func (d *desk) saved(now time.Duration, keys bool) string {
	d.t.Helper()
	d.now = now
	var b strings.Builder
	require.NoError(d.t, d.accounts.Save(&b, d.at(now), keys))
	return b.String()
}

// restored returns the desk of another process, which begins now.
func restored(t *testing.T, text string, now time.Time) *desk {
	t.Helper()
	a := &quota.Accounts{Jitter: noJitter}
	require.NoError(t, a.Restore(strings.NewReader(text), now))
	return &desk{t: t, accounts: a, o: a.Origin(testOrigin), name: testOrigin, begin: now}
}

func api(units int64) quota.Claim { return quota.Claim{Policy: "api", Units: units} }

func keyed(policy, key string) quota.Claim {
	return quota.Claim{Policy: policy, Key: key, Keyed: true, Units: 1}
}

func figure(policy string, avail int64, w time.Duration) []quota.Figure {
	return []quota.Figure{{Policy: policy, Available: avail, Window: w}}
}

func keyedFigure(policy, key string, avail int64, w time.Duration) []quota.Figure {
	return []quota.Figure{{Policy: policy, Key: key, Keyed: true, Available: avail, Window: w}}
}

func terms(name string, q int64, w time.Duration) []quota.Policy {
	return []quota.Policy{{Name: name, Quota: q, Window: w}}
}

// unitTerms are those of a policy of some unit, without a window.
func unitTerms(name string, q int64, unit string) []quota.Policy {
	return []quota.Policy{{Name: name, Quota: q, Unit: unit}}
}

// concurrentTerms are those of a limit on concurrent requests.
func concurrentTerms(name string, q int64) []quota.Policy {
	return unitTerms(name, q, quota.UnitConcurrentRequests)
}

func claimOf(policy string) quota.Ask {
	return quota.Ask{Claims: []quota.Claim{{Policy: policy, Units: 1}}}
}

// A counter is an origin in a bubble. Requests wait in goroutines of their own.
type counter struct {
	t        *testing.T
	accounts *quota.Accounts
	o        *quota.Origin
	wg       sync.WaitGroup

	mu   sync.Mutex
	gone []departure
}

// A departure is a request that was admitted. Goroutines may note it late.
type departure struct {
	name   string
	ticket uint64 // in the order in which requests were admitted
}

func newCounter(t *testing.T) *counter {
	return counterOf(t, &quota.Accounts{Jitter: noJitter})
}

func counterOf(t *testing.T, a *quota.Accounts) *counter {
	return &counter{t: t, accounts: a, o: a.Origin(testOrigin)}
}

// tell sends a request, whatever is left, that is answered at once.
func (c *counter) tell(r quota.Report) {
	c.t.Helper()
	var l quota.Lease
	require.NoError(c.t, c.o.Admit(context.Background(), time.Now(), &quota.Ask{Force: true}, &l))
	c.o.Settle(time.Now(), &l, &r)
	l.Release()
}

// settle settles the lease of a request that was admitted.
func (c *counter) settle(r *request, report quota.Report) {
	c.o.Settle(time.Now(), &r.lease, &report)
}

// come starts a request, and returns when it waits or its admission is over.
func (c *counter) come(ctx context.Context, name string, ask quota.Ask) *request {
	r := new(request)
	c.wg.Go(func() {
		began := time.Now()
		r.err = c.o.Admit(ctx, began, &ask, &r.lease)
		r.after = time.Since(began)
		if r.err == nil {
			c.mu.Lock()
			c.gone = append(c.gone, departure{name, r.lease.Ticket()})
			c.mu.Unlock()
		}
		r.done.Store(true)
	})
	synctest.Wait()
	return r
}

// A request is the result of an admission. While it waits, only done may be read.
type request struct {
	lease quota.Lease
	err   error
	after time.Duration
	done  atomic.Bool
}

// refusal returns the error, which must be a Refusal.
func (r *request) refusal(t *testing.T) quota.Refusal {
	t.Helper()
	var refusal *quota.Refusal
	require.ErrorAs(t, r.err, &refusal)
	return *refusal
}

// order returns the names of the requests that were admitted, in that order.
func (c *counter) order() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.gone, func(a, b departure) int { return cmp.Compare(a.ticket, b.ticket) })
	var names []string
	for _, d := range c.gone {
		names = append(names, d.name)
	}
	return names
}

func (c *counter) snapshot() quota.OriginSnapshot {
	c.t.Helper()
	return originOf(c.t, c.accounts.Snapshot(time.Now(), quota.SnapshotOptions{Keys: true, MaxAccounts: -1}), testOrigin)
}

// account returns the account of a policy and the scope ""; nil, if there is none.
func (c *counter) account(policy string) *quota.AccountSnapshot {
	c.t.Helper()
	return accountOf(c.snapshot(), "", quota.Claim{Policy: policy})
}

// requireNoWaiter requires that no request waits, and none has left anything behind.
func (c *counter) requireNoWaiter() {
	c.t.Helper()
	assert.Empty(c.t, c.o.Waiting())
}
