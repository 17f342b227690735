package quota

// A Strategy says how advertised quotas are spent: when a request departs, among
// those that the server's figures leave room for. This page says what is done, and what
// it wins. Each rule with its bounds is in the comment of package
// quota/internal/window, under the same headings.
//
// # Plain
//
// Spend what the server said is left, wait for the end of the effective window,
// send one probe, and spend what its answer says is left. With
//
//	a  the available quota of the figure in force, in quota units
//	f  units in flight: departed and not answered
//	s  the departure of the request whose answer opened the window
//	w  the effective window
//	r  the round trip of that answer; r₀ the shortest recent one
//	g  the guard, max(r - r₀, r/4), from 1 ms to 100 ms
//
// the rules are
//
//	n units may depart while  a - f >= n
//	the window ends at        s + w + g
//	then one request departs, or what was left over; the others wait for its answer
//
// The end is counted from the departure and not from the arrival of the answer: a
// later request takes about as long on its way as that one did, so it arrives when
// the server's window is over. The guard is there because one trip may be shorter
// than another. Of several answers, the earliest end counts.
//
// Nothing departs before a Retry-After has passed. A bucket, of which the server says when
// it will be full (Figure.Full), has no window: n units may depart when they are there.
//
// # Adaptive
//
// The same, and habits of servers are learned, nearly all from answers that come anyway.
// All but rounding are given up when an answer contradicts them. The figures are those of rows of the
// scoreboard (examples/simulate), Plain → Adaptive: the part of the best possible
// goodput, or refusals for each 100 requests.
//
//  1. Guard. The quickest trips show how late a window can have begun: g becomes shorter.
//     "fixed 20/1s, 200ms" .944 → .967.
//
//  2. Rounding. Servers tell seconds, or an instant in whole seconds, rounded up or down.
//     The shorter meaning is tried once, and a refusal shows the longer one.
//     "fixed 20/1s, X" .332 → .994; "fixed 20/1s down" 226 → 0 refused. Where an instant is rounded
//     to the nearest second, both meanings occur: "fixed 5/2s nearest, X" .576 → .984. Some servers round
//     the end up and the present down, and say 2 s of a window of a second. One request that departs after a second shows it:
//     those that arrive at random, at four fifths of 50 a second, waited 49 s, and wait .03 s (TestArrivalsAtRandom of
//     package transport).
//     Where the server says how much is left, but not until when, how long windows are is learned from when
//     all is there again: "fixed 10/1s, no reset" .669 → .973, "fixed 50/5s, no reset" .952 → .995.
//     If slow answers show that they tell what is true when they end, windows are counted from these:
//     20 in 10 s with answers of 0.3 to 4 s, 5.3 → 0 refused (TestWindowsOfSlowAnswers of package transport).
//
//  3. Refill. Units may come back one by one, as they were spent, or as two windows are
//     weighed, before the end that is told. One request tries after W/q, the window by the
//     quota of the policy; if it is served, others do. Or our own log of what departed
//     says when units are back. "gcra 20/1s" .049 → .817, "two buckets 100/10s" .550 → .998,
//     "two buckets, others take 30 %" .547 → .999, "two buckets, beside a loop" .119 → .763.
//     Where two windows are weighed and a Retry-After lasts until the end of one, as many servers say, all
//     was spent in one window and refused in the next. Now the first request after a window waits for
//     a unit: 60 a minute, requests waited 8.1 s, and wait 1.2 (TestArrivalsAtRandom of package transport).
//     Some buckets get their units in lumps, such as Spring's gateway at each whole second. Two refusals and what the next
//     requests find show that: "Spring, whole seconds" 73 → 1.2 refused.
//     Where requests cost more than a unit, a refusal shows that units come back one by one: then they wait
//     until there are enough. "bucket 60/60s, all cost 10" 96 → .6 refused.
//     The log also decides where answers take as long as windows, so that figures are old
//     when they come, "20/1s, 1s to serve" .548 → .978, "burst 20 of 600/60s, 2s to serve"
//     .632 → .989; where they take long, and units come back as they were spent, "log 60/10s, 2s to
//     serve" .761 → .977; and where a server never says that nothing is left, but refuses: "figures
//     mean headroom" .864 → .977, 8.3 → .5 refused.
//
//  4. Contention. A quota that falls by more than was served to us has other users. Then
//     no more than our part of what is left is in flight at a time, so that processes that
//     cannot talk do not refuse each other. "8 processes" 41 → .5 refused.
//
//  5. Inference. A server that says nothing of its quotas but refuses now and then is taken
//     to allow what it served between two refusals, in that time. One unit more is tried
//     now and then. What was served before the first refusal may be the rest of a window that an
//     earlier run began, so in the next one a request looks soon whether there is more.
//     Where a window began with little or nothing although a Retry-After told its end, units are spread over windows: 60 a minute
//     by two windows weighed, requests waited 379 s, and wait 17 (TestArrivalsAtRandom of package transport).
//     Without Retry-After, trials find how long windows are. "says nothing at all, 100/10s" .613 → .778.
//     A pause that is much longer than the windows is of a second quota, and does not change the first: 10 a second and 200 a
//     minute .38 → 1.05 of what a loop is served (TestTwoBareQuotas of package transport).
//     Of windows below 4 s, our own log says when units are back, once a refusal shows that they slide: where
//     requests arrive at random, at four fifths of 100 a second, they waited 74 s, and now .1 s on average
//     (TestArrivalsAtRandom of package transport).
//     "only Retry-After, 100/10s" 47 → 2.6 refused. If the server seems to bound how many
//     requests are in flight instead, no more than so many are, and the Retry-After of one too
//     many holds no other one. A bound that such refusals bring down to half is none, and
//     one that has gone up to 120 is not kept. "5 in flight, 300ms, 10s" .046 → .979,
//     beside figures "1000/10s, untold 5 in flight" .317 → .982. If hold follows hold, with
//     a request or two between them, units come back one by one: then requests are spaced,
//     as closely as is not refused. "only Retry-After, gcra 1/1s" 946 → 5.8 refused. So also beside figures: if
//     requests are refused although the figures say that much is left, the limit that refuses
//     them is inferred. "replicas that lag" 41 → 9.1 refused. "20,000 a day, untold 100/10s"
//     49 → 5.2 refused.
//
//  6. Count. Of a policy without figures we keep our own count. If a refusal contradicts
//     it, it begins anew, and then is a bucket that gains a unit each W/q. Some servers tell figures only
//     where they refuse: such a refusal counts, too. But if our own log of what departed had no room for what was
//     refused, units come back as they were spent, and no more depart than it says. Requests that arrive at random, at four fifths of
//     50 a second, waited 48 s for a log, and wait .1 s; 18 s for two windows weighed that tell figures only
//     where they refuse, and wait .4 s (TestArrivalsAtRandom of package transport).
//     If two such refusals in three windows hold for more than half of one, units are spread over windows:
//     100 in 10 s by two windows weighed, requests waited 25 s, and wait .6.
//     If no answer names the policy any more, one request tries after some windows whether it is
//     still meant; at once, where each answer named it before. If more is served than it allows,
//     it is forgotten.
//
//  7. Soft quotas. Some servers say that nothing is left and serve on. What is served so in
//     the same window shows it, and the quota holds nothing any more until a refusal.
//     "soft quota" .296 → 1.
//
// # Which work a refusal concerns
//
// A refusal that names no policy may concern all work of its scope, or some kinds of it: see
// Ask.Kind. It holds all of them, but kinds that it did not refuse may look with one
// request now and then; also one that would be refused, because it does not wait so long. One that is served is
// free, and has holds and an inferred quota of its own from then on. "one method, 10/30s" .501 → .990. So also beside a policy without a
// name that others are told, if much of it is left: one route of three that always answers with a Retry-After
// of a minute and nothing else .149 → 1 of what a loop is served (TestBesideDeadRoute of package
// transport). So may the resources of one kind, such as channels, once one of them is refused with a Retry-After: where one
// has a limit of 5 in 10 s, the others .025 → 1 of what a loop is served
// (TestResourceDoesNotHoldOthers). If each of them is told what is left of a quota of its own, package transport
// finds that out: beside one that is used up, with 100 in an hour each, the others waited for 30 minutes, .75 → 1
// (TestToldResourceDoesNotHoldOthers). Two scopes are never taken for one,
// even if they seem to share a quota: a user that can provoke refusals in one could
// then stop the other. If scopes share, set the same Ask.Scope.
//
// # After a refusal
//
// Requests follow the first one that is served as in TCP's slow start: twice as many with each
// round trip, and after another refusal half as many as were in flight then. Refusals without a
// Retry-After are followed by a back-off of 1 s to 48 s. If requests that departed after a refused one
// are served, that was refused alone, by chance: then one request less is in flight for that time.
// "sheds 1 %, bare" .033 → .809.
// A limit on concurrent requests that refuses one of several has fewer of them in flight, and then one more in each
// round trip in which it has room. "2 processes, concurrency 20" .635 → .985.
//
// A Retry-After holds all requests like the refused one. If it names no policy, it is taken for that of one
// request alone once eleven that departed well after it are served. Four of them have to be of the
// same kind. The others may be of any kind or scope that was refused, because a server that sheds
// load does so everywhere. Five refusals in a row hold the kind again.
// "sheds 1 %" .223 → .805, "sheds .1 %, 30s" .073 → .589, "sheds 1 %, 4 methods, 10s" .031 → .371.
//
// A Retry-After beside a 5xx holds the whole origin (Report.WholeOrigin). If such pauses come for some kinds of work only,
// while others are served, these are out of order, and not the origin: once eleven requests of other kinds
// were served that departed well after one that was paused, pauses hold those kinds only. To find out, a kind that was paused goes after
// the hold once a request of another kind was served, and up to eleven of the others follow it at a distance of most of a
// round trip. If the whole server is out of order, one request goes after each hold, as if there were one kind only. A kind that is paused for
// the first time holds the origin once. If a kind is served again and again between its pauses, these hold nothing.
// One request a minute to a route that always answers with a Retry-After of 30 s, beside others: these waited for
// 35 to 41 s each, for ever, and wait for .1 s after the first hold (TestRoutesOutOfOrder of package transport).
//
// This is what a server sees in two windows of a quota of 100 in 10 s that eight processes share
// without knowing of each other (go run ./examples/simulate -draw '^8 processes$'). Each
// mark is up to 18 requests, and x are refused ones:
//
//	adaptive
//	|
//	|#                                     #
//	|#                                     #
//	|##                                    ##
//	|##                                    ##
//	+--------------------------------------+-------------------------------------
//
//	plain
//	|                                        x
//	| x                                      x
//	| #                                      #
//	| #                                      #
//	| #                                      #
//	| #                                      #
//	| #x                                     #
//	| #x                                     #
//	+--------------------------------------+-------------------------------------
//
// # First contact
//
// Before the first answer of an origin, or for a second, no more than Ask.FirstFlight requests
// are out to it, and of a new user's account no more than the quota that others were
// told. If each user has 10 requests in 2 s and a new one sends 60 at once, 50 would be
// refused without it, and none is with it.
//
// # Which one
//
// Adaptive, unless a request must depart whenever the figure in force leaves room for
// it: where other clients use a quota, Adaptive leaves the last few units of a window
// to them. Plain is also the one to compare with.
type Strategy uint8

const (
	// Adaptive learns the habits of servers. It is the zero value.
	Adaptive Strategy = iota

	// Plain takes servers at their word.
	Plain
)

// String returns the strategy's name.
func (s Strategy) String() string {
	if s == Plain {
		return "plain"
	}
	return "adaptive"
}
