package transport_test

import (
	"errors"
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

// Which requests waited in line, whether they were sent in the end or not.
func ExampleWaitInfo() {
	note := func(w transport.WaitInfo) { fmt.Println(w.Request.URL.Path, "waited:", w.Held != 0) }
	shaper := &transport.Shaper{Base: hourly(1), Trace: &transport.Trace{
		Admitted: func(i transport.AdmittedInfo) { note(i.WaitInfo) },
		Rejected: func(i transport.RejectedInfo) { note(i.WaitInfo) },
	}}
	client := &http.Client{Transport: shaper}
	page(client)
	page(client)
	// Output:
	// /page waited: false
	// /page waited: false
}

// page gets a page.
func page(client *http.Client) {
	if resp, err := client.Get("http://api.example/page"); err == nil {
		_ = resp.Body.Close()
	}
}

// What became of each request: for a log of one's own.
func ExampleAnsweredInfo() {
	shaper := &transport.Shaper{Base: hourly(1), Trace: &transport.Trace{
		Admitted: func(i transport.AdmittedInfo) {
			fmt.Printf("sent to %s, waited: %v\n", i.Origin, i.Held != 0)
		},
		Answered: func(i transport.AnsweredInfo) {
			fmt.Printf("%d, refused: %v, the first of its origin: %v\n", i.Status, i.Refused, i.First)
		},
		Rejected: func(i transport.RejectedInfo) {
			var rejected *transport.RejectedError
			if errors.As(i.Err, &rejected) {
				fmt.Println("not sent:", rejected.Reason)
			}
		},
	}}
	client := &http.Client{Transport: shaper}
	page(client)
	page(client)
	// Output:
	// sent to http://api.example, waited: false
	// 200, refused: false, the first of its origin: true
	// not sent: max delay
}

// What a response has changed of what is known: here of a quota that it uses up.
func ExampleChangedInfo() {
	shaper := &transport.Shaper{Base: hourly(1), Trace: &transport.Trace{
		Changed: func(i transport.ChangedInfo) { fmt.Println(i.Origin, i.What, i.Name, i.Quota, i.Units) },
	}}
	page(&http.Client{Transport: shaper})
	// Output:
	// http://api.example policy hourly 1 0
	// http://api.example window hourly 1 0
	// http://api.example used up hourly 1 0
}

// A request that got no answer.
func ExampleFailedInfo() {
	shaper := &transport.Shaper{Base: unreachable{}, Trace: &transport.Trace{
		Failed: func(i transport.FailedInfo) { fmt.Println(i.Err, i.Unsent) },
	}}
	page(&http.Client{Transport: shaper})
	// Output:
	// the line is dead false
}

// unreachable does not answer.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("the line is dead")
}

// Part of what every hook is told.
func ExampleRequestInfo() {
	about := func(i transport.RequestInfo) string { return i.Request.Method + " to " + i.Origin }
	shaper := &transport.Shaper{Base: hourly(1), Trace: &transport.Trace{
		Admitted: func(i transport.AdmittedInfo) { fmt.Println(about(i.RequestInfo), "leaves") },
		Rejected: func(i transport.RejectedInfo) { fmt.Println(about(i.RequestInfo), "does not") },
	}}
	client := &http.Client{Transport: shaper}
	page(client)
	page(client)
	// Output:
	// GET to http://api.example leaves
	// GET to http://api.example does not
}
