// Package fleet lets many processes use one quota together, as if they were one client.
//
//	f := fleet.New(store, fleet.Options{})
//	defer f.Close()
//	accounts := &quota.Accounts{Peers: f, Secret: &secret}
//	client := &http.Client{Transport: &transport.Shaper{Accounts: accounts}}
//
// A server's quota is what the processes behind one API key have together. Each of them
// sees what is left, but not what the others are about to send. With a fleet, they tell
// each other through a Store: Redis (package redisstore, a module of its own), or a Hub in
// the same process.
//
// # What is told
//
// A process says what it has, what it wants, and what the server said last (exchange.Turn);
// it hears what it has now (exchange.Grant). It keeps a few units in stock, so that most
// requests depart without asking. After a window, one request of all processes finds out
// what there is. A Retry-After that one is told holds all. If the refusal has no figure, or
// one that says that more than half of the quota is left, one other process lets a request
// depart a second later nevertheless, because the hold may be of the first process alone: if
// it is served, the others go on, and for ten minutes what holds that process holds no other.
// Units that a process has and does not use are free again when it says so, when the window
// ends, or after 30 s.
//
// To a server that has not answered any process yet, the processes together send ten first requests, one
// each. The other processes wait for an answer, at most for a second, and then for units of the accounts
// that it named, of which they know only the hashes. If it named none, they all go. A process that starts
// later asks for units of those accounts before its first request. If one of them has nothing left for
// longer than a minute, it sends that request after a second: the account may not concern it.
//
// If requests of several processes wait, the more urgent ones go first, and of these the
// ones of the process that has had the fewest units lately.
//
// A store sees neither origins, nor policies, nor keys, nor users: only hashes of them
// under quota.Accounts.Secret, and numbers. Processes share what has the same secret and
// the same scope; the default scope of package transport depends on the secret, too.
//
// # Without the store
//
// No request ever waits for the store for longer than 100 ms (or four round trips, if
// that is more). If there is no answer in time, the process is alone: it uses up its
// stock, and then assumes that the other processes take their share of what is left.
// It tries to reach the store again after 100 ms to 200 ms, and after up to 10 s later on.
// A store that is not there when the program starts is nothing else.
//
// Requests that do not wait at all, or less long than the store takes to answer, depart if they
// could without a fleet. The others are told of it.
//
// Those that reach the store keep, of what is left of a window, the part of each process
// that was to come and has not, until its lease ends. While the server's figures show other
// clients, cut off or strangers, no more than two fifths of what is left are out at once.
//
// What a store carries out more than 150 ms after it was sent grants nothing. A store that
// has lost everything hears from each process what it knows, and hands out in the first
// two seconds only the part that belongs to the processes that are back.
//
// # What it cannot do
//
// Other clients that are not in the fleet are noticed by the figures only. Quotas that are
// inferred from refusals stay with each process. Whether a server gives its quota back at
// the end of a window or before, as it was spent, is found out from its figures: a request
// may be refused for it. A server that gives it back unit by unit costs several exchanges
// with the store for each request; that it does is seen within a window of two seconds or more.
package fleet
