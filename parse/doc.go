// Package parse turns the rate-limiting fields of an HTTP response into values.
//
// It reads RateLimit-Policy, RateLimit, RateLimit-Partition and Retry-After,
// drops what is malformed or above a safety cap, and says what it dropped:
//
//	if parse.Cached(resp.Header) {
//		return // what a cache says about quota is not current
//	}
//	caps := parse.Caps{} // every cap at its default
//	policies, _ := parse.Policies(resp.Header, caps)
//	limits, ignored := parse.Limits(resp.Header, caps)
//	wait, ok, _ := parse.RetryAfter(resp.Header, time.Now(), caps)
//
// Every function is pure: no clock, no state, no I/O. All of them may be called
// from several goroutines, as long as nobody changes the header meanwhile. No
// input makes them panic, and what they return does not keep the header alive.
//
// The package does not decide what a value means for the next request, does not
// join policies with service limits, and never reads trailers or bodies.
// A header is looked up by its canonical key (see [http.CanonicalHeaderKey]), as
// net/http stores it; other spellings in the map are not seen.
//
// # Dialects
//
// Two forms of the List fields are read, item by item:
//
//   - draft-ietf-httpapi-ratelimit-headers (editor's draft, April 2026):
//     RateLimit with the parameters a, w, pk and c; RateLimit-Policy with q, qu,
//     w and pk; RateLimit-Partition with one parameter for each dimension;
//   - draft-ietf-httpapi-ratelimit-headers-08 to -11: RateLimit with r and t
//     where the editor's draft has a and w. In an item that has both, the newer
//     name wins.
//
// Retry-After is read after RFC 9110, Section 10.2.3; Age and Cache-Status, which
// tell a stored response from a fresh one, after RFC 9111 and RFC 9211.
//
// # Structured Fields
//
// The three List fields are Structured Fields (RFC 9651). All field lines of one
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
