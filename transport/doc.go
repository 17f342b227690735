// Package transport is an http.RoundTripper that shapes the traffic of a
// client by what servers say about their quotas.
//
//	client := &http.Client{Transport: &transport.Shaper{}}
//
// A Shaper reads RateLimit, RateLimit-Policy, RateLimit-Partition and
// Retry-After from every response, or whatever its server says instead (see
// package parse), keeps an account for each quota policy and
// partition of each origin, and delays or refuses the next requests before
// they leave the process. It has to be told nothing: what a server does not
// advertise is not shaped.
//
// A request that would exceed an available quota waits in line until there is
// room, at most MaxDelay. One that cannot go in time is refused at once, with
// a *RejectedError that says when to come back:
//
//	resp, err := client.Do(req)
//	var rejected *transport.RejectedError
//	if errors.As(err, &rejected) {
//		retryLater(rejected.RetryAfter)
//	}
//
// # What it learns
//
// A quota policy concerns every request of its origin and identity, except those
// that do not match a literal of its RateLimit-Partition, and kinds of requests
// (see Shaper.Like) that have been answered with fields that leave it out: GitHub's
// search being used up does not hold the rest. For each kind it remembers what the
// server says that requests cost, what their contents weigh, and the partition key
// where none can be predicted. What an answer teaches counts from then on.
//
// A body that is neither read to its end nor closed, as it must be, gives back what
// it holds when it is garbage. (The garbage collector does that outside of a bubble
// of testing/synctest, whose timers and channels it must not touch: in there, close
// all bodies.)
//
// # What it does not do
//
// It does not retry, cache, follow redirects or log, and does not turn a
// response into an error: a 429 from the server is returned as it is. Its word
// counts for the requests that follow.
//
// # Where it belongs
//
// In a chain of RoundTrippers, caches and retries stand above a Shaper, and
// tracing below it. What adds credentials stands above it when the client acts
// for several users, since the Shaper must see who asks; else below it, so
// that a token is fresh when the request leaves.
//
// # Drafts
//
// The Shaper follows draft-ietf-httpapi-ratelimit-headers, the editor's draft
// of April 2026 ("the draft" in comments), and reads the forms of all before it.
package transport
