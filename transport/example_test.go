package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// hourly returns a server that allows each user a number of requests an hour.
func hourly(requests int64) http.RoundTripper {
	return &transporttest.Transport{Handler: &transporttest.API{Policies: []transporttest.Policy{
		{Name: "hourly", Quota: requests, Window: time.Hour, PartitionBy: []string{"user_id"}},
	}}}
}

// fetch gets a page for a user and prints the result.
func fetch(ctx context.Context, client *http.Client, user string) {
	req, err := http.NewRequestWithContext(partition.WithUserID(ctx, user), http.MethodGet, "http://api.example/page", nil)
	if err != nil {
		panic(err)
	}
	req.Header.Set("X-User", user)
	resp, err := client.Do(req)
	var rejected *transport.RejectedError
	switch {
	case errors.As(err, &rejected):
		fmt.Println(user, "is refused:", rejected.Reason)
	case err != nil:
		fmt.Println(user, "fails:", err)
	default:
		resp.Body.Close()
		fmt.Println(user, "is served:", resp.Status)
	}
}

// The zero Shaper uses http.DefaultTransport. Here the server allows a hundred requests
// an hour, which the client learns from the first response.
func ExampleShaper() {
	api := &transporttest.API{Policies: []transporttest.Policy{
		{Name: "hourly", Quota: 100, Window: time.Hour},
	}}
	client := &http.Client{Transport: &transport.Shaper{
		Base: &transporttest.Transport{Handler: api}, // nil is http.DefaultTransport
	}}
	for range 150 {
		resp, err := client.Get("http://api.example/page")
		if err != nil {
			fmt.Println(errors.Is(err, transport.ErrRejected)) // it would wait for too long
			break
		}
		resp.Body.Close()
	}
	fmt.Printf("%+v\n", api.Counts())
	// Output:
	// true
	// {Served:100 Refused:0}
}

// A request that cannot go in time is refused before it is sent, and the error says
// when to try again.
func ExampleRejectedError() {
	client := &http.Client{Transport: &transport.Shaper{Base: hourly(1)}}
	for range 2 {
		req, _ := http.NewRequest(http.MethodGet, "http://api.example/page", nil)
		resp, err := client.Do(req)
		var rejected *transport.RejectedError
		if errors.As(err, &rejected) {
			fmt.Printf("%s: come back in %v\n", rejected.Policy, rejected.RetryAfter.Round(time.Minute))
			fmt.Println(errors.Is(err, transport.ErrRejected), errors.Is(err, context.DeadlineExceeded))
			return
		}
		resp.Body.Close()
		fmt.Println(resp.Status)
	}
	// Output:
	// 200 OK
	// hourly: come back in 1h0m0s
	// true false
}

// MaxDelay bounds how long a request is held. With NoDelay no request is held.
func ExampleShaper_maxDelay() {
	for _, d := range []time.Duration{time.Minute, transport.NoDelay} {
		client := &http.Client{Transport: &transport.Shaper{Base: hourly(1), MaxDelay: d}}
		fetch(context.Background(), client, "alice")
		fetch(context.Background(), client, "alice")
	}
	// Output:
	// alice is served: 200 OK
	// alice is refused: max delay
	// alice is served: 200 OK
	// alice is refused: quota exhausted
}

// A limit of the client's own applies together with those of the server: here, two
// requests at a time.
func ExampleShaper_limits() {
	two := quota.Concurrency(2)
	var mu sync.Mutex
	var now, most int
	client := &http.Client{Transport: &transport.Shaper{
		Limits: func(*http.Request) quota.Limiter { return two },
		Base: &transporttest.Transport{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(2 * time.Millisecond)
			mu.Lock()
			now--
			mu.Unlock()
		})},
	}}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if resp, err := client.Get("http://api.example/page"); err == nil {
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	fmt.Println("at a time:", most)
	// Output: at a time: 2
}

// A rate.Limiter of golang.org/x/time is a limit, too.
func ExampleShaper_limits_rate() {
	perHour := quota.Rate(rate.NewLimiter(rate.Every(time.Hour), 2))
	client := &http.Client{Transport: &transport.Shaper{
		Base:     hourly(100),
		Limits:   func(*http.Request) quota.Limiter { return perHour },
		MaxDelay: transport.NoDelay,
	}}
	for range 3 {
		fetch(context.Background(), client, "alice")
	}
	// Output:
	// alice is served: 200 OK
	// alice is served: 200 OK
	// alice is refused: own limit
}

