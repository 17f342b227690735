package parse_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
)

// A refusal describes the quotas of a server.
func Example() {
	resp := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{
		"Date":             {"Mon, 05 Aug 2019 09:27:00 GMT"},
		"Retry-After":      {"Mon, 05 Aug 2019 09:27:05 GMT"},
		"Ratelimit-Policy": {`"burst";q=100;w=60, "daily";q=1000;w=86400`},
		"Ratelimit":        {`"burst";a=0;w=5;pk=:R0VUH2FsaWNl:, "daily";a=400`},
	}}
	if parse.Cached(resp.Header) {
		return // what a cache says about quota is not current
	}
	caps := parse.Caps{} // the defaults

	policies, _ := parse.Policies(resp.Header, caps)
	for _, p := range policies {
		fmt.Printf("policy %s: %d %s in %v\n", p.Name, p.Quota, p.Unit, p.Window)
	}
	limits, _ := parse.Limits(resp.Header, caps)
	for _, l := range limits {
		fmt.Printf("limit %s: %d left", l.Policy, l.Available)
		if l.Window != parse.None {
			fmt.Printf(" for %v", l.Window)
		}
		if l.HasKey {
			fmt.Printf(" in partition %q", string(l.Key))
		}
		fmt.Println()
	}
	if wait, ok, _ := parse.RetryAfter(resp.Header, time.Now(), caps); ok {
		fmt.Println("wait", wait)
	}
	// Output:
	// policy burst: 100 requests in 1m0s
	// policy daily: 1000 requests in 24h0m0s
	// limit burst: 0 left for 5s in partition "GET\x1falice"
	// limit daily: 400 left
	// wait 5s
}

// Malformed items and values above a cap are ignored; their neighbours are not.
func ExampleLimits_ignored() {
	h := http.Header{"Ratelimit": {
		`"api";a=0;w=999999999`, // a window of 31 years
		`"site";a=-1, "search";a=9;w=60`,
	}}
	limits, ignored := parse.Limits(h, parse.Caps{})
	for _, l := range limits {
		fmt.Println(l.Policy, l.Available, l.Window != parse.None)
	}
	for _, i := range ignored {
		fmt.Println(i)
	}
	// Output:
	// api 0 false
	// search 9 true
	// parse: above a safety cap (RateLimit, item 0, parameter w)
	// parse: value out of range (RateLimit, item 1, parameter a)
}

// A Reader reads every dialect.
func ExampleReader() {
	var r parse.Reader
	now := time.Date(2026, time.November, 21, 4, 48, 0, 0, time.UTC)
	for _, h := range []http.Header{
		{"Ratelimit": {`"api";a=9;w=30`}},
		{"Ratelimit": {`limit=100, remaining=50, reset=5`}, "Ratelimit-Policy": {"100;w=10"}},
		{"Ratelimit-Limit": {"5"}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"1795236530"}},
		{"X-Ratelimit-Limit-Minute": {"60"}, "X-Ratelimit-Remaining-Minute": {"59"}},
		{"X-Shopify-Shop-Api-Call-Limit": {"32/40"}},
	} {
		got := r.Read("api.example", 200, h, now)
		for _, l := range got.Limits {
			fmt.Printf("%v: %q has %d left", got.Dialect, l.Policy, l.Available)
			if l.Window != parse.None {
				fmt.Printf(" for %v", l.Window)
			}
			fmt.Println()
		}
	}
	// Output:
	// editor's draft: "api" has 9 left for 30s
	// draft -07: "" has 50 left for 5s
	// draft -06: "" has 0 left for 51s
	// vendor fields: "minute" has 59 left
	// vendor fields: "" has 8 left for 500ms
}

// A row describes the fields of an API.
func ExampleVendor() {
	r := parse.Reader{Vendors: []parse.Vendor{{
		Name:      "Acme",
		Limit:     []string{"Acme-*-Quota"},
		Remaining: []string{"Acme-*-Left"},
		Reset:     []string{"Acme-*-Resets-In"},
		ResetIn:   time.Millisecond,
		Units:     map[string]string{"upload": "content-bytes"},
		Partition: []string{"Acme-Project"},
	}}}
	got := r.Read("api.acme.example", 200, http.Header{
		"Acme-Search-Quota":     {"100"},
		"Acme-Search-Left":      {"99"},
		"Acme-Search-Resets-In": {"1500"},
		"Acme-Upload-Quota":     {"1000000"},
		"Acme-Project":          {"atlas"},
	}, time.Now())
	for _, p := range got.Policies {
		fmt.Println(got.Vendor, p.Name, p.Quota, p.Unit, string(p.Key))
	}
	for _, l := range got.Limits {
		fmt.Println(got.Vendor, l.Policy, l.Available, l.Window, string(l.Key))
	}
	// Output:
	// Acme search 100 requests atlas
	// Acme upload 1000000 content-bytes atlas
	// Acme search 99 1.5s atlas
}

