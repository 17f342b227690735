package quota

import "time"

// A guess is what a server is taken to allow that says nothing of its quotas,
// but refuses now and then: as many as it served between two of the instants
// at which it began to serve again, and in the time between them. Of who comes
// rarely, that is too few: no guess is made where less than half of the time was
// spent being refused.
type guess struct {
	opened  instant // departure of the first that was served in this window; 0: there was none
	served  int64   // since then
	epoch   uint32  // of the base, in which that was
	refused bool    // since then
	dry     instant // departure of the first refused
	until   instant // when it is over, as refusals say, on the clock of departures
	clean   uint8   // windows in a row that were used up and ended without a refusal
	more    int64   // to try next
}

const (
	cleanWindows = 10 // are used up before more is tried
	leastGuess   = 4  // served in a window, or else there is no telling
)

// guess learns from an answer that says nothing but whether it is a refusal.
func (s *settlement) guess() {
	a, g := &s.l.scope.base, s.l.scope.guess
	if a.plain || s.r.Outcome != Answered || len(s.r.Figures)+len(s.r.Terms) > 0 || len(s.o.Policies()) > 0 {
		return
	}
	switch {
	case s.r.Refused && g == nil:
		s.l.scope.guess = &guess{refused: true, until: never}
	case g == nil, s.sent < g.opened:
	case s.r.Refused:
		if !g.refused {
			g.refused, g.dry = true, s.sent
		}
		if a.basis == counted {
			a.distrust(s.t) // it was too much: one asks first
		}
		if s.r.Pause > 0 {
			g.until = min(g.until, s.sent.add(s.r.Pause))
		}
	case g.refused && s.sent >= max(a.hold, a.backoff):
		g.close(a, s.t, s.sent)
	case !g.refused && a.basis == counted && a.epoch != g.epoch:
		g.next(a)
	default:
		g.served++
	}
}

// unguess gives a guess up where the server names policies, before what it says
// of them is taken over.
func (s *settlement) unguess() {
	if s.l.scope.guess == nil || len(s.o.Policies())+len(s.r.Terms) == 0 {
		return
	}
	s.l.scope.guess = nil
	p, named := s.o.policy("")
	if !named {
		p.Quota = None
	}
	a := &s.l.scope.base
	a.terms(p)
	a.ramp = 0
}

// close ends a window that ended with a refusal, with a request that was
// served after it.
func (g *guess) close(a *account, t, sent instant) {
	last, end := *g, min(sent, g.until)
	*g = guess{opened: sent, served: 1, until: never, more: 1}
	if last.opened > 0 && last.served >= leastGuess && last.dry-last.opened <= end-last.dry {
		a.terms(Policy{Quota: last.served, Window: time.Duration(end - last.opened)})
		a.basis = open
		a.count(sent, 1)
		a.timed(t, sent)
	}
	g.epoch = a.epoch
}

// next ends a window that ended without a refusal.
func (g *guess) next(a *account) {
	if g.served < a.quota {
		g.clean = 0
	} else if g.clean++; g.clean >= cleanWindows {
		a.terms(Policy{Quota: a.quota + g.more, Window: a.window})
		g.clean, g.more = cleanWindows-1, 2*g.more
	}
	g.opened, g.served, g.epoch = a.due-instant(a.window), 1, a.epoch
}