// An API partitions its quota by a dimension of its own. With a function that
// computes it, requests of one tenant are kept apart from those of another.
func ExampleShaper_dimensions() {
	server := &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pk := map[string]string{"acme": ":YWNtZQ==:", "zenith": ":emVuaXRo:"}[r.Header.Get("X-Tenant")]
		w.Header().Set("RateLimit", `"api";a=0;w=3600;pk=`+pk)
		w.Header().Set("RateLimit-Partition", `"api";tenant`)
	})}
	client := &http.Client{Transport: &transport.Shaper{
		Base: server,
		Dimensions: partition.Dimensions{"tenant": func(req *http.Request) (string, bool) {
			tenant := req.Header.Get("X-Tenant")
			return tenant, tenant != ""
		}},
	}}
	for _, tenant := range []string{"acme", "zenith", "acme"} {
		req, _ := http.NewRequest(http.MethodGet, "http://api.example/page", nil)
		req.Header.Set("X-Tenant", tenant)
		resp, err := client.Do(req)
		fmt.Println(tenant, errors.Is(err, transport.ErrRejected))
		if err == nil {
			resp.Body.Close()
		}
	}
	// Output:
	// acme false
	// zenith false
	// acme true
}

// If the server names no partition and credentials are added below the Shaper, Scope
// says whose request it is.
func ExampleShaper_scope() {
	server := &transporttest.Transport{Handler: &transporttest.API{Policies: []transporttest.Policy{
		{Name: "hourly", Quota: 1, Window: time.Hour},
	}}}
	client := &http.Client{Transport: &transport.Shaper{
		Base:  server,
		Scope: func(req *http.Request) string { return req.Header.Get("X-User") },
	}}
	fetch(context.Background(), client, "alice")
	fetch(context.Background(), client, "alice")
	fetch(context.Background(), client, "bob") // the server has one quota for both, and refuses
	// Output:
	// alice is served: 200 OK
	// alice is refused: max delay
	// bob is served: 429 Too Many Requests
}

// The hooks of a Trace report what is held, refused and learned.
func ExampleTrace() {
	client := &http.Client{Transport: &transport.Shaper{
		Base: hourly(1),
		Trace: &transport.Trace{
			Learned: func(i transport.LearnedInfo) {
				for _, l := range i.Limits {
					fmt.Printf("%s %v: %d left for %v\n", l.Policy, l.Key, l.Available, l.Window)
				}
			},
			Rejected: func(i transport.RejectedInfo) {
				fmt.Println("rejected after", i.Waited.Round(time.Second))
			},
		},
	}}
	fetch(context.Background(), client, "alice")
	fetch(context.Background(), client, "alice")
	// Output:
	// hourly pk[5 bytes]: 0 left for 1h0m0s
	// alice is served: 200 OK
	// rejected after 0s
	// alice is refused: max delay
}

// Urgent requests wait before others in every line.
func ExampleWithPriority() {
	one := quota.Concurrency(1)
	client := &http.Client{Transport: &transport.Shaper{
		Base: &transporttest.Transport{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			fmt.Println(r.URL.Path)
		})},
		Limits: func(*http.Request) quota.Limiter { return one },
	}}
	running, _ := one.TryAcquire(1) // the permit is in use
	jobs := map[string]int{"/backup": -1, "/page": 0, "/payment": 1}
	var done sync.WaitGroup
	for path, priority := range jobs {
		done.Go(func() {
			ctx := transport.WithPriority(context.Background(), priority)
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example"+path, nil)
			if resp, err := client.Do(req); err == nil {
				resp.Body.Close()
			}
		})
	}
	for one.Stats().Queued < int64(len(jobs)) {
		time.Sleep(time.Millisecond)
	}
	running.Release()
	done.Wait()
	// Output:
	// /payment
	// /page
	// /backup
}

// With WithNoDelay a request is refused instead of held. With WithBypass it is sent even
// if the quota is used up.
func ExampleWithNoDelay() {
	client := &http.Client{Transport: &transport.Shaper{Base: hourly(1), MaxDelay: 24 * time.Hour}}
	fetch(context.Background(), client, "alice")
	fetch(transport.WithNoDelay(context.Background()), client, "alice")
	fetch(transport.WithBypass(context.Background()), client, "alice")
	// Output:
	// alice is served: 200 OK
	// alice is refused: quota exhausted
	// alice is served: 429 Too Many Requests
}

