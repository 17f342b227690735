package quota

import "time"

// A Lease is what was charged for one piece of work. It ends in one of two
// ways: Release, when the work is over, or Cancel, when it was never begun. A
// lease of an Origin is settled in between with what the server said.
//
// A second Release or Cancel does nothing. The zero Lease holds nothing. A
// lease is used by one goroutine at a time, and not copied before it is
// settled.
type Lease struct {
	claims  claims
	origin  *Origin // whose accounts are among the claims; nil when settled
	scope   *scope  // of the origin
	ticket  uint64  // tells departures of the origin before the opening of an account from those after
	sent    time.Time
	charged bool // else there is nothing to end
}

// charge takes all that is claimed. The guards of all claims are held.
func (l *Lease) charge(now time.Time) {
	cs := l.claims.all()
	for i := range cs {
		cs[i].epoch = cs[i].gate.charge(now, cs[i].units)
		cs[i].held = cs[i].gate.holds()
		if a, ok := cs[i].gate.(*account); ok && a.id.keyed {
			l.scope.kinOf(a.id.policy, 1)
		}
	}
	l.sent, l.charged = now, true
	if l.origin != nil {
		l.scope.out++
		l.ticket = l.origin.tickets
		l.origin.tickets++
	}
}

// claimAgain takes the guards of a lease that waits, after its claims have been
// made again: what a server has named meanwhile concerns those in line, too.
func (l *Lease) claimAgain(want *wish) []claim {
	o := l.origin
	if o == nil {
		cs := l.claims.all()
		lock(cs)
		return cs
	}
	ask := want.ask
	if ask.Again != nil {
		ask.Claims = ask.Again()
	}
	o.guard.Lock()
	pin(l.claims.all(), -1)
	l.claims.truncate(0)
	o.claim(o.at(time.Now()), ask, l.scope, &l.claims)
	if ask.Limiter != nil {
		l.claims.addAll(ask.Limiter, 1)
	}
	cs := l.claims.all()
	pin(cs, 1)
	lock(cs[l.claims.mine:])
	return cs
}

// Sent is when the lease was granted: when the work may have begun.
func (l *Lease) Sent() time.Time { return l.sent }

// Held reports whether something is held until Release: permits of a
// concurrency limit, of the client's own or advertised.
func (l *Lease) Held() bool {
	for _, c := range l.claims.all() {
		if c.held {
			return true
		}
	}
	return false
}

// Release ends the lease after its work: what does not replenish by itself
// comes back, and who waits for it is let go. Call Origin.Settle first where
// the lease is one of an Origin; without it, the work counts as Lost.
func (l *Lease) Release() {
	if !l.charged {
		return
	}
	now := time.Now()
	if l.origin != nil {
		l.origin.Settle(now, l, &Report{Outcome: Lost})
	}
	l.end(now, claim.release)
}

// Cancel ends a lease whose work was never begun: everything comes back.
func (l *Lease) Cancel() {
	if !l.charged {
		return
	}
	now := time.Now()
	if l.origin != nil {
		l.origin.Settle(now, l, &Report{Outcome: Unsent})
	}
	l.end(now, claim.cancel)
}

func (l *Lease) end(now time.Time, how func(claim, time.Time)) {
	cs := l.claims.all()
	for i := len(cs) - 1; i >= 0; i-- {
		g := cs[i].gate.guarded()
		g.Lock()
		how(cs[i], now)
		w := (*cs[i].gate.queue()).kick(now)
		g.Unlock()
		w.wake()
	}
	*l = Lease{}
}

func (c claim) release(now time.Time) { c.gate.release(now, c.units) }
func (c claim) cancel(now time.Time)  { c.gate.cancel(now, c.units, c.epoch) }

// Move moves what is left of a settled lease to one of its own, for whoever
// outlives the memory that l is in. l holds nothing afterwards.
func (l *Lease) Move() *Lease {
	to := new(Lease)
	*to, *l = *l, Lease{}
	return to
}
