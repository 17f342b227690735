package parse

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A table is the rows that a Reader reads by, with an index of their field names.
type table struct {
	rows    []row
	bits    []sightings // of the rows
	hosted  []int       // the rows that name hosts
	byHand  bool        // some of them were set by the user
	common  bool        // see readsCommon
	retries sightings   // the rows with Retry
	pathed  []int       // the rows with Paths
	index   fieldIndex
}

// sightings is a set of bits: which fields of the index a header has.
type sightings uint64

const (
	seenCache     sightings = 1 << iota // one that may mark the response as stored
	seenRateLimit                       // RateLimit
	seenPolicy                          // RateLimit-Policy
	seenPartition                       // RateLimit-Partition
	seenLegacy                          // one of draft -06
	seenRetry                           // Retry-After or an alias of it
	seenScore                           // one with underscores in place of hyphens: see dashed
	seenRow                             // one of the first row; the next bit is the second row's
)

// The last row, for the fields in common use, has the last bit. sharedRow is the bit that
// the rows before it have in common, in a long table: if a response has a field of one of
// them, all of them that have no Sign are tried. So those have no fields in common use.
const (
	lastRow   = 63 - 7
	sharedRow = lastRow - 1
)

// bitOf is the bit of a row of n.
func bitOf(i, n int) sightings {
	if i == n-1 {
		return seenRow << lastRow
	}
	return seenRow << min(i, sharedRow)
}

// A fieldIndex finds the fields of a table among the names of a header, which are in
// canonical form. It dismisses most names by their length and two or three of their bytes.
type fieldIndex struct {
	shapes  [256]shape // by lead
	exact   map[string]sightings
	starred map[string][]starred // by the first leadBytes bytes of the name
	short   [32][]starred        // those whose prefix has fewer bytes, by the last byte, as in a shape

	ofLimits, ofPolicies sightings // of RateLimit and RateLimit-Policy
	ofCommons            [commonFields]sightings
}

// leadBytes is the number of bytes by which patterns with an asterisk are grouped: enough to tell X-RateLimit
// from X-Rate-Limit.
const leadBytes = 10

// starred is a pattern with an asterisk.
type starred struct {
	pattern
	seen sightings
}

// A shape is the last bytes of the names that begin alike, by their length: as a set of bits, by the five
// lowest bits of the byte. The last length stands for all that are longer.
type shape [64]uint32

// lead is a byte at the beginning of a name: the first, or that after "X-", which many names have.
func lead(name string) byte {
	if name[0] == 'X' && len(name) > 2 && name[1] == '-' {
		return name[2] | 128
	}
	return name[0] & 127
}

// addScored adds a pattern as it is written with underscores: x_ratelimit_limit.
func (x *fieldIndex) addScored(p pattern) {
	if text := strings.ReplaceAll(p.text, "-", "_"); text != p.text && p.text[0] != '*' {
		x.add(newPattern(text), seenScore)
	}
}

// add adds a pattern.
func (x *fieldIndex) add(p pattern, seen sightings) {
	switch {
	case p.prefix == "" && p.suffix == "":
		return // such a pattern would have to be compared with every name
	case p.prefix == "":
		for i := range x.shapes {
			x.shapes[i].add(p)
		}
	case p.star && (p.prefix == "X" || p.prefix == "X-"):
		x.shapes['X'].add(p)
		for i := 128; i < len(x.shapes); i++ {
			x.shapes[i].add(p)
		}
	default:
		x.shapes[lead(p.prefix)].add(p)
	}
	if !p.star {
		x.exact[p.prefix] |= seen
		return
	}
	if len(p.prefix) < leadBytes {
		x.addShort(p, seen)
		return
	}
	lead := p.prefix[:leadBytes]
	x.starred[lead] = append(x.starred[lead], starred{p, seen})
}