// Check says what would happen to a request, without sending it.
func ExampleShaper_Check() {
	shaper := &transport.Shaper{Base: hourly(1)}
	client := &http.Client{Transport: shaper}
	req, _ := http.NewRequestWithContext(partition.WithUserID(context.Background(), "alice"),
		http.MethodGet, "http://api.example/page", nil)
	fmt.Println("before:", shaper.Check(req).Reason == 0)
	fetch(context.Background(), client, "alice")
	v := shaper.Check(req)
	fmt.Printf("after: %v of %s %v, refused: %v\n", v.Reason, v.Policy, v.Partition, v.Rejected != nil)
	// Output:
	// before: true
	// alice is served: 200 OK
	// after: quota exhausted of hourly pk[5 bytes], refused: true
}

// In Mode Observe a Shaper holds no request, and reports those that it would have held.
func ExampleMode() {
	client := &http.Client{Transport: &transport.Shaper{
		Base: hourly(1),
		Mode: transport.Observe,
		Trace: &transport.Trace{Held: func(i transport.HeldInfo) {
			fmt.Println("would be held by", i.Policy, "for lack of quota:", i.Reason == quota.ReasonExhausted)
		}},
	}}
	fetch(context.Background(), client, "alice")
	fetch(context.Background(), client, "alice")
	// Output:
	// alice is served: 200 OK
	// would be held by hourly for lack of quota: true
	// alice is served: 429 Too Many Requests
}

// A service that calls an API on behalf of its own callers turns a refusal into a
// response with Retry-After.
func ExampleReason() {
	status := func(err error) (int, time.Duration) {
		var rejected *transport.RejectedError
		if !errors.As(err, &rejected) {
			return http.StatusBadGateway, 0
		}
		switch rejected.Reason {
		case quota.ReasonDeadline:
			return http.StatusGatewayTimeout, rejected.RetryAfter
		case quota.ReasonQueueFull, quota.ReasonClosed:
			return http.StatusServiceUnavailable, rejected.RetryAfter
		default: // ReasonExhausted, ReasonMaxDelay and others
			return http.StatusTooManyRequests, rejected.RetryAfter
		}
	}
	client := &http.Client{Transport: &transport.Shaper{Base: hourly(1)}}
	fetch(context.Background(), client, "alice")
	ctx, cancel := context.WithTimeout(partition.WithUserID(context.Background(), "alice"), time.Minute)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example/page", nil)
	_, err := client.Do(req)
	code, retryAfter := status(err)
	fmt.Println(code, retryAfter.Round(time.Minute))
	// Output:
	// alice is served: 200 OK
	// 504 1h0m0s
}

// A policy concerns a kind of requests until a response to it leaves the policy out.
// Like returns the kind; by default it is the method and the first segment of the path.
func ExampleShaper_like_kinds() {
	search := &transporttest.API{Policies: []transporttest.Policy{{Name: "search", Quota: 2, Window: time.Hour}}}
	core := &transporttest.API{Policies: []transporttest.Policy{{Name: "core", Quota: 100, Window: time.Hour}}}
	server := http.NewServeMux()
	server.Handle("/v1/search/", search)
	server.Handle("/v1/", core)

	client := &http.Client{Transport: &transport.Shaper{
		Base:     &transporttest.Transport{Handler: server},
		MaxDelay: transport.NoDelay,
		Like: func(req *http.Request) string { // the segment after the version
			_, path, _ := strings.Cut(req.URL.Path, "/v1/")
			kind, _, _ := strings.Cut(path, "/")
			return kind
		},
	}}
	for _, path := range []string{"search/a", "users/b", "search/c", "search/d", "users/e"} {
		resp, err := client.Get("https://api.example/v1/" + path)
		if err != nil {
			fmt.Println(path, "is held back")
			continue
		}
		resp.Body.Close()
		fmt.Println(path, resp.Status)
	}
	// Output:
	// search/a 200 OK
	// users/b 200 OK
	// search/c 200 OK
	// search/d is held back
	// users/e 200 OK
}
