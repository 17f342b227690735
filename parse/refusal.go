package parse

import (
	"net/http"
	"strings"
	"time"
)

// A Refusal is a sign by which an API refuses a request for lack of quota with another
// status than 429, and in other words than a service limit with nothing left; or, if it is
// Unrelated, a sign that a refusal has other reasons.
type Refusal struct {
	// Status is the status of the response, from 400 on.
	Status int

	// Field names the field with the sign. If empty, the body has it.
	Field string

	// Text is what the value of Field, or the body, contains.
	Text string

	// Wait is how long to wait at least where no Retry-After says it; twice as long
	// after each further refusal in a row. Zero means a second.
	Wait time.Duration

	// Unrelated says that a response with the sign says nothing about a quota that
	// comes back with time, although its status is 429: the request is larger than the
	// quota, for example, or the account has no credit left. Waiting does not help, and
	// no other request is refused for that reason alone.
	Unrelated bool
}

// Refusals returns the signs of refusals that a response from a host, with that status
// and header, shows in a field, or may show in its body. They come from the rows that
// apply: whose Hosts, if there are any, include the host, and whose Sign, if there is
// one, is in the header.
func (r *Reader) Refusals(host string, status int, h http.Header) (signs []Refusal) {
	if status < 400 {
		return nil
	}
	host = withoutPort(host)
	rows := r.rows().rows
	for i := range rows {
		row := &rows[i]
		if len(row.Refusals) == 0 || len(row.Hosts) > 0 && !row.serves(host) || !row.signed(h) {
			continue
		}
		for _, sign := range row.Refusals {
			if sign.Status == status && (sign.Field == "" || strings.Contains(h.Get(sign.Field), sign.Text)) {
				signs = append(signs, sign)
			}
		}
	}
	return signs
}
