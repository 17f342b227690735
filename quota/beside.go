package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// A beside is what is learned of limits that the server does not tell, beside a policy that it
// does: requests are refused although the figures say that much is left. Such a limit may be one of
// requests in flight, or of some routes, or of a gateway, or one of several that the server does not name.
//
// The first such refusal holds the accounts that it names, as any other refusal does. If it has no fields, but
// contradicts figures in force, it holds its scope. From then on, work that claims the policy claims the limit,
// too, and what is served is counted. If a request that departs after that hold is refused in the same way, the limit
// is held, and not what the refusal names. Then each other kind of work may send one request, to find out whether the
// limit concerns that kind: see whom.go.
//
// A refusal that names nothing may also come from one route that is out of order. If much is left of the policy
// without a name, which other answers tell, the first such refusal already counts as one of the limit.
//
// The size of the limit is inferred, too, if most of the work that was out when the refusal before
// came was refused, of the same kind, and at least two requests were. A server that sheds load at
// random serves most of it. All is forgotten when no such refusal has come for long. A scope has one beside.
type beside struct {
	in       *scope    // the limit, until kinds have one of their own
	of       accountID // that was named, or of the scope; it may be evicted, and work that does not claim it is not concerned
	refused  instant   // arrival of the last refusal
	held     bool      // such refusals hold the limit, and not what they name
	inferred bool      // how much it is

	wave       instant // arrival of the first refusal after the last hold
	kind       string  // of the work that it refused
	lost, kept int     // of what was out then of that kind: refused, and served
}

// isOf reports whether the limit is beside that account.
func (b *beside) isOf(a *account) bool { return a.is(b.of.policyID, b.of.owner) }

// besideLost is how many that are out when a refusal comes are refused, too, at least, if it is of a limit.
const besideLost = 2

// besides says whether a refusal is of such a limit.
type besides uint8

const (
	besideNot  besides = iota
	besideOnce         // perhaps: it holds what it names
	besideSure
)

// besideOf follows the name of a scope in that of its beside.
const besideOf = "\x1f\x00beside\x00\x1f"

// amongOf returns the scope in which the limits are for work of a scope that the server does not tell.
func (o *Origin) amongOf(t instant, s *scope, ask *Ask) *scope {
	if s == nil || s.learned == nil || s.learned.beside == nil {
		return s
	}
	b := s.learned.beside
	if b.over(t) {
		b.in.forgetKinds(t, o)
		s.learned.beside = nil
		return s
	}
	if b.isOf(&s.base) || b.of.policyID == (policyID{}) {
		return b.in // all work of the scope claims it
	}
	for i := range ask.Claims {
		if ask.Claims[i].id(ask.Scope) == b.of {
			return b.in
		}
	}
	return s
}

// over reports whether no such refusal has come for long.
func (b *beside) over(t instant) bool {
	base := &b.in.base
	if base.place == evicted {
		return true
	}
	return t >= b.lasts() && !base.Paused(t) && !base.busy() && (b.in.kinds() == nil || b.in.stale(t))
}

// holdLikeBeside has a copy of the account of a scope held for as long as the limit beside that account is: what
// was learned of the limit is not saved.
func (o *Origin) holdLikeBeside(w *window.Window, of *account) {
	if b := o.besideScope(of); b != nil && b.isOf(of) {
		w.Hold, w.BackOff = max(w.Hold, b.in.base.Hold), max(w.BackOff, b.in.base.BackOff)
	}
}

// besideScope returns what is learned beside the scope that an account is of; nil: nothing is, or it is of none.
func (o *Origin) besideScope(a *account) *beside {
	if a.policy.keyed {
		return nil
	}
	if s := o.scopes[a.owner.String()]; s != nil && s.learned != nil {
		return s.learned.beside
	}
	return nil
}

// lasts is until when it is known without another such refusal.
func (b *beside) lasts() instant {
	return b.refused.Add(max(kindsLast, times(min(b.in.base.Length, time.Hour), kindsLastWindows)))
}

// besideAccount returns the account that a refusal is beside, or nil. Either each figure of the refusal says that more is
// left than all that is on its way could use up. Or the refusal names nothing: see besideUnnamed and besideTold. With
// Peers, figures have to say that more than half of the quota is left, as others have requests on their way, too.
func (s *settlement) besideAccount() *account {
	r, base := s.r, &s.l.scope.base
	switch {
	case !r.answered() || r.WholeOrigin || !base.Infers() && base.Strategy != window.Together:
		return nil
	case len(r.Figures)+len(r.Terms) == 0:
		if a := s.besideUnnamed(); a != nil || !r.Refused || r.Pause > 0 || s.o.shared != nil {
			return a
		}
		return s.besideTold()
	case !r.Refused || len(r.Figures) == 0:
		return nil
	}
	for i := range r.Figures {
		a, f := s.figured[i], &r.Figures[i]
		least := max(s.claimed(a), a.Unanswered()) + 1
		if s.o.shared != nil {
			least = max(least, a.Quota/2)
		}
		if a.Unit != window.Requests || f.Available <= least {
			return nil
		}
	}
	return s.figured[0]
}

