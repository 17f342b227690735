package transporttest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// A bucket of three, which refills by ten a minute.
func ExampleAlgorithm() {
	api := &transporttest.API{Policies: []transporttest.Policy{
		{Name: "api", Quota: 10, Window: time.Minute, Algorithm: transporttest.TokenBucket, Burst: 3},
	}}
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 4 {
		d := api.Decide(now, req)
		fmt.Println(d.Served)
	}
	d := api.Decide(now.Add(6*time.Second), req)
	fmt.Println(d.Served, "six seconds later")
	// Output:
	// true
	// true
	// true
	// false
	// true six seconds later
}

// How many requests of a user were served, and how many refused.
func ExampleCounts() {
	api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: 1, Window: time.Minute}}}
	for range 3 {
		api.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}
	fmt.Printf("%+v\n", api.Counts())
	// Output:
	// {Served:1 Refused:2}
}
