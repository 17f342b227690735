package transport_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// A farServer is a Base that takes long to answer, and does not answer requests whose deadline
// passes meanwhile. They have used up quota if they have arrived.
type farServer struct {
	api *transporttest.API

	mu           sync.Mutex           // guards following
	trip         func() time.Duration // half of it before the server decides
	service      func() time.Duration // after that, if it serves; nil: no time
	served, lost int
}

func (s *farServer) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	trip, service := s.trip(), time.Duration(0)
	if s.service != nil {
		service = s.service()
	}
	s.mu.Unlock()
	status, h := 0, http.Header(nil)
	if sleeps(req.Context(), trip/2) {
		d := s.api.Decide(time.Now(), req)
		if !d.Served || sleeps(req.Context(), service) {
			status, h = d.Status, d.Header
		}
		d.Done()
	}
	inTime := status > 0 && sleeps(req.Context(), trip-trip/2)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !inTime:
		s.lost++
		return nil, context.Cause(req.Context())
	case status == http.StatusOK:
		s.served++
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: req}, nil
}

// sleeps reports whether d passes before the context ends. There is no timer for a d of 0: in a bubble it runs in
// this goroutine beside those of the bubble, and the race detector crashes now and then (golang.org/issue/78156).
func sleeps(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// between returns durations between a and b milliseconds.
func between(seed uint64, a, b int) func() time.Duration {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() time.Duration { return time.Duration(a+r.IntN(b-a)) * time.Millisecond }
}

// hundredIn10s is an API with that quota.
func hundredIn10s(say bool) *transporttest.API {
	return &transporttest.API{
		Dialect: parse.EditorsDraft, OmitLimits: !say, OmitPolicies: !say,
		Policies: []transporttest.Policy{{Name: "api", Quota: 100, Window: 10 * time.Second}},
	}
}

// With more requests than the quota allows, each with a deadline, the quota is used: those that
// could not be answered in time are refused, and do not depart in place of others.
func TestDeadlinesAndTooManyRequests(t *testing.T) {
	for _, tt := range []struct {
		name         string
		say          bool // what is left
		gap          time.Duration
		deadline     time.Duration
		a, b         int // milliseconds of a round trip
		served, lost int // at least, at most, in two minutes, of 1,200
	}{
		{"five seconds", true, time.Second / 15, 5 * time.Second, 599, 601, 1200, 0},
		{"five seconds, round trips vary", true, time.Second / 15, 5 * time.Second, 300, 900, 1190, 5},
		{"much more than the quota", true, time.Second / 60, 5 * time.Second, 150, 250, 1200, 0},
		{"thirty seconds", true, time.Second / 30, 30 * time.Second, 500, 700, 1200, 0},
		{"one second", true, time.Second / 30, time.Second, 300, 900, 1100, 20},
		{"only refusals say something", false, time.Second / 15, 5 * time.Second, 500, 700, 750, 5},
	} {
		for seed := range uint64(3) {
			bubble(t, fmt.Sprintf("%s, seed %d", tt.name, seed), func(t *testing.T) {
				far := &farServer{api: hundredIn10s(tt.say), trip: between(seed, tt.a, tt.b)}
				s := &transport.Shaper{Base: far}
				start := time.Now()
				var wg sync.WaitGroup
				for time.Since(start) < 2*time.Minute {
					time.Sleep(tt.gap)
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
						defer cancel()
						if resp, err := s.RoundTrip(getItems(ctx)); err == nil {
							drop(resp)
						}
					})
				}
				wg.Wait()
				assert.GreaterOrEqual(t, far.served, tt.served)
				assert.LessOrEqual(t, far.lost, tt.lost)
			})
		}
	}
}

// Workers whose client has a Timeout are served as often as without a Shaper, or nearly.
func TestTimeoutsAndTooManyWorkers(t *testing.T) {
	concurrency := func() *transporttest.API {
		return &transporttest.API{Dialect: parse.EditorsDraft, Policies: []transporttest.Policy{{Name: "api", Quota: 10, Algorithm: transporttest.Concurrency}}}
	}
	bucket := func() *transporttest.API {
		return &transporttest.API{Dialect: parse.EditorsDraft, Policies: []transporttest.Policy{{Name: "api", Quota: 600, Window: time.Minute, Algorithm: transporttest.TokenBucket, Burst: 20}}}
	}
	for _, tt := range raced.Rows([]struct {
		name    string
		api     func() *transporttest.API
		workers int
		timeout time.Duration
		a, b    int     // milliseconds of a round trip; of the service, if the API counts requests at a time
		share   float64 // served, of what is without a Shaper, at least
	}{
		{"ten at a time", concurrency, 20, 2 * time.Second, 500, 1500, .94},
		{"ten at a time, many workers", concurrency, 40, 2 * time.Second, 500, 1500, .9},
		{"ten at a time, a longer timeout", concurrency, 40, 3 * time.Second, 500, 1500, .94},
		{"a bucket", bucket, 75, 5 * time.Second, 500, 700, .99},
		{"a window", func() *transporttest.API { return hundredIn10s(true) }, 75, 10 * time.Second, 150, 250, 1},
		{"a window, long round trips", func() *transporttest.API { return hundredIn10s(true) }, 75, 5 * time.Second, 1500, 2500, 1},
		{"a window that is not told", func() *transporttest.API { return hundredIn10s(false) }, 75, 5 * time.Second, 500, 700, .99},
	}) {
		for seed := range uint64(2) {
			served := map[bool]int{}
			for _, shaped := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%s, seed %d, shaped %v", tt.name, seed, shaped), func(t *testing.T) {
					far := &farServer{api: tt.api(), trip: between(seed, tt.a, tt.b)}
					if tt.api().Policies[0].Algorithm == transporttest.Concurrency {
						far.trip, far.service = between(seed, 40, 100), far.trip
					}
					var base http.RoundTripper = far
					if shaped {
						base = &transport.Shaper{Base: far}
					}
					workers(t, &http.Client{Transport: base, Timeout: tt.timeout}, tt.workers, 5*time.Minute, seed)
					served[shaped] = far.served
				})
			}
			assert.GreaterOrEqual(t, float64(served[true]), tt.share*float64(served[false]), "%s, seed %d: %v", tt.name, seed, served)
		}
	}
}

