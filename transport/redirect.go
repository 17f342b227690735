package transport

import (
	"net/http"
	"time"
)

// notBefore returns the end of the Retry-After of a redirect, if the request, which has
// a Response, follows one to the same origin (RFC 9110, Section 10.2.3), else the zero
// time. It holds this request alone, and counts towards MaxDelay.
func (x *exchange) notBefore() time.Time {
	from := x.req.Response
	if from.StatusCode/100 != 3 || !x.sameOrigin(from) {
		return time.Time{}
	}
	now := time.Now()
	got := x.directory.reader.Read(x.req.URL.Host, from.StatusCode, from.Header, now)
	if !got.Advised || got.RetryAfter <= 0 {
		return time.Time{}
	}
	return now.Add(got.RetryAfter)
}

// sameOrigin reports whether a response came from the origin of the request.
func (x *exchange) sameOrigin(resp *http.Response) bool {
	if resp.Request == nil || resp.Request.URL == nil {
		return false
	}
	from := rawOrigin{resp.Request.URL.Scheme, resp.Request.URL.Host}
	return from == rawOrigin{x.req.URL.Scheme, x.req.URL.Host} || from.name() == x.directory.name
}
