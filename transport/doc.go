// Package transport provides an http.RoundTripper that keeps a client within the
// rate limits that servers advertise.
//
//	client := &http.Client{Transport: &transport.Shaper{}}
//
// A [Shaper] reads RateLimit, RateLimit-Policy, RateLimit-Partition and
// Retry-After from every response, or the fields that the server uses instead (see
// package parse). It keeps an account for each quota policy and partition of each
// origin, and delays or refuses the next requests before they are sent. It needs no
// configuration: quotas that a server does not advertise are not enforced.
//
// To add a Shaper to an existing client, wrap the client's Transport:
//
//	client.Transport = &transport.Shaper{Base: client.Transport}
//
// # Waiting and refusals
//
// A request that would exceed an available quota waits in line until there is
// room, for at most MaxDelay. It waits a little longer than the server says: one
// millisecond, or more if the server's response times are long. Requests that need the
// same go by priority, then in the order in which they came, also where a response
// changes what they need. A request that cannot go in time is refused, with a
// [*RejectedError] that says when to try again: at once, if that is known. What those ahead in
// line for a server's quota will take is not: a request behind many waits for MaxDelay first.
//
//	resp, err := client.Do(req)
//	var rejected *transport.RejectedError
//	if errors.As(err, &rejected) {
//		retryLater(rejected.RetryAfter)
//	}
//
// With Respond429 it is answered with the status 429 instead, for libraries that retry after that.
//
// The deadline of the request's context limits the wait as well, and so does the
// Timeout of an http.Client. Both include the wait: if only the server's time is to be
// bounded, set ResponseHeaderTimeout of the http.Transport in Base instead. A request that has
// waited and has less time left than the server usually takes to answer is refused: sent, it
// would use up quota, and its answer would come too late.
//
// A request was not sent if its error is a RejectedError, or if its context ended while it
// waited. In that case the error is the context's cause, which a request that is on its way
// may end with, too. A hook tells the two apart: Trace.Admitted is called when the request
// leaves, Trace.Rejected when it never will. A request that was not sent is not charged to any
// quota.
//
// If nothing is left of a window that lasts longer than ten minutes, one request is
// sent in each ten minutes, to see whether that is still so (the draft, Section 9.5.1).
// The server may refuse it.
//
// # Why did it wait?
//
// The hooks of a [Trace] say so, for all requests or, with [WithTrace], for one:
//
//	shaper.Trace = &transport.Trace{
//		Held: func(i transport.HeldInfo) { log.Printf("%s waits: %v of %q", i.Request.URL, i.Reason, i.Policy) },
//	}
//
// Other hooks are called with what was learned from each response, and with what was
// ignored and why; examples/log writes all of it to log/slog. [Shaper.Check] says
// what would happen to a request, without sending it. To see what a response means,
// run go run ./examples/explain URL.
//
// A program that shows its user what is left takes it from the response:
//
//	ctx = transport.WithTrace(ctx, &transport.Trace{Learned: func(i transport.LearnedInfo) {
//		for _, l := range i.Limits {
//			show(l.Policy, l.Available, l.Window)
//		}
//	}})
//
// # Users and identities
//
// Two requests share a quota or do not. The server may say so; if not, the Shaper
// assumes it from what the requests look like. What to set if it assumes wrong:
//
//	which requests do not share                    set
//	---------------------------------------------  ----------------------------------------
//	those of different users, on one client        partition.WithUserID
//	those of different apps of one client          partition.WithClientID
//	those with another tenant, region or plan,     Shaper.Scope: add it to DefaultScope
//	  and the server declares nothing
//	the same, but the server declares it as a      Shaper.Dimensions: compute its value
//	  dimension of RateLimit-Partition
//	those for another operation of the API, which  Shaper.Like: add it to DefaultLike
//	  the path does not show (GraphQL, ?action=)
//	those with the same user and another token     nothing, with partition.WithUserID
//	those with another path or method              nothing: Shaper.Like sees it
//
// Scopes are apart from the start: what is learned of one says nothing of another.
// Kinds (Shaper.Like) are apart only as far as responses show it: a policy that is
// learned from one kind is assumed to concern others, until their responses leave it
// out. Dimensions change nothing unless the server declares them.
//
// If the server declares how it partitions its quotas, by user for example, the
// Shaper computes the partition key of a request before it is sent, also if the
// server never sends a key. Otherwise quotas are kept for each scope: for each user
// id in the context, or else for each set of credentials on the request. If a client
// acts for several users and its requests do not show which, put the user into the
// context:
//
//	ctx = partition.WithUserID(ctx, "alice")
//
// # The client's own limits
//
// Shaper.Limits adds limits of the client's own to the server's quotas: a request is
// charged to all of them when all have room, or to none. Package quota has windows,
// buckets, concurrency limits and chains of them, and one limiter for each host or
// user:
//
//	perHost := quota.By(
//		func(r *http.Request) string { return r.URL.Host },
//		func(host string) quota.Limiter {
//			return quota.PerSecond(2, 2, quota.Options{Name: "per host"})
//		})
//	all := quota.Always[*http.Request](quota.Concurrency(50, quota.Options{Name: "all"}))
//	shaper.Limits = quota.Together(perHost, all)
//
// The name of a limiter is the Policy of its refusals.
//
// # Options of one request
//
// [WithNoDelay] refuses a request that would be held, [WithPriority] puts it before
// others in line, and [WithBypass] sends it even if a quota is exceeded.
//
// # First steps in production
//
// In Mode [Observe] a Shaper learns and reports, and holds no request: see
// examples/rollout. Package transporttest has a server to test against.
//
// # What it learns
//
// A quota policy concerns every request of its origin and scope, with two
// exceptions: requests that do not match a literal of its RateLimit-Partition, and
// kinds of requests (see Shaper.Like) that were answered with fields that leave the
// policy out. So requests to GitHub are not held when its search quota is used up.
// A kind that was told of a policy keeps it until a RateLimit-Policy that lists all
// policies leaves it out. For each kind of requests the Shaper remembers what the
// server says that they cost, how many bytes of content they have, and the partition
// key if it cannot be predicted. Of a path that was never answered it assumes what
// paths with the same beginning have in common. What a response teaches applies to
// all later requests, and to those that wait.
//
// A kind that was never answered counts as one that every policy concerns. So while nothing is left of a quota that was
// told, for two seconds or longer, one request of such a kind looks: it departs, and its answer says whether the
// quota concerns its kind. The others of such kinds wait for that answer. If the quota does, that costs a refusal.
// So quotas of fewer than five requests have no looks. After a look that was refused none departs until the quotas that were
// used up since then have allowed 400 requests together, then 1,600, …, until one finds that the quota does not concern its kind. None
// does if eight kinds of paths with the same beginning share a policy.
//
// Some servers have a counter for each route, and say the same limit for all, under the same name or none. What is left
// shows that: requests of one kind leave the others as much as before. Once a request has waited, the answers to each
// kind are compared. If those to two kinds have shown it three times each, what is in flight on one kind does not hold
// the others. If that is contradicted, they have one account again, and it takes twice as much to be shown.
//
// A refusal that names no policy, such as a 429 with a Retry-After and nothing else,
// holds all requests of its scope at first. Kinds that were not refused look, one request
// at a time, whether they are concerned; those that are served are held no longer. So
// a method with a quota of its own does not slow the others down. If those that left after
// it are served, as where a server sheds load, it was refused alone, and the others go on. quota.Strategy
// says how, and HeldInfo.Inferred and ChangedInfo say when.
//
// Some servers say only in the body of a refusal how long to wait, or which policies were exceeded. A Shaper learns that while
// the caller reads the body, JSON or plain text, and never reads ahead; until then the refusal is followed by a back-off. See
// [parse.ReadBody].
//
// Memory for kinds is bounded: they take up at most a tenth of the memory that
// Accounts.MaxAccounts allows an origin, and Accounts.MaxTotal all origins.
//
// A policy whose name is empty is called “” (two quotation marks) in hooks and errors;
// "" is the policy without a name of older drafts.
//
// A response body must be read to its end or closed. If it is not, what it retains,
// such as a permit of a concurrency limit, is given back when the body is garbage
// collected. (In a bubble of testing/synctest this does not work, because the
// garbage collector must not use the bubble's timers and channels: close all bodies
// there.)
//
// # What it does not do
//
// A Shaper does not retry, cache, follow redirects or log, and it does not turn a
// response into an error: a 429 from the server is returned as it is, and affects
// the requests that follow.
//
// # Where it belongs
//
// In a chain of RoundTrippers, put caches and retries above a Shaper, and tracing
// below it. If the client acts for several users, add credentials above the Shaper,
// which must see whose request it is; otherwise add them below it, so that a token
// is still fresh when the request is sent after waiting.
//
// If Base retries, the Shaper sees one request and the last response of several: retries are
// not charged, and nothing holds them. A library that wraps its user's client cannot look
// below the user's Transport. It should let the user put a Shaper below the retries, and
// leave out its own:
//
//	if _, ok := client.Transport.(*transport.Shaper); !ok {
//		own.Transport = &transport.Shaper{Base: client.Transport}
//	}
//
// A Shaper above a Shaper does no harm to quotas if each has Accounts of its own, but a
// request may wait for MaxDelay in each, and the hooks of its WithTrace are called by both.
// With shared Accounts every request is charged twice.
//
// Two Shapers in one process know nothing of each other unless they have the same Accounts:
// with one API key, each would spend the whole quota. With the same Accounts, other fields,
// such as MaxDelay and Base, may differ.
//
// # Language models
//
// If a server says how many tokens are left, the cost of a request is estimated from its JSON
// body (see Shaper.Cost), and each model has accounts of its own. Most such quotas are buckets:
// tokens come back all the time, at the quota divided by its window, and a request departs as
// soon as those that it costs are there. So n requests of c tokens take n·c divided by that
// rate; those that have waited for MaxDelay by then are refused. Start no more workers
// than can be served in that time, or set a longer MaxDelay.
//
// # Drafts
//
// The Shaper follows draft-ietf-httpapi-ratelimit-headers, the editor's draft of
// April 2026 ("the draft" in comments), and reads the forms of all earlier drafts.
package transport
