package parse

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Vendor is a row of the table of dialects: it says which fields an API describes its
// quotas with, and what they mean. [Vendors] returns the built-in rows; further ones go
// into [Reader.Vendors], which a transport.Shaper has as Shaper.Vendors. Most rows need a name,
// the names of a few fields, and what sets them apart from the fields in common use:
//
//	parse.Vendor{
//		Name:      "Example",
//		Limit:     []string{"X-Example-Quota"},     // 1000
//		Remaining: []string{"X-Example-Left"},      // 998
//		Reset:     []string{"X-Example-Resets-In"}, // 3600
//		ResetIn:   time.Second,
//	}
//
// Of the rows that apply to a response, the first that says something valid is read.
//
// A row writes field names in any case. A response may write those of the drafts, of Retry-After and of the
// last built-in row with underscores in place of all hyphens: rate_limit_remaining; a further row names such
// a field as it is. A name may contain one asterisk. It stands for
// the name of an account: any text that is not empty and does not name a measure, such
// as limit, remaining or reset. With "X-RateLimit-Limit-*" in Limit and
// "X-RateLimit-Remaining-*" in Remaining, the fields X-RateLimit-Limit-Tokens and
// X-RateLimit-Remaining-Tokens describe the account "tokens". Names without an asterisk
// describe the account "". The fields of an account tell of one quota. If several names of a list match fields of one account, the
// first of them counts. A reset without an account is that of all accounts that have none,
// if nothing but a cost is without an account; but not of one whose window is shorter. Words for the
// form of a reset, as in X-RateLimit-Reset-In-Seconds, name no account. A field that tells what is left of a time, as
// X-RateLimit-Remaining-Time-In-Seconds does, is a reset.
//
// A literal name puts the name of its account in angle brackets, which are not part of
// the field name: "X-<Day>Limit-Remaining" is the field X-DayLimit-Remaining of the account
// "day". Names of accounts are in lower case. With an asterisk, that is the end of the name:
// "X-RateLimit-*-Remaining-<Tokens>" is X-RateLimit-User-Remaining-Tokens of "user-tokens". Brackets are for what all
// fields of a quota have in their names: with "X-Limit-<Minutes>" in Limit, X-Limit-Remaining would tell of another quota. A
// row for these two has no brackets, and says in Every that it is a minute's.
//
// If the name of an account ends in a time (second, minute, hour, day, week, month, year,
// or a number of them such as 15min or 24hour) or is a rate (rps, rpm, rph, rpd, and tpm of tokens),
// that time is the window of its policy, which has no quota (None) if nothing tells it. So is the time that a name
// begins with, as in "minute-openai", and a number of seconds that is the whole name, such as 30. In "audio-seconds"
// the seconds are what is counted, in "requests-minutes" and "req10s" the requests are.
//
// A field with several values, such as "1, 15000" or "300/3000/12000", describes several
// policies. Its values belong to the values at the same positions of the account's other
// fields. Windows may stand beside the figures: "100;w=60", "100;window=60", "100:60",
// "150/15m", "100 rpm"; of "100:60:300", the 300 is ignored. Figures may have the names of accounts,
// "name=default,100;", or of windows, {"minute": 100}. If there are several quotas and one figure is left,
// it is that of the first quota which it and the reset fit into. A JSON object with the members limit
// or remaining, or "limit=100, remaining=99", is read as a Summary, whatever list its field is in.
//
// In the last of the built-in rows, X-RateLimit-Table is the limit beside X-RateLimit-Remaining-Table, and
// X-RateLimit: "default";r=50;t=30 is read as the drafts' RateLimit. If both X-RateLimit-Remaining and
// X-Rate-Limit-Remaining are there, or -Used, and they or the limits beside them differ, they are of two quotas, perhaps of a
// gateway and of the server behind it; the second is the account "rate-limit".
//
// A row names only quotas that the request of the response counts in. If an API tells with
// every response of a quota for reads and of one for writes, and nothing tells which of them
// a request needs, a row with both would hold reads when no writes are left. The last of the
// built-in rows reads neither if a response names several accounts. And a row names only quotas that requests
// are refused by: not what is left of a plan, if requests cost more after that.
//
// To see what a row makes of a response, call [Reader.Read] with its fields, as in the
// examples. What no row can say goes through a function: an http.RoundTripper below the
// Shaper that sets the draft's fields on the response (see transport.Shaper.Base).
type Vendor struct {
	// Name names the API or the software that sends these fields.
	Name string

	// Hosts are the hosts that the row is for, and their subdomains. If there are
	// none, the row is for every host.
	//
	// A row of Reader.Vendors with Hosts is tried before the drafts, and so before RateLimit.
	// A row with field names of draft -06, such as RateLimit-Limit, is tried before that
	// draft. Other rows are tried after the drafts.
	//
	// If several rows of Reader.Vendors name a host, they are tried in their order. What a row
	// says of other fields than its own (Dialect, RetryAfterOnRefusals, and ResetIn and ResetUnix
	// without Reset) is that of the first of them with its Sign.
	Hosts []string

	// Sign is a field without which the row does not apply, nor its Retry and Refusals; an asterisk
	// in it stands for any text. If empty, the row applies if any of its fields is there.
	Sign string

	// Limit, Remaining and Used name the fields with the quota, with what is left
	// of it, and with what is used. Any two of them give the third. Each is a
	// number. Limit may also be the List of drafts -03 and older: its first member
	// is the quota, the others, with windows, are policies. A quota that is not
	// whole, such as 0.5 a second, is read as whole units in a longer window. A quota that is
	// 0, negative or a word holds nothing, unless the response is a 429: it is unlimited. Nor does one of which nothing
	// is left, if a response that is no 429 says that requests beyond it are served, as X-RateLimit-Overage: enabled
	// and X-RateLimit-Over-Limit: yes do: it is read as if all of it was left. A bucket
	// is "burst:100;rate:10": if the reset shows the rate to be that of a second or of a minute, it is
	// when the bucket will be full.
	Limit, Remaining, Used []string

	// Cost names the fields with the cost of the request, in quota units. A cost without an
	// account is that of the accounts that are named after a time, such as "minute", too.
	Cost []string

	// Reset names the fields that say when the quota is renewed.
	Reset []string

	// ResetIn is the unit of a number in Reset or Retry: time.Second or
	// time.Millisecond. ResetUnix says that the number is a Unix time, in seconds if
	// ResetIn is zero. Without both, a field whose name ends in -Ms, -Milliseconds,
	// -Seconds, -Minutes or -Hours has that unit, and any other number is read by its size: it is a Unix
	// time, in seconds or else in milliseconds or less, if that time lies within 366 days of
	// the Date of the response and after 1985, which holds for names with a unit, too; else a
	// number of nanoseconds, if it is from 4e9 to 1e12; else a
	// number of milliseconds, if as seconds it were longer than the window that another field
	// says: more than 60 times, and 1000 or more, or twice, if that window is in milliseconds, or
	// by a 24th, if it is a day or more by the name of the account; and else a number of seconds. Dates and durations are recognised by their form
	// in any case.
	//
	// In a row with Hosts and without Reset, ResetUnix says what a number means in the
	// resets of drafts -06 and -07 and of the fields in common use, such as
	// X-RateLimit-Reset. ResetIn without ResetUnix says it for the latter only. A number that
	// is near the Date as a Unix time stays one: within 366 days; if ResetIn is
	// milliseconds, one in seconds must be within a day. Some gateways mean milliseconds
	// where most servers mean seconds, and one response does not tell (a transport.Shaper finds
	// it out, for X-RateLimit-Reset):
	//
	//	parse.Vendor{Name: "a gateway", Hosts: []string{"api.example.com"}, ResetIn: time.Millisecond}
	ResetIn   time.Duration
	ResetUnix bool

	// Refills says that the quota is renewed unit by unit, and that Reset says when
	// it will be full. Without ResetIn and ResetUnix, that holds for
	// durations such as "6m0s", and an instant or a number of seconds is the end of
	// a window. If no reset is sent, Every is the time in which an empty quota becomes full. See
	// Limit.Full.
	Refills bool

	// Window names the fields with the window of the policy: a duration, a word such
	// as "minute", or a number. If the name of a field ends in -Ms or -Milliseconds, the
	// number has that unit, and else seconds. But 60000 in a field without a unit in its
	// name are milliseconds: so are multiples of 1000, but for 5, 10 and 15
	// hours and for whole days up to a year. If the name ends in -Rate, the number is how many
	// units come back in a second, one by one; the window is the time until all have. If it ends in -FillRate, they come back in
	// the window that another field says, which is no window of the quota if they are fewer than that.
	// A window that is over long before a quota of which something is left is renewed, at an instant or after a
	// duration, is ignored: it may be the time between two requests. If the name ends in -Unit, a word that is no time
	// says what the quota counts: tokens, credits and the like, as in the names of accounts (see Units).
	Window []string

	// Every is the window of a policy by the name of its account, if no field gives
	// one. The entry "" is for all accounts without another window.
	Every map[string]time.Duration

	// Policy names fields that list policies, such as "1;w=1, 15000;w=2592000".
	Policy []string

	// Accounts names the values of a field with several, by position. Without it
	// they are named by their text, such as "1000;w=3600", or where two have the same, by
	// their positions.
	Accounts []string

	// Summary names fields with several figures: "32/40", used and quota; pairs
	// such as "total=100; remaining=99; resets=41", "remain:9,limit:10,time:10 second"
	// or "Remaining: 394 Time until reset: 3589"; a JSON object such as
	// {"limit":50,"remaining":49,"period":10}; "10/90/100", the cost of the request,
	// what is left, and the quota; several accounts such as
	// "api-usage=10/100; api-bursts=1/50", "b=per_hour;q=100;r=0;t=340,
	// b=per_day;q=1000;r=900;t=40000", "key:ABCD 2/1000 reset=3514s" or
	// "hour-lim:3500; hour-rem:500"; several accounts and what is left of them:
	// "GetVM3Min;197,GetVM30Min;1297". Such accounts are within that of the field, if its name has an
	// asterisk: "client per_hour". The words of pairs are
	//
	//	the quota      limit, lim, total, q, quota, max, maximum
	//	what is left   remaining, remain, rem, r, left, available
	//	what is used   used
	//	its end        reset, resets, t, until, time until reset, end, ends, expires
	//	its window     w, window, period, time, interval
	//
	// Pairs with other words are not read.
	//
	// In a row with the unit "percent" for all accounts, these fields say how many per cent of quotas are used: a
	// number, such as 87.5; a JSON object whose members are named after accounts,
	// {"call_count":28,"total_time":25}; or an object that has a list of such objects for each partition key,
	// {"1234":[{"type":"ads","call_count":100,"estimated_time_to_regain_access":19}]}. That time is in minutes, and
	// reset_time_duration is in seconds. A Shaper holds requests when all is used and one was answered with 400, 403
	// or 429, and none before: it does not know how many make a per cent.
	Summary []string

	// Units says what a quota counts, by the name of its account, with or without
	// the time in which it ends: any word. A Shaper learns, or asks Shaper.Cost, how many of them a request takes, unless
	// they are requests, contents or requests in progress. The entry "" is for all other accounts. The
	// default is "requests"; and "tokens" for accounts with a word that ends so in their names,
	// such as "input-tokens", or with "tpm", "tph" or "tpd"; "content-bytes" for those with the word bytes; that word
	// for those with bandwidth, traffic, kb, mb, gb, kilobytes, megabytes, gigabytes, credits, points, records,
	// characters, words or images, of which a request takes as many as like requests were seen to; and the name of an account that ends in a
	// time that is counted, such as "audio-seconds". Units that limit the requests in progress are
	// "concurrent-requests": those of accounts with "concurrent", "concurrency" or "parallel" in their names.
	// A quota of "errors", in which only failed requests count, is read when nothing is left of it.
	// One of money is not read, as what a request takes of it is not known before: one with usd, eur, gbp, dollars, euros
	// or cents in its name, if nothing here says what it counts; one with cpm, cost, budget, spend, balance or credits, if a figure has
	// a decimal point and the row has no unit for all; and one of fewer than 1000 tokens with a fraction left.
	Units map[string]string

	// Partition names fields whose values, with the byte 0x1F between them, are
	// the partition key. If one of them is missing, there is no key.
	Partition []string

	// Paths are patterns such as "channels/{id}". Where the path of a request has these
	// segments one after the other, those in braces partition the quotas, too, beside
	// Partition. Without Partition they do so alone, and Key is empty but HasKey is true.
	// The first pattern that matches counts. See Reader.PathKey.
	Paths []string

	// Whole names fields that say, by the value "true" or "global", that a refusal does
	// not concern the quotas of its fields but all requests. Only Retry-After is read
	// then.
	Whole []string

	// Retry names fields that mean the same as Retry-After. They are read if there is
	// no valid Retry-After; on a 429 beside one, and the longest counts. If a row with Hosts names Retry-After itself, ResetIn is the unit
	// of a number in that, too.
	Retry []string

	// Dialect is the only dialect that is read from Hosts; VendorFields means this row, if it has fields, and else any
	// row. If NoDialect, the newest that says something valid is read.
	Dialect Dialect

	// RetryAfterOnRefusals is for Hosts that send Retry-After with every response,
	// beside fields of a draft: it then counts on 403, 413, 418, 420, 429, 3xx and 5xx only. See
	// Reading.Advised.
	RetryAfterOnRefusals bool

	// Refusals are further signs of refusals, such as {Status: 403, Text: "calls used up"}: a
	// text in the body, or in a Field, of a response with that status. See Refusal and
	// Reader.Refusals.
	Refusals []Refusal
}

