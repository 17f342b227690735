// Retry combines github.com/hashicorp/go-retryablehttp with a transport.Shaper, and shows
// why the retries belong above the Shaper.
//
//	cd examples/retry && go run .
//
// An API on 127.0.0.1 grants 20 requests per 2 seconds. Another program takes 8 of them
// at once. One in seven of the served requests fails with status 502. Eight workers
// upload 60 documents, and the API compares each body with its checksum. At the same time
// the program does the same work with the Shaper above the retries. See stack.go.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

const (
	workers   = 8
	documents = 60
	exchange  = 40 * time.Millisecond // minimum time from a request to its response
)

func main() {
	stacks := []struct {
		name  string
		stack func(http.RoundTripper) *http.Client
		*result
	}{
		{name: "retries above the Shaper", stack: retryAboveShaper},
		{name: "Shaper above the retries", stack: shaperAboveRetry},
	}
	fmt.Print("60 uploads through two stacks at the same time; about 10 seconds ...\n\n")
	var wg sync.WaitGroup
	for i := range stacks {
		wg.Go(func() { stacks[i].result = run(stacks[i].stack) })
	}
	wg.Wait()

	fmt.Println("                            sent  stored   429   502   bodies broken   time")
	for _, s := range stacks {
		fmt.Printf("  %s %6d %7d %5d %5d %15d %5.1f s\n", s.name,
			s.sent.Load(), s.stored.Load(), s.refused.Load(), s.failed.Load(), s.broken.Load(), s.taken.Seconds())
	}
	fmt.Print(`
(sent = stored + 429 + 502.) Above the Shaper, a retry is a request like any other: it
is counted and waits in the same line. The other program causes the first refusals;
after them, the Shaper sends nothing until the server serves requests again. Below the
Shaper, retries and refusals are invisible to it: each worker finds out for itself that
the quota is exhausted, and may give up.
`)
	if err := check(stacks[0].result); err != nil {
		fmt.Fprintln(os.Stderr, "retry:", err)
		os.Exit(1)
	}
}

// check returns an error if the work failed, a document is missing, or a body was broken.
func check(r *result) error {
	switch {
	case r.err != nil:
		return r.err
	case r.stored.Load() != documents:
		return errors.New("not every document was stored")
	case r.broken.Load() > 0:
		return errors.New("a body was not rewound")
	}
	return nil
}

// A result is the result of the work through one stack.
type result struct {
	sent    atomic.Int64 // requests that left the process
	refused atomic.Int64 // of these, by the quota
	broken  atomic.Int64 // bodies that do not match their checksum
	whole   atomic.Int64 // bodies that do
	stored  atomic.Int64
	failed  atomic.Int64 // with status 502

	taken time.Duration
	err   error
}

// run starts a server and does the work.
func run(stack func(http.RoundTripper) *http.Client) *result {
	var r result
	api := &transporttest.API{
		Policies: []transporttest.Policy{{Name: "uploads", Quota: 20, Window: 2 * time.Second}},
		Handler:  http.HandlerFunc(r.store),
	}
	server := httptest.NewServer(api)
	defer server.Close()

	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = workers
	defer base.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(context.Background(), 18*time.Second)
	defer cancel()
	go elsewhere(ctx, api)
	began := time.Now()
	r.err = upload(ctx, stack(&counting{distant{base}, &r}), server.URL)
	r.taken = time.Since(began)
	return &r
}

// elsewhere simulates the other program: every 2 seconds it sends 8 requests.
func elsewhere(ctx context.Context, api *transporttest.API) {
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		for range 8 {
			api.Decide(time.Now(), req)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// store stores a document, except for one in seven.
func (r *result) store(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || checksum(body) != req.Header.Get("X-Checksum") {
		r.broken.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.whole.Add(1)%7 == 0 {
		r.failed.Add(1)
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	r.stored.Add(1)
}

// counting is a Base that counts requests and refusals.
type counting struct {
	base http.RoundTripper
	r    *result
}

// RoundTrip implements http.RoundTripper.
func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.r.sent.Add(1)
	resp, err := c.base.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		c.r.refused.Add(1)
	}
	return resp, err
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

// upload uploads the documents. It needs no code for quotas or retries.
func upload(ctx context.Context, client *http.Client, url string) error {
	var begun atomic.Int64
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for n := begun.Add(1); n <= documents && errs[i] == nil; n = begun.Add(1) {
				errs[i] = put(ctx, client, fmt.Sprint(url, "/documents/", n))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func put(ctx context.Context, client *http.Client, url string) error {
	document := bytes.Repeat([]byte(url+"\n"), 100)
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url, bytes.NewReader(document))
	if err != nil {
		return err
	}
	req.Header.Set("X-Checksum", checksum(document))
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func checksum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
