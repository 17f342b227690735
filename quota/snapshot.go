package quota

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// defaultSnapshotAccounts is the default of SnapshotOptions.MaxAccounts.
const defaultSnapshotAccounts = 1_000

// SnapshotOptions say how much a Snapshot shows. The zero value has the defaults.
type SnapshotOptions struct {
	// Keys shows partition keys and the names of scopes and kinds as they are. They may
	// identify a person. False replaces keys and scopes by eight hexadecimal digits of a
	// keyed hash, which tell them apart, and counts kinds.
	Keys bool

	// MaxAccounts is how many accounts of an origin are shown: those with requests in
	// line first, then those under a hold or a back-off, then those with the least left,
	// then the most recently used. Zero means 1,000; a negative number, all.
	MaxAccounts int

	// ByPolicy sums up the accounts of each policy in one AccountSnapshot, for gauges: how
	// many there are (Accounts), how much is InFlight and InLine, and the longest Hold and
	// BackOff; the Available and the Quota of the account that has the smallest part of its
	// quota left, of those whose window is in force; else the largest Quota. All else is zero.
	// That costs far less than to show each account, and MaxAccounts does not matter.
	ByPolicy bool
}

// An OriginSnapshot is what is known of an origin at an instant. It is plain data: it can
// be kept, compared and marshalled, and nothing changes it. In JSON, durations are in
// nanoseconds, as everywhere in Go. In it and its parts, a Quota or Available that is not known is
// None (-1), because 0 is a number of its own; a time or duration that is not known is 0.
type OriginSnapshot struct {
	Name     string            `json:"name"`
	Used     time.Time         `json:"used,omitzero"`      // when a request last asked for it; zero: none has
	Refused  time.Time         `json:"refused,omitzero"`   // when the server refused last; zero: never
	Refusals uint64            `json:"refusals,omitempty"` // how often it has (Report.Refused), whatever the status
	Out      int64             `json:"out,omitempty"`      // requests that are out
	InLine   int               `json:"inLine,omitempty"`   // requests that wait: for the accounts, for the first answer, or for limits of the client's own
	Hold     time.Duration     `json:"hold,omitempty"`     // for which a Retry-After still holds the whole origin
	Policies []Policy          `json:"policies,omitempty"` // in the order in which they were named
	Accounts []AccountSnapshot `json:"accounts,omitempty"` // by policy, key and scope
	Omitted  int               `json:"omitted,omitempty"`  // accounts beyond SnapshotOptions.MaxAccounts
}

// An AccountSnapshot is an account of an origin: of a policy and a partition key, or
// of a policy and a scope. The account of a scope itself has no policy. Beside that of the policy
// without a name of an older dialect, whose Name is the same, it is there only while something is known of it.
type AccountSnapshot struct {
	// Policy is what is known of the policy: its Quota is None, and its Window 0, if it
	// is not known. They are those of this account: others of the same policy may have
	// other ones, as the models of a provider do. If Keyed, Key is a partition key, else the
	// name of a scope: redacted; or as it is, in hexadecimal after 0x if it is not printable.
	Policy

	Accounts int `json:"accounts,omitempty"` // of the policy, with SnapshotOptions.ByPolicy; else 0

	// State is what Available rests on: unknown, reported (a figure of the server), expired
	// (the window is over), counting (our own count against the quota), or inferred (the
	// same, against a quota that was inferred from refusals).
	State      string        `json:"state,omitempty"`
	Available  int64         `json:"available"`            // units that may be used now; None: not known
	Left       time.Duration `json:"left,omitempty"`       // of the effective window; 0: none, or not known
	InFlight   int64         `json:"inFlight,omitempty"`   // units of requests that are not answered
	Concurrent int64         `json:"concurrent,omitempty"` // concurrent requests that are not over
	InLine     int           `json:"inLine,omitempty"`     // requests that wait for this account
	Hold       time.Duration `json:"hold,omitempty"`       // for which a Retry-After still holds it
	BackOff    time.Duration `json:"backOff,omitempty"`    // for which it still backs off after refusals that named no time
	Refusals   int           `json:"refusals,omitempty"`   // of that kind, in a row
	Used       time.Time     `json:"used,omitzero"`        // when a request last asked for it

	Line    []Waiter      `json:"line,omitempty"`    // the first ten in line
	Next    time.Duration `json:"next,omitempty"`    // until the first in line goes, if nothing lets it go sooner; 0: it can go now
	Probing bool          `json:"probing,omitempty"` // a request is on its way that asks what is left
	Learned []string      `json:"learned,omitempty"` // of the server and its other clients, in words
}

