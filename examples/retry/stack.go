package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// retryAboveShaper returns a client that retries through a Shaper. go-retryablehttp
// retries, because it keeps the body and can send it again. The Shaper waits for quota,
// because it knows all requests that wait.
//
// The order matters. Above the Shaper, each retry is a request of its own: the Shaper
// counts it, makes it wait in line, and learns from its response. Below the Shaper,
// retries are not counted, and the pauses between them look like latency.
func retryAboveShaper(base http.RoundTripper) *http.Client {
	retrying := retryablehttp.NewClient()
	retrying.HTTPClient = &http.Client{Transport: &transport.Shaper{Base: base}}
	retrying.CheckRetry = checkRetry
	retrying.Backoff = backoff
	retrying.RetryWaitMin, retrying.RetryWaitMax = 100*time.Millisecond, 2*time.Second
	retrying.ErrorHandler = retryablehttp.PassthroughErrorHandler // the caller gets the last response
	retrying.Logger = nil
	return retrying.StandardClient()
}

// checkRetry does not retry a request that the Shaper refused: waiting cannot help, and
// the error says when to come back. Otherwise it uses the default policy, which retries
// all methods. A program that must not repeat a POST excludes it here.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if errors.Is(err, transport.ErrRejected) {
		return false, nil // return the Shaper's error unchanged
	}
	return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
}

// backoff returns 0 if the Shaper waits: after a 429, and after a Retry-After. The retry
// then enters the Shaper's line at once and keeps its place there. After other failures,
// backoff returns the default of go-retryablehttp.
func backoff(minWait, maxWait time.Duration, attempt int, resp *http.Response) time.Duration {
	if resp != nil {
		_, ok, _ := parse.RetryAfter(resp.Header, time.Now(), parse.Caps{})
		if ok || resp.StatusCode == http.StatusTooManyRequests {
			return 0
		}
	}
	return retryablehttp.DefaultBackoff(minWait, maxWait, attempt, nil)
}

// shaperAboveRetry is the wrong order, for comparison.
func shaperAboveRetry(base http.RoundTripper) *http.Client {
	retrying := retryablehttp.NewClient()
	retrying.HTTPClient = &http.Client{Transport: base}
	retrying.RetryWaitMin, retrying.RetryWaitMax = 100*time.Millisecond, 2*time.Second
	retrying.ErrorHandler = retryablehttp.PassthroughErrorHandler
	retrying.Logger = nil
	return &http.Client{Transport: &transport.Shaper{Base: &retryablehttp.RoundTripper{Client: retrying}}}
}
