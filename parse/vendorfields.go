package parse

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A rowField is a field of a response that a row reads.
type rowField struct {
	account string
	role    role
	rank    int    // the place of the pattern in its list; the lowest counts
	field   string // as the row writes it
	lines   []string
}

// lastRank is the rank of a field that counts after all that its row names.
const lastRank = 1 << 16

// fieldsOf appends the fields that a row reads from a host, sorted by account, role and rank.
func (r *row) fieldsOf(x *fieldIndex, h http.Header, host string, found []rowField) []rowField {
	for name, lines := range h {
		if len(lines) == 0 || !x.mayHave(name) {
			continue
		}
		if of, ok := r.literal[name]; ok {
			for _, f := range of {
				found = append(found, rowField{f.account, f.role, f.rank, f.text, lines})
			}
			continue
		}
		patterns := r.starred[last(name)]
		for i := range patterns {
			f := &patterns[i]
			if f.role == ofReset && f.suffix == "" && f.covers(name) && isForm(name[len(f.prefix):]) && !isOfWindow(h, name) {
				found = append(found, rowField{"", f.role, f.rank, name, lines})
			} else if f.role == ofRemaining && f.covers(name) && isTimeLeft(name[len(f.prefix):len(name)-len(f.suffix)]) {
				found = append(found, rowField{"", ofReset, lastRank, name, lines})
			} else if account, ok := f.match(name, host); ok {
				found = append(found, rowField{account, f.role, f.rank, f.text, lines})
			}
		}
	}
	slices.SortFunc(found, func(a, b rowField) int {
		return cmp.Or(
			strings.Compare(a.account, b.account), cmp.Compare(a.role, b.role), cmp.Compare(a.rank, b.rank),
			slices.Compare(a.lines, b.lines), // two names may differ in case only
			strings.Compare(a.field, b.field))
	})
	return found
}

// isOfWindow reports whether the minutes or hours at the end of the name of a reset are the window of a quota that other fields
// tell of: X-RateLimit-Reset-Minutes beside X-RateLimit-Remaining-Minutes.
func isOfWindow(h http.Header, name string) bool {
	if !strings.HasSuffix(name, "-Minutes") && !strings.HasSuffix(name, "-Hours") {
		return false
	}
	return len(h[strings.Replace(name, "Reset", "Remaining", 1)])+len(h[strings.Replace(name, "Reset", "Limit", 1)]) > 0
}

// isForm reports whether the end of the name of a reset says in which form it is, not whose
// it is: X-RateLimit-Reset-Milliseconds, X-RateLimit-Reset-In-Seconds.
func isForm(end string) bool {
	var lower [len("milliseconds")]byte // strings.ToLower would allocate for each field
	for word := range strings.SplitSeq(end, "-") {
		if len(word) > len(lower) {
			return false
		}
		for i := range len(word) {
			lower[i] = word[i] | ' '
		}
		switch string(lower[:len(word)]) {
		case "in", "after", "at", "on", "by", "time", "date", "datetime", "timestamp", "epoch", "unix", "utc",
			"seconds", "secs", "sec", "ms", "millis", "milliseconds", "minutes", "hours":
		default:
			return false
		}
	}
	return true
}

// An accountReader reads the fields of a row.
type accountReader struct {
	row    *row
	index  *fieldIndex // of the table
	host   string
	caps   Caps
	clock  clock
	kind   resetKind
	plain  bool // kind is that of X-RateLimit-Reset and X-Rate-Limit-Reset only
	strict bool // as in the drafts: figures are Integers that are not negative
	served bool // the response is no 429: see unlimited
	fine   bool // and its status is below 400
	common bool // row is that of the fields in common use

	advertised []unnamed // policies of RateLimit-Policy; they replace those in the limit field

	policies  []Policy
	limits    []Limit
	ignored   []Ignored
	overdrawn bool     // an available quota is negative: the request was refused
	worded    []string // accounts with a word where a figure belongs: "unlimited"

	field   string        // the first of the account
	returns time.Duration // the time in which the quota of the account comes back unit by unit, if its rate is said
	counted string        // what the quota of the account counts, as a field says it; "": none does
	charged []charge      // to accounts that may not have been read yet
	resets  values[delay] // of all accounts that have none

	percentages int // how many were read

	seenPolicies, seenLimits index
}

// A charge is the cost of a request for an account.
type charge struct {
	account string
	cost    int64
}

// read reads all accounts, up to Caps.Items.
func (a *accountReader) read(h http.Header) {
	var few [16]rowField
	found := a.row.fieldsOf(a.index, h, a.host, few[:0])
	key, hasKey := a.key(h)
	all, apart := found, a.common && several(found)
	for n := 0; len(found) > 0; n++ {
		if n >= a.caps.items() {
			a.ignored = append(a.ignored, Ignored{Field: found[0].field, Item: n, Err: ErrCap})
			break
		}
		end := 1
		for end < len(found) && found[end].account == found[0].account {
			end++
		}
		switch {
		case apart && isByMethod(found[0].account), a.common && mayBeTime(found[:end], all):
			a.ignore(found[0].field, None, "", errUnclear) // reads must not wait until there are writes again
		case a.common && mayBeSize(found[:end], all):
		case end < len(found) && found[0].account == "" && !slices.ContainsFunc(found[:end], ofOneAccount):
			a.ofAll(found[:end])
		default:
			same, other := found[:end], found[end:end]
			if a.common {
				same, other = bySpelling(found[:end])
			}
			a.account(h, same, same[0].account)
			if len(other) == 0 {
				break
			}
			if n++; n == a.caps.items() {
				a.ignore(other[0].field, n, "", ErrCap)
				break
			}
			a.account(h, other, joinWords("rate-limit", other[0].account))
		}
		found = found[end:]
	}
	for _, c := range a.charged {
		a.costs(c.account, c.cost)
	}
	a.dropUnlimited()
	a.allowExceeded(h)
	if !hasKey {
		return // percentages have keys of their own
	}
	for i := range a.policies {
		a.policies[i].Key, a.policies[i].HasKey = key, hasKey
	}
	for i := range a.limits {
		a.limits[i].Key, a.limits[i].HasKey = key, hasKey
	}
}

