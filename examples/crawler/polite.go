package main

import (
	"net/http"
	"time"

	"github.com/headway-go/headway/quota"
)

const (
	robotsPath = "/robots.txt"

	// Politeness, where a site's robots.txt asks for no more of it.
	delay   = 25 * time.Millisecond // between two requests to a host
	perHost = 2                     // requests to a host at a time
	overall = 4                     // requests at a time
)

// polite returns the crawler's own limits on a request, which it meets together
// with the quotas of the host: nothing is taken of one while waiting for another.
// delays says how long robots.txt wants a host to be left alone between requests.
func polite(delays func(host string) time.Duration) func(*http.Request) quota.Limiter {
	all, err := quota.NewConcurrency(quota.ConcurrencyOptions{Permits: overall})
	if err != nil {
		panic(err) // the options are constants
	}
	// A limiter is made when a host is first asked for a page, which is when its
	// robots.txt has been read, and forgotten when it has been idle. (So the overall
	// limit is no part of it: with that in use, no host would ever be idle.)
	hosts := quota.NewKeyed(func(host string) (quota.Limiter, error) {
		rate, err := quota.NewTokenBucket(quota.TokenBucketOptions{
			Permits: 1, PerPeriod: 1, Period: max(delays(host), delay),
		})
		if err != nil {
			return nil, err
		}
		atOnce, err := quota.NewConcurrency(quota.ConcurrencyOptions{Permits: perHost})
		if err != nil {
			return nil, err
		}
		return quota.NewChain(rate, atOnce)
	}, quota.KeyedOptions{})
	ofHost := quota.By(hosts, func(r *http.Request) string { return r.URL.Host })

	return func(r *http.Request) quota.Limiter {
		if r.URL.Path == robotsPath {
			return all // there is one for each host, and no limiter before it
		}
		both, err := quota.NewChain(ofHost(r), all)
		if err != nil {
			panic(err) // neither is nil
		}
		return both
	}
}
