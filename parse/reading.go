package parse

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A Reader reads everything that a response says about quota, in whatever dialect.
// The zero Reader is ready to use: it has the default caps and the built-in rows.
//
// A Reader remembers up to 16 values of RateLimit-Policy and RateLimit-Partition, which
// servers repeat on every response, so that it need not parse them again. A client of
// several origins calls [Reader.Clone] for each of them.
//
// Fields are set before first use and not changed after. A Reader may be used from
// several goroutines at once, and must not be copied after first use.
type Reader struct {
	// Caps are the safety caps. The zero Caps has default values.
	Caps Caps

	// Vendors are the user's rows. They are tried, in their order, before those that
	// [Vendors] returns.
	Vendors []Vendor

	table atomic.Pointer[table] // see rows
	memo  memo
}

// Clone returns a Reader with the same caps and rows, and a memory of its own. It
// shares what was computed from the rows.
func (r *Reader) Clone() *Reader {
	clone := &Reader{Caps: r.Caps, Vendors: r.Vendors}
	clone.table.Store(r.rows())
	return clone
}

// A Reading is what a response says about quota.
type Reading struct {
	// Dialect is the dialect of Policies and Limits.
	Dialect Dialect

	// Vendor is the name of the row of the table that was read, where Dialect is
	// VendorFields.
	Vendor string

	// Policies are the quota policies. Other Readings may share them: do not modify
	// them.
	Policies []Policy

	// Limits are the service limits. The caller may modify them.
	Limits []Limit

	// Declarations are what the response declares about partitions. Other Readings may
	// share them: do not modify them.
	Declarations []Declaration

	// RetryAfter is the delay that Retry-After or an alias of it asks for, counted from
	// now. It is None if none of them is valid.
	RetryAfter time.Duration

	// Advised reports whether RetryAfter is advice about quota. Beside valid fields of a
	// draft it is on any status (editor's draft, Section 7: it MUST take precedence).
	// Alone, or beside other fields, it is on 403, 413, 418, 420, 429, 3xx and 5xx only, since some
	// servers send it with every response; also on a success, if a negative available
	// quota beside it says that the request was refused, as X-Database-Lag does (MediaWiki), or if
	// Backoff or X-Weave-Backoff asks for it (Zotero, Firefox Sync). It is not if it only repeats, on
	// another status than 429 and 503, when a quota is renewed of which something is left; beside
	// fields of draft -06 that is so on a success only.
	// It is false if RetryAfter is None. See Vendor.RetryAfterOnRefusals.
	Advised bool

	// Date is the time of the response by the clock of the server, in UTC. It is set
	// only if some Limit has Resets; it is zero if the response has no valid Date.
	Date time.Time

	// Cached reports whether the response came from a cache (see [Cached]). Nothing
	// else of such a response is read.
	Cached bool

	// Ignored is what was ignored. Other Readings may share it: do not modify it.
	Ignored []Ignored
}

// Silent reports whether a header has no field that says anything about quota. Read
// then returns a Reading that says nothing. Silent does not allocate.
func (r *Reader) Silent(h http.Header) bool {
	return !r.rows().index.any(h)
}