// bySpelling tells the fields of an account in the two spellings of the names in common use apart, if they are of two
// quotas: one of a gateway, say, and one of the server behind it. That is so if both spellings say what is left or used, and
// a limit, or what is left or used, differs. The reset beside X-Rate-Limit-Remaining says nothing then of
// X-RateLimit-Remaining. Fields that agree, or that complete each other, are of one quota. It changes the order of account.
func bySpelling(account []rowField) (joined, hyphened []rowField) {
	isHyphened := func(f rowField) bool {
		return strings.HasPrefix(f.field, "X-Rate-Limit-") || strings.HasPrefix(f.field, "Rate-Limit-")
	}
	if !slices.ContainsFunc(account, isHyphened) {
		return account, nil
	}
	var first [2][roles]string // by spelling
	for i := len(account) - 1; i >= 0; i-- {
		spelling := 0
		if isHyphened(account[i]) {
			spelling = 1
		}
		first[spelling][account[i].role] = account[i].lines[0]
	}
	for i := range first {
		if first[i][ofRemaining]+first[i][ofUsed] == "" {
			return account, nil
		}
	}
	if !slices.ContainsFunc([]role{ofLimit, ofRemaining, ofUsed}, func(r role) bool { return unequal(first[0][r], first[1][r]) }) {
		return account, nil
	}
	slices.SortStableFunc(account, func(f, g rowField) int {
		switch hyphened := isHyphened(f); {
		case hyphened == isHyphened(g):
			return 0
		case hyphened:
			return 1
		}
		return -1
	})
	at := slices.IndexFunc(account, isHyphened)
	return account[:at], account[at:]
}

// unequal reports whether two fields begin with different numbers of whole units, or one of them is a number and the other says
// that there is no limit. A negative number is 0.
func unequal(one, other string) bool {
	first := func(text string) (whole int64, ok, unlimited bool) {
		if i := strings.IndexAny(text, ",;"); i >= 0 {
			text = text[:i]
		}
		d, ok := parseDecimal(trim(text))
		if d.negative {
			d.whole = 0
		}
		return d.whole, ok, strings.EqualFold(trim(text), "unlimited")
	}
	n, ok, unlimited := first(one)
	m, okToo, unlimitedToo := first(other)
	return ok && unlimitedToo || unlimited && okToo || ok && okToo && n != m
}

// joinWords joins words with a hyphen. The second may be empty.
func joinWords(first, second string) string {
	if second == "" {
		return first
	}
	return first + "-" + second
}

// ofOneAccount reports whether a field without an account describes an account of its own, and
// not those that are named in other fields. The bare name of a policy describes none.
func ofOneAccount(f rowField) bool {
	return f.role != ofReset && f.role != ofCost && !(f.role == ofPolicy && !strings.ContainsAny(f.lines[0], "=0123456789"))
}

// ofAll reads the fields that describe all accounts.
func (a *accountReader) ofAll(found []rowField) {
	for i := range found {
		if f := &found[i]; f.role == ofCost {
			if n := a.figures(f, false); n.n > 0 {
				a.charged = append(a.charged, charge{"", a.figure(n.at(0))})
			}
		} else if f.role == ofReset && a.resets.n == 0 {
			a.resets = a.delays(f, a.resetKind(f), false)
		}
	}
}

// timeOnly reports whether the name of a field has a time in place of a measure: X-RateLimit-Day.
func (f *rowField) timeOnly() bool {
	prefix := len(f.field) - len(f.account)
	return (prefix == len("X-RateLimit-") || prefix == len("X-Rate-Limit-")) && spanAtEnd(f.account) > 0 && endsIn(f.field, f.account)
}

// leftOfTime reports whether a field says what is left of a time: X-Daily-Remaining.
func leftOfTime(f rowField) bool {
	return f.role == ofRemaining && len(f.field) == len("X-")+len(f.account)+len("-Remaining") && span(f.account) > 0
}

// mayBeTime reports whether the only field of an account may count times and not requests:
// X-Day-Remaining may be the days of a trial. "Daily" counts nothing, and who counts days has no limit of
// days and no minutes beside them.
func mayBeTime(account, all []rowField) bool {
	if len(account) != 1 || !leftOfTime(account[0]) || strings.HasSuffix(account[0].account, "ly") {
		return false
	}
	others := slices.DeleteFunc(slices.Clone(all), func(f rowField) bool { return !leftOfTime(f) })
	return len(others) < 2
}

// mayBeSize reports whether the fields of an account may be about something else than requests:
// X-Request-Limit and X-Api-Limit, if nothing tells what is left; X-Quota-Limit and X-Quota-Used, if no rate
// is beside them. What is renewed is no size: X-Quota-Limit and X-Quota-Used beside X-Quota-Reset.
func mayBeSize(account, all []rowField) bool {
	name, field := account[0].account, account[0].field
	switch name {
	case "quota", "api", "request", "rl":
		return endsIn(field[:min(len(field), len("X-")+len(name))], "X-"+name) &&
			(!slices.ContainsFunc(account, tellsLeft) || name == "quota" && !slices.ContainsFunc(all, ofRate) && !renews(account))
	}
	return false
}

// renews reports whether fields say how much may be used until a reset.
func renews(account []rowField) bool {
	return slices.ContainsFunc(account, func(f rowField) bool { return f.role == ofLimit && isAllowance(f) }) &&
		slices.ContainsFunc(account, func(f rowField) bool { return f.role == ofReset && strings.ContainsAny(f.lines[0], "123456789") })
}

