package quota

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"
)

// Bounds of what is kept, unless Accounts says otherwise.
const (
	DefaultMaxOrigins  = 10_000
	DefaultMaxAccounts = 100_000
)

// maxPolicies bounds the policies of one origin. A server that makes up more
// of them pushes out those it has named least recently.
const maxPolicies = 32

const (
	// sample is how many entries are looked at to find the one to drop.
	sample = 8

	// maxAparts is how many aparts are kept for scopes to come.
	maxAparts = 64

	// sweepInterval is how often, while an origin is in use, as many are looked
	// at to find those that are over.
	sweepInterval = time.Millisecond
)

// Accounts are all that is known of advertised quotas. The zero value is
// ready. Accounts may be shared between clients, is safe for concurrent use,
// and must not be copied. The fields are set before first use.
type Accounts struct {
	MaxOrigins  int // 0: DefaultMaxOrigins; negative: no bound
	MaxAccounts int // of one origin. 0: DefaultMaxAccounts; negative: no bound

	// Jitter returns a number in [0, 1), drawn for each refusal that sets no
	// time to come back: by so much the back-off is longer. It is called with
	// no lock held, by several goroutines at once where several settle. Nil
	// means random numbers; a seeded source makes what is timed reproducible.
	Jitter func() float64

	keyed sync.Once
	seed  maphash.Seed // of pseudonyms

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
	if oldest != nil {
		oldest.dropped.Store(true)
		delete(a.origins, name)
	}
}

// Pseudonym returns a number that stands for the parts, of a credential, say,
// wherever these accounts are used, and tells nothing of them. It is a keyed
// hash with a key of its own for each Accounts: equal parts have equal
// numbers, and different ones hardly ever.
func (a *Accounts) Pseudonym(parts ...string) uint64 {
	a.keyed.Do(func() { a.seed = maphash.MakeSeed() })
	var h maphash.Hash
	h.SetSeed(a.seed)
	for _, p := range parts {
		maphash.WriteComparable(&h, len(p))
		h.WriteString(p)
	}
	return h.Sum64()
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