// Read reads the header of a response, whose names are in the form that net/http stores
// (see [http.CanonicalHeaderKey]). host is the host that the response came from, with or without
// a port, or empty; it selects the rows that name hosts. now is the local wall clock; it
// replaces a missing or malformed Date. With the zero time, Read reads the clock if it needs it.
//
// Read reads one dialect: the newest that says something valid. A malformed field
// selects no dialect.
//
//   - Service limits come from RateLimit, as a List or as the Dictionary of draft -07;
//     else from RateLimit-Limit, -Remaining and -Reset of draft -06.
//   - RateLimit-Policy is read beside any of them, in the form that it has: some servers
//     send a RateLimit of draft -07 with a RateLimit-Policy of -08. Policies without
//     names are read beside drafts -07 and -06 only, unless all have one in a parameter, as
//     3;w=10;name="ip" has. Without service limits the form of
//     RateLimit-Policy is the dialect, and the fields in common use, such as
//     X-RateLimit-Remaining, give the service limit of the policy with the same quota. Beside
//     service limits, fields in common use add quotas of other times, such as
//     X-RateLimit-Remaining-Month, and a limit on the requests in progress: X-Concurrency-Limit.
//   - If none of these fields says anything valid, Read takes the first row that applies
//     and says something valid. Two kinds of rows come earlier: a user's row with Hosts
//     comes before every draft; a row with a Sign whose other fields have the names of
//     draft -06 comes before that draft.
//   - Retry-After is read with any dialect, and so are Backoff and X-Weave-Backoff, in seconds, which count on
//     any status: the longest counts. On a 429 it may be that of a field that a row names in Retry, too. On a
//     420, 429 or 503 without any of these or an alias of Retry-After, any
//     field whose name ends in -Retry-After is read, and Retry-At, X-RateLimit-Wait, -Delay, -Cooldown,
//     -Blocked-Until, -Block-Expires, -Lockout-Until and -Msec-Left; but not a number of 1000 or more without a unit, which may be in
//     milliseconds.
//     A Retry-After is in milliseconds if that is when a quota with nothing left is renewed, by what
//     another field says, in ten seconds or more; but not if it is whole hours.
//
// On a 429, the service limit without an available quota whose window ends first has
// nothing left, unless the response says so of another one, or Retry-After is shorter.
//
// On other responses, except for a 202, Retry-After may be the window of the only service
// limit with nothing left, if that has none: if it is no longer than the window of the
// policy, or than a minute if that is not known.
//
// Drafts -07 and -06, and vendors' fields that name no account, describe one account
// without a name: the Policy of its service limit is "". So is the name of the policy
// whose quota equals the limit; if none was advertised, Read adds one without a window.
// Other policies without a name are named by their text, such as "1000;w=3600".
//
// A response with a 1xx status says nothing.
func (r *Reader) Read(host string, status int, h http.Header, now time.Time) Reading {
	var out Reading
	r.ReadInto(&out, host, status, h, now)
	return out
}

// ReadInto sets out to what Read returns. It uses the memory of the Limits that out had.
func (r *Reader) ReadInto(out *Reading, host string, status int, h http.Header, now time.Time) {
	var x exchange // it is large, and a literal would be copied
	x.table, x.caps, x.memo, x.h, x.room = r.rows(), &r.Caps, &r.memo, h, out.Limits[:0]
	if x.table.index.scan(h, &x.found); x.has(seenScore) {
		x.h, x.found = dashed(h), found{}
		x.table.index.scan(x.h, &x.found)
	}
	x.made.header, x.made.now, x.made.last = x.h, now, &x.memo.date
	x.name, x.field = host, &noPolicyField
	x.out.RetryAfter = None
	switch {
	case x.seen == 0 || status/100 == 1:
	case x.has(seenCache) && Cached(h):
		x.out.Cached = true
	default:
		x.read(status)
	}
	out.set(&x.out)
}

// set is *r = *to, but writes no pointer that is there already: see set.
func (r *Reading) set(to *Reading) {
	r.Dialect, r.RetryAfter, r.Advised, r.Cached = to.Dialect, to.RetryAfter, to.Advised, to.Cached
	set(&r.Vendor, to.Vendor)
	setSlice(&r.Policies, to.Policies)
	setSlice(&r.Limits, to.Limits)
	setSlice(&r.Declarations, to.Declarations)
	set(&r.Date, to.Date)
	setSlice(&r.Ignored, to.Ignored)
}

// set sets *p to v, unless it is v already: to write a pointer costs more than to compare it
// while garbage is collected.
func set[T comparable](p *T, v T) {
	if *p != v {
		*p = v
	}
}

// setSlice is set for a slice.
func setSlice[T any](p *[]T, v []T) {
	if s := *p; v == nil {
		if s != nil {
			*p = nil
		}
	} else if len(s) == 0 || len(s) != len(v) || cap(s) != cap(v) || &s[0] != &v[0] {
		*p = v
	}
}

// rows returns the table.
func (r *Reader) rows() *table {
	if t := r.table.Load(); t != nil {
		return t
	}
	return r.makeRows()
}