// isAllowance reports whether a field says how many requests may be made. 0 and 1 may say whether the request is allowed, and
// ten million or more are bytes.
func isAllowance(f rowField) bool {
	n, ok := parseDecimal(trim(f.lines[0]))
	return ok && n.whole > 1 && n.whole < 1e7
}

// ofRate reports whether the name of a field says that it is about a rate.
func ofRate(f rowField) bool {
	return strings.Contains(f.field, "RateLimit") || strings.Contains(f.field, "Rate-Limit")
}

// tellsLeft reports whether a field says what is left of a quota, or what is used.
func tellsLeft(f rowField) bool { return f.role == ofRemaining || f.role == ofUsed }

// key returns the partition key that the row makes of fields.
func (a *accountReader) key(h http.Header) (Key, bool) {
	if len(a.row.partition) == 0 {
		return "", len(a.row.paths) > 0 && a.row.Units[""] != percent // percentages have keys of their own
	}
	key := ""
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
	return Key(strings.Clone(key)), true
}

// accountValues is what the fields of one account say. Each field may have several
// values.
type accountValues struct {
	limits    values[number] // without the policies that follow them in drafts -03 and older
	remaining values[number]
	used      values[number]
	resets    values[delay] // d is None where a value is malformed
	windows   values[delay]
	inMillis  bool    // windows is a number of milliseconds, by its size: so is a reset
	rate      decimal // units that come back in a second; 0 if it is not said
	refill    decimal // units that come back in per, or in a time that is to be found; 0 if it is not said
	per       time.Duration
	returns   time.Duration // until a bucket that is empty is full; 0 if it is not known
	cost      int64
	policies  []unnamed
	unlimited bool // the response was served, and the quota is a word
}

// account reads the fields of one account of a header.
func (a *accountReader) account(h http.Header, found []rowField, account string) {
	s := accountValues{cost: None}
	a.field, a.counted = found[0].field, ""
	faults := len(a.ignored)
	for i := range found {
		a.take(&found[i], found, &s)
	}
	if a.common && account != "" && s.limits.n == 0 {
		a.bareLimit(h, found, &s)
	}
	s.resetInMillis()
	if a.strict && s.endsLate() || !a.strict && a.outlasts(&s) {
		s.windows = values[delay]{}
		i := slices.IndexFunc(found, func(f rowField) bool { return f.role == ofWindow })
		a.ignore(found[max(i, 0)].field, None, "", errConflict)
	}
	if len(a.ignored) > faults && slices.ContainsFunc(found, s.worded) {
		a.worded = append(a.worded, account)
		s.unlimited = a.served && s.limits.n == 0 && found[0].role == ofLimit
	}
	if s.resets.n == 0 && s.limits.n+s.remaining.n > 0 && a.shared(account, &s) {
		s.resets = a.resets
	}
	if a.isMoney(account, &s) {
		a.ignore(a.field, None, "", errUnclear)
		return
	}
	s.choose()
	s.refills()
	if s.limits.first.label != "" || s.remaining.first.label != "" || s.used.first.label != "" {
		a.byLabel(account, &s)
		return
	}
	a.settle(account, &s)
}

// take takes over what one of the fields of an account says. The first field of a role counts.
func (a *accountReader) take(f *rowField, found []rowField, s *accountValues) {
	switch f.role {
	case ofLimit:
		if s.limits.n == 0 {
			a.limit(f, found, s)
		}
	case ofRemaining:
		if s.remaining.n == 0 {
			s.remaining = a.figures(f, true)
		}
	case ofUsed:
		if s.used.n == 0 && !(isRatio(f.lines[0]) && a.ratio(f, f.lines[0], s)) {
			s.used = a.figures(f, false)
		}
	case ofCost:
		if n := a.figures(f, false); n.n > 0 {
			s.cost = a.figure(n.at(0))
		}
	case ofReset:
		if s.resets.n == 0 {
			a.reset(f, s)
		} else {
			a.resetAgain(f, s)
		}
	case ofWindow:
		if word := a.unitWord(f); word != "" {
			a.counted = word
		} else if endsIn(f.field, "-Rate") || endsIn(f.field, "-FillRate") {
			a.rate(f, s)
		} else if s.windows.n == 0 {
			s.windows, s.inMillis = a.windows(f)
		}
	case ofPolicy:
		a.listed(f, s)
	case ofSummary:
		if a.row.Units[""] == percent {
			a.percent(f)
		} else {
			a.summary(f, s)
		}
	}
}

// rate reads how many units come back in a second, or in the window.
func (a *accountReader) rate(f *rowField, s *accountValues) {
	rate := a.figures(f, false)
	switch {
	case rate.n == 0:
	case endsIn(f.field, "-Rate"):
		s.rate = rate.at(0).value
	case s.limits.n == 0 || rate.at(0).value.whole < s.limits.first.value.whole:
		s.windows = values[delay]{} // not all of the quota is back then
	}
}

// unitWord returns the word in X-RateLimit-Unit that says what the quota counts: tokens, credits, or money. It is empty
// if there is none, or a time or a word that says nothing.
func (a *accountReader) unitWord(f *rowField) string {
	if !endsIn(f.field, "-Unit") || len(f.lines) != 1 || len(f.lines[0]) > a.caps.nameBytes() {
		return ""
	}
	word := strings.ToLower(trim(f.lines[0]))
	if spanOf(word) > 0 || a.row.unit(word) == requests && !isCurrency(word) {
		return ""
	}
	return word
}

// isCurrency reports whether a word in lower case names a currency.
func isCurrency(word string) bool {
	switch word {
	case "usd", "eur", "gbp", "dollars", "euros", "cents":
		return true
	}
	return false
}

