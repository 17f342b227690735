package parse

import (
	"net/http"
	"slices"
	"sync"
	"time"
)

// A Reader reads everything that a response says about quota, in whatever dialect.
// The zero Reader is ready to use: it has the default caps and the built-in table of
// vendors.
//
// Fields are set before first use and not changed after. A Reader may be used from
// several goroutines at once, and must not be copied after first use.
type Reader struct {
	// Caps are the safety caps. The zero Caps has default values.
	Caps Caps

	// Vendors are rows of one's own. They are asked before those of the table that
	// [Vendors] returns, in their order.
	Vendors []Vendor

	once  sync.Once // guards following
	table *table    // nil until first use
}

// A Reading is what a response says about quota.
type Reading struct {
	// Dialect is the dialect of Policies and Limits.
	Dialect Dialect

	// Vendor is the name of the row of the table that was read, where Dialect is
	// VendorFields.
	Vendor string

	// Policies are the quota policies. They may be shared with other Readings and
	// must not be modified.
	Policies []Policy

	// Limits are the service limits. They are the caller's.
	Limits []Limit

	// Declarations are what the response declares about partitions. They may be
	// shared with other Readings and must not be modified.
	Declarations []Declaration

	// RetryAfter is the delay that Retry-After asks for, counted from now. It is
	// None if there is none that is valid.
	RetryAfter time.Duration

	// Beside reports whether valid fields of a draft stood beside Retry-After.
	Beside bool

	// Advised reports whether RetryAfter is advice about quota, by the status, by
	// what stood beside it, and by what is known of the host. It is false if
	// RetryAfter is None.
	Advised bool

	// Cached reports whether the response came from a cache (see [Cached]). Then
	// nothing else of it was read.
	Cached bool

	// Ignored is what was ignored. It may be shared with other Readings and must
	// not be modified.
	Ignored []Ignored
}

// Read reads the header of a response. host is the host that it came from, with or
// without a port, or empty; it matters only to rows of the table that name hosts.
// now is read from the local wall clock; it stands in for the Date of the response
// where that has none.
//
// One dialect is read: the newest that says something valid. A field that was
// ignored as malformed chooses none.
//
//   - Figures are those of RateLimit, as a List or as the Dictionary of draft -07; else
//     those of RateLimit-Limit, -Remaining and -Reset of draft -06.
//   - RateLimit-Policy goes with any of them, in the form that it has: a RateLimit of
//     draft -07 is met beside a RateLimit-Policy of -08. Policies without names
//     go with figures of -07 and -06 only. If there are no figures, it is the dialect.
//   - If none of these fields says anything valid, the first row of the table that
//     applies and says something valid is read. Two kinds of rows come earlier: those
//     set by hand for the host come before everything, those with a sign of their own
//     that use names of draft -06 come before that.
//   - Retry-After goes with any dialect.
//
// In drafts -07 and -06, and in vendors' fields without the name of an account, there
// is one account without a name. Limits are for Policy "". The policy whose quota
// equals the limit is called "" too; if none was advertised there is one without a
// window. Other policies are called by their text, such as "1000;w=3600".
//
// Names of fields are recognised in any case. A response with a 1xx status says
// nothing. Reading costs no allocation if there is nothing to read.
func (r *Reader) Read(host string, status int, h http.Header, now time.Time) Reading {
	return r.ReadWith(nil, host, status, h, now)
}

// ReadWith is Read with a memory of RateLimit-Policy and RateLimit-Partition, such as
// a client has one of for each origin. memo may be nil.
func (r *Reader) ReadWith(memo *Memo, host string, status int, h http.Header, now time.Time) Reading {
	return r.ReadScanned(r.Scan(h), memo, host, status, h, now)
}

// Scan looks through the names of a header for fields that may say something about
// quota. It is the first step of reading, for those who have something to spare
// where there is nothing to read.
func (r *Reader) Scan(h http.Header) Scanned {
	seen := r.rows().scan(h)
	if seen&^(seenAside|seenOdd) == 0 {
		return 0
	}
	return Scanned(seen)
}

