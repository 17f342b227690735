package parse

import (
	"strconv"
	"time"
)

// An unnamed policy is an item of RateLimit-Policy in drafts -06 and -07 (Section 2.1
// of both): an Integer, the quota, and its window.
type unnamed struct {
	quota  int64
	window time.Duration // 0 if there is none
	name   string        // the parameter name, which Envoy adds
}

// text returns the policy as a field writes it. It is the name of a policy that has no
// other.
func (u unnamed) text() string {
	text := strconv.FormatInt(u.quota, 10)
	if u.window > 0 {
		text += ";w=" + strconv.FormatInt(int64(u.window/time.Second), 10)
	}
	return text
}

// readUnnamed reads RateLimit-Policy as drafts -06 and -07 define it. w is REQUIRED.
// Policies that repeat a quota make the field invalid (Section 3.2 of draft -06,
// Section 3.5 of draft -07). form reports whether any item is an Integer.
func readUnnamed(lines []string, caps Caps) (policies []unnamed, form bool, ignored []Ignored) {
	r := readList("RateLimit-Policy", lines, caps)
	for r.nextInteger() {
		form = true
		if u, ok := r.unnamed(); ok {
			policies = append(policies, u)
		}
	}
	if repeatsQuota(policies) {
		r.item = None
		r.ignore("", errConflict)
		policies = nil
	}
	return policies, form, r.ignored
}

// readLabelled reads a RateLimit-Policy in that form whose items all have a name, as a parameter:
// 3;w=10;name="ip". It returns nil if another one is among them.
func readLabelled(lines []string, caps Caps) (policies []Policy) {
	r := readList("RateLimit-Policy", lines, caps)
	var seen index
	for r.nextInteger() {
		u, ok := r.unnamed()
		v, _ := r.params.Get("name")
		name, isText := text(v)
		if !ok || !isText || len(name) > caps.nameBytes() {
			return nil
		}
		p := Policy{Name: name, Quota: u.quota, Unit: requests, Window: u.window}
		if i := find(&seen, policies, p); i != None {
			policies[i].merge(p)
			continue
		}
		policies = append(policies, p)
	}
	if len(r.ignored) > 0 {
		return nil
	}
	return policies
}

// nextInteger advances to the next item that is an Integer, and reports whether there is
// one.
func (r *listReader) nextInteger() bool {
	for r.item+1 < r.len() {
		r.item++
		item, ok := r.current()
		if _, integer := item.Value.(int64); !ok || !integer {
			r.ignore("", errType)
			continue
		}
		r.params, r.malformed = item.Params, false
		return true
	}
	return false
}

// unnamed reads the current item, whose value is an Integer.
func (r *listReader) unnamed() (u unnamed, ok bool) {
	item, _ := r.current()
	if u.quota = r.units(param{"", item.Value}, param{}); u.quota == None && !r.malformed {
		r.drop("", errMissing)
	}
	w, _ := r.params.Get("w")
	if u.window = r.policyWindow(param{"w", w}); u.window == 0 && !r.malformed {
		r.drop("w", errMissing)
	}
	return u, !r.malformed
}

// repeatsQuota reports whether two policies have the same quota.
func repeatsQuota(policies []unnamed) bool {
	if len(policies) < 2 {
		return false
	}
	seen := make(map[int64]struct{}, len(policies))
	for _, u := range policies {
		seen[u.quota] = struct{}{}
	}
	return len(seen) < len(policies)
}

// named returns unnamed policies with names. Drafts -06 and -07 have one account, whose
// quota is limit and whose name is "": so is the name of the policy with that quota. The
// others are named by their text, so that a client can count against them. Policies that
// get the same name are merged.
func named(policies []unnamed, limit int64) []Policy {
	out := make([]Policy, 0, len(policies)+1)
	var seen index
	for _, u := range policies {
		p := Policy{Name: u.name, Quota: u.quota, Unit: requests, Window: u.window}
		if p.Name == "" && u.quota != limit {
			p.Name = u.text()
		}
		if i := find(&seen, out, p); i != None {
			out[i].merge(p)
			continue
		}
		out = append(out, p)
	}
	return out
}

// accountOf returns the service limit of an account, and its policy after the advertised
// ones unless one of them has its name.
func accountOf(f figure, name string, policies []Policy) ([]Policy, []Limit) {
	if f.limit != None && !advertised(policies, name) {
		policies = append(policies, Policy{Name: name, Quota: f.limit, Unit: requests})
	}
	l, ok := f.serviceLimit(name)
	if !ok {
		return policies, nil
	}
	return policies, []Limit{l}
}

// advertised reports whether one of the policies has a name.
func advertised(policies []Policy, name string) bool {
	for i := range policies {
		if policies[i].Name == name {
			return true
		}
	}
	return false
}
