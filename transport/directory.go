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

// directories finds the directory of an origin.
type directories struct {
	mu     sync.RWMutex // guards following
	byRaw  map[rawOrigin]*found
	byName map[string]*directory
}

// found is the directory of an origin as it is written.
type found struct {
	raw rawOrigin
	*directory
}

// of returns the directory of the origin that a request goes to.
func (ds *directories) of(accounts *quota.Accounts, fields *parse.Reader, raw rawOrigin) *found {
	ds.mu.RLock()
	f := ds.byRaw[raw]
	ds.mu.RUnlock()
	if f != nil {
		return f
	}
	name := raw.normal()
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if ds.byName == nil {
		ds.byRaw = make(map[rawOrigin]*found)
		ds.byName = make(map[string]*directory)
	}
	d := ds.byName[name]
	if d == nil {
		d = newDirectory(accounts, name)
		d.reader = fields.Clone()
		forgetOne(ds.byName, maxDirectories)
		ds.byName[name] = d
	}
	forgetOne(ds.byRaw, maxDirectories)
	f = &found{raw, d}
	ds.byRaw[raw] = f
	return f
}

// A directory is what a Shaper knows of an origin beside the accounts: how it
// partitions its quotas, and which kinds of requests they concern. It is learned
// from answers, and bounded whatever they say.
type directory struct {
	name     string
	accounts *quota.Accounts
	origin   atomic.Pointer[quota.Origin]
	declared atomic.Pointer[[]*parse.Declaration] // never modified, only replaced
	reader   *parse.Reader                        // the Shaper's, with a memory of its own

	mu     sync.RWMutex // guards following
	scopes map[string]*kinds
	all    int // kinds of all scopes
}

// newDirectory knows what was saved with the accounts.
func newDirectory(accounts *quota.Accounts, name string) *directory {
	d := &directory{name: name, accounts: accounts}
	d.origin.Store(accounts.Origin(name))
	d.restore()
	return d
}

// books are the origin's accounts, opened again if they were dropped.
func (d *directory) books() *quota.Origin {
	o := d.origin.Load()
	if o.Dropped() {
		o = d.accounts.Origin(d.name)
		d.origin.Store(o)
	}
	return o
}

// declaration is what the origin has declared about the partitions of a policy;
// nil, if nothing.
func (d *directory) declaration(policy string) *parse.Declaration {
	if all := d.declared.Load(); all != nil {
		for _, decl := range *all {
			if decl.Policy == policy {
				return decl
			}
		}
	}
	return nil
}

// declare takes over declarations. Policies that are not among them stay as
// they were declared before.
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
	d.attach(all)
}

// attached is the name under which declarations go with the accounts when these
// are saved: as the field that says them.
const attached = "RateLimit-Partition"

// attach has declarations saved with the accounts of the origin, but for those
// that are understood by nobody.
func (d *directory) attach(all []*parse.Declaration) {
	var lines []string
	for _, decl := range all {
		if line, err := parse.FormatDeclarations([]parse.Declaration{*decl}); err == nil {
			lines = append(lines, line)
		}
	}
	if o := d.books(); !o.Attach(attached, []byte(strings.Join(lines, ", "))) {
		o.Attach(attached, nil) // rather none than those of before
	}
}

// restore takes over the declarations that were saved with the accounts.
func (d *directory) restore() {
	saved := d.books().Attached(attached)
	if len(saved) == 0 {
		return
	}
	decls, _ := parse.Declarations(http.Header{"Ratelimit-Partition": {string(saved)}}, parse.Caps{FieldBytes: -1})
	d.declare(decls)
}

// declares reports whether all of these declarations are in force.
func (d *directory) declares(decls []parse.Declaration) bool {
	for i := range decls {
		known := d.declaration(decls[i].Policy)
		if known == nil || !slices.Equal(known.Dimensions, decls[i].Dimensions) {
			return false
		}
	}
	return true
}

// A memory is what is known of requests of a scope that are alike.
type memory struct {
	kind   *kind                // which they belong to; nil: none is known
	like   *kind                // kind, or what they are taken for where it is nil
	failed []*parse.Declaration // which are not believed for the scope
}

// recall is what is known of the requests of a scope that are alike.
func (d *directory) recall(scope string, l likeness) (m memory) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ks := d.scopes[scope]
	if ks == nil {
		return m
	}
	m.kind, m.failed = ks.met(l), ks.failed
	if m.like = m.kind; m.kind == nil {
		m.like = ks.unseen
	}
	return m
}

// learn takes over what an answer to a request says of its kind, which it returns.
// fewer says whether some requests of the scope may be concerned by fewer policies
// than before.
func (d *directory) learn(scope string, l likeness, f finding) (k *kind, fewer bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.open(scope)
	added, fewer := ks.learn(l, f, d.all < maxAll)
	if added {
		d.all++
	}
	return ks.met(l), fewer
}

// distrust gives up predicting by a declaration for a scope. It reports whether
// that is news.
func (d *directory) distrust(scope string, decl *parse.Declaration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.open(scope)
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

// open finds the kinds of a scope, or makes room for them. The lock is held.
func (d *directory) open(scope string) *kinds {
	ks := d.scopes[scope]
	if ks == nil {
		if d.scopes == nil {
			d.scopes = make(map[string]*kinds)
		}
		if old := forgetOne(d.scopes, maxScopes); old != nil {
			d.all -= len(old.known)
		}
		ks = new(kinds)
		d.scopes[scope] = ks
	}
	return ks
}

// forgetOne drops an entry, whichever comes first, from a map that is full, and
// returns it.
func forgetOne[K comparable, V any](m map[K]V, most int) (old V) {
	if len(m) < most {
		return old
	}
	for k, v := range m {
		delete(m, k)
		return v
	}
	return old
}
