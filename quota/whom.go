package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// If a refusal names no policy, this file learns which kinds of work it concerns. Strategy
// describes how.
//
// A limit is the account of a scope, and what was learned of it: a hold or a back-off, a
// slow start, an inferred quota. The first one concerns all kinds of work of its scope.
// It loses the kinds that turn out to be free:
//
//   - a look was served (look.go) while a Retry-After had more than a second to go, or
//     several looks in its last second, or many more than an inferred quota allows. Between them
//     the kind may be refused: its own quota may be used up, too. But where a kind is refused that
//     was not served for long, others have used the quota up, and these looks do not count;
//   - in a back-off, whose length is our own, work of the kind was served after a refusal,
//     and then a kind that the limit had refused was refused again. Until then the kind
//     is on trial. If the other is served, the quota was there again, and all kinds are
//     as before.
//
// A free kind that is refused gets a limit of its own, or joins one whose hold ends at
// the same time, unless it was served in that hold. So does a kind whose Retry-After
// ends earlier than the hold of its limit: they are not of one quota.

const (
	fits      = 1500 * time.Millisecond // apart the holds of one quota may end, in whole seconds
	maxJoined = 2

	proofLasts = time.Minute // until the next one
	fewProofs  = 4           // looks in the last second of a hold, each in another; four times as many for each time that the kind was free in error
)

// learnKind learns from an answer which limit concerns the kind of the work. It sets the
// limit of the lease to the one that a refusal is taken over by.
func (s *settlement) learnKind() {
	l := s.l
	ks, k := l.among.kinds(), l.kind
	refused := (s.r.Refused || s.r.Pause > 0) && !s.r.WholeOrigin && (s.beside == besideSure || len(s.r.Figures)+len(s.r.Terms) == 0)
	answered := s.r.answered()
	if l.look != nil {
		if l.endLook() && answered {
			k.looked(s, refused)
		}
		return
	}
	switch {
	case answered && refused && l.named && s.o.tellsKinds(l.among):
		if ks == nil {
			ks = l.among.tellKindsApart(s.o)
		}
		if !k.live() {
			l.setKind(ks.find(s.t, s.o, l))
		}
		if l.kind != nil {
			s.setApart()
			l.kind.refusedBy(s)
		}
	case answered && !s.r.Refused && s.r.Pause <= 0 && !s.r.Failed && k.live():
		k.servedBy(s)
	}
}

// endLook counts the look as no longer out. It reports whether it still concerns the limit of its kind.
func (l *Lease) endLook() (concerns bool) {
	k := l.kind
	k.out--
	l.look.out = max(l.look.out-1, 0)
	concerns = k.live() && k.in.learned != nil && l.look == &k.in.learned.looks
	l.look = nil
	return concerns
}

// holdKind holds the kind for the Retry-After of its refusal. Other kinds may turn out not
// to be concerned by it. The kind that was refused is.
func (s *settlement) holdKind() {
	k := s.l.kind
	if !k.live() {
		return
	}
	if now := k.scope.kinds().of[s.l.name].kindOf(s.l.resource); now != nil {
		k = now // resources may have become one kind while the request was in flight
	}
	before := k.held
	k.held = max(k.held, s.t.Add(s.r.Pause))
	if s.penalty != nil {
		s.penalty.kind, s.penalty.heldBefore, s.penalty.heldAfter = k, before, k.held
	}
}

// refusedBy takes over the refusal of a request that was not a look.
func (k *kind) refusedBy(s *settlement) {
	to := k.concerned(s)
	l := &to.learnedOf().looks
	if !to.base.Paused(s.t) {
		l.begin(s.t)
	}
	l.bare = s.r.Pause <= 0
	if k.isMember() && s.sent >= k.refused {
		for _, other := range k.scope.kinds().of {
			if other != k && other.in == to && other.onTrial {
				other.setFree(s)
			}
		}
	}
	if k.usedByOthers(s) {
		k.disprove(s, to)
	}
	k.join(s, to)
}

