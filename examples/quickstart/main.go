// Quickstart shows what a transport.Shaper changes for a client of an API with
// quotas. It does the same work twice at the same time, each against a server
// of its own on 127.0.0.1: through an http.Client that retries what is refused,
// and through the same client with a Shaper. Then it draws what happened.
//
//	go run ./examples/quickstart
//
// The API grants each user 40 requests per 2 seconds. Alice wants 200 as soon
// as possible, bob one now and then.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const (
	quota    = 40 // requests in a window, for each user
	window   = 2 * time.Second
	exchange = 60 * time.Millisecond // from a request to its answer, at least

	// All of alice's workers begin before anything is known of the quota. As
	// they are fewer than it, even that first wave stays within it.
	aliceWorkers  = 20
	aliceRequests = 200

	bobWorkers  = 2
	bobRequests = 24
	bobPause    = 650 * time.Millisecond // between two requests of one worker

	// A run longer than this has failed.
	timeout = 12 * time.Second
)

// ideal is how long a client takes that knows when each window begins. Alice
// needs 200/40 = 5 windows, and the first begins with her first request. The
// client waits for four to pass; in the fifth, 20 workers make 40 requests in
// two exchanges. (What bob wants is over before.)
const ideal = (aliceRequests/quota-1)*window + quota/aliceWorkers*exchange

func main() {
	fmt.Printf("The same work through two clients at the same time; about %d seconds ...\n\n",
		int(ideal.Seconds()))

	plain, shaped, err := compare()
	if err == nil {
		writeReport(os.Stdout, plain, shaped)
		err = check(shaped)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// compare has the work done through both clients. A Shaper in front of what
// sends the requests is all that differs.
func compare() (plain, shaped result, err error) {
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
			return &transport.Shaper{Base: base}
		})
	})
	wg.Wait()
	return plain, shaped, errors.Join(plain.err, shaped.err)
}

// A result is what came of the work through one client.
type result struct {
	client    string
	counts    transporttest.Counts // the server's own
	recording *recorder            // what was on the wire
	taken     time.Duration
	waits     []time.Duration // of bob, for each of his answers
	err       error
}

// run starts a server, has the work done through a client of its own, and says
// what came of it.
func run(ctx context.Context, name string, wrap func(base http.RoundTripper) http.RoundTripper) result {
	api := &transporttest.API{Policies: []transporttest.Policy{{
		Name:        "api",
		Quota:       quota,
		Window:      window,
		PartitionBy: []string{"user_id"}, // which the API reads from X-User
	}}}
	server := httptest.NewServer(distant(api))
	defer server.Close()

	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = aliceWorkers + bobWorkers // else most workers dial for each request
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

// distant puts a network between the client and the API that is slower than
// the one within a machine.
func distant(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(exchange / 2)
		api.ServeHTTP(w, r)
		time.Sleep(exchange / 2) // what was written leaves after this
	})
}

// work does what alice and bob want, and returns how long bob waited for each
// answer. The first error ends it.
func work(ctx context.Context, client *http.Client, url string) (waits []time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup

	// Alice's workers share a heap of work.
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

	// Bob's keep to a timetable. His waits are counted from it, so that one
	// long wait does not hide that the next requests were late, too.
	waits = make([]time.Duration, bobRequests)
	began := time.Now()
	for worker := range bobWorkers {
		wg.Go(func() {
			for i := worker; i < bobRequests; i += bobWorkers {
				due := began.Add(time.Duration(i) * bobPause / bobWorkers)
				if err := sleep(ctx, time.Until(due)); err != nil {
					return // the cause is known
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

// get gets url on behalf of a user, and tries again for as long as it is
// refused for lack of quota.
func get(ctx context.Context, client *http.Client, url, user string) error {
	// This is how a Shaper knows who asks. The plain client does not mind.
	ctx = partition.WithUserID(ctx, user)
	for attempt := 0; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("X-User", user) // this is how the API does
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

// retryIn is how long most clients wait after a refusal: what Retry-After says,
// else exponentially longer, with jitter.
func retryIn(h http.Header, attempt int) time.Duration {
	if seconds, err := strconv.Atoi(h.Get("Retry-After")); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second
	}
	backOff := 100 * time.Millisecond << min(attempt, 5)
	return backOff/2 + rand.N(backOff)
}

// sleep waits for d, or for the end of ctx.
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

// check says whether the Shaper did what it is for.
func check(shaped result) error {
	if shaped.counts.Refused*20 > shaped.counts.Served {
		return errors.New("more than 5 % were refused in spite of the Shaper")
	}
	return nil
}
