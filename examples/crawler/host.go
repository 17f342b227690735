package main

import (
	"errors"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport"
)

// A host is a host to crawl, with its tally.
type host struct {
	name   string
	ready  chan struct{} // closed when robots is set
	robots *rules

	mu sync.Mutex // guards tally
	tally
}

// A tally counts what happened on a host.
type tally struct {
	known      int // pages
	fetched    int
	disallowed int
	stopped    int
	failed     int

	sent    int // requests
	refused int // by the server

	longest time.Duration // the longest wait of a request
	own     int           // requests that our own limits held
	server  int           // requests that the server's quota or Retry-After held

	dialect parse.Dialect // of the server
	used    float64       // the largest fraction of the quota used in a window; 0: unknown
}

// end counts a page that is done.
func (t *tally) end(err error) {
	switch {
	case err == nil:
		t.fetched++
	case errors.Is(err, errDisallowed):
		t.disallowed++
	case errors.Is(err, errStopped):
		t.stopped++
	default:
		t.failed++
	}
}

func (h *host) count(f func(*tally)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.tally)
}

// soFar returns the current tally.
func (h *host) soFar() tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tally
}

// trace returns the hooks that count one request. It calls left when the request leaves.
func (h *host) trace(left func()) *transport.Trace {
	return &transport.Trace{
		Admitted: func(i transport.AdmittedInfo) {
			left()
			h.count(func(t *tally) { t.left(i.WaitInfo) })
		},
		Learned: func(i transport.LearnedInfo) {
			h.count(func(t *tally) { t.learn(i) })
		},
	}
}

func (t *tally) left(i transport.WaitInfo) {
	t.sent++
	t.longest = max(t.longest, i.Waited)
	switch i.Held {
	case 0:
	case quota.ReasonOwnLimit:
		t.own++
	default:
		t.server++
	}
}

func (t *tally) learn(i transport.LearnedInfo) {
	if i.Refused {
		t.refused++
	}
	if i.Dialect != parse.NoDialect {
		t.dialect = i.Dialect
	}
	for _, l := range i.Limits {
		for _, p := range i.Policies {
			if p.Name == l.Policy && p.Quota > 0 && l.Available >= 0 {
				t.used = max(t.used, 1-float64(l.Available)/float64(p.Quota))
			}
		}
	}
}