// unit returns what the quota of an account counts: what the row says, or else a field.
func (a *accountReader) unit(account string) string {
	unit := a.row.unit(account)
	if unit == requests && a.counted != "" {
		return a.row.unit(a.counted)
	}
	return unit
}

// limit reads the field of a limit. It may say more than that, or something else.
func (a *accountReader) limit(f *rowField, found []rowField, s *accountValues) {
	switch {
	case (f.timeOnly() || endsIn(f.field, "-*-Allowed") || endsIn(f.field, "-Allowed-*")) && !slices.ContainsFunc(found, tellsLeft):
		// It may be what is left, or whether the request is allowed.
	case f.account == "quota" && endsIn(f.field, "-Allowed") && !isAllowance(*f):
	case a.common && a.inDraft(f):
	case describes(f.lines):
		a.summary(f, s)
	case !a.strict && isPeriod(f.lines):
		if d := spanOf(f.lines[0]); d > a.caps.window() {
			a.ignore(f.field, None, "", ErrCap)
		} else if s.windows.n == 0 {
			s.windows.add(delay{d: d}) // Ocelot and AspNetCoreRateLimit have no other limit
		}
	case !a.strict && a.burst(f, found, s):
	default:
		a.quotas(f, s)
	}
}

// reset reads the field that says when the quota is renewed.
func (a *accountReader) reset(f *rowField, s *accountValues) {
	kind := a.resetKind(f)
	if kind == anyReset && !a.strict && a.outlastsDays(f) {
		kind = spanMillis
	}
	s.resets = a.delays(f, kind, s.limits.n > 1)
	if s.resets.n == 1 && s.resets.first.bare && endsIn(f.field, "-TTL") && !endsIn(f.field, "-Remaining-TTL") {
		s.resets.first.orMillis()
	}
}

// outlastsDays reports whether a number says that a quota of a day or more, by the name of its account, is renewed after its window
// if it is a number of seconds, and within it if it is one of milliseconds. A day may have 25 hours. Whole days are in seconds.
func (a *accountReader) outlastsDays(f *rowField) bool {
	const day = 24 * time.Hour
	n, ok := parseDecimal(trim(f.lines[0]))
	if !ok || len(f.lines) > 1 || n.negative || n.times(time.Second) <= day || n.whole >= leastUnix || n.fraction == 0 && n.whole%86_400 == 0 {
		return false
	}
	window := a.period(f.account, f.account, 0)
	return window >= day && n.times(time.Second) > window+window/24 && n.times(time.Millisecond) <= window
}

// resetAgain reads another field that says when the quota is renewed. If the first one is a number without a
// unit, it has the unit that agrees with this one: 3595 beside 2026-04-23T10:59:55Z are seconds. If the first one is an instant
// of whole seconds, and this one the time until then, this one counts: the instant may be a second early, by the fraction of a
// second that the Date does not say.
func (a *accountReader) resetAgain(f *rowField, s *accountValues) {
	const near = 2 * time.Second
	r := &s.resets.first
	if s.resets.n == 1 && endsIn(f.field, "-Next") && len(f.lines) == 1 && len(f.lines[0]) <= a.caps.fieldBytes() {
		if next, ok := readDelay(f.lines[0], a.resetKind(f), &a.clock); ok && !next.at.IsZero() && !r.at.IsZero() && next.d < r.d {
			*r = next // the next units are back then, and all of them at the reset (Akamai)
		}
		return
	}
	if s.resets.n != 1 || !r.bare && !r.coarse || len(f.lines) != 1 || len(f.lines[0]) > a.caps.fieldBytes() {
		return
	}
	again, ok := readDelay(f.lines[0], a.resetKind(f), &a.clock)
	if !ok {
		return
	}
	agree := func(one, other time.Duration) bool { return one-other >= -near && one-other <= near }
	switch {
	case r.bare && !again.bare && agree(again.d, r.d):
		r.bare = false
	case r.bare && !again.bare && agree(again.d, r.d/1000):
		r.d, r.bare = r.d/1000, false
	case r.coarse && again.at.IsZero() && again.d > 0 && again.d >= r.d && agree(again.d, r.d):
		*r, r.bare = again, false
	}
}

// resetInMillis takes a reset without a unit for milliseconds where the window is told in them, and it would end long
// after the window otherwise.
func (s *accountValues) resetInMillis() {
	r, window := &s.resets.first, s.windows.first.d
	if s.inMillis && s.resets.n == 1 && r.bare && r.d > 2*window+time.Second && r.d/1000 <= window {
		r.d, r.bare = r.d/1000, false
	}
}

// bareLimit reads the limit of a named account whose fields have no word for it: X-RateLimit-Table, beside
// X-RateLimit-Remaining-Table. Without what is left, it may be that, or anything.
func (a *accountReader) bareLimit(h http.Header, found []rowField, s *accountValues) {
	left := slices.IndexFunc(found, tellsLeft)
	if left < 0 || s.limits.n > 0 || s.remaining.n+s.used.n != 1 {
		return
	}
	f, part := &found[left], s.remaining.first.value
	if s.used.n > 0 {
		part = s.used.first.value
	}
	for _, prefix := range [...]string{"X-RateLimit-", "X-Rate-Limit-"} {
		if !strings.HasPrefix(f.field, prefix) || !strings.Contains(f.field, "*") {
			continue
		}
		name := http.CanonicalHeaderKey(prefix + f.account)
		if lines := h[name]; len(lines) == 1 {
			limit, ok := parseDecimal(trim(lines[0]))
			if ok && limit.whole > 0 && !limit.negative && part.whole <= limit.whole {
				s.limits.add(number{value: limit, field: name})
			}
		}
	}
}

