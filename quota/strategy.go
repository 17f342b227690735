package quota

// A Strategy says how advertised quotas are spent: when a request departs, of
// those that the server's figures leave room for.
//
// # Plain
//
// Spend what the server said is left, wait for the end of the effective window,
// send one probe, and spend again what its answer says is left. With
//
//	a  the available quota of the figure in force, in quota units
//	f  units in flight: let go and not answered
//	s  the departure of the request whose answer opened the window
//	w  the effective window
//	r  the round trip of that answer; r₀ the shortest one of late
//	g  the guard, max(r - r₀, r/4), from 1 ms to 100 ms
//
// the rules are
//
//	n units may depart while  a - f >= n
//	the window ends at        s + w + g
//	then one request departs, or what was left over; the others wait for its answer
//
// The end is counted from the departure and not from the arrival of the answer:
// a later request takes about as long on its way as that one did, so it arrives
// when the server's window is over. The guard covers that one trip may be
// shorter than another. Of several answers, the earliest end counts.
//
// Before a Retry-After has passed, nothing departs. Where nothing is left for longer
// than that, by more than the second that rounding may take, the window ends with it,
// unless one that departed then was refused in the same window before.
//
// # Adaptive
//
// The same, and five habits of servers are learned. Each is read off answers
// that come anyway, but for the trials of 3 and 5; each but the second is given
// up when an answer contradicts it.
//
//  1. The guard is g = r - r₀ + r/32. The request that opened the window can
//     have arrived no later than r - r₀ after the quickest one would have.
//
//  2. A server that rounds seconds down says w = 0 in the last second; one that
//     rounds up never does. Of a policy that has once said so, a window ends
//     at s + w + 1 s, or at s + W, if W, the window of the policy, is less.
//
//  3. A quota that is renewed unit by unit, more often than whole seconds can
//     say, says a = 0, w = 1 where the next unit comes after W/q, q being the
//     policy's quota. Where less than half of q was there in a window, one
//     request tries again after W/q. If it is served, so are the next; after
//     three of them, requests depart every W/q + 2j without waiting for each
//     other's answers, where r₀ is longer than W/q, j being how much longer than r₀ answers take in the
//     mean, and each refusal of one adds j/2. If a trial is refused, somebody
//     else has used the quota, and the next 2, 4, 8, … to 64 are left out.
//
//  4. A quota that falls by more than was served to us has other users. With p,
//     our part of what it has fallen by, no more than 0.4·p·a + 0.5 units are
//     in flight at a time: the others send theirs while ours are on their way,
//     and no figure is true for long. One that costs more goes alone, if it is no
//     more than p·a. Each answer brings a new figure, so that an unused quota is
//     still used up, within some round trips. It is what keeps eight processes
//     that cannot talk from refusing each other. What the others have is
//     forgotten, by 1/128 in each window that shows nothing of them.
//
//  5. A server that says nothing of its quotas but refuses now and then is
//     taken to allow what it served between two of the instants at which it
//     began to serve again, in the time between them, unless most of that time
//     passed before the first refusal: then it was not used up. It is counted as
//     a policy without a service limit is. After ten such windows that were used
//     up without a refusal one unit more is tried, then two, four, … until one is
//     refused.
//
// Where nothing is known after a refusal, requests follow the first that is
// served as TCP's slow start does: twice as many with each round trip, and one
// more after 1 s, 2 s, 4 s, … to 1 min where no answer comes.
//
// What it comes to is measured by the scoreboard in examples/simulate, against
// clients that know everything and against some that know nothing. This is what
// a server sees in two windows of a quota of 100 in 10 s that eight processes
// share without knowing of each other (go run ./examples/simulate -draw '^8
// processes$'); each mark is up to 18 requests, x refused ones:
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
// And of a quota of 20 in 10 s that is renewed unit by unit, each mark a request:
//
//	adaptive
//	|# ## # # # # # # # # # # # # # # ## # # # # # # # # # # # # # # # # # ## # #
//	+--------------------------------------+-------------------------------------
//
//	plain
//	| #   #  #   #   #   #   #   #   #  #   #   #   #   #   #  #   #   #   #   #
//	+--------------------------------------+-------------------------------------
//
// # Which one
//
// Adaptive, unless requests have to depart whenever a figure in force leaves
// room for them: with other clients about, Adaptive leaves the last few units of
// a window to them. Plain is also the one to compare with.
type Strategy uint8

const (
	// Adaptive learns the habits of servers. It is the zero Strategy.
	Adaptive Strategy = iota

	// Plain takes servers at their word.
	Plain
)

// String is the strategy's name.
func (s Strategy) String() string {
	if s == Plain {
		return "plain"
	}
	return "adaptive"
}
