package parse

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A waitReader finds how long the body of a refusal asks to wait.
type waitReader struct {
	clock   clock
	caps    Caps
	longest [3]time.Duration // of members that say when to retry, of resets, of sentences
}

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
	for _, d := range w.longest {
		if d > 0 {
			return d
		}
	}
	return 0
}

// value reads a value of JSON. name is that of the member that has it, or of the array.
func (w *waitReader) value(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, v := range v {
			w.value(name, v)
		}
	case []any:
		for _, v := range v {
			w.value(name, v)
		}
	case json.Number:
		w.member(name, v.String())
	case string:
		if !w.member(name, v) {
			w.sentence(v)
		}
	}
}

// member reads the value of a member, if its name says that it is a wait.
func (w *waitReader) member(name, value string) bool {
	name = fieldName(name)
	is := func(p pattern) bool { return p.is(name) }
	at := slices.IndexFunc(waitMembers[:], func(names []pattern) bool { return slices.ContainsFunc(names, is) })
	if at < 0 {
		return false
	}
	d, valid := readDelay(value, orInstant(unitOf(name, anyReset), anyReset), &w.clock)
	if !valid {
		d, valid = w.delay(value)
	}
	if valid && d.d <= w.caps.retryAfter() && !(d.bare && d.d >= 1000*time.Second) {
		w.longest[at] = max(w.longest[at], d.d)
	}
	return valid
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

// waitMembers are the names of members, as fields: of waits, and of resets. Read-only.
var waitMembers = func() [2][]pattern {
	inUnits := func(names ...string) (all []pattern) {
		for _, name := range names {
			for _, unit := range [...]string{"", "-Ms", "-Millis", "-Milliseconds", "-Seconds", "-Secs", "-Sec", "-Minutes", "-At", "-Time"} {
				all = append(all, newPattern(name+unit))
			}
		}
		return all
	}
	return [...][]pattern{
		append(inUnits("Retry-After", "RetryAfter", "Retry-In", "Retry-Delay", "Retry", "Next-Retry", "Try-Again-In", "Try-Again-After", "Try-Again",
			"Wait", "Throttle", "Cooldown", "Blocked-Until", "Next-Access", "Recommended-Retry", "RateLimit-Next"), retryAliases...),
		inUnits(append(rateLimits("Reset", "Reset-After"), "RateLimit-Reset", "Rate-Reset", "Reset", "Reset-After", "Reset-In", "Resets-In", "Resets", "Limit-Reset", "Period-End")...),
	}
}()

// waitSentence is the part of a sentence that says how long to wait, or until when.
var waitSentence = regexp.MustCompile(`(?i)\b(?:try|retry|available|wait|replenished|resets?|banned|expires|blocked|period|submit the request|access (?:the )?API)\b` +
	`(?: again)?(?: in| after| for| until| at| of)?(?: about| another)? ?['"~]?` +
	`((?:\d+(?:\.\d+)?(?:ms|[hms]))+\b` +
	`|(?:\d+(?:\.\d+)?|an?|one)['"]? ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?)\b` +
	`|\d\d:\d\d:\d\d\b|\d{10}(?:\d{3})?\b` +
	`|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT` +
	`|\d{4}-(?:\d\d|[A-Z][a-z]{2})-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+\d\d:?\d\d(?: UTC)?))`)

// sentence reads a text for people.
func (w *waitReader) sentence(text string) {
	for _, found := range waitSentence.FindAllStringSubmatch(text, 4) {
		if d, ok := w.delay(found[1]); ok {
			w.longest[2] = max(w.longest[2], min(d.d, time.Hour))
		}
	}
}

// delay reads a time as sentences have it.
func (w *waitReader) delay(text string) (delay, bool) {
	text = strings.NewReplacer("'", "", `"`, "").Replace(text)
	if at, err := time.Parse("2006-Jan-02 15:04:05-0700 MST", text); err == nil { // WSO2
		return delayUntil(at, true, &w.clock), true
	}
	if one, unit, ok := strings.Cut(text, " "); ok && (strings.EqualFold(one, "a") || strings.EqualFold(one, "an") || strings.EqualFold(one, "one")) {
		text = "1 " + unit
	}
	return readDelay(text, anyReset, &w.clock)
}
