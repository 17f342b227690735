package wait

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"time"
)

// Forever as Options.MaxDelay: wait until the context ends.
const Forever time.Duration = math.MaxInt64

// Options say how an admission waits, and what it calls. The functions must not
// be called concurrently by anything else, and may be nil.
type Options struct {
	Priority int           // the higher goes first
	MaxDelay time.Duration // the longest wait; negative: be refused at once
	MaxQueue int           // how many may be in line before; negative: any number
	Force    bool          // charge at once, whatever the constraints say

	// Needs says how long before its deadline work that waits has to be charged, if it had
	// so much time when it came: its answer has to arrive in time, too. The mutexes of all
	// claims are held. Nil: it may be charged until the deadline.
	Needs func(had time.Duration) time.Duration

	// Held is told what refused: before the work waits, and again after each attempt
	// after which it goes on waiting; or once, after it was charged in spite of a
	// refusal. No mutex is held. From the second call on the work is in line: a function
	// that takes long then keeps others waiting.
	Held func(Refusal)

	// Renew returns the claims of work that has waited, as they are now. It is
	// called with no mutex held, and returns with those of all claims held. It
	// may panic before it takes the first. Nil: the claims stay what they are.
	Renew func() []Claim

	// Charge charges all claims. Their mutexes are held. Nil: Charge of this
	// package does.
	Charge func(now time.Time)

	// Sleeps is called before the work sleeps, after each attempt that failed. No
	// mutex is held.
	Sleeps func()

	// Waiting is told when the work begins to wait, with by = 1, and when it
	// ends to, with by = -1. The mutexes of all claims are held.
	Waiting func(by int32)
}

func (o *Options) charge(claims []Claim, now time.Time) {
	if o.Charge == nil {
		Charge(claims, now)
		return
	}
	o.Charge(now)
}

func (o *Options) renew(claims []Claim) []Claim {
	if o.Renew == nil {
		Lock(claims)
		return claims
	}
	return o.Renew()
}

func (o *Options) waiting(by int32) {
	if o.Waiting != nil {
		o.Waiting(by)
	}
}

// A Why says why work was not admitted, or had to wait.
type Why uint8

const (
	Refused   Why = iota // the constraint's decision says why
	MaxDelay             // it would wait, or has waited, longer than Options.MaxDelay
	Deadline             // it would wait past the deadline of its context, less what it Needs
	QueueFull            // the line is full
)

// A Refusal says what refused work, and why it did not wait for it. The zero
// Refusal is none.
type Refusal struct {
	By       Constraint // nil: the work was not refused
	Decision Decision   // zero if the work was pushed out of By's line and does not claim By any more
	Why      Why

	// Wait is how long it takes until the work can go, if no event lets it go
	// sooner; 0: not known. RetryAfter is when it is worth coming back, at least
	// Wait; 0: not known. Both count from the refusal.
	Wait, RetryAfter time.Duration
}

// A verdict is the decision on the claim that stands in the way most.
type verdict struct {
	Decision
	at      int           // of the claim; negative: none stands in the way
	instead bool          // each that does grants its claim if the work would be refused otherwise
	backlog time.Duration // of a newcomer, the longest of all claims; 0: not known
}

func (v *verdict) refusal(by Constraint, now time.Time, why Why) (r Refusal) {
	r.By, r.Decision, r.Why, r.Wait = by, v.Decision, why, v.backlog
	if !v.Again.IsZero() {
		r.Wait = max(r.Wait, v.Again.Sub(now))
	}
	if r.RetryAfter = r.Wait; !v.Back.IsZero() {
		r.RetryAfter = max(r.Wait, v.Back.Sub(now))
	}
	return r
}

// refuse counts a refusal with all claims, and returns it. The mutexes are held.
func (v *verdict) refuse(claims []Claim, now time.Time, why Why) Refusal {
	for i := range claims {
		claims[i].Constraint.Refused(i == v.at)
	}
	return v.refusal(claims[v.at].Constraint, now, why)
}

