package parse

import (
	"slices"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// values are the values of a field. Most fields have one, which is not allocated.
type values[T any] struct {
	first T
	more  []T
	n     int
}

func (v *values[T]) add(x T) {
	if v.n == 0 {
		v.first = x
	} else {
		v.more = append(v.more, x)
	}
	v.n++
}

// at returns the i-th value. A single value is that of every position.
func (v *values[T]) at(i int) T {
	if i == 0 || v.n < 2 || i > len(v.more) {
		return v.first
	}
	return v.more[i-1]
}

// A number is a number of a field, with what stands beside it.
type number struct {
	value  decimal
	window time.Duration // "100;w=60", "150/15m", "20:1"; 0 if there is none
	name   string        // the parameter name, which Envoy adds
	label  string        // of one of several accounts: "name=default,100;"
	field  string        // where it stands, for Ignored; empty in the zero number
	item   int
}

// numbers reads a field of numbers: one, a List of them as in drafts -03 and older, or, if
// it is not strict, a comma-separated list with windows. Malformed members are ignored.
func (a *accountReader) numbers(f *rowField) (all values[number]) {
	r := newListReader(f.field, a.caps)
	defer a.keep(&r)
	if r.tooLong(f.lines) {
		return all
	}
	if len(f.lines) == 1 {
		if d, ok := parseDecimal(trim(f.lines[0])); ok {
			all.add(number{value: d, field: f.field})
			return all
		}
		if labels, figures := labelled(trim(f.lines[0])); labels != nil && !a.strict {
			return a.labelled(&r, labels, figures)
		}
		if d, ok := grouped(withoutEnd(trim(f.lines[0]))); ok && !a.strict && len(a.row.Accounts) == 0 {
			all.add(number{value: d, field: f.field})
			return all
		}
	}
	list, err := httpsfv.UnmarshalList(f.lines)
	if err != nil && a.strict {
		r.ignore("", errSyntax)
		return all
	}
	if err != nil {
		if text := strings.Join(f.lines, ","); strings.Contains(text, ";") {
			list, err = httpsfv.UnmarshalList([]string{withoutEnds(text)})
		}
		if err != nil || len(list) == 0 {
			return a.loose(&r, f)
		}
	}
	for i, m := range firstOf(&r, list) {
		r.item = i
		item, isItem := m.(httpsfv.Item)
		if !isItem {
			r.ignore("", errType) // an Inner List
			continue
		}
		d, ok := sfNumber(item.Value)
		if text, isText := item.Value.(string); isText && !a.strict {
			d, ok = parseDecimal(text)
		}
		if q, has := item.Params.Get("q"); has && f.role == ofPolicy && !ok {
			d, ok = sfNumber(q) // a named policy, as in draft -08
		}
		if !ok {
			r.ignore("", errType)
			continue
		}
		n := number{value: d, field: f.field, item: i}
		if name, isText := text(item.Value); isText && f.role == ofPolicy && len(name) <= a.caps.nameBytes() {
			n.name = name
		}
		if a.params(&r, &n, item.Params) {
			all.add(n)
		}
	}
	return all
}

// withoutEnds returns a List without the semicolons after its members: "100;w=60;, 1000;w=3600;" (Printful).
func withoutEnds(text string) string {
	members := strings.Split(text, ",")
	for i, member := range members {
		members[i] = withoutEnd(member)
	}
	return strings.Join(members, ",")
}

func withoutEnd(member string) string { return strings.TrimRight(member, "; \t") }

// grouped reads a number with a comma before each three digits, such as "10,000". Of a list of two
// figures the second rarely has three digits and no space before it.
func grouped(text string) (d decimal, ok bool) {
	first, rest, _ := strings.Cut(text, ",")
	if len(first) == 0 || len(first) > 3 || first[0] == '0' {
		return decimal{}, false
	}
	for group := range strings.SplitSeq(rest, ",") {
		if len(group) != 3 {
			return decimal{}, false
		}
	}
	all := strings.ReplaceAll(text, ",", "")
	if !digits(all) {
		return decimal{}, false
	}
	return parseDecimal(all)
}

// params reads the parameters of a member. ok is false if its window is malformed.
func (a *accountReader) params(r *listReader, n *number, params *httpsfv.Params) (ok bool) {
	for _, name := range params.Names() {
		v, _ := params.Get(name)
		switch name {
		case "w", "window":
			r.params, r.malformed = params, false
			if n.window = r.policyWindow(param{name, v}); r.malformed {
				return false
			}
		case "name":
			if text, ok := text(v); ok && len(text) <= a.caps.nameBytes() && !a.strict {
				n.name = text
			}
		}
	}
	return true
}

// labelled splits a field that names its figures: "name=default,100;", or by their windows:
// {"minute": 100} or "minute=100, hour=1000". It returns no labels if the field has another form.
func labelled(text string) (labels, figures []string) {
	separator, between := ";", ","
	if inner, ok := strings.CutPrefix(text, "{"); ok {
		text, separator, between = strings.TrimSuffix(inner, "}"), ",", ":"
	} else if first, _, ok := strings.Cut(text, "="); ok && span(strings.ToLower(first)) > 0 {
		separator, between = ",", "="
	} else if !strings.HasPrefix(text, "name=") {
		return nil, nil
	}
	for part := range strings.SplitSeq(strings.TrimRight(text, "; "), separator) {
		label, figure, _ := cutLast(strings.TrimPrefix(trim(part), "name="), between)
		label = strings.ToLower(strings.Trim(label, `"' `))
		if between != "," && span(label) == 0 {
			return nil, nil // its members may be anything
		}
		labels, figures = append(labels, label), append(figures, trim(figure))
	}
	return labels, figures
}

// labelled reads figures with labels.
func (a *accountReader) labelled(r *listReader, labels, figures []string) (all values[number]) {
	for i, label := range firstOf(r, labels) {
		d, ok := parseDecimal(figures[i])
		switch r.item = i; {
		case !ok || label == "":
			r.ignore("", errSyntax)
		default:
			all.add(number{value: d, label: label, field: r.field, item: i})
		}
	}
	return all
}

// describes reports whether a field has the measures of an account: {"limit": 100, "remaining": 7}, or
// "limit=100, remaining=7".
func describes(lines []string) bool {
	if len(lines) != 1 || len(lines[0]) == 0 {
		return false
	}
	if lines[0][0] == '{' {
		return strings.Contains(lines[0], `"limit"`) || strings.Contains(lines[0], `"remaining"`)
	}
	return strings.Contains(lines[0], "remaining=") || strings.Contains(lines[0], "remaining:")
}

// isPeriod reports whether a field has a duration where a limit belongs: "1m", "15s".
func isPeriod(lines []string) bool {
	if len(lines) != 1 || len(lines[0]) < 2 || len(lines[0]) > maxTimeBytes || !digits(lines[0][:len(lines[0])-1]) {
		return false
	}
	return strings.IndexByte("smhd", lines[0][len(lines[0])-1]) >= 0
}

// slashed returns the parts of a list such as "300/3000/12000". Of two parts, the second
// may be a window.
func slashed(lines []string) []string {
	if len(lines) != 1 || strings.Count(lines[0], "/") < 2 || strings.Trim(lines[0], "0123456789/") != "" {
		return nil
	}
	return strings.Split(lines[0], "/")
}

// loose reads a list of "100", "100:60", "100:60:300" (the last is what a refusal costs), "100/1m" or
// "100/minute", "100 requests per minute" or "in 60s", "100r/m" as nginx has it, and "100 rpm", between commas; or
// "300/3000/12000".
func (a *accountReader) loose(r *listReader, f *rowField) (all values[number]) {
	var faults []int
	parts := slashed(f.lines)
	if parts == nil {
		parts = strings.Split(strings.Join(f.lines, ","), ",")
		if len(a.row.Accounts) == 0 {
			parts = ungrouped(parts)
		}
	}
	for i, part := range firstOf(r, parts) {
		figure, per, separated := strings.Cut(part, "/")
		if !separated {
			figure, per, separated = strings.Cut(part, ":")
			per, _, _ = strings.Cut(per, ":")
		}
		if !separated {
			figure, per, separated = strings.Cut(strings.ToLower(part), " per ")
		}
		if !separated {
			figure, per, separated = strings.Cut(strings.ToLower(part), " in ")
		}
		if !separated {
			figure, per, separated = cutRate(part)
		}
		d, ok := parseDecimal(withoutRequests(trim(figure)))
		n := number{value: d, field: f.field, item: i}
		if separated {
			if n.window = spanOf(trim(per)); n.window == 0 {
				n.window = spanOf("1" + trim(per)) // "m"
			}
			ok = ok && n.window > 0 && n.window <= a.caps.window() && !(f.role == ofLimit && isRatio(part))
		}
		if !ok {
			faults = append(faults, i)
			continue
		}
		all.add(n)
	}
	if all.n == 0 {
		r.ignore("", errSyntax)
		return all
	}
	for _, r.item = range faults {
		r.ignore("", errType)
	}
	return all
}

// cutRate splits "100 rpm".
func cutRate(part string) (figure, per string, ok bool) {
	text := strings.ToLower(trim(part))
	figure = strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	if per = text[len(figure):]; len(per) != len("rpm") || per[1] != 'p' || span(per) == 0 {
		return part, "", false
	}
	return figure, per, true
}

// ungrouped joins parts between commas that are one number and a window, such as "1,000/hour".
func ungrouped(parts []string) (joined []string) {
	thousands := false
	for _, part := range parts {
		end := len(part) - len(strings.TrimLeft(part, "0123456789"))
		if last := len(joined) - 1; last >= 0 && end == 3 && len(joined[last]) < 16 {
			if _, ok := grouped(trim(joined[last]) + "," + part[:end]); ok || thousands && digits(trim(joined[last])) {
				joined[last] += part
				thousands = true
				continue
			}
		}
		joined, thousands = append(joined, part), false
	}
	return joined
}

// withoutRequests returns a figure without a word for requests that follows it.
func withoutRequests(figure string) string {
	text := strings.ToLower(figure)
	if n := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz"); isRequests(text[len(n):]) {
		return trim(n)
	}
	return figure
}

