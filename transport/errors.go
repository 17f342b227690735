package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// ErrRejected is what every refusal of a Shaper is to errors.Is.
var ErrRejected = errors.New("transport: request rejected")

// A Reason says why a request was held or refused.
type Reason = quota.Reason

// The reasons. The first four say what stands in the way of a request, the
// others why waiting for it was out of the question.
const (
	ReasonExhausted  = quota.ReasonExhausted  // too little is left of a quota
	ReasonRetryAfter = quota.ReasonRetryAfter // the server said when to come back
	ReasonBackOff    = quota.ReasonBackOff    // the server refused without saying when to come back
	ReasonOwnLimit   = quota.ReasonOwnLimit   // a limiter of Shaper.Limits
	ReasonMaxDelay   = quota.ReasonMaxDelay   // it would wait, or has waited, for longer than MaxDelay
	ReasonDeadline   = quota.ReasonDeadline   // it would wait past the deadline of its context
	ReasonQueueFull  = quota.ReasonQueueFull  // MaxQueue requests are waiting already
	ReasonClosed     = quota.ReasonClosed     // a limiter of Shaper.Limits is closed
)

// A RejectedError is the error of a request that a Shaper refused. The request
// has not left the process, its body is closed, and no quota was charged.
//
// http.Client wraps it in a *url.Error: find it with errors.As. When the
// Timeout of an http.Client ends a request, the client makes an error of its
// own, which hides this one.
type RejectedError struct {
	Policy     string        // the policy that has too little left; "" where the server named none
	Partition  partition.Key // the key of its partition; "" where none is known
	Reason     Reason        // why the request was refused
	RetryAfter time.Duration // when it is worth coming back, from the refusal on; 0 where nothing is known

	cause *quota.Refusal // of a limiter that says more; nil: of none
}

func rejected(r *quota.Refusal) *RejectedError {
	e := &RejectedError{
		Policy:     r.Policy,
		Partition:  partition.Key(r.Key),
		Reason:     r.Reason,
		RetryAfter: r.RetryAfter,
	}
	if r.Phrase != "" || r.Detail != nil || r.Cause == ReasonClosed {
		e.cause = r
	}
	return e
}

// Error says why the request was refused. It names the policy, and neither the
// partition nor anything of the request.
func (e *RejectedError) Error() string {
	s := ErrRejected.Error() + ": " + e.Reason.String()
	if e.Policy != "" {
		s += fmt.Sprintf(", policy %q", e.Policy)
	}
	if e.RetryAfter > 0 {
		wait := e.RetryAfter
		if wait > time.Second {
			wait = wait.Round(time.Millisecond)
		}
		s += ", retry after " + wait.String()
	}
	return s
}

// Is reports whether target is ErrRejected; or context.DeadlineExceeded, and
// the request would have waited past the deadline of its context.
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || target == context.DeadlineExceeded && e.Timeout()
}

// Unwrap returns the *quota.Refusal of a limiter of Shaper.Limits that says more
// about its refusal, such as a custom one; else nil.
func (e *RejectedError) Unwrap() error {
	if e.cause == nil {
		return nil
	}
	return e.cause
}

// Timeout reports whether the request would have waited past the deadline of
// its context. (A *url.Error asks for this method and does not unwrap.)
func (e *RejectedError) Timeout() bool { return e.Reason == ReasonDeadline }
