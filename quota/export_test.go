package quota

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"reflect"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/internal/wait"
	"github.com/headway-go/headway/quota/internal/window"
)

// This file shows tests of the public face what has no public witness.

const (
	MaxPolicies       = maxPolicies
	MinSilence        = minSilence
	MinSilenceAnswers = minSilenceAnswers
	SweepInterval     = sweepInterval
	Sample            = sample
	Chunk             = chunk
	MaxSavedRecord    = maxSavedRecord
	MaxAttached       = maxAttached
	MaxAttachedBytes  = maxAttachedBytes

	DefaultMaxOrigins       = defaultMaxOrigins
	DefaultMaxDelay         = defaultMaxDelay
	DefaultMaxQueue         = defaultMaxQueue
	DefaultSnapshotAccounts = defaultSnapshotAccounts

	NoDelay       = noDelay
	ProbeInterval = window.ProbeInterval
)

// Errors.
var (
	ErrKeys     = errKeys
	ErrNotSaved = errNotSaved
	ErrInUse    = errInUse
)

// RequireConsistent requires that the list of all accounts, the accounts of each
// policy and the scopes agree.
func (o *Origin) RequireConsistent(t require.TestingT) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(o.scopes)
	for id, p := range o.byPolicy {
		require.Equal(t, id, p.policyID)
		for a := range p.units {
			require.NotEqual(t, evicted, int(a.place))
		}
		require.NotZero(t, p.accounts.n, "a policy without accounts: %+v", id)
		p.accounts.requireConsistent(t)
		n += p.accounts.n
		for _, a := range p.all() {
			require.Same(t, a, p.accounts.find(a.owner.String()))
			require.Same(t, p, a.policy)
			require.Same(t, a, o.all[a.place])
		}
	}
	for name, s := range o.scopes {
		require.Equal(t, name, s.base.owner.String())
		require.Same(t, &s.base, o.all[s.base.place])
	}
	require.Len(t, o.all, n)
}

// all returns the accounts of a policy, in no order.
func (p *policyAccounts) all() (all []*account) {
	for i := range p.accounts.buckets {
		for _, a := range p.accounts.buckets[i].at {
			if a != nil {
				all = append(all, a)
			}
		}
	}
	return all
}

// Ticket returns the place of a lease among all departures to its origin.
func (l *Lease) Ticket() uint64 { return l.ticket }

// HashedOwners returns how many restored accounts have an owner that is not known
// yet.
func (o *Origin) HashedOwners() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hashedOwners
}

// constraints yields the constraints of an origin, and whether units are taken whose
// release looks at the line.
func (o *Origin) constraints() iter.Seq2[wait.Constraint, bool] {
	return func(yield func(wait.Constraint, bool) bool) {
		if !yield(&o.root, o.root.Retained > 0) {
			return
		}
		for _, a := range o.all {
			if !yield(a, a.Retained > 0) {
				return
			}
		}
		for _, s := range o.scopes {
			if ks := s.kinds(); ks != nil {
				for _, k := range ks.of {
					if !yield(k, false) {
						return
					}
				}
			}
		}
	}
}

// nameOf returns the name of a constraint for messages. To make it takes longer than to
// look at a line.
func nameOf(c wait.Constraint) string {
	switch c := c.(type) {
	case *account:
		if c == &c.policy.origin.root {
			return "root"
		}
		return fmt.Sprintf("%+v of %q", c.policy.policyID, c.owner.String())
	case *kind:
		return fmt.Sprintf("kind %q of %q", c.name, c.scope.base.owner.String())
	}
	return fmt.Sprintf("%T", c)
}

// A LineWatch looks at all lines again and again.
type LineWatch struct {
	Origins    []*Origin
	Conc, Rate *Limit

	woken map[*wait.Waiter]int // by how many looks in a row that found it woken
}

