package transport

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// fillReport turns what the response says into x.report.
func (x *exchange) fillReport(got *parse.Reading) {
	status, r := x.resp.StatusCode, &x.report
	*r = quota.Report{Terms: r.Terms[:0], Figures: r.Figures[:0]} // with their memory
	if got.Cached {
		// The response costs nothing and is not current (the draft, Section 8.4).
		// A stored refusal still makes us back off, by our own times.
		r.Outcome, r.Refused = quota.Unsent, status == http.StatusTooManyRequests
		return
	}
	if len(got.Declarations) > 0 {
		x.directory.declare(got.Declarations)
	}
	inheritKeys(got.Policies, got.Limits)
	r.Refused = refused(status, got.Limits)
	r.Failed = status >= http.StatusInternalServerError
	switch {
	case got.Advised:
		if r.Pause, r.Reach = pauseOf(status, got.RetryAfter); r.Pause == 0 {
			r.AtOnce, r.Reach = true, quota.ReachNamed
		}
	case advisesTooMuch(status, got.Ignored):
		_, r.Reach = pauseOf(status, 0)
		r.Refused = true
	}
	if len(got.Policies)+len(got.Limits) == 0 {
		return // this does not mean that no policy concerns the request
	}
	r.Date = got.Date
	for _, p := range got.Policies {
		r.Terms = append(r.Terms, quota.Terms{
			Policy: quota.Policy{Name: p.Name, Quota: p.Quota, Unit: p.Unit, Window: p.Window, Keyed: p.HasKey},
			Key:    p.Key,
		})
	}
	for _, l := range got.Limits {
		r.Figures = append(r.Figures, quota.Figure{
			Policy: l.Policy, Key: l.Key, Keyed: l.HasKey, Available: l.Available, Window: l.Window, Cost: l.Cost,
			Resets: windowEnd(&l),
		})
	}
	r.LeftOut = x.learnKind(got)
}

// windowEnd is the instant at which a limit's window ends, if the server named one
// and it is not when the quota is full.
func windowEnd(l *parse.Limit) time.Time {
	if l.Full > 0 {
		return time.Time{}
	}
	return l.Resets
}

// refused reports whether the server refused the request for lack of quota: the
// status is 429; or it is 403 or 503, which are also used for that, and a service
// limit says that nothing is left. (A 404 may well be the last response of a window
// that is used up.)
func refused(status int, limits []parse.Limit) bool {
	if status == http.StatusTooManyRequests {
		return true
	}
	if status != http.StatusForbidden && status != http.StatusServiceUnavailable {
		return false
	}
	for i := range limits {
		if limits[i].Available == 0 {
			return true
		}
	}
	return false
}

// pauseOf returns how long Retry-After holds later requests, and which (RFC 9110,
// Section 10.2.3). With 5xx it is the whole origin, which is unavailable. With 3xx
// it is only the request that follows the redirect (see redirect.go), and with 413
// none: only the request that was too large is meant. Else it is the partitions
// that the response names.
func pauseOf(status int, wait time.Duration) (time.Duration, quota.Reach) {
	switch {
	case status >= 500:
		return wait, quota.ReachOrigin
	case status/100 == 3, status == http.StatusRequestEntityTooLarge:
		return 0, quota.ReachNamed
	}
	return wait, quota.ReachNamed
}

// advisesTooMuch reports whether a refusal has a Retry-After above its cap (the
// draft, Section 9.5.1). It counts as a refusal without one, and not as nothing.
func advisesTooMuch(status int, ignored []parse.Ignored) bool {
	if status != http.StatusForbidden && status != http.StatusTooManyRequests && status < http.StatusInternalServerError {
		return false
	}
	return slices.ContainsFunc(ignored, func(i parse.Ignored) bool {
		return strings.HasPrefix(i.Field, "Retry-After") && errors.Is(i.Err, parse.ErrCap)
	})
}

// inheritKeys gives a service limit without a partition key the key of its policy,
// if the response names the policy for one partition only. It changes limits.
func inheritKeys(policies []parse.Policy, limits []parse.Limit) {
	for i := range limits {
		l := &limits[i]
		if l.HasKey {
			continue
		}
		keys := 0
		for j := range policies {
			if p := &policies[j]; p.Name == l.Policy && p.HasKey {
				l.Key = p.Key
				keys++
			}
		}
		if l.HasKey = keys == 1; !l.HasKey {
			l.Key = "" // the limit may belong to any of several partitions
		}
	}
}
