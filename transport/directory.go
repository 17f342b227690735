package transport

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/partition"
	"github.com/headway-go/headway/quota"
)

// Bounds of what a directory keeps. Beyond them it forgets, and learns again.
const (
	maxDirectories  = 10_000
	maxDeclarations = 32
	maxRemembered   = 1_000
)

// directories finds the directory of an origin.
type directories struct {
	mu     sync.RWMutex // guards following
	byRaw  map[rawOrigin]*directory
	byName map[string]*directory
}

// of returns the directory of the origin that a request goes to.
func (ds *directories) of(accounts *quota.Accounts, raw rawOrigin) *directory {
	ds.mu.RLock()
	d := ds.byRaw[raw]
	ds.mu.RUnlock()
	if d != nil {
		return d
	}
	name := raw.normal()
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.byName == nil {
		ds.byRaw = make(map[rawOrigin]*directory)
		ds.byName = make(map[string]*directory)
	}
	if d = ds.byName[name]; d == nil {
		d = &directory{name: name, accounts: accounts}
		d.origin.Store(accounts.Origin(name))
		forgetOne(ds.byName, maxDirectories)
		ds.byName[name] = d
	}
	forgetOne(ds.byRaw, maxDirectories)
	ds.byRaw[raw] = d
	return d
}

// A directory is what a Shaper knows of an origin beside the accounts: how it
// partitions its quotas, and what has been seen of that.
type directory struct {
	name     string
	accounts *quota.Accounts
	origin   atomic.Pointer[quota.Origin]
	declared atomic.Pointer[[]parse.Declaration] // never modified, only replaced
	memo     parse.Memo                          // of fields that hardly ever change

	mu     sync.Mutex                 // guards following
	seen   map[likeness]partition.Key // the key last seen for a kind of request
	failed map[kind]struct{}          // predictions that failed
}

// A kind is whom a policy may treat in its own way: a scope.
type kind struct{ policy, scope string }

// A likeness is what requests have in common that are likely to be counted
// under the same key.
type likeness struct{ policy, scope, method, like string }

// books are the origin's accounts, opened again if they were dropped.
func (d *directory) books() *quota.Origin {
	o := d.origin.Load()
	if o.Dropped() {
		o = d.accounts.Origin(d.name)
		d.origin.Store(o)
	}
	return o
}

// declaration is what the origin has declared about the partitions of a policy.
func (d *directory) declaration(policy string) (parse.Declaration, bool) {
	if all := d.declared.Load(); all != nil {
		for _, decl := range *all {
			if decl.Policy == policy {
				return decl, true
			}
		}
	}
	return parse.Declaration{}, false
}

// declare takes over declarations. Policies that are not among them stay as
// they were declared before.
func (d *directory) declare(decls []parse.Declaration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []parse.Declaration
	if p := d.declared.Load(); p != nil {
		all = *p
	}
	changed := false
	for _, decl := range decls {
		i := slices.IndexFunc(all, func(k parse.Declaration) bool { return k.Policy == decl.Policy })
		if i >= 0 && slices.Equal(all[i].Dimensions, decl.Dimensions) {
			continue
		}
		if !changed {
			all, changed = slices.Clone(all), true
		}
		for k := range d.failed {
			if k.policy == decl.Policy {
				delete(d.failed, k)
			}
		}
		switch {
		case i >= 0:
			all[i] = decl
		case len(all) < maxDeclarations:
			all = append(all, decl)
		default:
			all = append(all[1:], decl)
		}
	}
	if changed {
		d.declared.Store(&all)
	}
}

// recall is the key last seen for requests like this one.
func (d *directory) recall(l likeness) (partition.Key, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.seen[l]
	return k, ok
}

// remember keeps a key for requests like the one it was seen for.
func (d *directory) remember(l likeness, k partition.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seen == nil {
		d.seen = make(map[likeness]partition.Key)
	}
	if _, ok := d.seen[l]; !ok {
		forgetOne(d.seen, maxRemembered)
	}
	d.seen[l] = k
}

// distrusts reports whether predictions for a policy and scope have failed.
func (d *directory) distrusts(k kind) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.failed[k]
	return ok
}

// distrust gives up predicting until another declaration comes.
func (d *directory) distrust(k kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = make(map[kind]struct{})
	}
	forgetOne(d.failed, maxRemembered)
	d.failed[k] = struct{}{}
}

// forgetOne drops an entry, whichever comes first, from a map that is full.
func forgetOne[K comparable, V any](m map[K]V, most int) {
	if len(m) < most {
		return
	}
	for k := range m {
		delete(m, k)
		return
	}
}
