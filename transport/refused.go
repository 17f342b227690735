package transport

import (
	"bytes"
	"net/http"
	"time"

	"github.com/headway-go/headway/parse"
)

// readRefusal finds refusals that the status and the limits do not show: by
// Shaper.Refused, and by the signs of vendors. It returns those signs that the body may
// have. The lease is then settled as that of a request whose answer is not known yet.
func (x *exchange) readRefusal(got *parse.Reading) (inBody []parse.Refusal) {
	resp, r := x.resp, &x.report
	if got.Cached || x.redirectedAway() {
		return nil
	}
	if x.s.Refused != nil {
		if refused, wait := x.s.Refused(resp); refused {
			r.Refused = true
			if most := x.maxRetryAfter(); most < 0 || wait <= most {
				x.pauseFor(wait)
			}
		}
	}
	if !r.Refused && r.Pause <= 0 {
		for _, sign := range x.directory.reader.Refusals(x.req.URL.Host, resp.StatusCode, resp.Header) {
			if sign.Field == "" {
				inBody = append(inBody, sign)
				continue
			}
			r.Refused, r.Wait = true, max(r.Wait, sign.Wait)
		}
	}
	switch {
	case r.Refused:
		x.pauseFor(got.RetryAfter)
		return nil
	case len(inBody) > 0 && resp.Body != nil && resp.Body != http.NoBody:
		r.Lost = true
		return inBody
	}
	return nil
}

// pauseFor pauses what the response concerns for d at least.
func (x *exchange) pauseFor(d time.Duration) {
	if r := &x.report; d > r.Pause {
		r.Pause, r.WholeOrigin = pauseOf(x.resp.StatusCode, d)
	}
}

// maxRetryAfter returns the cap on a Retry-After; negative: none.
func (x *exchange) maxRetryAfter() time.Duration {
	if most := x.s.Caps.RetryAfter; most != 0 {
		return most
	}
	return parse.DefaultCaps().RetryAfter
}

// watchRefusal looks for signs of a refusal in the body of a response, as the caller
// reads it, never ahead of the caller. If the caller does not read the body, nothing is
// learned from it.
func (x *exchange) watchRefusal(resp *http.Response, signs []parse.Refusal) {
	if len(signs) == 0 {
		return
	}
	origin, scope, sent := x.origin, x.ask.Scope, x.lease.Sent()
	watchBody(resp, x.s.Caps, func(body []byte) {
		for _, sign := range signs {
			if bytes.Contains(body, []byte(sign.Text)) {
				origin.Refuse(time.Now(), sent, scope, sign.Wait)
				return
			}
		}
	})
}
