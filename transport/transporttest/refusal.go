package transporttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// A RetryAfterForm is a form of the Retry-After field of a refusal: the time
// until the request could be served if no other came between. A request that can
// never be served, because it costs more than a quota, is refused without the
// field in every form.
type RetryAfterForm int

const (
	// RetryAfterSeconds is a number of seconds.
	RetryAfterSeconds RetryAfterForm = iota

	// RetryAfterDate is an HTTP-date. It lies as many seconds after the Date
	// field as RetryAfterSeconds would say.
	RetryAfterDate

	// NoRetryAfter leaves the field out.
	NoRetryAfter
)

// quotaExceeded is a problem of that type (Section 8.1, RFC 9457).
type quotaExceeded struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies"`
}

// refuse completes a Decision that is a refusal.
func (a *API) refuse(d *Decision, v verdict) {
	d.Status = a.status()
	if !v.never {
		a.setRetryAfter(d.Header, v.now.Add(a.Skew), v.wait)
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
	seconds := a.Rounding.seconds(wait)
	switch a.RetryAfter {
	case RetryAfterSeconds:
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	case RetryAfterDate:
		// The Date field says now.Unix(): a fraction of a second is cut off both.
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
	if err != nil { // strings and a number can always be written
		panic(fmt.Sprintf("transporttest: writing a problem: %v", err))
	}
	return body
}
