package quota

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Reason is the reason why a request was held or refused. These are causes, why it cannot
// go now:
//
//	ReasonExhausted    too little is left of an advertised quota
//	ReasonRetryAfter   the server sent a Retry-After
//	ReasonBackOff      the server refused without a Retry-After
//	ReasonFirstFlight  the origin, or a new account, has had no answer yet, and enough
//	                   requests are on their way
//	ReasonOwnLimit     a limit of the client's own
//	ReasonClosed       a limiter of the client's own was closed
//
// And these say why it did not wait for that, or no longer:
//
//	ReasonMaxDelay     the wait would be, or was, longer than the maximum delay
//	ReasonDeadline     the wait would end after the deadline of the context, or leave less
//	                   time until then than the origin usually takes to answer
//	ReasonQueueFull    too many requests are waiting
//
// A request that may not wait at all (NoDelay) is refused with the cause as its reason.
type Reason uint8

// The reasons. See Reason.
const (
	ReasonExhausted   Reason = iota + 1 // too little is left of an advertised quota
	ReasonRetryAfter                    // the server sent a Retry-After
	ReasonBackOff                       // the server refused without a Retry-After
	ReasonOwnLimit                      // a limit of the client's own
	ReasonMaxDelay                      // the wait would be, or was, longer than the maximum delay
	ReasonDeadline                      // the wait would end after the deadline of the context
	ReasonQueueFull                     // too many requests are waiting
	ReasonClosed                        // the limiter was closed
	ReasonFirstFlight                   // the origin, or a new account, has had no answer yet, and enough requests are on their way
)

// ErrClosed matches, with errors.Is, every *Refusal by a closed limiter.
var ErrClosed = errors.New("quota: limiter closed")

// String returns the reason in lower-case words.
func (r Reason) String() string {
	switch r {
	case ReasonExhausted:
		return "quota exhausted"
	case ReasonRetryAfter:
		return "retry after"
	case ReasonBackOff:
		return "backing off"
	case ReasonOwnLimit:
		return "own limit"
	case ReasonMaxDelay:
		return "max delay"
	case ReasonDeadline:
		return "deadline"
	case ReasonQueueFull:
		return "queue full"
	case ReasonClosed:
		return "limiter closed"
	case ReasonFirstFlight:
		return "first contact"
	}
	return "unknown reason"
}

// A Refusal is the error of a request that was not admitted. Nothing was charged.
//
// With errors.Is, a Refusal with ReasonDeadline matches context.DeadlineExceeded,
// and one by a closed limiter matches ErrClosed. A Refusal
// wraps its Err.
type Refusal struct {
	Policy     string        // name of the policy, or of the client's own limiter, that refused; "" if it has none
	Key        string        // bytes of its partition key; never part of the error's text. "": none is known
	Cause      Reason        // why the request could not go at once: see Reason
	Reason     Reason        // why it did not wait; equal to Cause if it was not allowed to wait
	Wait       time.Duration // until it can go, unless a response lets it go sooner; 0: not known
	RetryAfter time.Duration // after which a retry is useful, from the refusal on, at least Wait; 0: not known
	Inferred   bool          // inferred from the server's refusals: which requests they concern, or how much it allows: see Strategy
	Err        error         // Answer.Err of a Custom limiter; nil: none
}

// Error describes the refusal. The text does not contain the partition key.
func (r Refusal) Error() string {
	s := "quota: not admitted: " + inError(r.Reason)
	if r.Cause != 0 && r.Cause != r.Reason {
		s += ": " + inError(r.Cause)
	}
	switch {
	case r.Policy == "":
	case r.Cause == ReasonOwnLimit:
		s += fmt.Sprintf(" %q", r.Policy)
	case r.Cause == ReasonClosed:
		s += fmt.Sprintf(", own limit %q", r.Policy)
	default:
		s += fmt.Sprintf(", policy %q", r.Policy)
	}
	if r.RetryAfter > 0 {
		s += ", retry after " + r.RetryAfter.String()
	}
	if r.Err != nil {
		s += ": " + r.Err.Error()
	}
	return s
}

// inError names a reason in the text of an error, which may end with "retry after 3m0s".
func inError(r Reason) string {
	if r == ReasonRetryAfter {
		return "held by Retry-After"
	}
	return r.String()
}

// Is reports whether target is context.DeadlineExceeded and Reason is
// ReasonDeadline, or target is ErrClosed and Cause is ReasonClosed.
func (r *Refusal) Is(target error) bool {
	return target == context.DeadlineExceeded && r.Reason == ReasonDeadline ||
		target == ErrClosed && r.Cause == ReasonClosed
}

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// Timeout reports whether Reason is ReasonDeadline.
func (r *Refusal) Timeout() bool { return r.Reason == ReasonDeadline }
