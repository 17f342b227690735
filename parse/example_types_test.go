package parse_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
)

// All that a response says, in the newest of the forms that it uses.
func ExampleReading() {
	var r parse.Reader
	got := r.Read("api.example", http.StatusOK, http.Header{
		"Ratelimit":         {`"api";r=9;t=30`},
		"X-Ratelimit-Limit": {"100"},
	}, time.Now())
	fmt.Println(got.Dialect, got.Limits[0].Available, got.Limits[0].Window, got.Advised)
	// Output:
	// draft -08 9 30s false
}

// The form of the fields that were read.
func ExampleDialect() {
	var r parse.Reader
	for _, h := range []http.Header{
		{"Ratelimit": {`"api";a=9;w=30`}},
		{"Ratelimit": {"limit=10, remaining=9, reset=30"}},
		{"Date": {"Mon, 05 Aug 2019 09:27:00 GMT"}},
	} {
		fmt.Println(r.Read("api.example", http.StatusOK, h, time.Now()).Dialect)
	}
	// Output:
	// editor's draft
	// draft -07
	// none
}

// A policy and a limit: what is allowed, and what is left of it.
func ExamplePolicy() {
	h := http.Header{"Ratelimit-Policy": {`"api";q=100;w=60`}, "Ratelimit": {`"api";a=7;w=12`}}
	policies, _ := parse.Policies(h, parse.Caps{})
	limits, _ := parse.Limits(h, parse.Caps{})
	fmt.Printf("%d of %d %s left for %v of %v\n", limits[0].Available, policies[0].Quota, policies[0].Unit, limits[0].Window, policies[0].Window)
	// Output:
	// 7 of 100 requests left for 12s of 1m0s
}

// What a limit does not say is parse.None.
func ExampleLimit() {
	limits, _ := parse.Limits(http.Header{"Ratelimit": {`"api";a=7`}}, parse.Caps{})
	fmt.Println(limits[0].Available, limits[0].Window == parse.None)
	// Output:
	// 7 true
}

// How a server partitions a quota: by user, and only requests with the method POST.
func ExampleDeclaration() {
	declared, _ := parse.Declarations(http.Header{"Ratelimit-Partition": {`"writes";user_id;method=POST`}}, parse.Caps{})
	for _, d := range declared[0].Dimensions {
		fmt.Printf("%s: %s varies: %v, literal: %q\n", declared[0].Policy, d.Name, d.Varies, d.Literal)
	}
	// Output:
	// writes: method varies: false, literal: "POST"
	// writes: user_id varies: true, literal: ""
}

// What each parameter of a declaration means.
func ExampleDimension() {
	declared, _ := parse.Declarations(http.Header{"Ratelimit-Partition": {`"writes";method=POST;tenant=?0;user_id`}}, parse.Caps{})
	for _, d := range declared[0].Dimensions {
		switch {
		case d.Varies:
			fmt.Println(d.Name, "varies")
		case d.IsLiteral:
			fmt.Println(d.Name, "is", d.Literal)
		default:
			fmt.Println(d.Name, "was not understood")
		}
	}
	// Output:
	// method is POST
	// tenant was not understood
	// user_id varies
}

// An API that refuses with a 400, and the code in a field.
func ExampleRefusal() {
	r := parse.Reader{Vendors: []parse.Vendor{{
		Name: "example", Hosts: []string{"api.example"},
		Refusals: []parse.Refusal{{Status: http.StatusBadRequest, Field: "X-Error", Text: "throttled", Wait: 5 * time.Second}},
	}}}
	for _, code := range []string{"throttled", "malformed"} {
		signs := r.Refusals("api.example", http.StatusBadRequest, http.Header{"X-Error": {code}})
		fmt.Println(code, len(signs) > 0)
	}
	// Output:
	// throttled true
	// malformed false
}

// A key may identify a person, so it prints redacted.
func ExampleKey() {
	limits, _ := parse.Limits(http.Header{"Ratelimit": {`"api";a=7;pk=:YWxpY2U=:`}}, parse.Caps{})
	key := limits[0].Key
	fmt.Println(key, string(key) == "alice", key == parse.Key("alice"))
	// Output:
	// pk[5 bytes] true true
}