// isRequests reports whether a word, in lower case, stands for requests.
func isRequests(word string) bool {
	switch word {
	case "requests", "request", "reqs", "req", "r", "calls", "call", "queries", "query", "hits":
		return true
	}
	return false
}

// isRatio reports whether a part of a limit is "5/100": 100 may be a quota, of which 5 are used, as
// well as seconds.
func isRatio(part string) bool {
	_, per, ok := strings.Cut(part, "/")
	return ok && digits(trim(per))
}

// keep adds what a listReader has ignored.
func (a *accountReader) keep(r *listReader) { a.ignored = append(a.ignored, r.ignored...) }

// quotas reads the quotas of an account, and the policies that follow them in drafts -03
// and older: the members with a window, if others have none.
func (a *accountReader) quotas(f *rowField, s *accountValues) {
	all := a.numbers(f)
	if all.first.label != "" {
		s.limits = all
		return
	}
	bare := 0
	for i := range all.n {
		if all.at(i).window == 0 {
			bare++
		}
	}
	for i := range all.n {
		n := all.at(i)
		if n.window > 0 {
			quota := a.figure(n)
			if quota == None {
				continue
			}
			s.policies = append(s.policies, unnamed{quota, n.window, n.name})
		}
		if n.window == 0 || bare == 0 && all.at(0).item == 0 {
			s.limits.add(n)
		}
	}
	if a.strict && repeatsQuota(s.policies) {
		a.ignore(f.field, None, "", errConflict)
		s.policies = nil
	}
}

