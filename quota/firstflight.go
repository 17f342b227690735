package quota

import (
	"context"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
)

// defaultFirstFlight is the default of Ask.FirstFlight.
const defaultFirstFlight = 10

// maxFirstFlight is how long work waits for the first answer of an origin.
const maxFirstFlight = time.Second

// firstFlight is the constraint of Ask.FirstFlight. It is part of its origin, whose
// mutex protects it. The units of a claim are how many requests may be out at most.
// It ends with the first answer, whatever that says: from then on the accounts decide.
type firstFlight struct {
	uncharged
	origin *Origin
	line   *wait.Line
	over   bool    // the origin has answered
	since  instant // departure of the first of the requests that are out
}

// firstFlight returns how many requests may be out to an origin that has not answered
// when the work departs; negative: any number. Work that could be refused because of
// this wait, or come too late after it, does not wait unless the ask says so.
func (a *Ask) firstFlight(ctx context.Context, now time.Time) int64 {
	if a.FirstFlight != 0 {
		return int64(max(a.FirstFlight, None))
	}
	if a.MaxDelay != 0 && a.MaxDelay < maxFirstFlight {
		return None
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(now.Add(2*maxFirstFlight)) {
		return None
	}
	return defaultFirstFlight
}

// claim adds a claim on the constraint if that stands in the way of the work. Once
// the origin has answered, and until those in line have gone, that is all work: what
// the answer leaves is for those in line first. The origin's mutex is held.
func (f *firstFlight) claim(ctx context.Context, now time.Time, ask *Ask, cs *claims) {
	if f.over && f.line == nil {
		return
	}
	most := ask.firstFlight(ctx, now)
	if s := f.origin.shared; s != nil && most > 1 && s.together(f.origin.at(now)) {
		most = 1 // each of the others sends one, too
	}
	if f.over || most >= 0 && (f.line != nil || !f.Look(now, most).OK) {
		cs.add(f, max(most, 0))
	}
	if s := f.origin.shared; s != nil && !f.over && most >= 0 && s.together(f.origin.at(now)) {
		if base := f.origin.known(accountID{scopeID, ask.Scope}); base != nil {
			cs.add(s.contact(base), 1)
		}
	}
}

// presume takes over what the policy of a new account says. If it does not say enough for
// our own count, the first flight of the account has a bound. Work that does not wait for
// it ends it, unless others stand in line; so does a queue that has a bound of its own.
//
// If the work is of another scope than before it waited, the server may charge the requests of
// that scope to the new account, too, as units each: those that are out have not been told apart.
func (o *Origin) presume(ctx context.Context, t instant, ask *Ask, l *Lease, a *account, units int64) {
	most := ask.firstFlight(ctx, o.when(t))
	waits := most >= 0 && ask.MaxQueue <= 0
	if !a.MayPresume() {
		if !waits && a.line == nil {
			a.Heard()
		}
		return
	}
	var others Policy // as others are told of the policy without a name
	named := false
	if a.policy.policyID == (policyID{}) {
		others, named = o.policy("")
	}
	if named && a.policy.server.Most == 0 {
		a.setPolicy(&others) // no answer has figures: our own count begins, although this user was told nothing
	}
	a.Count(t, 0)
	bound := a.Quota
	if named {
		bound = others.Quota // it bounds the first flight only
	}
	if l.left != nil && l.left != l.scope && bound > 0 {
		out := max(l.left.out, 1)
		bound = max(bound-out*min(units, bound/out), 1)
	}
	if waits {
		a.Presume(t, &a.policy.server, bound, most)
	}
}

func (f *firstFlight) Mutex() *wait.Mutex { return &f.origin.mu }

func (f *firstFlight) Look(now time.Time, most int64) wait.Decision {
	t, end := f.origin.at(now), f.since.Add(maxFirstFlight)
	if s := f.origin.shared; s != nil && !f.over && s.greeting(t) {
		return wait.Decision{Again: f.origin.when(s.coldUntil(t)), Sooner: true, Reason: uint8(ReasonFirstFlight)}
	}
	return wait.Decision{
		OK:     f.over || f.origin.out < most || t >= end,
		Again:  f.origin.when(end),
		Sooner: true,
		Reason: uint8(ReasonFirstFlight),
	}
}

func (f *firstFlight) Line() *wait.Line   { return f.line }
func (f *firstFlight) CloseLine()         { f.line = nil }
func (f *firstFlight) Round() *wait.Round { return &f.origin.waiting }

func (f *firstFlight) OpenLine() *wait.Line {
	f.line = wait.NewLine(f, wait.LineOptions{})
	return f.line
}
