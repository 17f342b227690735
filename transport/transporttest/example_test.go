package transporttest_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

// countPages is the client under test: it gets pages until one is refused.
func countPages(client *http.Client, url string) (pages int, err error) {
	for {
		resp, err := client.Get(fmt.Sprintf("%s/pages/%d", url, pages+1))
		if err != nil {
			return pages, err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return pages, nil
		}
		pages++
	}
}

// A test of a client against a rate limit, without a network.
func Example() {
	api := &transporttest.API{Policies: []transporttest.Policy{
		{Name: "hourly", Quota: 3, Window: time.Hour},
	}}
	client := &http.Client{Transport: &transporttest.Transport{Handler: api}}

	pages, err := countPages(client, "http://api.example")
	fmt.Println(pages, err)
	fmt.Printf("%+v\n", api.Counts())
	// Output:
	// 3 <nil>
	// {Served:3 Refused:1}
}

// An API is an http.Handler, so any server can serve it.
func ExampleAPI() {
	api := &transporttest.API{
		Policies: []transporttest.Policy{{Name: "hourly", Quota: 1, Window: time.Hour}},
		Status:   http.StatusForbidden,
		Problem:  true,
	}
	server := httptest.NewServer(api)
	defer server.Close()

	for range 2 {
		resp, err := http.Get(server.URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Printf("%s\n%s\n", resp.Status, body)
	}
	// Output:
	// 200 OK
	// served
	//
	// 403 Forbidden
	// {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":403,"violated-policies":["hourly"]}
}

// Decide takes the time as an argument, so hours can be tested without waiting.
func ExampleAPI_Decide() {
	api := &transporttest.API{Policies: []transporttest.Policy{
		{Name: "burst", Quota: 2, Window: 10 * time.Second, Algorithm: transporttest.TokenBucket},
		{Name: "hourly", Quota: 4, Window: time.Hour, Algorithm: transporttest.AlignedWindow},
	}}
	req := httptest.NewRequest("GET", "http://api.example/", nil)
	now := time.Date(2026, time.April, 20, 12, 59, 30, 0, time.UTC)
	for range 6 {
		d := api.Decide(now, req)
		fmt.Println(now.Format(time.TimeOnly), d.Status, d.Header.Get("RateLimit"), d.Violated)
		now = now.Add(4 * time.Second)
	}
	// Output:
	// 12:59:30 200 "burst";a=1;w=5, "hourly";a=3;w=30 []
	// 12:59:34 200 "burst";a=0;w=1, "hourly";a=2;w=26 []
	// 12:59:38 200 "burst";a=0;w=2, "hourly";a=1;w=22 []
	// 12:59:42 200 "burst";a=0;w=3, "hourly";a=0;w=18 []
	// 12:59:46 429 "burst";a=1;w=4, "hourly";a=0;w=14 [hourly]
	// 12:59:50 429 "burst";a=2, "hourly";a=0;w=10 [hourly]
}

// Each user has a quota per method. All users together have one for POST.
func ExamplePolicy_partitionBy() {
	api := &transporttest.API{Policies: []transporttest.Policy{
		{Name: "api", Quota: 100, Window: time.Minute, PartitionBy: []string{"user_id", "method"}},
		{Name: "writes", Quota: 10, Window: time.Minute, PartitionBy: []string{"method=POST"}},
	}}
	for _, method := range []string{"GET", "POST"} {
		req := httptest.NewRequest(method, "http://api.example/", nil)
		req.SetBasicAuth("alice", "secret")
		d := api.Decide(time.Now(), req)
		fmt.Println("RateLimit:", d.Header.Get("RateLimit"))
		fmt.Println("RateLimit-Partition:", d.Header.Get("RateLimit-Partition"))
	}
	// Output:
	// RateLimit: "api";a=99;w=60;pk=:R0VUH2FsaWNl:
	// RateLimit-Partition: "api";user_id;method
	// RateLimit: "api";a=99;w=60;pk=:UE9TVB9hbGljZQ==:, "writes";a=9;w=60;pk=:UE9TVA==:
	// RateLimit-Partition: "api";user_id;method, "writes";method=POST
}

// An API can send the fields of older drafts, round down, or send only Retry-After.
func ExampleAPI_dialect() {
	policies := []transporttest.Policy{{Name: "api", Quota: 1, Window: 10 * time.Second}}
	begin := time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC)
	for _, api := range []*transporttest.API{
		{Policies: policies},
		{Policies: policies, Dialect: parse.Draft08},
		{Policies: policies, Rounding: math.Floor},
		{Policies: policies, OmitLimits: true, OmitPolicies: true},
	} {
		req := httptest.NewRequest("GET", "http://api.example/", nil)
		api.Decide(begin, req)
		d := api.Decide(begin.Add(2500*time.Millisecond), req)
		fmt.Printf("%d, Retry-After: %s, RateLimit: %s\n", d.Status, d.Header.Get("Retry-After"), d.Header.Get("RateLimit"))
	}
	// Output:
	// 429, Retry-After: 8, RateLimit: "api";a=0;w=8
	// 429, Retry-After: 8, RateLimit: "api";r=0;t=8
	// 429, Retry-After: 7, RateLimit: "api";a=0;w=7
	// 429, Retry-After: 8, RateLimit:
}

