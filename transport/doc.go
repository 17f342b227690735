// Package transport is an http.RoundTripper that shapes the traffic of a
// client by what servers say about their quotas.
//
//	client := &http.Client{Transport: &transport.Shaper{}}
//
// A [Shaper] reads RateLimit, RateLimit-Policy, RateLimit-Partition and
// Retry-After from every response, or whatever its server says instead (see
// package parse), keeps an account for each quota policy and
// partition of each origin, and delays or refuses the next requests before
// they leave the process. It has to be told nothing: what a server does not
// advertise is not shaped.
//
// A client that is there already gets one around what sends its requests:
//
//	client.Transport = &transport.Shaper{Base: client.Transport}
//
// # Waiting and refusals
//
// A request that would exceed an available quota waits in line until there is
// room, at most MaxDelay, and a little longer than the server says: one
// millisecond, or more where its answers take their time. One that cannot go in
// time is refused at once, with a [*RejectedError] that says when to come back:
//
//	resp, err := client.Do(req)
//	var rejected *transport.RejectedError
//	if errors.As(err, &rejected) {
//		retryLater(rejected.RetryAfter)
//	}
//
// The deadline of a request's context counts, and so does the Timeout of an
// http.Client. Neither a refusal nor the end of a context costs any quota.
//
// With nothing left of a window that lasts longer than [quota.ProbeInterval], ten
// minutes, one request in each such interval is sent all the same, to look whether
// that is still so. It may come back with a refusal of the server's.
//
// # Why did it wait?
//
// A [Trace] tells, for all requests or, by [WithTrace], for one:
//
//	shaper.Trace = &transport.Trace{
//		Held: func(i transport.HeldInfo) { log.Printf("%s waits: %v of %q", i.Request.URL, i.Reason, i.Policy) },
//	}
//
// Other hooks tell what was learned from each response, and what was ignored and
// why; examples/log writes all of them to log/slog. [Shaper.Check] says what would
// happen to a request without sending it. For a response at hand there is a
// program: go run ./examples/explain URL.
//
// # Who asks
//
// Where the server says how it partitions its quotas, by user, say, the Shaper
// rebuilds the partition key of a request before it is sent. Else quotas belong to
// the identity on the request: its credentials. A client that acts for several
// users, and whose requests do not show it, says so on their contexts:
//
//	ctx = partition.WithUserID(ctx, "alice")
//
// See Shaper.Dimensions and Shaper.Scope for all else.
//
// # Limits of one's own
//
// Shaper.Limits are met together with the server's quotas: none is charged unless
// all have room. Package quota has windows, buckets, concurrency and chains of
// them, and one limiter for each host or user:
//
//	perHost := quota.NewKeyed(newLimiter, quota.KeyedOptions{})
//	shaper.Limits = quota.By(perHost, func(r *http.Request) string { return r.URL.Host })
//
// # One request otherwise than the others
//
// [WithNoDelay] has a request refused rather than held, [WithPriority] puts it
// before others in line, and [WithBypass] lets it go whatever is known.
//
// # First steps in production
//
// In Mode [Observe] a Shaper learns and reports, and holds nobody: see
// examples/rollout. Package transporttest has a server to test against.
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
