package quota

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
	"github.com/headway-go/headway/quota/internal/wait"
)

// errOwn is the error of an Ask whose Limiter contains the quota of an origin.
var errOwn = errors.New("quota: an Ask's Limiter holds the quota of an origin; put it into Claims")

// own consults the Custom limiters in the ask's Limiter, and returns its constraints.
func (a *Ask) own(ctx context.Context) ([]wait.Constraint, error) {
	if absent(a.Limiter) {
		return nil, nil
	}
	if a.Limiter.advertised() != nil {
		return nil, errOwn
	}
	own := a.Limiter.constraints()
	consult(ctx, own, 1)
	return own, nil
}

// advertised is the Limiter that Origin.Limiter returns.
type advertised struct {
	limiterCore
	origin *Origin
	ask    Ask
}

// TryAcquire implements Limiter.
func (a *advertised) TryAcquire(n int64) (*Lease, error) { return a.tryAcquire(n) }

// Limiter returns a Limiter for the accounts that the ask claims: for clients of other
// protocols than HTTP, or for a Chain. Settle each of its leases with the server's
// response, then release it: see Lease.Settle and Report. A lease that is released
// without being settled counts as Lost, one that is cancelled as Unsent.
//
// In its Stats, Available is the lowest number of quota units left in an account, None
// if the server has not advertised any; IdleSince is the last use of the origin if no
// request to it is in flight.
//
// A lease of n permits charges n times the units of each claim. One of 0 permits charges
// nothing, and is refused only while a Retry-After or a back-off holds an account, or before
// the first answer: whether any unit is left, Stats says. Acquire uses the ask's Priority,
// MaxDelay and MaxQueue; so it waits for at most two minutes if MaxDelay is zero. The ask's Limiter, Again, Force and Held are ignored: to add
// limits of the client's own, make a Chain.
//
// If the origin is evicted, what the Limiter charges is lost: see Origin.Dropped.
func (o *Origin) Limiter(ask Ask) Limiter {
	a := &advertised{origin: o, ask: ask}
	a.ask.Claims = slices.Clone(ask.Claims)
	a.ask.Limiter, a.ask.Again, a.ask.Force, a.ask.Held = nil, nil, false, nil
	a.counting = true
	a.open(a, meter.Unlimited{}, Options{})
	return a
}

func (a *advertised) advertised() *advertised { return a }

// enter charges n permits of the accounts and of own, the limiters beside them, or
// none. The caller has consulted the Custom limiters among these.
func (a *advertised) enter(ctx context.Context, own []wait.Constraint, n int64, maxDelay time.Duration, l *Lease) error {
	ask := a.ask
	if n != 1 {
		ask.Claims = slices.Clone(ask.Claims)
		for i := range ask.Claims {
			c := &ask.Claims[i]
			c.Units = meter.Mul(max(c.Units, 0), uint64(n))
		}
	}
	if maxDelay < 0 {
		ask.MaxDelay = noDelay
	}
	return a.origin.enter(ctx, time.Now(), &ask, own, n, l)
}

// Stats implements Limiter: Available is the least of all accounts that a request needs.
func (a *advertised) Stats() Stats {
	s := a.limiterCore.Stats()
	s.IdleSince = time.Time{}
	o := a.origin
	now := time.Now()
	o.mu.Lock()
	s.Available = None
	for _, c := range a.accountsLocked() {
		if left, ok := c.Left(o.at(now)); ok && (s.Available < 0 || left < s.Available) {
			s.Available = left
		}
		s.Queued = meter.Add(s.Queued, c.line.Units())
	}
	o.mu.Unlock()
	if used, quiet := o.quiet(); quiet && s.Queued == 0 {
		s.IdleSince = used
	}
	return s
}

// accountsLocked returns the existing accounts among those that the ask claims,
// and the accounts that every request of its scope claims.
func (a *advertised) accountsLocked() []*account {
	var cs claims
	a.origin.present(&a.ask, &cs)
	var as []*account
	for _, c := range cs.all() {
		as = append(as, c.Constraint.(*account))
	}
	return as
}

// Close implements Limiter. It wakes what waits, which is refused.
func (a *advertised) Close() {
	a.limiterCore.Close()
	a.wakeAll()
}

// wakeAll wakes all requests that wait for one of the accounts.
func (a *advertised) wakeAll() {
	a.origin.mu.Lock()
	for line := range a.origin.awaited {
		line.WakeAll()
	}
	a.origin.first.line.WakeAll()
	a.origin.mu.Unlock()
}
