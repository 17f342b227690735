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
}

func rejected(r *quota.Refusal) *RejectedError {
	return &RejectedError{
		Policy:     r.Policy,
		Partition:  partition.Key(r.Key),
		Reason:     r.Reason,
		RetryAfter: r.RetryAfter,
	}
}

// Error says why the request was refused. It names the policy, and neither the
// partition nor anything of the request.
func (e *RejectedError) Error() string {
	s := ErrRejected.Error() + ": " + e.Reason.String()
	if e.Policy != "" {
		s += fmt.Sprintf(", policy %q", e.Policy)
	}
	if e.RetryAfter > 0 {
		s += ", retry after " + e.RetryAfter.String()
	}
	return s
}

// Is reports whether target is ErrRejected; or context.DeadlineExceeded, and
// the request would have waited past the deadline of its context.
func (e *RejectedError) Is(target error) bool {
	return target == ErrRejected || target == context.DeadlineExceeded && e.Timeout()
}

// Timeout reports whether the request would have waited past the deadline of
// its context. (A *url.Error asks for this method and does not unwrap.)
func (e *RejectedError) Timeout() bool { return e.Reason == ReasonDeadline }