// endsLate reports whether a window is shorter than the reset beside it: it may be a number of minutes. An
// instant may be a second later, as the Date is in whole seconds.
func (s *accountValues) endsLate() bool {
	for i := range s.windows.n {
		w, r := s.windows.at(i).d, s.resets.at(i)
		if !r.at.IsZero() {
			w = plus(w, time.Second)
		}
		if s.resets.n > 0 && w > 0 && r.d > w {
			return true
		}
	}
	return false
}

// outlasts reports whether the quota, of which something is left, is renewed long after the window beside it is over:
// that is then the time between two requests (Cloudsmith's X-RateLimit-Interval), or a number in another unit. A reset
// without a unit may be in another one itself, an instant by an unknown clock says nothing, and with nothing left a
// client may be locked out for longer than a window.
func (a *accountReader) outlasts(s *accountValues) bool {
	w, r := s.windows.first.d, &s.resets.first
	return s.windows.n == 1 && s.resets.n == 1 && s.remaining.first.value.whole > 0 &&
		!r.bare && (r.at.IsZero() || a.clock.dated) && r.d/2 > w+time.Second
}

// isMoney reports whether an account is of money. What a request takes of that is not known before. The name of the
// account says so, if the row has no unit for it. Or a fraction is left of fewer tokens than a request takes (Kong's AI
// gateway, if it limits what models cost).
func (a *accountReader) isMoney(account string, s *accountValues) bool {
	for word := range wordsOf(joinWords(account, a.counted)) {
		if isCurrency(word) {
			return a.row.unit(account) == requests
		}
		switch word {
		case "cpm", "cost", "budget", "spend", "balance", "credits": // or calls a minute and points, which are whole
			if a.row.Units[""] == "" && (s.limits.first.value.pointed || s.remaining.first.value.pointed) {
				return true
			}
		}
	}
	const few = 1000
	return s.remaining.first.value.fraction > 0 && s.limits.n == 1 && s.limits.first.value.whole < few &&
		a.unit(account) == tokens
}

// choose puts that quota of several first which what is left and the reset fit into: of
// "100;w=60, 5000;w=3600" the second, if 4321 are left.
func (s *accountValues) choose() {
	if s.limits.n < 2 || s.remaining.n != 1 || s.resets.n > 1 {
		return
	}
	for i := range s.limits.n {
		l := s.limits.at(i)
		late := l.window > 0 && s.resets.n == 1 && s.resets.first.reset() > plus(l.window, 3*time.Second)
		if late || s.remaining.first.value.whole > l.value.whole {
			continue
		}
		if i > 0 {
			s.limits.first, s.limits.more[i-1] = l, s.limits.first
		}
		return
	}
}

// shared reports whether the reset without an account may be that of an account: it is not
// after the window of the account, if that is known. The seconds are for rounding, of the Date
// too.
func (a *accountReader) shared(account string, s *accountValues) bool {
	window := a.period(account, account, s.windows.first.d)
	for i := range a.resets.n {
		if window > 0 && a.resets.at(i).reset() > plus(window, 3*time.Second) {
			return false
		}
	}
	return true
}

// worded reports whether a field has a word in place of a quota, or of what is left of it.
func (s *accountValues) worded(f rowField) bool {
	if !(f.role == ofLimit && s.limits.n == 0 || f.role == ofRemaining && s.remaining.n == 0) {
		return false
	}
	text := strings.Join(f.lines, "")
	return trim(text) != "" && !strings.ContainsAny(text, "0123456789")
}

// resetKind returns what a number means in a field that says when a quota resets.
func (a *accountReader) resetKind(f *rowField) resetKind {
	kind, field := a.kind, f.field
	if kind == anyReset && endsIn(field, "-Expire") && strings.EqualFold(f.account, "requests") {
		return sharedMillis // bingx-api.github.io and huobiapi.github.io; X-RateLimit-Requests-Expire counts down from 10000
	}
	if a.plain && field != "X-RateLimit-Reset" && field != "X-Rate-Limit-Reset" {
		kind = anyReset
	}
	return orInstant(unitOf(field, kind), kind)
}

// orInstant returns what a number means in a field whose name says the unit, and no row: it may be
// a Unix time, too. X-RateLimit-Reset-Ms has both.
func orInstant(named, kind resetKind) resetKind {
	switch {
	case kind != anyReset:
		return kind
	case named == spanMillis:
		return sharedMillis
	case named == spanSeconds:
		return sharedSeconds
	}
	return named
}

// byLabel adds the policies and the service limits of an account whose values have names.
func (a *accountReader) byLabel(account string, s *accountValues) {
	var labels []string
	for _, v := range [...]*values[number]{&s.limits, &s.remaining, &s.used} {
		for i := range v.n {
			if label := v.at(i).label; len(labels) < maxSeveral && !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
		}
	}
	for _, label := range labels {
		of := accountValues{cost: s.cost}
		if len(labels) == 1 {
			of.resets, of.windows = s.resets, s.windows
		} else if label == "" {
			of.resets = s.resets
		}
		for _, v := range [...]struct{ from, to *values[number] }{
			{&s.limits, &of.limits}, {&s.remaining, &of.remaining}, {&s.used, &of.used},
		} {
			for i := range v.from.n {
				if n := v.from.at(i); n.label == label && v.to.n == 0 {
					v.to.add(n)
				}
			}
		}
		a.settle(join(account, label), &of)
	}
}

// settle adds the policies and the service limits of an account.
func (a *accountReader) settle(account string, s *accountValues) {
	if s.cost != None && s.limits.n+s.remaining.n+s.used.n+s.resets.n == 0 {
		a.charged = append(a.charged, charge{account, s.cost})
		return
	}
	n := s.several(len(a.row.Accounts) > 0)
	if n == 1 {
		if a.fits(account) {
			a.one(account, s)
		}
		return
	}
	for i, name := range a.names(n, s) {
		if i < len(a.row.Accounts) {
			name = a.row.Accounts[i]
		}
		if name = join(account, name); a.fits(name) {
			a.pair(name, account, i, s)
		}
	}
}

