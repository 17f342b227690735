package main

import (
	"net/http"
	"sync"
	"time"
)

// slice is the time that one column of the timeline stands for.
const slice = 200 * time.Millisecond

// A recorder is an http.RoundTripper that notes what came back, and when. It
// stands below a Shaper and sees what leaves the process.
type recorder struct {
	base  http.RoundTripper
	began time.Time

	mu      sync.Mutex // guards following
	served  []int      // answers in each slice of time
	refused []int
	first   *http.Response // to alice, for its fields; its body is not ours
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.note(int(time.Since(r.began)/slice), resp)
	return resp, nil
}

func (r *recorder) note(at int, resp *http.Response) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.served) <= at {
		r.served = append(r.served, 0)
		r.refused = append(r.refused, 0)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		r.refused[at]++
	} else {
		r.served[at]++
	}
	if r.first == nil && resp.Request.Header.Get("X-User") == "alice" {
		r.first = resp
	}
}
