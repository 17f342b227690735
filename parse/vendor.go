package parse

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Vendor is a row of the table of dialects: which fields an API tells its quotas
// with, and what they mean. Rows are data. [Vendors] has those that are built in;
// further ones go into [Reader.Vendors].
//
// Fields are named in any case. A name may hold one asterisk, which stands for any
// text that is not empty and not itself the name of a measure (limit, remaining,
// reset and the like): the name of an account. "X-RateLimit-Limit-*" in
// Limit and "X-RateLimit-Remaining-*" in Remaining join X-RateLimit-Limit-Tokens and
// X-RateLimit-Remaining-Tokens to what is said of the account "tokens"; the account
// of names without an asterisk has no name. Where several names of a list speak of
// one account, the first counts.
//
// If the name of an account ends in a word for a time (second, minute, hour, day,
// week, month, year), that is the window of its policy.
type Vendor struct {
	// Name is who sends this.
	Name string

	// Hosts are the hosts that the row is for, and their subdomains. If there are
	// none, the row is for every host, and who it is for is told by Sign.
	//
	// Rows of Reader.Vendors with Hosts are settings made by hand: what they read
	// comes before the drafts. Other rows come after them.
	Hosts []string

	// Sign is a field that must be there for the row to apply. If empty, any of
	// the row's fields will do.
	Sign string

	// Limit, Remaining and Used name the fields with the quota, with what is left
	// of it, and with what is used. Any two of them give the third. Each is a
	// number; or, for Limit, the List of drafts -03 and older, whose first member
	// is the quota and whose others are policies.
	Limit, Remaining, Used []string

	// Reset names the fields that tell when the quota is renewed.
	Reset []string

	// ResetIn says what a number in Reset means. If the row names no Reset but
	// Hosts, it says so of the drafts -06 and -07 and of X-RateLimit-Reset.
	ResetIn ResetKind

	// Refills says that the quota is renewed unit by unit, and that Reset tells
	// when all of it is. The window of the service limit is then the time until
	// one more unit: the reset divided by what is used.
	Refills bool

	// Window names the fields with the window of the policy: a number of seconds,
	// or a duration.
	Window []string

	// Every is the window of the policy if no field tells it.
	Every time.Duration

	// Summary names fields that say all at once: "32/40", used and quota; or a
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
	// the partition key. If one of them is missing, no key is known.
	Partition []string

	// Dialect restricts what is read from Hosts to one dialect, VendorFields being
	// this table. If NoDialect, the newest that says something valid is read.
	Dialect Dialect

	// RetryAfter says when Retry-After of Hosts is advice about quota.
	RetryAfter Advice
}

// role is what a field of a row is for.
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

// A pattern is the name of a field in canonical form, with the place of the
// asterisk if there is one.
type pattern struct {
	text           string // as the row writes it
	prefix, suffix string
	star           bool
}

func newPattern(name string) pattern {
	prefix, suffix, star := strings.Cut(http.CanonicalHeaderKey(name), "*")
	return pattern{name, prefix, suffix, star}
}

// match reports whether a canonical field name follows the pattern, and returns
// the name of the account.
func (p pattern) match(name string) (account string, ok bool) {
	if !p.star {
		return "", name == p.prefix
	}
	if len(name) <= len(p.prefix)+len(p.suffix) ||
		!strings.HasPrefix(name, p.prefix) || !strings.HasSuffix(name, p.suffix) {
		return "", false
	}
	account = strings.ToLower(name[len(p.prefix) : len(name)-len(p.suffix)])
	return account, !measure(account)
}

// measure reports whether a part of a field name says what is measured, and so does
// not name an account.
func measure(word string) bool {
	switch word {
	case "limit", "remaining", "reset", "used", "after", "reset-after", "date", "time", "at", "ms",
		"policy", "resource", "bucket", "scope", "global", "reason", "window", "window-size",
		"interval", "interval-seconds", "fillrate", "fill-rate", "type", "source":
		return true
	}
	return false
}

// A row is a Vendor made ready for reading.
type row struct {
	*Vendor
	sign      pattern
	fields    [roles][]pattern
	domains   []string // Hosts in lower case
	lead      string   // what the names of all fields begin with
	partition []string // canonical
	hand      bool     // set by hand for some hosts
	standard  bool     // uses the names of draft -06
}

func newRow(v *Vendor, own bool) row {
	r := row{Vendor: v, sign: newPattern(v.Sign), hand: own && len(v.Hosts) > 0}
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

// common is the length of what two texts begin with.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// reads reports whether the row names any field that tells of a quota.
func (r *row) reads() bool {
	return slices.ContainsFunc(r.fields[:], func(p []pattern) bool { return len(p) > 0 })
}

// serves reports whether the row is for a host, given in lower case and without a
// port.
func (r *row) serves(host string) bool {
	for _, domain := range r.domains {
		if rest, ok := strings.CutSuffix(host, domain); ok &&
			(rest == "" || strings.HasSuffix(rest, ".")) {
			return true
		}
	}
	return false
}

// withoutPort is a host in lower case and without its port.
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") &&
		(strings.HasPrefix(host, "[") || strings.Count(host, ":") == 1) {
		host = host[:i]
	}
	return strings.ToLower(host)
}
