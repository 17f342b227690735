package quota

import "time"

// Refuse takes over at now that the answer to a request of the scope, which departed at
// sent, was a refusal after all: its body says so. Until that is known, the lease is
// settled as Lost. The scope backs off as after a Report of a refusal with that Wait.
// Refuse returns what this has changed, for people to see.
func (o *Origin) Refuse(now, sent time.Time, scope, kind string, wait time.Duration) (changes []Change) {
	r := Report{Refused: true, Wait: wait, Changes: &changes}
	jitter := o.accounts.random()
	o.mu.Lock()
	t := o.at(now)
	l := Lease{origin: o, ofOrigin: &ofOrigin{scope: o.scope(t, scope)}, ticket: o.tickets, sent: o.at(sent)}
	l.setName(kind)
	l.among = l.scope
	l.findKind(t, o)
	s := settlement{o: o, l: &l, r: &r, t: t, sent: o.at(sent), jitter: jitter}
	o.refused, o.refusals = t, o.refusals+1
	s.watchAll()
	s.learnKind()
	s.backOff()
	s.infer()
	s.tell()
	woken := l.scope.base.line.AppendKicked(l.scope.kinds().kick(now, nil), now)
	o.mu.Unlock()
	for _, w := range woken {
		w.Wake()
	}
	return changes
}