// usedByOthers reports whether requests of other kinds have used up the quota that the request was refused for: no
// request of its own kind was served since its last Retry-After ended, or for longer than the window is by this one.
func (k *kind) usedByOthers(s *settlement) bool {
	if s.r.Pause <= 0 {
		return false
	}
	return s.sent > k.served.Add(max(s.r.Pause, fits)) || s.sent >= k.until && k.served < k.until
}

// disprove takes over that a limit concerns several kinds: the looks that were served in spite of it do not count, and the
// hold that begins now has none, unless it is a long one. If the looks of a hold are served in the next window, they may use it up,
// so that a request is refused as soon as the hold is over, and so on.
func (k *kind) disprove(s *settlement, at *scope) {
	if s.r.Pause < longHold {
		l := &at.learned.looks
		l.next = max(l.next, s.t.Add(s.r.Pause))
	}
	for _, other := range k.scope.kinds().of {
		if other.in == at {
			other.proofs = 0
		}
	}
}

// join makes the kind a member of a limit, which has refused it.
func (k *kind) join(s *settlement, to *scope) {
	until := window.Never // the end of a back-off is our own
	if s.r.Pause > 0 {
		until = s.t.Add(s.r.Pause)
	}
	if k.isMember() {
		until = max(until, k.until)
	}
	isNew := k.refused == 0 || k.in != to
	if k.isFree() {
		s.o.routeAgain("")
	}
	k.in, s.l.limit = to, to
	k.refused, k.until, k.episode = max(s.t, 1), until, to.learnedOf().looks.episode
	if k.onTrial, k.family.refused = false, true; s.r.Pause <= 0 {
		k.proofs = 0
	}
	k.scope.kinds().refused = s.t
	if isNew {
		s.tellKind("limited", k)
	}
}

// concerned returns the limit that a refusal of the kind belongs to.
func (k *kind) concerned(s *settlement) *scope {
	if !k.isFree() {
		if hold := k.in.base.Hold; s.r.Pause > 0 && s.t.Add(s.r.Pause+fits) < hold && !k.isMember() {
			return k.ownLimit(s)
		}
		return k.in
	}
	if k.belongs(s, k.scope) {
		return k.scope
	}
	for _, at := range k.scope.kinds().parts {
		if at.base.place != evicted && k.belongs(s, at) {
			return at
		}
	}
	return k.ownLimit(s)
}

// belongs reports whether the refusal of a free kind belongs to a limit that is held now. Only a Retry-After tells.
func (k *kind) belongs(s *settlement, at *scope) bool {
	b := &at.base
	if s.r.Pause <= 0 || b.Hold <= s.t || k.served >= at.learnedOf().looks.since {
		return false
	}
	if end := s.t.Add(s.r.Pause); k.joined >= maxJoined || max(end, b.Hold) > min(end, b.Hold).Add(fits) {
		return false
	}
	k.joined++
	return true
}

// setFree takes the kind out of its limit. If it was refused before, it has a limit of
// its own.
func (k *kind) setFree(s *settlement) {
	from := k.in
	k.onTrial, k.proofs, k.family.free = false, 0, true
	if k.in = &k.scope.kinds().free; k.refused > 0 {
		k.in = k.ownLimit(s)
	}
	if k.in == from {
		return
	}
	if k.resources != nil {
		k.resources.free, k.resources.merged = true, 0
	}
	s.tellKind("free", k)
	from.learned.looks.found(s.t)
	if from.learned.inferred != nil { // of this kind, too
		from.learned.inferred = from.learned.inferred.Anew()
		from.base.DropInferred(window.Requests, None, 0)
	}
}

// servedBy takes over that a request was served that was not a look.
func (k *kind) servedBy(s *settlement) {
	k.served = max(k.served, s.sent)
	if k.in.learned == nil {
		return
	}
	b, l := &k.in.base, &k.in.learned.looks
	switch {
	case l.recovered || s.sent < max(l.since, b.Hold, b.BackOff):
	case !l.bare || k.isMember():
		k.recover()
	default:
		k.onTrial = true
	}
}

// recover ends an episode of a limit: it has served again.
func (k *kind) recover() {
	l := &k.in.learned.looks
	l.recovered = true
	l.episode++
	for _, other := range k.scope.kinds().of {
		if other.in == k.in {
			other.onTrial = false
		}
	}
}