// Problems checks every line, while all goroutines wait: the first waiter has
// been woken, or the timer is set, or units are out whose release looks at the line;
// and no waiter is left that could go. It is called at times that are further apart than
// a waiter needs to look once it was woken.
func (lw *LineWatch) Problems(now time.Time) (problems []string) {
	woken := make(map[*wait.Waiter]int)
	look := func(where any, c wait.Constraint, out bool) {
		problem := c.Line().Problem(now, out)
		if w := c.Line().Woken(); w != nil {
			if woken[w] = lw.woken[w] + 1; woken[w] == 3 {
				problem = "a waiter was woken and does not look"
			}
		}
		if problem != "" {
			problems = append(problems, fmt.Sprintf("%v, %s: %s", where, nameOf(c), problem))
		}
	}
	for i, o := range lw.Origins {
		o.mu.Lock()
		defer o.mu.Unlock()
		for c, out := range o.constraints() {
			look(i, c, out)
		}
	}
	conc, rate := lw.Conc, lw.Rate
	conc.mu.Lock()
	defer conc.mu.Unlock()
	rate.mu.Lock()
	defer rate.mu.Unlock()
	look("concurrency", conc.self[0], conc.meter.Available(0) < conc.meter.Capacity())
	look("rate", rate.self[0], false)
	lw.woken = woken
	return problems
}

// Leftovers returns what is in line, in use or counted as out, in words: nothing, if
// all work is over.
func (o *Origin) Leftovers() (left []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.constraints() {
		a, ok := c.(*account)
		if !ok {
			if k := c.(*kind); k.line != nil || k.out != 0 {
				left = append(left, fmt.Sprintf("%s: a line of %d, %d looks", nameOf(c), k.line.Len(), k.out))
			}
			continue
		}
		if a.line != nil {
			left = append(left, fmt.Sprintf("%s: a line of %d", nameOf(c), a.line.Len()))
		}
		// Charges of the window before may be counted for a moment more.
		if a.Retained != 0 || a.InFlight != 0 {
			left = append(left, fmt.Sprintf("%s: retained %d, in flight %d", nameOf(c), a.Retained, a.InFlight))
		}
	}
	for name, s := range o.scopes {
		if s.out != 0 || s.unattributed != nil {
			left = append(left, fmt.Sprintf("scope %q: %d out, %+v", name, s.out, s.unattributed))
		}
	}
	if o.out != 0 || o.retained != 0 {
		left = append(left, fmt.Sprintf("%d out, %d retained", o.out, o.retained))
	}
	return append(left, o.waitingLocked()...)
}

// Waiting returns what requests in line have left behind, in words: nothing, if no
// request waits.
func (o *Origin) Waiting() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.waitingLocked()
}

func (o *Origin) waitingLocked() (left []string) {
	for c := range o.constraints() {
		if a, ok := c.(*account); ok && (a.line != nil || a.pins != 0) {
			left = append(left, fmt.Sprintf("%s: a line of %d, %d pins", nameOf(c), a.line.Len(), a.pins))
		}
	}
	if o.pinned != 0 || len(o.awaited) > 0 {
		left = append(left, fmt.Sprintf("%d pinned, %d accounts awaited", o.pinned, len(o.awaited)))
	}
	return left
}

// NewUnsorted returns a limiter of several that is consulted in the order of the
// constraints, and has the statistics of the first.
func NewUnsorted(ls ...Limiter) Limiter {
	u := unsorted{Limiter: ls[0]}
	for _, l := range ls {
		u.all = append(u.all, l.constraints()...)
	}
	return u
}

type unsorted struct {
	Limiter
	all []wait.Constraint
}

func (u unsorted) constraints() []wait.Constraint { return u.all }

// WatchMutex returns a limiter that calls f before its mutex is locked and before it is unlocked.
func WatchMutex(l Limiter, f func()) Limiter {
	u := unsorted{Limiter: l}
	for _, c := range l.constraints() {
		u.all = append(u.all, watchedMutex{c, f})
	}
	return u
}

type watchedMutex struct {
	wait.Constraint
	f func()
}

func (w watchedMutex) Mutex() *wait.Mutex {
	w.f()
	return w.Constraint.Mutex()
}

// Unlocked reports whether nothing holds the mutex of the origin.
func (o *Origin) Unlocked() bool {
	if o.mu.TryLock() {
		o.mu.Unlock()
		return true
	}
	return false
}

// CopyAccounts copies all that is known of the policies in the scope "". The result
// returns what becomes of the copies until some time if no request concerns them, but
// for the time of last use.
func (o *Origin) CopyAccounts(policies []string) (until func(time.Time) []window.Window) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var copies []window.Window
	for _, name := range policies {
		copies = append(copies, o.find(accountID{policyID: policyID{name: name}}).Copy())
	}
	return func(now time.Time) []window.Window {
		for i := range copies {
			w := &copies[i]
			w.Roll(o.at(now)) // ends a window of our own count, which begins another
			w.Roll(o.at(now))
			w.Used = 0
		}
		return copies
	}
}