// makeRows makes the table. Of several goroutines that do, one sets it.
func (r *Reader) makeRows() *table {
	t := builtIn()
	if len(r.Vendors) > 0 {
		t = newTable(r.Vendors)
	}
	r.table.CompareAndSwap(nil, t)
	return r.table.Load()
}

// An exchange is one response being read.
type exchange struct {
	table *table
	caps  *Caps
	memo  *memo
	name  string // of the host
	hosts []*row // the rows for it
	host  *row   // the first of them that has its Sign, or else the first; may be nil
	h     http.Header
	found
	out  Reading
	room []Limit // memory for its Limits, or nil

	field     *policyField // RateLimit-Policy, or noPolicyField
	unnamed   []unnamed    // of them, those that are not in out yet
	made      clock
	overdrawn bool     // a vendor's field has a negative available quota
	worded    []string // see accountReader
	served    bool     // the status is not 429
	fine      bool     // the status is below 400
}

// clock returns the clock that the response was made by.
func (x *exchange) clock() *clock { return &x.made }

// has reports whether the header has one of some fields.
func (x *exchange) has(fields sightings) bool { return x.seen&fields != 0 }

// read reads everything but the signs of a cache.
func (x *exchange) read(status int) {
	if x.name != "" && (x.table.byHand || x.has(seenRetry|^(seenRow-1))) {
		// A RateLimit is read the same on every host, unless the user has a row for it.
		x.setHost(x.memo.hostRows(x.table, x.name))
	}
	x.served, x.fine = status != http.StatusTooManyRequests, status < 400
	if !x.common() && !x.byHand() {
		x.drafts()
		if x.out.Dialect == NoDialect && x.may(VendorFields) {
			x.vendors(false)
		}
	}
	if x.has(seenRetry | x.table.retries) {
		x.retryAfter(status)
		if x.out.RetryAfter > 0 && !x.out.Advised && status != http.StatusAccepted && (x.host == nil || !x.host.RetryAfterOnRefusals) {
			x.exhausted()
		}
	}
	if !x.served {
		x.refused()
	}
	x.date()
}

// refused sets the available quota of a refusal that only says when its quota is renewed:
// nothing is left until then. Of several, that is sure of the one that is renewed first;
// and of none that is renewed later than the response says to come back, or whose figures are
// words.
func (x *exchange) refused() {
	latest := time.Duration(math.MaxInt64)
	if x.out.Advised {
		latest = plus(x.out.RetryAfter, 2*time.Second) // both may be rounded
	}
	unsaid := func(l *Limit) bool {
		return l.Available == None && l.Window != None && !slices.Contains(x.worded, l.Policy)
	}
	for i := range x.out.Limits {
		switch l := &x.out.Limits[i]; {
		case l.Available == 0:
			return // the response says which quota is exceeded
		case unsaid(l):
			latest = min(latest, l.Window)
		}
	}
	for i := range x.out.Limits {
		if l := &x.out.Limits[i]; unsaid(l) && l.Window <= latest {
			l.Available = 0
		}
	}
}

// exhausted sets when the only quota with nothing left is renewed, if that is said only by
// a Retry-After or an alias of it: within the window of its policy, or soon.
func (x *exchange) exhausted() {
	var only *Limit
	for i := range x.out.Limits {
		if l := &x.out.Limits[i]; l.Available == 0 {
			if only != nil || l.Window != None {
				return
			}
			only = l
		}
	}
	if only == nil {
		return
	}
	most := time.Minute
	for i := range x.out.Policies {
		if p := &x.out.Policies[i]; p.Name == only.Policy && p.Window > 0 {
			most = p.Window
		}
	}
	if x.out.RetryAfter <= most {
		only.Window = x.out.RetryAfter
	}
}

// date sets the Date of the response, if an instant in it is relative to that.
func (x *exchange) date() {
	for i := range x.out.Limits {
		if !x.out.Limits[i].Resets.IsZero() {
			if made := x.clock().made(); x.made.dated {
				x.out.Date = made.UTC()
			}
			return
		}
	}
}

// may reports whether a dialect may be read from the host.
func (x *exchange) may(d Dialect) bool {
	return x.host == nil || x.host.Dialect == NoDialect || x.host.Dialect == d
}

