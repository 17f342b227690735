package transport

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
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
	media := mediaType(h)
	return media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
}

// mediaType returns the media type of a message without its parameters.
func mediaType(h http.Header) string {
	media, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(media))
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

// hearing is what quota.Origin.Settle returns.
type hearing = func(now time.Time, policies []string, wait time.Duration) []quota.Change

// mayNamePolicies reports whether the body of a refusal may say which policies it concerns (the draft, Section 8).
func (x *exchange) mayNamePolicies(resp *http.Response) bool {
	return resp.StatusCode >= http.StatusBadRequest && x.hasContent(resp) && mediaType(resp.Header) == "application/problem+json"
}

// mayTellWait reports whether the response is a refusal of which only the body may say how long to wait.
func (x *exchange) mayTellWait(got *parse.Reading) bool {
	r := &x.report
	told := r.Pause != 0 || r.Wait != 0 || len(got.Policies)+len(got.Limits) > 0
	return r.Refused && !told && !got.Cached && x.hasContent(x.resp) && (isJSON(x.resp.Header) || mediaType(x.resp.Header) == "text/plain")
}

// watchRefusal looks at the body of a response, as the caller reads it, never
// ahead of the caller. Its signs may be those of a refusal, or of one that has nothing to do with quota,
// which hear takes back. Otherwise lesson, if it is not nil, holds, and the body may say what a refusal concerns and, if waits, for how
// long. If the caller does not read the body, nothing is learned from it.
func (x *exchange) watchRefusal(resp *http.Response, signs []parse.Refusal, hear hearing, waits bool, lesson func(body []byte)) {
	origin, scope, kind, sent, changed := x.origin, x.ask.Scope, x.kindName(), x.lease.Sent(), x.changedLater()
	arrived, status, caps := time.Now(), resp.StatusCode, x.s.Caps
	h := http.Header{"Date": slices.Clone(resp.Header["Date"]), "Content-Type": slices.Clone(resp.Header["Content-Type"])} // the caller may change its own
	watchBody(resp, caps, func(body []byte) {
		i := slices.IndexFunc(signs, func(sign parse.Refusal) bool { return bytes.Contains(body, []byte(sign.Text)) })
		if i < 0 && lesson != nil {
			lesson(body)
		}
		if i >= 0 && signs[i].Unrelated {
			if hear != nil {
				changed(hear(time.Now(), nil, 0))
			}
			return
		}
		if i < 0 && hear == nil {
			return
		}
		_, violated, wait := parse.ReadBody(status, h, body, arrived, caps)
		for i, name := range violated {
			violated[i] = listName(name)
		}
		if i < 0 && !waits {
			wait = 0
		}
		switch {
		case i >= 0:
			changed(origin.Refuse(time.Now(), sent, scope, kind, max(wait, signs[i].Wait)))
		case len(violated) > 0 || wait > 0:
			changed(hear(time.Now(), violated, wait))
		}
	})
}
