package quota

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headway-go/headway/quota/internal/window"
)

// What is saved is a sequence of JSON values: a head; then each origin, followed by
// its accounts; then the number of these values.
const (
	savedFormat  = "headway accounts"
	savedVersion = 1

	maxSaved       = 1 << 30 // bytes in all
	maxSavedRecord = 1 << 20 // bytes of one value
	maxSavedName   = 1 << 16 // bytes of the name of an origin, or of an account that is not saved as a digest

	maxAttached      = 8        // to one origin
	maxAttachedBytes = 64 << 10 // of each
)

var (
	errNotSaved = errors.New("quota: invalid saved accounts") // Save has not written them, or they are not complete
	errInUse    = errors.New("quota: accounts to be restored are in use")
	errSecret   = errors.New("quota: the accounts were saved with another Secret")
)

type savedHead struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Saved   time.Time `json:"saved"`
	Secret  []byte    `json:"secret"` // of credentialHashes and digests
}

// A savedRecord is one of these.
type savedRecord struct {
	Origin  *savedOrigin  `json:"origin,omitempty"`
	Account *savedAccount `json:"account,omitempty"` // of the origin before
	End     *int          `json:"end,omitempty"`     // how many records there were
}

type savedOrigin struct {
	Name     string            `json:"name"`
	Policies []Policy          `json:"policies,omitempty"`
	Root     savedAccount      `json:"root"`
	Looked   time.Duration     `json:"looked,omitempty"` // since then: see Origin.looked; at most window.MaxSavedIdle
	Attached map[string][]byte `json:"attached,omitempty"`
}

// A savedAccount is an account with times relative to when it was saved, in
// nanoseconds.
type savedAccount struct {
	Policy string `json:"policy,omitempty"`
	Keyed  bool   `json:"keyed,omitempty"`
	None   bool   `json:"none,omitempty"` // of no policy: the account of a scope
	Owner  []byte `json:"owner,omitempty"`
	Digest []byte `json:"digest,omitempty"` // of the owner, in its place

	window.Saved
}

// sound reports whether Save can have written s.
func (s *savedAccount) sound() bool {
	return s.Sound() && (s.Digest == nil || len(s.Digest) == len(digest{}) && s.Owner == nil)
}

// Save writes what is known at the present instant, now, for Restore. It may be
// called at any time, and holds no lock for long. An error is that of w.
//
// If keys is true, partition keys and the names of scopes are saved as they are: they may
// identify a person. Else a keyed hash of each is saved, with which keys and names are
// compared after Restore; a Snapshot shows the name again once a request has come for it.
//
// For each account that is the quota, what is left and until when, its hold and back-off, and when a request last asked;
// for each origin, its policies and what is attached to it. An account of which nothing is in
// force is not saved: its window is over, and no hold or back-off lasts. Units in flight are
// saved as spent. Not saved are what requests of a kind cost, what was inferred or learned of the
// server (see Strategy), how often it has refused, and the limits of the client's own
// (Ask.Limiter), which are not part of the Accounts. Of an account whose quota was inferred, only
// a hold or a back-off is saved. The next process infers the quota anew, because a restored one that
// is wrong would not be found out.
//
// The secret that hashes are made with is written, too: with it, one can find out
// whether a given user or credential is among the accounts.
func (a *Accounts) Save(w io.Writer, now time.Time, keys bool) error {
	buffered := bufio.NewWriter(w)
	enc := json.NewEncoder(buffered)
	key := a.hashes().key()
	if err := enc.Encode(savedHead{savedFormat, savedVersion, now.Round(0), key[:]}); err != nil {
		return err
	}
	n := 0
	write := func(r savedRecord) error {
		n++
		return enc.Encode(r)
	}
	for _, o := range a.all() {
		if err := o.save(write, now, keys); err != nil {
			return err
		}
	}
	if err := enc.Encode(savedRecord{End: &n}); err != nil {
		return err
	}
	return buffered.Flush()
}

func (o namedOrigin) save(write func(savedRecord) error, now time.Time, keys bool) error {
	o.mu.Lock()
	if !o.begun || len(o.name) > maxSavedName || !utf8.ValidString(o.name) { // JSON changes other names
		o.mu.Unlock()
		return nil
	}
	t := o.at(now)
	s := savedOrigin{
		Name: o.name, Policies: o.Policies(), Attached: maps.Clone(o.attached),
		Root: savedAccount{Saved: o.root.Save(t)}, Looked: min(t.Since(o.looked), window.MaxSavedIdle),
	}
	o.mu.Unlock()
	err := write(savedRecord{Origin: &s})
	for some := range o.chunks(t, false) {
		for i := range some {
			a := &some[i].account
			if a.Roll(t); a.Over(t) || a.SaysNothing(t) {
				continue
			}
			s := savedAccount{Policy: a.policy.name, Keyed: a.policy.keyed, None: a.ofNone(), Saved: a.Save(t)}
			if a.inferred() {
				if !a.Paused(t) {
					continue
				}
				s.Saved = s.Pause()
			}
			name := some[i].owner
			switch d, hashed := digestOf(name); {
			case hashed:
				s.Digest = d[:]
			case keys && len(name) <= maxSavedName || name == "":
				s.Owner = []byte(name)
			default:
				d = o.accounts.credentialHashes.digest("owner", name)
				s.Digest = d[:]
			}
			if err == nil {
				err = write(savedRecord{Account: &s})
			}
		}
		if err != nil {
			break
		}
	}
	return err
}