// role is the purpose of a field of a row.
type role uint8

const (
	ofLimit role = iota
	ofPolicy
	ofRemaining
	ofUsed
	ofReset
	ofWindow
	ofSummary
	ofCost // last: costs belong to accounts that were read
	roles
)

// A pattern is the name of a field in canonical form, split at its asterisk.
type pattern struct {
	text           string // as the row writes it
	prefix, suffix string
	star           bool
	own            bool   // the text at the asterisk has to be the host's own: see owns
	mixed          bool   // the row has names with the measure before the account, and after it
	account        string // the text in angle brackets; with an asterisk, the end of the account's name
}

func newPattern(name string) pattern {
	p := pattern{text: name}
	if before, rest, ok := strings.Cut(name, "<"); ok {
		account, after, _ := strings.Cut(rest, ">")
		p.account = strings.ToLower(account)
		p.text = before + account + after
	}
	p.prefix, p.suffix, p.star = strings.Cut(http.CanonicalHeaderKey(p.text), "*")
	return p
}

// match reports whether a field name in a response from a host follows a pattern with an
// asterisk, and returns the name of the account.
func (p *pattern) match(name, host string) (account string, ok bool) {
	if !p.covers(name) {
		return "", false
	}
	account = strings.ToLower(name[len(p.prefix) : len(name)-len(p.suffix)])
	if p.own {
		if account = strings.TrimPrefix(account, "x-"); !owns(host, account) {
			return "", false
		}
	}
	if ok = (!measure(account) || p.suffix != "" && isShared(account)) && !(p.mixed && p.crosses(account)); ok && p.account != "" {
		account += "-" + p.account
	}
	return account, ok
}

