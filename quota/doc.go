// Package quota keeps the accounts of a client: what servers have said is
// left of each advertised quota, what is on its way to them, and the limits
// that the client sets itself. It decides when the next piece of work may
// start, and knows nothing of HTTP.
//
// # Limits of the client's own
//
// They are [Limiter]s: [FixedWindow], [SlidingWindow], [TokenBucket],
// [Concurrency], adapters for a function ([Custom]) and for a rate.Limiter ([Rate]),
// and what is made of them: [Chain], [Keyed], [Channel]. Each grants leases, now or
// after waiting in its [Queue]:
//
//	limiter, err := quota.NewTokenBucket(quota.TokenBucketOptions{Permits: 5, PerPeriod: 5, Period: time.Second})
//	...
//	lease, err := limiter.Acquire(ctx, 1) // waits; TryAcquire does not
//	...
//	defer lease.Release() // or Cancel, for work that was never begun
//
// What is refused, or would be in vain to wait for, gets a [*Refusal], which says
// why and when to come back. In every struct of options, the zero of an optional
// field means its default and a negative number no bound.
//
// # What a server advertises
//
// An advertised quota has one account for each origin, policy and partition,
// or for each origin, policy and scope where the server names no partition.
// Package transport keeps them for HTTP; other clients do so themselves:
//
//	var accounts quota.Accounts // the zero value is ready
//	origin := accounts.Origin("https://api.example")
//	ask := quota.Ask{Claims: []quota.Claim{{Policy: "api", Units: 1}}}
//	var lease quota.Lease
//	err := origin.Admit(ctx, time.Now(), &ask, &lease)             // now, later, or a *Refusal
//	...                                                            // the work
//	origin.Settle(time.Now(), &lease, &quota.Report{Figures: ...}) // what the server said
//
// Or, as a Limiter, [Origin.Limiter]. A piece of work claims units of several
// accounts, and permits of limiters of the client's own, at one instant: all of
// them are checked, then all are charged, or none is. What cannot go now waits in
// the line of the account that refused it, holding nothing.
//
// What is known is bounded (see [Accounts]), can be looked at with
// [Accounts.Snapshot], and carried from one run of a program to the next with
// [Accounts.Save] and [Accounts.Restore]. How it is spent is a [Strategy].
//
// # Inside
//
// The package is three layers, each unaware of the one above it:
//
//   - the arithmetic of one account (account.go) and the strategy that says
//     when it may be charged next (pace.go, and what it has learned in share.go,
//     pulse.go and guess.go): no lock, no clock, no waiting;
//   - the books of an origin (origin.go, book.go, settle.go): which accounts
//     there are, how they are found (owner.go, index.go), and what a report
//     teaches them;
//   - admission (admit.go) and the lines of those who wait (line.go).
//
// The words are those of draft-ietf-httpapi-ratelimit-headers (the editor's
// draft of April 2026, "the draft" below): quota policy, service limit,
// available quota, effective window, quota unit, partition key. Those of
// limiters are .NET's (see DOTNET.md): permit, lease, queue.
package quota