// besideUnnamed is besideAccount for a refusal that names nothing, where a policy without a name is told, of which
// more is left than the work could use up. It may come to work that the policy does not concern.
func (s *settlement) besideUnnamed() *account {
	p, named := s.o.policy("")
	if !named || p.Keyed || s.o.tellsKinds(s.l.scope) {
		return nil
	}
	a := s.o.unnamed(s.l.scope)
	if a == nil || a.Unit != window.Requests {
		return nil
	}
	if left, known := a.Left(s.t); known && left <= s.claimed(a)+1 {
		return nil
	}
	return a
}

// findBeside finds or creates the beside that a refusal belongs to, if it does.
func (s *settlement) findBeside() {
	a, sc := s.besideAccount(), s.l.scope
	if a == nil {
		return
	}
	l := sc.learnedOf()
	b := l.beside
	if s.l.look != nil {
		if b != nil && b.isOf(a) && s.l.among == b.in {
			b.refused, s.beside = s.t, besideSure
		}
		return
	}
	switch {
	case b == nil || b.over(s.t):
		if b != nil {
			b.in.forgetKinds(s.t, s.o)
		}
		sc.forgetKinds(s.t, s.o)
		s.pin(1) // while room is made
		a.pins++
		b = &beside{in: s.o.scope(s.t, sc.base.owner.long+besideOf), of: a.id(), wave: s.t, kind: s.l.name}
		a.pins--
		s.pin(-1)
		l.beside = b
		s.o.apart.Store(true)
		if base := &b.in.base; base.Epoch() == 0 && !base.busy() { // else it was known before
			s.chargeFirstWave(base)
		}
		s.o.routeAgain("")
		s.o.routeAgain(a.policy.name)
	case !b.isOf(a):
		return
	case s.sent >= max(b.refused, a.Hold, a.BackOff, s.l.limit.base.Hold, s.l.limit.base.BackOff):
		was := b.held
		if b.held = s.t < b.lasts(); b.held && !was {
			b.in.base.Refusals = max(b.in.base.Refusals, a.Refusals) // back-offs go on where they were
		}
		b.inferred = b.inferred || b.held && b.lost >= besideLost && b.lost > b.kept
		b.wave, b.kind, b.lost, b.kept = s.t, s.l.name, 0, 0
		if l := s.l.limit.learned; l != nil && !b.inferred {
			l.inferred = nil // it was counted from the last one on
		}
	case s.sent < b.wave && s.l.name == b.kind:
		b.lost++
	}
	if b.refused, s.beside, s.besideOf = s.t, besideOnce, a; b.held {
		s.beside = besideSure
	}
	if s.l.among != b.in {
		s.l.among, s.l.limit, s.l.kind = b.in, b.in, nil
	}
}

// besideTold is besideAccount for a refusal without a Retry-After that names nothing, where no policy without a
// name is told. The refusal is beside the accounts that its work was charged to, if their figures in force say that
// something is left. A back-off may have ended those figures: then the limit has to be known already.
func (s *settlement) besideTold() *account {
	l := s.l.scope.learned
	told := l != nil && l.beside != nil
	for _, c := range s.l.claims.all() {
		a, ok := c.Constraint.(*account)
		if !ok || a.State != window.Reported || a.inferred() {
			continue
		}
		if left, _ := a.Left(s.t); a.Unit != window.Requests || left <= 1 {
			return nil
		}
		told = true
	}
	switch a := s.o.unnamed(s.l.scope); {
	case !told:
		return nil
	case a != nil && l != nil && l.beside != nil && l.beside.isOf(a):
		return a
	}
	return &s.l.scope.base
}

// forgetBeside forgets a limit that was refused once, if that refusal was of one request alone.
func (s *settlement) forgetBeside(a *alone, r *refusal) {
	l := s.l.scope.learned
	if l == nil || l.beside == nil || l.beside.held || r.limit != l.beside.in {
		return
	}
	l.beside.in.forgetKinds(s.t, s.o)
	for i := range a.refused {
		if other := &a.refused[i]; other.limit == l.beside.in {
			other.limit = s.l.scope
		}
	}
	l.beside = nil
	s.o.routeAgain("")
}

// keepBeside counts that a request was served which was out when such a refusal came. Under steady load
// nothing else says that no refusal has come for long.
func (s *settlement) keepBeside() {
	if !s.r.answered() || s.l.scope.learned == nil {
		return
	}
	b := s.l.scope.learned.beside
	if b == nil {
		return
	}
	if s.sent < b.wave && s.l.name == b.kind {
		b.kept++
	}
	if base := &b.in.base; b.inferred && s.t >= b.lasts() && !base.Paused(s.t) {
		s.watch(base)
		b.inferred = false
		b.in.dropInferred()
	}
}

// infersBeside reports whether an answer to work that claims the limit teaches how much it is. A refusal
// with figures that say that little is left does not, unless it is that of a look, nor does what departed
// before the first refusal; and before it is inferred only the first refusal after a hold does.
func (s *settlement) infersBeside() bool {
	b, known := s.l.scope.learned.beside, s.l.limit.learned
	switch {
	case b == nil:
		return s.r.Refused && (s.beside != besideNot || len(s.r.Figures) == 0)
	case b.inferred:
		return !s.r.Refused || s.beside != besideNot || len(s.r.Figures) == 0 || s.l.limit.base.IsLook(s.sent)
	case s.r.Refused:
		return s.beside != besideNot && (known == nil || known.inferred == nil)
	}
	return s.sent >= b.refused
}
