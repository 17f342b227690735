package transport

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

// Bounds of what is kept of origins. Beyond them something is forgotten, and
// learned again.
const (
	maxDirectories  = 10_000
	maxDeclarations = 32
)

// directories finds the directory of an origin. An origin can be written in
// several ways, so there are two maps: by the scheme and host of the URL as they
// are, which is fast, and by the name of the origin.
type directories struct {
	mu     sync.RWMutex // guards following
	byURL  map[rawOrigin]*urlDirectory
	byName map[string]*directory
}

// A urlDirectory is a directory, and one way to write its origin.
type urlDirectory struct {
	url rawOrigin
	*directory
}

// of returns the directory of an origin, and creates it if there is none.
func (ds *directories) of(accounts *quota.Accounts, fields *parse.Reader, url rawOrigin) *urlDirectory {
	ds.mu.RLock()
	u := ds.byURL[url]
	ds.mu.RUnlock()
	if u != nil {
		return u
	}
	name := url.name()
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.byName == nil {
		ds.byURL = make(map[rawOrigin]*urlDirectory)
		ds.byName = make(map[string]*directory)
	}
	d := ds.byName[name]
	if d == nil {
		d = newDirectory(accounts, name)
		d.reader = fields.Clone()
		makeRoom(ds.byName, maxDirectories)
		ds.byName[name] = d
	}
	makeRoom(ds.byURL, maxDirectories)
	u = &urlDirectory{url, d}
	ds.byURL[url] = u
	return u
}

// A directory is what a Shaper knows of an origin beside its accounts: how the
// origin partitions its quotas, and which kinds of requests they concern. It is
// learned from responses, and bounded whatever they say.
type directory struct {
	name     string
	accounts *quota.Accounts
	origin   atomic.Pointer[quota.Origin]
	declared atomic.Pointer[[]*parse.Declaration] // the slice is replaced, never modified
	reader   *parse.Reader                        // the Shaper's, with a memory of its own

	mu        sync.RWMutex // guards following
	scopes    map[string]*kinds
	kindCount int // in all scopes
}

// newDirectory returns the directory of an origin, with the declarations that
// were saved in accounts.
func newDirectory(accounts *quota.Accounts, name string) *directory {
	d := &directory{name: name, accounts: accounts}
	d.origin.Store(accounts.Origin(name))
	d.restoreDeclarations()
	return d
}

// liveOrigin returns the accounts of the origin. If they were evicted, it creates
// new ones.
func (d *directory) liveOrigin() *quota.Origin {
	o := d.origin.Load()
	if o.Dropped() {
		o = d.accounts.Origin(d.name)
		d.origin.Store(o)
	}
	return o
}

// declaration returns what the origin has declared about the partitions of a
// policy, or nil.
func (d *directory) declaration(policy string) *parse.Declaration {
	if declared := d.declared.Load(); declared != nil {
		for _, decl := range *declared {
			if decl.Policy == policy {
				return decl
			}
		}
	}
	return nil
}

// declare records declarations. Declarations of other policies stay in force.
func (d *directory) declare(decls []parse.Declaration) {
	if d.declares(decls) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*parse.Declaration
	if p := d.declared.Load(); p != nil {
		all = slices.Clone(*p)
	}
	for _, decl := range decls {
		i := slices.IndexFunc(all, func(k *parse.Declaration) bool { return k.Policy == decl.Policy })
		switch {
		case i >= 0 && slices.Equal(all[i].Dimensions, decl.Dimensions):
		case i >= 0:
			all[i] = &decl
		case len(all) < maxDeclarations:
			all = append(all, &decl)
		default:
			all = append(all[1:], &decl)
		}
	}
	d.declared.Store(&all)
	d.saveDeclarations(all)
}

// savedDeclarations is the name under which declarations are saved with the
// accounts of the origin. The value is that of the response field of this name.
const savedDeclarations = "RateLimit-Partition"

// saveDeclarations attaches declarations to the accounts of the origin, so that
// they are saved with them. Declarations that cannot be written are left out.
func (d *directory) saveDeclarations(all []*parse.Declaration) {
	var lines []string
	for _, decl := range all {
		if line, err := parse.FormatDeclarations([]parse.Declaration{*decl}); err == nil {
			lines = append(lines, line)
		}
	}
	if o := d.liveOrigin(); !o.Attach(savedDeclarations, []byte(strings.Join(lines, ", "))) {
		o.Attach(savedDeclarations, nil) // too large: save none, and not the old ones
	}
}

// restoreDeclarations records the declarations that were saved with the accounts.
func (d *directory) restoreDeclarations() {
	saved := d.liveOrigin().Attached(savedDeclarations)
	if len(saved) == 0 {
		return
	}
	decls, _ := parse.Declarations(http.Header{"Ratelimit-Partition": {string(saved)}}, parse.Caps{FieldBytes: -1})
	d.declare(decls)
}

// declares reports whether all of these declarations are in force.
func (d *directory) declares(decls []parse.Declaration) bool {
	for i := range decls {
		current := d.declaration(decls[i].Policy)
		if current == nil || !slices.Equal(current.Dimensions, decls[i].Dimensions) {
			return false
		}
	}
	return true
}

// known is what is known of requests of one scope and kind.
type known struct {
	kind    *kind                // nil: nothing is known of this kind
	assumed *kind                // kind; or kinds.other if kind is nil
	failed  []*parse.Declaration // that are not used for predictions in the scope
}

// lookUp returns what is known of requests of a scope and kind.
func (d *directory) lookUp(scope string, key kindKey) (k known) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ks := d.scopes[scope]
	if ks == nil {
		return k
	}
	k.kind, k.failed = ks.get(key), ks.failed
	if k.assumed = k.kind; k.kind == nil {
		k.assumed = ks.other
	}
	return k
}

// learn updates what is known of a kind of requests from a response to one of
// them, and returns the kind. fewer reports whether fewer policies than before may
// concern some requests of the scope.
func (d *directory) learn(scope string, key kindKey, r response) (k *kind, fewer bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.findOrCreateLocked(scope)
	added, fewer := ks.learn(key, r, d.kindCount < maxKindsOfAll)
	if added {
		d.kindCount++
	}
	return ks.get(key), fewer
}

// distrust stops predictions by a declaration for a scope. It returns false if
// they were stopped before.
func (d *directory) distrust(scope string, decl *parse.Declaration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.findOrCreateLocked(scope)
	failed := ks.failed
	if slices.Contains(failed, decl) {
		return false
	}
	if len(failed) >= maxDeclarations {
		failed = failed[1:]
	}
	ks.failed = append(slices.Clone(failed), decl)
	return true
}

// findOrCreateLocked returns the kinds of a scope, and creates them if there are none.
func (d *directory) findOrCreateLocked(scope string) *kinds {
	ks := d.scopes[scope]
	if ks == nil {
		if d.scopes == nil {
			d.scopes = make(map[string]*kinds)
		}
		if evicted := makeRoom(d.scopes, maxScopes); evicted != nil {
			d.kindCount -= len(evicted.seen)
		}
		ks = new(kinds)
		d.scopes[scope] = ks
	}
	return ks
}

// makeRoom evicts an arbitrary entry from a map that holds capacity entries, and
// returns its value.
func makeRoom[K comparable, V any](m map[K]V, capacity int) (evicted V) {
	if len(m) < capacity {
		return evicted
	}
	for k, v := range m {
		delete(m, k)
		return v
	}
	return evicted
}
