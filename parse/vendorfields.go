package parse

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// A rowField is a field of a response that a row reads.
type rowField struct {
	account string
	role    role
	rank    int // the place of the pattern in its list; the lowest counts
	field   string
	lines   []string
}

// fieldsOf returns the fields that a row reads, sorted by account, role and rank.
func (r *row) fieldsOf(h http.Header) []rowField {
	var found []rowField
	for name, lines := range h {
		if len(lines) == 0 || !strings.HasPrefix(name, r.lead) {
			continue
		}
		for i, patterns := range r.fields {
			for rank, p := range patterns {
				if account, ok := p.match(name); ok && !r.lists(p, name) {
					found = append(found, rowField{account, role(i), rank, p.text, lines})
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b rowField) int {
		return cmp.Or(
			strings.Compare(a.account, b.account), cmp.Compare(a.role, b.role), cmp.Compare(a.rank, b.rank))
	})
	return found
}

// lists reports whether the row lists a field by its full name, so that the pattern
// with an asterisk that has matched it does not apply.
func (r *row) lists(p pattern, name string) bool {
	if !p.star {
		return false
	}
	for _, patterns := range r.fields {
		for _, q := range patterns {
			if !q.star && q.prefix == name {
				return true
			}
		}
	}
	return false
}

// An accountReader reads the fields of a row.
type accountReader struct {
	row    *row
	caps   Caps
	clock  *clock
	kind   ResetKind
	strict bool // as in the drafts: figures are Integers that are not negative

	advertised []unnamed // policies of RateLimit-Policy; they replace those in the limit field

	policies []Policy
	limits   []Limit
	ignored  []Ignored

	seenPolicies, seenLimits index
}

// read reads all accounts, up to Caps.Items.
func (a *accountReader) read(h http.Header) {
	found := a.row.fieldsOf(h)
	key, hasKey := a.key(h)
	for n := 0; len(found) > 0; n++ {
		if n == a.caps.items() {
			a.ignored = append(a.ignored, Ignored{Field: found[0].field, Item: n, Err: ErrCap})
			break
		}
		end := slices.IndexFunc(found, func(f rowField) bool { return f.account != found[0].account })
		if end < 0 {
			end = len(found)
		}
		if len(found[0].account) > a.caps.nameBytes() {
			a.ignore(found[0].field, None, "", ErrCap)
		} else {
			a.account(found[:end])
		}
		found = found[end:]
	}
	for i := range a.policies {
		a.policies[i].Key, a.policies[i].HasKey = key, hasKey
	}
	for i := range a.limits {
		a.limits[i].Key, a.limits[i].HasKey = key, hasKey
	}
}

// key returns the partition key that the row makes of fields.
func (a *accountReader) key(h http.Header) (key string, ok bool) {
	if len(a.row.partition) == 0 {
		return "", false
	}
	for i, name := range a.row.partition {
		lines := h[name]
		if len(lines) == 0 || trim(lines[0]) == "" {
			return "", false
		}
		if len(key)+1+len(lines[0]) > a.caps.keyBytes() {
			a.ignore(a.row.Partition[i], None, "", ErrCap)
			return "", false
		}
		if i > 0 {
			key += "\x1f"
		}
		key += trim(lines[0])
	}
	return strings.Clone(key), true
}

// accountValues is what the fields of one account say.
type accountValues struct {
	figure
	used     int64
	window   time.Duration
	policies []unnamed
	negative bool // the quota was given as a negative number
	unknown  bool // so was the remaining quota: nothing is known
}

// account reads the fields of one account.
func (a *accountReader) account(found []rowField) {
	s := accountValues{figure: noFigure, used: None}
	for i := range found {
		f := &found[i]
		switch f.role {
		case ofLimit:
			if s.limit == None {
				s.limit, s.policies = a.quota(f, &s)
			}
		case ofRemaining:
			if s.remaining == None {
				s.remaining = a.remaining(f, &s)
			}
		case ofUsed:
			if s.used == None {
				s.used = a.amount(f)
			}
		case ofReset:
			if s.reset == None {
				s.reset = a.reset(f)
			}
		case ofWindow:
			if s.window == 0 {
				s.window = a.window(f)
			}
		case ofSummary:
			a.summary(f, &s)
		case ofCounts:
			a.counts(f)
		}
	}
	if !s.unknown {
		a.settle(found[0].account, &s)
	}
}

// settle adds the policy and the service limit of an account.
func (a *accountReader) settle(of string, s *accountValues) {
	switch {
	case s.limit == None && s.used != None && s.remaining != None:
		s.limit = a.sum(s.used, s.remaining)
	case s.remaining == None && s.limit != None && s.used != None:
		s.remaining = max(s.limit-s.used, 0)
	}
	if a.row.Refills && s.limit != None && s.remaining != None && s.reset > 0 {
		s.reset = nextUnit(s.reset, s.limit-s.remaining)
	}
	if len(a.advertised) > 0 {
		s.policies = a.advertised
	}
	name := strings.Clone(of)
	policies := named(s.policies, s.limit)
	if i := slices.IndexFunc(s.policies, func(u unnamed) bool { return u.name != "" && u.quota == s.limit }); i >= 0 && name == "" {
		name = s.policies[i].name // Envoy names the policies in the limit field
	}
	policies, limits := account(s.figure, name, policies)
	for i := range policies {
		policies[i].Unit = a.unit(of)
		if p := &policies[i]; p.Name == name && p.Window == 0 {
			p.Window = a.period(of, s.window)
		}
	}
	for _, p := range policies {
		a.addPolicy(p)
	}
	for _, l := range limits {
		a.addLimit(l)
	}
}

// addPolicy adds a policy, or merges it into an earlier one of the same name.
func (a *accountReader) addPolicy(p Policy) {
	if i := find(&a.seenPolicies, a.policies, p); i != None {
		a.policies[i].merge(p)
		return
	}
	a.policies = append(a.policies, p)
}

// addLimit adds a service limit, or merges it into an earlier one of the same policy.
func (a *accountReader) addLimit(l Limit) {
	if i := find(&a.seenLimits, a.limits, l); i != None {
		a.limits[i].merge(l)
		return
	}
	a.limits = append(a.limits, l)
}

// sum adds two figures. It returns None if the sum is above the cap.
func (a *accountReader) sum(x, y int64) int64 {
	if x > a.caps.quota()-y {
		return None
	}
	return x + y
}

// nextUnit returns the time until the next of n missing units, rounded up.
func nextUnit(reset time.Duration, n int64) time.Duration {
	if n <= 1 {
		return reset
	}
	return (reset-1)/time.Duration(n) + 1
}

// unit returns what the quota of an account counts.
func (a *accountReader) unit(account string) string {
	if unit, ok := a.row.Units[account]; ok {
		return canonicalUnit(unit)
	}
	return canonicalUnit(a.row.Unit)
}

// period returns the window of an account's policy: from a field, else from the end of
// the account's name, else from the row.
func (a *accountReader) period(account string, given time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	last := account[strings.LastIndexByte(account, '-')+1:]
	if d := span(last); d > 0 && d <= a.caps.window() {
		return d
	}
	return max(a.row.Every, 0)
}

// span returns the length of a time by its name; the longest, if it varies. It returns
// 0 for other words.
func span(word string) time.Duration {
	const day = 24 * time.Hour
	switch word {
	case "second", "sec":
		return time.Second
	case "minute", "min":
		return time.Minute
	case "hour", "hourly":
		return time.Hour
	case "day", "daily":
		return day
	case "week", "weekly":
		return 7 * day
	case "month", "monthly":
		return 31 * day
	case "year", "yearly":
		return 366 * day
	}
	return 0
}

// ignore records that something was ignored in a field.
func (a *accountReader) ignore(field string, item int, param string, err error) {
	a.ignored = append(a.ignored, Ignored{Field: field, Item: item, Param: param, Err: err})
}

// reader returns a listReader of a field.
func (a *accountReader) reader(f *rowField) listReader { return newListReader(f.field, a.caps) }

// quota reads the quota, and the policies that follow it in drafts -03 and older.
func (a *accountReader) quota(f *rowField, s *accountValues) (int64, []unnamed) {
	r := a.reader(f)
	defer func() { a.ignored = append(a.ignored, r.ignored...) }()
	numbers := r.numbers(f.lines)
	limit := int64(None)
	var policies []unnamed
	for _, n := range numbers {
		if r.item = n.item; n.item == 0 {
			limit, s.negative = a.figure(&r, n), n.value.negative
		}
		if u, ok := a.listed(&r, n); ok {
			policies = append(policies, u)
		}
	}
	if a.strict && repeatsQuota(policies) {
		r.item = None
		r.ignore("", ErrConflict)
		policies = nil
	}
	return limit, policies
}

// listed reads a member of the quota's List as a policy. Only a member with a window
// is one.
func (a *accountReader) listed(r *listReader, n number) (u unnamed, ok bool) {
	if n.params == nil {
		return u, false
	}
	w, given := n.params.Get("w")
	if !given {
		return u, false
	}
	r.params, r.malformed = n.params, false
	u.quota = a.figure(r, n)
	u.window = r.policyWindow(param{"w", w})
	if name, ok := n.params.Get("name"); ok && !a.strict {
		if text, ok := text(name); ok && len(text) <= a.caps.nameBytes() {
			u.name = text
		}
	}
	return u, !r.malformed && u.quota != None && u.window > 0
}

// remaining reads the available quota: the lowest figure of several.
func (a *accountReader) remaining(f *rowField, s *accountValues) int64 {
	return a.amounts(f, func(r *listReader, n number) int64 {
		if n.value.negative && !n.value.zero() && !a.strict {
			// -1 beside a quota that is -1 or missing means unknown. Any other
			// negative figure means that nothing is left.
			if n.value.whole == 1 && s.limit == None {
				s.unknown = s.unknown || s.negative
				return None
			}
			return 0
		}
		return a.figure(r, n)
	}, lowest)
}

// amount reads the used quota: the highest figure of several.
func (a *accountReader) amount(f *rowField) int64 {
	return a.amounts(f, a.figure, func(x, y int64) int64 { return max(x, y) })
}

// amounts reads figures and combines them.
func (a *accountReader) amounts(f *rowField, read func(*listReader, number) int64, join func(x, y int64) int64) int64 {
	r := a.reader(f)
	n := int64(None)
	for _, number := range r.numbers(f.lines) {
		r.item = number.item
		n = join(n, read(&r, number))
	}
	a.ignored = append(a.ignored, r.ignored...)
	return n
}

// figure returns a number as a figure in quota units, or None.
func (a *accountReader) figure(r *listReader, n number) int64 {
	switch {
	case n.value.negative && !n.value.zero():
		r.ignore("", ErrRange)
	case a.strict && n.value.pointed:
		r.ignore("", ErrType)
	case n.value.whole > a.caps.quota():
		r.ignore("", ErrCap)
	default:
		return n.value.whole
	}
	return None
}

// reset reads the time until the quota is renewed: the longest of several.
func (a *accountReader) reset(f *rowField) time.Duration {
	return a.delays(f, a.kind)
}

// window reads the window of a policy. A window of 0 is ignored.
func (a *accountReader) window(f *rowField) time.Duration {
	d := a.delays(f, DeltaSeconds)
	if d == 0 {
		a.ignore(f.field, None, "", ErrRange)
	}
	return max(d, 0)
}

// delays reads delays, and returns the longest that is not above the cap.
func (a *accountReader) delays(f *rowField, kind ResetKind) time.Duration {
	r := a.reader(f)
	longest := time.Duration(None)
	defer func() { a.ignored = append(a.ignored, r.ignored...) }()
	if r.tooLong(f.lines) {
		return None
	}
	for i, line := range firstOf(&r, f.lines) {
		r.item = i
		if d, ok := readDelay(line, kind, a.clock); ok {
			longest = max(longest, r.capped("", d.reset()))
			continue
		}
		for _, n := range r.listed([]string{line}) {
			if n.value.negative && !n.value.zero() {
				r.ignore("", ErrRange)
				continue
			}
			longest = max(longest, r.capped("", n.value.delay(kind, a.clock).reset()))
		}
	}
	return longest
}

// A number is a number from a field with its parameters, if any.
type number struct {
	value  decimal
	params *httpsfv.Params
	item   int // its place in the List
}

// numbers reads a field that is a number or a List of numbers, as in drafts -03 and older
// and where a proxy adds a line. Other members are ignored.
func (r *listReader) numbers(lines []string) []number {
	if r.tooLong(lines) {
		return nil
	}
	if len(lines) == 1 {
		if n, ok := parseDecimal(trim(lines[0])); ok {
			return []number{{value: n}}
		}
	}
	return r.listed(lines)
}

// listed reads a field as a List of numbers.
func (r *listReader) listed(lines []string) []number {
	list, err := httpsfv.UnmarshalList(lines)
	if err != nil {
		r.ignore("", ErrSyntax)
		return nil
	}
	var numbers []number
	for i, m := range firstOf(r, list) {
		item, _ := m.(httpsfv.Item)
		n, ok := sfNumber(item.Value)
		if !ok {
			r.item = i
			r.ignore("", ErrType)
			continue
		}
		numbers = append(numbers, number{n, item.Params, i})
	}
	return numbers
}

// sfNumber returns the value of an Integer or a Decimal.
func sfNumber(v any) (decimal, bool) {
	switch v := v.(type) {
	case int64:
		return decimal{whole: max(v, -v), negative: v < 0}, true
	case float64:
		thousandths := int64(max(v, -v)*1000 + 0.5) // less than 1e15: exact
		return decimal{
			whole: thousandths / 1000, fraction: thousandths % 1000 * 1e6,
			negative: v < 0, pointed: true,
		}, true
	}
	return decimal{}, false
}

// summary reads a field with several figures: "used/quota", or a Dictionary whose
// members and their parameters are figures.
func (a *accountReader) summary(f *rowField, s *accountValues) {
	r := a.reader(f)
	defer func() { a.ignored = append(a.ignored, r.ignored...) }()
	if r.tooLong(f.lines) {
		return
	}
	if used, limit, ok := strings.Cut(trim(f.lines[0]), "/"); ok && len(f.lines) == 1 {
		u, okUsed := parseDecimal(trim(used))
		l, okLimit := parseDecimal(trim(limit))
		if okUsed && okLimit {
			s.used, s.limit = a.figure(&r, number{value: u}), a.figure(&r, number{value: l})
			return
		}
	}
	dict, err := httpsfv.UnmarshalDictionary(f.lines)
	if err != nil {
		r.ignore("", ErrSyntax)
		return
	}
	for _, key := range dict.Names() {
		m, _ := dict.Get(key)
		item, ok := m.(httpsfv.Item)
		if !ok {
			r.ignore("", ErrType)
			continue
		}
		a.summaryValue(&r, key, item.Value, s)
		for _, name := range item.Params.Names() {
			v, _ := item.Params.Get(name)
			a.summaryValue(&r, name, v, s)
		}
	}
}

// summaryValue reads one figure of a summary. Unknown keys are ignored.
func (a *accountReader) summaryValue(r *listReader, key string, v any, s *accountValues) {
	n, ok := sfNumber(v)
	if !ok || n.negative {
		return
	}
	switch key {
	case "limit", "total":
		s.limit = a.figure(r, number{value: n})
	case "remaining":
		s.remaining = a.figure(r, number{value: n})
	case "used":
		s.used = a.figure(r, number{value: n})
	case "reset", "resets":
		s.reset = r.capped("", n.delay(a.kind, a.clock).reset())
	}
}

// counts reads a field that lists accounts with their available quota.
func (a *accountReader) counts(f *rowField) {
	r := a.reader(f)
	defer func() { a.ignored = append(a.ignored, r.ignored...) }()
	if r.tooLong(f.lines) {
		return
	}
	for pair := range strings.SplitSeq(strings.Join(f.lines, ","), ",") {
		if r.item++; r.item >= a.caps.items() {
			r.ignore("", ErrCap)
			return
		}
		name, count, _ := strings.Cut(trim(pair), ";")
		n, ok := parseDecimal(trim(count))
		switch {
		case !ok || name == "":
			r.ignore("", ErrSyntax)
		case len(name) > a.caps.nameBytes():
			r.ignore("", ErrCap)
		default:
			if left := a.figure(&r, number{value: n}); left != None {
				a.addLimit(Limit{Policy: strings.Clone(name), Available: left, Window: None, Cost: None})
			}
		}
	}
}