// ReadScanned is ReadWith of a header that the Reader has scanned.
func (r *Reader) ReadScanned(of Scanned, memo *Memo, host string, status int, h http.Header, now time.Time) (out Reading) {
	out.RetryAfter = None
	if of == 0 || status/100 == 1 {
		return out
	}
	t, seen := r.rows(), sightings(of)
	if seen&seenOdd != 0 {
		h = canonicalHeader(h)
	}
	if seen&seenCache != 0 && Cached(h) {
		out.Cached = true
		return out
	}
	x := exchange{table: t, caps: r.Caps, memo: memo, h: h, seen: seen, now: now}
	if host != "" && (t.hand || seen&(seenRetry|^(seenRow-1)) != 0) {
		// Of the drafts' own fields no built-in row changes the reading.
		x.host = t.host(host)
	}
	x.out.RetryAfter = None
	x.read(status)
	return x.out
}

// rows returns the table.
func (r *Reader) rows() *table {
	r.once.Do(r.fill)
	return r.table
}

func (r *Reader) fill() {
	if r.table = builtIn(); len(r.Vendors) > 0 {
		r.table = newTable(r.Vendors)
	}
}

// host returns the first row that is for a host, or nil.
func (t *table) host(host string) *row {
	host = withoutPort(host)
	for _, i := range t.hosted {
		if t.rows[i].serves(host) {
			return &t.rows[i]
		}
	}
	return nil
}

// An exchange is one response being read.
type exchange struct {
	table *table
	caps  Caps
	memo  *Memo
	host  *row // the row for the host; may be nil
	h     http.Header
	seen  sightings
	now   time.Time
	out   Reading

	policies policyField
	made     *clock // nil until asked for
}

// clock tells when the response was made.
func (x *exchange) clock() *clock {
	if x.made == nil {
		x.made = &clock{header: x.h, now: x.now}
	}
	return x.made
}

// has reports whether one of some fields was seen.
func (x *exchange) has(fields sightings) bool { return x.seen&fields != 0 }

// read reads what the caller wants.
func (x *exchange) read(status int) {
	if !x.byHand() {
		x.drafts()
		if x.out.Dialect == NoDialect && x.may(VendorFields) {
			x.vendors(false)
		}
	}
	if x.has(seenRetry) {
		x.retryAfter(status)
	}
}

// may reports whether a dialect may be read from the host.
func (x *exchange) may(d Dialect) bool {
	return x.host == nil || x.host.Dialect == NoDialect || x.host.Dialect == d
}

// reset is what a number means in fields whose names do not tell who sends them.
func (x *exchange) reset() ResetKind {
	if x.host == nil || len(x.host.fields[ofReset]) > 0 {
		return AnyReset
	}
	return x.host.ResetIn
}

// byHand reads the row that was set by hand for the host.
func (x *exchange) byHand() bool {
	return x.host != nil && x.host.hand && x.host.reads() && x.vendor(x.host)
}

// drafts reads the fields of the drafts, the newest that say something valid.
func (x *exchange) drafts() {
	if x.has(seenPolicy) && x.mayAnyDraft() {
		x.policies = x.memo.policies(x.h["Ratelimit-Policy"], x.caps)
	}
	if x.has(seenPartition) && (x.may(EditorsDraft) || x.may(Draft08)) {
		x.declarations()
	}
	switch {
	case x.figures():
	case x.may(VendorFields) && x.vendors(true):
		return
	case x.legacy():
	case len(x.policies.named) > 0, len(x.out.Declarations) > 0:
		x.out.Dialect = EditorsDraft
	case len(x.policies.unnamed) > 0:
		x.out.Dialect = Draft07
	}
	x.takePolicies()
}

// mayAnyDraft reports whether any of the drafts may be read from the host.
func (x *exchange) mayAnyDraft() bool {
	return x.host == nil || x.host.Dialect == NoDialect || x.host.Dialect.ietf()
}

// declarations reads RateLimit-Partition.
func (x *exchange) declarations() {
	var ignored []Ignored
	x.out.Declarations, ignored = x.memo.declarations(x.h["Ratelimit-Partition"], x.caps)
	x.ignore(ignored)
}

