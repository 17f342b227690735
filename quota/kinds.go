package quota

import (
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// This file keeps the kinds of work of a scope (see Ask.Kind), and the limits that
// concern them. Which do is learned in whom.go, with the help of look.go. All of it is
// forgotten when no refusal has come for long.

const (
	maxKinds       = 64   // of one scope
	maxOriginKinds = 4096 // of all scopes of an origin
	maxParts       = 16   // limits of one scope, beside the first

	kindsLast        = 10 * time.Minute // without a refusal; then they are forgotten,
	kindsLastWindows = 20               // but not before so many inferred windows
)

// learned is what refusals that name no policy have taught of a limit.
type learned struct {
	inferred *window.Inferred // its quota; nil: nothing is inferred
	ceiling  *window.Ceiling  // on requests in flight, beside policies that have names; nil: nothing is
	kinds    *kinds           // of the scope, in the limit of the scope itself; nil: they are not told apart
	looks    looks
	alone    *alone  // of the scope itself: see alone.go; nil: no refusal may be
	beside   *beside // of the scope itself: see beside.go; nil: none is known
}

// learnedOf returns what was learned of a limit.
func (s *scope) learnedOf() *learned {
	if s.learned == nil {
		s.learned = &learned{looks: newLooks()}
	}
	return s.learned
}

// kinds are the kinds of work of one scope.
type kinds struct {
	of       map[string]*kind
	families map[string]*family
	free     scope    // the account of all kinds that are free; it holds none of them
	parts    []*scope // limits of some kinds, beside that of the scope itself
	lines    int      // kinds that have a line
	refused  instant  // arrival of the last refusal
}

// A kind is what is known of one kind of work. It is a wait.Constraint, in place of the
// account of its limit, because the kinds of a limit wait in lines of their own: work
// that may look does not wait behind work that may not.
type kind struct {
	uncharged
	name   string
	scope  *scope // that it belongs to
	in     *scope // its limit: the scope, or a part of it; or kinds.free
	family *family
	line   *wait.Line
	out    int // looks of this kind that are out

	resources *resources // that are kinds of their own: see resource.go; nil: none was
	rest      *kind      // of a resource: the kind that it was of; nil: it is none

	served  instant // departure of the last request that was served
	refused instant // arrival of the last refusal; 0: none came
	until   instant // when its last Retry-After ends; Never: there was none
	held    instant // when the last of its Retry-Afters ends: nothing of this kind departs before, whatever its limit is
	episode uint32  // of the limit, in which it was refused last

	proofs  int64   // looks that were served although the limit should have refused them
	proved  instant // beginning of the hold in which the last of them was
	onTrial bool    // it was served after a refusal of another kind; if that is refused again, this one is free: see refusedBy
	joined  uint8   // how often it has joined another limit because both holds end together
}

// A family is the kinds whose names are the same up to the last slash. What follows may
// be an identifier that looks like a word.
type family struct{ refused, free bool } // some kind was

// tellsKinds reports whether a refusal that names no policy may concern some kinds of the
// scope only. Where the policy without a name is advertised, all kinds share its quota,
// unless no work of the scope has been charged to it. A policy
// with partition keys has an account for each key: a refusal that names none, such as that of
// GitHub's secondary limit, is of a limit beside them, which concerns all.
func (o *Origin) tellsKinds(s *scope) bool {
	if o.accounts.Strategy != Adaptive {
		return false
	}
	if strings.HasSuffix(s.base.owner.long, besideOf) {
		return true
	}
	p, named := o.policy("")
	if !named || p.Quota < 0 || p.Keyed {
		return !named
	}
	a := o.unnamed(s)
	return a == nil || a.Quota < 0
}

// unnamed returns the account of the policy without a name of a scope, or nil.
func (o *Origin) unnamed(s *scope) *account { return o.find(accountID{owner: s.base.owner.long}) }

// nameKind asks for the kind of the work, where kinds are told apart. No mutex is held.
func (l *Lease) nameKind(o *Origin, ask *Ask) {
	l.unname(ask)
	if ask.Kind != nil && o.apart.Load() {
		l.setName(ask.Kind())
	}
}

// unname begins the naming of the kind of the work anew.
func (l *Lease) unname(ask *Ask) {
	if l.kindOf, l.named = ask.Kind, false; l.name != "" {
		l.name = ""
	}
}

// findKind sets the kind of the work of the lease, and the limit that concerns it.
func (l *Lease) findKind(t instant, o *Origin) {
	l.kind, l.limit = nil, l.among
	ks := l.among.kinds()
	switch {
	case ks == nil:
	case !o.tellsKinds(l.among) || l.among.stale(t):
		l.among.forgetKinds(t, o)
	case l.named:
		l.setKind(ks.find(t, o, l))
	}
}

func (l *Lease) setKind(k *kind) {
	if l.kind = k; k != nil {
		if k.in.base.place == evicted {
			k.in = &k.scope.kinds().free
		}
		l.limit = k.in
	}
}

// constraint returns what the work claims because of its kind.
func (l *Lease) constraint(t instant) wait.Constraint {
	if l.kind == nil || l.kind.isFree() && l.kind.held <= t && l.kind.line == nil {
		return &l.limit.base
	}
	return l.kind
}

// concernsAll reports whether the limit of the scope concerns all kinds, as far as is known.
func (s *scope) concernsAll() bool {
	for _, k := range s.kinds().of {
		if k.in != s {
			return false
		}
	}
	return true
}

// tellKindsApart begins to, with the first refusal.
func (s *scope) tellKindsApart(o *Origin) *kinds {
	ks := &kinds{of: make(map[string]*kind)}
	ks.free.base.init(&o.ofScopes, longOwner(partName(s.base.owner.long, "")))
	s.learnedOf().kinds = ks
	o.apart.Store(true)
	o.routeAgain("")
	return ks
}

// kinds returns the kinds of a scope, nil if they are not told apart.
func (s *scope) kinds() *kinds {
	if s.learned == nil {
		return nil
	}
	return s.learned.kinds
}

// find finds or creates the kind of the work. It returns nil if there is no room.
func (ks *kinds) find(t instant, o *Origin, l *Lease) *kind {
	if k := ks.of[l.name]; k != nil {
		return k.kindOf(l.resource)
	}
	return ks.create(t, o, l.among, l.name)
}

// create creates the kind of a name that has none. It returns nil if there is no room.
func (ks *kinds) create(t instant, o *Origin, s *scope, name string) *kind {
	if o.kinds >= maxOriginKinds || len(ks.of) >= maxKinds && !ks.makeRoom(t, o) {
		return nil
	}
	k := &kind{name: strings.Clone(name), scope: s, in: s}
	k.family = ks.familyOf(k.name)
	ks.of[k.name] = k
	o.kinds++
	return k
}

// makeRoom forgets an arbitrary kind that is not in use; a free one only if there is no
// other. It reports whether there was one.
func (ks *kinds) makeRoom(t instant, o *Origin) bool {
	var found *kind
	for _, k := range ks.of {
		if k.line == nil && k.out == 0 && k.held <= t && (found == nil || found.isFree()) {
			found = k
		}
	}
	if found == nil {
		return false
	}
	delete(ks.of, found.name)
	o.kinds--
	return true
}

func (ks *kinds) familyOf(name string) *family {
	name = name[:strings.LastIndexByte(name, '/')+1]
	f := ks.families[name]
	if f == nil {
		if ks.families == nil || len(ks.families) >= maxKinds {
			ks.families = make(map[string]*family)
		}
		f = new(family)
		ks.families[name] = f
	}
	return f
}

// stale reports whether the kinds of a scope are to be forgotten.
func (s *scope) stale(t instant) bool {
	ks := s.kinds()
	lasts := max(kindsLast, times(min(s.base.Length, time.Hour), kindsLastWindows))
	if ks.lines > 0 || s.base.Paused(t) || t < ks.refused.Add(lasts) {
		return false
	}
	for _, k := range ks.of {
		if k.out > 0 || k.held > t {
			return false
		}
	}
	return true
}

// forgetKinds forgets all kinds of a scope, and what was inferred of some of them. What
// holds a kind holds the scope then.
func (s *scope) forgetKinds(t instant, o *Origin) {
	ks := s.kinds()
	if ks == nil {
		return
	}
	for _, k := range ks.of {
		if k.held > t {
			s.base.Hold = max(s.base.Hold, k.held)
		}
	}
	if ks.lines > 0 {
		o.routeAgain("")
	}
	o.kinds -= len(ks.of)
	delete(o.asleep, &ks.free.base) // no eviction will: it is not in Origin.all
	delete(o.streams, &ks.free.base)
	s.learned.kinds, s.learned.looks = nil, newLooks()
	for _, k := range ks.of {
		if k.in != s {
			s.dropInferred()
			return
		}
	}
}

// dropInferred gives up the inferred quota of a limit.
func (s *scope) dropInferred() {
	if s.learned != nil && s.learned.inferred != nil {
		s.learned.inferred = nil
		s.base.DropInferred(window.Requests, None, 0)
	}
}

// ownLimit returns a limit for the kind alone: a scope of its own, which is an account
// as others are. If there are too many, it returns the limit of the scope.
func (k *kind) ownLimit(s *settlement) *scope {
	ks := k.scope.kinds()
	ks.parts = slices.DeleteFunc(ks.parts, func(at *scope) bool { return at.base.place == evicted })
	if len(ks.parts) >= maxParts {
		return k.scope
	}
	s.pin(1) // while room is made
	at := s.o.scope(s.t, partName(k.scope.base.owner.long, k.name))
	s.pin(-1)
	if !slices.Contains(ks.parts, at) {
		ks.parts = append(ks.parts, at)
	}
	return at
}

// partOf stands between the name of a scope and that of a kind which has a limit of its
// own.
const partOf = "\x1f\x00kind\x00\x1f"

func partName(scope, kind string) string { return scope + partOf + kind }

// isFree reports whether no limit concerns the kind.
func (k *kind) isFree() bool { return k.live() && k.in == &k.scope.kinds().free }

// live reports whether the kind is not forgotten.
func (k *kind) live() bool {
	if k == nil {
		return false
	}
	ks := k.scope.kinds()
	return ks != nil && ks.of[k.name] == k
}

// isMember reports whether the limit of the kind has refused it since it last served.
func (k *kind) isMember() bool {
	return k.refused > 0 && k.in.learned != nil && k.episode == k.in.learned.looks.episode
}

// kick looks at the lines of all kinds, and appends the waiters to wake.
func (ks *kinds) kick(now time.Time, woken []*wait.Waiter) []*wait.Waiter {
	if ks == nil || ks.lines == 0 {
		return woken
	}
	for _, k := range ks.of {
		woken = k.line.AppendKicked(woken, now)
	}
	return woken
}

// presentKind replaces the claim on the account of the scope by what work of that kind
// claims. It creates nothing.
func (o *Origin) presentKind(t instant, ask *Ask, l *Lease, cs *claims) {
	s := o.scopes[ask.Scope]
	at := 1
	if among := o.amongOf(t, s, ask); among != s {
		at = len(cs.all())
		cs.add(&among.base, 1)
		s = among
	}
	if s == nil || s.kinds() == nil || !l.named || !o.tellsKinds(s) {
		return
	}
	ks := s.kinds()
	l.scope, l.among, l.limit = s, s, s
	if k := ks.of[l.name].kindOf(l.resource); k != nil {
		l.setKind(k)
	} else {
		l.kind = &kind{name: l.name, scope: s, in: s, family: new(family)}
	}
	cs.all()[at].Constraint = l.constraint(t)
}

// kindsOf returns the kinds of the scope that an account belongs to; nil, if they are
// not told apart.
func (o *Origin) kindsOf(a *account) map[string]*kind {
	if !a.ofNone() || !o.apart.Load() {
		return nil
	}
	name, _, _ := strings.Cut(a.owner.long, partOf)
	if s := o.scopes[name]; s != nil && s.kinds() != nil {
		return s.kinds().of
	}
	return nil
}

// inKindLines returns how much work waits for an account in the lines of its kinds.
func (o *Origin) inKindLines(a *account) (n int) {
	for _, k := range o.kindsOf(a) {
		if &k.in.base == a {
			n += k.line.Len()
		}
	}
	return n
}
