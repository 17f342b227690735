// Package partition rebuilds the partition key that a request will be counted
// under, before the request is sent.
//
// A server that declares the dimensions of its partitions lets a client find the
// quota that a request will draw on (draft-ietf-httpapi-ratelimit-headers,
// editor's draft of April 2026, Sections 4 and 6):
//
//	declarations, _ := parse.Declarations(resp.Header, parse.Caps{})
//	dimensions := partition.Dimensions{"tenant": tenantOf}
//	req = req.WithContext(partition.WithUserID(req.Context(), "alice"))
//	for _, d := range declarations {
//		key, answer := dimensions.Key(d, req)
//	}
//
// The dimensions that the draft registers (Section 11.7) are computed without
// being asked for: method from the request, user_id and client_id from its
// context. A client adds its own with [Dimensions].
//
// The package keeps nothing and does no I/O. It neither guesses keys that it cannot
// compute, nor compares its answer with what the server says next: a prediction
// that fails is for the caller to notice.
package partition
