package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// This file is what a refusal does to the accounts that it concerns: which of them back off or are
// held, what it shows of a cost or of a quota that is not told, and what ends that.

// backOff follows a refusal. If a window or a bucket says that there is too little for the
// request, and when there is more, that is enough. Else, if the server did not say when to
// come back, the accounts that it calls exhausted back off; else those that it names,
// because one of them must be the reason; else the scope.
//
// A Retry-After of 0 takes precedence over a window (the draft, Section 7).
func (s *settlement) backOff() {
	exhausted := false
	for i := range s.r.Figures {
		a, f := s.figured[i], &s.r.Figures[i]
		if f.Available < 0 || f.Available > 0 && f.Available >= s.claimed(a) {
			continue
		}
		if f.Window > 0 && a.Waiting() {
			if s.r.Pause == 0 && f.Available == 0 && s.atOnce(a) {
				s.startBackOff(a)
				s.penalise(a, func() { a.Disregard(s.t) })
				return
			}
			if s.r.Pause >= 0 && !a.policy.server.Forgives(s.t) {
				a.RefuseAgain(s.t, s.sent, s.jitter)
				return
			}
			if s.r.Pause < 0 {
				a.Disregard(s.t)
			}
		}
		if s.r.Pause <= 0 && a.retains() && a.Retained > 0 && !a.decided() {
			return // those in progress go on: see concurrent.go of internal/window
		}
		exhausted = exhausted || f.Available == 0
	}
	if !exhausted && s.underestimated() {
		return
	}
	if s.r.Pause > 0 {
		return
	}
	if s.r.WholeOrigin {
		s.startBackOff(&s.o.root)
		if u := s.o.outage; u != nil {
			s.startBackOff(&u.scope.base)
		}
		return
	}
	blamed := false
	for i, a := range s.figured {
		if f := &s.r.Figures[i]; s.beside != besideSure && (f.Available == 0 || f.Available > 0 && !exhausted) {
			s.startBackOff(a)
			blamed = true
		}
	}
	switch {
	case blamed:
	case s.beside == besideOnce && len(s.figured) == 0:
		s.startBackOff(s.besideOf)
	default:
		s.startBackOff(&s.l.limit.base)
	}
}

// atOnce reports whether an account of tokens or the like, of which nothing is left, would let the
// work that was refused go again within a second. That says nothing: resets are in whole seconds, and
// what a request has cost may be counted at its end, so that there is less than nothing.
func (s *settlement) atOnce(a *account) bool {
	return a.Unit == window.Other && a.IsBucket() && a.WhenThere(s.claimed(a)) < s.t.Add(time.Second)
}

// contradict takes over a refusal by a policy that comes without a service limit: of several,
// by the one of which least is left by our own count.
func (s *settlement) contradict() {
	if len(s.figured) > 0 {
		return
	}
	var least *account
	part := 2.
	for _, a := range s.termed {
		if left, known := a.Left(s.t); known && a.Quota > 0 && float64(left)/float64(a.Quota) < part {
			least, part = a, float64(left)/float64(a.Quota)
		}
	}
	pause := max(s.r.Pause, 0)
	if s.r.Pause == 0 {
		pause = None
	}
	if least != nil {
		s.penalise(least, func() { least.Contradict(s.t, s.sent, pause) })
	}
}

// underestimated reports whether work was refused because it costs more than it was charged
// under one policy, in a unit such as tokens: that has enough left, by an estimate, and no
// other explains the refusal. It sets what the work costs at least. A second refusal in a row
// is followed by a back-off nevertheless.
func (s *settlement) underestimated() (first bool) {
	at := None
	for i, a := range s.figured {
		if a.Unit != window.Other || s.r.Figures[i].Available < 0 {
			continue
		}
		if at >= 0 {
			return false
		}
		at = i
	}
	if at < 0 {
		return false
	}
	a, f := s.figured[at], &s.r.Figures[at]
	units := int64(1)
	if c := s.claimOf(a); c != nil {
		if !c.Estimated {
			return false
		}
		units = c.Units
	}
	if units >= a.Quota {
		return false
	}
	f.Seen = min(max(f.Available+1, 2*units), a.Quota)
	s.penalise(a, func() { first = a.CountRefusal(s.t, s.sent) })
	return first
}

func (s *settlement) startBackOff(a *account) {
	s.penalise(a, func() {
		a.StartBackOff(s.t, s.sent, s.jitter)
		a.BackOffAtLeast(s.t, s.r.Wait)
	})
	if s.o.shared != nil {
		if p := s.o.shared.pool(a); p.decides() { // else each process finds out for itself
			p.paused(a.BackOff, true)
		}
	}
}

