package parse

import (
	"net/http"
	"strings"
	"time"
)

// Policy is a quota policy: an item of RateLimit-Policy
// (editor's draft, Section 2.1; draft -09 has the same form).
type Policy struct {
	// Name identifies the policy among those of its origin. It may be empty.
	Name string

	// Quota is how many quota units are allocated in each window and partition
	// (q, Section 2.1.1). It is None if only the window is known, from the name of a
	// vendor's field: X-RateLimit-Remaining-Minute alone.
	Quota int64

	// Unit is what the quota counts (qu, Section 2.1.2). It is "requests" where the
	// field says nothing, an empty String, or "request" as in the registry
	// (Section 11.3). Any other text is kept as it is.
	Unit string

	// Window is the time window of the quota (w, Section 2.1.3).
	// Zero means that the item gives none.
	Window time.Duration

	// Key holds the bytes of the partition key (pk, Section 2.1.4), which need not
	// be text. It is valid only if HasKey is true.
	Key Key

	// HasKey reports whether there is a key. An empty key is a key.
	HasKey bool
}

// Policies returns the quota policies of a response, in the order of their items,
// and what was ignored. Both are empty if there is no RateLimit-Policy.
//
// An item without the REQUIRED q is dropped, and so is one with w=0, which
// Section 2.1.3 of the editor's draft forbids. An item whose quota unit is longer than
// Caps.NameBytes is dropped, too: it is unknown what its quota counts.
//
// Items that repeat a name and a key are merged into the first of them: the lowest
// quota with its unit (of equal quotas the unit that sorts first) and the longest
// window. The drafts do not define such items; this is the cautious reading.
func Policies(h http.Header, caps Caps) ([]Policy, []Ignored) {
	lines := h["Ratelimit-Policy"]
	if len(lines) == 0 {
		return nil, nil
	}
	return readPolicies(lines, caps)
}

// readPolicies reads the lines of RateLimit-Policy.
func readPolicies(lines []string, caps Caps) ([]Policy, []Ignored) {
	r := readList("RateLimit-Policy", lines, caps)
	if isSyntax(r.ignored) {
		text := strings.Join(lines, ", ")
		if without := withoutKinds(text); without != text {
			r = readList("RateLimit-Policy", []string{without}, caps)
		}
	}
	policies := make([]Policy, 0, r.len())
	var seen index
	for r.next() {
		p, ok := r.quotaPolicy()
		if !ok {
			continue
		}
		if i := find(&seen, policies, p); i != None {
			policies[i].merge(p)
			continue
		}
		policies = append(policies, p)
	}
	return policies, r.ignored
}

// withoutKinds returns a List without a String before the name of a policy, in which
// Hugging Face names the kind of the policy: "fixed window";"api";q=500;w=300.
func withoutKinds(list string) string {
	var b strings.Builder
	for {
		end := strings.Index(list, `";"`)
		if end < 0 {
			return b.String() + list
		}
		start := max(strings.LastIndexByte(list[:end], '"'), 0)
		b.WriteString(list[:start])
		list = list[end+2:]
	}
}

// quotaPolicy reads the current item.
func (r *listReader) quotaPolicy() (p Policy, ok bool) {
	q, qu, w, pk := param{name: "q"}, param{name: "qu"}, param{name: "w"}, param{name: "pk"}
	for _, name := range r.params.Names() {
		switch name {
		case "q":
			q.value, _ = r.params.Get(name)
		case "qu":
			qu.value, _ = r.params.Get(name)
		case "w":
			w.value, _ = r.params.Get(name)
		case "pk":
			pk.value, _ = r.params.Get(name)
		}
	}
	p.Name = r.policy
	p.Quota = r.quota(q)
	p.Unit = r.unit(qu.value)
	p.Window = r.policyWindow(w)
	p.Key, p.HasKey = r.key(pk.value)
	return p, !r.malformed
}

// quota reads the REQUIRED q.
func (r *listReader) quota(q param) int64 {
	n := r.units(q, param{})
	if n == None && !r.malformed {
		r.drop("q", errMissing)
	}
	return n
}

// unit reads qu: a String, or a Token as in names.
func (r *listReader) unit(v any) string {
	if v == nil {
		return requests
	}
	unit, ok := text(v)
	switch {
	case !ok:
		r.drop("qu", errType)
	case len(unit) > r.caps.nameBytes():
		r.ignore("qu", ErrCap)
		r.drop("qu", errMissing)
	}
	return canonicalUnit(unit)
}

// requests is the default quota unit.
const requests = "requests"

// canonicalUnit returns "requests" for every name of that unit.
func canonicalUnit(unit string) string {
	if unit == "" || unit == "request" {
		return requests
	}
	return unit
}

// policyWindow reads w, which must not be 0. It returns 0 if there is none.
func (r *listReader) policyWindow(w param) time.Duration {
	switch d := r.window(w, param{}); d {
	case None:
		return 0
	case 0:
		r.drop("w", errRange)
		return 0
	default:
		return d
	}
}

func (p Policy) identity() identity { return identity{p.Name, p.Key, p.HasKey} }

// merge takes the more cautious figures of two items for one policy and key. The result
// does not depend on the order of items.
func (p *Policy) merge(o Policy) {
	if p.Quota == None || o.Quota != None && o.Quota < p.Quota || o.Quota == p.Quota && o.Unit < p.Unit {
		p.Quota, p.Unit = o.Quota, o.Unit
	}
	p.Window = max(p.Window, o.Window)
}
