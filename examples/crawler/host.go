package main

import (
	"errors"
	"sync"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// A host is one of those that are crawled, and what came of it.
type host struct {
	name   string
	ready  chan struct{} // closed when robots is set
	robots *rules

	mu sync.Mutex // guards following
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

	longest time.Duration // that a request has waited in line
	polite  int           // requests that our own limits held back
	short   int           // those that the server's quota did, or its Retry-After

	dialect parse.Dialect // that the server speaks
	share   float64       // of its quota: the most that was used in a window; 0 where it does not tell
}

// end counts what became of a page.
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

// soFar is what happened until now.
func (h *host) soFar() tally {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tally
}

// trace counts what happens to one request. left is called when it leaves.
func (h *host) trace(left func()) *transport.Trace {
	return &transport.Trace{
		Held: func(i transport.HeldInfo) {
			h.count(func(t *tally) { t.held(i.Reason) })
		},
		Admitted: func(i transport.AdmittedInfo) {
			left()
			h.count(func(t *tally) { t.left(i.Waited) })
		},
		Learned: func(i transport.LearnedInfo) {
			h.count(func(t *tally) { t.learn(i) })
		},
	}
}

func (t *tally) held(why transport.Reason) {
	if why == transport.ReasonOwnLimit {
		t.polite++
	} else {
		t.short++
	}
}

func (t *tally) left(waited time.Duration) {
	t.sent++
	t.longest = max(t.longest, waited)
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
				t.share = max(t.share, 1-float64(l.Available)/float64(p.Quota))
			}
		}
	}
}
