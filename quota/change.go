package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// A Change is a change of what is known of an origin's quotas, for people to see: see
// Report.Changes. What is one of these; later versions may add some:
//
//	hold        a Retry-After holds an account until Until; the zero time: it was taken back
//	back-off    the same, after a refusal that named no time
//	window      a new effective window, which ends at Until, with Units left
//	used up     nothing is left of an effective window that ends at Until
//	policy      the server has advertised a policy: Quota units per Window
//	inferred    a quota of Quota units per Window was inferred from refusals
//	limited     a refusal that names no policy concerns the kind of work Detail: see Ask.Kind; or
//	            pauses of the whole origin come for such kinds, or a family of them, and hold these only
//	free        such refusals do not concern it, as far as is known
//	habit       Detail is what was learned of the server, in words
//	prediction  of partition keys: the server's declaration is not used any more
//	evicted     Units accounts were dropped to make room
type Change struct {
	What string

	// Policy is what is known of the account's policy now: its Quota is None, and its
	// Window 0, if it is not known; its Name is "" for the account of a scope or of the
	// whole origin. If Keyed, Key has the bytes of the partition key, which may identify
	// a person.
	Policy

	Units  int64     // of the policy, or as said above; 0 if What says nothing of them
	Until  time.Time // zero: not known
	Detail string
}

// A watched is an account, and what was known of it before a settlement.
type watched struct {
	*account
	quota         int64
	length        time.Duration
	hold, backOff instant
	reported      bool // its state
	usedUp        bool
	epoch         uint32
	habits        window.Habits
}

// watch notes what is known of an account, unless that was done already.
func (s *settlement) watch(a *account) {
	if a.isRoot() && a != &s.o.root && !s.kindsOnly {
		return // it is held with the root
	}
	for i := range s.watched {
		if s.watched[i].account == a {
			return
		}
	}
	s.watched = append(s.watched, watched{
		account: a, quota: a.Quota, length: a.Told(), hold: a.Hold, backOff: a.BackOff,
		reported: a.State == window.Reported, usedUp: a.UsedUp(), epoch: a.Epoch(), habits: a.Habits(&a.policy.server),
	})
}

// watchAnew has it told what the policy of an account is, which was created with it.
func (s *settlement) watchAnew(a *account) {
	for i := range s.watched {
		if w := &s.watched[i]; w.account == a {
			w.quota, w.length = None, 0
		}
	}
}

// watchAll notes what is known of all accounts that the lease was charged to.
func (s *settlement) watchAll() {
	s.watch(&s.o.root)
	s.watch(&s.l.scope.base)
	s.watch(&s.l.limit.base)
	for _, c := range s.l.claims.all() {
		if a, ok := c.Constraint.(*account); ok {
			s.watch(a)
		}
	}
	s.wasInferred = s.inferredQuota()
}

// inferredQuota is the quota that was inferred for the scope; None: none was.
func (s *settlement) inferredQuota() int64 {
	if sc := s.l.limit; sc.learned != nil && sc.learned.inferred != nil && sc.base.State == window.Counting {
		return sc.base.Quota
	}
	return None
}

// tell appends to Report.Changes what the settlement has changed.
func (s *settlement) tell() {
	for i := range s.watched {
		s.tellOf(&s.watched[i])
	}
}

// tellEvictions appends how many accounts were dropped since it was told last.
func (s *settlement) tellEvictions() {
	if n := s.o.evictions; n > 0 {
		s.o.evictions = 0
		s.change(nil, Change{What: "evicted", Units: n})
	}
}

// tellKind appends what was learned of a kind of work.
func (s *settlement) tellKind(what string, k *kind) {
	if s.r.Changes != nil {
		s.change(&k.in.base, Change{What: what, Detail: k.name})
	}
}

// change appends a change of an account; nil: of the origin.
func (s *settlement) change(a *account, c Change) {
	c.Quota = None
	if a != nil {
		if c.Policy = a.present(); c.Keyed {
			c.Key = a.owner.String()
		}
	}
	*s.r.Changes = append(*s.r.Changes, c)
}

func (s *settlement) tellOf(w *watched) {
	a := w.account
	a.Roll(s.t)
	if a.Quota != w.quota || a.Told() != w.length {
		what := "policy"
		if a == &s.l.limit.base && s.inferredQuota() != s.wasInferred {
			what = "inferred"
		}
		if a.Quota >= 0 {
			s.change(a, Change{What: what})
		}
	}
	s.tellPause(a, "hold", w.hold, a.Hold)
	s.tellPause(a, "back-off", w.backOff, a.BackOff)
	anew := a.State == window.Reported && (!w.reported || w.epoch != a.Epoch())
	if usedUp := a.UsedUp() && (anew || !w.usedUp); anew || usedUp {
		s.tellWindow(a, anew, usedUp)
	}
	if learned := a.Habits(&a.policy.server) &^ w.habits; learned != 0 {
		for _, habit := range learned.Words() {
			s.change(a, Change{What: "habit", Detail: habit})
		}
	}
}

// tellWindow tells of a window that is in force: that it is new, that nothing is left.
func (s *settlement) tellWindow(a *account, anew, usedUp bool) {
	left, known := a.Left(s.t)
	if !known {
		return
	}
	c := Change{What: "window", Units: left}
	if end := a.End(); end != window.Never {
		c.Until = s.o.when(end)
	}
	if anew {
		s.change(a, c)
	}
	if usedUp {
		c.What, c.Units = "used up", 0
		s.change(a, c)
	}
}

// tellPause tells of a hold or a back-off that has begun, was made longer or shorter,
// or was taken back before its time.
func (s *settlement) tellPause(a *account, what string, was, is instant) {
	switch {
	case is != was && is > s.t:
		s.change(a, Change{What: what, Until: s.o.when(is)})
	case is < was && was > s.t:
		s.change(a, Change{What: what})
	}
}
