package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

// A site is a host to crawl: pages that link to each other and to other sites, and a
// quota that is advertised in the site's own way.
type site struct {
	name      string
	pages     int
	robots    string // the robots.txt; "": there is none
	policy    transporttest.Policy
	advertise func(*transporttest.API) http.Handler
	url       string
	others    []string // URLs that each page links to
}

func sites() []*site {
	perWindow := func(quota int64, window time.Duration) transporttest.Policy {
		return transporttest.Policy{Name: "pages", Quota: quota, Window: window}
	}
	return []*site{
		{name: "library", pages: 60, robots: "User-agent: *\nDisallow: /staff/\n", policy: perWindow(30, 2*time.Second), advertise: draft},
		{name: "forum", pages: 30, policy: perWindow(12, 2*time.Second), advertise: legacy},
		{name: "shop", pages: 15, robots: "User-agent: *\nCrawl-delay: 0.4\nDisallow: /staff/\n", policy: perWindow(100, 10*time.Second), advertise: draft08},
		{name: "blog", pages: 20, policy: perWindow(8, 2*time.Second), advertise: refusals},
		{name: "diary", pages: 10, robots: "User-agent: *\nDisallow: /\n", policy: perWindow(10, time.Second), advertise: draft},
	}
}

// handler returns the server of the site.
func (s *site) handler() http.Handler {
	return s.advertise(&transporttest.API{Policies: []transporttest.Policy{s.policy}, Handler: http.HandlerFunc(s.serve)})
}

// serve serves page n, which links to 2n and 2n+1, and robots.txt.
func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	time.Sleep(60 * time.Millisecond)
	if r.URL.Path == robotsPath {
		if s.robots == "" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, s.robots)
		return
	}
	n := 1
	if r.URL.Path != "/" {
		n, _ = strconv.Atoi(r.URL.Path[1:])
	}
	if n < 1 || n > s.pages {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html><title>%s, page %d</title>\n", s.name, n)
	for _, link := range []int{2 * n, 2*n + 1} {
		if link <= s.pages {
			fmt.Fprintf(w, "<a href=\"/%d#top\">page %[1]d</a>\n", link)
		}
	}
	if s.robots != "" {
		fmt.Fprintf(w, "<a href='/staff/%d'>staff only</a>\n", n)
	}
	fmt.Fprintf(w, "<a href='mailto:%s@site.example'>mail</a>\n", s.name)
	for _, other := range s.others {
		fmt.Fprintf(w, "<a href=%q>another site</a>\n", other)
	}
}

// draft advertises the quota as in the editor's draft.
func draft(api *transporttest.API) http.Handler { return api }

// draft08 advertises the quota as in drafts -08 to -11.
func draft08(api *transporttest.API) http.Handler {
	api.Dialect = parse.Draft08
	return api
}

// refusals advertises no quota, only Retry-After on a refusal.
func refusals(api *transporttest.API) http.Handler {
	api.OmitLimits, api.OmitPolicies = true, true
	return api
}

// legacy advertises the quota in X-RateLimit fields, with a Unix time.
func legacy(api *transporttest.API) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		d := api.Decide(now, r)
		limits, _ := parse.Limits(d.Header, parse.Caps{})
		for _, l := range limits {
			w.Header().Set("X-RateLimit-Limit", fmt.Sprint(api.Policies[0].Quota))
			w.Header().Set("X-RateLimit-Remaining", fmt.Sprint(l.Available))
			w.Header().Set("X-RateLimit-Reset", fmt.Sprint(now.Add(l.Window).Unix()))
		}
		if d.Served {
			api.Handler.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(d.Status)
	})
}