// A Waiter is a request in line.
type Waiter struct {
	Priority int       `json:"priority,omitempty"`
	Units    int64     `json:"units"`          // that it needs of the account
	Since    time.Time `json:"since"`          // when it began to wait
	Until    time.Time `json:"until,omitzero"` // when it gives up; zero: never
}

// shownWaiters is how many requests in line are shown of each account.
const shownWaiters = 10

// chunk is how many accounts are read at a time with the lock held.
const chunk = 256

// Snapshot returns what is known at the present instant, now: the origins, by name. It may be called
// at any time, changes nothing, and holds no lock for longer than it takes to
// copy a few hundred accounts. It may or may not show what happens meanwhile.
func (a *Accounts) Snapshot(now time.Time, opts SnapshotOptions) []OriginSnapshot {
	var all []OriginSnapshot
	for _, o := range a.all() {
		all = append(all, o.snapshot(now, opts))
	}
	return all
}

// A namedOrigin is an origin with its name.
type namedOrigin struct {
	*Origin
	name string
}

// all returns the origins, by name.
func (a *Accounts) all() []namedOrigin {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]namedOrigin, 0, len(a.origins))
	for name, o := range a.origins {
		all = append(all, namedOrigin{o, name})
	}
	slices.SortFunc(all, func(x, y namedOrigin) int { return cmp.Compare(x.name, y.name) })
	return all
}

func (o namedOrigin) snapshot(now time.Time, opts SnapshotOptions) OriginSnapshot {
	s := OriginSnapshot{Name: o.name, Policies: slices.Clone(o.Policies())}
	o.mu.Lock()
	if !o.begun {
		o.mu.Unlock()
		return s
	}
	t, opened := o.at(now), len(o.all)
	s.Used, s.Out = o.when(o.root.Used).Round(0), o.out
	s.Hold, s.InLine = o.root.Hold.Since(t), o.inLine
	if s.Refusals = o.refusals; s.Refusals > 0 {
		s.Refused = o.when(o.refused).Round(0)
	}
	o.mu.Unlock()
	if opts.ByPolicy {
		o.tally(t, &s)
		return s
	}

	var as, spare []copied // an account is large, and there may be many: the memory is used again
	maxAccounts := bounded(opts.MaxAccounts, defaultSnapshotAccounts)
	order := func(x, y *copied) int { return troubledFirst(x, y, t) }
	for some := range o.chunks(t, true) {
		opened -= len(some)
		some = slices.DeleteFunc(some, func(a copied) bool { return a.hidden })
		opened += len(some)
		if as = append(as, some...); maxAccounts >= 0 && len(as) > maxAccounts+chunk {
			as, spare = most(spare, as, maxAccounts, order), as
		}
	}
	if as = distinct(as); maxAccounts >= 0 {
		as = distinct(most(nil, as, maxAccounts, order))
	}
	for i := range as {
		s.Accounts = append(s.Accounts, o.show(&as[i], t, opts))
	}
	s.Omitted = max(opened-len(as), 0)
	return s
}

// copied is an account as it was at some instant.
type copied struct {
	account
	owner   string
	waiting int
	hidden  bool

	line     []wait.Place // the first in line; only if it is shown, as what follows
	terms    Policy       // as the account was told them
	server   window.Server
	inferred bool

	kinds, free []string // of work that it concerns, or does not
}

