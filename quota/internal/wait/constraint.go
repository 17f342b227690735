package wait

import "time"

// A Constraint can refuse work: an account of a server's quota, or a limiter of
// the client's own. All methods but Mutex are called with its mutex held. They
// must not block, call other constraints, or panic.
type Constraint interface {
	// Mutex returns the mutex that guards the constraint. Several constraints
	// may share one.
	Mutex() *Mutex

	// Look says whether n units may be charged now, or -n units that are an estimate
	// if n is negative: see Claim.Estimated. It charges nothing. It does not consider
	// the line.
	Look(now time.Time, n int64) Decision

	// Charge takes n units, even if there are too few. epoch is for Cancel.
	// retained reports whether the units stay taken until Release.
	Charge(now time.Time, n int64) (epoch uint32, retained bool)

	// Cancel undoes a charge whose work was never begun.
	Cancel(now time.Time, n int64, epoch uint32)

	// Release ends a charge whose work is over. The zero time means the present
	// instant, for a constraint that needs it.
	Release(now time.Time, n int64)

	// Backlog returns how long work has to wait for n units, if ahead units are
	// granted to others first, and no event helps; 0 if that is not known. It is called
	// only if others are in line: if none are, Look says it.
	Backlog(now time.Time, ahead, n int64) time.Duration

	// Refused counts a refusal of work that claims this constraint. itself
	// reports whether this constraint refused it, not one beside it.
	Refused(itself bool)

	// Line returns the line; nil while it has no waiters.
	Line() *Line

	// OpenLine makes a line with NewLine, has Line return it, and returns it. It
	// is called when the first waiter comes.
	OpenLine() *Line

	// Round returns the round that the waiters of the line take part in; nil: none. It is
	// always the same.
	Round() *Round

	// CloseLine has Line return nil. It is called when the last waiter has gone.
	CloseLine()
}

// A Decision is what a constraint says to a claim.
type Decision struct {
	// OK grants the claim.
	OK bool

	// Last says that OK grants more than is known to be there, to one claim: others may be
	// refused after it.
	Last bool

	// Single says that OK grants this claim alone: it is the same for any number of units, and says
	// nothing of other claims.
	Single bool

	// Final says that the claim will never be granted: waiting is no use.
	Final bool

	// Sooner says that an event may grant the claim before Again.
	Sooner bool

	// Instead grants the claim to work that would be refused otherwise, because it does not wait so long.
	Instead bool

	// Reason is the constraint's own. Package wait only hands it on.
	Reason uint8

	// Again is when to look again. The zero time means that only an event can
	// help, such as a release.
	Again time.Time

	// Recheck is when the line looks again, if that is before Again: the constraint
	// may change without being told. The zero time is never.
	Recheck time.Time

	// Back is when it is worth coming back after a refusal, where that is later
	// than Again: one waiter may look into a long window early, but not all.
	Back time.Time

	// Detail is the constraint's own, too.
	Detail any
}

// tooLate reports whether the claim cannot be granted by the instant latest.
// The zero time sets no limit.
func (d Decision) tooLate(latest time.Time) bool {
	return !d.OK && (d.Final || !d.Sooner && !latest.IsZero() && d.Again.After(latest))
}

// A Claim is what one piece of work wants of one constraint. Epoch and Retained
// are set when it is charged.
type Claim struct {
	Constraint Constraint
	Units      int64
	Epoch      uint32
	Retained   bool // the units stay taken until Release

	// Estimated says that Units are an estimate, which the constraint may grant
	// although there are less.
	Estimated bool
}

// Asks returns the units that Constraint.Look is asked for.
func (c *Claim) Asks() int64 {
	if c.Estimated {
		return -c.Units
	}
	return c.Units
}

// Charge charges all claims. The mutexes of all of them are held.
func Charge(claims []Claim, now time.Time) {
	for i := range claims {
		c := &claims[i]
		c.Epoch, c.Retained = c.Constraint.Charge(now, c.Units)
	}
}

// Release ends a claim whose work is over, and wakes the waiter that this lets
// go. The mutex is not held. now is the present instant; if it is zero, the clock is
// read only if the time is needed.
func (c *Claim) Release(now time.Time) {
	m := c.Constraint.Mutex()
	m.Lock()
	c.Constraint.Release(now, c.Units)
	line := c.Constraint.Line()
	if line == nil {
		m.Unlock()
		return
	}
	if now.IsZero() {
		now = time.Now()
	}
	w := line.Kick(now)
	m.Unlock()
	w.Wake()
}

// Cancel undoes a claim whose work was never begun, and wakes the waiter that
// this lets go. The mutex is not held.
func (c *Claim) Cancel(now time.Time) {
	m := c.Constraint.Mutex()
	m.Lock()
	c.Constraint.Cancel(now, c.Units, c.Epoch)
	w := c.Constraint.Line().Kick(now)
	m.Unlock()
	w.Wake()
}
