package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// An explanation is everything to say about one response.
type explanation struct {
	status int
	host   string // "": unknown
	got    parse.Reading
	byTime bool // the reading depends on the local clock

	learned      transport.LearnedInfo
	ignored      []parse.Ignored
	mispredicted []string      // policies
	problem      string        // the kind of problem that the body is; "": none
	violated     []string      // the policies that it names
	inBody       time.Duration // the wait that it asks for; 0: none

	like    []string      // fields that look like quota
	from    []string      // those of them that the reading comes from
	unknown []string      // those that no row knows
	other   []string      // those of another dialect or row
	repeats []string      // those that only repeat what others say
	lists   []string      // those of from that have several values
	row     *parse.Vendor // a row that understands some of them, if nothing else did; or nil
	millis  time.Duration // the window, if that may be a thousandth of what was read; else 0

	next   outlook // of the next request
	follow outlook // of a request that follows a redirect to the same server
}

// An outlook is what would happen to a request after the response. Its times count from
// the arrival of the response.
type outlook struct {
	transport.Verdict
	back time.Duration // when to retry a refused request; 0: unknown, or not refused
}

// explain gives a response to a new Shaper and records what the Shaper learns.
func explain(resp *http.Response) (*explanation, error) {
	e := &explanation{status: resp.StatusCode, host: resp.Request.URL.Hostname()}
	if e.host == unknownHost {
		e.host = ""
	}
	req := &http.Request{Method: http.MethodGet, URL: resp.Request.URL, Header: http.Header{}}
	var arrived time.Time
	shaper := &transport.Shaper{
		Trace: e.trace(),
		Base: roundTripper(func(req *http.Request) (*http.Response, error) {
			played := *resp
			played.Request = req
			arrived = time.Now()
			return &played, nil
		}),
	}
	answer, err := shaper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	e.read(answer)
	e.next = ask(shaper, req, arrived)
	if answer.StatusCode/100 == 3 {
		following := *req
		following.Response = answer
		e.follow = ask(shaper, &following, arrived)
	}
	e.inspect(resp)
	return e, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// trace records what a Shaper reports of the response.
func (e *explanation) trace() *transport.Trace {
	return &transport.Trace{
		Learned: func(info transport.LearnedInfo) { e.learned = info },
		Ignored: func(info transport.IgnoredInfo) { e.ignored = append(e.ignored, info.Ignored) },
		Mispredicted: func(info transport.MispredictedInfo) {
			e.mispredicted = append(e.mispredicted, info.Policy)
		},
	}
}

// read reads the body, because a Shaper learns from a problem in it while the caller
// reads it. An incomplete body is ignored.
func (e *explanation) read(answer *http.Response) {
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		return
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(io.LimitReader(answer.Body, maxBytes)); err != nil {
		return
	}
	e.problem, e.violated, e.inBody = parse.ReadBody(e.status, answer.Header, body.Bytes(), time.Now(), parse.Caps{})
}

// ask returns when a Shaper would send a request.
func ask(shaper *transport.Shaper, req *http.Request, arrived time.Time) outlook {
	o := outlook{Verdict: shaper.Check(req)}
	since := time.Since(arrived)
	if o.Wait > 0 {
		o.Wait += since
	}
	if o.Rejected != nil && o.Rejected.RetryAfter > 0 {
		o.back = o.Rejected.RetryAfter + since
	}
	return o
}

// inspect reads the header again, for details that a Shaper does not report. It finds the
// fields that make no difference by omitting them.
func (e *explanation) inspect(resp *http.Response) {
	var reader parse.Reader
	now := time.Now()
	read := func(h http.Header, now time.Time) parse.Reading {
		return reader.Read(e.host, e.status, h, now)
	}
	e.got = read(resp.Header, now)
	e.byTime = !reflect.DeepEqual(e.got, read(resp.Header, now.Add(time.Hour)))
	for name := range resp.Header {
		if looksLikeQuota(name) || e.matters(name, resp.Header, read, now) || e.got.Vendor != "" && mayBeRead(name, resp.Header) {
			e.like = append(e.like, name)
		}
	}
	e.like = append(e.like, companions(e.like, resp.Header)...)
	slices.Sort(e.like)
	// From the last to the first: if Limit and Remaining are there, Used makes no difference.
	// A status that is not a refusal keeps the reader from completing what is missing.
	neutral := reader.Read(e.host, http.StatusOK, resp.Header, now)
	rest := maps.Clone(resp.Header)
	for _, name := range slices.Backward(e.like) {
		values := rest[name]
		delete(rest, name)
		same := reflect.DeepEqual(e.got, read(rest, now)) &&
			reflect.DeepEqual(neutral, reader.Read(e.host, http.StatusOK, rest, now))
		if !same {
			rest[name] = values
			e.from = append(e.from, name)
			continue
		}
		alone := read(http.Header{name: values, "Date": resp.Header["Date"]}, now)
		switch {
		case reader.Silent(http.Header{name: values}), alone.Dialect == parse.NoDialect && e.ofAnother(name, values):
			e.unknown = append(e.unknown, name)
		case alone.Dialect != parse.NoDialect && (alone.Dialect != e.got.Dialect || alone.Vendor != e.got.Vendor):
			e.other = append(e.other, name)
		default:
			e.repeats = append(e.repeats, name)
		}
	}
	for _, names := range [][]string{e.from, e.unknown, e.other, e.repeats} {
		slices.Sort(names)
	}
	for _, name := range e.from {
		if values := strings.Split(strings.Join(resp.Header[name], ","), ","); len(values) > 1 && !slices.ContainsFunc(values, notNumber) {
			e.lists = append(e.lists, name)
		}
	}
	if e.got.Dialect == parse.NoDialect && !slices.ContainsFunc(e.got.Ignored, mayNotConcern) {
		e.row = e.suggestRow(resp.Header)
	}
	e.millis = e.inMillis()
}

// ofAnother reports whether a field would be read from a host with the name that it begins with.
func (e *explanation) ofAnother(name string, values []string) bool {
	var reader parse.Reader
	return reader.Read(name, e.status, http.Header{name: values}, time.Now()).Dialect != parse.NoDialect
}

// matters reports whether a row reads a field without which the response says something else.
func (e *explanation) matters(name string, h http.Header, read func(http.Header, time.Time) parse.Reading, now time.Time) bool {
	if e.got.Vendor == "" || name == "Date" {
		return false
	}
	rest := maps.Clone(h)
	delete(rest, name)
	return !reflect.DeepEqual(e.got, read(rest, now))
}

// inMillis returns what the window of the only service limit would be if the reset was in
// milliseconds; 0 if it is not a number of a thousand or more that is only taken for seconds.
func (e *explanation) inMillis() time.Duration {
	if len(e.got.Limits) != 1 || !e.got.Limits[0].Bare || e.got.Limits[0].Window < 1000*time.Second {
		return 0
	}
	return e.got.Limits[0].Window / 1000
}

// mayNotConcern reports whether a field was ignored because nothing tells whether the request
// counts in its quota.
func mayNotConcern(i parse.Ignored) bool { return strings.Contains(i.Err.Error(), "may not concern") }

// notNumber reports whether a value is not a number, and so may be part of a date or an
// item with parameters.
func notNumber(value string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err != nil
}

// suggestRow returns a row for the fields that look like quota, made of the words in their
// names. It returns nil if that row understands nothing either.
func (e *explanation) suggestRow(h http.Header) *parse.Vendor {
	row := &parse.Vendor{Name: "this API"}
	if e.host != "" {
		row.Hosts = []string{e.host}
	}
	prefix := commonSegments(e.like)
	accounts := map[string]int{}
	for _, name := range e.like {
		if account, _ := segments(name[len(prefix):]); account != "" {
			accounts[account]++
		}
	}
	for _, name := range e.like {
		account, _ := segments(name[len(prefix):])
		_, measures := segments(name)
		pattern := name
		if accounts[account] > 1 || accounts[account] == 1 && len(accounts) > 1 { // else the others are of the same quota
			pattern = prefix + strings.Replace(name[len(prefix):], account, "<"+account+">", 1)
		}
		has := func(words ...string) bool {
			return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(measures, w) })
		}
		switch {
		case strings.Contains(strings.ToLower(name), "beta"): // not enforced: see parse.Vendors
		case name == "Retry-After": // read anyway
		case has("retry"):
			row.Retry = append(row.Retry, name)
		case has("remain", "left"):
			row.Remaining = append(row.Remaining, pattern)
		case has("reset"):
			row.Reset = append(row.Reset, pattern)
		case has("unit"): // of an interval
			row.Window = append([]string{pattern}, row.Window...)
		case has("window", "interval", "period"):
			row.Window = append(row.Window, pattern)
		case has("cost", "weight"):
			row.Cost = append(row.Cost, pattern)
		case has("used", "usage", "count") && !strings.HasSuffix(measures, "-limit"):
			row.Used = append(row.Used, pattern)
		case len(h[name]) > 0 && !strings.ContainsAny(h[name][0], "0123456789"): // "free", "user"
		default:
			row.Limit = append(row.Limit, pattern)
		}
	}
	reader := parse.Reader{Vendors: []parse.Vendor{*row}}
	if got := reader.Read(e.host, e.status, h, time.Now()); got.Dialect == parse.NoDialect {
		return nil
	}
	return row
}

