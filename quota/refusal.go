package quota

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A Reason says why something may not start now.
type Reason uint8

// The reasons. The first four say what stands in the way; the others why
// waiting for it was out of the question.
const (
	ReasonExhausted  Reason = iota + 1 // nothing is left of a quota, or too little
	ReasonRetryAfter                   // the server said when to come back
	ReasonBackOff                      // the server refused without saying when to come back
	ReasonOwnLimit                     // a limit of the client's own
	ReasonMaxDelay                     // it would wait, or has waited, longer than allowed
	ReasonDeadline                     // it would wait past the deadline of its context
	ReasonQueueFull                    // too many are waiting already
	ReasonClosed                       // the limiter was closed
)

// ErrClosed is what the refusal of a limiter that was closed is to errors.Is.
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
	}
	return "unknown reason"
}

// A Refusal is the error of what was not admitted. Nothing was charged.
//
// One because of the context's deadline is also context.DeadlineExceeded to
// errors.Is, and reports Timeout; one of a limiter that was closed is
// ErrClosed; and one whose Detail is an error is that error.
type Refusal struct {
	Policy     string        // what refused: the name of a policy, "" where it has none
	Key        string        // the bytes of its partition key; never part of the text
	Keyed      bool          // whether there is a key (an empty one is a key, too)
	Cause      Reason        // what stood in the way: one of the first four reasons, or ReasonClosed
	Reason     Reason        // why it was not waited for; Cause where nobody was willing to wait
	Wait       time.Duration // until it can go, unless an answer that is on its way lets it go before; 0: not known
	RetryAfter time.Duration // when it is worth coming back, from the refusal on; 0: not known. At least Wait
	Phrase     string        // what a Custom limiter has to say to people; part of the text
	Detail     any           // what it has to say to programs; nil: nothing
}

// Error describes the refusal without the key of the partition.
func (r Refusal) Error() string {
	s := "quota: not admitted: " + r.Reason.String()
	if r.Policy != "" {
		s += fmt.Sprintf(", policy %q", r.Policy)
	}
	if r.RetryAfter > 0 {
		s += ", retry after " + r.RetryAfter.String()
	}
	if r.Phrase != "" {
		s += ": " + r.Phrase
	}
	return s
}

// Is reports whether target is context.DeadlineExceeded and the refusal is
// because of a deadline, or ErrClosed and it is of a limiter that was closed.
func (r *Refusal) Is(target error) bool {
	return target == context.DeadlineExceeded && r.Reason == ReasonDeadline ||
		target == ErrClosed && r.Cause == ReasonClosed
}

// Unwrap returns the Detail, if it is an error.
func (r *Refusal) Unwrap() error {
	err, _ := r.Detail.(error)
	return err
}

// Timeout reports whether the refusal is because of the context's deadline.
func (r *Refusal) Timeout() bool { return r.Reason == ReasonDeadline }