// chunks iterates over all accounts, some at a time. An account that is moved in
// Origin.all meanwhile may come twice. shown says that people are to see them at t.
func (o *Origin) chunks(t instant, shown bool) iter.Seq[[]copied] {
	return func(yield func([]copied) bool) {
		o.mu.Lock()
		size := min(max(len(o.all), 1), chunk)
		o.mu.Unlock()
		some := make([]copied, 0, size)
		for left := math.MaxInt; left > 0; {
			some = some[:0]
			o.mu.Lock()
			// The last account takes the place of one that is evicted, so going down misses none.
			for left = min(left, len(o.all)); left > 0 && len(some) < size; left-- {
				a := copied{account: *o.all[left-1], hidden: shown && o.hides(t, o.all[left-1])}
				a.Window = a.Copy() // what is rare is changed by answers, and by what is asked of the copy
				if shown {
					o.detail(&a, o.all[left-1])
				} else {
					o.holdLikeBeside(&a.Window, o.all[left-1])
				}
				a.waiting, a.account.line = a.account.line.Len()+o.inKindLines(o.all[left-1]), nil
				some = append(some, a)
			}
			o.mu.Unlock()
			for i := range some {
				some[i].owner = some[i].account.owner.String()
			}
			if !yield(some) {
				return
			}
		}
	}
}

// hides reports whether people are not shown an account: that of a scope of which nothing is known, if there is
// that of the policy without a name, whose name is the same; or of an outage that holds nothing.
func (o *Origin) hides(t instant, a *account) bool {
	return a.SaysNothing(t) && (a.isRoot() || a.inferred() && o.find(accountID{owner: a.owner.long}) != nil)
}

// detail notes what a copy shows beside the account itself. The mutex is held.
func (o *Origin) detail(a *copied, of *account) {
	a.line, a.terms, a.server = a.account.line.First(shownWaiters), of.present(), a.policy.server
	if !a.ofNone() {
		return
	}
	if u := o.outage; u != nil && of == &u.scope.base {
		for k := range u.kinds {
			a.kinds = append(a.kinds, k.name)
		}
	}
	sc := o.scopes[a.account.owner.long]
	a.inferred = sc != nil && sc.learned != nil && sc.learned.inferred != nil && a.State == window.Counting
	for _, k := range o.kindsOf(of) {
		switch {
		case k.in == sc:
			a.line = append(a.line, k.line.First(shownWaiters-len(a.line))...)
			if k.refused > 0 {
				a.kinds = append(a.kinds, k.name)
			}
		case k.isFree() && k.scope == sc:
			a.free = append(a.free, k.name)
		}
	}
	slices.Sort(a.kinds)
	slices.Sort(a.free)
}

// distinct returns each account once, by policy and owner.
func distinct(as []copied) []copied {
	as = most(nil, as, len(as), compareCopied)
	return slices.CompactFunc(as, func(x, y copied) bool { return compareCopied(&x, &y) == 0 })
}

// most returns the first n accounts in an order, which is completed by policy and owner, in the
// memory of room if that is large enough.
func most(room, as []copied, n int, order func(x, y *copied) int) []copied {
	sorted := make([]*copied, len(as)) // an account is large
	for i := range as {
		sorted[i] = &as[i]
	}
	slices.SortFunc(sorted, func(x, y *copied) int { return cmp.Or(order(x, y), compareCopied(x, y)) })
	first := slices.Grow(room[:0], min(n, len(as)))
	for _, a := range sorted[:min(n, len(sorted))] {
		first = append(first, *a)
	}
	return first
}

// troubledFirst orders accounts by how many wait at t, then by what holds them, then by
// what is left of windows in force, then by when they were used last.
func troubledFirst(x, y *copied, t instant) int {
	if c := cmp.Or(cmp.Compare(y.waiting, x.waiting), cmp.Compare(y.pausedFor(t), x.pausedFor(t))); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(x.leftAt(t), y.leftAt(t)), cmp.Compare(y.Used, x.Used))
}

func (a *copied) pausedFor(t instant) time.Duration {
	return max(a.Hold.Since(t), a.BackOff.Since(t), 0)
}