// owns reports whether a field name that begins with a word, in lower case, tells of a quota of
// the host: Akamai-RateLimit-Remaining at akamaiapis.net, X-FactSet-Api-RateLimit-Remaining at
// factset.com, X-1m-RateLimit-Remaining and X-Company-RateLimit-Remaining everywhere.
// X-GitHub-RateLimit-Remaining from another host is what a proxy has left elsewhere.
func owns(host, word string) bool {
	host = withoutPort(host)
	own := func(part string) bool { return len(part) > 2 && strings.Contains(host, part) }
	if spanOf(word) > 0 || own(word) {
		return true
	}
	for part := range strings.SplitSeq(word, "-") {
		if !own(part) && !isClient(part) {
			return false
		}
	}
	return true
}

// isClient reports whether a word, in lower case, stands for the client that a quota is counted for or for all clients, for
// an API (WordPress has "ws"), or for a kind of request. No server has such a name.
func isClient(word string) bool {
	switch word {
	case "api", "ws", "user", "account", "company", "customer", "client", "org", "organization", "organisation",
		"team", "tenant", "workspace", "project", "plan", "app", "application", "key", "ip", "burst", "global", "sync", "async":
		return true
	}
	return strings.HasSuffix(word, "request") || strings.HasSuffix(word, "requests") // X-OrderRequest-RateLimit-Remaining
}

