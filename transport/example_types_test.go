package transport_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/transport"
)

// A worker asks before it takes a job. Within a long window, one request in ten minutes looks.
func ExampleVerdict() {
	shaper := &transport.Shaper{Base: hourly(1)}
	client := &http.Client{Transport: shaper}
	page(client)
	req, _ := http.NewRequest(http.MethodGet, "http://api.example/page", nil)
	v := shaper.Check(req)
	fmt.Println(v.Reason, v.Policy, v.Wait.Round(time.Minute), v.Rejected != nil)
	// Output:
	// quota exhausted hourly 10m0s true
}

// What the server said, one line for each quota.
func ExampleLearnedInfo() {
	shaper := &transport.Shaper{Base: hourly(3), Trace: &transport.Trace{
		Learned: func(i transport.LearnedInfo) {
			for _, l := range i.Limits {
				fmt.Printf("%s: %d left for %v\n", l.Policy, l.Available, l.Window)
			}
		},
	}}
	client := &http.Client{Transport: shaper}
	page(client)
	page(client)
	// Output:
	// hourly: 2 left for 1h0m0s
	// hourly: 1 left for 1h0m0s
}

// A limit is what a response says of one quota. A negative number was not given.
func ExampleLimit() {
	shaper := &transport.Shaper{Base: stub{http.Header{"Ratelimit": {`"daily";a=7`}}}, Trace: &transport.Trace{
		Learned: func(i transport.LearnedInfo) {
			l := i.Limits[0]
			fmt.Println(l.Policy, l.Available, l.Window >= 0, l.Cost >= 0)
		},
	}}
	page(&http.Client{Transport: shaper})
	// Output:
	// daily 7 false false
}

// Requests that are refused, and why.
func ExampleRejectedInfo() {
	shaper := &transport.Shaper{Base: hourly(1), Trace: &transport.Trace{
		Rejected: func(i transport.RejectedInfo) { fmt.Println(i.Request.URL.Path, i.Err != nil) },
	}}
	client := &http.Client{Transport: shaper}
	page(client)
	page(client)
	// Output:
	// /page true
}

// page gets a page.
func page(client *http.Client) {
	if resp, err := client.Get("http://api.example/page"); err == nil {
		_ = resp.Body.Close()
	}
}
