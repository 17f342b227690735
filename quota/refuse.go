package quota

import "time"

// Refuse takes over at now that the answer to a request of the scope, which departed at
// sent, was a refusal after all: its body says so. Until that is known, the lease is
// settled as Lost. The scope backs off as after a Report of a refusal with that Wait.
func (o *Origin) Refuse(now, sent time.Time, scope string, wait time.Duration) {
	r := Report{Refused: true, Wait: wait}
	jitter := o.accounts.random()
	o.mu.Lock()
	t := o.at(now)
	l := Lease{origin: o, scope: o.scope(t, scope)}
	s := settlement{o: o, l: &l, r: &r, t: t, sent: o.at(sent), jitter: jitter}
	o.refused, o.refusals = t, o.refusals+1
	s.backOff()
	s.infer()
	w := l.scope.base.line.Kick(now)
	o.mu.Unlock()
	w.Wake()
}
