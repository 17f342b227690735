package quota

import (
	"context"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// A Lease is what was charged for one piece of work. It ends in one of two
// ways: Release, when the work is over, or Cancel, when it was never begun. A
// lease of an Origin is settled in between with what the server said.
//
// A second Release or Cancel does nothing, nor does one after the limiter was
// closed. The zero Lease and a nil one hold nothing. A lease is used by one
// goroutine at a time, and not copied before it has ended.
type Lease struct {
	_ noCopy

	// Of a lease that one limiter granted at once. Its claims are empty.
	by    *limiterCore // nil: it is none
	units int64
	epoch uint32

	priority int16 // in the waitingRequests of the origin
	queued   bool  // there
	pinned   bool  // its claims are, because it waits
	out      bool  // not settled by the origin
	probe    bool  // see Probe
	first    bool  // the same
	charged  bool  // else there is nothing to end

	claims claims
	origin *Origin // whose accounts are among the claims; nil: none are
	*ofOrigin
	ticket uint64  // counts departures: tells whether the lease departed before an account was created; while queued, its key in waitingRequests
	sent   instant // departure, by the clock of the origin
}

// ofOrigin is what only a lease of an Origin needs, until it is settled.
type ofOrigin struct {
	scope    *scope        // of the origin
	left     *scope        // while renew: the scope before
	among    *scope        // has the limits that the server does not tell: the scope, or that of its beside
	limit    *scope        // that concerns the kind: among, unless kinds are told apart
	kind     *kind         // nil: not told apart
	kindOf   func() string // Ask.Kind
	name     string        // of the kind, where named
	named    bool
	resource resource  // that the work concerns
	look     *looks    // of the limit that it looks at, and is not charged to; nil: it is no look
	streams  *streams  // that count it; nil: none do
	how      departure // for them
	due      instant   // the deadline; 0: none, or the work departed at once
}

// charge charges all claims. The mutexes of all of them are held.
func (l *Lease) charge(now time.Time) {
	if l.origin == nil {
		l.chargeAt(0, now)
		return
	}
	l.chargeAt(l.origin.at(now), now)
}

// chargeAt is charge at an instant of the origin, if there is one.
func (l *Lease) chargeAt(t instant, now time.Time) {
	if l.origin != nil {
		l.depart(t)
	}
	cs := l.claims.all()
	for i := range cs {
		c := &cs[i]
		var a *account
		switch of := c.Constraint.(type) {
		case *account: // its Charge would read the clock of the origin again
			a = of
			if o := l.origin; a == &l.scope.base && o.shared == nil && o.ofScopes.absent == nil {
				if mark, ok := a.Pass(l.sent, c.Units); ok {
					c.Epoch, c.Retained = mark, false
					continue
				}
			}
		case *kind:
			if l.look = of.takeLook(l.sent, c.Asks()); l.look != nil {
				l.probe = true
				continue
			}
			a = &of.in.base
			if c.Constraint = a; l.pinned {
				of.scope.base.pins--
				a.pins++
			}
		default:
			c.Epoch, c.Retained = of.Charge(now, c.Units)
			continue
		}
		asked := a.Asked()
		c.Epoch, c.Retained = a.take(l.sent, c.Units), a.retains()
		if a.Asked() != asked {
			l.probe = true
		}
		if a.policy.keyed {
			l.origin.trackUnattributed(l.scope).countKeyed(a.policy.name, 1)
		}
	}
	if l.origin != nil {
		l.departStream(t)
	}
	l.charged = true
}

// belong sets the scope of the lease. If the last lease in the same memory was of that
// scope, there is nothing to look up.
func (l *Lease) belong(t instant, o *Origin, scope string) {
	l.own()
	if s := l.scope; s != nil && l.origin == o && s.base.owner.long == scope && s.base.place != evicted {
		s.base.Used = t
		return
	}
	l.origin, l.scope = o, o.scope(t, scope)
}

// set sets *p to v, unless it is v already: see addAccount.
func set[T any](p **T, v *T) {
	if *p != v {
		*p = v
	}
}

// own prepares the lease for an Origin.
func (l *Lease) own() {
	if l.ofOrigin == nil {
		l.ofOrigin = new(ofOrigin)
	}
}

// depart counts the lease as in flight.
func (l *Lease) depart(t instant) {
	o := l.origin
	if l.queued {
		o.shared.queue.remove(l)
	}
	l.sent, l.out, l.probe, l.first = t, true, false, !o.first.over
	if o.out == 0 && l.first {
		o.first.since = l.sent
	}
	l.scope.out++
	o.out++
	l.ticket = o.tickets
	o.tickets++
}

// renew makes the claims of work that has waited again, because the server may have
// named other policies meanwhile. It is called with no mutex held, and returns with
// those of all claims held.
func (l *Lease) renew(ctx context.Context, ask *Ask, own []wait.Constraint, n int64) []wait.Claim {
	if ask.Again != nil {
		ask.Claims = ask.Again()
	}
	consult(ctx, own, n)
	o := l.origin
	l.nameKind(o, ask)
	o.mu.Lock()
	pin(l.claims.all(), -1)
	l.claims.reset()
	now := time.Now()
	l.left = l.scope
	l.belong(o.at(now), o, ask.Scope)
	o.claim(ctx, o.at(now), ask, l, &l.claims)
	l.left = nil
	o.first.claim(ctx, now, ask, &l.claims)
	l.claims.mine = len(l.claims.all())
	l.claims.addAll(own, n)
	cs := l.claims.all()
	pin(cs, 1)
	if o.shared != nil {
		o.shared.joined(o.at(now), l)
	}
	wait.Lock(cs[l.claims.mine:])
	return cs
}

// waits notes that the work begins to wait, with by = 1, or does not wait any more, with
// by = -1. The mutexes of all claims are held.
func (l *Lease) waits(by int32) {
	pin(l.claims.all(), by)
	l.awaits(by)
	l.pinned = by > 0
	l.origin.inLine += int(by)
	switch s := l.origin.shared; {
	case s == nil:
	case by > 0:
		s.joined(l.origin.at(time.Now()), l)
	default:
		s.left(l.origin.at(time.Now()), l)
	}
}

// drop empties the lease and keeps its memory.
func (l *Lease) drop() {
	l.claims.reset()
	if l.ofOrigin != nil {
		*l.ofOrigin = ofOrigin{}
	}
	*l = Lease{claims: l.claims, ofOrigin: l.ofOrigin}
}

// Sent is when an Origin granted the lease, and not before the first instant that the
// Origin was told. It is the zero time for a lease of limiters alone.
func (l *Lease) Sent() time.Time {
	if l == nil || l.origin == nil {
		return time.Time{}
	}
	return l.origin.when(l.sent)
}

// Probe reports whether the work of a lease of an Origin asks the server what is left:
// it was let go although too little was left, or known; and whether it was the first, because no
// work of the Origin had been answered.
func (l *Lease) Probe() (probe, first bool) {
	if l == nil {
		return false, false
	}
	return l.probe, l.first
}

// Retained returns the lease, moved to memory of its own, if it keeps something until
// Release: permits of a limit on concurrency, of the client's own or advertised. l is
// empty then. If the lease keeps nothing, Retained returns nil and l stays as it is.
func (l *Lease) Retained() *Lease {
	if l == nil || !l.retains() {
		return nil
	}
	return l.move()
}

// retains reports whether something stays taken until Release.
func (l *Lease) retains() bool {
	if l.by != nil {
		return l.by.retains
	}
	cs := l.claims.all()
	for i := range cs {
		if cs[i].Retained {
			return true
		}
	}
	return false
}

// move moves the lease to memory of its own. l is empty then.
func (l *Lease) move() *Lease {
	to := &Lease{
		by: l.by, units: l.units, epoch: l.epoch, claims: l.claims, origin: l.origin,
		ticket: l.ticket, sent: l.sent, out: l.out, charged: l.charged, queued: l.queued, priority: l.priority,
	}
	if l.out {
		to.ofOrigin = l.ofOrigin
		*l = Lease{}
	} else {
		*l = Lease{ofOrigin: l.ofOrigin}
	}
	return to
}

// Settle is Origin.Settle at the present instant, of the origin whose accounts the
// lease was charged to. It does nothing if there is none, or if the lease was settled.
func (l *Lease) Settle(r *Report) {
	if l != nil && l.out {
		l.origin.Settle(time.Now(), l, r)
	}
}

// Release ends the lease after its work: what does not replenish by itself comes
// back, and the next waiter for it is let go. Settle the lease of an Origin first; if
// it is not settled, the work counts as Lost.
//
// A lease that is never released keeps its permits of a concurrency limit: they are
// missing in Stats.Available. Of a limit that replenishes it keeps nothing.
func (l *Lease) Release() {
	switch {
	case l == nil:
	case l.by != nil:
		by := l.by
		l.by = nil
		by.release(l.units)
	case !l.charged:
	case l.out:
		l.move().endUnsettled(false) // move, so that other leases can stay on the stack
	default:
		l.end(time.Now(), false)
	}
}

// Cancel ends a lease whose work was never begun. Everything is given back; permits of a
// limit that replenishes, only as far as it has not replenished them since.
func (l *Lease) Cancel() {
	switch {
	case l == nil:
	case l.by != nil:
		by := l.by
		l.by = nil
		by.cancel(l.units, l.epoch)
	case !l.charged:
	case l.out:
		l.move().endUnsettled(true)
	default:
		l.end(time.Now(), true)
	}
}

func (l *Lease) endUnsettled(cancelled bool) {
	now := time.Now()
	l.origin.Settle(now, l, &Report{Lost: !cancelled, Unsent: cancelled})
	l.end(now, cancelled)
}

// end ends all claims, the last first, and then tells the user's functions, which may panic.
func (l *Lease) end(now time.Time, cancelled bool) {
	cs := l.claims.all()
	for i := range cs {
		if a, ok := cs[i].Constraint.(*asking); ok {
			defer a.ended(cs[i].Units, cancelled)
		}
	}
	for i := len(cs) - 1; i >= 0; i-- {
		endClaim(&cs[i], now, cancelled)
	}
	l.drop()
}

func endClaim(c *wait.Claim, now time.Time, cancelled bool) {
	if b, ok := c.Constraint.(*openBody); ok {
		b.end(now)
	} else if cancelled {
		c.Cancel(now)
	} else {
		c.Release(now)
	}
}

// noCopy makes go vet tell of copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
