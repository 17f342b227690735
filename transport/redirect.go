package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// redirectPause returns the Retry-After of a redirect, if the request follows one to
// the same origin (RFC 9110, Section 10.2.3), else nil. It holds this request alone.
// tooLate reports whether the request must be refused because it would wait longer
// than it may.
func (x *exchange) redirectPause() (pause *quota.Refusal, tooLate bool) {
	from := x.req.Response
	if from == nil || from.StatusCode/100 != 3 || x.unconditional() || !x.sameOrigin(from) || parse.Cached(from.Header) {
		return nil, false
	}
	wait, ok, _ := parse.RetryAfter(from.Header, x.began, x.s.Caps)
	if !ok || wait <= 0 {
		return nil, false
	}
	pause = &quota.Refusal{Cause: quota.ReasonRetryAfter, Reason: quota.ReasonRetryAfter, Wait: wait, RetryAfter: wait}
	deadline, limited := x.req.Context().Deadline()
	switch maxDelay := x.maxDelay(); {
	case maxDelay < 0:
		return pause, true
	case limited && x.began.Add(wait).After(deadline):
		pause.Reason = quota.ReasonDeadline
		return pause, true
	case wait > maxDelay:
		pause.Reason = quota.ReasonMaxDelay
		return pause, true
	}
	return pause, false
}

func (x *exchange) maxDelay() time.Duration {
	if x.ask.MaxDelay == 0 {
		return DefaultMaxDelay
	}
	return x.ask.MaxDelay
}

// waitForRedirect waits for the end of the redirect's pause, if there is one, and
// returns the current time. The wait counts towards MaxDelay.
func (x *exchange) waitForRedirect() (now time.Time, err error) {
	pause, tooLate := x.redirectPause()
	if pause == nil {
		return x.began, nil
	}
	if x.req.Context().Err() != nil {
		return x.began, context.Cause(x.req.Context())
	}
	if tooLate {
		return x.began, pause
	}
	if x.ask.Held != nil {
		x.ask.Held(*pause)
	}
	if err := sleep(x.req.Context(), pause.Wait); err != nil {
		return x.began, err
	}
	if x.ask.MaxDelay = x.maxDelay() - pause.Wait; x.ask.MaxDelay == 0 {
		x.ask.MaxDelay = NoDelay // 0 would mean the default
	}
	return time.Now(), nil
}

// sameOrigin reports whether a response came from the origin of the request.
func (x *exchange) sameOrigin(resp *http.Response) bool {
	if resp.Request == nil || resp.Request.URL == nil {
		return false
	}
	from := rawOrigin{resp.Request.URL.Scheme, resp.Request.URL.Host}
	return from == rawOrigin{x.req.URL.Scheme, x.req.URL.Host} || from.name() == x.directory.name
}

// sleep waits for d, or returns the cause of the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