// inDraft reads a field with service limits as RateLimit has them in the drafts from -08 on, under another name:
// X-RateLimit: "default";r=50;t=30.
func (a *accountReader) inDraft(f *rowField) bool {
	if !strings.Contains(f.lines[0], ";") {
		return false
	}
	limits, _, ignored := readLimits(f.lines, &a.caps, &noPolicyField, nil)
	if len(ignored) > 0 || slices.ContainsFunc(limits, func(l Limit) bool { return l.Available < 0 }) {
		return false
	}
	for _, l := range limits {
		a.addLimit(l)
	}
	return len(limits) > 0
}

// listed reads a field that lists policies.
func (a *accountReader) listed(f *rowField, s *accountValues) {
	all := a.numbers(f)
	for i := range all.n {
		if n := all.at(i); n.window > 0 {
			if quota := a.figure(n); quota != None {
				s.policies = append(s.policies, unnamed{quota, n.window, n.name})
			}
		}
	}
}

// burst reads "burst:100;rate:10": how much a bucket holds, and how much of it comes back in a time that remains
// to be found, unless it is said: "rate:10/s". A burst beside a quota, as in "100;w=60;burst=20;rate=10", is not read
// so; nor is one of which more is left among the fields of the account.
func (a *accountReader) burst(f *rowField, found []rowField, s *accountValues) bool {
	if len(f.lines) != 1 || len(f.lines[0]) > a.caps.fieldBytes() || strings.Contains(f.lines[0], ",") {
		return false
	}
	var burst, rate decimal
	per := time.Duration(0)
	for pair := range strings.SplitSeq(f.lines[0], ";") {
		key, value, ok := strings.Cut(pair, ":")
		if !ok {
			key, value, ok = strings.Cut(pair, "=")
		}
		if !ok {
			return false
		}
		value = trim(value)
		switch strings.ToLower(trim(key)) {
		case "burst", "capacity", "bucket":
			burst, _ = parseDecimal(value)
		case "rate", "refill", "refill-rate", "replenish", "replenish-rate", "fill-rate":
			if figure, unit, ok := strings.Cut(value, "/"); ok {
				value, per = trim(figure), spanOf("1"+trim(unit))
			}
			rate, _ = parseDecimal(value)
		}
	}
	for i := range found {
		left, ok := parseDecimal(trim(found[i].lines[0]))
		if found[i].role == ofRemaining && ok && !left.negative && left.whole > burst.whole {
			return false
		}
	}
	n := number{value: burst, field: f.field}
	if burst.negative || burst.zero() || rate.zero() || rate.negative || a.figure(n) == None {
		return false
	}
	s.limits.add(n)
	s.refill, s.per = rate, per
	return true
}