// fits reports whether a name, as it is kept, is no longer than Caps.NameBytes: small letters
// may have more bytes than large ones. A longer one is ignored.
func (a *accountReader) fits(name string) bool {
	if len(name) <= a.caps.nameBytes() {
		return true
	}
	a.ignore(a.field, None, "", ErrCap)
	return false
}

// maxSeveral bounds the policies of one account, whatever Caps.Items is.
const maxSeveral = 64

// repeated reports whether each field says the same again, of the same window. Two programs on the way have
// added it then.
func (s *accountValues) repeated() bool {
	for i := range s.limits.n {
		if s.window(i) != s.window(0) {
			return false
		}
	}
	sameNumbers := func(v *values[number]) bool {
		for i := 1; i < v.n; i++ {
			if v.at(i).value != v.first.value || v.at(i).window != v.first.window {
				return false
			}
		}
		return true
	}
	sameDelays := func(v *values[delay]) bool {
		for i := 1; i < v.n; i++ {
			if v.at(i) != v.first {
				return false
			}
		}
		return true
	}
	return sameNumbers(&s.limits) && sameNumbers(&s.remaining) && sameNumbers(&s.used) &&
		sameDelays(&s.resets) && sameDelays(&s.windows)
}

// several returns how many policies the values of an account describe. It is more than
// one only if two fields have several values, and their positions have names or their values differ.
func (s *accountValues) several(named bool) int {
	n, lists := 0, 0
	if !named && s.repeated() {
		return 1
	}
	for _, length := range [...]int{s.limits.n, s.remaining.n, s.used.n, s.resets.n} {
		if length < 2 {
			continue
		}
		if lists++; n == 0 || length < n {
			n = length
		}
	}
	if lists < 2 {
		return 1
	}
	return min(n, maxSeveral)
}

// window returns the window of the i-th of several policies: from the limit, else from
// the policy with that quota, else by position.
func (s *accountValues) window(i int) time.Duration {
	l := s.limits.at(i)
	if l.window > 0 {
		return l.window
	}
	if s.windows.n > 0 {
		if w := s.windows.at(i).d; w > 0 {
			return w
		}
	}
	match, equal := time.Duration(0), 0
	for _, u := range s.policies {
		if u.quota == l.value.whole {
			match = u.window
			equal++
		}
	}
	if i < len(s.policies) && s.policies[i].quota == l.value.whole {
		return s.policies[i].window
	}
	if equal == 1 {
		return match
	}
	return 0
}

// names returns the names of several policies that have none: the policies as a field writes them, or
// their positions if the quotas are unknown or do not tell them apart. What is left of one says nothing
// of another then: "100, 100" with the resets "1, 3600" are two windows. Of X-RateLimit alone, some
// servers write what is used (Mangopay), which no account may be named after.
func (a *accountReader) names(n int, s *accountValues) []string {
	names := make([]string, n)
	first := s.limits.first
	mayBeUsed := a.common && (first.field == "X-RateLimit" || first.field == "X-Rate-Limit") && first.window == 0
	apart := s.limits.n > 1 && !mayBeUsed
	for i := 0; i < n && apart; i++ {
		names[i] = unnamed{quota: s.limits.at(i).value.whole, window: s.window(i)}.text()
		apart = !slices.Contains(names[:i], names[i])
	}
	for i := 0; i < n && !apart; i++ {
		names[i] = unnamed{quota: int64(i + 1)}.text()
	}
	return names
}

// join returns the name of a policy within an account.
func join(account, name string) string {
	if account == "" {
		return name
	}
	return account + " " + name
}

// pair adds the i-th of several policies, and its service limit.
func (a *accountReader) pair(name, account string, i int, s *accountValues) {
	f := figure{limit: None, remaining: None, reset: noDelay, cost: s.cost}
	if s.limits.n > 0 {
		f.limit = a.figure(s.limits.at(i))
	}
	if s.remaining.n > 0 {
		f.remaining = a.left(s.remaining.at(i), f.limit)
	}
	used := int64(None)
	if s.used.n > 0 {
		used = a.figure(s.usedOf(i))
	}
	if s.resets.n > 0 {
		f.reset = s.resets.at(i)
	}
	if s.limits.n > 0 && a.unlimited(s.limits.at(i), f) {
		if f.limit = None; f.remaining == 0 {
			return
		}
	}
	a.add(name, account, f, used, nil, s.window(i))
}

// usedOf returns the used quota of the i-th of several policies: by the window that both
// values have, else by position.
func (s *accountValues) usedOf(i int) number {
	if w := s.limits.at(i).window; w > 0 {
		for j := range s.used.n {
			if s.used.at(j).window == w {
				return s.used.at(j)
			}
		}
	}
	return s.used.at(i)
}

