// Package parse turns the rate-limiting fields of an HTTP response into values.
//
// A [Reader] reads the fields of every dialect, drops what is malformed or above a
// safety cap, and says what it dropped. The zero Reader works:
//
//	var r parse.Reader
//	got := r.Read(req.URL.Host, resp.StatusCode, resp.Header, time.Now())
//	if got.Cached {
//		return // what a cache says about quota is not current
//	}
//	use(got.Policies, got.Limits, got.Declarations)
//	if got.Advised {
//		wait(got.RetryAfter)
//	}
//
// [Policies], [Limits], [Declarations], [RetryAfter] and [Cached] each read one field
// of the newest drafts; [ReadBody] reads the body of a refusal; [FormatDeclarations]
// writes declarations.
//
// Reading is pure: no clock and no I/O. Everything may be used from several goroutines,
// as long as none of them changes the header. No input makes it panic, it takes time in
// proportion to the input, and its results do not keep the header alive.
//
// The package does not decide what a value means for the next request, does not join
// policies with service limits, and never reads trailers. It looks fields up by their
// canonical names (see [http.CanonicalHeaderKey]), as net/http stores them and
// http.Header.Add makes them.
//
// # Dialects
//
// Newest first; a response is read in one of them (see [Reader.Read]):
//
//   - draft-ietf-httpapi-ratelimit-headers (editor's draft, April 2026):
//     RateLimit with the parameters a, w, pk and c; RateLimit-Policy with q, qu,
//     w and pk; RateLimit-Partition with one parameter for each dimension;
//   - draft-ietf-httpapi-ratelimit-headers-08 to -11: RateLimit with r and t
//     in place of a and w. In an item that has both, the newer name wins;
//   - draft -07: RateLimit is a Dictionary, limit=100, remaining=50, reset=5;
//     RateLimit-Policy has no names, 100;w=10;
//   - draft -06 and older: RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset;
//   - a table of the fields of vendors ([Vendors], [Vendor]), among them X-RateLimit
//     in its many spellings.
//
// Retry-After follows RFC 9110, Section 10.2.3, and accepts other forms that servers
// send. Age and Cache-Status, which mark a stored response, follow RFC 9111 and RFC
// 9211; problems follow RFC 9457.
//
// # Times
//
// Absolute times are relative to the Date of the response, so that neither clock needs
// to be right. A time in the past is zero. The meaning of a number depends on its size
// and on that Date (see [Vendor.ResetIn]). An instant of whole seconds may
// stand for any time of that second. Limit.Window is the longest that it can mean, until the
// end of that second: several servers round down, and refuse at the instant that they
// announce. Others round up, so Limit.Resets is the instant as it was sent, from which a
// Shaper learns which of them it talks to. Retry-After is not rounded.
//
// If a quota is renewed unit by unit and the server says when it will be full, the window
// of the [Limit] is the time until the next unit, and its Full the time until all are
// available.
//
// # Structured Fields
//
// The fields of the drafts are Structured Fields (RFC 9651). All lines of a field make
// one List (Section 4.2 there). A field that is not a List is ignored whole. In a List,
// an item whose known parameter has a wrong type or a value out of range is dropped and
// its neighbours are kept. The editor's draft allows that for RateLimit-Policy (Section
// 2.1); this package reads all three fields so. Unknown parameters are ignored.
//
// A String names a policy (editor's draft, Sections 2.1, 3.1 and 4.1). A Token is
// accepted, too, as in draft -09, Appendix B.3.1; names are compared by their text, so
// that quota and "quota" are the same policy. A Display String is not accepted: a name
// is printable ASCII. An empty String is a name.
package parse
