// Crawler crawls several sites at once, each as fast as it allows and no faster than
// is polite.
//
//	cd examples/crawler && go run .
//
// Five sites on 127.0.0.1 have quotas that they tell in different ways: in the
// editor's draft, in draft -09, in X-RateLimit, by refusals alone. What they say is
// met together with limits of the crawler's own, in polite.go: a delay between two
// requests to a host, which the Crawl-delay of its robots.txt may lengthen; so many
// to a host at a time; and so many at all.
//
// An interrupt (Ctrl-C) stops it: what waits is given up, what has left is waited
// for, and the summary says how far it came. On a terminal the progress is one line
// that changes.
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

// report shows the progress until the crawler has finished.
func report(out *os.File, c *crawler, finished <-chan error) error {
	before, after, pause := "", "\n", time.Second
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		before, after, pause = "\r\x1b[K", "", 100*time.Millisecond // the line before is overwritten
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	began, stopped := time.Now(), c.stop.Done()
	for {
		select {
		case <-stopped:
			fmt.Fprint(out, before, "Stopped: what has left is waited for.", after)
			stopped = nil // said once
		case <-tick.C:
			fmt.Fprint(out, before, progress(time.Since(began), c.soFar()), after)
		case err := <-finished:
			fmt.Fprint(out, before, progress(time.Since(began), c.soFar()), "\n")
			return err
		}
	}
}

// urls are those of the sites' first pages.
func urls(all []*site) (urls []string) {
	for _, s := range all {
		urls = append(urls, s.url+"/")
	}
	return urls
}

// link has all sites link to each other.
func link(all []*site) {
	for _, s := range all {
		s.others = urls(all)
	}
}

// hostOf is the host of a site.
func hostOf(s *site) string {
	u, err := url.Parse(s.url)
	if err != nil {
		panic(err) // we have made it
	}
	return u.Host
}
