package parse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A waitReader finds how long the body of a refusal asks to wait.
type waitReader struct {
	clock  clock
	caps   Caps
	values int           // that were read
	retry  time.Duration // the longest of members that say when to retry; 0: there is none
	reset  time.Duration // the shortest of resets: others may be of quotas that are not used up
	said   time.Duration // the shortest of sentences
}

const (
	mostValues     = 500                 // that are read
	longestMember  = 40                  // the longest name that is
	longestUnnamed = time.Hour           // of a reset or a sentence: then a request may look
	longestSaid    = 31 * 24 * time.Hour // that a sentence may say: for the rest of a month
)

// read reads a body: see ReadBody.
func (w *waitReader) read(media string, body []byte) time.Duration {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	switch isJSON := media == "application/json" || strings.HasSuffix(media, "+json"); {
	case isJSON && decoder.Decode(&v) == nil:
		w.value("", v)
	case media == "text/plain":
		w.sentence(string(body))
	}
	switch {
	case w.retry > 0:
		return w.retry
	case w.reset > 0:
		return min(w.reset, longestUnnamed)
	}
	return w.said
}

// value reads a value of JSON. name is that of the member that has it, or of the array.
func (w *waitReader) value(name string, v any) {
	if w.values++; w.values > mostValues {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if slices.Contains(echoes, strings.ToLower(name)) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) { // the same ones each time, if there are too many
			w.value(name, v[name])
		}
	case []any:
		for _, v := range v[:min(len(v), mostValues)] {
			w.value(name, v)
		}
	case json.Number:
		w.member(name, v.String())
	case string:
		if !w.member(name, v) && isMessage(name) {
			w.sentence(v)
		}
	}
}

// echoes are members that may repeat what the client has sent. Read-only.
var echoes = []string{"request", "query", "input", "variables", "params"}

// messages are members with text for people, beside those whose names end in "message". Read-only.
var messages = []string{"msg", "detail", "details", "description", "error", "errors", "error_description", "reason", "title"}

// isMessage reports whether the name of a member says that it has text for people: message, DeveloperErrorMessage.
func isMessage(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "message") || slices.Contains(messages, name)
}

// member reads the value of a member, if its name says that it is a wait.
func (w *waitReader) member(name, value string) bool {
	if len(name) > longestMember {
		return false
	}
	name = fieldName(name)
	is := func(p pattern) bool { return p.is(name) }
	isRetry := slices.ContainsFunc(retryMembers, is)
	if !isRetry && !slices.ContainsFunc(resetMembers, is) {
		return false
	}
	d, valid := readDelay(value, orInstant(unitOf(name, anyReset), anyReset), &w.clock)
	if at, ok := wso2Instant(value); ok {
		d, valid = delayUntil(at, true, &w.clock), true
	}
	switch {
	case !valid || d.d <= 0 || d.d > w.caps.retryAfter() || d.bare && d.d >= 1000*time.Second:
	case isRetry:
		w.retry = max(w.retry, d.d)
	case w.reset == 0 || d.d < w.reset:
		w.reset = d.d
	}
	return valid
}

// wso2Instant reads an instant as WSO2 writes it, with the name of the month in the language of the server:
// "2026-Nov-30 10:30:00+0000 UTC", "2026-janv.-08 10:05:00+0100 CET".
func wso2Instant(value string) (at time.Time, ok bool) {
	year, rest, _ := strings.Cut(value, "-")
	month, rest, ok := strings.Cut(rest, "-")
	if !ok || len(year) != len("2006") {
		return time.Time{}, false
	}
	isOf := func(names string) bool {
		return slices.ContainsFunc(strings.Fields(names), func(name string) bool { return strings.HasPrefix(strings.ToLower(month), name) })
	}
	i := slices.IndexFunc(months[:], isOf)
	if i < 0 {
		return time.Time{}, false
	}
	at, err := time.Parse("2006-1-02 15:04:05-0700 MST", year+"-"+strconv.Itoa(i+1)+"-"+rest)
	return at, err == nil
}

// months are how the names of the months begin in English, French, German, Spanish, Portuguese and Italian. Read-only.
var months = [12]string{
	"jan ene gen", "feb fév fev", "mar mär", "apr avr abr", "may mai mag", "jun juin giu", "jul juil lug", "aug aoû ago", "sep set", "oct okt out ott", "nov", "dec déc dez dic",
}

// fieldName turns the name of a member into that of a field: retry_after_ms and retryAfterMs into Retry-After-Ms.
func fieldName(member string) string {
	var b strings.Builder
	small := false
	for _, c := range member {
		if c == '_' || c == ' ' || c == '.' {
			c = '-'
		}
		if big := 'A' <= c && c <= 'Z'; big && small {
			b.WriteByte('-')
		}
		small = 'a' <= c && c <= 'z'
		b.WriteRune(c)
	}
	return strings.ReplaceAll(http.CanonicalHeaderKey(b.String()), "Rate-Limit", "Ratelimit")
}