// refills finds in which time a bucket becomes full, of which burst has read the rate: the seconds or the minutes by
// which the reset is when it is full.
func (s *accountValues) refills() {
	missing := s.limits.first.value.whole - s.remaining.first.value.whole
	if s.refill.zero() || s.remaining.n != 1 || s.resets.n > 1 || missing < 0 {
		return
	}
	times := []time.Duration{time.Second, time.Minute}
	if s.per > 0 {
		times = []time.Duration{s.per}
	}
	reset := &s.resets.first
	for _, per := range times {
		one := float64(per) / (float64(s.refill.whole) + float64(s.refill.fraction)/1e9)
		late := float64(reset.d) - one*float64(missing)
		switch empty := one * float64(s.limits.first.value.whole); {
		case empty > float64(maxSpan):
			return
		case s.resets.n == 1 && missing > 0 && late > -float64(time.Second) && late < float64(time.Second):
			reset.span = true
			s.returns = time.Duration(empty)
			return
		case s.per > 0 && s.resets.n == 0:
			s.returns = time.Duration(empty)
			return
		}
	}
}

// figures reads an available quota, a used quota or a cost. left permits negative ones.
func (a *accountReader) figures(f *rowField, left bool) (valid values[number]) {
	all := a.numbers(f)
	for i := range all.n {
		n := all.at(i)
		if n.value.negative && !n.value.zero() && left && !a.strict {
			valid.add(n)
		} else if a.figure(n) != None {
			valid.add(n)
		}
	}
	return valid
}

