package quota

import (
	"math"
	"slices"
	"strings"

	"github.com/headway-go/headway/quota/internal/window"
)

// This file finds refusals that concern the refused request alone: a server sheds load, one of its
// replicas is bad, a gateway fails now and then. If a quota is used up, what departs after the
// request that it refused is refused, too. So each request that departed after a refused one of its
// kind, and is served within the time of its back-off, is evidence that it was alone, and
// one that is refused is evidence for a quota. While requests are held, the evidence is those that were in
// flight.
//
// If most of it says alone, what these refusals hold is let go, those to come hold nothing, and
// nothing is inferred from them; but one request less is in flight for the back-off of each of
// them: see asleep.go. What the fields of a refusal call used up is never alone, and with
// Peers no refusal is.
//
// A Retry-After asks for a pause of all requests of the kind, or of the origin, so it takes five times the
// evidence: that of all kinds and scopes, because a server that sheds load does so everywhere, but a part of
// it of its own kind or limit: else what is served of the others would open a quota of one. What is done with work of another kind
// of the limit is evidence, too, if that was refused before: they seem to share a quota. If the refusal names a policy, its
// Retry-After holds all in any case (the draft, Appendix A.3). Requests may overtake each other on their way, and a
// refusal is answered sooner than a request that is served. So the evidence is what departed when half of the round
// trip of the refused one was over.
//
// Eight refusals of one kind in a row are no chance, however many of the others are served: it may have a quota of its own.
//
// After a hold few are in flight, so nothing could have shown that the next refusal was alone. So such a refusal is no evidence for a
// quota: only one is whose request departed when a served one would have been evidence of the opposite. Once refusals have turned
// out to be alone each one is, too, and so is a Retry-After of the whole origin, unless its kind was served again and again between
// its pauses: see outage.go. A refusal counts more where few are refused in
// all: if that is by chance, few of those that depart after a refused one are, and if a quota is used up, many are.
type alone struct {
	bare    int            // the evidence, of refusals without a Retry-After
	asked   map[string]int // of those with one, of each kind and limit, by name
	refused []refusal      // whose back-off or Retry-After has not passed
	trial   trial
	rows    map[string]int // refusals with a Retry-After since one was served, of each kind

	answered, refusals int // requests lately, and how many of these were refused
}

// A refusal may be of the refused request alone.
type refusal struct {
	name    string // of the kind
	whole   bool   // it is of all kinds
	sent    instant
	until   instant  // when its back-off or Retry-After ends
	tells   instant  // what departed since then is no evidence: its arrival while it holds requests, else until
	out     int64    // requests that were out then, with this one
	waiting int64    // requests that waited for the limit then
	limit   *scope   // that it was taken over by
	kind    *kind    // nil: not told apart
	penalty *penalty // nil: it holds nothing
	asked   bool     // it has a Retry-After
}

const (
	servedScore  = 2  // where two requests are in flight, one is served for one that is refused
	aloneScore   = 6  // three served after the first refusal
	wholeScore   = 20 // eleven, if it has a Retry-After, of the whole origin
	askedScore   = 22 // eleven, if it has one, of all kinds
	sureScore    = 27 // so much of all kinds that its own has only not to say otherwise
	ownScore     = 8  // four, of its own
	mostOwnScore = 12 // so that the fifth refusal in a row shows a quota, or the seventh where many are refused
	mostScore    = 24

	mostAskedScore = 40
	mostInRow      = 7 // of refusals of one request each
	keptAnswers    = 128
	leastScore     = -16
	leastBare      = -64 // of refusals without a Retry-After, which may come in waves
	maxRefusals    = 64
	maxHolds       = 8 // of them, the last ones, which may be let go: each takes a kilobyte
)

// mayBeAlone reports whether the answer is a refusal that may concern the refused request alone:
// the report does not show that too little was left, and has no Retry-After for a policy. At a pace none is: what
// departs next is served although one was too early.
func (s *settlement) mayBeAlone() bool {
	if s.r.Pause > 0 && len(s.r.Figures)+len(s.r.Terms) > 0 || s.o.shared != nil || s.o.accounts.Strategy != Adaptive || !s.r.answered() {
		return false
	}
	if s.l.limit.base.IsPaced() {
		return false
	}
	for i := range s.r.Figures {
		if f := &s.r.Figures[i]; f.Available >= 0 && f.Available < s.claimed(s.figured[i]) {
			return false
		}
	}
	return true
}

// aloneOf returns the evidence that a refusal belongs to.
func (s *settlement) aloneOf() *alone {
	at := &s.o.alone
	if !s.r.WholeOrigin {
		at = &s.l.scope.learnedOf().alone
	}
	if *at == nil {
		*at = new(alone)
		s.o.apart.Store(true) // what is served is named, too
	}
	return *at
}