// pause holds the accounts that the report names; else the scope, or the limit beside them that
// has refused the work.
func (s *settlement) pause() {
	if s.r.WholeOrigin {
		s.pauseOrigin()
		return
	}
	named := s.figured
	if len(named) == 0 {
		named = s.termed
	}
	if s.beside == besideSure {
		named = nil
	}
	for _, a := range named {
		s.pauseOne(a)
	}
	if len(named) == 0 {
		s.pauseOne(&s.l.limit.base)
		s.holdKind()
	}
}

func (s *settlement) pauseOne(a *account) {
	s.o.held = max(s.o.held, s.t.Add(s.r.Pause))
	s.penalise(a, func() {
		if s.beside == besideSure && len(s.figured) > 0 && !s.l.scope.learned.beside.inferred {
			a.Hold = max(a.Hold, s.t.Add(s.r.Pause)) // what the figures say is known: no request has to ask for it first
			return
		}
		a.Pause(s.t, s.r.Pause, a.policy.server)
	})
	if s.o.shared != nil {
		s.o.shared.pool(a).paused(s.t.Add(s.r.Pause), false)
	}
}

// resume ends a hold of the whole origin if a request that departed to look whether
// it is over was served.
func (s *settlement) resume() {
	if root := s.o.rootOf(s.l); s.t < root.Hold && s.o.looking && s.sent >= s.o.looked &&
		s.r.answered() && !s.r.Refused && !s.r.Failed && s.r.Pause <= 0 {
		s.o.root.Hold = min(s.o.root.Hold, s.t)
		root.Hold = s.t
	}
}

// infer learns from an answer that says nothing but whether it is a refusal, where
// the server has named no policy.
func (s *settlement) infer() {
	sc := s.l.limit
	base := &sc.base
	switch {
	case !base.Infers() || !s.r.answered():
		return
	case s.r.WholeOrigin:
		if sc.learned != nil && sc.learned.inferred != nil {
			sc.learned.inferred.RefusedElsewhere(&base.Window)
		}
		return
	case s.l.among != s.l.scope:
		if !s.infersBeside() {
			return
		}
	case len(s.r.Figures)+len(s.r.Terms)+len(s.o.Policies()) > 0:
		s.learnCeiling()
		return
	}
	if s.penalty != nil {
		s.penalty.unlearn = sc.inference()
	}
	switch {
	case !s.r.Refused:
		if sc.learned != nil && sc.learned.inferred != nil {
			ks := s.l.among.kinds()
			// Else kinds look that were not refused. A limit of some kinds has none of these.
			sc.learned.inferred.Looks = ks == nil || sc.learned.looks.bare || s.l.among.concernsAll()
			sc.learned.inferred.Served(&base.Window, s.t, s.sent)
		}
	case sc.learnedOf().inferred == nil:
		sc.learned.inferred = window.NewInferred(max(s.r.Pause, 0))
		if sc == s.l.scope && s.l.among == sc {
			sc.learned.inferred.Began(&base.Window, s.o.first.since, s.t, s.sent)
		}
	default:
		if sc.learned.inferred.Refused(&base.Window, s.t, s.sent, max(s.r.Pause, 0)); s.r.Pause <= 0 && s.r.Wait == 0 {
			sc.learned.inferred.Hasten(&base.Window, s.t)
		}
	}
}

// learnCeiling learns a bound on requests in flight from a refusal that names nothing but a Retry-After, beside policies that
// have names.
func (s *settlement) learnCeiling() {
	_, unnamed := s.o.policy("")
	if !s.r.Refused || s.r.Pause <= 0 || len(s.r.Figures)+len(s.r.Terms) > 0 || unnamed || s.o.shared != nil || s.l.look != nil {
		return
	}
	l := s.l.limit.learnedOf()
	if l.ceiling == nil {
		l.ceiling = new(window.Ceiling)
	}
	l.ceiling.Refused(&s.l.limit.base.Window, s.t, s.sent)
}

// servedBelowCeiling takes over that a request was served, for such a bound.
func (s *settlement) servedBelowCeiling() {
	if l := s.l.limit.learned; l != nil && l.ceiling != nil && s.r.answered() {
		l.ceiling.Served(&s.l.limit.base.Window, s.t, s.sent)
	}
}

// dropInferred gives up what was inferred once the server names policies, before
// what it says of them is taken over.
func (s *settlement) dropInferred() {
	if s.l.scope.learned == nil && s.l.limit.learned == nil {
		return
	}
	if len(s.o.Policies())+len(s.r.Terms) == 0 {
		return
	}
	if s.l.scope.kinds() != nil && !s.o.tellsKinds(s.l.scope) {
		s.l.scope.forgetKinds(s.t, s.o)
	}
	_, named := s.o.policy("")
	for _, at := range [...]*scope{s.l.scope, s.l.limit} {
		if at != s.l.scope && s.l.among != s.l.scope {
			break // it is beside the policies
		}
		if l := at.learned; l != nil && (l.inferred != nil || named && l.ceiling != nil) {
			l.inferred, l.ceiling = nil, nil
			at.base.DropInferred(window.Requests, None, 0)
		}
	}
}
