package transporttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A RetryAfterForm is a form of the Retry-After field of a refusal. The field gives
// the time until the request could be served if no other request comes first. In
// every form, the API omits the field if the request can never be served because it
// costs more than a quota. The zero value is RetryAfterSeconds.
type RetryAfterForm int

const (
	// RetryAfterSeconds is a number of seconds.
	RetryAfterSeconds RetryAfterForm = iota

	// RetryAfterDate is an HTTP-date: the Date field plus the number of seconds
	// that RetryAfterSeconds would give.
	RetryAfterDate

	// NoRetryAfter omits the field.
	NoRetryAfter
)

// quotaExceeded is a problem (RFC 9457) of the type quota-exceeded (Section 8.1).
type quotaExceeded struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies"`
}

// refuse completes the Decision of a refused request.
func (a *API) refuse(d *Decision, o outcome) {
	d.Status = a.status()
	if !o.never {
		a.setRetryAfter(d.Header, o.now.Add(a.Skew), o.wait)
	}
	if a.Problem {
		d.Header.Set("Content-Type", "application/problem+json")
		d.Body = problem(d.Status, d.Violated)
		return
	}
	d.Header.Set("Content-Type", "text/plain; charset=utf-8")
	d.Body = []byte("quota exceeded\n")
}

func (a *API) setRetryAfter(h http.Header, now time.Time, wait time.Duration) {
	seconds := wholeSeconds(wait, a.Rounding)
	switch a.RetryAfter {
	case RetryAfterSeconds:
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	case RetryAfterDate:
		// Drop the fraction of now, as the Date field does.
		at := time.Unix(now.Unix()+seconds, 0)
		h.Set("Retry-After", at.UTC().Format(http.TimeFormat))
	}
}

func problem(status int, violated []string) []byte {
	body, err := json.Marshal(quotaExceeded{
		Type:     "https://iana.org/assignments/http-problem-types#quota-exceeded",
		Title:    "Request cannot be satisfied as assigned quota has been exceeded",
		Status:   status,
		Violated: violated,
	})
	if err != nil { // cannot happen with strings and a number
		panic(fmt.Sprintf("transporttest: writing a problem: %v", err))
	}
	return body
}
