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
	// None if the item has no figure, as in draft -09, Appendix B.3.1: the item
	// then names its policy and says when that resets.
	Available int64

	// Window is the effective window: the time within which no more than the
	// available quota can be used (w, Section 3.1.2). Zero means that it ends
	// now, None that the item gives none. If the server sent its end as an instant of
	// whole seconds, which may be rounded, it extends to the end of that second.
	Window time.Duration

	// Cost is what the request cost, in quota units (c, Section 3.1.4). It is None
	// if the item does not say.
	Cost int64

	// Key holds the bytes of the partition key (pk, Section 3.1.3), which need not
	// be text. It is valid only if HasKey is true.
	Key Key

	// HasKey reports whether there is a key. An empty key is a key.
	HasKey bool

	// Bare reports whether Window was a number that was read as seconds only because nothing
	// says what it means: no draft, no row, no name of a field, no window of the policy. Some
	// servers mean milliseconds.
	Bare bool

	// Resets is the end of the window, or with Full the time at which the quota is
	// full, by the clock of the server and in UTC, if the server sent it as an
	// instant. It is not rounded. Reading.Date is the time of the response by the
	// same clock. The zero Time means that the server sent a delay or none.
	Resets time.Time

	// Full is the time until the whole quota is available, if the quota is renewed
	// unit by unit. Window is then the time until one more unit is available. Zero
	// means that the quota is full, or is not known to be renewed so.
	Full time.Duration
}

// Limits returns the service limits of a response, in the order of their items,
// and what was ignored. Both are empty if there is no RateLimit. Call [Cached] first:
// what a stored response says is not current (editor's draft, Section 8.4).
//
// In an item with both a and r, or both w and t, the newer name wins and the other
// is not read. If the newer one is malformed, the item is dropped. If it is above its
// cap, it counts as not sent and the older one is read. In an item with a, w or c, a
// malformed r or t is an unknown parameter of the editor's draft and is ignored.
//
// Items that repeat a policy and a key are merged into the first of them: the lowest
// available quota, the longest effective window and the highest cost. The drafts do not
// define such items; this is the cautious reading.
func Limits(h http.Header, caps Caps) ([]Limit, []Ignored) {
	lines := h["Ratelimit"]
	if len(lines) == 0 {
		return nil, nil
	}
	limits, _, ignored := readLimits(lines, &caps, &noPolicyField, nil)
	return limits, ignored
}

// readLimits reads the lines of RateLimit as a List, and returns whether they follow the
// editor's draft or draft -08. They may use the memory of room, and of the names of policies, those
// of the RateLimit-Policy beside it.
func readLimits(lines []string, caps *Caps, policies *policyField, room []Limit) ([]Limit, Dialect, []Ignored) {
	if len(lines) == 1 {
		if limits, older, ok := policies.onlyLimit(lines[0], caps, room); ok {
			return limits, dialectOf(older), nil
		}
		if limits, older, ok := plainLimits(lines[0], caps, policies.named, room); ok {
			return limits, dialectOf(older), nil
		}
	}
	return parsedLimits(lines, *caps)
}

// dialectOf returns the dialect of a RateLimit that is a List.
func dialectOf(older bool) Dialect {
	if older {
		return Draft08
	}
	return EditorsDraft
}

// parsedLimits is readLimits with the Structured Fields parser.
func parsedLimits(lines []string, caps Caps) ([]Limit, Dialect, []Ignored) {
	var r listReader
	r.field, r.caps = "RateLimit", caps
	r.read(lines)
	if r.len() == 0 {
		return nil, EditorsDraft, r.ignored
	}
	limits := make([]Limit, 0, r.len())
	var seen index
	for r.next() {
		n := len(limits)
		limits = limits[:n+1] // there is room for every item
		l := &limits[n]
		if !r.serviceLimit(l) {
			limits = limits[:n]
			continue
		}
		if mayRepeat(limits[:n], l.Policy) {
			if i := find(&seen, limits[:n], *l); i != None {
				limits[i].merge(*l)
				limits = limits[:n]
			}
		}
	}
	return limits, dialectOf(r.older && !r.newest), r.ignored
}

// mayRepeat reports whether one of the limits has a policy, or there are too many to
// compare.
func mayRepeat(limits []Limit, policy string) bool {
	for i := range limits {
		if i == maxScan || limits[i].Policy == policy {
			return true
		}
	}
	return false
}

// serviceLimit reads the current item. It looks up only parameters that are there: most
// items have two of six.
func (r *listReader) serviceLimit(l *Limit) (ok bool) {
	var a, older, w, elder, c, pk any // editor's draft a, w, c and pk; draft -08 to -11 r and t
	for _, name := range r.params.Names() {
		switch name {
		case "a":
			a, _ = r.params.Get(name)
		case "r":
			older, _ = r.params.Get(name)
		case "w":
			w, _ = r.params.Get(name)
		case "t":
			elder, _ = r.params.Get(name)
		case "c":
			c, _ = r.params.Get(name)
		case "pk":
			pk, _ = r.params.Get(name)
		}
	}
	if a != nil || w != nil || c != nil {
		older, elder = wellFormed(older), wellFormed(elder)
	}
	*l = Limit{Policy: r.policy, Available: None, Window: None, Cost: None}
	if n, ok := a.(int64); ok && n >= 0 && n <= r.caps.quota() { // the usual case
		l.Available = n
	} else if a != nil || older != nil {
		l.Available = r.units(param{"a", a}, param{"r", older})
	}
	if n, ok := w.(int64); ok && n >= 0 && n <= r.caps.windowSeconds() {
		l.Window = seconds(n)
	} else if w != nil || elder != nil {
		l.Window = r.window(param{"w", w}, param{"t", elder})
	}
	if c != nil {
		l.Cost = r.units(param{"c", c}, param{})
	}
	if pk != nil {
		l.Key, l.HasKey = r.key(pk)
	}
	if !r.malformed {
		r.newest = r.newest || a != nil || w != nil || c != nil
		r.older = r.older || older != nil || elder != nil
	}
	return !r.malformed
}

// wellFormed returns the value of a parameter, or nil if it is not an Integer from 0 on.
func wellFormed(v any) any {
	if n, ok := v.(int64); ok && n >= 0 {
		return v
	}
	return nil
}

func (l Limit) identity() identity { return identity{l.Policy, l.Key, l.HasKey} }

// merge takes the more cautious figures of two items for one policy and key. None is
// below every figure, so max prefers a figure.
func (l *Limit) merge(o Limit) {
	l.Available = lowest(l.Available, o.Available)
	if o.Window > l.Window {
		l.Window, l.Resets, l.Full, l.Bare = o.Window, o.Resets, o.Full, o.Bare
	}
	l.Cost = max(l.Cost, o.Cost)
}
