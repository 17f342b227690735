package main

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport/transporttest"
)

// A recorder is a Base that records requests by host and serves them in process.
type recorder struct {
	base http.RoundTripper

	mu          sync.Mutex // guards the fields below
	left        map[string][]time.Time
	paths       map[string][]string
	inflight    map[string]int // "" is all hosts
	maxInflight map[string]int
}

// served returns a recorder for the sites and sets their URLs.
func served(all []*site) *recorder {
	handlers := make(map[string]http.Handler)
	for _, s := range all {
		s.url = "http://" + s.name + ".example"
		handlers[s.name+".example"] = s.handler()
	}
	link(all)
	return &recorder{
		base: &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers[r.Host].ServeHTTP(w, r)
		})},
		left: make(map[string][]time.Time), paths: make(map[string][]string),
		inflight: make(map[string]int), maxInflight: make(map[string]int),
	}
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	host := req.URL.Host
	r.note(host, +1)
	defer r.note(host, -1)
	r.mu.Lock()
	r.left[host] = append(r.left[host], time.Now())
	r.paths[host] = append(r.paths[host], req.URL.Path)
	r.mu.Unlock()
	return r.base.RoundTrip(req)
}

func (r *recorder) note(host string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range []string{host, ""} {
		r.inflight[h] += n
		r.maxInflight[h] = max(r.maxInflight[h], r.inflight[h])
	}
}

// today is the time to sleep at the start of a bubble, which is in the year 2000. Package
// parse recognises Unix times, which the forum sends, only from September 2001 on.
const today = 25 * 365 * 24 * time.Hour

func TestCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(today)
		all := sites()
		sent := served(all)
		c := newCrawler(t.Context(), sent)
		began := time.Now()
		require.NoError(t, c.crawl(urls(all)))
		assert.Less(t, time.Since(began), 15*time.Second)

		assert.LessOrEqual(t, sent.maxInflight[""], overall)
		for _, s := range all {
			host := hostOf(s)
			tally := c.soFar()[host]
			assert.Zero(t, tally.failed, s.name)
			assert.Zero(t, tally.stopped, s.name)
			assert.Equal(t, len(sent.paths[host]), tally.sent, s.name)
			assert.LessOrEqual(t, sent.maxInflight[host], perHost, s.name)
			assert.Equal(t, robotsPath, sent.paths[host][0], s.name)
			for _, path := range sent.paths[host] {
				assert.False(t, strings.HasPrefix(path, "/staff"), s.name)
			}
			if s.name == "diary" {
				assert.Len(t, sent.paths[host], 1, "its robots.txt forbids all pages")
				continue
			}
			assert.Equal(t, s.pages, tally.fetched, s.name)
			assert.Equal(t, s.pages+1+tally.refused, tally.sent, "every page once, plus the refused requests")

			wantDelay := delay
			if s.name == "shop" {
				wantDelay = 400 * time.Millisecond
			}
			pages := sent.left[host][1:]
			for i := range pages[1:] {
				assert.GreaterOrEqual(t, pages[i+1].Sub(pages[i]), wantDelay, s.name)
			}
			if s.name != "blog" {
				assert.Zero(t, tally.refused, s.name)
			}
		}
	})
}

// A stopped crawler sends no more requests, and waits for those that have left.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := sites()
		sent := served(all)
		stop, cancel := context.WithCancel(t.Context())
		c := newCrawler(stop, sent)
		const after = 990 * time.Millisecond
		began := time.Now()
		time.AfterFunc(after, cancel)
		require.NoError(t, c.crawl(urls(all)))
		assert.LessOrEqual(t, time.Since(began), after+60*time.Millisecond, "a page takes 60 ms")

		stopped := 0
		for _, s := range all {
			host := hostOf(s)
			tally := c.soFar()[host]
			stopped += tally.stopped
			assert.Zero(t, tally.failed)
			assert.Equal(t, tally.sent, 1+tally.fetched+tally.refused, "requests that have left are not cancelled; one of them is for robots.txt")
			assert.Equal(t, len(sent.left[host]), tally.sent)
			for _, left := range sent.left[host] {
				assert.LessOrEqual(t, left.Sub(began), after)
			}
		}
		assert.Positive(t, stopped)
	})
}

// A host is not crawled if its robots.txt is unreachable.
func TestRobotsUnknown(t *testing.T) {
	for _, status := range []int{429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			base := &transporttest.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				sent++
				w.WriteHeader(status)
			})}
			c := newCrawler(t.Context(), base)
			require.NoError(t, c.crawl([]string{"http://closed.example/"}))
			assert.Equal(t, 1, sent, status)
			assert.Equal(t, 1, c.soFar()["closed.example"].disallowed)
		})
	}
}

func TestLinks(t *testing.T) {
	base, err := url.Parse("http://site.example/a/b")
	require.NoError(t, err)
	var got []string
	for _, u := range links(base, []byte(`<a name=x>no</a><a class=y href="c?d#e">1</a><A HREF='/f'>2</A>
		<a href="https://other.example/">3</a><a href="mailto:x@site.example">no</a><a href="http://[">no</a>
		<!-- <a href="/no"> --><img href="/no"><a href="/last"`)) {
		got = append(got, u.String())
	}
	assert.Equal(t, []string{"http://site.example/a/c?d#e", "http://site.example/f", "https://other.example/"}, got)
}

func TestSummary(t *testing.T) {
	s := &site{name: "library", url: "http://library.example"}
	var b strings.Builder
	summary(&b, []*site{s}, map[string]tally{"library.example": {fetched: 3, sent: 4, refused: 1, used: 0.5}})
	assert.Contains(t, b.String(), "library         3          0     0      4        1    0           0     0.0 s    50 %  (refusals only)\n")
	assert.Equal(t, "  2.0 s    5 pages known,   3 fetched,   1 forbidden,   1 to go",
		progress(2*time.Second, map[string]tally{"a": {known: 4, fetched: 3}, "b": {known: 1, disallowed: 1}}))
}