// crosses reports whether the text at the asterisk, in lower case, has the measure of another
// form of the row at its open end. With X-RateLimit-Limit-* and X-RateLimit-*-Remaining in one
// row, X-RateLimit-Limit-User-Remaining is neither the limit of "user-remaining" nor what
// remains of "limit-user". But X-RateLimit-Hard-Limit-Remaining is what remains of "hard-limit",
// and X-RateLimit-Remaining-Hard-Limit too.
func (p *pattern) crosses(part string) bool {
	word := part[strings.LastIndexByte(part, '-')+1:]
	if p.suffix != "" {
		word, _, _ = strings.Cut(part, "-")
	}
	switch word {
	case "remaining", "reset", "used":
		return true
	case "limit":
		return p.suffix != ""
	}
	return false
}

// measure reports whether a part of a field name, in lower case, says what the field
// measures. Such a part does not name an account.
func measure(part string) bool {
	switch part {
	case "limit", "remaining", "reset", "used", "after", "reset-after", "date", "time", "at", "ms",
		"policy", "resource", "bucket", "scope", "global", "reason", "window", "window-size",
		"interval", "interval-seconds", "interval-ms", "fillrate", "fill-rate", "type", "source",
		"retry-after", "retry", "retryafter", "next", "name", "group", "period", "usage", "cost", "query-cost",
		"max", "last", "total", "count", "left", "quota", "ratelimit", "rate-limit", "remain", "available", "current",
		"seconds", "lockout", "ttl", "timestamp", "expiry", "in", "percent", "percentage":
		return true
	}
	return strings.HasPrefix(part, "seconds-") || strings.HasSuffix(part, "-ttl") || isTimeLeft(part) // X-RateLimit-Reset-Seconds-Org
}