// delays reads delays. A malformed or too long one of several keeps its position. Of
// several quotas, there may be as many with slashes between them.
func (a *accountReader) delays(f *rowField, kind resetKind, several bool) (all values[delay]) {
	r := newListReader(f.field, a.caps)
	defer a.keep(&r)
	if r.tooLong(f.lines) {
		return all
	}
	if kind == anyReset && !a.strict {
		kind = anyOrNanos
	}
	valid := false
	item := 0
	lines := f.lines
	if parts := slashed(lines); parts != nil && several {
		lines = parts
	}
	for _, line := range firstOf(&r, lines) {
		if d, ok := readDelay(line, kind, &a.clock); ok {
			r.item = item
			d = r.cappedDelay(d)
			all.add(d)
			valid, item = valid || d != noDelay, item+1
			continue
		}
		for _, part := range firstOf(&r, strings.Split(line, ",")) {
			value, _, _ := strings.Cut(part, ";") // parameters are ignored
			d, ok := readDelay(value, kind, &a.clock)
			if r.item = item; ok {
				d = r.cappedDelay(d)
			} else {
				d = noDelay
				r.ignore("", faultOf(value))
			}
			all.add(d)
			valid, item = valid || d != noDelay, item+1
		}
	}
	if !valid {
		return values[delay]{}
	}
	return all
}

// faultOf returns why a value is no delay.
func faultOf(value string) error {
	if _, ok := parseDecimal(trim(value)); ok {
		return errRange // it is negative
	}
	return errType
}

// cappedDelay returns a delay, or noDelay if it is above the cap on windows.
func (r *listReader) cappedDelay(d delay) delay {
	if r.capped("", d.reset()) == None {
		return noDelay
	}
	return d
}

// windows reads the windows of policies. A window of 0 is ignored. inMillis reports whether it is a
// number of milliseconds by its size.
func (a *accountReader) windows(f *rowField) (all values[delay], inMillis bool) {
	kind := unitOf(f.field, anyReset)
	unsaid := kind == anyReset
	if unsaid {
		kind = spanSeconds
	}
	for _, line := range f.lines {
		word := trim(line)
		if _, per, ok := strings.Cut(word, "/"); ok {
			word = trim(per)
		} else if per, ok := strings.CutPrefix(strings.ToLower(strings.Trim(word, `"`)), "per-"); ok {
			word = per
		}
		if d := spanOf(word); len(f.lines) == 1 && d > 0 && d <= a.caps.window() && (line[0] < '0' || line[0] > '9') {
			all.add(delay{d: d}) // "minute", "requests/minute"
			return all, false
		}
	}
	all = a.delays(f, kind, false)
	if unsaid && all.n == 1 && !all.first.span {
		d := secondsOrMillis(all.first.d)
		all.first.d, inMillis = d, d != all.first.d
	}
	for i := range all.n {
		if d := all.at(i).d; d == 0 || unsaid && d%time.Second != 0 && endsIn(f.field, "-Interval") {
			a.ignore(f.field, None, "", errRange) // a part of a second: the time between two requests
			return values[delay]{}, false
		}
	}
	return all, inMillis
}

// unitOf returns what a number means in a field: what the end of its name says, unless
// kind says it.
func unitOf(field string, kind resetKind) resetKind {
	if kind != anyReset {
		return kind
	}
	if endsIn(field, "-Left") {
		field = field[:len(field)-len("-Left")] // Rate-Limit-Msec-Left
	}
	end := strings.ToLower(field[strings.LastIndexByte(field, '-')+1:])
	switch end {
	case "ms", "msec", "millis", "milliseconds":
		return spanMillis
	case "seconds", "secs", "sec":
		return spanSeconds
	case "minutes":
		return spanMinutes
	case "hours":
		return spanHours
	}
	return kind
}