// The test defines the cost and the user of a request.
func ExampleAPI_cost() {
	api := &transporttest.API{
		Policies: []transporttest.Policy{{Name: "points", Quota: 100, Window: time.Minute, PartitionBy: []string{"user_id"}}},
		Cost:     func(r *http.Request) int64 { return int64(len(r.URL.Path)) },
		User:     func(r *http.Request) string { return r.URL.Query().Get("user") },
	}
	d := api.Decide(time.Now(), httptest.NewRequest("GET", "http://api.example/123456789?user=alice", nil))
	fmt.Println(d.Header.Get("RateLimit"))
	fmt.Printf("%+v %+v\n", api.Counts("alice"), api.Counts("bob"))
	// Output:
	// "points";a=90;w=60;pk=:YWxpY2U=:;c=10
	// {Served:1 Refused:0} {Served:0 Refused:0}
}

// A Transport calls a Handler in process, with simulated latency. In a testing/synctest
// bubble the latency takes no real time.
func ExampleTransport() {
	client := &http.Client{Transport: &transporttest.Transport{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s for %s", r.Method, r.RequestURI, r.Host)
		}),
		Latency: func() time.Duration { return 10 * time.Millisecond },
	}}
	began := time.Now()
	resp, err := client.Get("https://api.example/items?page=2")
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status, time.Since(began) >= 10*time.Millisecond)
	fmt.Println(string(body))
	// Output:
	// 200 OK true
	// GET /items?page=2 for api.example
}

// Retry-After is a number of seconds, a date, or omitted.
func ExampleAPI_retryAfter() {
	policies := []transporttest.Policy{{Name: "api", Quota: 1, Window: time.Minute}}
	for _, api := range []*transporttest.API{
		{Policies: policies},
		{Policies: policies, RetryAfterDate: true},
		{Policies: policies, OmitRetryAfter: true},
	} {
		now := time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC)
		req := httptest.NewRequest("GET", "http://api.example/", nil)
		api.Decide(now, req)
		fmt.Printf("%q\n", api.Decide(now, req).Header.Values("Retry-After"))
	}
	// Output:
	// ["60"]
	// ["Mon, 20 Apr 2026 12:01:00 GMT"]
	// []
}

// A strict server: it grants one request per ten seconds, with bursts of three, and
// blocks a client for a minute after each refusal.
func ExamplePolicy_penalty() {
	api := &transporttest.API{Policies: []transporttest.Policy{{
		Name: "api", Quota: 1, Window: 10 * time.Second, Burst: 3, Algorithm: transporttest.GCRA,
		Block: time.Minute,
	}}}
	req := httptest.NewRequest("GET", "http://api.example/", nil)
	now := time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC)
	for _, wait := range []time.Duration{0, 0, 0, 0, 30 * time.Second, 30 * time.Second} {
		now = now.Add(wait)
		d := api.Decide(now, req)
		fmt.Printf("%d %s, Retry-After: %q\n", d.Status, d.Header.Get("RateLimit"), d.Header.Get("Retry-After"))
	}
	// Output:
	// 200 "api";a=2;w=10, Retry-After: ""
	// 200 "api";a=1;w=20, Retry-After: ""
	// 200 "api";a=0;w=30, Retry-After: ""
	// 429 "api";a=0;w=60, Retry-After: "60"
	// 429 "api";a=0;w=60, Retry-After: "60"
	// 429 "api";a=0;w=60, Retry-After: "60"
}

// Under a limit on concurrent requests, a served request counts until Done.
func ExampleDecision_Done() {
	api := &transporttest.API{Policies: []transporttest.Policy{
		{Name: "slots", Quota: 1, Algorithm: transporttest.Concurrency},
	}}
	req := httptest.NewRequest("GET", "http://api.example/", nil)
	now := time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC)
	first := api.Decide(now, req)
	second := api.Decide(now, req)
	first.Done()
	third := api.Decide(now, req)
	fmt.Println(first.Served, second.Served, third.Served)
	// Output: true false true
}

// A server with a fast clock that always advertises an exhausted quota.
func ExampleAPI_misstate() {
	api := &transporttest.API{
		Policies: []transporttest.Policy{{Name: "api", Quota: 100, Window: time.Minute}},
		Dialect:  parse.VendorFields,
		Skew:     90 * time.Second,
		Misstate: func(_ string, _ int64, window time.Duration) (int64, time.Duration) { return 0, window },
	}
	d := api.Decide(time.Date(2026, time.April, 20, 12, 0, 0, 0, time.UTC), httptest.NewRequest("GET", "http://api.example/", nil))
	fmt.Println(d.Status, d.Header.Get("Date"))
	fmt.Println(d.Header.Get("X-RateLimit-Remaining"))
	// Output:
	// 200 Mon, 20 Apr 2026 12:01:30 GMT
	// 0
}
