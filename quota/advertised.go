package quota

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// errOwn is the error of an Ask whose Limiter has the quota of an origin in it.
var errOwn = errors.New("quota: an Ask's Limiter holds the quota of an origin; put it into Claims")

// own returns the gates of the client's own limits on an ask, consulted.
func (a *Ask) own() ([]gate, error) {
	if a.Limiter == nil {
		return nil, nil
	}
	if a.Limiter.advertised() != nil {
		return nil, errOwn
	}
	gates := a.Limiter.gates()
	consultGates(gates, 1)
	return gates, nil
}

// Advertised is the advertised quota of an origin as a Limiter: for clients that
// are not HTTP, or for use in a Chain. Get one from Origin.Limiter.
//
// Settle each of its leases with what the server said, then release it: see
// Lease.Settle and Report. A lease that is released without that counts as Lost, and
// one that is cancelled as Unsent.
type Advertised struct {
	limiterCore
	origin *Origin
	ask    Ask
}

// Limiter returns the accounts that the ask claims as a Limiter. A lease of n
// permits is charged n times the units of each claim. Acquire uses the ask's
// Priority, MaxDelay and MaxQueue, and so waits for DefaultMaxDelay if the ask says
// nothing else. The ask's Limiter, Again, Force and Held are ignored: put the client's
// own limits beside it into a Chain.
//
// The origin may be dropped: see Origin.Dropped.
func (o *Origin) Limiter(ask Ask) *Advertised {
	a := &Advertised{origin: o, ask: ask}
	a.ask.Claims = slices.Clone(ask.Claims)
	a.ask.Limiter, a.ask.Again, a.ask.Force, a.ask.Held = nil, nil, false, nil
	a.counting = true
	a.open(a, meter.Unlimited{}, Queue{})
	return a
}

func (a *Advertised) advertised() *Advertised { return a }

// enter charges n permits of the accounts and of the gates, which have been
// consulted, or nothing.
func (a *Advertised) enter(ctx context.Context, gates []gate, n int64, maxDelay time.Duration, l *Lease) error {
	ask := a.ask
	if n != 1 {
		ask.Claims = slices.Clone(ask.Claims)
		for i := range ask.Claims {
			c := &ask.Claims[i]
			c.Units = meter.Mul(max(c.Units, 0), uint64(n))
		}
	}
	if maxDelay < 0 {
		ask.MaxDelay = NoDelay
	}
	return a.origin.enter(ctx, time.Now(), &ask, gates, n, l)
}

// Stats implements Limiter. Available is the lowest that is left of the accounts
// of which the server has said anything, in quota units; None if it has said nothing.
// IdleSince is when the origin was last used, if it is not in use.
func (a *Advertised) Stats() Stats {
	s := a.limiterCore.Stats()
	s.IdleSince = time.Time{}
	o := a.origin
	now := time.Now()
	o.guard.Lock()
	s.Available = None
	for _, c := range a.accountsLocked() {
		if left, ok := c.Left(o.at(now)); ok && (s.Available < 0 || left < s.Available) {
			s.Available = left
		}
		for i := 0; i < c.line.len(); i++ {
			s.Queued = meter.Add(s.Queued, max(c.line.waiters.ws[i].units, 1))
		}
	}
	o.guard.Unlock()
	if used, quiet := o.quiet(); quiet && s.Queued == 0 {
		s.IdleSince = used
	}
	return s
}

// accountsLocked returns the accounts that the ask claims, as far as they exist,
// and those that every request of its scope claims.
func (a *Advertised) accountsLocked() []*account {
	var cs claims
	a.origin.present(&a.ask, &cs)
	var as []*account
	for _, c := range cs.all() {
		as = append(as, c.gate.(*account))
	}
	return as
}

// Close implements Limiter.
func (a *Advertised) Close() {
	a.limiterCore.Close()
	a.wakeAll()
}

// wakeAll wakes everything that waits for one of the accounts.
func (a *Advertised) wakeAll() {
	a.origin.guard.Lock()
	for _, c := range a.accountsLocked() {
		c.line.wakeAll()
	}
	a.origin.guard.Unlock()
}