// refusedAlone takes over a refusal as evidence, and reports whether it concerns the refused request
// alone: by all of the evidence, or until a trial shows that it does not.
func (s *settlement) refusedAlone() bool {
	if !s.mayBeAlone() {
		return false
	}
	tooMany := s.tooMany()
	a := s.aloneOf()
	a.answers(1)
	a.forget(s.t)
	if len(a.refused) == maxRefusals {
		a.refused = slices.Delete(a.refused, 0, 1)
	}
	r := refusal{name: s.l.name, whole: s.r.WholeOrigin, sent: s.sent, limit: s.l.limit, asked: s.r.Pause > 0}
	r.out, r.waiting = s.demand()
	if r.asked {
		a.countInRow(r.name)
		r.sent += (s.t - s.sent) / 2
		r.until = s.t.Add(s.r.Pause)
		if s.t >= s.o.shed.Add(kindsLast) {
			s.o.sheds = 0 // what was so long ago says nothing of today
		}
		if !r.whole {
			s.o.shed = s.t
		}
	} else {
		r.until = s.t.Add(max(s.r.Wait, window.FirstBackOff(0)))
	}
	switch {
	case r.whole && r.asked && !s.o.outage.servesBetween(s.l):
		s.count(a, &r, -1)
	case s.shows(a, &r) || a.beside(r.asked, s.l, s.sent) >= 0:
		s.count(a, &r, -a.refusedScore())
	}
	r.tells = r.until
	if s.mayTurnOut = !tooMany && !s.shows(a, &r); s.mayTurnOut {
		if s.tries = s.mayTry(&r) && a.trial.tries(s, &r, a.bare); !s.tries {
			r.tells = s.t
		}
	} else {
		if l := s.l.limit.learned; !tooMany && l != nil && l.inferred != nil {
			l.inferred.Spent(s.sent)
		}
		s.sleep(&r)
	}
	a.refused = append(a.refused, r)
	return !s.mayTurnOut || s.tries
}

// countInRow counts a refusal with a Retry-After of a kind.
func (a *alone) countInRow(name string) {
	n := a.rows[name]
	if a.rows == nil || n == 0 && len(a.rows) >= maxKinds {
		a.rows = make(map[string]int)
	}
	if n == 0 {
		name = strings.Clone(name)
	}
	a.rows[name] = n + 1
}

// tooMany takes over a refusal of one request more than the limit seems to let in flight, and reports whether it is
// that: it says nothing of when others may depart.
func (s *settlement) tooMany() bool {
	sc := s.l.limit
	if s.r.Pause <= 0 || s.r.WholeOrigin || s.l.look != nil || s.l.among != s.l.scope {
		return false
	}
	c := sc.ceiling()
	return c != nil && c.TooMany(&sc.base.Window, s.t, s.sent)
}

// ceiling returns what is inferred of how many requests of a limit may be in flight; nil if nothing is.
func (s *scope) ceiling() *window.Ceiling {
	switch l := s.learned; {
	case l == nil:
		return nil
	case l.inferred != nil:
		return &l.inferred.Ceiling
	default:
		return l.ceiling
	}
}

// forget drops the refusals whose time has passed.
func (a *alone) forget(t instant) {
	a.refused = slices.DeleteFunc(a.refused, func(r refusal) bool { return r.until <= t })
}

// count adds to the evidence of refusals like one.
func (s *settlement) count(a *alone, r *refusal, by int) {
	if !r.asked {
		a.bare = min(max(a.bare+by, leastBare), mostScore)
		return
	}
	if r.whole {
		a.countAsked("", by, mostScore)
		return
	}
	a.countAsked(r.name, by, mostOwnScore)
	if limit := r.limit.base.owner.long; limit != r.name {
		a.countAsked(limit, by, mostOwnScore)
	}
	s.o.sheds = min(max(s.o.sheds+by, leastScore), mostAskedScore)
}

// countAsked adds to the evidence of refusals with a Retry-After of a kind or a limit.
func (a *alone) countAsked(of string, by, most int) {
	sum, known := a.asked[of]
	if a.asked == nil || !known && len(a.asked) >= 2*maxKinds {
		a.asked = make(map[string]int)
	}
	if !known {
		of = strings.Clone(of)
	}
	a.asked[of] = min(max(sum+by, leastScore), most)
}

// shows reports whether a refusal is of one request alone, by the evidence.
func (s *settlement) shows(a *alone, r *refusal) bool {
	switch {
	case !r.asked:
		return a.bare >= aloneScore
	case a.rows[r.name] > mostInRow:
		return false
	case r.whole:
		return a.asked[""] >= wholeScore
	}
	kind, limit := a.asked[r.name], a.asked[r.limit.base.owner.long]
	return max(kind, limit) >= ownScore && s.o.sheds >= askedScore || min(kind, limit) >= 0 && s.o.sheds >= sureScore
}

// demand is how many requests of the limit were out with this one, and how many wait.
func (s *settlement) demand() (out, waiting int64) {
	base := &s.l.limit.base
	waiting = int64(base.line.Len() + s.o.inKindLines(base))
	if s.l.limit == s.l.scope && (s.l.scope.kinds() == nil || s.l.scope.concernsAll()) {
		return s.l.scope.out + 1, waiting
	}
	return base.Unanswered() + 1, waiting
}

