package quota

import (
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// A Claim is a number of units of one account of an origin.
type Claim struct {
	Policy string // the name of the policy; "" is the one without a name, as of X-RateLimit fields
	Key    string // the bytes of the partition key, where Keyed
	Keyed  bool   // false: the account of the scope
	Units  int64  // quota units; a negative number counts as 0

	// Estimated says that Units are an estimate. Where less is left, but something is,
	// the work departs when nothing else has for a minute: it shows what it costs.
	Estimated bool
}

func (c *Claim) id(scope string) accountID {
	return accountID{policyID{name: c.Policy, keyed: c.Keyed}, c.owner(scope)}
}

// owner is that of the account: the key, or else the scope.
func (c *Claim) owner(scope string) string {
	if c.Keyed {
		return c.Key
	}
	return scope
}

// units is what the claim charges.
func (c *Claim) units() int64 { return min(max(c.Units, 0), window.MaxUnits) }

// An Ask is a piece of work that wants to start.
type Ask struct {
	Scope    string         // the identity that it acts for; accounts without a key belong to it
	Claims   []Claim        // of the origin's accounts; at most one for each policy
	Again    func() []Claim // makes Claims anew after the work has waited, and may change Scope; called with no lock held. nil: they stay as they are
	Limiter  Limiter        // the client's own limits; nil: none. One of Origin.Limiter in it is an error: put that into Claims
	Priority int            // the higher goes first; 0 is normal
	MaxDelay time.Duration  // the longest wait. 0: two minutes; negative: never wait, be refused at once
	MaxQueue int            // how many may wait in one line. 0: 10,000; negative: no bound
	Force    bool           // charge, whatever is left, and never wait

	// NotBefore is the earliest time at which the work may start: the end of a
	// redirect's Retry-After, for example (RFC 9110, Section 10.2.3). The work waits
	// for it as for a quota, and is refused at once if that would take too long; the
	// cause is ReasonRetryAfter. The zero time restricts nothing, nor does Force wait.
	NotBefore time.Time

	// FirstFlight is how many requests may be out to an origin that has not answered
	// yet: it may allow as few. More work waits for the first answer, whatever that
	// says, or until a second has passed since the first of those requests departed.
	// The cause is ReasonFirstFlight. A negative number means no bound. Zero means
	// ten; but no bound for work whose MaxDelay is less than a second or whose deadline
	// is less than two seconds away. With Force, work does not wait. An origin that was
	// restored has answered before.
	//
	// The same holds for an account that is new although its policy is known, such as
	// that of a new user: before the first answer no more units may be out than the
	// policy's quota. If that is not known, it is the most of which any account of the
	// policy was told, and at least FirstFlight. Work that has no bound by the rule above,
	// or has a MaxQueue, ends this, unless other work is in line for that answer. A policy
	// that says its window, too, is counted against instead: see Strategy.
	FirstFlight int

	// Trial says that the server may charge the work as that of another scope: while nothing is known
	// of its own, it departs one piece at a time, and the others wait for the answer.
	Trial bool

	// Kind returns the name of the kind of the work, for example that of the method that
	// it calls. It is called with no lock held, and only where it matters: where the
	// server has refused work of the scope without naming a policy. Which kinds such a
	// refusal concerns is learned. nil: all work of the scope is of one kind.
	//
	// What follows a zero byte in the name tells resources of one kind apart, such as
	// documents: each may turn out to have a limit of its own.
	Kind func() string

	// Held is called with no lock held before the work waits, and says what it waits
	// for; if Force is set, what it would have waited for. The Limiter is the one of the
	// client's own that it waits for; nil: it waits for something else. Held is called
	// again when the work begins to wait for something else; then the work is in line,
	// and a function that takes long keeps others waiting. May be nil.
	Held func(Refusal, Limiter)
}

// options returns how the work waits.
func (a *Ask) options() wait.Options {
	o := wait.Options{
		Priority: a.Priority,
		MaxDelay: a.MaxDelay,
		MaxQueue: bounded(a.MaxQueue, defaultMaxQueue),
		Force:    a.Force,
	}
	if o.MaxDelay == 0 {
		o.MaxDelay = defaultMaxDelay
	}
	return o
}

// restrict adds the constraint of NotBefore to the client's own ones, if it has not
// passed.
func (a *Ask) restrict(now time.Time, own []wait.Constraint) []wait.Constraint {
	if !a.NotBefore.After(now) {
		return own
	}
	return append(slices.Clip(own), newNotBefore(a.NotBefore))
}
