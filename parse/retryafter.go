package parse

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// RetryAfter returns how long Retry-After asks to wait from now on (RFC 9110, Section
// 10.2.3), and what was ignored. ok is false, and d is 0, if no Retry-After is valid.
//
// The field holds delay-seconds or an HTTP-date in any of the three forms of RFC 9110,
// Section 5.6.7. RetryAfter also accepts what servers send beside the standard: spaces,
// decimals, a Unix time, UTC in place of GMT, and the other forms of a reset (see
// [Vendor.ResetIn]). A date is relative to the Date of the response, so that neither clock
// needs to be right; now, the local wall clock, replaces a missing or malformed Date. A
// time in the past is a delay of 0.
//
// RFC 9110 allows one field line. Of several lines the longest delay that is valid and
// within Caps.RetryAfter counts, so that all of them are obeyed.
//
// A valid Retry-After-Ms or X-Ms-Retry-After-Ms, in milliseconds, replaces Retry-After:
// it is the same delay with more precision (Azure). If none of these is valid, the longest
// of the aliases counts: X-RateLimit-Retry-After, X-RateLimit-Retry, X-RateLimit-Retry-In,
// X-RateLimit-After, X-RateLimit-Try-Again, X-RateLimit-Next-Available, X-Throttle-Wait-Seconds,
// X-Rate-Limited-For, X-Retry-After, X-Retry-In, their variants with -Ms or -Seconds at the end, and Retry-After with the
// name of a quota at the end.
func RetryAfter(h http.Header, now time.Time, caps Caps) (d time.Duration, ok bool, ignored []Ignored) {
	return readRetryAfter(h, anyReset, &clock{header: h, now: now}, caps)
}

// readRetryAfter is RetryAfter. kind says what a number in Retry-After means.
func readRetryAfter(h http.Header, kind resetKind, c *clock, caps Caps) (d time.Duration, ok bool, ignored []Ignored) {
	for i := range retryAfterFields {
		f := &retryAfterFields[i]
		lines := h[f.key]
		if len(lines) == 0 {
			continue
		}
		r := newListReader(f.name, caps)
		d, ok = r.retryAfter(lines, cmp.Or(f.kind, kind), c)
		if ignored = append(ignored, r.ignored...); ok {
			return d, ok, ignored
		}
	}
	d, ok, more := readAliases(h, retryAliases, anyReset, c, caps)
	return d, ok, append(ignored, more...)
}

// readAliases reads the fields that follow some patterns as Retry-After. The longest delay
// counts.
func readAliases(h http.Header, aliases []pattern, kind resetKind, c *clock, caps Caps) (d time.Duration, ok bool, ignored []Ignored) {
	for name, lines := range h {
		if len(lines) == 0 || !slices.ContainsFunc(aliases, func(p pattern) bool { return p.is(name) }) {
			continue
		}
		r, of := newListReader(name, caps), orInstant(unitOf(name, kind), kind)
		if of == anyReset {
			of = anyOrNanos // X-Retry-After: 4406000000
		}
		after, valid := r.retryAfter(lines, of, c)
		d, ok = max(d, after), ok || valid
		ignored = append(ignored, r.ignored...)
	}
	slices.SortFunc(ignored, func(a, b Ignored) int { return strings.Compare(a.Field, b.Field) })
	return d, ok, ignored
}

// retryAfterFields are Retry-After and the fields that replace it, the most precise first.
// Read-only.
var retryAfterFields = [...]struct {
	key, name string
	kind      resetKind
}{
	{"Retry-After-Ms", "Retry-After-Ms", spanMillis},
	{"X-Ms-Retry-After-Ms", "x-ms-retry-after-ms", spanMillis},
	{"Retry-After", "Retry-After", anyReset},
}

// retryAliases are the other names of Retry-After. Read-only.
var retryAliases = func() (all []pattern) {
	for _, name := range [...]string{"X-Retry-After", "X-RateLimit-Retry-After", "X-Rate-Limit-Retry-After", "RateLimit-Retry-After"} {
		short := strings.Replace(name, "Retry-After", "RetryAfter", 1)
		all = append(all, newPattern(name), newPattern(name+"-*"), newPattern(short), newPattern(short+"-*"))
	}
	for _, name := range [...]string{"Retry-After-*", "X-RateLimit-*-Retry-After", "X-RateLimit-Try-Again-*", "X-Rate-Limit-Try-Again-*", "X-Throttle-Wait-Seconds"} {
		all = append(all, newPattern(name))
	}
	names := append(rateLimits("Retry", "Retry-In", "After", "Try-Again", "Next-Available", "NextAvailable"), "X-Retry-In", "X-RateLimited-For", "X-Rate-Limited-For")
	for _, name := range names {
		all = append(all, newPattern(name), newPattern(name+"-Ms"), newPattern(name+"-Seconds"))
	}
	return all
}()

