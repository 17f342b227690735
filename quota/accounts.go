package quota

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what is kept, unless Accounts says otherwise.
const (
	DefaultMaxOrigins  = 10_000
	DefaultMaxAccounts = 100_000
	DefaultMaxTotal    = 1_000_000
)

const (
	// sample is how many entries are looked at to find the one to drop.
	sample = 8

	// sweepInterval is how often, while an origin is in use, as many are looked
	// at to find those that are over.
	sweepInterval = time.Millisecond
)

// Accounts are all that is known of advertised quotas. The zero value is
// ready. Accounts may be shared between clients, is safe for concurrent use,
// and must not be copied. The fields are set before first use.
//
// What is kept is bounded. There is an account for each policy and partition,
// or policy and scope, and one for each scope itself. Those go by themselves
// that have been over for long: 10 minutes, and four of their windows. At a
// bound, room is made for another: what says nothing any more goes first, then
// what was used least recently, and what the server has told to wait last. What
// is in use, by requests that are out or in line, never goes: beyond a bound
// the accounts may grow by that much, and no more. An account takes up about
// 350 bytes, that of a scope 430, and its key where that is longer than 39 bytes:
// whoever makes the keys of partitions and the names of scopes bounds them.
type Accounts struct {
	MaxOrigins  int // 0: DefaultMaxOrigins; negative: no bound
	MaxAccounts int // of one origin. 0: DefaultMaxAccounts; negative: no bound

	// MaxTotal is how many accounts all origins may have together. Half of them
	// are shared out, equally among as many origins as there may be: no origin
	// takes these from another. The others go to who needs them first. 0:
	// DefaultMaxTotal; negative: no bound.
	MaxTotal int

	// Jitter returns a number in [0, 1), drawn for each refusal that sets no
	// time to come back: by so much the back-off is longer. It is called with
	// no lock held, by several goroutines at once where several settle. Nil
	// means random numbers; a seeded source makes what is timed reproducible.
	Jitter func() float64

	// Strategy says how quotas are spent. The zero value is Adaptive.
	Strategy Strategy

	beyond atomic.Int64 // accounts that origins have beyond their share

	credentialHashes credentialHashes

	mu      sync.Mutex // guards following; taken before the guard of an origin
	origins map[string]*Origin
}

// Origin returns the books of the origin of that name, opening them if there
// are none. The name is the caller's: a normalised scheme, host and port, say.
//
// Beyond MaxOrigins, the books of an origin that nothing is out to are
// dropped; who holds them notices with Dropped.
func (a *Accounts) Origin(name string) *Origin {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.origins[name]; ok {
		return o
	}
	if bound := bounded(a.MaxOrigins, DefaultMaxOrigins); bound >= 0 && len(a.origins) >= bound {
		a.dropOriginLocked()
	}
	if a.origins == nil {
		a.origins = make(map[string]*Origin)
	}
	o := newOrigin(a, time.Now())
	a.origins[name] = o
	return o
}

// share is how many accounts an origin may have whatever the others have.
func (a *Accounts) share() int {
	origins := bounded(a.MaxOrigins, DefaultMaxOrigins)
	if origins <= 0 {
		origins = DefaultMaxOrigins
	}
	return max(bounded(a.MaxTotal, DefaultMaxTotal), 0) / 2 / origins
}

// full reports whether an origin of n accounts must not have another.
func (a *Accounts) full(n int) bool {
	if bound := bounded(a.MaxAccounts, DefaultMaxAccounts); bound >= 0 && n >= bound {
		return true
	}
	total := bounded(a.MaxTotal, DefaultMaxTotal)
	return total >= 0 && n >= a.share() && a.beyond.Load() >= int64(total-total/2)
}

// dropOriginLocked drops the least recently used of a sample of origins that
// nothing is out to. (Map iteration begins anywhere.)
func (a *Accounts) dropOriginLocked() {
	var oldest *Origin
	var name string
	var used time.Time
	n := 0
	for k, o := range a.origins {
		if at, quiet := o.quiet(); quiet && (oldest == nil || at.Before(used)) {
			oldest, name, used = o, k, at
		}
		if n++; n == sample {
			break
		}
	}
	if oldest != nil && oldest.retire() {
		delete(a.origins, name)
	}
}

func (a *Accounts) random() float64 {
	if a.Jitter != nil {
		return a.Jitter()
	}
	return rand.Float64()
}

// bounded reads a bound: the default for 0.
func bounded(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
