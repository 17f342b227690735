package quota

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This file is desk_test.go for the tests that need the inside: of colliding owners, and
// of settling without the clock.

// A desk is an origin that is asked and told at instants of the test's own.
type desk struct {
	t *testing.T
	o *Origin
}

func newDesk(t *testing.T) *desk {
	a := &Accounts{Jitter: func() float64 { return 0 }}
	return &desk{t: t, o: begun(a.Origin("https://api.example"))}
}

// begun returns the origin after it began when it was created, and not with the first
// time that it is told.
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
	err := d.o.Admit(d.t.Context(), d.at(now), &Ask{Scope: scope, Claims: cs, MaxDelay: noDelay}, l)
	if err == nil {
		return l, nil
	}
	r, ok := err.(*Refusal)
	require.True(d.t, ok, "%v", err)
	return nil, r
}

// send asks to go at once, which must succeed.
func (d *desk) send(now time.Duration, scope string, cs ...Claim) *Lease {
	d.t.Helper()
	l, r := d.try(now, scope, cs...)
	require.Nil(d.t, r, "%v", r)
	return l
}

// wait returns how long a request would wait.
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

func figure(policy string, avail int64, w time.Duration) []Figure {
	return []Figure{{Policy: policy, Available: avail, Window: w}}
}

func keyedFigure(policy, key string, avail int64, w time.Duration) []Figure {
	return []Figure{{Policy: policy, Key: key, Keyed: true, Available: avail, Window: w}}
}

func (d *desk) consistent() { d.o.RequireConsistent(d.t) }

// exchange sends a request that is answered at once.
func (d *desk) exchange(now time.Duration, scope string, r Report, cs ...Claim) {
	d.t.Helper()
	d.done(now, d.send(now, scope, cs...), r)
}

// tick looks at as many accounts as there are, and evicts what is over.
func (d *desk) tick(now time.Duration) {
	d.t.Helper()
	for range len(d.o.all)/sample + 1 {
		d.o.sweep(d.o.at(d.at(now)))
		now += sweepInterval
	}
}

// boundedDesk keeps at most n accounts, those of scopes included.
func boundedDesk(t *testing.T, n int) *desk {
	d := newDesk(t)
	d.o.accounts.MaxAccounts = n
	return d
}

// saved returns what Save writes.
func (d *desk) saved(now time.Duration, keys bool) string {
	d.t.Helper()
	var b strings.Builder
	require.NoError(d.t, d.o.accounts.Save(&b, d.at(now), keys))
	return b.String()
}

// restored returns the desk of another process, which begins now.
func restored(t *testing.T, text string, now time.Time) *desk {
	t.Helper()
	a := &Accounts{Jitter: func() float64 { return 0 }}
	require.NoError(t, a.Restore(strings.NewReader(text), now))
	return &desk{t, a.Origin("https://api.example")}
}
