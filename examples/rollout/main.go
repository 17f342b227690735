// Rollout adds a transport.Shaper to a client in two steps, as one does in production:
// first with Mode Observe, in which it changes nothing and reports the requests that it
// would have held; then, if the reports are right, with Mode Shape.
//
//	go run ./examples/rollout
//
// An API on 127.0.0.1 grants 30 requests per 2 seconds. Six workers make 90 requests as
// soon as possible. They retry a refused request after Retry-After.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const (
	allowed  = 30 // requests in a window
	window   = 2 * time.Second
	exchange = 40 * time.Millisecond // from a request to its response
	workers  = 6
	requests = 90
)

func main() {
	for _, step := range []struct {
		title string
		mode  transport.Mode
	}{
		{"Step 1, Mode Observe: all requests leave as before.", transport.Observe},
		{"Step 2, Mode Shape: requests that would be refused wait instead.", transport.Shape},
	} {
		fmt.Println(step.title)
		api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: allowed, Window: window}}}
		server := httptest.NewServer(api)
		base := http.DefaultTransport.(*http.Transport).Clone()
		base.MaxIdleConnsPerHost = workers
		sum, taken, err := run(&transport.Shaper{Base: distant{base}, Mode: step.mode}, server.URL)
		base.CloseIdleConnections()
		server.Close()
		if err != nil {
			fmt.Fprintln(os.Stderr, "rollout:", err)
			os.Exit(1)
		}
		sum.write(os.Stdout, step.mode, taken)
	}
}

// distant is a Base that adds latency, because the network of a single machine has none.
type distant struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d distant) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(exchange / 2)
	resp, err := d.base.RoundTrip(req)
	time.Sleep(exchange / 2)
	return resp, err
}

// run does the work and returns a summary of what the Shaper reported.
func run(shaper *transport.Shaper, url string) (*summary, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	client := &http.Client{Transport: shaper}
	var sum summary
	var begun atomic.Int64
	errs := make([]error, workers)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range workers {
		wg.Go(func() {
			for errs[i] == nil && begun.Add(1) <= requests {
				errs[i] = fetch(ctx, client, url, &sum)
			}
		})
	}
	wg.Wait()
	return &sum, time.Since(began), errors.Join(errs...)
}

// fetch gets url and retries until it is served.
func fetch(ctx context.Context, client *http.Client, url string, sum *summary) error {
	for {
		wait, err := try(ctx, client, url, sum)
		if err != nil || wait == 0 {
			return err
		}
		time.Sleep(wait)
	}
}

// try sends one request and adds it to the summary. wait is 0 if the request was served,
// otherwise the time after which to retry.
func try(ctx context.Context, client *http.Client, url string, sum *summary) (wait time.Duration, err error) {
	var o observation
	req, err := http.NewRequestWithContext(transport.WithTrace(ctx, o.trace()), http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	sum.add(o)
	if resp.StatusCode != http.StatusTooManyRequests {
		return 0, nil
	}
	seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // no more than a day
	return time.Duration(seconds) * time.Second, err
}

// An observation is what the Shaper reported of one request, to compare with the
// server's decision.
type observation struct {
	held    bool          // or would have been held
	waited  time.Duration // in line
	reason  quota.Reason  // why it waited; 0: it did not
	refused bool          // by the server
}

func (o *observation) trace() *transport.Trace {
	return &transport.Trace{
		Held:     func(transport.HeldInfo) { o.held = true },
		Admitted: func(i transport.AdmittedInfo) { o.waited, o.reason = i.Waited, i.Held },
		Answered: func(i transport.AnsweredInfo) { o.refused = i.Refused }, // costs less than Learned
	}
}

// A summary counts observations.
type summary struct {
	mu      sync.Mutex           // guards the fields below
	n       [2][2]int            // by held and refused
	longest time.Duration        // the longest wait in line
	reasons map[quota.Reason]int // of those that waited
}

func (s *summary) add(o observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n[index(o.held)][index(o.refused)]++
	s.longest = max(s.longest, o.waited)
	if o.reason != 0 {
		if s.reasons == nil {
			s.reasons = make(map[quota.Reason]int)
		}
		s.reasons[o.reason]++
	}
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *summary) write(w io.Writer, mode transport.Mode, taken time.Duration) {
	held, sent := "held", "sent at once"
	if mode == transport.Observe {
		held, sent = "would be held", "would be sent at once"
	}
	fmt.Fprintf(w, "\n  by the Shaper  by the server   served   refused\n")
	fmt.Fprintf(w, "  %-26s %8d %9d\n", sent, s.n[0][0], s.n[0][1])
	fmt.Fprintf(w, "  %-26s %8d %9d\n", held, s.n[1][0], s.n[1][1])
	defer fmt.Fprintln(w)
	fmt.Fprintf(w, "\n  %d served in %.1f s; longest wait in line %.1f s\n",
		s.n[0][0]+s.n[1][0], taken.Seconds(), s.longest.Seconds())
	for _, why := range slices.Sorted(maps.Keys(s.reasons)) {
		fmt.Fprintf(w, "  %d waited: %v\n", s.reasons[why], why)
	}
	if mode == transport.Observe {
		fmt.Fprintf(w, `
  Of %d refusals, the Shaper would have prevented %d. It would also have held
  %d requests that were served, for one exchange: after a window has ended, the
  Shaper sends a single probe, and the others wait for its response.
`, s.n[0][1]+s.n[1][1], s.n[1][1], s.n[1][0])
	}
}