// one adds the policy and the service limit of an account whose fields have one value
// each. Of a single field with several values the most cautious counts.
func (a *accountReader) one(account string, s *accountValues) {
	f := figure{limit: None, remaining: None, reset: noDelay, cost: s.cost}
	if s.limits.n > 0 {
		f.limit = a.quota(account, s)
	}
	for i := range s.remaining.n {
		left := s.remaining.at(i)
		if left.value.negative && left.value.whole == 1 && (f.limit == None || s.rate != decimal{}) && !a.strict {
			if s.limits.n > 0 && s.limits.at(0).value.negative {
				return // -1 of -1: nothing is known
			}
			if a.served || s.limits.n > 0 || slices.Contains(a.worded, account) {
				continue
			}
		}
		f.remaining = lowest(f.remaining, a.left(left, f.limit))
	}
	used := int64(None)
	for i := range s.used.n {
		used = max(used, a.figure(s.used.at(i)))
	}
	if f.limit == None && s.used.n == 1 && s.remaining.n == 1 && used != None && f.remaining > 0 &&
		s.used.first.value.fraction+s.remaining.first.value.fraction >= 1e9 {
		used++ // 45.01 and 104.99 are 150
	}
	for i := range s.resets.n {
		if d := s.resets.at(i); d.reset() > f.reset.reset() {
			f.reset = d
		}
	}
	if s.unlimited || s.limits.n > 0 && a.unlimited(s.limits.at(0), f) {
		if f.limit = None; f.remaining == 0 {
			return
		}
	}
	window := time.Duration(0)
	for i := range s.windows.n {
		window = max(window, s.windows.at(i).d)
	}
	policies := s.policies
	if len(a.advertised) > 0 {
		policies = a.advertised
	}
	if s.rate.whole+s.rate.fraction > 0 && f.limit > 0 {
		seconds := float64(f.limit) / (float64(s.rate.whole) + float64(s.rate.fraction)/1e9)
		if seconds <= a.caps.window().Seconds() {
			window = time.Duration(seconds * float64(time.Second))
			a.returns = window
		}
	}
	if s.returns > 0 && s.returns <= a.caps.window() {
		window, a.returns = s.returns, s.returns
	}
	a.add(account, account, f, used, policies, window)
	a.returns = 0
}

// unlimited reports whether the quota of a response that was served is 0 or negative. So say
// servers that have no limit for the client (Brave Search, Tyk, express-rate-limit before version 7), and that nothing is left
// of it does not hold the next request. In draft -06 a quota of a refusal may be 0 for some seconds (draft -07,
// Appendix B.2.3), and without a figure nothing is said to be used up.
func (a *accountReader) unlimited(quota number, f figure) bool {
	switch {
	case !a.served || quota.value.zero() && a.strict && (!a.fine && f.reset.reset() > 0 || f.remaining == None):
		return false
	case quota.value.zero():
		a.ignore(quota.field, quota.item, "", errRange)
		return true
	}
	return quota.value.negative
}

// overages are fields that say that requests beyond the quota are served, at a price (CoinAPI) or later (Fireworks).
// Read-only.
var overages = func() (all []pattern) {
	for _, name := range append(rateLimits("Overage", "Quota-Overage", "Over-Limit"), "X-Quota-Overage") {
		all = append(all, newPattern(name))
	}
	return all
}()

// allowExceeded reads quotas of which nothing is left as untouched, if the request was served and a field says that
// requests are served beyond the quota. To drop them is not enough: what was left before would be counted on.
func (a *accountReader) allowExceeded(h http.Header) {
	used := func(l Limit) bool { return l.Available == 0 }
	if !a.served || !slices.ContainsFunc(a.limits, used) || !slices.ContainsFunc(overages, func(p pattern) bool { return isOn(h[p.prefix]) }) {
		return
	}
	for i := range a.limits {
		if l := &a.limits[i]; used(*l) {
			l.Available = a.quotaOf(l.Policy)
		}
	}
	a.limits, a.overdrawn = slices.DeleteFunc(a.limits, used), false
}

// quotaOf returns the quota of a policy that was read; 0: it is not known.
func (a *accountReader) quotaOf(name string) int64 {
	for _, p := range a.policies {
		if p.Name == name && p.Quota > 0 {
			return p.Quota
		}
	}
	return 0
}

// isOn reports whether a field is there, and says anything but no.
func isOn(lines []string) bool {
	if len(lines) == 0 {
		return false
	}
	switch strings.ToLower(trim(lines[0])) {
	case "", "no", "false", "off", "none", "disabled":
		return false
	}
	n, ok := parseDecimal(trim(lines[0]))
	return !ok || !n.zero()
}

// dropUnlimited drops the quotas that are 0 beside others that are not. They are unlimited on
// a refusal, too: "50, 0" at Brave Search.
func (a *accountReader) dropUnlimited() {
	zero := func(p Policy) bool { return p.Quota == 0 }
	if a.strict || !slices.ContainsFunc(a.policies, zero) || !slices.ContainsFunc(a.policies, func(p Policy) bool { return !zero(p) }) {
		return
	}
	a.limits = slices.DeleteFunc(a.limits, func(l Limit) bool {
		return slices.ContainsFunc(a.policies, func(p Policy) bool { return zero(p) && p.Name == l.Policy })
	})
	a.policies = slices.DeleteFunc(a.policies, zero)
}

// several reports whether fields describe several accounts.
func several(found []rowField) bool {
	first := slices.IndexFunc(found, ofOneAccount)
	return first >= 0 && slices.ContainsFunc(found[first:], func(f rowField) bool { return f.account != found[first].account && ofOneAccount(f) })
}

// isByMethod reports whether the name of an account says that it is of reads or of writes.
func isByMethod(account string) bool {
	for word := range wordsOf(account) {
		switch word {
		case "read", "reads", "write", "writes":
			return true
		}
	}
	return false
}

// quota returns the quota of an account. A quota that is not whole, such as 0.5 a second,
// is expressed as whole units in a longer window.
func (a *accountReader) quota(account string, s *accountValues) int64 {
	l := s.limits.at(0)
	if l.value.fraction == 0 || a.strict {
		return a.figure(l)
	}
	window := l.window
	if window == 0 && s.windows.n > 0 {
		window = s.windows.at(0).d
	}
	if window <= 0 {
		window = a.row.Every[""]
	}
	if window <= 0 && l.value.whole == 0 { // else the whole units are counted in that time
		window = a.period(account, account, 0)
	}
	whole := max(l.value.whole, 1)
	if window > 0 && whole <= a.caps.quota() && !l.value.negative {
		exact := float64(l.value.whole) + float64(l.value.fraction)/1e9
		longer := float64(window) * float64(whole) / exact
		if longer <= float64(a.caps.window()) {
			s.windows = values[delay]{first: delay{d: time.Duration(longer)}, n: 1}
			return whole
		}
	}
	if l.value.whole == 0 {
		return None
	}
	return a.figure(l)
}