// Restore reads what Save has written. What was known then is known again, changed
// by the time since: windows and holds go on as if the process had not ended. If the
// clock says that it was saved in the future, no time has passed. What was
// saved may have been changed: no hold is restored for longer than 24 hours.
//
// The Accounts must not have been used yet: that is an error, and so is input of which
// any part is invalid. On an error nothing is changed: a program can start without.
// Origins and accounts beyond the bounds are left out. Restore may read beyond the end of
// what Save has written.
func (a *Accounts) Restore(r io.Reader, now time.Time) error {
	in := newRestorer(a, r, now)
	if err := in.run(); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case len(a.origins) > 0:
		return errInUse
	case a.hashes().use(in.secret) || a.credentialHashes.key() == in.secret:
	case a.Secret != nil:
		return errSecret
	default:
		return errInUse // a CredentialHash was made with a random key
	}
	for name, o := range in.to.origins {
		if o.accounts = a; a.Peers != nil {
			o.shared = newShared(o, name)
		}
	}
	a.origins = in.to.origins
	a.beyond.Store(in.to.beyond.Load())
	return nil
}

// A restorer reads saved accounts into an Accounts of its own.
type restorer struct {
	r       io.Reader
	dec     *json.Decoder
	left    int64 // bytes that may be read in all
	record  int64 // bytes that may be read for one value
	failure error // of r, or because of too many bytes
	n       int   // records

	to     *Accounts
	now    time.Time
	secret secret
	start  time.Time // of all origins
	saved  instant
	origin *Origin // of the accounts that come next; nil: it is left out
}

func newRestorer(a *Accounts, r io.Reader, now time.Time) *restorer {
	in := &restorer{
		r: r, left: maxSaved, record: maxSavedRecord, now: now,
		to: &Accounts{
			MaxOrigins: a.MaxOrigins, MaxAccounts: a.MaxAccounts, MaxTotal: a.MaxTotal,
			Strategy: a.Strategy, origins: make(map[string]*Origin),
		},
	}
	in.dec = json.NewDecoder(in)
	in.dec.DisallowUnknownFields()
	return in
}

// Read implements io.Reader for the decoder.
func (in *restorer) Read(p []byte) (int, error) {
	if in.left <= 0 || in.record <= 0 {
		in.failure = malformed("too large")
		return 0, in.failure
	}
	n, err := in.r.Read(p[:min(int64(len(p)), in.left, in.record)])
	in.left -= int64(n)
	in.record -= int64(n)
	if err != nil && err != io.EOF {
		in.failure = fmt.Errorf("quota: restore: %w", err)
	}
	return n, err
}

func malformed(how string) error { return fmt.Errorf("%w: %s", errNotSaved, how) }

// next reads a value. Its error does not say what was read: it may be secret.
func (in *restorer) next(v any) error {
	in.record = maxSavedRecord
	err := in.dec.Decode(v)
	switch {
	case err == nil:
		return nil
	case in.failure != nil:
		return in.failure
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return malformed("the end is missing")
	}
	return malformed(fmt.Sprintf("record %d cannot be read", in.n))
}

func (in *restorer) run() error {
	var head savedHead
	if err := in.next(&head); err != nil {
		return err
	}
	switch {
	case head.Format != savedFormat:
		return malformed("another format")
	case head.Version != savedVersion:
		return malformed(fmt.Sprintf("version %d, not %d", head.Version, savedVersion))
	case len(head.Secret) != len(in.secret):
		return malformed("no secret")
	}
	in.secret = secret(head.Secret)
	age := min(max(in.now.Round(0).Sub(head.Saved), 0), 100*window.MaxSavedTime)
	in.start, in.saved = in.now.Add(-age-window.MaxSavedIdle), instant(window.MaxSavedIdle)
	for {
		var r savedRecord
		if err := in.next(&r); err != nil {
			return err
		}
		if r.End != nil {
			if *r.End != in.n {
				return malformed("records are missing")
			}
			return nil
		}
		in.n++
		if !in.take(&r) {
			return malformed(fmt.Sprintf("record %d makes no sense", in.n))
		}
	}
}