// add adds the lengths and the last bytes of the names that follow a pattern.
func (s *shape) add(p pattern) {
	n, lasts := len(p.prefix)+len(p.suffix), ^uint32(0)
	switch {
	case !p.star:
		s[min(n, len(s)-1)] |= 1 << last(p.prefix)
		return
	case p.suffix != "":
		lasts = 1 << last(p.suffix)
	}
	for i := min(n+1, len(s)-1); i < len(s); i++ {
		s[i] |= lasts
	}
}

// addShort adds a pattern with a short prefix, or none.
func (x *fieldIndex) addShort(p pattern, seen sightings) {
	for i := range x.short {
		if p.suffix == "" || i == last(p.suffix) {
			x.short[i] = append(x.short[i], starred{p, seen})
		}
	}
}

// last is the lowest bits of the last byte of a text that is not empty.
func last(text string) int { return int(text[len(text)-1] & 31) }

// finish is called when all patterns were added.
func (x *fieldIndex) finish() {
	for name, seen := range x.exact {
		x.exact[name] = seen | x.sightStarred(name)
	}
	x.ofLimits, x.ofPolicies = x.sight("Ratelimit"), x.sight("Ratelimit-Policy")
	for i, name := range commonNames {
		x.ofCommons[i] = x.sight(name)
	}
}

// found is what scan finds in a header: which fields of the index it has, and the lines
// of the two that most responses about quota have.
type found struct {
	seen             sightings
	limits, policies []string // RateLimit and RateLimit-Policy
	commons          [commonFields][]string
	fields           int // how many fields of the index there are
}

// scan sets f, which must be zero, to the fields of the index that a header has.
func (x *fieldIndex) scan(h http.Header, f *found) {
	for name, lines := range h {
		if len(lines) == 0 || !x.mayHave(name) {
			continue
		}
		seen := sightings(0)
		switch name {
		case "Ratelimit":
			f.limits, seen = lines, x.ofLimits
		case "Ratelimit-Policy":
			f.policies, seen = lines, x.ofPolicies
		case "X-Ratelimit-Limit":
			f.commons[commonLimit], seen = lines, x.ofCommons[commonLimit]
		case "X-Ratelimit-Remaining":
			f.commons[commonRemaining], seen = lines, x.ofCommons[commonRemaining]
		case "X-Ratelimit-Reset":
			f.commons[commonReset], seen = lines, x.ofCommons[commonReset]
		default:
			seen = x.sight(name)
		}
		if seen != 0 {
			f.seen |= seen
			f.fields++
		}
	}
}

// dashed returns a header with the names in it that have underscores with hyphens, too. A name that is there
// already stays what it is.
func dashed(h http.Header) http.Header {
	all := maps.Clone(h)
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if strings.IndexByte(name, '_') < 0 || len(h[name]) == 0 {
			continue
		}
		if key := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")); len(all[key]) == 0 {
			all[key] = h[name]
		}
	}
	return all
}

// any reports whether a header has a field of the index.
func (x *fieldIndex) any(h http.Header) bool {
	for name, lines := range h {
		if len(lines) > 0 && x.mayHave(name) &&
			(name == "Ratelimit" || name == "Ratelimit-Policy" || x.sight(name) != 0) {
			return true
		}
	}
	return false
}

// mayHave reports whether some pattern has the shape of a name.
func (x *fieldIndex) mayHave(name string) bool {
	if name == "" {
		return false
	}
	return x.shapes[lead(name)][min(len(name), len(shape{})-1)]>>last(name)&1 != 0
}

// sight returns the fields of the index that a name may be.
func (x *fieldIndex) sight(name string) sightings {
	if seen, ok := x.exact[name]; ok {
		return seen
	}
	return x.sightStarred(name)
}

// sightStarred returns those with an asterisk.
func (x *fieldIndex) sightStarred(name string) (seen sightings) {
	if len(name) > leadBytes {
		seen |= match(x.starred[name[:leadBytes]], name)
	}
	return seen | match(x.short[last(name)], name)
}

// match returns the fields among patterns that a name may be.
func match(patterns []starred, name string) (seen sightings) {
	for i := range patterns {
		if p := &patterns[i]; p.covers(name) {
			seen |= p.seen
		}
	}
	return seen
}

