package transport

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
)

// readRefusal finds refusals that the status and the limits do not show: by
// Shaper.Refused, and by the signs of vendors. It returns those signs that the body may
// have. If they are signs of a refusal, the lease is settled as that of a request whose
// answer is not known yet. If the response is a refusal, they are unrelated signs.
func (x *exchange) readRefusal(got *parse.Reading) (inBody []parse.Refusal) {
	resp, r := x.resp, &x.report
	if x.s.Refused == nil && resp.StatusCode < http.StatusBadRequest {
		return nil // none of the Refusals of the rows has such a status
	}
	if got.Cached || x.redirectedAway() {
		return nil
	}
	byStatus := r.Refused
	if x.s.Refused != nil {
		if refused, wait := x.s.Refused(resp); refused {
			r.Refused, r.Unsure = true, false
			if most := x.maxRetryAfter(); most < 0 || wait <= most {
				x.pauseFor(wait)
			}
		}
	}
	if r.Pause <= 0 && (byStatus || !r.Refused) {
		for _, sign := range x.directory.reader.Refusals(x.req.URL.Host, resp.StatusCode, resp.Header) {
			switch {
			case sign.Unrelated != byStatus:
			case sign.Field == "":
				if !sign.Unrelated || isJSON(resp.Header) {
					inBody = append(inBody, sign)
				}
			case sign.Unrelated:
				r.Refused = false
				return nil
			default:
				r.Refused, r.Unsure, r.Wait = true, false, max(r.Wait, sign.Wait)
			}
		}
	}
	if !x.hasContent(resp) {
		inBody = nil
	}
	switch {
	case byStatus:
		x.pauseFor(got.RetryAfter)
		return inBody
	case r.Refused:
		x.pauseFor(got.RetryAfter)
		return nil
	case len(inBody) > 0:
		r.Lost = true
	}
	return inBody
}

// isJSON reports whether the content of a message is JSON (RFC 8259, Section 11; RFC 6839,
// Section 3.1).
func isJSON(h http.Header) bool {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	return mediaType == "application/json" || strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
}

// pauseFor pauses what the response concerns for d at least.
func (x *exchange) pauseFor(d time.Duration) {
	if r := &x.report; d > max(r.Pause, 0) {
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

// watchRefusal looks for signs in the body of a response, as the caller reads it, never
// ahead of the caller: those of a refusal, or of one that has nothing to do with quota,
// which restrict takes back. Otherwise lesson, if it is not nil, holds. If the caller does
// not read the body, nothing is learned from it.
func (x *exchange) watchRefusal(resp *http.Response, signs []parse.Refusal, restrict restriction, lesson func(body []byte)) {
	origin, scope, kind, sent, changed := x.origin, x.ask.Scope, x.kindName(), x.lease.Sent(), x.changedLater()
	watchBody(resp, x.s.Caps, func(body []byte) {
		i := slices.IndexFunc(signs, func(sign parse.Refusal) bool { return bytes.Contains(body, []byte(sign.Text)) })
		switch {
		case i < 0:
			if lesson != nil {
				lesson(body)
			}
		case !signs[i].Unrelated:
			changed(origin.Refuse(time.Now(), sent, scope, kind, signs[i].Wait))
		case restrict != nil:
			changed(restrict(time.Now(), nil))
		}
	})
}
