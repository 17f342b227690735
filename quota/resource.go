package quota

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// This file finds limits of single resources: messages to one channel, edits of one document. The
// requests to all of them are of one kind, so refusals of a busy one would hold the others.
//
// A resource that is refused becomes a kind of its own, and the rest of its kind one that was never refused. So the
// rest may look while the resource is held: see look.go. It is free if that is served. Then
// each other resource that is refused has a limit of its own. If a look of the rest is refused, or none was served
// in 8 holds, or 8 resources were refused, or nothing but several that were refused is served between one hold and the next,
// one limit concerns all, and they are one kind again. Then the next 4 holds are those of the kind, and after the next
// try 16, 64, …, 1,024.
//
// A refusal without a Retry-After tells nothing of this: a bucket serves others a moment later. Nor does one
// where most of the evidence says that refusals are of one request alone: see alone.go.

const (
	maxResources = 8 // of a kind
	enoughHolds  = 8
	maxMerged    = 5
	ofResource   = "\x00" // between the name of a kind and what tells a resource of it
)

// A resource is one of its kind; 0: none is known.
type resource uint64

var resourceSeed = maphash.MakeSeed()

// resources are those of a kind that are kinds of their own.
type resources struct {
	kinds  map[resource]*kind
	holds  int     // that have begun since there are any
	skip   int     // so many have to begin before there are
	merged int     // how often in a row a limit was that of the kind
	free   bool    // the rest is
	heard  instant // arrival of the refusal with which the last hold began
}

// setName sets the name of the kind of the work, and its resource.
func (l *Lease) setName(name string) {
	l.named, l.resource = true, 0
	var known bool
	if l.name, _, known = strings.Cut(name, ofResource); known {
		l.resource = resource(maphash.String(resourceSeed, name))
	}
}

// kindOf returns the kind of a resource of the kind.
func (k *kind) kindOf(r resource) *kind {
	if k == nil || k.resources == nil {
		return k
	}
	if own := k.resources.kinds[r]; own.live() {
		return own
	}
	return k
}

// setApart makes the resource of a refused request a kind of its own.
func (s *settlement) setApart() {
	l, k := s.l, s.l.kind
	if k.rest != nil {
		k = k.rest
	}
	if l.resource == 0 || s.r.Pause <= 0 {
		return
	}
	if k.resources == nil {
		k.resources = &resources{kinds: make(map[resource]*kind)}
	}
	rs := k.resources
	if s.sent >= rs.heard { // else it was in flight when the hold began
		idle := k.served < rs.heard && s.t >= rs.heard.Add(s.r.Pause/2) // nothing else of the kind goes on
		rs.heard = s.t
		if rs.skip > 0 {
			rs.skip--
		}
		switch rs.holds++; {
		case idle && len(rs.kinds) < 2:
			k.merge(s)
		case idle, rs.holds > enoughHolds && !rs.free:
			k.haveOneLimit(s)
		}
	}
	own := k.kindOf(l.resource)
	if own == k && rs.skip == 0 && s.aloneOf().asked[l.name] <= 0 {
		if len(rs.kinds) == maxResources {
			k.haveOneLimit(s)
		} else {
			own = k.split(s)
		}
	}
	l.setKind(own)
}

// split makes a resource of the kind a kind of its own, with the refusals of both. If there is no room, it returns the kind.
func (k *kind) split(s *settlement) *kind {
	ks, r := k.scope.kinds(), s.l.resource
	name := fmt.Sprintf("%s (%04x)", k.name, uint16(r))
	own := ks.of[name]
	if own == nil {
		own = ks.create(s.t, s.o, k.scope, name)
	}
	if own == nil || !k.live() {
		return k
	}
	own.rest, own.in, own.served = k, k.in, k.served
	own.refused, own.until, own.held, own.episode = k.refused, k.until, k.held, k.episode
	k.refused, k.until, k.onTrial, k.proofs = 0, 0, false, 0 // not held: another one may have been refused, too
	k.resources.kinds[r] = own
	s.o.routeAgain("")
	return own
}

// haveOneLimit merges the kind with its resources, because one limit seems to concern all.
func (k *kind) haveOneLimit(s *settlement) {
	if rs := k.resources; len(rs.kinds) > 0 {
		k.merge(s)
		rs.merged = min(rs.merged+1, maxMerged)
		rs.skip = 1 << (2 * rs.merged)
	}
}

// merge makes the kind one with its resources again.
func (k *kind) merge(s *settlement) {
	for _, own := range k.resources.kinds {
		k.held = max(k.held, own.held)
		if own.live() && own.line == nil && own.out == 0 {
			delete(k.scope.kinds().of, own.name)
			s.o.kinds--
		}
	}
	clear(k.resources.kinds)
	k.resources.holds, k.resources.free = 0, false
	s.o.routeAgain("")
}