// decide finds the claim that cannot be charged now, or whose line has a waiter that goes
// first, unless w may pass it, or whose round has not come to an earlier waiter yet; of several,
// the one that will refuse for longest. w is the waiter that asks; nil: a newcomer of that
// priority asks.
func decide(claims []Claim, now time.Time, w *Waiter, priority int) (v verdict) {
	v.at, v.instead = -1, true
	for i := range claims {
		c := claims[i].Constraint
		d := c.Look(now, claims[i].Asks())
		if d.OK {
			l := c.Line()
			until := c.Round().owes(w)
			turn := l == nil || l.hasTurn(w, priority) || w.mayPass(&claims[i], now)
			if until.IsZero() && turn && l.keepsFrom(&claims[i], now, w, priority).IsZero() {
				continue
			}
			d = Decision{Reason: d.Reason, Again: until, Sooner: !until.IsZero()} // as soon as its turn comes
		}
		v.instead = v.instead && d.Instead && c.Line() == nil
		back := d.Back // of several, all have to be
		if v.Back.After(back) {
			back = v.Back
		}
		if v.at < 0 || d.Final || !v.Final && d.Again.After(v.Again) {
			v.at, v.Decision = i, d
		}
		v.Back = back
	}
	return v
}

// orTooLate makes v the decision on the claim that cannot be granted by the
// instant latest; of several, the one that will be granted last. If there is
// none, v stays as it is.
func (v *verdict) orTooLate(claims []Claim, now, latest time.Time) {
	if len(claims) == 1 {
		return
	}
	late := v.tooLate(latest)
	for i := range claims {
		d := claims[i].Constraint.Look(now, claims[i].Asks())
		if d.tooLate(latest) && (!late || d.Final || !v.Final && d.Again.After(v.Again)) {
			v.at, v.Decision, late = i, d, true
		}
	}
}

// behind adds to v how long a newcomer of that priority has to wait behind the
// waiters that go before it, as far as that is known: cancellations may let it
// go sooner. If that is longer than v says of its claim, v is the decision on the
// claim with the longest line.
func (v *verdict) behind(claims []Claim, now time.Time, priority int) {
	at := v.at
	for i := range claims {
		c := claims[i].Constraint
		if l := c.Line(); l != nil {
			if b := c.Backlog(now, l.unitsBefore(priority), claims[i].Units); b > v.backlog {
				v.backlog, at = b, i
			}
		}
	}
	if at != v.at && !v.Final && !v.Sooner && now.Add(v.backlog).After(v.Again) {
		v.at, v.Decision = at, claims[at].Constraint.Look(now, claims[at].Asks())
		v.OK = false
	}
}

// latest returns the instant at which waiting must stop that began at came, and what stops
// it: Deadline or MaxDelay. What work Needs may change while it waits.
func (o *Options) latest(ctx context.Context, came time.Time) (time.Time, Why) {
	if deadline, ok := ctx.Deadline(); ok {
		left := deadline.Sub(came) // without a monotonic reading, as far away as the wall clock said then
		if o.Needs != nil {
			left -= o.Needs(left)
		}
		if left < o.MaxDelay {
			return came.Add(left), Deadline
		}
	}
	return came.Add(o.MaxDelay), MaxDelay
}

// needsMore reports whether it is too late for work to be charged, because of what it Needs.
// The deadline itself ends the context.
func needsMore(ctx context.Context, now, latest time.Time, late Why) bool {
	deadline, _ := ctx.Deadline()
	return late == Deadline && !now.Before(latest) && now.Before(deadline)
}

// wouldWait reports whether a newcomer that v refused joins the line; if not,
// why says what is in its way.
func (o *Options) wouldWait(ctx context.Context, in *Line, v verdict, now, latest time.Time, late Why) (why Why, waits bool) {
	switch {
	case o.MaxDelay < 0, v.Final:
		return Refused, false
	case o.MaxQueue >= 0 && in.Len() >= o.MaxQueue:
		return QueueFull, false
	case v.tooLate(latest), !latest.IsZero() && v.backlog > latest.Sub(now), needsMore(ctx, now, latest, late):
		return late, false
	}
	return Refused, true
}

