package quota

import (
	"cmp"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// instant is an instant of an origin: the time since its accounts began.
type instant = window.Instant

// An account is what is known of one quota: a window, the owner that it belongs
// to, its place among the accounts of its origin, and the line of the requests that
// wait for it. All of it is protected by the mutex of its origin.
//
// Of a million accounts, each is far away from the processor: an account takes up
// no more than five cache lines of 64 bytes.
type account struct {
	owner  owner
	policy *policyAccounts
	line   *wait.Line // of the requests that wait for this account; nil: none does

	place int32 // in Origin.all; evicted: it is not there any more
	pins  int32 // claims of requests that wait

	window.Window
}

// init makes the account one of which nothing is known.
func (a *account) init(p *policyAccounts, w owner) {
	a.policy, a.owner = p, w
	a.Window = window.New(window.Strategy(p.origin.accounts.Strategy))
}

// is reports whether the account is that of a policy for an owner. To put its id together takes longer.
func (a *account) is(policy policyID, owner string) bool {
	return a.owner.is(owner) && a.policy.policyID == policy
}

// ofNone reports whether the account is that of a scope, or of the whole origin.
func (a *account) ofNone() bool { return a.policy.none }

// id returns the id of the account.
func (a *account) id() accountID { return accountID{a.policy.policyID, a.owner.String()} }

// setPolicy takes over the policy as it is advertised now.
func (a *account) setPolicy(p *Policy) {
	if p.Window == 0 && a.policy.origin.shared == nil {
		a.SetUntold(unitOf(p.Unit), p.Quota, &a.policy.server)
	} else {
		a.SetPolicy(unitOf(p.Unit), p.Quota, p.Window)
	}
	if a.Unit == window.Other {
		a.policy.noteUnit(a, p.Unit)
	}
}

// present is the policy as this account was told it: another one of the same policy may have
// another quota, and another unit. The Key is empty. The mutex of the origin is held.
func (a *account) present() Policy {
	p := Policy{Name: a.policy.name, Quota: a.Quota, Window: a.Told(), Keyed: a.policy.keyed}
	switch a.Unit {
	case window.Requests:
		if known, _ := a.policy.origin.policy(p.Name); unitOf(known.Unit) == a.Unit {
			p.Unit = known.Unit
		}
	case window.Bytes:
		p.Unit = UnitContentBytes
	case window.Concurrent:
		p.Unit = UnitConcurrentRequests
	default:
		p.Unit = cmp.Or(a.policy.units[a], a.policy.unit, "units")
	}
	return p
}

// inferred reports whether the account is that of a scope: no server has told a quota of it.
func (a *account) inferred() bool { return a.ofNone() && !a.isRoot() }

// busy reports whether a request is out, in line, or not over.
func (a *account) busy() bool { return a.Busy() || a.pins > 0 || a.line != nil }

// retains reports whether a charge stays taken until the work is over.
func (a *account) retains() bool { return a.Unit == window.Concurrent }

// take charges n units at t.
func (a *account) take(t instant, n int64) (mark uint32) {
	if o := a.policy.origin; a.retains() || a.isRoot() || o.shared != nil {
		a.noteTake(t, n)
	}
	a.TakeDry(t, &a.policy.server)
	if absent := a.absent(); absent != nil {
		a.TakeAbsent(t, n, absent)
	}
	return a.Take(t, n)
}

// noteTake notes a charge outside of the window, for the accounts that need it.
func (a *account) noteTake(t instant, n int64) {
	o := a.policy.origin
	if a.retains() {
		o.retained++
	}
	if a.isRoot() && t < a.Hold && t >= o.looked.Add(window.ProbeInterval) {
		o.looked, o.looking = t, true
	}
	if o.shared != nil {
		if p := o.shared.pools[a]; p != nil {
			p.take(t, n)
		}
	}
}

// The methods of wait.Constraint. They read the clock of the origin.

// Mutex implements wait.Constraint: all accounts of an origin share one.
func (a *account) Mutex() *wait.Mutex { return &a.policy.origin.mu }

// Look implements wait.Constraint.
func (a *account) Look(now time.Time, n int64) wait.Decision {
	o := a.policy.origin
	t := o.at(now)
	again, why := a.ready(t, n)
	d := wait.Decision{OK: again <= t, Reason: uint8(reasonOf(why))}
	if st := o.streams[a]; st.known() && !a.Paused(t) {
		if d.Last = d.OK && st.all() >= st.most; !d.OK {
			d.Again, d.Sooner = o.when(again), true
		}
		return d
	}
	if d.OK {
		if d.Last = o.shared == nil && !a.There(max(n, -n)); d.Last {
			if at := min(a.WhenLanded(max(n, -n)), a.End()); at > t && at != window.Never {
				d.Recheck = o.when(at) // then they may be there
			}
		}
		return d
	}
	d.Again, d.Sooner = o.when(again), a.Hopeful(t, max(n, -n))
	if o.asleepUntil(t, a) > t && a.Unanswered() > 0 {
		at := a.End() // fewer are in flight then, or a moment after that, and no answer tells it
		if a.Unanswered() > a.InFlight {
			at = min(at, a.BeforeLands())
		}
		if d.Sooner = true; at > t && at != window.Never {
			d.Recheck = o.when(at)
		}
	}
	absent := a.absent()
	until := max(a.Softens(t, &a.policy.server), a.Vanishes(absent, &a.policy.server))
	if until > t && !d.Sooner {
		d.Sooner, d.Recheck = true, o.when(until)
	}
	if p := a.pool(); p != nil && !a.Paused(t) {
		if _, sooner, ok := p.ready(t, max(n, -n)); ok {
			d.Sooner = sooner
			return d
		}
	}
	filling := a.IsFilling(&a.policy.server)
	if filling && why == window.Exhausted && a.InFlight > 0 {
		d.Sooner = true // the answer tells when a unit is there
	}
	there := a.WhenThere(max(n, -n))
	if absent != nil {
		there = min(there, max(again, a.TriesAt(t, absent, &a.policy.server)))
	}
	// Who does not wait comes back at the end of the window. If it is not sure that this is the end, it comes back sooner:
	// when a request is to look. A window of more than ProbeInterval that a Retry-After has told is sure enough.
	unsure := filling || a.Looks()
	if there > t.Add(window.ProbeInterval) {
		unsure = filling || a.IsGuessed()
	}
	if why == window.Exhausted && !unsure && again < there && there != window.Never {
		d.Back = o.when(there)
	} else if why == window.RetryAfter && again < a.Hold {
		d.Back = o.when(a.Hold)
	}
	return d
}

// ready is Ready for n units, or for an estimate of -n. While a hold of the whole
// origin lasts, one request in each ProbeInterval may look. A quota that is not enforced
// holds nothing, nor does one that was named last long ago and turns out not to be meant any more.
func (a *account) ready(t instant, n int64) (again instant, why window.Cause) {
	again, why = a.readyAsTold(t, n)
	if u := a.policy.origin.outage; u != nil && a == &u.scope.base && again <= t {
		return u.goesAt(t, &a.policy.origin.root), window.RetryAfter
	}
	if st := a.policy.origin.streams[a]; st.known() && !a.Paused(t) {
		return st.ready(t), window.Exhausted
	}
	if p := a.pool(); p != nil && again > t {
		again = max(t, min(again, p.looksAt(t)))
	} else if p != nil && p.tries && t < p.apart && a.Unanswered() > 0 {
		return t.Add(2 * p.s.timeout()), window.BackingOff // one request finds out whether this process is still refused
	}
	if until := a.policy.origin.asleepUntil(t, a); until > again {
		return until, window.BackingOff
	}
	if again > t {
		again = min(again, a.WhenSoft(t, max(n, -n), &a.policy.server))
		if absent := a.absent(); absent != nil {
			again = min(again, a.WhenAbsent(t, absent, &a.policy.server))
		}
	}
	return again, why
}

func (a *account) readyAsTold(t instant, n int64) (again instant, why window.Cause) {
	if p := a.pool(); p != nil {
		if a.Roll(t); !a.Paused(t) {
			if again, _, ok := p.ready(t, max(n, -n)); ok {
				return again, window.Exhausted
			}
		}
	}
	if n < 0 {
		return a.ReadyEstimated(t, -n)
	}
	again, why = a.Ready(t, n)
	if o := a.policy.origin; again > t && a.isRoot() && t < a.Hold && t >= a.BackOff {
		again = max(t, min(again, o.looked.Add(window.ProbeInterval)))
	}
	return again, why
}

func reasonOf(c window.Cause) Reason {
	switch c {
	case window.RetryAfter:
		return ReasonRetryAfter
	case window.BackingOff:
		return ReasonBackOff
	case window.Unheard:
		return ReasonFirstFlight
	}
	return ReasonExhausted
}

// Charge implements wait.Constraint. The epoch is the mark of the window.
func (a *account) Charge(now time.Time, n int64) (epoch uint32, retained bool) {
	return a.take(a.policy.origin.at(now), n), a.retains()
}

// Release implements wait.Constraint: it ends a charge that is retained.
func (a *account) Release(_ time.Time, n int64) {
	a.Unretain(n)
	o := a.policy.origin
	o.retained--
	if p := a.pool(); p != nil && p.known {
		p.released(n)
	}
}

// Cancel implements wait.Constraint. It is Release: what is not retained was settled
// before.
func (a *account) Cancel(now time.Time, n int64, _ uint32) { a.Release(now, n) }

// Backlog implements wait.Constraint. It is not known: answers to come decide it.
func (a *account) Backlog(time.Time, int64, int64) time.Duration { return 0 }

// Refused implements wait.Constraint. Accounts have no statistics.
func (a *account) Refused(bool) {}

// Line implements wait.Constraint.
func (a *account) Line() *wait.Line { return a.line }

// OpenLine implements wait.Constraint. The line is bounded by Ask.MaxQueue alone.
func (a *account) OpenLine() *wait.Line {
	a.line = wait.NewLine(a, wait.LineOptions{})
	a.policy.origin.awaited[a.line] = struct{}{}
	a.policy.lines++
	return a.line
}

// Round implements wait.Constraint: all that belongs to an origin shares one.
func (a *account) Round() *wait.Round { return &a.policy.origin.waiting }

// CloseLine implements wait.Constraint.
func (a *account) CloseLine() {
	o := a.policy.origin
	delete(o.awaited, a.line)
	a.policy.lines--
	a.line = nil
	if a == &o.root && o.outage != nil {
		o.outage.scope.base.line.Kick(time.Now()).Wake() // see goesAt: nothing waits that it would wait for
	}
}
