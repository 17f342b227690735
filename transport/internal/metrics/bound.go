package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

const (
	// Other stands for all origins, or policies of an origin, beyond a bound.
	Other = "_OTHER"

	// DefaultMaxOrigins is how many origins have a name of their own.
	DefaultMaxOrigins = 100

	maxPolicies    = 20 // of an origin that have a name of their own
	maxPolicyBytes = 64
)

// A growing is a map that is read without a lock, and only grows.
type growing[K comparable, V any] struct {
	mu sync.Mutex // held to add
	m  atomic.Pointer[map[K]V]
}

func (g *growing[K, V]) load() map[K]V {
	if m := g.m.Load(); m != nil {
		return *m
	}
	return nil
}

// add adds an entry. The mutex is held.
func (g *growing[K, V]) add(k K, v V) {
	m := maps.Clone(g.load())
	if m == nil {
		m = make(map[K]V)
	}
	m[k] = v
	g.m.Store(&m)
}

// An origin is what is counted of an origin, or of all beyond the bound.
type origin struct {
	name     string // as in quota.Snapshot, or Other
	atOnce   Series // of TimeInLine, for requests that do not wait
	inLine   atomic.Int64
	inFlight atomic.Int64
	policies growing[string, struct{}]
}

// policy returns the name of a policy, which a server has chosen, or Other. A name that
// was given once stays what it is.
func (o *origin) policy(name string) string {
	if name == "" {
		return ""
	}
	if _, known := o.policies.load()[name]; known {
		return name
	}
	if o.name == Other || len(o.policies.load()) >= maxPolicies || !ordinary(name) {
		return Other
	}
	o.policies.mu.Lock()
	defer o.policies.mu.Unlock()
	if len(o.policies.load()) >= maxPolicies {
		return Other
	}
	o.policies.add(name, struct{}{})
	return name
}

// ordinary reports whether a name is short and can be read.
func ordinary(name string) bool {
	if len(name) > maxPolicyBytes || !utf8.ValidString(name) {
		return false
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// A table has a Series for each key of an instrument. Looking one up neither locks nor
// allocates.
type table struct {
	instrument *Instrument
	make       func(*Instrument, *Key) Series
	keys       growing[Key, Series]
}

// maxStandIns bounds the keys that stand for others: outcomes and reasons, or statuses.
const maxStandIns = 40

// of returns the Series of a key, which has names of origins and policies that are
// bounded. Beyond the limit of the instrument it is that of Other.
func (t *table) of(k Key) Series {
	if s, known := t.keys.load()[k]; known {
		return s
	}
	return t.add(k)
}

// add is of for a key that may not be known yet.
func (t *table) add(k Key) Series {
	t.keys.mu.Lock()
	defer t.keys.mu.Unlock()
	all := t.keys.load()
	if len(all) >= t.instrument.limit {
		k.Origin = Other
		if k.Policy != "" {
			k.Policy = Other
		}
		if len(all) >= t.instrument.limit+maxStandIns/2 {
			k.Status = 0
		}
		if len(all) >= t.instrument.limit+maxStandIns {
			k = Key{Origin: Other}
		}
	}
	if s, known := all[k]; known {
		return s
	}
	s := t.make(t.instrument, &k)
	t.keys.add(k, s)
	return s
}