// add adds what is known of a policy.
func (a *accountReader) add(name, account string, f figure, used int64, list []unnamed, window time.Duration) {
	switch {
	case f.limit == None && used != None && f.remaining != None:
		f.limit = a.sum(used, f.remaining)
	case f.remaining == None && f.limit != None && used != None:
		f.remaining = max(f.limit-used, 0)
	}
	if f.limit == None && f.remaining != None && len(list) == 1 {
		f.limit = list[0].quota
	}
	span := a.period(name, account, window)
	told := max(window, span)
	for _, u := range list {
		if told == 0 && u.quota == f.limit {
			told = u.window
		}
	}
	if f.reset.bare && !a.strict && told > 0 && f.reset.d >= 1000*time.Second && f.reset.d/60 > told && f.reset.d/1000 <= told {
		f.reset.d /= 1000 // it would be renewed after its window: these are milliseconds
	}
	if a.row.Refills || a.returns > 0 {
		a.refill(&f, account)
	}
	f.reset.bare = f.reset.bare && !a.strict && span == 0 && len(list) == 0
	name = strings.Clone(name)
	for _, u := range list {
		if name == "" && u.name != "" && u.quota == f.limit {
			name = u.name // Envoy names the policies in the limit field
		}
	}
	unit, known := a.unit(account), false
	if unit == errorsUnit && f.remaining != 0 {
		return // requests that succeed count for nothing
	}
	if len(list) > 0 {
		for _, p := range named(list, f.limit) {
			p.Unit = unit
			if p.Name == "" {
				p.Name = name
			}
			known = known || p.Name == name
			a.addPolicy(p)
		}
	}
	if unit == concurrentRequests && f.limit == None {
		return // what is left changes with each request that ends
	}
	if f.limit != None && !known {
		a.addPolicy(Policy{Name: name, Quota: f.limit, Unit: unit, Window: span})
	} else if f.limit == None && f.remaining != None && f.reset == noDelay && span > 0 && len(list) == 0 {
		a.addPolicy(Policy{Name: name, Quota: None, Unit: unit, Window: span}) // else nothing says when to come back
	}
	if l, ok := f.serviceLimit(name); ok {
		a.addLimit(l)
	}
}

// refill computes when the next unit is there, of a quota that is renewed unit by unit.
func (a *accountReader) refill(f *figure, account string) {
	if f.limit == None || f.remaining == None {
		return
	}
	missing := max(f.limit-f.remaining, 0)
	every := a.returns
	if every == 0 {
		every = a.row.Every[account]
	}
	if every == 0 {
		every = a.row.Every[""]
	}
	if f.reset == noDelay && every > 0 && f.limit > 0 {
		full := float64(every) * (float64(missing) / float64(f.limit))
		f.reset = delay{d: min(time.Duration(full), a.caps.window()), span: true}
	}
	r := &f.reset
	if r.reset() > 0 && (r.span || a.kind != anyReset || a.returns > 0 && !r.at.IsZero()) {
		f.full = r.reset()
		f.next = nextUnit(f.full, missing)
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

// costs sets the cost of the accounts with a name, whatever time their names end in.
func (a *accountReader) costs(account string, cost int64) {
	for i := range a.limits {
		if l := &a.limits[i]; l.Policy == account || withoutSpan(l.Policy) == account {
			l.Cost = max(l.Cost, cost)
		}
	}
}

// sum adds two figures. It returns None if the sum is above the cap.
func (a *accountReader) sum(x, y int64) int64 {
	if x > a.caps.quota()-y {
		return None
	}
	return x + y
}

// nextUnit returns the time until the next of n missing units, rounded up.
func nextUnit(full time.Duration, n int64) time.Duration {
	return (full-1)/time.Duration(max(n, 1)) + 1
}

// period returns the window of a policy: from a field, else from the row, else from the
// end of its name, else the row's window for all policies.
func (a *accountReader) period(name, account string, given time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	if every := a.row.Every[name]; every > 0 {
		return every
	}
	for _, of := range [...]string{name, account} {
		if d := spanAtEnd(of); d > 0 && d <= a.caps.window() {
			return d
		}
	}
	for _, d := range [...]time.Duration{spanInSeconds(account), spanAtStart(account)} {
		if d > 0 && d <= a.caps.window() {
			return d
		}
	}
	return max(a.row.Every[""], 0)
}

// ignore records that something was ignored in a field.
func (a *accountReader) ignore(field string, item int, param string, err error) {
	a.ignored = append(a.ignored, Ignored{Field: field, Item: item, Param: param, Err: err})
}

// figure returns a number as a figure in quota units, or None. It records the reason at
// the field and item of the number.
func (a *accountReader) figure(n number) int64 {
	switch {
	case n.field == "":
	case n.value.negative && !n.value.zero():
		a.ignore(n.field, n.item, "", errRange)
	case a.strict && n.value.pointed:
		a.ignore(n.field, n.item, "", errType)
	case n.value.whole > a.caps.quota():
		a.ignore(n.field, n.item, "", ErrCap)
	default:
		return n.value.whole
	}
	return None
}

// left returns an available quota as a figure. A negative one means that nothing is left,
// outside the drafts; less than one is one, unless the request was refused.
func (a *accountReader) left(n number, limit int64) int64 {
	if n.value.negative && !n.value.zero() && !a.strict {
		a.overdrawn = a.overdrawn || limit == None || n.value.whole > 1
		return 0
	}
	if a.served && !a.strict && n.value.whole == 0 && n.value.fraction > 0 {
		return 1 // of a budget, perhaps, of which a request costs less
	}
	return a.figure(n)
}
