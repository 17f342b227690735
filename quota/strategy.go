package quota

// A Strategy says how advertised quotas are spent: when a request departs,
// among those that the server's figures leave room for. This page says what
// is done, and what it wins. Each rule with its bounds is in the comment of
// package quota/internal/window, under the same headings.
//
// # Plain
//
// Spend what the server said is left, wait for the end of the effective
// window, send one probe, and spend what its answer says is left. With
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
// The end is counted from the departure, because a later request takes about as long
// on its way as that one did. Of several answers, the earliest end counts. Nothing
// departs before a Retry-After has passed. A bucket (Figure.Full) has no window: n units
// may depart when they are there.
//
// # Adaptive
//
// The same, and habits of servers are learned, nearly all from answers that come anyway.
// All but rounding are given up when an answer contradicts them. The figures are those of
// rows of the scoreboard (examples/simulate), Plain → Adaptive: the part of the best
// possible goodput, or refusals for each 100 requests.
//
//  1. Guard. The quickest trips show how late a window can have begun: g becomes shorter.
//     "fixed 20/1s, 200ms" .944 → .967.
//
//  2. Rounding. Servers tell seconds, or an instant in whole seconds, rounded up or down.
//     The shorter meaning is tried once. How long windows are is learned where no reset is
//     told, and windows are counted from slow answers that tell what is true when they end.
//     "fixed 20/1s, X" .332 → .994; "fixed 10/1s, no reset" .669 → .974.
//
//  3. Refill. Units may come back one by one, in lumps, as they were spent, or as two windows
//     are weighed, before the end that is told. One request tries after W/q, the window by the
//     quota; if it is served, others do. Or our own log of what departed says when units are
//     back. "gcra 20/1s" .049 → .817, "two buckets 100/10s" .550 → .998, "bucket 60/60s, all
//     cost 10" 96 → .6 refused, "20/1s, 1s to serve" .548 → .978.
//
//  4. Contention. A quota that falls by more than was served to us has other users. Then no
//     more than our part of what is left is in flight at a time. "8 processes" 41 → .5 refused.
//     Of a quota of a second or two whose units come back as they were spent, our own are ours
//     again. Of 50 a second that slide, at nine tenths, requests of two processes waited 20 s,
//     and wait .1 s (TestTwoProcessesShareLog of package transport).
//
//  5. Inference. A server that says nothing of its quotas but refuses now and then is taken to
//     allow what it served between two refusals, in that time; as a window, a pace, a log, or a
//     bound on requests in flight. One unit more is tried now and then. So also beside
//     figures that are not what refuses. "only Retry-After, 100/10s" 47 → 2.6 refused, "5 in
//     flight, 300ms, 10s" .046 → .979, "20,000 a day, untold 100/10s" 49 → 5.2 refused.
//
//  6. Count. Of a policy without figures we keep our own count. If a refusal contradicts it,
//     units come back one by one, or as they were spent, if our log explains it. Of 50 a second
//     that slide, at four fifths, requests waited 48 s, and wait .1 s (TestArrivalsAtRandom of
//     package transport). A policy that is not named any more is forgotten.
//
//  7. Soft quotas. A quota of which nothing is left, while the server serves on, holds nothing
//     any more until a refusal. "soft quota" .296 → 1.
//
// # Which work a refusal concerns
//
// A refusal that names no policy holds all work of its scope. But kinds of work (Ask.Kind) that
// it did not refuse may look with one request now and then. One that is served is free, and has
// holds and an inferred quota of its own from then on; so have the resources of a kind, such as
// channels. "one method, 10/30s" .501 → .992. Two scopes are never taken for one, even if they
// seem to share a quota: a user that can provoke refusals in one could then stop the other. If
// scopes share, set the same Ask.Scope.
//
// # After a refusal
//
// Requests follow the first one that is served as in TCP's slow start. Refusals without a
// Retry-After are followed by a back-off of 1 s to 48 s. If requests that departed after a
// refused one are served, that was refused by chance: then one less is in flight for that time.
// "sheds 1 %, bare" .206 → .825. Where few are served between refusals, one departs at once after
// some of them to find that out. A Retry-After that names no policy is taken for that of one
// request alone once eleven that departed well after it are served. "sheds 1 %" .223 → .828. One
// beside a 5xx holds the whole origin (Report.WholeOrigin), or the kinds of work that are out of
// order, once eleven requests of others are served: these waited for 35 to 41 s each, and wait for
// .1 s (TestRoutesOutOfOrder of package transport).
//
// # First contact
//
// Before the first answer of an origin, or for a second, no more than Ask.FirstFlight requests
// are out to it, and of a new user's account no more than the quota that others were told. If
// each user has 10 requests in 2 s and a new one sends 60 at once, none is refused, and not 50.
//
// # Which one
//
// Adaptive, unless a request must depart whenever the figure in force leaves room for it: where
// other clients use a quota, Adaptive leaves the last few units of a window to them. Plain is
// also the one to compare with.
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