// Check says what Admit would do now: the zero Refusal if the work would go at
// once; else what refuses it, and whether it would wait for that. It charges and counts
// nothing. The mutexes of all claims are held.
func Check(ctx context.Context, now time.Time, claims []Claim, o *Options) (r Refusal, waits bool) {
	v := decide(claims, now, nil, o.Priority)
	if v.at < 0 {
		return Refusal{}, false
	}
	latest, late := o.latest(ctx, now)
	v.orTooLate(claims, now, latest)
	v.behind(claims, now, o.Priority)
	c := claims[v.at].Constraint
	why, waits := o.wouldWait(ctx, c.Line(), v, now, latest, late)
	if !waits && v.instead {
		return Refusal{}, false
	}
	return v.refusal(c, now, why), waits
}

// Admit charges all claims at one instant, or none of them: now, or when the
// wait for the one that refuses is over. Work that waits holds nothing but its
// place in one line. It is called with the mutexes of all claims held, and
// returns with none held.
//
// If err is not nil, the context has ended, and err is its cause; else if r is
// not zero, the work was refused; else all claims are charged.
func Admit(ctx context.Context, now time.Time, claims []Claim, o *Options) (r Refusal, err error) {
	v := decide(claims, now, nil, o.Priority)
	if v.at >= 0 && !o.Force {
		return await(ctx, now, claims, o, v)
	}
	o.charge(claims, now)
	Unlock(claims)
	if v.at >= 0 && o.Held != nil {
		o.Held(v.refusal(claims[v.at].Constraint, now, Refused))
	}
	return Refusal{}, nil
}

// Refuse refuses claims that do not wait, and counts the refusal; the zero Refusal says
// that they can all be charged now. The mutexes of all claims are held.
func Refuse(now time.Time, claims []Claim) Refusal {
	v := decide(claims, now, nil, 0)
	if v.at < 0 || v.instead {
		return Refusal{}
	}
	if len(claims) > 1 {
		v.orTooLate(claims, now, now.Add(-1))
	}
	v.behind(claims, now, 0)
	return v.refuse(claims, now, Refused)
}

// await waits in line after v. It is called with the mutexes of all claims held,
// and returns with none held.
func await(ctx context.Context, now time.Time, claims []Claim, o *Options, v verdict) (Refusal, error) {
	latest, late := o.latest(ctx, now)
	v.orTooLate(claims, now, latest)
	v.behind(claims, now, o.Priority)
	c := claims[v.at].Constraint
	if why, waits := o.wouldWait(ctx, c.Line(), v, now, latest, late); !waits {
		if v.instead {
			o.charge(claims, now)
			Unlock(claims)
			return Refusal{}, nil
		}
		r := v.refuse(claims, now, why)
		Unlock(claims)
		return r, nil
	}
	ticket := serial.Add(1)
	o.waiting(1)
	if o.Held != nil {
		o.notify(claims, v.refusal(c, now, Refused))
		if ctx.Err() != nil {
			o.waiting(-1)
			Unlock(claims)
			return Refusal{}, context.Cause(ctx)
		}
	}

	w := &Waiter{
		ready:    make(chan struct{}, 1),
		ticket:   ticket,
		priority: o.Priority,
		came:     now,
		maxDelay: o.MaxDelay,
	}
	if o.MaxDelay < Forever || late == Deadline {
		w.latest = latest
	}
	over, again := false, false
	defer func() {
		if !over { // Renew has panicked, with no mutex held
			Lock(claims)
			o.leave(claims, w, time.Now())
		}
	}()
	for {
		next, room := w.join(&claims[v.at], now)
		if !room {
			over = true
			r := v.refuse(claims, now, QueueFull)
			o.leave(claims, w, now)
			next.Wake()
			return r, nil
		}
		in := claims[v.at].Constraint
		first := w.line.Kick(now)
		Unlock(claims)
		next.Wake()
		first.Wake()
		if again && o.Held != nil {
			o.Held(v.refusal(in, now, Refused))
		}
		if o.Sleeps != nil {
			o.Sleeps()
		}
		select {
		case <-w.ready:
		case <-ctx.Done():
		}

		claims = o.renew(claims)
		now = time.Now()
		inLine := w.look()
		latest, late = o.latest(ctx, w.came)
		if v = decide(claims, now, w, w.priority); v.at >= 0 {
			v.orTooLate(claims, now, latest)
		}
		var r Refusal
		var err error
		over = true
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case !inLine:
			r = pushedOut(claims, in, now)
		case v.at < 0 && needsMore(ctx, now, latest, late):
			r = missed(claims, in, now)
		case v.at < 0:
			o.charge(claims, now)
		case v.Final:
			r = v.refuse(claims, now, Refused)
		case w.expired(now):
			r = v.refuse(claims, now, MaxDelay)
		case v.tooLate(latest), needsMore(ctx, now, latest, late):
			r = v.refuse(claims, now, late)
		default:
			over, again = false, true
			if o.MaxDelay < Forever || late == Deadline {
				w.runsOut(now, latest)
			}
			w.keep(claims, now, v)
			continue
		}
		o.leave(claims, w, now)
		return r, err
	}
}

