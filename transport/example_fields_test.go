package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// answering returns a server that answers every request with the same fields.
func answering(fields ...string) http.RoundTripper {
	return &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(fields); i += 2 {
			w.Header().Set(fields[i], fields[i+1])
		}
	})}
}

// ask gets a URL and prints the result.
func ask(client *http.Client, url string) {
	resp, err := client.Get(url)
	var rejected *transport.RejectedError
	switch {
	case errors.As(err, &rejected):
		fmt.Println("refused:", rejected.Reason)
	case err != nil:
		fmt.Println("failed:", err)
	default:
		resp.Body.Close()
		fmt.Println("sent")
	}
}

// To add a Shaper to an existing client, wrap its Transport.
func ExampleShaper_base() {
	jar, _ := cookiejar.New(nil)
	client := &http.Client{Jar: jar, Timeout: time.Minute, Transport: hourly(1)}

	client.Transport = &transport.Shaper{Base: client.Transport} // Transport may be nil

	fetch(context.Background(), client, "alice")
	fetch(context.Background(), client, "alice")
	// Output:
	// alice is served: 200 OK
	// alice is refused: deadline
}

// MaxQueue bounds how many requests wait in one line. The next is refused.
func ExampleShaper_maxQueue() {
	one := quota.Concurrency(1)
	client := &http.Client{Transport: &transport.Shaper{
		Base:     answering(),
		Limits:   func(*http.Request) quota.Limiter { return one },
		MaxQueue: 1,
	}}
	elsewhere, _ := one.TryAcquire(1)
	var waiting sync.WaitGroup
	waiting.Go(func() { ask(client, "http://api.example/first") })
	for one.Stats().Queued == 0 {
		time.Sleep(time.Millisecond)
	}
	ask(client, "http://api.example/second")
	elsewhere.Release()
	waiting.Wait()
	// Output:
	// refused: queue full
	// sent
}

// A server counts some requests together and does not declare which: it only sends a
// partition key. The Shaper uses the key for all requests of the same kind. Like
// returns the kind.
func ExampleShaper_like() {
	server := &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/search") {
			w.Header().Set("RateLimit", `"api";a=0;w=3600;pk=:c2VhcmNo:`)
		} else {
			w.Header().Set("RateLimit", `"api";a=99;w=3600;pk=:Y29yZQ==:`)
		}
	})}
	client := &http.Client{Transport: &transport.Shaper{
		Base: server,
		// By default, all of /v1 would be one kind: the method and the first segment.
		Like: func(r *http.Request) string { return strings.Split(r.URL.Path, "/")[2] },
	}}
	ask(client, "http://api.example/v1/search/cats")
	ask(client, "http://api.example/v1/users/1")
	ask(client, "http://api.example/v1/users/2")
	ask(client, "http://api.example/v1/search/dogs")
	// Output:
	// sent
	// sent
	// sent
	// refused: max delay
}

// A request for many items costs as many units, which this server does not say.
func ExampleShaper_cost() {
	items := func(r *http.Request) int64 {
		n, _ := strconv.ParseInt(r.Header.Get("X-Items"), 10, 64)
		return n
	}
	api := &transporttest.API{
		Policies: []transporttest.Policy{{Name: "items", Quota: 100, Window: time.Hour}},
		Dialect:  parse.Draft08,
		Cost:     items,
	}
	shaper := &transport.Shaper{
		Base: &transporttest.Transport{Handler: api},
		Cost: func(r *http.Request, p quota.Policy) int64 {
			if p.Name == "items" {
				return items(r)
			}
			return 1
		},
	}
	for _, n := range []string{"60", "60", "40"} {
		req, _ := http.NewRequest(http.MethodGet, "http://api.example/items", nil)
		req.Header.Set("X-Items", n)
		_, err := shaper.RoundTrip(req)
		fmt.Println(n, errors.Is(err, transport.ErrRejected))
	}
	fmt.Println("refused by the server:", api.Counts().Refused)
	// Output:
	// 60 false
	// 60 true
	// 40 false
	// refused by the server: 0
}

// A cache marks its responses with a field of its own. Nothing is learned from them.
func ExampleShaper_cached() {
	client := &http.Client{Transport: &transport.Shaper{
		Base:   answering("X-Cache", "HIT from edge-7", "RateLimit", `"api";a=0;w=3600`),
		Cached: func(r *http.Response) bool { return strings.HasPrefix(r.Header.Get("X-Cache"), "HIT") },
	}}
	ask(client, "http://api.example/page")
	ask(client, "http://api.example/page")
	// Output:
	// sent
	// sent
}

// Values above Caps are ignored: here, a longer Retry-After.
func ExampleShaper_caps() {
	client := &http.Client{Transport: &transport.Shaper{
		Base: answering("RateLimit", `"api";a=9;w=60`, "Retry-After", "86400"),
		Caps: parse.Caps{RetryAfter: time.Hour},
		Trace: &transport.Trace{Ignored: func(i transport.IgnoredInfo) {
			fmt.Println("ignored:", i.Ignored)
		}},
	}}
	ask(client, "http://api.example/page")
	ask(client, "http://api.example/page")
	// Output:
	// ignored: parse: above a safety cap (Retry-After, item 0)
	// sent
	// ignored: parse: above a safety cap (Retry-After, item 0)
	// sent
}