// ListTwice runs f while the first account is listed twice, as one that is moved while
// the accounts are copied is seen twice.
func (o *Origin) ListTwice(f func()) {
	o.all = append(o.all, o.all[0])
	f()
	o.all = o.all[:len(o.all)-1]
}

// Retire drops the origin if it is not in use, as Accounts does at their bound.
func (o *Origin) Retire() bool { return o.retire() }

// BeyondShares returns how many accounts the origins have above their shares.
func (a *Accounts) BeyondShares() int64 { return a.beyond.Load() }

// HeapInUse returns the bytes of what is reachable.
func HeapInUse() float64 { return inUse().heap }

// Contention returns how much of what the figures of an account fell by was ours.
func (o *Origin) Contention(scope string, c Claim) (ours, fall float32) {
	return o.find(c.id(scope)).Contention()
}

// LogSlots returns for how many departures the log of an account has memory.
func (o *Origin) LogSlots(scope string, c Claim) int {
	log := reflect.ValueOf(&o.find(c.id(scope)).Window).Elem().FieldByName("rare").Elem().FieldByName("spent")
	return log.Elem().FieldByName("slots").Cap()
}

// RestoreAtMost is Restore with another bound of the bytes in all. It returns how many
// accounts were made before the end or an error.
func (a *Accounts) RestoreAtMost(bytes int64, r io.Reader, now time.Time) (n int, err error) {
	in := newRestorer(a, r, now)
	in.left = bytes
	err = in.run()
	for _, o := range in.to.origins {
		n += len(o.all)
	}
	return n, err
}

// Pin has an account waited for by one request more, or one less for by = -1.
func (o *Origin) Pin(scope string, c Claim, by int32) {
	pin([]wait.Claim{{Constraint: o.find(c.id(scope))}}, by)
}

// FreeUnattributed returns how many entries each unattributed has that is kept for use.
func (o *Origin) FreeUnattributed() (entries []int) {
	for _, u := range o.freeUnattributed {
		entries = append(entries, len(u.created)+len(u.keyed))
	}
	return entries
}

// Capacity returns for how many accounts the list of all has memory.
func (o *Origin) Capacity() int { return cap(o.all) }

// The limiters behind By, and their bounds; 0: as they are.
type (
	Keyed[K comparable] = limiters[K]
	KeyedOptions        struct {
		MaxKeys   int
		IdleAfter time.Duration
	}
)

func NewKeyed[K comparable](limiter func(K) Limiter, o KeyedOptions) *Keyed[K] {
	k := newLimiters(limiter)
	k.maxKeys, k.idleAfter = cmp.Or(o.MaxKeys, k.maxKeys), cmp.Or(o.IdleAfter, k.idleAfter)
	return k
}

// Len returns how many keys have a limiter.
func (k *limiters[K]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.byKey)
}

func LimiterOf[T any, K comparable](k *Keyed[K], key func(T) K) func(T) Limiter { return of(k, key) }

// Simulations on one thread.
func (o *Origin) Try(now time.Time, ask *Ask, l *Lease) error { return o.try(now, ask, l) }
func (o *Origin) Queue(now time.Time, ask *Ask, l *Lease)     { o.queue(now, ask, l) }
func (o *Origin) Unqueue(l *Lease)                            { o.unqueue(l) }

// SharedUnits returns the units that this process has of all shared accounts, in stock
// and in flight.
func (o *Origin) SharedUnits(now time.Time) (stock, out int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.shared.pools {
		stock += p.units(o.at(now))
		out += p.holds()
	}
	return stock, out
}

// SharedAccounts returns how many accounts the origin has for what it shares, also those of which
// only the hash is known.
func (o *Origin) SharedAccounts() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return max(len(o.shared.pools), len(o.shared.byID), len(o.shared.active), len(o.shared.contacts))
}

// Bounds of what is kept of kinds.
const (
	MaxKinds       = maxKinds
	MaxParts       = maxParts
	MaxResources   = maxResources
	MaxOriginKinds = maxOriginKinds
)

// Kinds returns how many kinds are known of all scopes.
func (o *Origin) Kinds() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kinds
}

// CountScope has the scope "" count against a quota, as against one that is inferred.
func (o *Origin) CountScope(n int64, w time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	base := &o.scope(0, "").base
	base.SetPolicy(window.Requests, n, w)
	base.Count(0, 0)
}

// EvictAll evicts all accounts.
func (o *Origin) EvictAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.all) > 0 {
		o.evict(0, o.all[0])
	}
}
