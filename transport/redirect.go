package transport

import (
	"net/http"
	"runtime"
	"time"
	"weak"

	"github.com/headway-go/headway/parse"
)

// noteRedirect keeps when the Retry-After of a redirect is over, for as long as the response is in use: the request that
// follows may come later, or more than once, if a transport above retries it.
func (x *exchange) noteRedirect(resp *http.Response, got *parse.Reading, now time.Time) {
	if resp.StatusCode/100 != 3 || !got.Advised || got.RetryAfter <= 0 {
		return
	}
	if now.IsZero() {
		now = time.Now()
	}
	key, s := weak.Make(resp), x.s
	s.redirects.Store(key, now.Add(got.RetryAfter))
	runtime.AddCleanup(resp, func(key weak.Pointer[http.Response]) { s.redirects.Delete(key) }, key)
}

// notBefore returns the end of the Retry-After of a redirect, if the request, which has
// a Response, follows one to the same origin (RFC 9110, Section 10.2.3), else the zero
// time. It holds this request alone, and counts towards MaxDelay. If a transport above has replaced the response, its
// Retry-After begins now.
func (x *exchange) notBefore() time.Time {
	from := x.req.Response
	if from.StatusCode/100 != 3 || !x.sameOrigin(from) {
		return time.Time{}
	}
	if end, ok := x.s.redirects.Load(weak.Make(from)); ok {
		return end.(time.Time)
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