// A row in Vendors says how to read the fields of an API.
func ExampleShaper_vendors() {
	client := &http.Client{Transport: &transport.Shaper{
		Base: answering("Acme-Left", "0", "Acme-Renews-In", "3600"),
		Vendors: []parse.Vendor{{
			Name:      "Acme",
			Remaining: []string{"Acme-Left"},
			Reset:     []string{"Acme-Renews-In"},
			ResetIn:   time.Second,
		}},
	}}
	ask(client, "http://api.acme.example/page")
	ask(client, "http://api.acme.example/page")
	// Output:
	// sent
	// refused: max delay
}

// Two Shapers share what they know of servers: one that never waits and one that does.
func ExampleShaper_accounts() {
	var known quota.Accounts
	server := answering("RateLimit", `"api";a=0;w=3600`)
	patient := &http.Client{Transport: &transport.Shaper{Base: server, Accounts: &known}}
	hurried := &http.Client{Transport: &transport.Shaper{Base: server, Accounts: &known, MaxDelay: transport.NoDelay}}
	ask(patient, "http://api.example/page")
	ask(hurried, "http://api.example/page")
	// Output:
	// sent
	// refused: quota exhausted
}

// With a Trace of its own, a request can tell why it waited.
func ExampleWithTrace() {
	client := &http.Client{Transport: &transport.Shaper{Base: hourly(1)}}
	fetch(context.Background(), client, "alice")
	ctx := transport.WithTrace(context.Background(), &transport.Trace{
		Rejected: func(i transport.RejectedInfo) { fmt.Println("not sent:", errors.Is(i.Err, transport.ErrRejected)) },
	})
	fetch(ctx, client, "alice")
	// Output:
	// alice is served: 200 OK
	// not sent: true
	// alice is refused: max delay
}

// A request with WithBypass is sent even if the quota is used up, and is counted.
func ExampleWithBypass() {
	client := &http.Client{Transport: &transport.Shaper{Base: hourly(1)}}
	fetch(context.Background(), client, "alice")
	fetch(transport.WithBypass(context.Background()), client, "alice")
	// Output:
	// alice is served: 200 OK
	// alice is served: 429 Too Many Requests
}

// The hooks Ignored and Mispredicted report malformed fields and wrong predictions.
func ExampleTrace_ignored() {
	client := &http.Client{Transport: &transport.Shaper{
		Base: answering(
			"RateLimit", `"api";a=9;w=60;pk=:ZXZlcnlib2R5:, "odd";a=-1`,
			"RateLimit-Partition", `"api";method`),
		Trace: &transport.Trace{
			Ignored: func(i transport.IgnoredInfo) { fmt.Println(i.Field, i.Item, i.Param, i.Err) },
			Mispredicted: func(i transport.MispredictedInfo) {
				fmt.Println(i.Policy, "has another key than predicted:", i.Predicted, i.Actual)
			},
		},
	}}
	ask(client, "http://api.example/page")
	// Output:
	// api has another key than predicted: pk[3 bytes] pk[9 bytes]
	// RateLimit 1 a parse: value out of range
	// sent
}

// A client that is the only user of its quota can use Plain. Its line may be longer
// than the default.
func ExampleShaper_strategy() {
	shaper := &transport.Shaper{
		Base:     answering("RateLimit", `"api";a=1;w=3600`),
		MaxDelay: transport.NoDelay,
		MaxQueue: 10 * transport.DefaultMaxQueue,
		Accounts: &quota.Accounts{Strategy: quota.Plain},
	}
	client := &http.Client{Transport: shaper}
	ask(client, "http://api.example/a")
	ask(client, "http://api.example/b")
	// Output:
	// sent
	// sent
}

// A partition key prints without its bytes, which may identify a user.
func ExampleRejectedError_partition() {
	client := &http.Client{Transport: &transport.Shaper{
		Base:     answering("RateLimit", `"user";a=0;w=3600;pk=:YWxpY2U=:`, "RateLimit-Partition", `"user";user_id`),
		MaxDelay: transport.NoDelay,
	}}
	for range 2 {
		ctx := partition.WithUserID(context.Background(), "alice")
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example", nil)
		resp, err := client.Do(req)
		var rejected *transport.RejectedError
		if errors.As(err, &rejected) {
			fmt.Println(rejected.Reason, rejected.Policy, rejected.Partition, len(string(rejected.Partition)))
			continue
		}
		resp.Body.Close()
	}
	// Output: quota exhausted user pk[5 bytes] 5
}

// budget translates what an API says in a form of its own.
type budget struct{ base http.RoundTripper }

func (b budget) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	var says struct{ Left, Of, Ms int }
	if json.Unmarshal([]byte(resp.Header.Get("X-Budget")), &says) == nil && says.Of > 0 {
		resp.Header.Set("RateLimit-Policy", fmt.Sprintf(`"budget";q=%d`, says.Of))
		resp.Header.Set("RateLimit", fmt.Sprintf(`"budget";a=%d;w=%d`, says.Left, (says.Ms+999)/1000))
	}
	return resp, nil
}

// What no row of Vendors can describe is translated below the Shaper.
func ExampleShaper_base_translates() {
	server := answering("X-Budget", `{"left":0,"of":5,"ms":600000}`)

	client := &http.Client{Transport: &transport.Shaper{Base: budget{server}}}

	ask(client, "http://api.example/")
	ask(client, "http://api.example/")
	// Output:
	// sent
	// refused: max delay
}
