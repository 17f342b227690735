package notes

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport"
)

// A RateLimitError says that a call was not served for lack of quota.
//
// It is context.DeadlineExceeded to errors.Is where the call would have waited past
// the deadline of its context. It wraps a *transport.RejectedError where the call
// was not made.
type RateLimitError struct {
	// RetryAfter is when it is worth trying again, from the call's end on. Zero
	// means that nobody knows.
	RetryAfter time.Duration

	// Sent reports whether the call was made and the API refused it, as it does
	// when another program uses the same quota. Else nothing was sent.
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

// Unwrap returns the error of the http.Client, if there is one.
func (e *RateLimitError) Unwrap() error { return e.err }

// limited turns a refusal of the Shaper, which the http.Client has wrapped, into a
// RateLimitError. Other errors stay as they are.
func limited(err error) error {
	var rejected *transport.RejectedError
	if !errors.As(err, &rejected) {
		return err
	}
	return &RateLimitError{RetryAfter: rejected.RetryAfter, err: err}
}

// A StatusError is a response with an unexpected status code.
type StatusError struct{ Code int }

func (e *StatusError) Error() string {
	return fmt.Sprintf("notes: %d %s", e.Code, http.StatusText(e.Code))
}

// check says what is wrong with a response.
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
