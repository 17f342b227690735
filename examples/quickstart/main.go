// Quickstart shows what a transport.Shaper changes for a client of an API with quotas.
// It does the same work with two clients at the same time, each with its own server on
// 127.0.0.1. One client retries refused requests, the other does the same but has a
// Shaper. Then it draws what happened.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -page localhost:8080   # and a page that shows what the Shaper does
//
// The API grants each user 40 requests per 2 seconds. Alice makes 200 requests as soon
// as possible, Bob makes one now and then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/partition"
	quotas "github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/inspect"
	"github.com/headway-go/headway/transport/transporttest"
)

const (
	quota    = 40 // requests per window and user
	window   = 2 * time.Second
	exchange = 60 * time.Millisecond // minimum time from a request to its response

	// All of Alice's workers start before the quota is known. There are fewer of
	// them than the quota, so the first wave does not exceed it.
	aliceWorkers  = 20
	aliceRequests = 200

	bobWorkers  = 2
	bobRequests = 24
	bobPause    = 650 * time.Millisecond // between two requests of one worker

	timeout = 12 * time.Second // of the work; the ideal is about 8 seconds
)

// ideal is the time that a client takes which knows when each window starts. Alice needs
// 200/40 = 5 windows, of which the first starts with her first request. Four windows
// pass; in the fifth, 20 workers make 40 requests in two exchanges. Bob is done before.
const ideal = (aliceRequests/quota-1)*window + quota/aliceWorkers*exchange

var page = flag.String("page", "", "serve a page that shows what the Shaper does at this address, for a minute")

func main() {
	flag.Parse()
	inspector := &inspect.Handler{Accounts: new(quotas.Accounts)}
	if *page != "" {
		listener, err := net.Listen("tcp", *page)
		if err != nil {
			fmt.Fprintln(os.Stderr, "quickstart:", err)
			os.Exit(1)
		}
		go func() { _ = http.Serve(listener, inspector) }()
		fmt.Printf("The page is at http://%s/ for a minute.\n\n", listener.Addr())
		defer time.Sleep(time.Minute - ideal)
	}
	fmt.Printf("The same work with two clients at the same time; about %d seconds ...\n\n",
		int(ideal.Seconds()))

	plain, shaped, err := compare(inspector)
	if err == nil {
		writeReport(os.Stdout, plain, shaped)
		err = check(shaped)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// compare does the work with both clients. The only difference is the Shaper.
func compare(inspector *inspect.Handler) (plain, shaped result, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()

	var wg sync.WaitGroup
	wg.Go(func() {
		plain = run(ctx, "retries", func(base http.RoundTripper) http.RoundTripper {
			return base
		})
	})
	wg.Go(func() {
		shaped = run(ctx, "Shaper", func(base http.RoundTripper) http.RoundTripper {
			return &transport.Shaper{Base: base, Accounts: inspector.Accounts, Trace: inspector.Trace()}
		})
	})
	wg.Wait()
	return plain, shaped, errors.Join(plain.err, shaped.err)
}

// A result is the result of the work with one client.
type result struct {
	client    string
	counts    transporttest.Counts // by the server
	recording *recorder            // below the Shaper
	taken     time.Duration
	waits     []time.Duration // for each of Bob's responses
	err       error
}

// run starts a server and does the work with a new client.
func run(ctx context.Context, name string, wrap func(base http.RoundTripper) http.RoundTripper) result {
	api := &transporttest.API{Policies: []transporttest.Policy{{
		Name:        "api",
		Quota:       quota,
		Window:      window,
		PartitionBy: []string{"user_id"}, // the API reads it from X-User
	}}}
	server := httptest.NewServer(distant(api))
	defer server.Close()

	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = aliceWorkers + bobWorkers // with the default, most workers would dial for each request
	defer base.CloseIdleConnections()

	recording := &recorder{base: base, began: time.Now()}
	client := &http.Client{Transport: wrap(recording)}
	waits, err := work(ctx, client, server.URL)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return result{
		client:    name,
		counts:    api.Counts(),
		recording: recording,
		taken:     time.Since(recording.began),
		waits:     waits,
		err:       err,
	}
}

// distant adds latency to the API, because the network of a single machine has none.
func distant(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(exchange / 2)
		api.ServeHTTP(w, r)
		time.Sleep(exchange / 2) // the response leaves when the handler returns
	})
}

// work makes the requests of Alice and Bob. It returns how long Bob waited for each
// response. The first error ends it.
func work(ctx context.Context, client *http.Client, url string) (waits []time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup

	// Alice's workers make their requests as soon as possible.
	var begun atomic.Int64
	for range aliceWorkers {
		wg.Go(func() {
			for begun.Add(1) <= aliceRequests {
				if err := get(ctx, client, url+"/reports", "alice"); err != nil {
					cancel(err)
					return
				}
			}
		})
	}

	// Bob's workers have a timetable. A wait counts from the time that is due, so that
	// requests which start late because of a long wait count as late, too.
	waits = make([]time.Duration, bobRequests)
	began := time.Now()
	for worker := range bobWorkers {
		wg.Go(func() {
			for i := worker; i < bobRequests; i += bobWorkers {
				due := began.Add(time.Duration(i) * bobPause / bobWorkers)
				if err := sleep(ctx, time.Until(due)); err != nil {
					return // the cause of ctx has the error
				}
				if err := get(ctx, client, url+"/messages", "bob"); err != nil {
					cancel(err)
					return
				}
				waits[i] = time.Since(due)
			}
		})
	}
	wg.Wait()
	return waits, context.Cause(ctx)
}

// get gets url for a user, and retries until the request is not refused with 429.
func get(ctx context.Context, client *http.Client, url, user string) error {
	// The user for the Shaper. The client without a Shaper ignores it.
	ctx = partition.WithUserID(ctx, user)
	for attempt := 0; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("X-User", user) // the user for the API
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		switch {
		case err != nil:
			return err
		case resp.StatusCode == http.StatusOK:
			return nil
		case resp.StatusCode != http.StatusTooManyRequests:
			return fmt.Errorf("unexpected status: %s", resp.Status)
		}
		if err := sleep(ctx, retryIn(resp.Header, attempt)); err != nil {
			return err
		}
	}
}

// retryIn returns how long most clients wait after a refusal: Retry-After, a day at most, or,
// without that, an exponential back-off with jitter.
func retryIn(h http.Header, attempt int) time.Duration {
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, 86400)) * time.Second
	}
	backOff := 100 * time.Millisecond << min(attempt, 5)
	return backOff/2 + rand.N(backOff)
}

// sleep waits for d. If ctx ends first, it returns the cause.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// check returns an error if too many requests were refused with the Shaper.
func check(shaped result) error {
	if shaped.counts.Refused*20 > shaped.counts.Served {
		return errors.New("more than 5 % of the requests were refused despite the Shaper")
	}
	return nil
}