// endsIn reports whether a field name ends in a text, in any case.
func endsIn(field, end string) bool {
	return len(field) >= len(end) && strings.EqualFold(field[len(field)-len(end):], end)
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

// summary reads a field with several figures. It is a list of pairs, separated by commas
// or semicolons, or a single "used/quota". A pair is a measure and its value, such as
// total=100; a name and the account of the pairs that follow, such as b=per_hour; or an
// account with its used and whole quota, such as api-usage=10/100. The names are those of accounts within that of the
// field, if it has one.
func (a *accountReader) summary(f *rowField, s *accountValues) {
	r := newListReader(f.field, a.caps)
	defer a.keep(&r)
	if r.tooLong(f.lines) {
		return
	}
	text := spaced(strings.Join(f.lines, ","))
	isObject := strings.HasPrefix(text, "{")
	if a.ratio(f, text, s) || a.spent(f, text, s) {
		return
	}
	if isCounts(text) {
		a.counts(f, &r, text)
		return
	}
	read := false
	other := accountValues{cost: None}
	account, current := "", s
	flush := func() {
		if account != "" {
			a.settle(account, &other)
		}
		other = accountValues{cost: None}
	}
	pairs := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ';' })
	for i, pair := range firstOf(&r, pairs) {
		if a.renewed(f, &r, pair) {
			read = true
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			key, value, _ = strings.Cut(pair, ":")
		}
		key, value = strings.ToLower(strings.Trim(key, " \t{\"'")), strings.Trim(value, " \t}\"'")
		r.item = i
		switch {
		case key == "b" || key == "name" || key == "bucket" || key == "group":
			flush()
			account, current = join(f.account, strings.ToLower(value)), &other
		case account != "" && span(key) > 0: // what is left in each of several windows
			of := accountValues{cost: None}
			if a.summaryValue(&r, f, "remaining", value, &of) && of.remaining.n > 0 {
				a.settle(join(account, key), &of)
				read = true
			}
		case strings.Contains(value, "/") && !isObject:
			of := accountValues{cost: None}
			value, _, _ = strings.Cut(value, "(")
			if a.ratio(f, value, &of) {
				read = true
				a.settle(join(f.account, key), &of)
			} else {
				r.ignore("", errSyntax)
			}
		default:
			if name, measure, ok := cutLast(key, "-"); ok && measured(measure) {
				if name = join(f.account, name); name != account {
					flush()
				}
				account, current, key = name, &other, measure
			}
			read = a.summaryValue(&r, f, key, value, current) || read
		}
	}
	if isObject {
		current.windows.first.d = secondsOrMillis(current.windows.first.d)
		if current.resets.first.bare && current.resets.first.d > current.windows.first.d {
			current.resets.first.orMillis()
		}
	}
	flush()
	if !read {
		r.item = None
		r.ignore("", errSyntax)
	}
}

// renewed reads "token:ABCD 2/1000 reset=3514s": the account "token", its used and whole quota, and
// when it is renewed.
func (a *accountReader) renewed(f *rowField, r *listReader, text string) bool {
	words := strings.Fields(text)
	if len(words) != 3 {
		return false
	}
	name, _, _ := strings.Cut(words[0], ":")
	reset, ok := strings.CutPrefix(words[2], "reset=")
	of := accountValues{cost: None}
	if !ok || !a.ratio(f, words[1], &of) {
		return false
	}
	a.summaryValue(r, f, "reset", reset, &of)
	a.settle(join(f.account, strings.ToLower(name)), &of)
	return true
}

// spaced puts commas between pairs that have only spaces between them: "Remaining: 394 Time
// until reset: 3589".
func spaced(text string) string {
	if strings.ContainsAny(text, ",;={") || strings.Count(text, ": ") < 2 {
		return text
	}
	words := strings.Fields(text)
	for i := 1; i < len(words)-1; i++ {
		if strings.HasSuffix(words[i-1], ":") {
			words[i] += ","
		}
	}
	return strings.Join(words, " ")
}

