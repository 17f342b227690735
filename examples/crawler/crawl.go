package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
	"golang.org/x/net/html"

	"github.com/headway-go/headway/transport"
)

const (
	agent    = "headway-example"
	maxBytes = 1 << 20 // read of a page
	tries    = 3       // of a page, while the server refuses it
)

var (
	errStopped    = errors.New("stopped")
	errDisallowed = errors.New("disallowed by robots.txt")
	errRefused    = errors.New("refused")
)

// A crawler follows links on the hosts that it starts from. It starts a goroutine for
// each page that it finds; the Shaper decides when the requests leave.
type crawler struct {
	client *http.Client
	stop   context.Context // when it ends, no more requests leave

	pages sync.WaitGroup
	mu    sync.Mutex // guards seen and hosts
	seen  map[string]bool
	hosts map[string]*host
}

// newCrawler returns a crawler that sends requests through base until stop ends.
func newCrawler(stop context.Context, base http.RoundTripper) *crawler {
	c := &crawler{stop: stop, seen: make(map[string]bool), hosts: make(map[string]*host)}
	c.client = &http.Client{Transport: &transport.Shaper{Base: base, Limits: polite(c.crawlDelay)}}
	return c
}

// crawl crawls from the roots and returns when all pages are done.
func (c *crawler) crawl(roots []string) error {
	for _, root := range roots {
		u, err := url.Parse(root)
		if err != nil {
			return err
		}
		h := &host{name: u.Host, ready: make(chan struct{})}
		c.mu.Lock()
		c.hosts[u.Host] = h
		c.mu.Unlock()
		c.pages.Go(func() { c.readRobots(h, u) })
	}
	for _, root := range roots {
		u, _ := url.Parse(root)
		c.visit(u)
	}
	c.pages.Wait()
	return nil
}

// soFar returns the current tallies by host.
func (c *crawler) soFar() map[string]tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]tally)
	for name, h := range c.hosts {
		all[name] = h.soFar()
	}
	return all
}

// visit starts to fetch a page and to follow its links. It ignores pages that it has
// seen before and pages on other hosts.
func (c *crawler) visit(u *url.URL) {
	u.Fragment = ""
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[u.Host]
	if h == nil || c.seen[u.String()] {
		return
	}
	c.seen[u.String()] = true
	c.pages.Go(func() {
		h.count(func(t *tally) { t.known++ })
		links, err := c.page(h, u)
		h.count(func(t *tally) { t.end(err) })
		for _, link := range links {
			c.visit(link)
		}
	})
}

// page fetches a page, if robots.txt allows it. If the server refuses it, page tries
// again: the Shaper makes the retry wait as long as necessary.
func (c *crawler) page(h *host, u *url.URL) ([]*url.URL, error) {
	<-h.ready
	if c.stop.Err() != nil {
		return nil, errStopped // robots.txt may be missing for the same reason
	}
	if !h.robots.Test(u.RequestURI()) {
		return nil, errDisallowed
	}
	for try := 1; ; try++ {
		body, status, err := c.get(h, u)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusOK:
			return links(u, body), nil
		case status != http.StatusTooManyRequests:
			return nil, fmt.Errorf("unexpected status: %d", status)
		case try == tries:
			return nil, errRefused
		}
	}
}

// get gets a URL. When the crawler is stopped, requests that wait in line are cancelled;
// requests that have left run to their end.
func (c *crawler) get(h *host, u *url.URL) (body []byte, status int, err error) {
	if c.stop.Err() != nil {
		return nil, 0, errStopped
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	keep := context.AfterFunc(c.stop, func() { cancel(errStopped) })
	ctx = transport.WithTrace(ctx, h.trace(func() { keep() }))

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("User-Agent", agent)
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBytes))
	return body, resp.StatusCode, err
}

// readRobots reads the robots.txt of a host. If it is unreachable, the host is not
// crawled (RFC 9309, Section 2.3.1.4). The same holds after a 429, which does not tell
// what is allowed.
func (c *crawler) readRobots(h *host, root *url.URL) {
	defer close(h.ready)
	body, status, err := c.get(h, root.JoinPath(robotsPath))
	if err != nil || status == http.StatusTooManyRequests {
		status = http.StatusServiceUnavailable
	}
	robots, err := robotstxt.FromStatusAndBytes(status, body)
	if err != nil {
		robots, _ = robotstxt.FromStatusAndBytes(http.StatusServiceUnavailable, nil)
	}
	h.robots = &rules{robots, robots.FindGroup(agent).CrawlDelay}
}

// rules are the contents of a robots.txt.
type rules struct {
	robots     *robotstxt.RobotsData
	crawlDelay time.Duration
}

// Test reports whether a path may be fetched.
func (r *rules) Test(path string) bool { return r.robots.TestAgent(path, agent) }

// crawlDelay returns the Crawl-delay of a host, whose robots.txt must have been read.
func (c *crawler) crawlDelay(host string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.hosts[host]; h != nil {
		return h.robots.crawlDelay
	}
	return 0
}

// links returns the URLs that a page links to.
func links(base *url.URL, page []byte) (links []*url.URL) {
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return links
		case html.StartTagToken:
			token := z.Token()
			for _, a := range token.Attr {
				if token.Data != "a" || a.Key != "href" {
					continue
				}
				if u, err := base.Parse(a.Val); err == nil && strings.HasPrefix(u.Scheme, "http") {
					links = append(links, u)
				}
			}
		}
	}
}