// companions returns the fields that have the name of one of some others, but for its end, which tells of a quota, too:
// X-Chat-Reset beside X-Chat-Limit.
func companions(names []string, h http.Header) (more []string) {
	stems := map[string]bool{}
	for _, name := range names {
		stems[name[:strings.LastIndexByte(name, '-')+1]] = true
	}
	for name := range h {
		i := strings.LastIndexByte(name, '-') + 1
		switch strings.ToLower(name[i:]) {
		case "reset", "resets", "used", "usage", "count", "window", "period", "interval", "cost":
			if name[:i] != "" && name[:i] != "X-" && stems[name[:i]] && !slices.Contains(names, name) {
				more = append(more, name)
			}
		}
	}
	return more
}

// commonSegments returns the segments of field names, up to a hyphen, with which all of
// them begin.
func commonSegments(names []string) string {
	if len(names) == 0 {
		return ""
	}
	prefix := names[0]
	for _, name := range names {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix[:strings.LastIndexByte(prefix, '-')+1]
}

// segments splits a part of a field name into the segments that name an account and, in
// lower case, those that say what the field measures.
func segments(part string) (account, measures string) {
	var names, words []string
	for _, segment := range strings.Split(part, "-") {
		switch lower := strings.ToLower(segment); lower {
		case "limit", "quota", "max", "total", "remain", "remaining", "left", "reset", "resets", "resetson", "in", "after", "at", "retry",
			"on", "by", "until", "time", "utc", "date", "timestamp", "unit", "cost", "weight", "window", "interval", "period", "used", "usage", "count", "ms", "milliseconds", "seconds", "x", "ratelimit", "rate":
			words = append(words, lower)
		default:
			names = append(names, segment)
			words = append(words, lower)
		}
	}
	return strings.Join(names, "-"), strings.Join(words, "-")
}

// mayBeRead reports whether some row reads a field. Those that mark a response as stored are no such fields.
func mayBeRead(name string, h http.Header) bool {
	var reader parse.Reader
	switch name {
	case "Age", "Cache-Status", "X-From-Cache", "X-Cache-Status", "X-Proxy-Cache":
		return false
	}
	return !reader.Silent(http.Header{name: h[name]})
}

// looksLikeQuota reports whether a field's name sounds as if it were about quota.
func looksLikeQuota(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"limit", "quota", "remaining", "retry", "backoff", "throttl"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
