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

// retryAboveShaper returns a client that retries, through a Shaper: who retries is
// go-retryablehttp, which has kept the body and can send it again; who waits for
// quota is the Shaper, which knows who else does.
//
// It has to be this order. Each retry is a request of its own: it is counted, it
// stands in line behind those that came before, and what its answer says is
// learned. Below the Shaper, retries would go uncounted, and the Shaper would take
// the time that they sleep for that of an exchange.
func retryAboveShaper(base http.RoundTripper) *http.Client {
	retrying := retryablehttp.NewClient()
	retrying.HTTPClient = &http.Client{Transport: &transport.Shaper{Base: base}}
	retrying.CheckRetry = checkRetry
	retrying.Backoff = backoff
	retrying.RetryWaitMin, retrying.RetryWaitMax = 100*time.Millisecond, 2*time.Second
	retrying.ErrorHandler = retryablehttp.PassthroughErrorHandler // the last answer is the caller's, as it came
	retrying.Logger = nil
	return retrying.StandardClient()
}

// checkRetry does not retry what the Shaper refused: it has found that waiting is in
// vain, and the error says when to come back. All else is as usual. (The usual policy
// retries any method. A program whose POSTs must not be made twice says so here.)
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if errors.Is(err, transport.ErrRejected) {
		return false, nil // the error stays what it is
	}
	return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
}

// backoff does not wait where the Shaper does: after a 429, and where the server
// says when to come back. The retry goes into the Shaper's line at once, and keeps
// its place there. Only for other failures is there a pause of go-retryablehttp's.
func backoff(least, most time.Duration, attempt int, resp *http.Response) time.Duration {
	if resp != nil {
		_, says, _ := parse.RetryAfter(resp.Header, time.Now(), parse.Caps{})
		if says || resp.StatusCode == http.StatusTooManyRequests {
			return 0
		}
	}
	return retryablehttp.DefaultBackoff(least, most, attempt, nil)
}

// shaperAboveRetry is the wrong order, to compare with.
func shaperAboveRetry(base http.RoundTripper) *http.Client {
	retrying := retryablehttp.NewClient()
	retrying.HTTPClient = &http.Client{Transport: base}
	retrying.RetryWaitMin, retrying.RetryWaitMax = 100*time.Millisecond, 2*time.Second
	retrying.ErrorHandler = retryablehttp.PassthroughErrorHandler
	retrying.Logger = nil
	return &http.Client{Transport: &transport.Shaper{Base: &retryablehttp.RoundTripper{Client: retrying}}}
}
