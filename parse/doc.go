// Package parse turns the rate-limiting fields of an HTTP response into values.
//
// A [Reader] reads whatever a server sends, in every dialect, drops what is malformed
// or above a safety cap, and says what it dropped. The zero Reader works:
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
// [Policies], [Limits], [Declarations], [RetryAfter] and [Cached] read one field of
// the newest drafts each; [ReadProblem] reads the body of a refusal; [FormatPolicies]
// and its kin write what the others read.
//
// Reading is pure: no clock, no state, no I/O. Everything may be used from several
// goroutines, as long as nobody changes the header meanwhile. No input makes it
// panic, it takes time in proportion to the input, and what it returns does not keep
// the header alive.
//
// The package does not decide what a value means for the next request, does not
// join policies with service limits, and never reads trailers. The functions for one
// field look a header up by its canonical key (see [http.CanonicalHeaderKey]), as
// net/http stores it; a Reader recognises other spellings too.
//
// # Dialects
//
// Newest first; a response is read in one of them (see [Reader.Read]):
//
//   - draft-ietf-httpapi-ratelimit-headers (editor's draft, April 2026):
//     RateLimit with the parameters a, w, pk and c; RateLimit-Policy with q, qu,
//     w and pk; RateLimit-Partition with one parameter for each dimension;
//   - draft-ietf-httpapi-ratelimit-headers-08 to -11: RateLimit with r and t
//     where the editor's draft has a and w. In an item that has both, the newer
//     name wins;
//   - draft -07: RateLimit is a Dictionary, limit=100, remaining=50, reset=5;
//     RateLimit-Policy has no names, 100;w=10;
//   - draft -06 and older: RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset;
//   - a table of what vendors send ([Vendors], [Vendor]), and X-RateLimit in its many
//     spellings.
//
// Retry-After is read after RFC 9110, Section 10.2.3, and in the forms that servers
// send beside it; Age and Cache-Status, which tell a stored response from a fresh
// one, after RFC 9111 and RFC 9211; problems after RFC 9457.
//
// # Times
//
// Absolute times count from the Date of the response, so that neither clock needs to
// be right. A time in the past is zero. What a number means is decided by its size
// and by that Date (see [ResetKind]). A reset that is an instant of whole seconds is
// taken as the end of that second: several servers round down and refuse at the
// instant that they announce. Retry-After is taken as it stands.
//
// # Structured Fields
//
// The fields of the drafts are Structured Fields (RFC 9651). All field lines of one
// name make one List (Section 4.2 there); a field that does not parse as a List is
// ignored whole. In a List that does parse, each item stands for itself: one whose
// known parameter has a wrong type or a value out of range is dropped and its
// neighbours are kept. The editor's draft grants that for RateLimit-Policy
// (Section 2.1); this package reads all three fields so. Unknown parameters are
// ignored.
//
// A policy is named by a String (editor's draft, Sections 2.1, 3.1 and 4.1). A
// Token is accepted too, as draft -09 writes it in Appendix B.3.1; names are
// compared by their text, so that quota and "quota" are one policy. A Display
// String is not accepted: a name stays printable ASCII. An empty String is a name.
package parse
