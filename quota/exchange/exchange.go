// Package exchange is what processes that share accounts tell each other: plain data,
// without behaviour. A process says a Turn, and a fleet.Store answers with a Grant.
//
// You need this package to write a fleet.Store, and for nothing else. Package fleet says
// how the data are used; fleet.Hub has the rules by which a Turn is answered.
package exchange

import "time"

// None stands for a number, or a time, that is not known or does not exist.
const None = -1

// An ID stands for an origin or an account that processes share. It is a hash under
// quota.Accounts.Secret: without the secret it says nothing.
type ID [16]byte

// A Turn is what a process says of accounts of one origin. What it has and wants is
// absolute, so a Turn may be lost or repeated. Durations count from when it departs;
// instants are not told, so clocks need not agree.
type Turn struct {
	Process  string        // of the sender; set by the transport of the turn
	Seq      uint64        // counts the turns of a process to an origin
	AsOf     time.Duration // when it departs, by the clock of the store; 0: not known. Set by the transport of the turn
	Peers    int           // the most processes that the sender has lately heard of
	Flights  int64         // requests of the sender whose accounts it does not know yet: they count in every account; None: as before
	Bye      bool          // the sender gives everything back, and will not come again
	Accounts []Account
	Requests []Request // that wait; those that go first come first

	Timeout time.Duration // how long the sender waits for the Grant, before it calls quota.Shared.Failed
}

// An Account is what a Turn says of one account.
type Account struct {
	ID         ID
	Has        int64 // units in flight, and in stock
	Stock      int64 // of these, the units in stock
	Wish       int64 // units that it would like to have in stock beyond that
	Version    int64 // the last one it has heard; 0: none
	Concurrent bool  // units come back when requests are over, not with time

	Quota   int64         // of the policy; None: not known
	Window  time.Duration // of the policy; 0: not known; negative: the policy tells none, and this is the longest that figures have told
	Shorter bool          // the sender has told of a longer window before, and that was an error
	Counts  bool          // the server gives no figures: units are counted against Quota

	// Figure is the lowest figure of the server since the last turn; None if there was
	// none. Left is the rest of its window; None if it has no end. FigureVersion is the
	// version under which its request departed: a figure may raise what is available
	// only under the version in force.
	Figure        int64
	Left          time.Duration
	FigureVersion int64
	FigureAgo     time.Duration // since its request departed, less a margin

	// Basis is what it heard last of what is available, with the rest of the window,
	// for a store that has lost everything. None: nothing.
	Basis     int64
	BasisLeft time.Duration

	Landed    bool          // requests were answered since the last turn
	Spent     int64         // units of requests that were answered without a figure since
	Served    int64         // units of all requests since that departed and were not refused
	ServedAgo time.Duration // since the last of these departed, less a margin
	Silent    int64         // the version under which the last of these departed; 0: none did
	Refused   bool          // a request was refused, so that nothing known holds
	Hold      time.Duration // the rest of a Retry-After or back-off that is news; 0: none; negative: one that others were told does not hold the sender

	// First says that this is no account, but the record of the first requests of a scope: until one of
	// them is answered, few are out at once. Found are the accounts that the first answer to the sender
	// named, at most four; nil: there was none, or it named none.
	First bool
	Found []ID
}

// A Request is a number of requests that wait and claim the same.
type Request struct {
	N        int64
	Priority int           // the higher goes first
	Waited   time.Duration // the first of them
	Claims   []Claim
}

// A Claim is a number of units of one of the accounts of a Turn.
type Claim struct {
	Account int // index in Turn.Accounts
	Units   int64
}

// A Grant is the answer to a Turn.
type Grant struct {
	Now      time.Duration // the clock of the store, since 1970
	Void     bool          // the turn came too late or was repeated: it took nothing
	Accounts []Granted     // as in the Turn
}

// A Granted says what is known of an account, and what the sender is granted.
type Granted struct {
	Version   int64 // changes with whatever was learned
	State     State
	Available int64         // units that are left in all; some of them may be granted to others
	Units     int64         // granted on top of what the turn said that the sender has
	Left      time.Duration // of the window; None: it has no end
	Hold      time.Duration // nothing departs before; 0: none
	Again     time.Duration // when to come again, if nothing is heard before
	Lacks     bool          // requests of the sender still wait for units of this account
	Peers     int           // processes that use the account
	Hungry    int           // of these, others whose requests wait for units
	Found     []ID          // accounts that all first answers named; nil: none named any
}

// A State is what is known of a shared account.
type State uint8

const (
	Unknown  State = iota // nothing: one request departs and finds out
	Reported              // the server's figure
	Expired               // the window is over: what was left, or one request
	Counting              // our own count against the quota
	Open                  // the server says nothing of it: each process on its own
)

// A Word is what a store tells all processes of an origin at once. It is a hint: what
// it says comes with the next Grant, too.
type Word struct {
	Account   ID
	Processes []string      // that may find units now; with a Hold, the one that looks soon whether it holds others than the one that was told
	Return    bool          // others wait: return the units that are not needed, and say which were used
	Hold      time.Duration // nothing departs before; 0: no news; negative: what was told holds nothing but the one that was told
}
