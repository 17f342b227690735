package transport

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

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

	kindBytes atomic.Int64 // that the kinds of all directories take up
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
	if u != nil && !u.dropped.Load() {
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
		d.reader, d.kindsOfAll = fields.Clone(), &ds.kindBytes
		if evicted := makeRoom(ds.byName, maxDirectories); evicted != nil {
			evicted.drop()
		}
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

	unnamed atomic.Pointer[[]definition] // see nameOf; the slice is replaced, never modified
	dropped atomic.Bool                  // another one is used instead
	byPath  atomic.Pointer[string]       // the vendor's row that partitions by path; nil: none does
	tokens  atomic.Bool                  // a policy counts tokens
	asked   atomic.Bool                  // a request that may be for a language model was answered
	unit    resetUnit                    // of numbers that say when a quota is renewed
	told    toldKinds                    // what kinds are told
	began   time.Time                    // departures are told as the time since then

	changes atomic.Uint64 // of what follows, and of what lookUp returns

	mu         sync.RWMutex // guards following
	scopes     map[string]*kinds
	kindBytes  int           // that the kinds of all scopes take up, and told
	toldBytes  int           // that told takes up
	kindsOfAll *atomic.Int64 // that the kinds of all directories take up
}

// newDirectory returns the directory of an origin, with the declarations that
// were saved in accounts.
func newDirectory(accounts *quota.Accounts, name string) *directory {
	d := &directory{name: name, accounts: accounts, began: time.Now()}
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
			if listName(decl.Policy) == policy {
				return decl
			}
		}
	}
	return nil
}

// declare records declarations. Declarations of other policies stay in force. changed
// are the policies whose declaration is another one than before.
func (d *directory) declare(decls []parse.Declaration) (changed []string) {
	if d.declares(decls) {
		return nil
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
			continue
		case i >= 0:
			all[i] = &decl
		case len(all) < maxDeclarations:
			all = append(all, &decl)
		default:
			changed = append(changed, listName(all[0].Policy))
			all = append(all[1:], &decl)
		}
		changed = append(changed, listName(decl.Policy))
	}
	d.declared.Store(&all)
	d.saveDeclarations(all)
	return changed
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
		current := d.declaration(listName(decls[i].Policy))
		if current == nil || !slices.Equal(current.Dimensions, decls[i].Dimensions) {
			return false
		}
	}
	return true
}

// A definition is what a policy without a name is, and its name in the accounts.
type definition struct {
	quota  int64
	window time.Duration
	name   string
}

// maxDefinitions bounds the policies without a name that are told apart.
const maxDefinitions = 4

