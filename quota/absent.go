package quota

import (
	"slices"

	"github.com/headway-go/headway/quota/internal/window"
)

// noteAbsent looks at the accounts that the lease was charged to and the report does not name, and
// forgets the policies that turn out not to be meant any more.
func (s *settlement) noteAbsent() {
	cs := s.l.claims.all()
	for i := range cs {
		a, ok := cs[i].Constraint.(*account)
		if !ok || a.State == window.Unknown || slices.Contains(s.figured, a) || !s.shouldName(a) {
			continue
		}
		p := a.policy
		p.server.CountNamed(false, s.outcome())
		absent := a.absent()
		if absent == nil {
			if !a.Misses() {
				continue
			}
			if absent = new(window.Absent); p.absent == nil {
				p.absent = make(map[*account]*window.Absent)
			}
			p.absent[a] = absent
		}
		if since, over := a.Unnamed(s.t, s.charge(&cs[i]), s.outcome(), absent, &p.server); over {
			delete(p.absent, a)
			s.o.drop(s.t, p.name, since)
		}
	}
}

// absent returns what is known of an account that was used up and not named, or nil.
func (a *account) absent() *window.Absent {
	if all := a.policy.absent; all != nil {
		return all[a]
	}
	return nil // as of nearly all, without a look-up
}

// named notes that the report has named the account.
func (s *settlement) named(a *account) {
	p := a.policy
	p.until = max(p.until, a.InForce())
	p.server.CountNamed(true, s.outcome())
	if absent := a.absent(); absent != nil {
		a.Named(s.t, s.sent, s.outcome(), absent, &p.server)
	}
}

// shouldName reports whether the report, which has no figure for an account that the lease was charged to,
// should have named it, if the quota is still meant.
func (s *settlement) shouldName(a *account) bool {
	return s.r.answered() && !a.isRoot() && a.place != evicted &&
		!slices.Contains(s.termed, a) &&
		!s.spares(a) && !s.untouched(a) && a.pool() == nil && !a.inferred()
}

// outcome is what the report shows of the work.
func (s *settlement) outcome() window.Outcome {
	switch {
	case s.r.Refused:
		return window.Refused
	case s.r.Failed, s.r.Unsure, s.r.Pause > 0:
		return window.Unsure
	}
	return window.Served
}