// isTimeLeft reports whether a field that tells what is left of that tells the time until the reset:
// X-RateLimit-Remaining-Time-In-Seconds, X-RateLimit-Remaining-Millis, and
// X-RateLimit-Remaining-Interval-Milliseconds (Whippy). Of "sec", "minutes"
// and "hours" it tells how many requests are left.
func isTimeLeft(of string) bool {
	switch strings.ToLower(of) {
	case "sec", "minutes", "hours":
		return false
	}
	const interval = "interval-"
	if len(of) > len(interval) && strings.EqualFold(of[:len(interval)], interval) {
		of = of[len(interval):]
	}
	return isForm(of)
}

// isShared reports whether a word, in lower case, names what a quota is counted for if a measure follows:
// X-RateLimit-Global-Limit. By itself, as in X-RateLimit-Global, it says something else.
func isShared(word string) bool {
	switch word {
	case "global", "group", "bucket", "resource":
		return true
	}
	return false
}

// A row is a Vendor prepared for reading.
type row struct {
	*Vendor
	literal   map[string][]patternOf
	starred   [32][]patternOf // by the last byte, as in a shape
	retry     []pattern
	domains   []string // Hosts in lower case
	partition []string // canonical
	whole     []string // canonical
	paths     [][]string
	byHand    bool // a user's row with Hosts
	fields    bool // has any
	standard  bool // has field names of draft -06
	resets    bool // has Reset
	kind      resetKind
	retryKind resetKind // that of Retry-After itself
}

// patternOf is a pattern of a row with its purpose.
type patternOf struct {
	pattern
	role role
	rank int // its place in the list
}