// figures reads RateLimit: as a List, or else, which it cannot be as well, as the
// Dictionary of draft -07.
func (x *exchange) figures() bool {
	if !x.has(seenRateLimit) || !x.mayAnyDraft() {
		return false
	}
	lines := x.h["Ratelimit"]
	limits, dialect, ignored := readLimits(lines, x.caps)
	if !isSyntax(ignored) {
		if !x.may(EditorsDraft) && !x.may(Draft08) {
			return false
		}
		x.ignore(ignored)
		if len(limits) == 0 {
			return false
		}
		x.out.Limits, x.out.Dialect = limits, dialect
		return true
	}
	if !x.may(Draft07) {
		x.ignore(ignored)
		return false
	}
	f, ok, ignored := readDictionary(lines, x.reset(), x.clock(), x.caps)
	x.ignore(ignored)
	if ok {
		x.figure(f, Draft07)
	}
	return ok
}

// isSyntax reports whether a field was ignored whole because it is no List.
func isSyntax(ignored []Ignored) bool { return len(ignored) == 1 && ignored[0].Err == ErrSyntax }

// figure takes over the figures of an account without a name.
func (x *exchange) figure(f figure, dialect Dialect) {
	x.out.Dialect = dialect
	x.out.Policies, x.out.Limits = account(f, "", named(x.policies.unnamed, f.limit))
	x.policies.unnamed = nil
}

// legacy reads the fields of draft -06.
func (x *exchange) legacy() bool {
	if !x.has(seenLegacy) || !x.may(Draft06) {
		return false
	}
	a := accountReader{
		row: draft06(), caps: x.caps, clock: x.clock(), kind: x.reset(),
		strict: true, advertised: x.policies.unnamed,
	}
	a.read(x.h)
	x.ignore(a.ignored)
	if len(a.policies)+len(a.limits) == 0 {
		return false
	}
	x.out.Dialect, x.out.Policies, x.out.Limits = Draft06, a.policies, a.limits
	x.policies.unnamed = nil
	return true
}

// takePolicies takes over what RateLimit-Policy says.
func (x *exchange) takePolicies() {
	p := &x.policies
	switch {
	case len(p.named) > 0:
		all := slices.Clip(p.named) // may be shared
		for _, own := range x.out.Policies {
			if !advertised(p.named, own.Name) {
				all = append(all, own)
			}
		}
		x.out.Policies = all
		x.ignore(p.ignored)
	case p.older && x.out.Dialect != EditorsDraft && x.out.Dialect != Draft08:
		if x.out.Dialect == Draft07 && len(p.unnamed) > 0 {
			x.out.Policies = named(p.unnamed, None)
		}
		x.ignore(p.ignoredUnnamed)
	default:
		x.ignore(p.ignored)
	}
}

// vendors reads the first row that applies and says something valid. standard tells
// whether to ask the rows that use names of draft -06, or the others.
func (x *exchange) vendors(standard bool) bool {
	for i := range x.table.rows {
		row := &x.table.rows[i]
		if row.standard != standard || !x.has(ofRow(i)) || len(row.Hosts) > 0 && row != x.host {
			continue
		}
		if x.vendor(row) {
			return true
		}
	}
	return false
}

// vendor reads a row.
func (x *exchange) vendor(row *row) bool {
	a := accountReader{row: row, caps: x.caps, clock: x.clock(), kind: row.ResetIn}
	if row.ResetIn == AnyReset && x.host != nil {
		a.kind = x.reset()
	}
	a.read(x.h)
	if len(a.policies)+len(a.limits) == 0 {
		if row.Sign == "" {
			x.ignore(a.ignored)
		}
		return false
	}
	x.out.Dialect, x.out.Vendor = VendorFields, row.Name
	x.out.Policies, x.out.Limits = a.policies, a.limits
	x.ignore(a.ignored)
	return true
}

// retryAfter reads Retry-After, and whether it is advice about quota.
func (x *exchange) retryAfter(status int) {
	wait, ok, ignored := RetryAfter(x.h, x.now, x.caps)
	x.ignore(ignored)
	if !ok {
		return
	}
	advice := AdviceByRule
	if x.host != nil {
		advice = x.host.RetryAfter
	}
	x.out.RetryAfter = wait
	x.out.Beside = x.out.Dialect.ietf()
	x.out.Advised = advice.On(status, x.out.Beside)
}

// ignore adds to what was ignored. What comes first may be shared.
func (x *exchange) ignore(ignored []Ignored) {
	switch {
	case len(ignored) == 0:
	case len(x.out.Ignored) == 0:
		x.out.Ignored = slices.Clip(ignored)
	default:
		x.out.Ignored = append(x.out.Ignored, ignored...)
	}
}