// cutLast slices a text around the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i > 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", "", false
}

// measured reports whether the end of a name in a summary is a measure of the account that
// is named before it.
func measured(end string) bool {
	switch end {
	case "lim", "limit", "rem", "remaining", "used", "reset":
		return true
	}
	return false
}

// ratio reads "used/quota".
func (a *accountReader) ratio(f *rowField, text string, s *accountValues) bool {
	used, limit, ok := strings.Cut(text, "/")
	if !ok {
		return false
	}
	u, okUsed := parseDecimal(trim(used))
	l, okLimit := parseDecimal(trim(limit))
	if !okUsed || !okLimit {
		return false
	}
	n := number{value: u, field: f.field, item: None}
	if a.figure(n) != None {
		s.used.add(n)
	}
	if n.value = l; a.figure(n) != None {
		s.limits.add(n)
	}
	return true
}

// spent reads "cost/left/quota".
func (a *accountReader) spent(f *rowField, text string, s *accountValues) bool {
	parts := slashed([]string{text})
	if len(parts) != 3 {
		return false
	}
	var figures [3]number
	for i, part := range parts {
		d, ok := parseDecimal(part)
		if figures[i] = (number{value: d, field: f.field, item: None}); !ok || a.figure(figures[i]) == None {
			return false
		}
	}
	s.cost = a.figure(figures[0])
	s.remaining.add(figures[1])
	s.limits.add(figures[2])
	return true
}

// summaryValue reads one figure of a summary, and reports whether its key is a measure.
func (a *accountReader) summaryValue(r *listReader, f *rowField, key, value string, s *accountValues) bool {
	var to *values[number]
	switch key {
	case "limit", "lim", "total", "q", "quota", "max", "maximum":
		to = &s.limits
	case "remaining", "remain", "rem", "r", "left", "available":
		to = &s.remaining
	case "used":
		to = &s.used
	case "reset", "resets", "t", "until", "time until reset", "end", "ends", "expires":
		d, ok := readDelay(value, a.kind, &a.clock)
		if !ok {
			r.ignore("", errType)
		} else if d = r.cappedDelay(d); d != noDelay {
			s.resets.add(d)
		}
		return true
	case "w", "window", "period", "time", "interval":
		if w := spanOf(value); w > 0 && w <= a.caps.window() {
			s.windows.add(delay{d: w})
		}
		return true
	default:
		return false
	}
	d, ok := parseDecimal(value)
	n := number{value: d, field: f.field, item: r.item}
	s.unlimited = s.unlimited || to == &s.limits && a.served && (!ok || d.negative)
	switch {
	case !ok:
		r.ignore("", errType)
	case a.figure(n) != None && to.n == 0:
		to.add(n)
	}
	return true
}

// isCounts reports whether a summary lists accounts with their available quota.
func isCounts(text string) bool {
	first, _, _ := strings.Cut(text, ",")
	name, count, _ := strings.Cut(first, ";")
	_, ok := parseDecimal(trim(count))
	return ok && !strings.ContainsAny(name, "=:")
}

// counts reads a summary that lists accounts with their available quota.
func (a *accountReader) counts(f *rowField, r *listReader, text string) {
	for pair := range strings.SplitSeq(text, ",") {
		if r.item++; r.item >= a.caps.items() {
			r.ignore("", ErrCap)
			return
		}
		name, count, _ := strings.Cut(trim(pair), ";")
		d, ok := parseDecimal(trim(count))
		switch {
		case !ok || name == "":
			a.ignore(f.field, r.item, "", errSyntax)
		case len(name) > a.caps.nameBytes():
			a.ignore(f.field, r.item, "", ErrCap)
		default:
			if left := a.figure(number{value: d, field: f.field, item: r.item}); left != None {
				a.addLimit(Limit{Policy: strings.Clone(name), Available: left, Window: None, Cost: None})
			}
		}
	}
}
