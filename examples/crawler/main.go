// Crawler crawls several sites at once, each as fast as its quota and the crawler's own
// limits allow.
//
//	cd examples/crawler && go run .
//
// It starts five sites on 127.0.0.1. They advertise their quotas in different ways: in
// the editor's draft, in draft -08, in X-RateLimit, or only by refusals. A request must
// satisfy the site's quota and the crawler's own limits in polite.go at the same time.
// The limits are a delay between two requests to a host, at least the Crawl-delay of its
// robots.txt, and a number of concurrent requests, per host and in total.
//
// To copy: polite.go, the limits; and get in crawl.go, which cancels what waits and not what
// has left. The Shaper holds requests, so a goroutine for each page is enough: there is no
// schedule. (If a host has more pages than can be fetched in two minutes, set Shaper.MaxDelay,
// or the last ones are refused.) A page that is refused all the same is tried again, and waits for its turn.
//
// An interrupt (Ctrl-C) stops the crawler: it cancels the requests that wait in line,
// waits for those that have left, and prints the summary. On a terminal, the progress is
// a single line that is updated.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"time"
)

func main() {
	stop, done := signal.NotifyContext(context.Background(), os.Interrupt)
	defer done()
	context.AfterFunc(stop, done) // a second interrupt ends the program

	all := sites()
	for _, s := range all {
		server := httptest.NewServer(s.handler())
		defer server.Close()
		s.url = server.URL
	}
	link(all)

	c := newCrawler(stop, http.DefaultTransport)
	finished := make(chan error)
	go func() { finished <- c.crawl(urls(all)) }()
	err := report(os.Stdout, c, finished)
	summary(os.Stdout, all, c.soFar())
	if err != nil {
		fmt.Fprintln(os.Stderr, "crawler:", err)
		os.Exit(1)
	}
}

// report writes the progress until the crawler has finished.
func report(out *os.File, c *crawler, finished <-chan error) error {
	before, after, pause := "", "\n", time.Second
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		before, after, pause = "\r\x1b[K", "", 100*time.Millisecond // overwrite the line
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	began, stopped := time.Now(), c.stop.Done()
	for {
		select {
		case <-stopped:
			fmt.Fprint(out, before, "Stopped: waiting for the requests that have left.", after)
			stopped = nil // print it once
		case <-tick.C:
			fmt.Fprint(out, before, progress(time.Since(began), c.soFar()), after)
		case err := <-finished:
			fmt.Fprint(out, before, progress(time.Since(began), c.soFar()), "\n")
			return err
		}
	}
}

// urls returns the URLs of the sites' first pages.
func urls(all []*site) (urls []string) {
	for _, s := range all {
		urls = append(urls, s.url+"/")
	}
	return urls
}

// link makes all sites link to each other.
func link(all []*site) {
	for _, s := range all {
		s.others = urls(all)
	}
}

// hostOf returns the host of a site.
func hostOf(s *site) string {
	u, err := url.Parse(s.url)
	if err != nil {
		panic(err) // cannot happen: the URL is that of our server
	}
	return u.Host
}