// reset returns what a number means in a reset whose name many servers use; standard: in one
// of the drafts, which say that it is seconds.
func (x *exchange) reset(standard bool) resetKind {
	if x.host == nil || x.host.resets {
		return anyReset
	}
	switch kind := x.host.kind; {
	case kind == unixSeconds || kind == unixMillis:
		return kind
	case standard:
		return anyReset
	case kind == spanMillis:
		return sharedMillis
	case kind == spanSeconds:
		return sharedSeconds
	}
	return anyReset
}

// setHost sets the rows for the host.
func (x *exchange) setHost(rows []*row) {
	if x.hosts = rows; len(rows) == 0 {
		return
	}
	x.host = rows[0]
	for _, row := range rows {
		if row.signed(x.h) {
			x.host = row
			return
		}
	}
}

// byHand reads the first of the user's rows for the host that says something valid.
func (x *exchange) byHand() bool {
	first := x.host
	for _, row := range x.hosts {
		if !row.byHand || !row.reads() || !row.signed(x.h) {
			continue
		}
		if x.host = row; x.vendor(row) {
			return true
		}
	}
	x.host = first
	return false
}

// drafts reads the newest draft that says something valid.
func (x *exchange) drafts() {
	if x.has(seenPolicy) && x.mayAnyDraft() {
		x.field = x.memo.policies(x.policies, x.caps)
		if len(x.field.unnamed) > 0 {
			x.unnamed = x.field.unnamed
			if unlimited := func(u unnamed) bool { return u.quota == 0 }; x.fine && slices.ContainsFunc(x.unnamed, unlimited) {
				x.unnamed = slices.DeleteFunc(slices.Clone(x.unnamed), unlimited) // see accountReader.unlimited
			}
		}
	}
	if x.has(seenPartition) && (x.may(EditorsDraft) || x.may(Draft08)) {
		x.declarations()
	}
	switch {
	case x.figures():
	case x.may(VendorFields) && x.vendors(true):
		return
	case x.legacy():
	case len(x.field.named) > 0, len(x.out.Declarations) > 0:
		x.out.Dialect = EditorsDraft
	case len(x.unnamed) > 0:
		x.out.Dialect = Draft07
	}
	x.takePolicies()
	common := &x.table.rows[len(x.table.rows)-1]
	switch {
	case x.host != nil || !x.has(x.table.bits[len(x.table.bits)-1]):
	case len(x.out.Limits) == 0 && len(x.out.Policies) > 0:
		x.otherFigures(common)
	case x.out.Dialect == Draft06 && len(x.out.Policies) == 0 && x.out.Limits[0].Available == None:
		x.underReset(common, x.out.Limits[0].Window)
	case x.namesOther() && slices.ContainsFunc(x.out.Limits, func(l Limit) bool { return l.Available != None }):
		x.others(common)
	}
}

// otherFigures adds the figures of X-RateLimit-Remaining and the like, where the draft's fields are policies alone, to the
// policies with the same quota, of windows that are no shorter than the reset, which may be longer by seconds as it is rounded.
// Without a quota, they are those of the only policy.
func (x *exchange) otherFigures(common *row) {
	a := x.beside(common)
	for _, p := range a.policies {
		for _, l := range a.limits {
			i := slices.IndexFunc(x.out.Policies, func(of Policy) bool {
				return l.Policy == p.Name && of.Quota == p.Quota && (of.Window == 0 || l.Window <= of.Window+3*time.Second)
			})
			if i >= 0 {
				l.Policy = x.out.Policies[i].Name
				x.out.Limits, x.overdrawn = append(x.out.Limits, l), a.overdrawn
			}
		}
	}
	if len(a.policies) > 0 || len(a.limits) != 1 || len(x.out.Policies) != 1 {
		return
	}
	p, l := &x.out.Policies[0], a.limits[0]
	if l.Policy == "" && p.Unit == requests && (l.Window != None || p.Window == 0) && l.Available <= p.Quota && (p.Window == 0 || l.Window <= p.Window+3*time.Second) {
		l.Policy = p.Name
		x.out.Limits, x.overdrawn = append(x.out.Limits, l), a.overdrawn
	}
}

