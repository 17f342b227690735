package transporttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
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
	if !o.never && !a.OmitRetryAfter {
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
	if !a.RetryAfterDate {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
		return
	}
	// Drop the fraction of now, as the Date field does.
	at := time.Unix(now.Unix()+seconds, 0)
	h.Set("Retry-After", at.UTC().Format(http.TimeFormat))
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
