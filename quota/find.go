package quota

import (
	"strings"

	"github.com/headway-go/headway/quota/internal/window"
)

// policyAccounts are the accounts of one policy: those of its partition keys if
// the policy is keyed, else those of the scopes.
type policyAccounts struct {
	policyID
	origin   *Origin
	server   window.Server // what all accounts of the policy have learned of it
	accounts index         // empty for no policy: its accounts are the scopes'
	until    instant       // from then on, nothing said of any of them is in force
	lines    int           // of those that work waits for

	absent map[*account]*window.Absent // of accounts that were used up and not named; else nil

	// Names of units of a server's own, such as tokens:
	unit  string              // that an account was told first
	units map[*account]string // of those accounts that were told another one
}

// noteUnit notes the name of the unit that an account was told. It is called for names of
// a server's own.
func (p *policyAccounts) noteUnit(a *account, name string) {
	switch {
	case p.unit == "":
		p.unit = name
	case p.unit == name:
		delete(p.units, a)
	default:
		if p.units == nil {
			p.units = make(map[*account]string)
		}
		p.units[a] = name
	}
}

// policyID identifies the policyAccounts of an origin. One policy may have accounts
// with keys and accounts without.
type policyID struct {
	name  string
	keyed bool
	none  bool // of no policy: the account of a scope, or of the whole origin
}

// scopeID is the policyID of the accounts of scopes.
var scopeID = policyID{none: true}

// accountID identifies an account of an origin.
type accountID struct {
	policyID
	owner string // the bytes of the partition key; or the scope, where there is no key
}

// find returns the account with that id, or nil.
func (o *Origin) find(id accountID) *account {
	if id.none {
		if s := o.scopes[id.owner]; s != nil {
			return &s.base
		}
		return nil
	}
	if p := o.byPolicy[id.policyID]; p != nil {
		return p.accounts.find(id.owner)
	}
	return nil
}

// create creates the account with that id, which find has not found, and sets its
// policy. If the account was restored with a hashed owner, create gives it its owner
// instead.
func (o *Origin) create(t instant, id accountID) *account {
	if id.none {
		return &o.scope(t, id.owner).base
	}
	if a := o.reveal(id); a != nil {
		return a
	}
	o.makeRoom(t)
	p := o.accountsOf(id.policyID)
	a := new(account)
	a.init(p, ownerOf(id.owner))
	o.add(t, a)
	if known, ok := o.policy(id.name); ok && (id.name != "" || id.keyed) { // others were told, not this scope: see presume
		a.setPolicy(&known)
	}
	p.accounts.add(a)
	return a
}

// accountsOf finds or creates the policyAccounts of a policy.
func (o *Origin) accountsOf(id policyID) *policyAccounts {
	p := o.byPolicy[id]
	if p == nil {
		id.name = strings.Clone(id.name)
		p = &policyAccounts{policyID: id, origin: o, accounts: index{hash: o.hash}}
		o.byPolicy[id] = p
	}
	return p
}

// scope finds or creates the scope of that name.
func (o *Origin) scope(t instant, name string) *scope {
	s := o.scopes[name]
	if s == nil && o.reveal(accountID{scopeID, name}) != nil {
		s = o.scopes[name]
	}
	if s == nil {
		o.makeRoom(t)
		s = new(scope)
		s.base.init(&o.ofScopes, longOwner(name))
		o.add(t, &s.base)
		o.scopes[s.base.owner.long] = s
		o.maxScopes = max(o.maxScopes, len(o.scopes))
	}
	s.base.Used = t
	return s
}
