// Schedule is a worker that asks a transport.Shaper before it takes a job: with
// Shaper.Check it does the first job that can be done now, sleeps no longer than
// until one can, and puts off what cannot be done today.
//
//	go run ./examples/schedule
//
// The API, on 127.0.0.1, grants each user 5 requests in 2 seconds, and dave 2 a
// day. One worker has jobs for alice (12), bob, carol and dave (4 each), in this
// order. Another one has the same and takes them as they come.
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

const exchange = 100 * time.Millisecond // from a request to its answer

func main() {
	results := make([]result, 2)
	var wg sync.WaitGroup
	for i, next := range []func(*worker) int{inOrder, whatCanGo} {
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

// A worker does jobs, which are requests, one after another.
type worker struct {
	client *http.Client
	shaper *transport.Shaper
	jobs   []*http.Request // to be done
}

// run has a worker do its jobs, next of which is for next to say.
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

// inOrder takes the first job, and waits with it for as long as that takes.
func inOrder(*worker) int { return 0 }

// whatCanGo takes the first job that can be done now, or that will not be done
// today, whatever it waits for. If there is none it sleeps until there may be.
// (Check reserves nothing: where there are several workers another may be faster,
// and the job then waits in line. That is no harm; WithNoDelay has it refused.)
func whatCanGo(w *worker) int {
	for {
		soonest := time.Duration(-1)
		for i, job := range w.jobs {
			v := w.shaper.Check(job)
			if v.Reason == 0 || v.Rejected != nil {
				return i
			}
			if soonest < 0 || v.Wait < soonest {
				soonest = v.Wait
			}
		}
		time.Sleep(max(soonest, time.Millisecond)) // Wait is 0 where nobody knows
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

// jobs are requests of some users.
func jobs(url string) (jobs []*http.Request) {
	for _, of := range []struct {
		user string
		n    int
	}{{"alice", 12}, {"bob", 4}, {"carol", 4}, {"dave", 4}} {
		ctx := partition.WithUserID(context.Background(), of.user)
		for range of.n {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				panic(err) // the URL is our own
			}
			req.Header.Set("X-User", of.user)
			jobs = append(jobs, req)
		}
	}
	return jobs
}

// distant is a network that is slower than the one within a machine.
type distant struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d distant) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(exchange / 2)
	resp, err := d.base.RoundTrip(req)
	time.Sleep(exchange / 2)
	return resp, err
}

// A result is what came of the jobs.
type result struct {
	began time.Time
	line  []rune // a letter for each exchange, of the user; nothing where the worker waited
	last  map[string]time.Duration
	off   int           // jobs that were put off
	back  time.Duration // when it is worth doing those
	err   error
}

// done notes that a job was done, or was put off.
func (r *result) done(job *http.Request, err error) {
	user := partition.UserID(job.Context())
	now := time.Since(r.began)
	var rejected *transport.RejectedError
	switch {
	case errors.As(err, &rejected):
		r.off++
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
	fmt.Fprintf(out, "What the worker did, a letter for each %v:\n\n", exchange)
	fmt.Fprintf(out, "  in order    %s\n  with Check  %s\n", string(inOrder.line), string(checked.line))
	fmt.Fprintf(out, "              0s%s1s%[1]s2s%[1]s3s%[1]s4s\n\n", strings.Repeat(" ", 8))
	fmt.Fprint(out, "Seconds until the last job was done of\n\n              alice    bob  carol   dave   put off\n")
	for _, row := range []struct {
		name string
		result
	}{{"in order", inOrder}, {"with Check", checked}} {
		fmt.Fprintf(out, "  %-10s", row.name)
		for _, user := range []string{"alice", "bob", "carol", "dave"} {
			fmt.Fprintf(out, " %6.1f", row.last[user].Seconds())
		}
		fmt.Fprintf(out, " %9d\n", row.off)
	}
	fmt.Fprintf(out, `
In order, everybody stands behind alice. With Check, her jobs wait and the worker
does not. Two of dave's jobs were put off, at no cost: nothing was sent, and it is
worth coming back in %v.
`, checked.back.Round(time.Hour))
}
