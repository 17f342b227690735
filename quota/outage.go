package quota

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// An outage is what is known of the kinds of work that pauses of the whole origin, a Retry-After beside a 5xx, come for. A
// gateway may have a backend that is out of order, while the others are not. Then such pauses hold these kinds, and no
// other work.
//
// The evidence is that of alone.go: other work that departed when half of the round trip of the paused request was over,
// and is served while the pause lasts. If the whole origin were out of order, or a quota were used up, it would have
// been refused, too. Where a kind is served again and again between its pauses, these are of one request
// alone, and hold nothing.
//
// There is little such work by chance. So after each pause, these kinds go once a request of another kind was served, and for most of a
// round trip before the others: a trial. They have an account of their own, in place of the root.
//
// If work of another kind is paused, that kind is one of these from then on, and what was served of it is no evidence any more. If
// the others were taken to be alone, as much evidence is needed again, and what holds them holds the origin.
// So once a whole origin is out of order, all kinds are soon among these, and no evidence is left.
type outage struct {
	scope  *scope                   // whose account holds these kinds; it is not evicted
	kinds  map[likeKind]*pausedKind // these kinds
	served map[string]int           // the evidence, by other kinds
	all    int                      // the sum of these
	needed int                      // so much shows that only these kinds are out of order

	trip        time.Duration // mean round trip of what was paused lately
	paused      instant       // arrival of the last pause
	began, ends instant       // of the last pause but for those of requests that were out when it began
	half        instant       // when half of the round trip of the request that it came for was over
	held        instant       // when the last hold of the origin ends
	tried       bool          // there was a trial since it began
}

// likeKind is the name of a kind; or of a family, as in kinds.familyOf: what follows it may be an identifier.
type likeKind struct {
	name   string
	family bool
}

// A pausedKind is a kind, or a family, for which a pause came.
type pausedKind struct {
	served int     // since its last pause
	paused instant // arrival of that
	alone  int     // the evidence that its pauses are of one request alone
}

const (
	outageServed    = 11            // evidence; and requests of a trial
	outageAlone     = 6             // four served of its own
	outageMostAlone = 10            // so that the fifth pause in a row is of a kind that is out of order
	outageFamily    = 8             // paused kinds of a family, which is paused then
	outageMended    = 32            // served since the last pause of a kind: it is not out of order any more,
	outageLasts     = kindsLast     // if that was so long ago
	outageOver      = 6 * kindsLast // without a pause; then all is forgotten
	outageWait      = time.Second   // of these kinds for a request of another kind
)

// outageScope is the name of the scope whose account holds the kinds of an outage.
const outageScope = "\x1f\x00outage"

func familyOf(kind string) likeKind {
	return likeKind{kind[:strings.LastIndexByte(kind, '/')+1], true}
}

// isShown reports whether only these kinds are out of order.
func (u *outage) isShown() bool { return u.all >= u.needed }

// of returns what is known of the kind of the work; nil: it is none of these.
func (u *outage) of(l *Lease) *pausedKind {
	if u == nil || !l.named {
		return nil
	}
	if k := u.kinds[likeKind{name: l.name}]; k != nil {
		return k
	}
	return u.kinds[familyOf(l.name)]
}

// servesBetween reports whether the kind of the work is served again and again between its pauses.
func (u *outage) servesBetween(l *Lease) bool {
	k := u.of(l)
	return k != nil && k.alone >= outageAlone
}

// rootOf returns the account that a pause of the whole origin holds for the work.
func (o *Origin) rootOf(l *Lease) *account {
	if o.outage.of(l) != nil {
		return &o.outage.scope.base
	}
	return &o.root
}

// isRoot reports whether the account is one that rootOf returns.
func (a *account) isRoot() bool {
	return a == &a.policy.origin.root || a.owner.long == outageScope
}

// forgetOutage forgets an outage that was long ago.
func (o *Origin) forgetOutage(t instant) {
	if u := o.outage; u != nil && t >= u.paused.Add(outageOver) && !u.scope.base.busy() && !u.scope.base.Paused(t) {
		o.outage = nil
	}
}

