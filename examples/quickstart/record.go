package main

import (
	"net/http"
	"sync"
	"time"
)

// slice is the duration of a column of the timeline.
const slice = 200 * time.Millisecond

// A recorder is a Base that counts the responses over time. It is below the Shaper, so it
// sees only requests that leave the process.
type recorder struct {
	base  http.RoundTripper
	began time.Time

	mu      sync.Mutex     // guards the fields below
	served  []int          // responses in each slice of time
	refused []int          // responses in each slice of time
	first   *http.Response // the first one to Alice; only its header may be used
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
