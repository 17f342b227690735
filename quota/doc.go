// Package quota keeps what a client knows of quotas: what servers have said is left
// of each quota that they advertise, what is on its way to them, and the limits that
// the client sets itself. It decides when the next piece of work may start. It knows
// nothing of HTTP.
//
// # The client's own limits
//
// They are [Limiter]s: [PerSecond], [FixedWindow], [SlidingWindow], [TokenBucket] and
// [Concurrency], adapters for functions ([Custom]) and for a rate.Limiter ([Rate]),
// and what is made of them: [Chain], [By], [Together], [Channel]. Each grants leases,
// now or after waiting in a queue:
//
//	limiter := quota.PerSecond(5, 10) // and bursts of up to 10
//	lease, err := limiter.Acquire(ctx, 1) // waits; TryAcquire does not
//	...
//	defer lease.Release() // or Cancel, for work that was never begun
//
// Work that is refused, or that could not start in time, gets a [*Refusal], which
// says why and when to come back. In every struct of options, the zero of an optional
// field means its default and a negative number means no bound.
//
// # What a server advertises
//
// An advertised quota has one account for each origin, policy and partition key, or
// for each origin, policy and scope where the server names no partition. Package
// transport keeps the accounts for HTTP. Other clients do so themselves:
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
// accounts, and permits of the client's own limiters, at one instant: all of them are
// checked, then all are charged, or none is. Work that cannot start now waits in the
// line of the account that refused it, and holds nothing while it waits.
//
// What is known is bounded (see [Accounts]). It can be looked at with
// [Accounts.Snapshot], and carried from one run of a program to the next with
// [Accounts.Save] and [Accounts.Restore]. How it is spent is a [Strategy].
//
// # Inside
//
// Three packages below this one know nothing of each other or of this one:
//
//   - internal/window is the arithmetic of one advertised quota, and what Adaptive
//     learns of it: no lock, no clock, no waiting;
//   - internal/wait has the locks, the lines of waiting work, and admission: check
//     all, then charge all;
//   - internal/meter is the arithmetic of the client's own limiters.
//
// This package puts them together. An account (account.go) is a window, an owner, a
// place and a line. An origin (origin.go) admits work to its accounts, finds or
// creates them (find.go), and evicts them (evict.go). A report meets the accounts in
// settle.go, a refusal in backoff.go. A refusal may not say whom it concerns. Then one file finds out
// each of these:
//
//   - whom.go, with look.go: some kinds of work;
//   - resource.go: one resource of a kind;
//   - outage.go: some kinds, and not the whole origin;
//   - alone.go: one request only;
//   - beside.go: a limit that is not told;
//   - streams.go: a limit on answers that are streamed at a time.
//
// The words are those of draft-ietf-httpapi-ratelimit-headers (the editor's draft of
// April 2026, "the draft" below): quota policy, service limit, available quota,
// effective window, quota unit, partition key. Those of limiters are .NET's (see
// DOTNET.md): permit, lease, queue.
package quota
