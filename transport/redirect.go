package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// redirected says what a redirect asks of the request that follows it to the
// same origin (RFC 9110, Section 10.2.3), and whether it is in vain to wait for
// that; nil, if it asks nothing. It concerns nobody else.
func (x *exchange) redirected() (pause *quota.Refusal, vain bool) {
	from := x.req.Response
	if from == nil || from.StatusCode/100 != 3 || x.forced() || !x.sameOrigin(from) || parse.Cached(from.Header) {
		return nil, false
	}
	wait, ok, _ := parse.RetryAfter(from.Header, x.began, x.s.Caps)
	if !ok || wait <= 0 {
		return nil, false
	}
	pause = &quota.Refusal{Cause: ReasonRetryAfter, Reason: ReasonRetryAfter, Wait: wait, RetryAfter: wait}
	deadline, limited := x.req.Context().Deadline()
	switch most := x.maxDelay(); {
	case most < 0:
		return pause, true
	case limited && x.began.Add(wait).After(deadline):
		pause.Reason = ReasonDeadline
		return pause, true
	case wait > most:
		pause.Reason = ReasonMaxDelay
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

// follow waits before a redirect is followed, where it asks for that. The
// instant that it returns is the present one.
func (x *exchange) follow() (now time.Time, err error) {
	pause, vain := x.redirected()
	if pause == nil {
		return x.began, nil
	}
	if x.req.Context().Err() != nil {
		return x.began, context.Cause(x.req.Context())
	}
	if vain {
		return x.began, pause
	}
	if x.ask.Held != nil {
		x.ask.Held(*pause)
	}
	if err := sleep(x.req.Context(), pause.Wait); err != nil {
		return x.began, err
	}
	if x.ask.MaxDelay = x.maxDelay() - pause.Wait; x.ask.MaxDelay == 0 {
		x.ask.MaxDelay = NoDelay
	}
	return time.Now(), nil
}

func (x *exchange) sameOrigin(resp *http.Response) bool {
	if resp.Request == nil || resp.Request.URL == nil {
		return false
	}
	from := rawOrigin{resp.Request.URL.Scheme, resp.Request.URL.Host}
	return from == rawOrigin{x.req.URL.Scheme, x.req.URL.Host} || from.normal() == x.directory.name
}

// sleep waits for d, or for the end of ctx.
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