// retryMembers are the names of members that say when to retry, and resetMembers those of resets, as fields. Read-only.
var (
	retryMembers = inUnits("Retry-After", "RetryAfter", "X-Retry-After", "RateLimit-Retry-After", "X-RateLimit-Retry-After", "Retry-In", "Retry-Delay", "Retry-At",
		"Try-Again-In", "Try-Again-After", "Try-Again-At", "Wait-Time", "Wait", "Available-In", "Throttle-Seconds", "Blocked-Until", "Next-Access-Time",
		"Recommended-Retry-Time", "RateLimit-Next")
	resetMembers = inUnits("Reset", "Reset-At", "Reset-Time", "Reset-In", "Reset-After", "Resets-In", "Resets-At", "Time-To-Reset", "Rate-Reset", "Limit-Reset",
		"RateLimit-Reset", "X-RateLimit-Reset", "X-RateLimit-Reset-After")
)

// inUnits returns patterns of names, with each unit at the end.
func inUnits(names ...string) (all []pattern) {
	for _, name := range names {
		for _, unit := range [...]string{"", "-Ms", "-Millis", "-Milliseconds", "-Seconds", "-Secs", "-Sec", "-Minutes", "-Hours"} {
			all = append(all, newPattern(name+unit))
		}
	}
	return all
}

// waitSentence is the part of a sentence that says how long to wait: "try again in", "wait for at least", "you can only request this after".
var waitSentence = regexp.MustCompile(`(?i)\b(?:(?:try|retry(?: your request)?|wait)(?: again)?(?: in| after| for|:)*|available in|replenished in|resets? in|` +
	`remaining period of|request after|you can (?:only )?(?:request|send|resend|make|call|access|use)(?: \w+){0,3} after)(?: about| another| at least| less than)? ?['"~]?` +
	`((?:(?:,? ?and |,? )?(?:\d+(?:\.\d+)?|one)['"]? ?(?:ms|milliseconds?|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?)\b)+|(?:\d+(?:\.\d+)?(?:ms|[hms]))+\b)`)

// waitPart is a number and a unit of it.
var waitPart = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?|one)['"]? ?(ms|mil|s|m|h|d)`)

// waitInstant is the part of a sentence that says until when to wait, and waitDate that of one with a date as in logs: such a one may
// be of anything, so it needs more words before it.
var (
	waitInstant = regexp.MustCompile(`\b(?:after|until|at) (\d{10}(?:\d{3})?\b|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT)`)
	waitDate    = regexp.MustCompile(`(?i)\b(?:again|retry|wait|resets?|renewed|replenished|available|blocked)(?: after| until| at|:)+ ` +
		`(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z| ?[+-]\d\d:?\d\d\b| UTC\b| GMT\b))`)
)

// waitClock is the part of a sentence that says for how long, as a clock shows it. Hours, perhaps with days before them, need more
// words around them: 100 requests may be allowed in 01:00:00.
var waitClock = regexp.MustCompile(`\b(?:again|retry|available|replenished|resets?|renewed|wait) in (\d+\.)?(\d\d:\d\d:\d\d)\b|\bin ()(00:\d\d:\d\d)\b`)

// sentence reads a text for people.
func (w *waitReader) sentence(text string) {
	for _, found := range waitSentence.FindAllStringSubmatch(text, 4) {
		var sum time.Duration
		for _, part := range waitPart.FindAllStringSubmatch(found[1], 4) {
			n, err := strconv.ParseFloat(part[1], 64)
			if err != nil {
				n = 1 // one
			}
			sum += time.Duration(min(n*float64(partUnits[strings.ToLower(part[2])]), 1<<60)) // four of these fit
		}
		w.say(sum)
	}
	for _, found := range waitClock.FindAllStringSubmatch(text, 4) {
		if d, ok := clockSpan(cmp.Or(found[1], "0.") + found[2] + found[4]); ok {
			w.say(d)
		}
	}
	for _, found := range append(waitInstant.FindAllStringSubmatch(text, 4), waitDate.FindAllStringSubmatch(text, 4)...) {
		if d, ok := readDelay(found[1], anyReset, &w.clock); ok && d.d <= w.caps.retryAfter() {
			w.say(d.d)
		}
	}
}

// partUnits are the units of a waitPart.
var partUnits = map[string]time.Duration{"ms": time.Millisecond, "mil": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// say takes over the wait of a sentence.
func (w *waitReader) say(d time.Duration) {
	if d > longestSaid {
		return
	}
	d = min(d, longestUnnamed)
	if d > 0 && d <= w.caps.retryAfter() && (w.said == 0 || d < w.said) {
		w.said = d
	}
}
