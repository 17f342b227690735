package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// ErrRejected matches every *RejectedError with errors.Is.
var ErrRejected = errors.New("transport: request rejected")

// A RejectedError is the error of a request that a Shaper refused. The request
// was not sent, its body is closed, and no quota was charged.
//
// RetryAfter says when a request may try, if that is before the end of the window: where a server does not tell its
// quota, and a request is to look whether the window that was inferred from its refusals is over, unless its
// Retry-After told that it lasts for more than ten minutes; or where what it tells as the end of a window turned out
// to be when a bucket is full.
//
// RetryAfter is 0 if nothing says when the wait would end: if a permit of a quota.Concurrency of
// your own is what is missing, for example. A loop that tries again needs a pause of its own
// then, or it spins.
//
// http.Client wraps it in a *url.Error: find it with errors.As. If the Timeout of
// an http.Client ends a request, the client returns an error of its own instead,
// which hides this one.
type RejectedError struct {
	Policy     string        // the policy that has too little left, or the name of the limiter of Shaper.Limits that refused; "" if it has none
	Partition  partition.Key // the key of its partition; "" if none is known
	Reason     quota.Reason  // why the request was refused
	Cause      quota.Reason  // what it would have waited for; equal to Reason if it was not allowed to wait
	RetryAfter time.Duration // when it is worth trying again, from the refusal on; 0: not known

	refusal *quota.Refusal // see Unwrap; nil: it says nothing more
}

func rejected(r *quota.Refusal) *RejectedError {
	e := &RejectedError{
		Policy:     r.Policy,
		Partition:  partitionKey(r.Key),
		Reason:     r.Reason,
		Cause:      r.Cause,
		RetryAfter: r.RetryAfter,
	}
	if r.Err != nil || r.Cause == quota.ReasonClosed {
		e.refusal = r
	}
	return e
}

// refuse returns what RoundTrip does for a request that was not admitted: see Shaper.Respond429.
func (x *exchange) refuse(err error) (*http.Response, error) {
	e, ok := err.(*RejectedError)
	if !ok || !x.s.Respond429 {
		return nil, err
	}
	text := e.Error() + "\n"
	resp := &http.Response{
		Status:        "429 Too Many Requests",
		StatusCode:    http.StatusTooManyRequests,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		Body:          io.NopCloser(strings.NewReader(text)),
		ContentLength: int64(len(text)),
		Request:       x.req,
	}
	if x.req.Method == http.MethodHead {
		resp.Body = http.NoBody
	}
	if e.RetryAfter > 0 {
		seconds := (e.RetryAfter-1)/time.Second + 1
		resp.Header["Retry-After"] = []string{strconv.FormatInt(int64(seconds), 10)}
	}
	return resp, nil
}

// Error returns the reason, the cause if it is another, the policy and RetryAfter:
//
//	transport: request rejected: max delay: quota exhausted, policy "api", retry after 3m0s
//
// It contains neither the partition key nor any part of the request.
func (e *RejectedError) Error() string {
	wait := e.RetryAfter
	if wait > time.Second {
		wait = wait.Round(time.Millisecond)
	}
	r := quota.Refusal{Policy: e.Policy, Reason: e.Reason, Cause: e.Cause, RetryAfter: wait}
	return ErrRejected.Error() + strings.TrimPrefix(r.Error(), "quota: not admitted")
}

// Is reports whether target is ErrRejected, or is context.DeadlineExceeded and
// Timeout is true.
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || target == context.DeadlineExceeded && e.Timeout()
}

// Unwrap returns the *quota.Refusal of a limiter of Shaper.Limits if it says more
// than this error: it is of a Custom limiter with an Err, or of a limiter that is
// closed. Else it returns nil.
func (e *RejectedError) Unwrap() error {
	if e.refusal == nil {
		return nil
	}
	return e.refusal
}

// Timeout reports whether the request was refused because it would have waited
// past the deadline of its context, or too long for its response to come before. (url.Error.Timeout calls this method, and does
// not unwrap errors.)
func (e *RejectedError) Timeout() bool { return e.Reason == quota.ReasonDeadline }
