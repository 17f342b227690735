package quota

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what is kept, unless Accounts says otherwise.
const (
	defaultMaxOrigins  = 10_000
	defaultMaxAccounts = 100_000
	defaultMaxTotal    = 1_000_000
)

const (
	// sample is how many entries are looked at to find the one to evict.
	sample = 8

	// sweepInterval is the shortest time between two sweeps of an origin, each of
	// which looks at as many accounts.
	sweepInterval = time.Millisecond
)

// Accounts is all that is known of advertised quotas. The zero value is ready.
// Accounts may be shared between clients, is safe for concurrent use, and must not be
// copied. The fields are set before first use.
//
// What is kept is bounded. There is an account for each policy and partition key, or
// policy and scope, and one for each scope itself. An account is evicted if nothing said
// of it is in force and it was not used for 10 minutes, or for four of its windows if
// that is longer. At a bound, one of a sample of accounts is evicted to make room for
// another: accounts with a Retry-After in force go last, accounts of which nothing is
// in force first, and among equals the least recently used. An account in use, by a
// request in flight or in line, is never evicted: the accounts may exceed a bound by
// that much. An account takes up about 350 bytes, and that of a scope 430;
// a partition key longer than 39 bytes and the name of a scope come on top, and are
// bounded by whatever makes them.
type Accounts struct {
	MaxOrigins  int // 0: 10,000; negative: no bound
	MaxAccounts int // of one origin; 0: 100,000; negative: no bound

	// MaxTotal is how many accounts all origins may have together. Half of them are
	// shared out equally among as many origins as there may be: no origin takes these
	// from another. The other half goes to the origins that need them first. 0:
	// 1,000,000; negative: no bound.
	MaxTotal int

	// Jitter returns a number in [0, 1). It is drawn for each refusal that names no
	// time to come back, and makes the back-off longer; with Peers also for each turn
	// that they have not answered, and puts off the next one. It is called with no lock held,
	// by several goroutines at once. Nil means random numbers; a seeded source makes
	// the times reproducible.
	Jitter func() float64

	// Strategy says how quotas are spent. The zero value is Adaptive.
	Strategy Strategy

	// Peers share the accounts with other processes. Nil means that these are alone, which
	// costs nothing. All that share need the same Strategy.
	Peers Peers

	// Secret is the key of CredentialHash and of what stands for accounts among
	// processes. Processes that share accounts need the same one: 32 random bytes that only
	// they know. Restore refuses what was saved with another Secret. Nil means random bytes
	// that differ in each Accounts.
	Secret *[32]byte

	beyond atomic.Int64 // accounts that origins have above their share

	credentialHashes credentialHashes

	mu      sync.Mutex // protects the following; locked before the mutex of an origin
	origins map[string]*Origin
}

// Origin returns the origin of that name, and creates it if there is none. The
// caller chooses the name: a normalised scheme, host and port, for example.
//
// Beyond MaxOrigins, an origin that is not in use is dropped: see Origin.Dropped. Of a sample of
// them, that is the least recently used one that has no Retry-After in force, if there is one.
func (a *Accounts) Origin(name string) *Origin {
	a.mu.Lock()
	defer a.mu.Unlock()
	if o, ok := a.origins[name]; ok {
		return o
	}
	if bound := bounded(a.MaxOrigins, defaultMaxOrigins); bound >= 0 {
		for range 2 { // more than the bound may have been in use
			if len(a.origins) >= bound {
				a.dropOriginLocked()
			}
		}
	}
	if a.origins == nil {
		a.origins = make(map[string]*Origin)
	}
	o := newOrigin(a, time.Now())
	if a.Peers != nil {
		o.shared = newShared(o, name)
	}
	a.origins[name] = o
	return o
}

// share returns how many accounts an origin may have, whatever the other origins have.
func (a *Accounts) share() int {
	origins := bounded(a.MaxOrigins, defaultMaxOrigins)
	if origins <= 0 {
		origins = defaultMaxOrigins
	}
	return max(bounded(a.MaxTotal, defaultMaxTotal), 0) / 2 / origins
}

// full reports whether an origin that has n accounts may not get another one.
func (a *Accounts) full(n int) bool {
	if bound := bounded(a.MaxAccounts, defaultMaxAccounts); bound >= 0 && n >= bound {
		return true
	}
	total := bounded(a.MaxTotal, defaultMaxTotal)
	return total >= 0 && n >= a.share() && a.beyond.Load() >= int64(total-total/2)
}

// dropOriginLocked drops the least recently used of a sample of origins that are
// not in use; one with a Retry-After in force only if all are. (Map iteration begins anywhere.)
func (a *Accounts) dropOriginLocked() {
	var oldest *Origin
	var name string
	var used time.Time
	var held bool
	n, now := 0, time.Now()
	for k, o := range a.origins {
		if at, quiet := o.quiet(); quiet {
			paused := o.paused(now)
			if oldest == nil || held && !paused || held == paused && at.Before(used) {
				oldest, name, used, held = o, k, at, paused
			}
		}
		if n++; n == sample {
			break
		}
	}
	if oldest != nil && oldest.retire() {
		delete(a.origins, name)
	}
}

// hashes returns the hashes, with the secret of these accounts.
func (a *Accounts) hashes() *credentialHashes {
	if a.Secret != nil {
		a.credentialHashes.use(*a.Secret)
	}
	return &a.credentialHashes
}

func (a *Accounts) random() float64 {
	if a.Jitter != nil {
		return a.Jitter()
	}
	return rand.Float64()
}

// bounded returns n, or the default for 0.
func bounded(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}