// workers has n workers send requests for so long, one after another, each again after a
// Retry-After or a pause that doubles until one is served.
func workers(t *testing.T, c *http.Client, n int, lasts time.Duration, seed uint64) {
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	var wg sync.WaitGroup
	for i := range n {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			pause := time.Second
			for ctx.Err() == nil {
				wait := time.Duration(0)
				resp, err := c.Do(getItems(ctx))
				if err == nil {
					drop(resp)
					if resp.StatusCode == http.StatusOK {
						pause = time.Second
						continue
					}
					seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
					wait = time.Duration(seconds) * time.Second
				}
				if wait == 0 {
					wait = pause/2 + time.Duration(r.Int64N(int64(pause/2)))
					pause = min(2*pause, 30*time.Second)
				}
				sleeps(ctx, wait)
			}
		})
	}
	wg.Wait()
}

// A server that becomes slower than its requests have waited for is still used: that the first of
// them are lost shows how much time the others need. One slow answer does not have the others refused.
func TestDeadlinesWhenRoundTripsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		far := &farServer{api: hundredIn10s(true)}
		far.trip = func() time.Duration {
			switch d := time.Since(start); {
			case d < 10*time.Second:
				return 3 * time.Second // the first answers
			case d < time.Minute:
				return 50 * time.Millisecond
			case d < 2*time.Minute:
				return 2 * time.Second
			}
			return 100 * time.Millisecond
		}
		s := &transport.Shaper{Base: far}
		var wg sync.WaitGroup
		var at [3]int // served by then
		for minute := range at {
			for time.Since(start) < time.Duration(minute+1)*time.Minute {
				time.Sleep(time.Second / 15)
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					if resp, err := s.RoundTrip(getItems(ctx)); err == nil {
						drop(resp)
					}
				})
			}
			far.mu.Lock()
			at[minute] = far.served
			far.mu.Unlock()
		}
		wg.Wait()
		assert.GreaterOrEqual(t, at[0], 550)
		assert.GreaterOrEqual(t, at[1]-at[0], 500)
		assert.GreaterOrEqual(t, at[2]-at[1], 590)
		assert.LessOrEqual(t, far.lost, 20)
	})
}

// Slow uploads do not have quick requests refused that have a deadline and wait for a quota. Of 75, only those that come after
// many uploads and no other answer are.
func TestDeadlinesBesideUploads(t *testing.T) {
	for uploads, most := range map[int]int{0: 0, 5: 0, 20: 5} {
		synctest.Test(t, func(t *testing.T) {
			api := &transporttest.API{Dialect: parse.Draft08, Policies: []transporttest.Policy{{Name: "api", Quota: 10, Window: 4 * time.Second}}}
			far := roundTripper(func(req *http.Request) (*http.Response, error) {
				d := api.Decide(time.Now(), req)
				trip := 50 * time.Millisecond
				if req.Method == http.MethodPut {
					trip = time.Minute
				}
				if d.Done(); !sleeps(req.Context(), trip) {
					return nil, context.Cause(req.Context())
				}
				return &http.Response{StatusCode: d.Status, Header: d.Header, Body: http.NoBody, Request: req}, nil
			})
			s := &transport.Shaper{Base: far}
			var wg sync.WaitGroup
			for range uploads {
				wg.Go(func() { pass(t, s, newRequest(t.Context(), http.MethodPut, itemsOrigin+"/upload")) })
				time.Sleep(5 * time.Second)
			}
			wg.Wait()
			bad := 0
			for range 5 {
				errs := make(chan error, 15)
				for range cap(errs) {
					go func() {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						resp, err := s.RoundTrip(getItems(ctx))
						drop(resp)
						errs <- err
					}()
				}
				for range cap(errs) {
					if <-errs != nil {
						bad++
					}
				}
			}
			assert.LessOrEqual(t, bad, most, uploads)
		})
	}
}
