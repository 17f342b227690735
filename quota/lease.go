package quota

import "time"

// A Lease is what was charged for one piece of work. It ends in one of two
// ways: Release, when the work is over, or Cancel, when it was never begun. A
// lease of an Origin is settled in between with what the server said.
//
// A second Release or Cancel does nothing, nor does one after the limiter was
// closed. The zero Lease and a nil one hold nothing. A lease is used by one
// goroutine at a time, and not copied before it has ended.
type Lease struct {
	only    claim // of a lease that one limiter granted at once; claims are empty
	claims  claims
	origin  *Origin // whose accounts are among the claims; nil: none are
	scope   *scope  // of the origin
	ticket  uint64  // tells departures of the origin before the opening of an account from those after
	sent    instant // by the books of the origin
	out     bool    // not settled by the origin
	charged bool    // else there is nothing to end
}

// charge takes all that is claimed. The guards of all claims are held.
func (l *Lease) charge(now time.Time) {
	if l.origin != nil {
		l.depart(now)
	}
	cs := l.claims.all()
	for i := range cs {
		c := &cs[i]
		if a, ok := c.gate.(*account); ok {
			c.epoch, c.held = a.take(l.sent, c.units), a.holds()
			if a.policy.keyed {
				l.origin.trackUnattributed(l.scope).countKeyed(a.policy.name, 1)
			}
			continue
		}
		c.epoch, c.held = c.gate.charge(now, c.units), c.gate.holds()
	}
	l.charged = true
}

// belong has the lease be one of a scope. The last one in the same memory mostly
// was: then there is nothing to look up.
func (l *Lease) belong(t instant, o *Origin, scope string) {
	if s := l.scope; s != nil && l.origin == o && s.base.owner.long == scope && s.base.place != evicted {
		s.base.Used = t
		return
	}
	l.origin, l.scope = o, o.scope(t, scope)
}

// depart counts the lease as one that is out.
func (l *Lease) depart(now time.Time) {
	o := l.origin
	l.sent, l.out = o.at(now), true
	l.scope.out++
	o.out++
	l.ticket = o.tickets
	o.tickets++
}

// claimAgain takes the guards of a lease that waits, after its claims have been
// made again: what a server has named meanwhile concerns those in line, too.
func (l *Lease) claimAgain(want *wish) []claim {
	o := l.origin
	if o == nil {
		cs := l.claims.all()
		consult(cs)
		lock(cs)
		return cs
	}
	ask := want.ask
	if ask.Again != nil {
		ask.Claims = ask.Again()
	}
	consultGates(want.own, want.permits)
	o.guard.Lock()
	pin(l.claims.all(), -1)
	l.claims.truncate(0)
	o.claim(o.at(time.Now()), ask, l.scope, &l.claims)
	l.claims.addAll(want.own, want.permits)
	cs := l.claims.all()
	pin(cs, 1)
	lock(cs[l.claims.mine:])
	return cs
}

// drop empties a lease, and keeps its memory.
func (l *Lease) drop() {
	l.claims.reset()
	*l = Lease{claims: l.claims}
}

// Sent is when an Origin granted the lease: when its work may have begun, and not
// before the first instant that the Origin was told. It is the zero time for a lease
// of limiters alone.
func (l *Lease) Sent() time.Time {
	if l.origin == nil {
		return time.Time{}
	}
	return l.origin.when(l.sent)
}

// Held reports whether something is held until Release: permits of a
// concurrency limit, of the client's own or advertised.
func (l *Lease) Held() bool {
	if l.only.held {
		return true
	}
	for _, c := range l.claims.all() {
		if c.held {
			return true
		}
	}
	return false
}

// Settle is Origin.Settle of the origin whose accounts the lease was charged
// to, at the present instant: it takes over what the server said. It does
// nothing where there is none, or where the lease was settled.
func (l *Lease) Settle(r *Report) {
	if l != nil && l.out {
		l.origin.Settle(time.Now(), l, r)
	}
}

// Release ends the lease after its work: what does not replenish by itself
// comes back, and who waits for it is let go. Settle the lease first where it
// is one of an Origin; without it, the work counts as Lost.
//
// A lease that is never released keeps its permits of a concurrency limit for
// ever: Stats.Available shows that they are missing. Of limits that replenish
// it keeps nothing.
func (l *Lease) Release() {
	switch {
	case l == nil:
	case !l.charged:
	case l.out:
		l.Move().endUnsettled(Lost, claim.release) // or every lease would be on the heap
	default:
		l.end(time.Now(), claim.release)
	}
}

// Cancel ends a lease whose work was never begun: everything comes back, of
// limits that replenish, too, as far as it has not been replenished since.
func (l *Lease) Cancel() {
	switch {
	case l == nil:
	case !l.charged:
	case l.out:
		l.Move().endUnsettled(Unsent, claim.cancel)
	default:
		l.end(time.Now(), claim.cancel)
	}
}

func (l *Lease) endUnsettled(o Outcome, how func(claim, time.Time)) {
	now := time.Now()
	l.origin.Settle(now, l, &Report{Outcome: o})
	l.end(now, how)
}

// end ends all claims, the last first.
func (l *Lease) end(now time.Time, how func(claim, time.Time)) {
	if l.only.gate != nil {
		l.only.end(now, how)
	}
	cs := l.claims.all()
	for i := len(cs) - 1; i >= 0; i-- {
		cs[i].end(now, how)
	}
	l.drop()
}

// end ends the claim, and wakes the next waiter for its gate.
func (c claim) end(now time.Time, how func(claim, time.Time)) {
	g := c.gate.guarded()
	g.Lock()
	how(c, now)
	w := (*c.gate.queue()).kick(now)
	g.Unlock()
	w.wake()
}

func (c claim) release(now time.Time) { c.gate.release(now, c.units) }
func (c claim) cancel(now time.Time)  { c.gate.cancel(now, c.units, c.epoch) }

// Move moves what is left of a lease to one of its own, for whoever outlives
// the memory that l is in. l holds nothing afterwards.
func (l *Lease) Move() *Lease {
	to := new(Lease)
	*to, *l = *l, Lease{}
	return to
}