// nameOf returns the name in the accounts of a policy without a name: "", or the text
// of the policy if the origin has named another one without a name before. One with
// the same quota or the same window as another replaces it.
func (d *directory) nameOf(quota int64, window time.Duration) string {
	if p := d.unnamed.Load(); p != nil {
		for i := range *p {
			if k := &(*p)[i]; k.quota == quota && k.window == window {
				return k.name
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []definition
	if p := d.unnamed.Load(); p != nil {
		all = slices.Clone(*p)
	}
	def := definition{quota: quota, window: window}
	at := slices.IndexFunc(all, func(k definition) bool { return k.quota == quota || k.window == window })
	switch {
	case at >= 0:
		def.name, all[at] = all[at].name, definition{quota, window, all[at].name}
	case len(all) == maxDefinitions:
		return ""
	default:
		if len(all) > 0 {
			def.name = fmt.Sprintf("%d;w=%d", quota, int64(window/time.Second))
		}
		all = append(all, def)
	}
	d.unnamed.Store(&all)
	return def.name
}

// known is what is known of requests of one scope and kind.
type known struct {
	kind    *kind                // nil: nothing is known of this kind
	assumed *kind                // kind; or what is known of like kinds, if kind is nil
	failed  []*parse.Declaration // that are not used for predictions in the scope
}

// knownOf says what is known of which requests, and after how many changes of that
// directory.
type knownOf struct {
	directory *directory
	scope     string
	kind      kindKey
	changes   uint64
}

// lookUp returns what is known of requests of a scope and kind.
func (d *directory) lookUp(scope string, path *kindPath) (k known) {
	d.mu.RLock()
	if ks := d.scopes[scope]; ks != nil {
		k.failed = ks.failed
		k.kind, k.assumed = ks.get(path)
	}
	d.mu.RUnlock()
	return k
}

// mayBeFree reports whether nothing is known of requests of a scope and kind, a policy that is named is taken to concern
// them, and few kinds are known that share one.
func (d *directory) mayBeFree(scope string, path *kindPath, named []quota.Figure) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	ks := d.scopes[scope]
	if ks == nil {
		return true
	}
	k, assumed := ks.get(path)
	return k == nil && ks.alike(path) < manyAlike && slices.ContainsFunc(named, func(f quota.Figure) bool { return assumed.stats(f.Policy) != nil })
}

// learn updates what is known of a kind of requests from a response to one of them,
// and returns the kind. moved are policies that may concern fewer requests of the
// scope than before, or in another partition. isNew reports whether nothing was
// known of the kind.
func (d *directory) learn(scope string, path *kindPath, r response) (k *kind, moved []string, isNew bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.findOrCreateLocked(scope)
	if isNew = ks.seen[path.key()] == nil; isNew {
		if len(ks.seen) >= maxKinds {
			d.weighLocked(ks, ks.evict)
		}
		d.makeRoomLocked(ks)
	}
	d.weighLocked(ks, func() { k, moved = ks.learn(path, r) })
	return k, moved, isNew
}

// distrust stops predictions by a declaration for a scope. It returns false if
// they were stopped before.
func (d *directory) distrust(scope string, decl *parse.Declaration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ks := d.findOrCreateLocked(scope)
	if slices.Contains(ks.failed, decl) {
		return false
	}
	failed := []*parse.Declaration{decl}
	for _, f := range ks.failed { // but those that were replaced
		if d.declaration(listName(f.Policy)) == f && len(failed) < maxDeclarations {
			failed = append(failed, f)
		}
	}
	ks.failed = failed
	return true
}

// findOrCreateLocked returns the kinds of a scope, and creates them if there are none.
func (d *directory) findOrCreateLocked(scope string) *kinds {
	d.changes.Add(1) // the caller is about to change something
	ks := d.scopes[scope]
	if ks == nil {
		if d.scopes == nil {
			d.scopes = make(map[string]*kinds)
		}
		if evicted := makeRoom(d.scopes, maxScopes); evicted != nil {
			d.countLocked(-evicted.bytes)
		}
		ks = &kinds{bytes: scopeBytes + len(scope)}
		d.countLocked(ks.bytes)
		d.scopes[strings.Clone(scope)] = ks
	}
	return ks
}

// weighLocked counts the memory that change adds to the kinds of a scope.
func (d *directory) weighLocked(ks *kinds, change func()) {
	before := ks.bytes
	change()
	d.countLocked(ks.bytes - before)
}

func (d *directory) countLocked(n int) {
	d.kindBytes += n
	if d.kindsOfAll != nil {
		d.kindsOfAll.Add(int64(n))
	}
}

// weighTold counts the memory that the kinds of told take up, which is at most half of what kinds
// may.
func (d *directory) weighTold() {
	d.told.mu.Lock()
	defer d.told.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.countLocked(d.told.bytes - d.toldBytes)
	d.toldBytes = d.told.bytes
	if d.accounts == nil {
		return
	}
	most := max(kindBytesOf(d.accounts.MaxAccounts, defaultMaxAccounts)/2, 0)
	if ofAll := kindBytesOf(d.accounts.MaxTotal, defaultMaxTotal) / 2; ofAll >= 0 && d.kindsOfAll != nil && d.kindsOfAll.Load() >= int64(ofAll) {
		most = max(ofAll/maxDirectories/2, 1)
	}
	d.told.most.Store(int64(most))
}

// drop forgets all kinds of a directory that is not used any more.
func (d *directory) drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropped.Store(true)
	d.changes.Add(1)
	d.countLocked(-d.kindBytes)
	d.scopes, d.kindsOfAll = nil, nil
}

// Kinds may take up a tenth of the memory that accounts may: see quota.Accounts. An
// account takes up about so many bytes.
const (
	accountBytes = 350
	kindsPart    = 10

	defaultMaxAccounts = 100_000   // of Accounts.MaxAccounts
	defaultMaxTotal    = 1_000_000 // of Accounts.MaxTotal
)

// fullLocked reports whether the kinds take up as much memory as they may: those of
// the origin by Accounts.MaxAccounts; those of all origins by Accounts.MaxTotal, half
// of which is shared out equally among as many origins as there may be.
func (d *directory) fullLocked() bool {
	if d.accounts == nil {
		return false
	}
	ofOrigin := kindBytesOf(d.accounts.MaxAccounts, defaultMaxAccounts)
	if ofOrigin >= 0 && d.kindBytes >= ofOrigin {
		return true
	}
	ofAll := kindBytesOf(d.accounts.MaxTotal, defaultMaxTotal) / 2
	return ofAll >= 0 && d.kindsOfAll != nil && d.kindsOfAll.Load() >= int64(ofAll) && d.kindBytes >= ofAll/maxDirectories
}

// kindBytesOf returns the memory for kinds beside so many accounts; negative: no
// bound.
func kindBytesOf(accounts, otherwise int) int {
	if accounts == 0 {
		accounts = otherwise
	}
	if accounts < 0 {
		return -2
	}
	return max(accounts/kindsPart, 1) * accountBytes
}

// makeRoomLocked evicts kinds until there is room for another one of ks. It takes
// them from the scope that has more than another.
func (d *directory) makeRoomLocked(ks *kinds) {
	for d.fullLocked() {
		name, from := d.anyScopeLocked(ks)
		if from == nil && len(ks.seen) == 0 {
			return
		}
		if from == nil || len(from.seen) < len(ks.seen) {
			from = ks
		}
		d.weighLocked(from, from.evict)
		if from != ks && len(from.seen) == 0 {
			delete(d.scopes, name)
			d.countLocked(-from.bytes)
		}
	}
}

// anyScopeLocked returns an arbitrary scope but one, or nil.
func (d *directory) anyScopeLocked(but *kinds) (name string, ks *kinds) {
	for name, ks := range d.scopes {
		if ks != but {
			return name, ks
		}
	}
	return "", nil
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