func newRow(v *Vendor, users bool) row {
	r := row{Vendor: v, byHand: users && len(v.Hosts) > 0, literal: make(map[string][]patternOf)}
	mixed := !users && hasStar(v.Limit, true) && hasStar(v.Remaining, false)
	for i, names := range [roles][]string{
		ofLimit: v.Limit, ofPolicy: v.Policy, ofRemaining: v.Remaining, ofUsed: v.Used, ofReset: v.Reset,
		ofWindow: v.Window, ofSummary: v.Summary, ofCost: v.Cost,
	} {
		for rank, name := range names {
			p := patternOf{newPattern(name), role(i), rank}
			p.mixed, p.own = mixed, !users && p.star && p.prefix == ""
			if p.star {
				for i := range r.starred {
					if p.suffix == "" || i == last(p.suffix) {
						r.starred[i] = append(r.starred[i], p)
					}
				}
			} else {
				r.literal[p.prefix] = append(r.literal[p.prefix], p)
			}
			r.fields = true
			r.standard = r.standard || !p.star && strings.HasPrefix(p.prefix, "Ratelimit-")
		}
	}
	r.resets, r.kind = len(v.Reset) > 0, kindOf(v.ResetIn, v.ResetUnix)
	for _, name := range v.Retry {
		if strings.EqualFold(name, "Retry-After") {
			r.retryKind = r.kind
		} else {
			r.retry = append(r.retry, newPattern(name))
		}
	}
	for _, host := range v.Hosts {
		r.domains = append(r.domains, strings.ToLower(host))
	}
	for _, name := range v.Partition {
		r.partition = append(r.partition, http.CanonicalHeaderKey(name))
	}
	for _, name := range v.Whole {
		r.whole = append(r.whole, http.CanonicalHeaderKey(name))
	}
	for _, path := range v.Paths {
		r.paths = append(r.paths, strings.Split(strings.Trim(path, "/"), "/"))
	}
	return r
}

// hasStar reports whether one of some names has its asterisk at the end, or else before it.
func hasStar(names []string, atEnd bool) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		i := strings.IndexByte(name, '*')
		return i >= 0 && (i == len(name)-1) == atEnd
	})
}

// patterns returns the patterns of all fields about a quota.
func (r *row) patterns() (all []pattern) {
	for _, of := range r.literal {
		all = append(all, of[0].pattern)
	}
	for i, patterns := range r.starred {
		for _, p := range patterns {
			if p.suffix != "" || i == 0 {
				all = append(all, p.pattern)
			}
		}
	}
	return all
}

// signed reports whether a header has the sign of the row, or the row needs none.
func (r *row) signed(h http.Header) bool {
	if r.Sign == "" {
		return true
	}
	sign := newPattern(r.Sign)
	if !sign.star {
		return len(h[sign.prefix]) > 0
	}
	for name, lines := range h {
		if len(lines) > 0 && sign.covers(name) {
			return true
		}
	}
	return false
}

// reads reports whether the row names any field about a quota.
func (r *row) reads() bool { return r.fields }

// unit returns what the quota of an account counts.
func (r *row) unit(account string) string {
	for _, name := range [...]string{account, withoutSpan(account), ""} {
		if unit, ok := r.Units[name]; ok {
			return canonicalUnit(unit)
		}
	}
	for part := range wordsOf(account) {
		switch part {
		case tokens, "tpm", "tph", "tpd":
			return tokens
		case "concurrent", "concurrency", "parallel":
			return concurrentRequests
		case "bytes":
			return contentBytes
		case "bandwidth", "traffic", "megabytes", "kilobytes", "gigabytes", "mb", "kb", "gb", "credits", "points":
			return strings.Clone(part)
		case "record", "records":
			return "records"
		case "characters", "words", "images":
			return strings.Clone(part)
		}
		if strings.HasSuffix(part, tokens) { // completiontokens
			return tokens
		}
	}
	if countsTime(account) {
		return strings.Clone(account)
	}
	return requests
}

// tokens is the unit of quotas of language models, contentBytes that of quotas that contents count in,
// concurrentRequests that of limits on the requests in progress, errorsUnit that of quotas that
// only failed requests count in, and percent that of parts that are used.
const (
	tokens             = "tokens"
	contentBytes       = "content-bytes"
	concurrentRequests = "concurrent-requests"
	errorsUnit         = "errors"
	percent            = "percent"
)

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

// withoutPort returns a host in lower case and without its port, nor the dot that ends a fully qualified name.
func withoutPort(host string) string {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") &&
		(strings.HasPrefix(host, "[") || strings.Count(host, ":") == 1) {
		host = host[:i]
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