// A row with Hosts sets the dialect of a host.
func ExampleVendor_hosts() {
	r := parse.Reader{Vendors: []parse.Vendor{
		{Name: "our GitLab", Hosts: []string{"gitlab.example"}, Dialect: parse.Draft06, ResetUnix: true},
		{Name: "chatty", Hosts: []string{"chatty.example"}, RetryAfterOnRefusals: true},
	}}
	h := http.Header{
		"Date":                {"Sat, 21 Nov 2026 04:48:00 GMT"},
		"Ratelimit-Remaining": {"4"},
		"Ratelimit-Reset":     {"1795236539"},
		"Retry-After":         {"2"},
	}
	fmt.Println(r.Read("gitlab.example", 200, h, time.Now()).Limits[0].Window)
	fmt.Println(r.Read("gitlab.example", 200, h, time.Now()).Advised)
	fmt.Println(r.Read("chatty.example:8443", 200, h, time.Now()).Advised)
	// Output:
	// 1m0s
	// true
	// false
}

// The body of a refusal may name the violated policies.
func ExampleReadBody() {
	body := []byte(`{
		"type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
		"violated-policies": ["daily", "bandwidth"]
	}`)
	h := http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}}
	kind, violated, _ := parse.ReadBody(429, h, body, time.Now(), parse.Caps{})
	fmt.Println(kind, violated)
	kind, _, _ = parse.ReadBody(429, h, body[:80], time.Now(), parse.Caps{})
	fmt.Println(kind == "")
	// Output:
	// quota-exceeded [daily bandwidth]
	// true
}

// Retry-After is a delay, or a date relative to the Date of the response.
func ExampleRetryAfter() {
	for _, value := range []string{"120", "Mon, 05 Aug 2019 09:29:00 GMT", "1564997340", "soon"} {
		h := http.Header{"Date": {"Mon, 05 Aug 2019 09:27:00 GMT"}, "Retry-After": {value}}
		d, ok, ignored := parse.RetryAfter(h, time.Now(), parse.Caps{})
		fmt.Println(d, ok, ignored)
	}
	// Output:
	// 2m0s true []
	// 2m0s true []
	// 2m0s true []
	// 0s false [parse: malformed field value (Retry-After, item 0)]
}

// A declaration names the dimensions that partition a policy's quota.
func ExampleDeclarations() {
	h := http.Header{"Ratelimit-Partition": {`"api";user_id;method=GET, "site"`}}
	declarations, _ := parse.Declarations(h, parse.Caps{})
	for _, d := range declarations {
		fmt.Println(d.Policy, len(d.Dimensions))
		for _, dim := range d.Dimensions {
			fmt.Printf("- %s %v %q\n", dim.Name, dim.Varies, dim.Literal)
		}
	}
	// Output:
	// api 2
	// - method false "GET"
	// - user_id true ""
	// site 0
}

// What a stored response says is not current.
func ExampleCached() {
	for _, h := range []http.Header{
		{"Age": {"12"}},
		{"Cache-Status": {`edge; hit; ttl=30, origin-shield; fwd=miss`}},
		{"X-From-Cache": {"1"}},
		{"Age": {"0"}, "Cache-Status": {"edge; fwd=uri-miss"}},
	} {
		fmt.Println(parse.Cached(h))
	}
	// Output:
	// true
	// true
	// true
	// false
}

// In Caps zero means the default and a negative number means no bound.
func ExampleCaps() {
	h := http.Header{"Ratelimit-Policy": {`"epoch";q=10;w=3155760000`}} // a century
	for _, caps := range []parse.Caps{{}, {Window: -1}} {
		policies, ignored := parse.Policies(h, caps)
		fmt.Println(policies[0].Window.Round(time.Hour), ignored)
	}
	// Output:
	// 0s [parse: above a safety cap (RateLimit-Policy, item 0, parameter w)]
	// 876600h0m0s []
}

