package quota

import (
	"slices"
	"time"
)

const (
	// maxPolicies bounds the policies of one origin. Beyond it, the one that the
	// server has named least recently is forgotten.
	maxPolicies = 32

	// A policy is forgotten if the server has not named it for minSilence, nor for
	// four of its windows, nor in the last minSilenceAnswers answers that named others.
	minSilence        = 10 * time.Minute
	minSilenceAnswers = 32
)

// A naming is when a policy was named last.
type naming struct {
	at      instant
	reports uint32 // Origin.reports at that time
}

// Policies returns the quota policies that the server has named, in the order in
// which it first did so. A policy that it has not named for long, in answers that
// name others, is left out, unless the policy still holds requests. The one without a name
// (draft -07 and older, X-RateLimit) is among them with the Name "". The slice is shared: do not modify it.
func (o *Origin) Policies() []Policy { return *o.policies.Load() }

func (o *Origin) policy(name string) (Policy, bool) {
	known := o.Policies()
	for i := range known {
		if known[i].Name == name {
			return known[i], true
		}
	}
	return Policy{}, false
}

// isKeyed reports whether the accounts of a policy are those of partition keys.
func (o *Origin) isKeyed(name string) bool {
	p, _ := o.policy(name)
	return p.Keyed
}

// note records a policy that the server has named. If that has no quota, the quota, unit
// and window that were advertised last stay in force.
func (o *Origin) note(t instant, named *Policy) {
	known := o.Policies()
	for i := range known {
		k := &known[i]
		if k.Name != named.Name {
			continue
		}
		o.named[i] = naming{t, o.reports}
		if named.Quota < 0 && named.Keyed == k.Keyed || *named == *k {
			return
		}
		p := *named
		if p.Quota < 0 {
			p.Quota, p.Unit, p.Window = k.Quota, k.Unit, k.Window
		}
		if p.Keyed != k.Keyed {
			o.routeAgain(p.Name)
		}
		next := slices.Clone(known)
		next[i] = p
		o.publish(next)
		return
	}
	if len(known) < maxPolicies {
		o.named = append(o.named, naming{t, o.reports})
		o.publish(append(known[:len(known):len(known)], *named))
		return
	}
	oldest := 0
	for i := range o.named {
		if o.named[i].at < o.named[oldest].at {
			oldest = i
		}
	}
	next := slices.Clone(known)
	next[oldest], o.named[oldest] = *named, naming{t, o.reports}
	o.publish(next)
}

func (o *Origin) publish(ps []Policy) { o.policies.Store(&ps) }

// forget forgets the policies that the server has not named for long, and wakes the
// work that waits for them. Their accounts are evicted when they are over.
func (o *Origin) forget(t instant) {
	for i := len(o.named) - 1; i >= 0; i-- {
		if o.reports-o.named[i].reports >= minSilenceAnswers && o.vanished(t, i) {
			o.forgetPolicy(i)
		}
	}
}

func (o *Origin) forgetPolicy(i int) {
	known := o.Policies()
	o.publish(slices.Delete(slices.Clone(known), i, i+1))
	o.named = slices.Delete(o.named, i, i+1)
	o.routeAgain(known[i].Name)
}

// drop forgets a policy that is not meant any more, if the server has not named it since then for
// others, and nothing that was said of it is in force.
func (o *Origin) drop(t instant, policy string, since instant) {
	for i, p := range o.Policies() {
		if p.Name == policy && o.named[i].at <= since && t >= o.heldUntil(policy) {
			o.forgetPolicy(i)
			return
		}
	}
}

// routeAgain has the work that waits make its claims again, one after another, if some
// waits for the policy. The rest of the origin's work takes part in this: what waits for
// the policy may be about to move into its lines. What routeAgain costs does not depend on
// how much waits.
func (o *Origin) routeAgain(policy string) {
	lines := 0
	if policy == "" {
		lines = o.ofScopes.lines
	}
	for _, keyed := range [...]bool{false, true} {
		if p := o.byPolicy[policyID{name: policy, keyed: keyed}]; p != nil {
			lines += p.lines
		}
	}
	if lines > 0 {
		o.waiting.Begin()
	}
}

// vanished reports whether a policy that many answers have not named is to be forgotten.
func (o *Origin) vanished(t instant, i int) bool {
	last := o.named[i]
	if t < last.at.Add(minSilence) {
		return false
	}
	p := o.Policies()[i]
	return t >= last.at.Add(times(max(p.Window, 0), 4)) && t >= o.heldUntil(p.Name)
}

// heldUntil returns the instant from which on nothing said of any account of a policy
// is in force.
func (o *Origin) heldUntil(policy string) instant {
	var until instant
	for _, keyed := range [...]bool{false, true} {
		if b := o.byPolicy[policyID{name: policy, keyed: keyed}]; b != nil {
			until = max(until, b.until)
		}
	}
	return until
}
