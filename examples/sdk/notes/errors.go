package notes

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// A RateLimitError is the error of a call that failed because the quota is exhausted.
//
// If the request was not sent, it wraps a *transport.RejectedError. If the call would
// have waited past the deadline of its context, it matches context.DeadlineExceeded with
// errors.Is.
type RateLimitError struct {
	// RetryAfter is the time after which to retry, from the end of the call. Zero
	// means unknown.
	RetryAfter time.Duration

	// Sent is true if the request was sent and the API refused it, which happens if
	// another program uses the same quota.
	Sent bool

	err error // of the http.Client; nil if Sent
}

// Error implements error.
func (e *RateLimitError) Error() string {
	s := "notes: rate limit"
	if e.RetryAfter > 0 {
		s += fmt.Sprintf(", retry after %v", e.RetryAfter.Round(time.Millisecond))
	}
	return s
}

// Unwrap returns the error of the http.Client, nil if there is none.
func (e *RateLimitError) Unwrap() error { return e.err }

// limited returns a RateLimitError if err wraps a refusal of the Shaper, otherwise err.
func limited(err error) error {
	var rejected *transport.RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	return &RateLimitError{RetryAfter: rejected.RetryAfter, err: err}
}

// A StatusError is a response with an unexpected status code.
type StatusError struct{ Code int }

// Error returns the code and its text.
func (e *StatusError) Error() string {
	return fmt.Sprintf("notes: %d %s", e.Code, http.StatusText(e.Code))
}

// check returns an error if the status code of a response is not 2xx.
func check(resp *http.Response) error {
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		wait, _, _ := parse.RetryAfter(resp.Header, time.Now(), parse.Caps{})
		return &RateLimitError{RetryAfter: wait, Sent: true}
	case resp.StatusCode/100 != 2:
		return &StatusError{Code: resp.StatusCode}
	}
	return nil
}