// remember keeps what a refusal has changed that may turn out to be alone.
func (s *settlement) remember() {
	if s.mayTurnOut {
		rs := s.aloneOf().refused
		r := &rs[len(rs)-1]
		r.limit, r.kind, r.penalty = s.l.limit, s.l.kind, s.penalty
		if r.asked && len(rs) > maxHolds {
			rs[len(rs)-1-maxHolds].penalty = nil // it holds to its end
		}
	}
}

// served takes over as evidence that a request was served.
func (s *settlement) served() {
	if s.r.Failed || !s.r.answered() {
		return
	}
	if l := s.l.scope.learned; l != nil {
		s.tells(l.alone)
	}
	s.tells(s.o.alone)
}

// tells takes over as evidence of refusals that a request was served.
func (s *settlement) tells(a *alone) {
	if a == nil {
		return
	}
	if won := a.trial.won; a.trial.serves(s.l.name, s.sent) {
		if !won {
			a.bare = max(a.bare, 0) // what was before had no chance
		}
		s.l.limit.base.Widen(math.MaxInt8)
	}
	a.answers(0)
	delete(a.rows, s.l.name)
	if len(a.refused) == 0 {
		return
	}
	a.forget(s.t)
	for _, asked := range [...]bool{false, true} {
		if i := a.beside(asked, s.l, s.sent); i >= 0 {
			s.count(a, &a.refused[i], servedScore)
			s.letGo(a)
		}
	}
}

// answers takes over one answer, and how many refusals it is: none or one.
func (a *alone) answers(refused int) {
	a.answered, a.refusals = a.answered+1, a.refusals+refused
	if a.answered >= keptAnswers {
		a.answered, a.refusals = a.answered/2, a.refusals/2
	}
}

// refusedScore is how much a refusal counts. Where every third or fourth request is refused at random, it counts as one that is
// served, or nothing would show that.
func (a *alone) refusedScore() int {
	if 4*a.refusals < a.answered {
		return servedScore + 1
	}
	return servedScore
}

// beside returns the first refusal for which the answer to the work of a lease, which departed at sent, is evidence; -1: there is none.
func (a *alone) beside(asked bool, l *Lease, sent instant) int {
	return slices.IndexFunc(a.refused, func(r refusal) bool {
		return r.asked == asked && (r.isOf(l.name) || r.concerns(l)) && r.sent < sent && sent < r.tells
	})
}

// isOf reports whether the refusal may be of a kind, by its name.
func (r *refusal) isOf(name string) bool { return r.whole || r.name == name }

// concerns reports whether the refusal, with a Retry-After, is of the limit of a lease, which has refused work of its kind, too.
func (r *refusal) concerns(l *Lease) bool {
	return r.asked && l.kind.live() && l.kind.in == r.limit && l.kind.refused > 0
}

// letGo takes back what the refusals hold, the last one first, but for those of which that is not shown, and what
// holds an account that one of these holds, too. What was inferred of a bound on requests in flight stays, too.
func (s *settlement) letGo(a *alone) {
	var kept []*penalty
	for i := len(a.refused) - 1; i >= 0; i-- {
		r := &a.refused[i]
		if r.penalty == nil {
			continue
		}
		if !s.shows(a, r) || slices.ContainsFunc(kept, r.penalty.meets) {
			kept = append(kept, r.penalty)
			continue
		}
		for _, part := range slices.Backward(r.penalty.parts) {
			if s.r.Changes != nil {
				s.watch(part.account)
			}
			s.freed = append(s.freed, part.account)
		}
		slices.Reverse(r.penalty.parts)
		r.penalty.move(s.t, nil)
		r.penalty, r.tells = nil, r.until
		if r.kind.live() && r.kind.in.learned != nil {
			r.kind.recover()
		}
		if l := r.limit.learned; l != nil && l.inferred != nil {
			l.inferred = nil // when its window began is not known any more
			r.limit.base.DropInferred(window.Requests, None, 0)
		}
		s.forgetBeside(a, r)
		s.sleep(r)
	}
}

// meets reports whether both hold the same account.
func (p *penalty) meets(other *penalty) bool {
	return slices.ContainsFunc(p.parts, func(x penalised) bool {
		return slices.ContainsFunc(other.parts, func(y penalised) bool { return x.account == y.account })
	})
}

// lastsUntil takes over that a refusal asks for a longer or shorter pause than that of its back-off.
func (a *alone) lastsUntil(p *penalty, t instant) {
	if a == nil {
		return
	}
	for i := range a.refused {
		if r := &a.refused[i]; r.penalty == p {
			r.until = t
		}
	}
}

// sleep has one request less in flight for the back-off of the refusal.
func (s *settlement) sleep(r *refusal) {
	if s.o.asleep == nil {
		s.o.asleep = make(map[*account]*asleep)
	}
	base := &r.limit.base
	if s.o.asleep[base] == nil {
		s.o.asleep[base] = new(asleep)
	}
	s.o.asleep[base].sleep(s.t, r)
}
