// Cache combines a cache, github.com/gohugoio/httpcache, with a transport.Shaper. It shows
// why the cache belongs above the Shaper, and that a Shaper must not learn from stored
// responses.
//
//	cd examples/cache && go run .
//
// An API on 127.0.0.1 grants 10 requests per 2 seconds. The last request of the first
// window gets a page that may be stored for an hour. Then, for 6 seconds, one reader gets
// this page again and again, and another gets as many new pages as it can. Three stacks,
// in stack.go, do the same work at the same time.
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

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

const (
	quota    = 10 // requests per 2 seconds
	duration = 6 * time.Second
	pause    = 100 * time.Millisecond // between two requests for the same page
	exchange = 30 * time.Millisecond  // minimum time from a request to its response
	look     = 10 * time.Millisecond  // between a new page and the request for the next
)

func main() {
	rows := []*row{
		{name: "cache above the Shaper", stack: cacheAboveShaper},
		{name: "cache below", stack: cacheBelowShaper},
		{name: "below, unmarked", stack: unmarkedBelowShaper},
	}
	fmt.Printf("Three stacks read for %v ...\n\n", duration)
	var wg sync.WaitGroup
	for _, r := range rows {
		wg.Go(func() {
			server := httptest.NewServer(newAPI())
			defer server.Close()
			r.run(distant{http.DefaultTransport}, server.URL)
		})
	}
	wg.Wait()

	fmt.Println("                           the same page         new pages      responses taken as")
	fmt.Println("                         read   longest wait   read  refused      fresh  stored")
	for _, r := range rows {
		fmt.Printf("%-22s %6d %14v %6d %8d %10d %7d\n", r.name,
			r.same, r.longest.Round(10*time.Millisecond), r.read, r.refused, r.fresh, r.stored)
	}
	fmt.Print(`
The last two columns count the responses that the Shaper received, and took as fresh or
as stored. The stored page was the last one of its window, so its fields always say that
nothing is left for 2 s. If the cache is above the Shaper, the page is read at once, and
the Shaper never sees it. If it is below, requests for the page wait in line like all
others. The Shaper learns nothing from stored responses that are marked. If they are not
marked, it waits for up to 2 s after each of them, without need.
`)
	for _, r := range rows {
		if r.err != nil {
			fmt.Fprintln(os.Stderr, "cache:", r.name, r.err)
			os.Exit(1)
		}
	}
}

// newAPI returns an API in which only the page /same may be stored.
func newAPI() *transporttest.API {
	return &transporttest.API{
		Policies: []transporttest.Policy{{Name: "reads", Quota: quota, Window: 2 * time.Second}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/same") {
				w.Header().Set("Cache-Control", "max-age=3600")
			} else {
				w.Header().Set("Cache-Control", "no-store")
			}
			fmt.Fprintln(w, "page", r.URL.Path)
		}),
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

// A row is a stack with the result of reading through it.
type row struct {
	name  string
	stack func(http.RoundTripper, *transport.Trace) http.RoundTripper

	same    int           // the same page, read after it was stored
	longest time.Duration // wait for it
	read    int           // new pages
	refused int           // new pages

	mu     sync.Mutex // guards the fields below
	fresh  int        // responses that the Shaper received and took as fresh
	stored int        // responses that the Shaper received and recognised as stored
	err    error
}

// run runs both readers.
func (r *row) run(base http.RoundTripper, url string) {
	client := &http.Client{Transport: r.stack(base, &transport.Trace{Learned: r.learned})}
	for n := range quota { // the last response of the window, which is stored, says that nothing is left
		path := fmt.Sprint("/new/", n)
		if n == quota-1 {
			path = "/same"
		}
		if _, err := get(context.Background(), client, url+path); err != nil {
			r.err = err
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { r.fail(r.readSame(ctx, client, url)) })
	wg.Go(func() { r.fail(r.readNew(ctx, client, url)) })
	wg.Wait()
}

func (r *row) learned(i transport.LearnedInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i.Cached {
		r.stored++
	} else {
		r.fresh++
	}
}

// fail keeps an error, unless it is the deadline.
func (r *row) fail(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// readSame gets the same page again and again.
func (r *row) readSame(ctx context.Context, client *http.Client, url string) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		began := time.Now()
		if _, err := get(ctx, client, url+"/same"); err != nil {
			return err
		}
		r.same++
		r.longest = max(r.longest, time.Since(began))
	}
}

// readNew gets one new page after another. It does not retry a refused one.
func (r *row) readNew(ctx context.Context, client *http.Client, url string) error {
	for n := 1; ; n++ {
		status, err := get(ctx, client, fmt.Sprint(url, "/new/", n))
		switch {
		case err != nil:
			return err
		case status == http.StatusTooManyRequests:
			r.refused++
		default:
			r.read++
		}
		time.Sleep(look)
	}
}

// get gets a page and reads it to its end, because only then is it stored.
func get(ctx context.Context, client *http.Client, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}
