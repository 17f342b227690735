package main

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
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
	mispredicted []string // policies
	problem      parse.Problem

	like []string      // fields with names that suggest a quota
	idle []string      // those of like that do not change the reading
	row  *parse.Vendor // if nothing was understood: a row that reads some of like; nil: there is none

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
	e.problem, _ = parse.ReadProblem(e.status, answer.Header.Get("Content-Type"), body.Bytes(), parse.Caps{})
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
		if looksLikeQuota(name) {
			e.like = append(e.like, name)
		}
	}
	slices.Sort(e.like)
	// From the last to the first, so that Used is idle and not Limit or Remaining.
	rest := maps.Clone(resp.Header)
	for _, name := range slices.Backward(e.like) {
		values := rest[name]
		delete(rest, name)
		if reflect.DeepEqual(e.got, read(rest, now)) {
			e.idle = append(e.idle, name)
		} else {
			rest[name] = values
		}
	}
	slices.Sort(e.idle)
	if e.got.Dialect == parse.NoDialect {
		e.row = e.suggestRow(resp.Header)
	}
}

// suggestRow returns a row for the vendor table that reads the fields in e.like, according
// to the words in their names. It returns nil if that row finds no quota, either.
func (e *explanation) suggestRow(h http.Header) *parse.Vendor {
	row := &parse.Vendor{Name: "this API"}
	if e.host != "" {
		row.Hosts = []string{e.host}
	}
	for _, name := range e.like {
		switch lower := strings.ToLower(name); {
		case strings.Contains(lower, "beta"): // advertised but not enforced: see parse.Vendors
		case strings.Contains(lower, "remaining"):
			row.Remaining = append(row.Remaining, name)
		case strings.Contains(lower, "reset"):
			row.Reset = append(row.Reset, name)
		case !strings.Contains(lower, "retry"):
			row.Limit = append(row.Limit, name)
		}
	}
	reader := parse.Reader{Vendors: []parse.Vendor{*row}}
	if reader.Read(e.host, e.status, h, time.Now()).Dialect == parse.NoDialect {
		return nil
	}
	return row
}

// looksLikeQuota reports whether the name of a field suggests a quota.
func looksLikeQuota(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"limit", "quota", "remaining", "retry"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
