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
	accounts index         // empty for the policy without a name: its accounts are the scopes'
	until    instant       // when nothing that was told of any of them is in force any more
}

// policyID tells the policyAccounts of an origin apart. One policy may have
// accounts with keys and without.
type policyID struct {
	name  string
	keyed bool
}

// accountID tells the accounts of an origin apart.
type accountID struct {
	policyID
	owner string // the bytes of the partition key; or the scope, where there is no key
}

// find returns the account of that id; nil, if there is none. The account of the
// policy without a name is that of the scope.
func (o *Origin) find(id accountID) *account {
	if id.policyID == o.unnamed.policyID {
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

// create makes the account of that id, which was not found, with what is known of
// its policy. An account that was restored is given its owner instead.
func (o *Origin) create(t instant, id accountID) *account {
	if id.policyID == o.unnamed.policyID {
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
	if known, ok := o.policy(id.name); ok {
		a.setPolicy(known)
	}
	p.accounts.add(a)
	return a
}

// accountsOf finds the accounts of a policy, or creates them.
func (o *Origin) accountsOf(id policyID) *policyAccounts {
	p := o.byPolicy[id]
	if p == nil {
		id.name = strings.Clone(id.name)
		p = &policyAccounts{policyID: id, origin: o, accounts: index{hash: o.hash}}
		o.byPolicy[id] = p
	}
	return p
}

// scope finds the scope of that name, or creates it.
func (o *Origin) scope(t instant, name string) *scope {
	s := o.scopes[name]
	if s == nil && o.reveal(accountID{owner: name}) != nil {
		s = o.scopes[name]
	}
	if s == nil {
		o.makeRoom(t)
		s = new(scope)
		s.base.init(&o.unnamed, longOwner(name))
		o.add(t, &s.base)
		o.scopes[s.base.owner.long] = s
		o.maxScopes = max(o.maxScopes, len(o.scopes))
	}
	s.base.Used = t
	return s
}