// pushedOut returns the refusal of a waiter that was pushed out of the line of
// in.
func pushedOut(claims []Claim, in Constraint, now time.Time) Refusal {
	for i := range claims {
		if c := claims[i]; c.Constraint == in {
			v := verdict{Decision: in.Look(now, c.Asks()), at: i}
			return v.refuse(claims, now, QueueFull)
		}
	}
	return Refusal{By: in, Why: QueueFull}
}

// missed returns the refusal of a waiter in the line of in whose claims could all be charged,
// if it had more time.
func missed(claims []Claim, in Constraint, now time.Time) Refusal {
	at := max(slices.IndexFunc(claims, func(c Claim) bool { return c.Constraint == in }), 0)
	v := verdict{Decision: claims[at].Constraint.Look(now, claims[at].Asks()), at: at}
	v.OK = false
	return v.refuse(claims, now, Deadline)
}

// runsOut sets when w runs out of time, if that has changed while it waits.
func (w *Waiter) runsOut(now, latest time.Time) {
	if latest.Equal(w.latest) {
		return
	}
	l, at := w.line, w.place[byLatest]
	if at > 0 {
		heap.Remove(&l.byLatest, int(at)-1)
	}
	if w.latest = latest; l != nil && latest.After(now) {
		heap.Push(&l.byLatest, w)
	}
}

// leave ends w's wait. It is called with the mutexes of all claims held, and
// returns with none held.
func (o *Options) leave(claims []Claim, w *Waiter, now time.Time) {
	o.waiting(-1)
	next := w.leave(now)
	if len(w.keeps) == 0 {
		Unlock(claims)
		next.Wake()
		return
	}
	others := w.dropKeeps(now, nil)
	Unlock(claims)
	next.Wake()
	for _, other := range others {
		other.Wake()
	}
}

// keep keeps for w, which v refuses, what it could have of the constraint in
// whose line it is. The mutexes of all claims are held.
func (w *Waiter) keep(claims []Claim, now time.Time, v verdict) {
	for i := range claims {
		c := claims[i].Constraint
		if i == v.at || c.Line() != w.line || !c.Look(now, claims[i].Asks()).OK || !w.line.hasTurn(w, 0) {
			continue
		}
		w.line.keepFor(w, claims[i].Units, now, v.Again)
		return
	}
}

// notify calls Held with the mutexes of all claims unlocked, and takes them
// again. If Held panics, nothing stays behind.
func (o *Options) notify(claims []Claim, r Refusal) {
	Unlock(claims)
	returned := false
	defer func() {
		Lock(claims)
		if !returned {
			o.waiting(-1)
			Unlock(claims)
		}
	}()
	o.Held(r)
	returned = true
}
