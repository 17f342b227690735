package parse

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// A family is the fields of a quota that no row names: they begin alike, and end in measures that cannot be
// mistaken, as X-FloodControl-Limit, X-FloodControl-Remaining and X-FloodControl-Reset do. All three have to be
// there: without a reset, they may tell of a balance. The account is named after what they begin with. The
// quota may be that of a feature which few requests use. So a family of which nothing is left is read only
// where a request was refused: it does not hold the others while requests are served.

// endings returns the ends of the names of fields of families, in canonical form. Those before others count.
func endings(words ...string) (all []string) {
	for _, word := range words {
		all = append(all, http.CanonicalHeaderKey("X-" + word)[len("X"):])
	}
	return all
}

// The endings by what the fields measure. Read-only.
var (
	familyLimits = sync.OnceValue(func() []string {
		return append(endings("Limit", "Max", "Maximum", "Quota", "Total", "Capacity", "Allowed", "Allocated"), "")
	})
	familyRemainders = sync.OnceValue(func() []string { return endings("Limit-Remaining", "Remaining", "Left", "Available") })
	familyResets     = sync.OnceValue(func() []string {
		return endings(append([]string{"Reset", "Reset-After", "Reset-Time", "Reset-On", "Reset-In", "Reset-Date", "Reset-Ms", "Reset-Seconds"}, resetWords()...)...)
	})
	familyWindows = sync.OnceValue(func() []string { return endings(windowWords()...) })
)

// familySigns are the names by which a family is found: those of what is left, since few others end so. Read-only.
var familySigns = []string{
	"X-*-Remaining", "X-*-Left", "X-*-Available", "*-Limit-Remaining", "*-Quota-Remaining", "*-Requests-Remaining", "*-Calls-Remaining",
}

// further appends what the last row reads beside the fields that it names.
func (a *accountReader) further(h http.Header, found []rowField) []rowField {
	if !a.family {
		return found
	}
	var own [len(rates)]bool // whether the server's own fields, without an account, have that word
	for i := range found {
		f := &found[i]
		for j, rate := range rates {
			own[j] = own[j] || f.account == "" && len(f.field) > len("X-"+rate) && strings.EqualFold(f.field[len("X-"):len("X-"+rate)], rate)
		}
	}
	for name, lines := range h {
		if len(lines) == 0 || !a.index.mayHave(name) {
			continue
		}
		for _, end := range familyRemainders() {
			if prefix, ok := strings.CutSuffix(name, end); ok && prefix != "" {
				found = a.relatives(h, found, prefix, name, own)
			}
		}
	}
	return found
}

// firstFurther is the rank of the first further field: those of the row come first.
const firstFurther = 1 << 16

// relatives appends the fields of a family whose names begin with a text, if all are there and say something.
func (a *accountReader) relatives(h http.Header, found []rowField, prefix, remaining string, own [len(rates)]bool) []rowField {
	account, ok := a.familyName(prefix, own)
	if !ok {
		return found
	}
	first := func(of role, ends []string, valid func(line string) bool) (f rowField, ok bool) {
		for rank, end := range ends {
			name := prefix + end
			if lines := h[name]; len(lines) == 1 && valid(lines[0]) {
				return rowField{account, of, rank + firstFurther, name, lines}, true
			}
		}
		return rowField{}, false
	}
	reset, ok := first(ofReset, familyResets(), func(line string) bool {
		_, ok := readDelay(line, a.kind, &a.clock)
		return ok
	})
	if !ok || a.row.names(reset.field, a.host) {
		return found
	}
	var quota decimal
	limit, ok := first(ofLimit, familyLimits(), func(line string) (ok bool) {
		quota, ok = parseDecimal(trim(line))
		return ok && !quota.negative && quota.whole > 0
	})
	left, isNumber := parseDecimal(trim(h[remaining][0]))
	if !ok || !isNumber || len(h[remaining]) > 1 || left.whole > quota.whole || !a.refused && (left.negative || left.zero()) {
		return found
	}
	found = append(found, limit, rowField{account, ofRemaining, firstFurther, remaining, h[remaining]}, reset)
	if window, ok := first(ofWindow, familyWindows(), func(string) bool { return true }); ok {
		found = append(found, window)
	}
	return found
}

// rates are the words for a rate in the names of fields. Read-only.
var rates = [...]string{"ratelimit", "rate-limit"}

// familyName returns the name of the account of a family whose fields begin with a text. ok is false if that
// says that they are about something else, or about another server.
func (a *accountReader) familyName(prefix string, own [len(rates)]bool) (account string, ok bool) {
	if len(prefix) > a.caps.nameBytes() {
		return "", false
	}
	account = strings.TrimPrefix(strings.ToLower(prefix), "x-")
	switch account {
	case "x", "ratelimit", "rate-limit":
		return "", false // see the drafts, and the row
	}
	for i, rate := range rates {
		if strings.Contains(account, rate) && !own[i] {
			return "", false // a quota that a proxy has elsewhere, perhaps: see owns
		}
		account = strings.TrimSuffix(strings.TrimPrefix(account, rate+"-"), "-"+rate)
	}
	host := withoutPort(a.host)
	for word := range wordsOf(account) {
		if countsOther(word) || isForeign(word) && !strings.Contains(host, word) {
			return "", false
		}
	}
	return account, true
}

// countsOther reports whether a word in the name of a family, in lower case, says that its fields count something
// else than what all requests need.
func countsOther(word string) bool {
	switch word {
	case "page", "pages", "paging", "pagination", "item", "items", "record", "records", "row", "rows", "result", "results", "cursor", "offset",
		"cache", "storage", "disk", "space", "upload", "uploads", "download", "downloads", "file", "files", "size", "chunk", "chunks", "mailbox", "object", "objects",
		"session", "login", "logins", "auth", "password", "otp", "lockout", "captcha", "attempt", "attempts", "retry", "retries", "trial",
		"seat", "seats", "license", "licenses", "users", "members", "balance", "wallet", "budget", "spend", "spending", "cost", "usd", "eur", "money", "overage",
		"batch", "queue", "timeout", "timer", "deadline", "memory", "cpu", "depth", "redirect", "redirects", "connection", "connections",
		"error", "errors", "alive":
		return true
	}
	return false
}

// isForeign reports whether a word in the name of a family, in lower case, is the name of a service, or stands for the
// server behind a proxy: what is left there is no quota of the proxy's clients.
func isForeign(word string) bool {
	switch word {
	case "upstream", "backend", "origin", "downstream", "provider", "external", "proxied", "github", "gitlab", "bitbucket", "openai", "anthropic", "mistral",
		"groq", "gemini", "google", "azure", "aws", "amazon", "ms", "cloudflare", "akamai", "fastly", "discord", "slack", "telegram", "twitter", "facebook", "meta", "instagram", "linkedin",
		"reddit", "shopify", "stripe", "paypal", "salesforce", "hubspot", "zendesk", "jira", "atlassian", "okta", "auth0", "zoom", "twilio", "spotify", "docker":
		return true
	}
	return false
}

// names reports whether a row names a field.
func (r *row) names(name, host string) bool {
	if _, ok := r.literal[name]; ok {
		return true
	}
	patterns := r.starred[last(name)]
	return slices.ContainsFunc(patterns, func(p patternOf) bool {
		_, ok := p.match(name, host)
		return ok || p.role == ofReset && p.suffix == "" && p.covers(name) && isForm(name[len(p.prefix):])
	})
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
