package parse

import "net/http"

// Advice says when Retry-After is advice about quota.
type Advice uint8

const (
	// AdviceByRule is the rule for hosts that nothing else is known of. Beside
	// fields of a draft Retry-After counts on any status (editor's draft,
	// Section 7: it MUST take precedence). Alone, or beside other fields, it counts
	// on refusals and redirects: 403, 413, 429, 3xx and 5xx. Some servers
	// send it with every answer. It is the zero Advice.
	AdviceByRule Advice = iota

	// AdviceOnRefusals is for hosts that send it with every answer beside fields of
	// a draft: it counts on the status codes that it counts on alone.
	AdviceOnRefusals

	// AdviceAlways is for hosts that mean it on any status.
	AdviceAlways

	// AdviceNever is for hosts whose Retry-After is not about quota.
	AdviceNever
)

// On reports whether Retry-After is advice about quota on a response of that
// status. beside tells that valid fields of a draft stood beside it.
func (a Advice) On(status int, beside bool) bool {
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
