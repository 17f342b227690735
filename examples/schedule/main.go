// Schedule is a worker that calls Shaper.Check before it takes a job. It takes the first
// job that can be done now, sleeps until one can be done, and postpones jobs that cannot
// be done today.
//
//	go run ./examples/schedule
//
// An API on 127.0.0.1 grants each user 5 requests per 2 seconds, and dave 2 per day. Two
// workers have the same jobs in this order: 12 for alice, and 4 each for bob, carol and
// dave. One worker takes them in order, the other one calls Check.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const exchange = 100 * time.Millisecond // from a request to its response

func main() {
	results := make([]result, 2)
	var wg sync.WaitGroup
	for i, next := range []func(*worker) int{inOrder, firstReady} {
		wg.Go(func() {
			server := httptest.NewServer(newAPI())
			defer server.Close()
			results[i] = run(next, http.DefaultTransport, server.URL)
		})
	}
	wg.Wait()
	if err := errors.Join(results[0].err, results[1].err); err != nil {
		fmt.Fprintln(os.Stderr, "schedule:", err)
		os.Exit(1)
	}
	write(os.Stdout, results[0], results[1])
}

func newAPI() *transporttest.API {
	return &transporttest.API{Policies: []transporttest.Policy{
		{Name: "burst", Quota: 5, Window: 2 * time.Second, PartitionBy: []string{"user_id"}},
		{Name: "daily", Quota: 2, Window: 24 * time.Hour, PartitionBy: []string{"user_id=dave"}},
	}}
}

// A worker does jobs one after another. A job is a request.
type worker struct {
	client *http.Client
	shaper *transport.Shaper
	jobs   []*http.Request // not done yet
}

// run runs a worker. next returns the index of the job to do next.
func run(next func(*worker) int, base http.RoundTripper, url string) result {
	shaper := &transport.Shaper{Base: distant{base}}
	w := &worker{client: &http.Client{Transport: shaper}, shaper: shaper, jobs: jobs(url)}
	r := result{began: time.Now()}
	for len(w.jobs) > 0 && r.err == nil {
		i := next(w)
		job := w.jobs[i]
		w.jobs = append(w.jobs[:i], w.jobs[i+1:]...)
		r.done(job, w.do(job))
	}
	return r
}

// inOrder takes the first job, even if it has to wait.
func inOrder(*worker) int { return 0 }

// firstReady takes the first job that can be done now or that the Shaper would refuse.
// If there is none, it sleeps until there may be one.
//
// Check reserves nothing. If there are several workers, another one may be faster, and
// the job then waits in line; with transport.WithNoDelay it is refused instead.
func firstReady(w *worker) int {
	for {
		soonest := time.Duration(-1)
		for i, job := range w.jobs {
			now := w.shaper.Check(job)
			if now.Reason == 0 || now.Rejected != nil {
				return i
			}
			if soonest < 0 || now.Wait < soonest {
				soonest = now.Wait
			}
		}
		time.Sleep(max(soonest, time.Millisecond)) // Wait is 0 if it is unknown
	}
}

// do does a job.
func (w *worker) do(job *http.Request) error {
	resp, err := w.client.Do(job)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("unexpected status: %s", resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// jobs returns the jobs of all users.
func jobs(url string) (jobs []*http.Request) {
	for _, u := range []struct {
		user string
		n    int
	}{{"alice", 12}, {"bob", 4}, {"carol", 4}, {"dave", 4}} {
		ctx := partition.WithUserID(context.Background(), u.user)
		for range u.n {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				panic(err) // cannot happen: the URL is that of our server
			}
			req.Header.Set("X-User", u.user)
			jobs = append(jobs, req)
		}
	}
	return jobs
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

// A result is the result of a worker's jobs.
type result struct {
	began     time.Time
	line      []rune                   // the user's initial for each exchange, '·' while the worker waits
	last      map[string]time.Duration // when the last job of a user was done
	postponed int                      // jobs that the Shaper refused
	back      time.Duration            // when to retry those
	err       error
}

// done records that a job was done or refused by the Shaper.
func (r *result) done(job *http.Request, err error) {
	user := partition.UserID(job.Context())
	now := time.Since(r.began)
	var rejected *transport.RejectedError
	switch {
	case errors.As(err, &rejected):
		r.postponed++
		r.back = rejected.RetryAfter
		return
	case err != nil:
		r.err = err
		return
	}
	for column := int(now/exchange) - 1; len(r.line) < column; {
		r.line = append(r.line, '·')
	}
	r.line = append(r.line, rune(user[0]))
	if r.last == nil {
		r.last = make(map[string]time.Duration)
	}
	r.last[user] = now
}

func write(out io.Writer, inOrder, checked result) {
	fmt.Fprintf(out, "The users whose jobs each worker did, a letter per %v:\n\n", exchange)
	fmt.Fprintf(out, "  in order    %s\n  with Check  %s\n", string(inOrder.line), string(checked.line))
	fmt.Fprintf(out, "              0s%s1s%[1]s2s%[1]s3s%[1]s4s\n\n", strings.Repeat(" ", 8))
	fmt.Fprint(out, "Seconds until the last job of each user was done:\n\n              alice    bob  carol   dave  postponed\n")
	for _, row := range []struct {
		name string
		result
	}{{"in order", inOrder}, {"with Check", checked}} {
		fmt.Fprintf(out, "  %-10s", row.name)
		for _, user := range []string{"alice", "bob", "carol", "dave"} {
			fmt.Fprintf(out, " %6.1f", row.last[user].Seconds())
		}
		fmt.Fprintf(out, " %10d\n", row.postponed)
	}
	fmt.Fprintf(out, `
In order, the jobs of all users wait behind those of alice. With Check, only her jobs
wait, and the worker does others meanwhile. Two of dave's jobs were refused by the
Shaper: nothing was sent, and they can be done in %v.
`, checked.back.Round(time.Hour))
}
