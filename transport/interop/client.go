package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/transport"
)

const (
	requests = 45 // four windows and a half
	workers  = 8
	half     = 10 * time.Millisecond // of the round trip, beside what the machine takes
	longest  = time.Minute           // that a client works
)

// A result is what became of one client's work. After the longest time a client gives up,
// and less than all requests were served.
type result struct {
	served, refused int64
	taken           time.Duration
}

// String is the end of a line of the table.
func (r result) String() string {
	if r.served < requests {
		return fmt.Sprintf("%d | %d of %d in %.0f s", r.refused, r.served, requests, r.taken.Seconds())
	}
	return fmt.Sprintf("%d | %.1f s", r.refused, r.taken.Seconds())
}

var errLongest = errors.New("the client gives up")

// work makes all requests with a plain retry loop, through rt.
func work(ctx context.Context, rt http.RoundTripper, url string, rnd *rand.Rand) (result, error) {
	var (
		left    atomic.Int64
		r       result
		mu      sync.Mutex // guards rnd and failure
		failure error
		wg      sync.WaitGroup
	)
	left.Store(requests)
	ctx, cancel := context.WithTimeoutCause(ctx, longest, errLongest)
	defer cancel()
	client := &http.Client{Transport: rt}
	began := time.Now()
	for range workers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				err := retry(ctx, client, url, &r, func(n time.Duration) time.Duration {
					mu.Lock()
					defer mu.Unlock()
					return time.Duration(rnd.Int64N(int64(n)))
				})
				if errors.Is(err, errLongest) || errors.Is(err, context.DeadlineExceeded) {
					return
				}
				if err != nil {
					mu.Lock()
					failure = errors.Join(failure, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	r.taken = time.Since(began)
	return r, failure
}

// retry is what most clients do: it sends a request until it is served. It waits for
// Retry-After; without that field it waits for a second, twice as long after each
// further refusal, and up to a quarter more.
func retry(ctx context.Context, client *http.Client, url string, r *result, jitter func(time.Duration) time.Duration) error {
	for attempt := 0; ; attempt++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/items", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		var wait time.Duration
		var rejected *transport.RejectedError
		switch {
		case errors.As(err, &rejected):
			wait = rejected.RetryAfter
		case err != nil:
			return err
		default:
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			switch resp.StatusCode {
			case http.StatusOK:
				atomic.AddInt64(&r.served, 1)
				return nil
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				atomic.AddInt64(&r.refused, 1)
				wait = advice(resp.Header.Get("Retry-After"))
			default:
				return fmt.Errorf("%s: %s", url, resp.Status)
			}
		}
		if wait <= 0 {
			wait = time.Second << min(attempt, 5)
			wait += jitter(wait / 4)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// advice reads Retry-After. A date, which has no fraction, is over when its second is.
func advice(field string) time.Duration {
	if s, err := strconv.ParseFloat(field, 64); err == nil && s < 3600 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(field); err == nil {
		return time.Until(at)
	}
	return 0
}

// distant adds half a round trip before and after an exchange.
type distant struct{ http.RoundTripper }

func (d distant) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(half)
	defer time.Sleep(half)
	return d.RoundTripper.RoundTrip(req)
}
