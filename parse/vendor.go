package parse

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Vendor is a row of the table of dialects: it says which fields an API describes its
// quotas with, and what they mean. [Vendors] returns the built-in rows; further ones go
// into [Reader.Vendors].
//
// A row writes field names in any case. A name may contain one asterisk. It stands for
// the name of an account: any text that is not empty and does not name a measure, such
// as limit, remaining or reset. With "X-RateLimit-Limit-*" in Limit and
// "X-RateLimit-Remaining-*" in Remaining, the fields X-RateLimit-Limit-Tokens and
// X-RateLimit-Remaining-Tokens describe the account "tokens". Names without an asterisk
// describe the account "". If several names of a list match fields of one account, the
// first of them counts.
//
// If the name of an account ends in a word for a time (second, minute, hour, day,
// week, month, year), that time is the window of its policy.
type Vendor struct {
	// Name names the API or the software that sends these fields.
	Name string

	// Hosts are the hosts that the row is for, and their subdomains. If there are
	// none, the row is for every host.
	//
	// A row of Reader.Vendors with Hosts is tried before the drafts. Other rows are
	// tried after them.
	Hosts []string

	// Sign is a field without which the row does not apply. If empty, the row
	// applies if any of its fields is there.
	Sign string

	// Limit, Remaining and Used name the fields with the quota, with what is left
	// of it, and with what is used. Any two of them give the third. Each is a
	// number. Limit may also be the List of drafts -03 and older: its first member
	// is the quota, the others are policies.
	Limit, Remaining, Used []string

	// Reset names the fields that say when the quota is renewed.
	Reset []string

	// ResetIn says what a number in Reset means. In a row with Hosts and without
	// Reset, it says what a number means in the resets of drafts -06 and -07 and in
	// X-RateLimit-Reset.
	ResetIn ResetKind

	// Refills says that the quota is renewed unit by unit, and that Reset says
	// when it will be full. The window of the service limit is then the time until
	// one more unit is there: the reset divided by what is used.
	Refills bool

	// Window names the fields with the window of the policy: a number of seconds,
	// or a duration.
	Window []string

	// Every is the window of the policy if no field gives one.
	Every time.Duration

	// Summary names fields with several figures: "32/40", used and quota; or a
	// Dictionary such as "total=100; remaining=99; resets=41".
	Summary []string

	// Counts names fields with a comma-separated list of an account's name and
	// what is left of its quota: "GetVM3Min;197,GetVM30Min;1297".
	Counts []string

	// Unit is what the quota counts, "requests" if empty; Units is the unit by the
	// name of the account.
	Unit  string
	Units map[string]string

	// Partition names fields whose values, with the byte 0x1F between them, are
	// the partition key. If one of them is missing, there is no key.
	Partition []string

	// Dialect is the only dialect that is read from Hosts; VendorFields means this
	// row. If NoDialect, the newest that says something valid is read.
	Dialect Dialect

	// RetryAfter says when Retry-After of Hosts is advice about quota.
	RetryAfter Advice
}

// role is the purpose of a field of a row.
type role uint8

const (
	ofLimit role = iota
	ofRemaining
	ofUsed
	ofReset
	ofWindow
	ofSummary
	ofCounts
	roles
)

// A pattern is the name of a field in canonical form, split at its asterisk.
type pattern struct {
	text           string // as the row writes it
	prefix, suffix string
	star           bool
}

func newPattern(name string) pattern {
	prefix, suffix, star := strings.Cut(http.CanonicalHeaderKey(name), "*")
	return pattern{name, prefix, suffix, star}
}

// match reports whether a field name follows the pattern, and returns the name of the
// account.
func (p pattern) match(name string) (account string, ok bool) {
	if !p.star {
		return "", name == p.prefix
	}
	if !p.covers(name) {
		return "", false
	}
	account = strings.ToLower(name[len(p.prefix) : len(name)-len(p.suffix)])
	return account, !measure(account)
}

// measure reports whether a part of a field name says what the field measures. Such a
// part does not name an account.
func measure(word string) bool {
	switch word {
	case "limit", "remaining", "reset", "used", "after", "reset-after", "date", "time", "at", "ms",
		"policy", "resource", "bucket", "scope", "global", "reason", "window", "window-size",
		"interval", "interval-seconds", "fillrate", "fill-rate", "type", "source":
		return true
	}
	return false
}

// A row is a Vendor prepared for reading.
type row struct {
	*Vendor
	fields    [roles][]pattern
	domains   []string // Hosts in lower case
	lead      string   // the common prefix of all field names
	partition []string // canonical
	byHand    bool     // a user's row with Hosts
	standard  bool     // has field names of draft -06
}

func newRow(v *Vendor, users bool) row {
	r := row{Vendor: v, byHand: users && len(v.Hosts) > 0}
	for i, names := range [roles][]string{
		v.Limit, v.Remaining, v.Used, v.Reset, v.Window, v.Summary, v.Counts,
	} {
		for _, name := range names {
			p := newPattern(name)
			if r.lead == "" && !r.reads() {
				r.lead = p.prefix
			}
			r.lead = r.lead[:common(r.lead, p.prefix)]
			r.fields[i] = append(r.fields[i], p)
			r.standard = r.standard || strings.HasPrefix(p.prefix, "Ratelimit-")
		}
	}
	for _, host := range v.Hosts {
		r.domains = append(r.domains, strings.ToLower(host))
	}
	for _, name := range v.Partition {
		r.partition = append(r.partition, http.CanonicalHeaderKey(name))
	}
	return r
}

// common returns the length of the common prefix of two texts.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// reads reports whether the row names any field about a quota.
func (r *row) reads() bool {
	return slices.ContainsFunc(r.fields[:], func(p []pattern) bool { return len(p) > 0 })
}

// serves reports whether the row is for a host in lower case and without a port.
func (r *row) serves(host string) bool {
	for _, domain := range r.domains {
		if rest, ok := strings.CutSuffix(host, domain); ok &&
			(rest == "" || strings.HasSuffix(rest, ".")) {
			return true
		}
	}
	return false
}

// withoutPort returns a host in lower case and without its port.
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") &&
		(strings.HasPrefix(host, "[") || strings.Count(host, ":") == 1) {
		host = host[:i]
	}
	return strings.ToLower(host)
}