// leftAt is what is left of the window in force; the largest number if there is none.
func (a *copied) leftAt(t instant) int64 {
	if left, known := a.LeftInForce(t); known {
		return left
	}
	return math.MaxInt64
}

func compareCopied(x, y *copied) int {
	switch {
	case x.policy.keyed == y.policy.keyed || x.policy.name != y.policy.name:
		return cmp.Or(cmp.Compare(x.policy.name, y.policy.name), cmp.Compare(x.owner, y.owner), -cmp.Compare(x.none(), y.none()))
	case y.policy.keyed:
		return -1
	}
	return 1
}

// none is 1 for the account of a scope, else 0.
func (a *copied) none() int {
	if a.ofNone() {
		return 1
	}
	return 0
}

// show returns an account at t as people see it.
func (o *Origin) show(a *copied, t instant, opts SnapshotOptions) AccountSnapshot {
	a.Roll(t)
	s := AccountSnapshot{
		Policy: a.terms,
		State:  a.State.String(), Available: None,
		InFlight: a.Unanswered(), Concurrent: a.Retained, InLine: a.waiting,
		Hold: a.Hold.Since(t), BackOff: a.BackOff.Since(t), Refusals: int(a.Refusals),
		Used: o.when(a.Used).Round(0), Probing: a.Probing(), Learned: a.learned(opts.Keys),
	}
	s.Key = o.accounts.shown(a.owner, opts.Keys)
	if a.inferred {
		s.State = "inferred"
	}
	if left, ok := a.Left(t); ok {
		s.Available = left
	}
	if end := a.End(); end != window.Never {
		s.Left = end.Since(t)
	}
	for i, p := range a.line {
		if i == 0 {
			s.Next = max(a.again(t, p.Units).Since(t), 0)
		}
		s.Line = append(s.Line, Waiter{Priority: p.Priority, Units: max(p.Units, -p.Units), Since: p.Came.Round(0), Until: p.Latest.Round(0)})
	}
	return s
}

// again is when n units can be charged, or an estimate of -n. It does not ask what other
// processes have: that may be read with the mutex of the origin only.
func (a *copied) again(t instant, n int64) instant {
	ready := a.Ready
	if n < 0 {
		ready, n = a.ReadyEstimated, -n
	}
	again, _ := ready(t, n)
	return min(again, a.WhenSoft(t, n, &a.server))
}

// learned says what was learned of an account, in words.
func (a *copied) learned(keys bool) (all []string) {
	if rtt, jitter := a.RoundTrip(); rtt > 0 {
		all = append(all, fmt.Sprintf("round trip %v (±%v)", toTenths(rtt), toTenths(jitter)))
		if part := a.Part(); part < 1 {
			all = append(all, fmt.Sprintf("our part of the quota %.2f", part))
		}
	}
	all = appendKinds(all, "its refusals concern ", a.kinds, keys)
	all = appendKinds(all, "its refusals do not concern ", a.free, keys)
	return append(all, a.Habits(&a.server).Words()...)
}

// toTenths rounds to tenths of a millisecond.
func toTenths(d time.Duration) time.Duration { return d.Round(time.Millisecond / 10) }

// appendKinds appends what is said of kinds of work, if there are any.
func appendKinds(all []string, says string, names []string, keys bool) []string {
	switch n := len(names); {
	case n == 0:
		return all
	case keys:
		says += strings.Join(names, ", ")
	case n == 1:
		says += "1 kind of requests"
	default:
		says += strconv.Itoa(n) + " kinds of requests"
	}
	return append(all, says)
}

// shown returns the owner of an account as people see it.
func (a *Accounts) shown(owner string, keys bool) string {
	switch d, hashed := digestOf(owner); {
	case owner == "":
		return ""
	case !keys || hashed:
		if !hashed {
			d = a.credentialHashes.digest("owner", owner)
		}
		return hex.EncodeToString(d[:4])
	case !utf8.ValidString(owner) || strings.ContainsFunc(owner, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "0x" + hex.EncodeToString([]byte(owner))
	}
	return owner
}