// learnOutage takes over a pause of the whole origin, and reports whether it holds some kinds only, or nothing. With
// Peers it holds the origin: others do not know what this process has found out.
func (s *settlement) learnOutage() (kindsOnly, alone bool) {
	r, o := s.r, s.o
	if r.Pause <= 0 || !r.WholeOrigin || r.Refused || !r.answered() || !s.l.named || o.shared != nil || o.accounts.Strategy != Adaptive {
		return false, false
	}
	if o.outage == nil {
		s.beginOutage()
	}
	u := o.outage
	shown, k := u.isShown(), u.of(s.l)
	if k == nil {
		k, shown = s.joinOutage(), false
	}
	if s.sent >= k.paused {
		if k.alone--; k.served > 0 {
			k.alone += 1 + servedScore
		}
		k.alone = min(max(k.alone, 0), outageMostAlone)
	}
	k.served, k.paused, u.paused = 0, s.t, s.t
	if u.scope.base.line == nil {
		maps.DeleteFunc(u.kinds, func(_ likeKind, k *pausedKind) bool {
			return k.served >= outageMended && s.t >= k.paused.Add(outageLasts)
		})
	}
	trip := s.t.Since(s.sent)
	if u.trip == 0 {
		u.trip = trip
	}
	u.trip += (trip - u.trip) / 4
	if s.sent >= u.began {
		u.began, u.ends, u.half = s.t, s.t.Add(r.Pause), s.sent+instant(trip/2)
	}
	return shown, shown && k.alone >= outageAlone
}

// beginOutage begins an outage without kinds. What holds the origin holds them, too.
func (s *settlement) beginOutage() {
	o := s.o
	s.pin(1) // while room is made
	u := &outage{scope: o.scope(s.t, outageScope), kinds: make(map[likeKind]*pausedKind), served: make(map[string]int), needed: outageServed}
	s.pin(-1)
	o.outage = u
	o.apart.Store(true) // what is served is named, too
	a := &u.scope.base
	if a.BackOff = o.root.BackOff; o.root.Paused(s.t) {
		a.Pause(s.t, o.root.Hold.Since(s.t), a.policy.server)
	}
}

// joinOutage adds the kind of the work, or its family if many of that were paused.
func (s *settlement) joinOutage() *pausedKind {
	u := s.o.outage
	name, shown := likeKind{name: strings.Clone(s.l.name)}, u.isShown()
	family, n := familyOf(name.name), 1
	for k := range u.kinds {
		if familyOf(k.name) == family {
			n++
		}
	}
	if n >= outageFamily {
		name = family
		maps.DeleteFunc(u.kinds, func(k likeKind, _ *pausedKind) bool { return familyOf(k.name) == family })
	}
	u.all -= u.served[s.l.name]
	delete(u.served, s.l.name)
	if shown {
		u.needed = u.all + outageServed
		if hold := u.scope.base.Hold; hold > s.t {
			s.o.root.Pause(s.t, hold.Since(s.t), s.o.ofScopes.server)
		}
	}
	k := new(pausedKind)
	u.kinds[name] = k
	s.o.routeAgain("")
	return k
}

// pauseOrigin holds the whole origin, or the kinds of an outage, if only these are out of order.
func (s *settlement) pauseOrigin() {
	o, u := s.o, s.o.outage
	o.looked, o.looking = s.t, false
	if u != nil {
		if s.r.Changes != nil {
			s.watch(&u.scope.base)
		}
		s.pauseOne(&u.scope.base)
	}
	if !s.kindsOnly {
		s.pauseOne(&o.root)
		if u != nil {
			u.held, u.tried = o.root.Hold, s.r.Refused
		}
	}
}

// servedInOutage takes over that work was served.
func (s *settlement) servedInOutage() {
	u, root := s.o.outage, &s.o.root
	if u == nil || s.r.Failed || !s.r.answered() || !s.l.named {
		return
	}
	if k := u.of(s.l); k != nil {
		k.served++
		return
	}
	shown := u.isShown()
	if a := &u.scope.base; !shown && !u.tried && a.line != nil && s.sent >= a.Hold {
		u.tried = true
		root.Hold = max(root.Hold, s.t.Add(u.trip*7/10)) // then the paused request is on its way, if it takes from .7 to 1.4 times as long
		root.Widen(outageServed)
	}
	if s.sent <= u.half || s.t >= u.ends || u.served[s.l.name] == 0 && len(u.served) == maxKinds {
		return
	}
	u.served[strings.Clone(s.l.name)]++
	if u.all++; shown || !u.isShown() {
		return
	}
	if root.Hold == u.held {
		root.Hold = min(root.Hold, s.t)
	}
	if s.r.Changes != nil {
		for _, k := range slices.SortedFunc(maps.Keys(u.kinds), func(x, y likeKind) int { return strings.Compare(x.name, y.name) }) {
			s.change(&u.scope.base, Change{What: "limited", Detail: k.name})
		}
	}
}

// goesAt returns when these kinds may go as far as other work matters: if some waits or is on its way, after a hold,
// once one request was served.
func (u *outage) goesAt(t instant, root *account) instant {
	root.Roll(t)
	if u.isShown() || root.State != window.Expired || root.line == nil && root.Unanswered() == 0 {
		return t
	}
	at := u.scope.base.Hold.Add(outageWait)
	if root.line == nil && root.InFlight == 0 {
		at = min(at, root.BeforeLands()) // then none is on its way any more, and no answer tells it
	}
	return max(t, at)
}
