package transport

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// ErrRejected matches every *RejectedError with errors.Is.
var ErrRejected = errors.New("transport: request rejected")

// A Reason says why a request was held or refused. Its values are the constants
// of package quota: [quota.ReasonExhausted], [quota.ReasonRetryAfter],
// [quota.ReasonBackOff], [quota.ReasonFirstFlight] and [quota.ReasonOwnLimit] say
// why a request cannot go now; [quota.ReasonMaxDelay], [quota.ReasonDeadline] and [quota.ReasonQueueFull]
// say why it was refused without waiting any longer; [quota.ReasonClosed] says
// that a limiter of Shaper.Limits is closed.
type Reason = quota.Reason

// A RejectedError is the error of a request that a Shaper refused. The request
// was not sent, its body is closed, and no quota was charged.
//
// http.Client wraps it in a *url.Error: find it with errors.As. If the Timeout of
// an http.Client ends a request, the client returns an error of its own instead,
// which hides this one.
type RejectedError struct {
	Policy     string        // the policy that has too little left, or the name of the limiter of Shaper.Limits that refused; "" if it has none
	Partition  partition.Key // the key of its partition; "" if none is known
	Reason     Reason        // why the request was refused
	RetryAfter time.Duration // when it is worth trying again, from the refusal on; 0: not known

	own   bool           // Policy is the name of a limiter of Shaper.Limits
	cause *quota.Refusal // see Unwrap; nil: it says nothing more
}

func rejected(r *quota.Refusal) *RejectedError {
	e := &RejectedError{
		Policy:     r.Policy,
		Partition:  partitionKey(r.Key),
		Reason:     r.Reason,
		RetryAfter: r.RetryAfter,
		own:        r.Policy != "" && (r.Cause == quota.ReasonOwnLimit || r.Cause == quota.ReasonClosed),
	}
	if r.Err != nil || r.Cause == quota.ReasonClosed {
		e.cause = r
	}
	return e
}

// Error returns the reason, the policy and RetryAfter. It contains neither the
// partition key nor any part of the request.
func (e *RejectedError) Error() string {
	s := ErrRejected.Error() + ": " + e.Reason.String()
	switch {
	case e.Policy == "":
	case e.Reason == quota.ReasonOwnLimit:
		s += fmt.Sprintf(" %q", e.Policy)
	case e.own:
		s += fmt.Sprintf(", own limit %q", e.Policy)
	default:
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

// Is reports whether target is ErrRejected, or is context.DeadlineExceeded and
// Timeout is true.
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || target == context.DeadlineExceeded && e.Timeout()
}

// Unwrap returns the *quota.Refusal of a limiter of Shaper.Limits if it says more
// than this error: it is of a Custom limiter with an Err, or of a limiter that is
// closed. Else it returns nil.
func (e *RejectedError) Unwrap() error {
	if e.cause == nil {
		return nil
	}
	return e.cause
}

// Timeout reports whether the request was refused because it would have waited
// past the deadline of its context. (url.Error.Timeout calls this method, and does
// not unwrap errors.)
func (e *RejectedError) Timeout() bool { return e.Reason == quota.ReasonDeadline }
