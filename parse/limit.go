package parse

import (
	"net/http"
	"time"
)

// Limit is a service limit: an item of RateLimit
// (editor's draft, Section 3.1; draft -09 has r for a, t for w and no c).
type Limit struct {
	// Policy is the name of the policy that the limit belongs to. It may be empty.
	Policy string

	// Available is the available quota in quota units (a, Section 3.1.1). It is
	// None where the item has no figure, as in draft -09, Appendix B.3.1: the item
	// then still names its policy and says when that resets.
	Available int64

	// Window is the effective window: the time within which no more than the
	// available quota can be used (w, Section 3.1.2). Zero means that it is over
	// now, None that none was given.
	Window time.Duration

	// Cost is what the request cost, in quota units (c, Section 3.1.4). It is None
	// where the item does not say.
	Cost int64

	// Key holds the bytes of the partition key (pk, Section 3.1.3), which need not
	// be text. It means something only if HasKey is true.
	Key string

	// HasKey reports whether there is a key. An empty key is a key.
	HasKey bool
}

// Limits returns the service limits of a response, in the order of their items,
// and what was ignored. Both are empty where there is no RateLimit. Call [Cached]
// first: a stored response says nothing current (editor's draft, Section 8.4).
//
// In an item with both a and r, or both w and t, the newer name wins and the other
// is not looked at. A malformed newer one drops the item; one above its cap counts
// as not sent, so that the older one is read.
//
// Items that repeat a policy and a key become one, in the place of the first: the
// lowest available quota, the longest effective window and the highest cost of
// those given. No draft speaks of them; that is the cautious reading.
func Limits(h http.Header, caps Caps) ([]Limit, []Ignored) {
	lines := h["Ratelimit"]
	if len(lines) == 0 {
		return nil, nil
	}
	r := readList("RateLimit", lines, caps)
	limits := make([]Limit, 0, len(r.list))
	var seen index
	for r.next() {
		l, ok := r.serviceLimit()
		if !ok {
			continue
		}
		if i := find(&seen, limits, l); i != None {
			limits[i].merge(l)
			continue
		}
		limits = append(limits, l)
	}
	return limits, r.ignored
}

// serviceLimit reads the current item.
func (r *reader) serviceLimit() (l Limit, ok bool) {
	l.Policy = r.policy
	l.Available = r.units("a", "r")
	l.Window = r.window("w", "t")
	l.Cost = r.units("c")
	l.Key, l.HasKey = r.key()
	return l, !r.malformed
}

func (l Limit) identity() identity { return identity{l.Policy, l.Key, l.HasKey} }

// merge takes the more cautious figures of two items for one policy and key. None
// is below every figure, so that max prefers what was given.
func (l *Limit) merge(o Limit) {
	l.Available = lowest(l.Available, o.Available)
	l.Window = max(l.Window, o.Window)
	l.Cost = max(l.Cost, o.Cost)
}