// underReset reads X-RateLimit-Remaining and the like where of the draft's fields there is only RateLimit-Reset: it is that of
// the only figure, or of the shortest time in the name of one that is no shorter.
func (x *exchange) underReset(common *row, reset time.Duration) {
	if !x.vendor(common) {
		return
	}
	var of *Limit
	for i := range x.out.Limits {
		l := &x.out.Limits[i]
		whole := spanAtEnd(l.Policy)
		switch {
		case l.Window != None:
			return // it has one of its own, or is still that of the draft, beside a quota without a figure
		case len(x.out.Limits) == 1, whole >= reset && (of == nil || whole < spanAtEnd(of.Policy)):
			of = l
		}
	}
	if of != nil {
		of.Window = reset
	}
}

// others adds the quotas of X-RateLimit-Limit-Month and the like, if the draft's fields beside them do not say the
// same: they tell of no policy with that quota or of that time. And it adds the limits of X-Concurrency-Limit and the like, on
// requests in progress, if the draft's fields tell of no such policy.
func (x *exchange) others(common *row) {
	a := x.beside(common)
	drafts := x.out.Policies
	for _, p := range a.policies {
		same := func(of Policy) bool { return of.Quota == p.Quota || of.Window == p.Window || of.Name == p.Name }
		if p.Unit == concurrentRequests {
			same = func(of Policy) bool { return of.Unit == p.Unit || of.Name == p.Name }
		} else if spanAtEnd(p.Name) == 0 {
			continue
		}
		if slices.ContainsFunc(drafts, same) {
			continue
		}
		x.out.Policies = append(slices.Clip(x.out.Policies), p)
		for _, l := range a.limits {
			if l.Policy == p.Name {
				x.out.Limits = append(x.out.Limits, l)
			}
		}
	}
}

// beside reads the fields in common use beside those of a draft.
func (x *exchange) beside(common *row) accountReader {
	a := accountReader{row: common, index: &x.table.index, caps: *x.caps, clock: x.made, served: x.served, common: true}
	a.read(x.h)
	x.made = a.clock
	return a
}

