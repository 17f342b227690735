package parse

import (
	"net/http"
	"strings"
	"time"
)

// RetryAfter returns how long from now on Retry-After asks to wait (RFC 9110,
// Section 10.2.3), and what was ignored. ok is false where there is no Retry-After
// or nothing of it could be used; d is then 0.
//
// The field holds delay-seconds or an HTTP-date in any of the three forms of
// RFC 9110, Section 5.6.7; blanks around it are tolerated. A date counts from the
// Date of the response itself, so that neither clock needs to be right. now, read
// from the local wall clock, stands in only where there is no valid Date. A time in
// the past is a delay of 0.
//
// RFC 9110 allows a single field line. Of several, the longest delay that is valid
// and within Caps.RetryAfter counts: to obey it is to obey all of them.
func RetryAfter(h http.Header, now time.Time, caps Caps) (d time.Duration, ok bool, ignored []Ignored) {
	lines := h["Retry-After"]
	if len(lines) == 0 {
		return 0, false, nil
	}
	r := newReader("Retry-After", caps)
	if r.tooLong(lines) {
		return 0, false, r.ignored
	}
	for i, line := range firstOf(&r, lines) {
		r.item = i
		delay, valid := retryDelay(line, h, now)
		switch {
		case !valid:
			r.ignore("", ErrSyntax)
		case delay > caps.retryAfter():
			r.ignore("", ErrCap)
		default:
			d, ok = max(d, delay), true // d was 0: what is past is no delay
		}
	}
	return d, ok, r.ignored
}

// retryDelay reads one value of Retry-After. h is the header it stands in. The
// delay is negative for a time in the past.
func retryDelay(value string, h http.Header, now time.Time) (d time.Duration, ok bool) {
	value = strings.Trim(value, " \t")
	if n, ok := deltaSeconds(value); ok {
		return seconds(n), true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return at.Sub(origination(h, now)), true
}

// origination is when the response was made by its own clock (RFC 9110,
// Section 6.6.1), or now where it does not say.
func origination(h http.Header, now time.Time) time.Time {
	if dates := h["Date"]; len(dates) > 0 {
		if date, err := http.ParseTime(strings.Trim(dates[0], " \t")); err == nil {
			return date
		}
	}
	return now
}
