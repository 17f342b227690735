package quota

import (
	"strings"
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// A trial finds out whether refusals without a Retry-After concern the refused requests alone, where the evidence of
// alone.go does not come: in a back-off nothing departs, after it one request does, and then two, so hardly any is under
// way while a refusal is.
//
// Once few requests are served between refusals, one that is refused while no other is in flight is followed by another
// one at once. If a quota is used up, that is refused, too, and the back-off begins. If two in a row are served, it seems to be
// none: a single one may be served by a unit that has just come back. Then as many may depart as before, and
// another one at once after each refusal, as long as the evidence does not show a quota. A server that bounds requests in
// flight refuses none that is alone, so no trial comes to it.
type trial struct {
	next  instant       // none begins before; 0: no request was refused yet
	price time.Duration // until then, after one was refused
	since instant       // when one may depart whose answer tells; 0: none may
	name  string        // of its kind
	mates int64         // requests that were in flight when it began, less those that were refused since
	one   bool          // the last one was served
	won   bool          // two in a row were, or the last one since

	last   instant // arrival of the last refusal
	served int64   // since then
	few    int     // refusals before which a few were served, less those before which more were
}

const (
	firstTrial = 4 * time.Second // after the first refusal
	fewServed  = 12              // so many between two refusals are not few
	enoughFew  = 4

	longestTrial = time.Second / 16 // until it departs: later, what was used up may be there again
	leastTried   = -8               // the least evidence with which others try, once one was served
)

// mayTry reports whether a trial may follow a refusal: nothing but its status says why it came, and nothing is held. Of several kinds
// others may use up what they share, so that few are served of each.
func (s *settlement) mayTry(r *refusal) bool {
	ks := s.l.scope.kinds()
	return (ks == nil || len(ks.of) <= 1) && !r.asked && !r.whole && s.r.Wait <= 0 && len(s.r.Figures)+len(s.r.Terms)+len(s.o.Policies()) == 0 &&
		s.l.look == nil && s.l.among == s.l.scope && !s.l.limit.base.Paused(s.t)
}

// tries takes over a refusal, and reports whether a request departs at once after it, instead of a back-off.
func (p *trial) tries(s *settlement, r *refusal, score int) bool {
	p.refused(s.t, s.sent)
	base := &s.l.limit.base
	switch {
	case p.since > 0 && s.sent < p.since && p.mates > 0:
		p.mates--
		return true // the one that is out tells
	case p.since > 0:
		if p.since = 0; !p.won {
			p.failed(s.t)
		}
		return false
	case p.won && score < leastTried:
		p.failed(s.t)
		return false
	case p.won:
	case p.next == 0:
		p.price = firstTrial
		p.next = s.t.Add(p.price)
		return false
	case r.out > 1, s.t < p.next, p.few < enoughFew, base.State == window.Counting, base.IsLook(s.sent):
		return false
	}
	p.since, p.mates, p.name = s.t, r.out-1, strings.Clone(r.name)
	s.penalise(base, func() { base.TryAgain(s.t) })
	return true
}

// refused counts how many were served before a refusal at t of a request that departed at sent.
func (p *trial) refused(t, sent instant) {
	if sent >= p.last {
		switch {
		case p.served >= fewServed:
			p.few = max(p.few-1, 0)
		case p.served > 0:
			p.few = min(p.few+1, 2*enoughFew)
		}
		p.served = 0
	}
	p.last = t
}

// failed makes the next trial later.
func (p *trial) failed(t instant) {
	p.one, p.won, p.price = false, false, min(2*p.price, maxPrice)
	p.next = t.Add(p.price)
}

// serves takes over that a request of the kind with this name, which departed at sent, was served. It reports
// whether that was a trial which shows that refusals are at random.
func (p *trial) serves(name string, sent instant) bool {
	p.served++
	if p.since == 0 || sent < p.since || name != p.name {
		return false
	}
	late := sent >= p.since.Add(longestTrial)
	if p.since = 0; late {
		return false
	}
	p.one, p.won = true, p.one
	return p.won
}
