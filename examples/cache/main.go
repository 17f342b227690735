// Cache puts a cache, github.com/gohugoio/httpcache, above a transport.Shaper, and
// shows why it belongs there, and why stored responses teach a Shaper nothing.
//
//	cd examples/cache && go run .
//
// The API, on 127.0.0.1, grants 10 requests in 2 seconds. A page that may be stored
// for an hour is the last that goes in a window. Then, for 6 seconds, one reader gets
// it over and over, and another gets new pages, as many as it can. Three stacks do
// the same at the same time; stack.go has them.
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
	quota    = 10 // requests in 2 seconds
	duration = 6 * time.Second
	pause    = 100 * time.Millisecond // between two readings of the same page
	exchange = 30 * time.Millisecond  // from a request to its answer, at least
	look     = 10 * time.Millisecond  // at a new page, before the next is asked for
)

func main() {
	rows := []*row{
		{name: "cache above the Shaper", stack: cacheAboveShaper},
		{name: "cache below", stack: cacheBelowShaper},
		{name: "below, without a mark", stack: unmarkedBelowShaper},
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

	fmt.Println("                           the same page         new pages     answers that")
	fmt.Println("                         read   longest wait   read  refused   taught  did not")
	for _, r := range rows {
		fmt.Printf("%-22s %6d %14v %6d %8d %8d %8d\n", r.name,
			r.same, r.longest.Round(10*time.Millisecond), r.fresh, r.refused, r.taught, r.stored)
	}
	fmt.Print(`
The stored page was the last of its window: "0 left for 2 s", it says for ever.
Above the Shaper, it is read at once, and the Shaper never sees it. Below, it waits
in line with the rest, and teaches nothing as long as it is marked. Who believes
it waits two seconds after each reading, for nothing.
`)
	for _, r := range rows {
		if r.err != nil {
			fmt.Fprintln(os.Stderr, "cache:", r.name, r.err)
			os.Exit(1)
		}
	}
}

// newAPI has a page that may be stored, and others that may not.
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

// distant is a network that is slower than the one within a machine.
type distant struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (d distant) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(exchange / 2)
	resp, err := d.base.RoundTrip(req)
	time.Sleep(exchange / 2)
	return resp, err
}

// A row is a stack, and what came of reading through it.
type row struct {
	name  string
	stack func(http.RoundTripper, *transport.Trace) http.RoundTripper

	same, fresh, refused int
	longest              time.Duration // wait for the same page, once it was stored

	mu             sync.Mutex // guards following
	taught, stored int        // answers that the Shaper saw
	err            error
}

// run has both readers read.
func (r *row) run(base http.RoundTripper, url string) {
	client := &http.Client{Transport: r.stack(base, &transport.Trace{Learned: r.learned})}
	for n := range quota { // the last of a window is stored: it says that nothing is left
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
		r.taught++
	}
}

// fail keeps an error that is not the end of the time.
func (r *row) fail(err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

// readSame gets the same page, again and again.
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

// readNew gets one page after the other. One that is refused it gives up.
func (r *row) readNew(ctx context.Context, client *http.Client, url string) error {
	for n := 1; ; n++ {
		status, err := get(ctx, client, fmt.Sprint(url, "/new/", n))
		switch {
		case err != nil:
			return err
		case status == http.StatusTooManyRequests:
			r.refused++
		default:
			r.fresh++
		}
		time.Sleep(look)
	}
}

// get gets a page. It is read to its end: only then is it stored.
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
