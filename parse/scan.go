package parse

import (
	"net/http"
	"slices"
	"sync"
)

// A table is the rows that a Reader reads by, with an index over the names of
// fields: most names of a header are dismissed by their length, first and last letters.
type table struct {
	rows    []row
	hosted  []int      // the rows for some hosts only
	hand    bool       // some of them are set by hand
	lengths [32]uint64 // of names by their first letter; 63 is any longer one
	lasts   [32]uint32 // their last letters
	known   [32][]family
	exact   map[string]sightings // of names as net/http stores them, but for families
	dull    string               // the one that nearly all headers have; "": it may say something
}

// A family is the known fields whose names begin alike.
type family struct {
	lead    string
	members []known
}

// leadBytes is how many bytes tell families apart.
const leadBytes = 6

// known is a field, or a family of fields, to look out for.
type known struct {
	pattern
	seen sightings
}

// Scanned is what a Reader has found in the names of a header: see [Reader.Scan]. It
// means something to that Reader only. Zero: there is nothing to read.
type Scanned uint64

// sightings tell which known fields a header has.
type sightings uint64

const (
	seenCache     sightings = 1 << iota // one that may say that the response is stored
	seenRateLimit                       // RateLimit
	seenPolicy                          // RateLimit-Policy
	seenPartition                       // RateLimit-Partition
	seenLegacy                          // one of draft -06
	seenRetry                           // Retry-After or a finer one
	seenAside                           // one that says something only beside others
	seenOdd                             // one of all these whose name is not canonical
	seenRow                             // the first row; the others follow
)

// lastRow is the bit that stands for the last rows of a long table.
const lastRow = 63 - 8

// ofRow is the sighting of a field that a row is for.
func ofRow(i int) sightings { return seenRow << min(i, lastRow) }

// builtIn is the table without rows of one's own. Read-only.
var builtIn = sync.OnceValue(func() *table { return newTable(nil) })

// draft06 is draft -06 as a row. Read-only.
var draft06 = sync.OnceValue(func() *row {
	r := newRow(&Vendor{
		Name:      "draft -06",
		Limit:     []string{"RateLimit-Limit"},
		Remaining: []string{"RateLimit-Remaining"},
		Reset:     []string{"RateLimit-Reset"},
	}, false)
	return &r
})

// newTable returns a table of some rows of one's own, and the built-in ones after
// them.
func newTable(own []Vendor) *table {
	t := &table{}
	for name, seen := range map[string]sightings{
		"Age": seenCache, "Cache-Status": seenCache, "X-From-Cache": seenCache,
		"RateLimit": seenRateLimit, "RateLimit-Policy": seenPolicy, "RateLimit-Partition": seenPartition,
		"RateLimit-Limit": seenLegacy, "RateLimit-Remaining": seenLegacy, "RateLimit-Reset": seenLegacy,
		"Date": seenAside, "Retry-After": seenRetry, "Retry-After-Ms": seenRetry, "X-Ms-Retry-After-Ms": seenRetry,
	} {
		t.know(newPattern(name), seen)
	}
	all := slices.Concat(slices.Clone(own), Vendors())
	for i := range all {
		t.add(newRow(&all[i], i < len(own)))
	}
	t.index()
	return t
}

// index looks up, once for all, the names that are known to the letter.
func (t *table) index() {
	t.exact = make(map[string]sightings)
	for _, families := range t.known {
		for _, f := range families {
			for _, k := range f.members {
				if name := k.prefix + k.suffix; !k.star && canonical(name) {
					t.exact[name] = t.sight(name)
				}
			}
		}
	}
	if t.exact["Date"] == seenAside {
		t.dull = "Date" // who needs it finds it
	}
}

// add adds a row.
func (t *table) add(r row) {
	i := len(t.rows)
	t.rows = append(t.rows, r)
	if len(r.Hosts) > 0 {
		t.hosted = append(t.hosted, i)
		t.hand = t.hand || r.hand
	}
	fields := ofRow(i)
	if r.Sign != "" {
		t.know(r.sign, ofRow(i))
		fields = seenAside
	}
	for _, patterns := range r.fields {
		for _, p := range patterns {
			t.know(p, fields)
		}
	}
	for _, name := range r.partition {
		t.know(newPattern(name), seenAside)
	}
}

