package parse

import "net/http"

// Advice says when Retry-After is advice about quota.
type Advice uint8

const (
	// AdviceByRule is the default. Beside valid fields of a draft Retry-After
	// counts on any status (editor's draft, Section 7: it MUST take precedence).
	// Alone, or beside other fields, it counts on 403, 413, 429, 3xx and 5xx only,
	// since some servers send it with every response. It is the zero Advice.
	AdviceByRule Advice = iota

	// AdviceOnRefusals is for hosts that send Retry-After with every response,
	// beside fields of a draft: it counts on 403, 413, 429, 3xx and 5xx only.
	AdviceOnRefusals

	// AdviceAlways is for hosts whose Retry-After counts on any status.
	AdviceAlways

	// AdviceNever is for hosts whose Retry-After is not about quota.
	AdviceNever
)

// on reports whether Retry-After is advice about quota on a response with a status.
// beside says that valid fields of a draft stand beside it.
func (a Advice) on(status int, beside bool) bool {
	switch a {
	case AdviceAlways:
		return true
	case AdviceNever:
		return false
	case AdviceByRule:
		if beside {
			return true
		}
	}
	switch status {
	case http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return true
	}
	return status/100 == 3 || status/100 == 5
}
