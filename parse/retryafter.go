package parse

import (
	"net/http"
	"time"
)

// RetryAfter returns how long from now on Retry-After asks to wait (RFC 9110,
// Section 10.2.3), and what was ignored. ok is false where there is no Retry-After
// or nothing of it could be used; d is then 0.
//
// The field holds delay-seconds or an HTTP-date in any of the three forms of
// RFC 9110, Section 5.6.7; blanks around it are tolerated. So is what servers send
// beside the standard: decimals, a Unix time, UTC for GMT, and the other forms of a
// reset (see [ResetKind]). A date counts from the Date of the response itself, so
// that neither clock needs to be right. now, read from the local wall clock, stands
// in only where there is no valid Date. A time in the past is a delay of 0.
//
// RFC 9110 allows a single field line. Of several, the longest delay that is valid
// and within Caps.RetryAfter counts: to obey it is to obey all of them.
//
// Where there is a valid Retry-After-Ms or X-Ms-Retry-After-Ms, in milliseconds, it
// counts and Retry-After is not looked at: it is the same delay, told more finely
// (Azure).
func RetryAfter(h http.Header, now time.Time, caps Caps) (d time.Duration, ok bool, ignored []Ignored) {
	c := clock{header: h, now: now}
	for i := range retryAfterFields {
		f := &retryAfterFields[i]
		lines := h[f.key]
		if len(lines) == 0 {
			continue
		}
		r := newListReader(f.name, caps)
		d, ok = r.retryAfter(lines, f.kind, &c)
		if ignored = append(ignored, r.ignored...); ok {
			break
		}
	}
	return d, ok, ignored
}

// retryAfterFields are the fields that say when to come back, the finest first.
// Read-only.
var retryAfterFields = [...]struct {
	key, name string
	kind      ResetKind
}{
	{"Retry-After-Ms", "Retry-After-Ms", DeltaMillis},
	{"X-Ms-Retry-After-Ms", "x-ms-retry-after-ms", DeltaMillis},
	{"Retry-After", "Retry-After", AnyReset},
}

// retryAfter reads the field lines of one of them.
func (r *listReader) retryAfter(lines []string, kind ResetKind, c *clock) (d time.Duration, ok bool) {
	if r.tooLong(lines) {
		return 0, false
	}
	for i, line := range firstOf(r, lines) {
		r.item = i
		after, valid := readDelay(line, kind, c)
		switch {
		case !valid:
			r.ignore("", ErrSyntax)
		case after.d > r.caps.retryAfter():
			r.ignore("", ErrCap)
		default:
			d, ok = max(d, after.d), true // d was 0: what is past is no delay
		}
	}
	return d, ok
}