// know adds a pattern to the index.
func (t *table) know(p pattern, seen sightings) {
	if p.prefix == "" {
		return // it would have to be looked for in every name
	}
	at := p.prefix[0] & 31
	n := len(p.prefix) + len(p.suffix)
	if p.star {
		t.lengths[at] |= ^uint64(0) << min(n+1, 63)
	} else {
		t.lengths[at] |= 1 << min(n, 63)
	}
	if end := p.suffix; p.star && end == "" {
		t.lasts[at] = ^uint32(0)
	} else {
		end = p.prefix + end
		t.lasts[at] |= 1 << (end[len(end)-1] & 31)
	}
	members := t.family(at, p.prefix)
	for i := range *members {
		if k := &(*members)[i]; k.prefix == p.prefix && k.suffix == p.suffix && k.star == p.star {
			k.seen |= seen
			return
		}
	}
	*members = append(*members, known{p, seen})
}

// family returns the members of the family of a name.
func (t *table) family(at byte, name string) *[]known {
	lead := name[:min(len(name), leadBytes)]
	for i := range t.known[at] {
		if f := &t.known[at][i]; f.lead == lead {
			return &f.members
		}
	}
	t.known[at] = append(t.known[at], family{lead: lead})
	return &t.known[at][len(t.known[at])-1].members
}

// scan looks through the names of a header once.
func (t *table) scan(h http.Header) (seen sightings) {
	for name, lines := range h {
		if len(lines) == 0 || !t.mayKnow(name) || name == t.dull {
			continue
		}
		of, ok := t.exact[name]
		if !ok {
			of = t.sight(name)
		}
		seen |= of
	}
	return seen
}

// mayKnow reports whether a name looks like one of those that are known.
func (t *table) mayKnow(name string) bool {
	n := len(name)
	if n == 0 {
		return false
	}
	at := name[0] & 31
	return t.lengths[at]>>min(n, 63)&1 != 0 && t.lasts[at]>>(name[n-1]&31)&1 != 0
}

// sight is what a name in any case is.
func (t *table) sight(name string) (of sightings) {
	families := t.known[name[0]&31]
	for i := range families {
		if f := &families[i]; len(name) >= len(f.lead) && fold(name[:len(f.lead)], f.lead) {
			of |= f.sight(name)
		}
	}
	if of != 0 && !canonical(name) {
		of |= seenOdd
	}
	return of
}

// sight is what a name is that begins like those of the family.
func (f *family) sight(name string) (seen sightings) {
	for i := range f.members {
		if k := &f.members[i]; k.looksLike(name) {
			seen |= k.seen
		}
	}
	return seen
}

// looksLike reports whether a name in any case follows the pattern.
func (p *pattern) looksLike(name string) bool {
	n := len(p.prefix) + len(p.suffix)
	switch {
	case len(name) < n, !p.star && len(name) != n, p.star && len(name) == n:
		return false
	}
	return fold(name[:len(p.prefix)], p.prefix) && fold(name[len(name)-len(p.suffix):], p.suffix)
}

// fold reports whether two names of one length are equal but for the case of ASCII
// letters.
func fold(a, b string) bool {
	for i := range len(a) {
		if a[i] != b[i] && lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// canonical reports whether a name is the one that net/http stores, as far as
// letters go.
func canonical(name string) bool {
	upper := true
	for i := range len(name) {
		switch c := name[i]; {
		case upper && c >= 'a' && c <= 'z', !upper && c >= 'A' && c <= 'Z':
			return false
		default:
			upper = c == '-'
		}
	}
	return true
}

// canonicalHeader is a header with its names in the form that net/http stores. Of
// names that differ in case only the lines are joined, in the order of the names.
func canonicalHeader(h http.Header) http.Header {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make(http.Header, len(h))
	for _, name := range names {
		key := http.CanonicalHeaderKey(name)
		out[key] = append(out[key], h[name]...)
	}
	return out
}
