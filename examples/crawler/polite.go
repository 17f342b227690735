package main

import (
	"net/http"
	"time"

	"github.com/headway-go/headway/quota"
)

const (
	robotsPath = "/robots.txt"

	// The crawler's own limits. A Crawl-delay in robots.txt can lengthen the delay.
	delay   = 25 * time.Millisecond // between two requests to a host
	perHost = 2                     // requests to a host at a time
	overall = 4                     // requests at a time
)

// polite returns a function for Shaper.Limits: the crawler's own limits on a request. The
// Shaper charges them together with the host's quota, so a request takes nothing from one
// while it waits for another. delays returns the Crawl-delay of a host.
func polite(delays func(host string) time.Duration) func(*http.Request) quota.Limiter {
	all := quota.Concurrency(overall)
	// A host's limiter is created with its first page, after its robots.txt has been
	// read, and is dropped when it is idle. The overall limit is not part of it: if it
	// were, a host would not be idle while another one is in use.
	host := func(r *http.Request) string { return r.URL.Host }
	ofHost := quota.By(host, func(host string) quota.Limiter {
		rate := quota.TokenBucket(1, 1, max(delays(host), delay))
		atOnce := quota.Concurrency(perHost)
		return quota.Chain(rate, atOnce)
	})

	return func(r *http.Request) quota.Limiter {
		if r.URL.Path == robotsPath {
			return all // the host's limiter needs its robots.txt first
		}
		return quota.Chain(ofHost(r), all)
	}
}