// A trusted server may exceed the default caps.
func ExampleCaps_larger() {
	caps := parse.DefaultCaps()
	caps.RetryAfter *= 7
	wait, ok, ignored := parse.RetryAfter(http.Header{"Retry-After": {"259200"}}, time.Now(), caps)
	fmt.Println(wait, ok, ignored)

	// An Ignored has its reason.
	_, ignored = parse.Limits(http.Header{"Ratelimit": {`"api";a=1;w=`}}, caps)
	fmt.Println(ignored[0].Err)
	_, ignored = parse.Declarations(http.Header{"Ratelimit-Partition": {`"api";user_id, "api";method`}}, caps)
	fmt.Println(ignored[0].Err)
	// Output:
	// 72h0m0s true []
	// parse: malformed field value
	// parse: contradicts another item
}

// A row says what fields mean.
func ExampleVendor_fields() {
	r := parse.Reader{Vendors: []parse.Vendor{
		{
			// "X-Calls: 32/40": 32 of 40 calls are in a leaky bucket.
			Name: "Leaky", Sign: "X-Leaky", Summary: []string{"X-Calls"}, Reset: []string{"X-Full-In"},
			ResetIn: time.Second, Refills: true,
		},
		{
			// The used quota in place of the available one. The default window is a day.
			Name: "Used", Limit: []string{"X-Quota"}, Used: []string{"X-Quota-Used"},
			Units: map[string]string{"": "content-bytes"}, Every: map[string]time.Duration{"": 24 * time.Hour}, Window: []string{"X-Quota-Per"},
		},
		{
			// All accounts in one field.
			Name: "Counts", Summary: []string{"X-Left"},
		},
	}}
	for _, h := range []http.Header{
		{"X-Leaky": {"yes"}, "X-Calls": {"32/40"}, "X-Full-In": {"16"}},
		{"X-Quota": {"1000"}, "X-Quota-Used": {"400"}},
		{"X-Quota": {"1000"}, "X-Quota-Used": {"400"}, "X-Quota-Per": {"3600"}},
		{"X-Left": {"read;90,write;9"}},
	} {
		got := r.Read("api.example", 200, h, time.Now())
		for _, p := range got.Policies {
			fmt.Printf("%s: %d %s", got.Vendor, p.Quota, p.Unit)
			if p.Window > 0 {
				fmt.Printf(" in %v", p.Window)
			}
			fmt.Println()
		}
		for _, l := range got.Limits {
			fmt.Printf("%s: %q has %d left", got.Vendor, l.Policy, l.Available)
			if l.Window != parse.None {
				fmt.Printf(", the next in %v", l.Window)
			}
			fmt.Println()
		}
	}
	// Output:
	// Leaky: 40 requests
	// Leaky: "" has 8 left, the next in 500ms
	// Used: 1000 content-bytes in 24h0m0s
	// Used: "" has 600 left
	// Used: 1000 content-bytes in 1h0m0s
	// Used: "" has 600 left
	// Counts: "read" has 90 left
	// Counts: "write" has 9 left
}

// The reason why something was ignored is an error.
func ExampleIgnored() {
	h := http.Header{"Ratelimit-Policy": {`"a";q=-1, "b";w=60, "c";q="ten", "d";q=10;w=99999999999`}}
	policies, ignored := parse.Policies(h, parse.Caps{})
	fmt.Println(len(policies), "read")
	for _, i := range ignored {
		if errors.Is(i.Err, parse.ErrCap) {
			fmt.Println("above a cap:", i.Item, i.Param)
		} else {
			fmt.Println("the server's mistake:", i.Item, i.Param)
		}
	}
	// Output:
	// 1 read
	// the server's mistake: 0 q
	// the server's mistake: 1 q
	// the server's mistake: 2 q
	// above a cap: 3 w
}

// FormatDeclarations writes what a server declares about its partitions.
func ExampleFormatDeclarations() {
	value, err := parse.FormatDeclarations([]parse.Declaration{{
		Policy: "api",
		Dimensions: []parse.Dimension{
			{Name: "method", IsLiteral: true, Literal: "POST"},
			{Name: "user_id", Varies: true},
		},
	}})
	fmt.Println(value, err)
	// Output:
	// "api";method="POST";user_id <nil>
}

// A built-in row can be used for other hosts.
func ExampleVendors() {
	for _, row := range parse.Vendors() {
		if row.Name != "GitHub" {
			continue
		}
		row.Hosts = []string{"github.acme.example"} // GitHub Enterprise Server
		r := parse.Reader{Vendors: []parse.Vendor{row}}
		got := r.Read("github.acme.example", 200, http.Header{
			"X-Ratelimit-Limit":     {"5000"},
			"X-Ratelimit-Remaining": {"4999"},
			"X-Ratelimit-Resource":  {"core"},
		}, time.Now())
		fmt.Println(got.Vendor, got.Limits[0].Available)
	}
	// Output: GitHub 4999
}