// otherRetries are names that only a refusal is read by: X-Company-Retry-After, RetryAfter, and words for
// waiting after RateLimit, or for the time that is left, which may be about a time that is over in other responses. Read-only.
var otherRetries = func() (all []pattern) {
	names := []string{"*-Retry-After", "*-RetryAfter", "X-*-Retry-After-Ms", "X-*-Retry-After-Seconds", "RetryAfter", "Retry-At", "X-Retry-At"}
	for _, name := range append(names, rateLimits("Retry-At", "Retry-Delay", "Delay", "Wait", "Wait-Seconds", "Wait-Ms", "Blocked-Until",
		"Block-Until", "Block-Expires", "Lockout-Until", "LockoutUntil", "Lockout-Reset", "Lockout-Expires", "Penalty-Until", "Cooldown")...) {
		all = append(all, newPattern(name))
	}
	for _, name := range withEach([]string{"X-RateLimit-?-Left", "X-Rate-Limit-?-Left", "Rate-Limit-?-Left", "RateLimit-?-Left"}, "Ms", "Msec", "Millis", "Milliseconds", "Seconds") {
		all = append(all, newPattern(name))
	}
	return all
}()

// readOthers reads the fields that follow otherRetries. A number of 1000 or more without a unit in the
// name may be in seconds or in milliseconds and is not read.
func readOthers(h http.Header, c *clock, caps Caps) (d time.Duration, ok bool) {
	for name, lines := range h {
		if len(lines) != 1 || len(lines[0]) > caps.fieldBytes() ||
			!slices.ContainsFunc(otherRetries, func(p pattern) bool { return p.is(name) }) {
			continue
		}
		after, valid := readDelay(lines[0], orInstant(unitOf(name, anyReset), anyReset), c)
		if valid && after.d <= caps.retryAfter() && !(after.bare && after.d >= 1000*time.Second) {
			d, ok = max(d, after.d), true
		}
	}
	return d, ok
}

// readJoined reads several delays that a proxy has joined with commas: the longest. The comma after the day of the week is
// one of a date.
func readJoined(line string, kind resetKind, c *clock) (longest delay, ok bool) {
	const most = 8
	longest = noDelay
	parts := strings.SplitN(line, ",", most+1)
	if len(parts) == 1 || len(parts) > most {
		return noDelay, false
	}
	for i := 0; i < len(parts); i++ {
		text := trim(parts[i])
		if _, number := parseDecimal(text); !number && i+1 < len(parts) {
			i++
			text += "," + parts[i]
		}
		d, valid := readDelay(text, kind, c)
		if !valid {
			return noDelay, false
		}
		if !ok || d.d > longest.d {
			longest, ok = d, true
		}
	}
	return longest, ok
}

// backoffs are fields by which a server asks to stay away for some seconds, on a success, too: Zotero, Kinto,
// Firefox Sync. Read-only.
var backoffs = []pattern{newPattern("Backoff"), newPattern("X-Weave-Backoff")}

// databaseLag is a field that MediaWiki sends only if it refuses a request because of that lag (its parameter maxlag), with
// the status 200 and Retry-After.
const databaseLag = "X-Database-Lag"

// retryAfter reads the lines of one of these fields.
func (r *listReader) retryAfter(lines []string, kind resetKind, c *clock) (d time.Duration, ok bool) {
	if r.tooLong(lines) {
		return 0, false
	}
	for i, line := range firstOf(r, lines) {
		r.item = i
		after, valid := readDelay(line, kind, c)
		if !valid {
			after, valid = readJoined(line, kind, c)
		}
		switch {
		case !valid:
			r.ignore("", errSyntax)
		case after.d > r.caps.retryAfter():
			r.ignore("", ErrCap)
		default:
			d, ok = max(d, after.d), true // a time in the past is 0
		}
	}
	return d, ok
}