// take restores a record. It reports whether the record is valid.
func (in *restorer) take(r *savedRecord) bool {
	switch {
	case r.Origin != nil && r.Account == nil:
		return in.takeOrigin(r.Origin)
	case r.Account != nil && r.Origin == nil && in.n > 1:
		return in.takeAccount(r.Account)
	}
	return false
}

func (in *restorer) takeOrigin(s *savedOrigin) bool {
	in.origin = nil
	if in.to.origins[s.Name] != nil || len(s.Policies) > maxPolicies || len(s.Attached) > maxAttached || !s.Root.sound() ||
		s.Looked < 0 || s.Looked > window.MaxSavedIdle {
		return false
	}
	for _, data := range s.Attached {
		if len(data) > maxAttachedBytes {
			return false
		}
	}
	for _, p := range s.Policies {
		if p.Quota < None || p.Window < 0 {
			return false
		}
	}
	if bound := bounded(in.to.MaxOrigins, defaultMaxOrigins); bound >= 0 && len(in.to.origins) >= bound {
		return true
	}
	o := newOrigin(in.to, in.start)
	o.begun, o.attached = true, s.Attached
	o.first.over = len(s.Policies) > 0 // the origin has told something; so it has where an account was saved
	o.root.Restore(in.saved, s.Root.Saved)
	o.held = o.root.Hold
	o.looked = in.saved - instant(s.Looked)
	for i := range s.Policies {
		o.note(in.saved, &s.Policies[i])
	}
	in.to.origins[s.Name], in.origin = o, o
	return true
}

func (in *restorer) takeAccount(s *savedAccount) bool {
	if !s.sound() {
		return false
	}
	o := in.origin
	if o == nil {
		return true
	}
	id := accountID{policyID{s.Policy, s.Keyed, s.None}, string(s.Owner)}
	if s.Digest != nil {
		id.owner = hashedOwner(digest(s.Digest))
	}
	if o.find(id) != nil || in.to.full(len(o.all)) {
		return true // saved twice, because it moved in Origin.all meanwhile; or there is no room
	}
	a := o.create(in.saved, id)
	a.Restore(in.saved, s.Saved)
	o.held = max(o.held, a.Hold)
	o.first.over = true
	a.policy.until = max(a.policy.until, a.InForce())
	if s.Digest != nil {
		o.hashedOwners++
	}
	return true
}

// An account whose owner was saved as a digest has a hashed owner: hashedPrefix and the
// digest. The first request whose owner has that digest reveals the owner.
const hashedPrefix = "\x00hashed\x00"

func hashedOwner(d digest) string { return hashedPrefix + string(d[:]) }

// digestOf returns the digest of a hashed owner; ok is false for any other owner.
func digestOf(owner string) (d digest, ok bool) {
	text, ok := strings.CutPrefix(owner, hashedPrefix)
	if ok = ok && len(text) == len(d); ok {
		d = digest([]byte(text))
	}
	return d, ok
}

// known is like find, but also looks among the accounts with hashed owners.
func (o *Origin) known(id accountID) *account {
	if a := o.find(id); a != nil {
		return a
	}
	return o.reveal(id)
}

// reveal finds the account with that id among those with hashed owners, and gives it
// its owner. It returns nil if there is none.
func (o *Origin) reveal(id accountID) *account {
	if o.hashedOwners == 0 {
		return nil
	}
	hashed := id
	hashed.owner = hashedOwner(o.accounts.credentialHashes.digest("owner", id.owner))
	a := o.find(hashed)
	if a == nil {
		return nil
	}
	o.hashedOwners--
	if a.ofNone() {
		s := o.scopes[hashed.owner]
		delete(o.scopes, hashed.owner)
		a.owner = longOwner(id.owner)
		o.scopes[a.owner.long] = s
		return a
	}
	a.policy.accounts.remove(a)
	a.owner = ownerOf(id.owner)
	a.policy.accounts.add(a)
	return a
}

// Attach keeps data that a client has about the origin, such as how it partitions
// its quotas, under a name. The data is saved and restored with the origin. Attach
// reports whether there was room: for 8 names, and 64 KiB under each. Empty data
// removes the name.
func (o *Origin) Attach(name string, data []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(data) == 0 {
		delete(o.attached, name)
		return true
	}
	if _, ok := o.attached[name]; len(data) > maxAttachedBytes || !ok && len(o.attached) >= maxAttached {
		return false
	}
	if o.attached == nil {
		o.attached = make(map[string][]byte)
	}
	o.attached[name] = slices.Clone(data)
	return true
}

// Attached returns what was last attached under that name, or nil. The slice is shared:
// do not modify it.
func (o *Origin) Attached(name string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attached[name]
}
