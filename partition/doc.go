// Package partition computes the partition key of a request before the request is sent.
//
// If a server declares the dimensions of its partitions, a client can find the quota that
// a request will draw on (draft-ietf-httpapi-ratelimit-headers,
// editor's draft of April 2026, Sections 4 and 6):
//
//	declarations, _ := parse.Declarations(resp.Header, parse.Caps{})
//	dimensions := partition.Dimensions{"tenant": tenantOf}
//	req = req.WithContext(partition.WithUserID(req.Context(), "alice"))
//	for _, d := range declarations {
//		key, answer := dimensions.Key(d, req)
//	}
//
// The dimensions that the draft registers (Section 11.7) are built in: method comes from
// the request, user_id and client_id from its context. A client adds others with
// [Dimensions].
//
// The package has no state and does no I/O. It does not guess keys that it cannot
// compute. The caller compares a computed key with the pk of the response.
package partition