// namesOther reports whether the name of a field may tell of which time a quota is, or that it is one of requests in progress.
func (x *exchange) namesOther() bool {
	for name := range x.h {
		for _, word := range [...]string{"Second", "Minute", "Hour", "Day", "Dail", "Week", "Month", "Concurrency"} {
			if strings.Contains(name, word) {
				return true
			}
		}
	}
	return false
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

// figures reads RateLimit: as a List, or else as the Dictionary of draft -07. No field
// value is both.
func (x *exchange) figures() bool {
	if !x.has(seenRateLimit) || !x.mayAnyDraft() {
		return false
	}
	lines := x.limits
	limits, dialect, ignored := readLimits(lines, x.caps, x.field, x.room)
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
	f, ok, ignored := readDictionary(lines, x.reset(true), x.clock(), *x.caps)
	x.ignore(ignored)
	if ok {
		x.figure(f, Draft07)
	}
	return ok
}

// isSyntax reports whether a field was ignored because it is not a List.
func isSyntax(ignored []Ignored) bool { return len(ignored) == 1 && ignored[0].Err == errSyntax }

// figure adds the figures of the account without a name.
func (x *exchange) figure(f figure, dialect Dialect) {
	x.out.Dialect = dialect
	if x.fine && f.limit == 0 {
		f.limit, f.remaining = None, None // see accountReader.unlimited
		f.reset = noDelay
	}
	x.out.Policies, x.out.Limits = accountOf(f, "", named(x.unnamed, f.limit))
	x.unnamed = nil
}

// legacy reads the fields of draft -06.
func (x *exchange) legacy() bool {
	if !x.has(seenLegacy) || !x.may(Draft06) {
		return false
	}
	a := accountReader{
		row: draft06(), index: &x.table.index, caps: *x.caps, clock: x.made, kind: x.reset(true),
		strict: true, served: x.served, fine: x.fine, advertised: x.unnamed, limits: x.room,
	}
	a.read(x.h)
	x.made = a.clock
	x.ignore(a.ignored)
	if len(a.policies)+len(a.limits) == 0 {
		return false
	}
	x.out.Dialect, x.out.Policies, x.worded = Draft06, a.policies, a.worded
	x.setLimits(a.limits)
	x.unnamed = nil
	return true
}

// takePolicies adds what RateLimit-Policy says.
func (x *exchange) takePolicies() {
	p := x.field
	switch {
	case len(p.named) > 0:
		all := slices.Clip(p.named) // may be shared
		for _, added := range x.out.Policies {
			if !advertised(p.named, added.Name) {
				all = append(all, added)
			}
		}
		x.out.Policies = all
		x.ignore(p.ignored)
	case p.older && x.out.Dialect != EditorsDraft && x.out.Dialect != Draft08:
		if x.out.Dialect == Draft07 && len(x.unnamed) > 0 {
			x.out.Policies = named(x.unnamed, None)
		}
		x.ignore(p.ignoredUnnamed)
	case len(p.labelled) > 0:
		x.out.Policies = p.labelled // beside a RateLimit that has names (django-modern-rest)
	default:
		x.ignore(p.ignored)
	}
}

// vendors reads the first row that applies and says something valid: of the rows that
// use names of draft -06 if standard is true, else of the others.
func (x *exchange) vendors(standard bool) bool {
	for i, bit := range x.table.bits {
		if !x.has(bit) {
			continue
		}
		row := &x.table.rows[i]
		if row.standard != standard || len(row.Hosts) > 0 && row != x.host ||
			i >= sharedRow && !row.signed(x.h) || x.host != nil && x.host.Dialect == VendorFields && x.host.fields && row != x.host {
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
	if len(row.whole) > 0 && row.isWhole(x.h) {
		x.out.Dialect, x.out.Vendor = VendorFields, row.Name
		return true
	}
	a := accountReader{row: row, index: &x.table.index, host: x.name, caps: *x.caps, clock: x.made, kind: row.kind, served: x.served, limits: x.room}
	a.common = row == &x.table.rows[len(x.table.rows)-1]
	if row.kind == anyReset && x.host != nil {
		a.kind = x.reset(row.standard)
		a.plain = !x.host.byHand && (a.kind == sharedMillis || a.kind == sharedSeconds)
	}
	a.read(x.h)
	x.made = a.clock
	if len(a.policies)+len(a.limits) == 0 {
		if row.Sign == "" {
			x.ignore(a.ignored)
		}
		return false
	}
	x.out.Dialect, x.out.Vendor, x.overdrawn = VendorFields, row.Name, a.overdrawn
	x.out.Policies, x.worded = a.policies, a.worded
	x.setLimits(a.limits)
	x.ignore(a.ignored)
	return true
}

// setLimits sets the service limits: to nil if there are none, whatever memory they have.
func (x *exchange) setLimits(limits []Limit) {
	if len(limits) > 0 {
		x.out.Limits = limits
	}
}

// retryAfter reads Retry-After and decides whether it is advice about quota.
func (x *exchange) retryAfter(status int) {
	var wait time.Duration
	ok := false
	if x.has(seenRetry) {
		kind := anyReset
		if x.host != nil {
			kind = x.host.retryKind
		}
		var ignored []Ignored
		wait, ok, ignored = readRetryAfter(x.h, kind, x.clock(), *x.caps)
		x.ignore(ignored)
	}
	if !ok || !x.served {
		d, valid := x.rowRetry()
		wait, ok = max(wait, d), ok || valid // each may be of a quota of its own (Azure)
	}
	if !ok && (!x.served || status == http.StatusServiceUnavailable || status == enhanceYourCalm) {
		wait, ok = readOthers(x.h, x.clock(), *x.caps)
	}
	backoff := x.backoff()
	if !ok && backoff == 0 {
		return
	}
	if x.inMillis(wait) {
		wait /= 1000
	}
	x.out.RetryAfter = wait
	x.out.Advised = (onRefusal(status) ||
		(x.out.Dialect.ietf() && !x.isOfOperation(status) || x.overdrawn || len(x.h[databaseLag]) > 0) && (x.host == nil || !x.host.RetryAfterOnRefusals)) && !x.repeatsReset(status)
	if backoff > 0 && (backoff >= wait || !x.out.Advised) {
		x.out.RetryAfter, x.out.Advised = backoff, true
	}
}

// isOfOperation reports whether the Retry-After of a 202 is that of the operation, which is asked for again then, and not of
// a quota: something is left of all.
func (x *exchange) isOfOperation(status int) bool {
	return status == http.StatusAccepted && !slices.ContainsFunc(x.out.Limits, func(l Limit) bool { return l.Available == 0 })
}

// backoff returns how long the server asks to stay away, whatever the status; 0: it does not.
func (x *exchange) backoff() time.Duration {
	if !x.has(seenRetry) {
		return 0
	}
	d, _, ignored := readAliases(x.h, backoffs, spanSeconds, x.clock(), *x.caps)
	x.ignore(ignored)
	return d
}

// inMillis reports whether a Retry-After is in milliseconds: then it says when a quota with nothing left
// is renewed, as another field does; as seconds it would be a thousand times as late. Hours are
// penalties, a short window agrees with too many numbers, and a quota of a day may be used up, too. A thousand seconds or a
// multiple of them may also be the whole window, of which less is left (fastify-rate-limit before version 8.0.1).
func (x *exchange) inMillis(wait time.Duration) bool {
	const least = 10 * time.Second
	if wait < 1000*time.Second || wait%time.Hour == 0 || x.tellsOf(wait-2*time.Second) {
		return false
	}
	whole := x.out.Dialect == VendorFields && wait%(1000*time.Second) == 0 // X-RateLimit
	for i := range x.out.Limits {
		l := &x.out.Limits[i]
		early := l.Window - wait/1000
		switch {
		case l.Window == None || early > 2*time.Second || l.Available != 0 && (l.Available != None || x.served):
		case whole, l.Window >= least && early >= -time.Second:
			return true
		}
	}
	return false
}

// tellsOf reports whether the response tells of a window of at least that length.
func (x *exchange) tellsOf(length time.Duration) bool {
	return slices.ContainsFunc(x.out.Limits, func(l Limit) bool { return l.Window >= length }) ||
		slices.ContainsFunc(x.out.Policies, func(p Policy) bool { return p.Window >= length })
}

// repeatsReset reports whether the Retry-After beside vendors' fields says when a quota is
// renewed of which something is left, so that it gives no reason to wait. Servers that send
// it with every response (Flask-Limiter) do so with their redirects and errors, too. With a
// 503 it is taken at its word: some servers refuse so. So are the drafts, whose Retry-After takes
// precedence, but for the fields of draft -06 on what is no refusal: those are often sent by servers that
// never heard of the draft (agent.ai, Flask-Limiter with other names). Whole
// seconds are rounded in either way; a wait of two seconds would match too many resets.
func (x *exchange) repeatsReset(status int) bool {
	switch {
	case x.out.RetryAfter <= 2*time.Second, !x.served, status == http.StatusServiceUnavailable:
		return false
	case x.out.Dialect != VendorFields && !(x.out.Dialect == Draft06 && status < 500 && !onRefusal(status)):
		return false
	}
	repeats := false
	for i := range x.out.Limits {
		l := &x.out.Limits[i]
		if l.Available == 0 {
			return false
		}
		later := l.Window - x.out.RetryAfter
		repeats = repeats || l.Available > 0 && l.Window != None && later >= -time.Second && later <= 2*time.Second
	}
	return repeats
}

// rowRetry reads the fields that rows name as aliases of Retry-After. The longest delay
// counts.
func (x *exchange) rowRetry() (wait time.Duration, ok bool) {
	for i, bit := range x.table.bits {
		row := &x.table.rows[i]
		if !x.has(bit) || len(row.retry) == 0 || len(row.Hosts) > 0 && row != x.host ||
			i >= sharedRow && !row.signed(x.h) {
			continue
		}
		d, valid, ignored := readAliases(x.h, row.retry, row.kind, x.clock(), *x.caps)
		x.ignore(ignored)
		wait, ok = max(wait, d), ok || valid
	}
	return wait, ok
}

// ignore adds to what was ignored. The memo may share the first slice.
func (x *exchange) ignore(ignored []Ignored) {
	switch {
	case len(ignored) == 0:
	case len(x.out.Ignored) == 0:
		x.out.Ignored = slices.Clip(ignored)
	default:
		x.out.Ignored = append(x.out.Ignored, ignored...)
	}
}