// is reports whether a name follows a pattern, whatever the account it names.
func (p *pattern) is(name string) bool {
	if p.star {
		return p.covers(name)
	}
	return name == p.prefix
}

// covers reports whether a name follows a pattern with an asterisk, whatever the
// account it names.
func (p *pattern) covers(name string) bool {
	return len(name) > len(p.prefix)+len(p.suffix) &&
		strings.HasPrefix(name, p.prefix) && strings.HasSuffix(name, p.suffix)
}

// builtIn is the table of the built-in rows. Read-only.
var builtIn = sync.OnceValue(func() *table { return newTable(nil) })

// draft06 is draft -06 as a row, with the windows that some servers send beside its fields. Read-only.
var draft06 = sync.OnceValue(func() *row {
	r := newRow(&Vendor{
		Name:      "draft -06",
		Limit:     []string{"RateLimit-Limit"},
		Remaining: []string{"RateLimit-Remaining"},
		Reset:     []string{"RateLimit-Reset", "RateLimit-Reset-After"},
		Window:    withEach([]string{"RateLimit-?"}, windowWords()...),
	}, false)
	return &r
})

// newTable returns a table of the user's rows, followed by the built-in ones.
func newTable(users []Vendor) *table {
	t := &table{index: fieldIndex{exact: make(map[string]sightings), starred: make(map[string][]starred)}}
	for name, seen := range map[string]sightings{
		"Age": seenCache, "Cache-Status": seenCache, "X-From-Cache": seenCache, "X-Cache-Status": seenCache, "X-Proxy-Cache": seenCache,
		"RateLimit": seenRateLimit, "RateLimit-Policy": seenPolicy, "RateLimit-Partition": seenPartition,
		"RateLimit-Limit": seenLegacy, "RateLimit-Remaining": seenLegacy, "RateLimit-Reset": seenLegacy,
	} {
		t.index.add(newPattern(name), seen)
		t.index.addScored(newPattern(name))
	}
	for _, name := range draft06().Window {
		t.index.add(newPattern(name), seenLegacy)
		t.index.addScored(newPattern(name))
	}
	for _, f := range retryAfterFields {
		t.index.add(newPattern(f.name), seenRetry)
		t.index.addScored(newPattern(f.name))
	}
	for _, p := range backoffs {
		t.index.add(p, seenRetry)
	}
	for _, p := range slices.Concat(retryAliases, otherRetries) {
		t.index.add(p, seenRetry)
		t.index.addScored(p)
	}
	all := slices.Concat(users, Vendors())
	for i := range all {
		t.bits = append(t.bits, bitOf(i, len(all)))
		t.add(newRow(&all[i], i < len(users)))
	}
	for _, p := range overages {
		t.index.add(p, t.bits[len(all)-1])
	}
	for _, p := range t.rows[len(all)-1].patterns() {
		t.index.addScored(p)
	}
	t.index.finish()
	t.common = t.readsCommon()
	return t
}

// add adds a row. A row with a Sign is found by it, another by any of its fields.
func (t *table) add(r row) {
	i := len(t.rows)
	t.rows = append(t.rows, r)
	if len(r.Hosts) > 0 {
		t.hosted = append(t.hosted, i)
		t.byHand = t.byHand || r.byHand
	}
	if len(r.paths) > 0 {
		t.pathed = append(t.pathed, i)
	}
	seen := t.bits[i]
	if r.Sign != "" {
		t.index.add(newPattern(r.Sign), seen)
		seen = 0
	}
	for _, p := range slices.Concat(r.patterns(), r.retry) {
		t.index.add(p, seen)
	}
	if len(r.retry) > 0 {
		t.retries |= t.bits[i]
	}
}

// host returns the rows that name a host.
func (t *table) host(host string) (rows []*row) {
	host = withoutPort(host)
	for _, i := range t.hosted {
		if t.rows[i].serves(host) {
			rows = append(rows, &t.rows[i])
		}
	}
	return rows
}
