package parse_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
)

// A server refuses a request, and says what its quotas are.
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
	caps := parse.Caps{} // every cap at its default

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
			fmt.Printf(" in partition %q", l.Key)
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
