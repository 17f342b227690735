package quota

import (
	"context"
	"math"
	"time"
)

// Defaults of an Ask.
const (
	DefaultMaxDelay = 2 * time.Minute
	DefaultMaxQueue = 10_000

	// NoDelay as a MaxDelay: never wait, be refused at once.
	NoDelay time.Duration = -1

	forever time.Duration = math.MaxInt64 // as a maxDelay: as long as the context lasts
)

// A wish is how somebody who asks wants to wait.
type wish struct {
	priority int
	maxDelay time.Duration // negative: not at all
	maxQueue int           // negative: no bound
	force    bool          // go, whatever the gates say
	held     func(Refusal) // nil-able; told, with no lock held, what stands in the way
	ask      *Ask          // of an origin; nil: the claims are always the same
	own      []gate        // the client's own, beside those of the ask
	permits  int64         // of each of own
}

// admit charges all claims of the lease at one instant, or none of them: now,
// or when the wait for the one that refuses is over. It is entered with the
// guards of all claims held, and returns with none of them held. On failure
// nothing is charged, and the error is a *Refusal or the cause of the
// context's end.
func admit(ctx context.Context, now time.Time, l *Lease, want *wish) error {
	cs := l.claims.all()
	i, v := refusing(cs, now, nil, want.priority)
	if i >= 0 && !want.force {
		return await(ctx, now, l, want, i, v)
	}
	l.charge(now)
	unlock(cs)
	if i >= 0 && want.held != nil {
		want.held(refusal(cs[i], now, v, v.why))
	}
	return nil
}

// refusing finds the claim that cannot be charged now, or whose line has
// somebody in front: of several, the one that will refuse for longest. It is
// -1, if there is none. w is who asks, if they are in a line already; else
// priority is theirs.
func refusing(cs []claim, now time.Time, w *waiter, priority int) (at int, why verdict) {
	at = -1
	for i := range cs {
		v := cs[i].gate.look(now, cs[i].units)
		if v.ok {
			if in := *cs[i].gate.queue(); in == nil || in.lets(w, priority) {
				continue
			}
			v = verdict{why: v.why}
		}
		if at < 0 || v.final || !why.final && v.again.After(why.again) {
			at, why = i, v
		}
	}
	return at, why
}

// hopeless finds the claim because of which it is in vain to wait until the
// latest instant: of several, the one that will refuse for longest. Where there
// is none, it is the given one, which was refused with v.
func hopeless(cs []claim, now, latest time.Time, i int, v verdict) (int, verdict) {
	vain := v.vain(latest)
	for j := range cs {
		if u := cs[j].gate.look(now, cs[j].units); u.vain(latest) && (!vain || u.final || !v.final && u.again.After(v.again)) {
			i, v, vain = j, u, true
		}
	}
	return i, v
}

// refusal is the error of claim c, which v refused.
func refusal(c claim, now time.Time, v verdict, why Reason) Refusal {
	r := c.gate.refusal()
	r.Cause, r.Reason = v.why, why
	if !v.again.IsZero() {
		r.Wait = max(v.again.Sub(now), 0)
		r.RetryAfter = max(v.back.Sub(now), r.Wait)
	}
	r.Wait, r.RetryAfter = max(r.Wait, v.behind), max(r.RetryAfter, v.behind)
	if v.answer != nil {
		r.Phrase, r.Detail = v.answer.Phrase, v.answer.Detail
	}
	return r
}

// refuse is the error of claim i, and counts it. The guards are held.
func refuse(cs []claim, i int, now time.Time, v verdict, why Reason) error {
	for j := range cs {
		cs[j].gate.tally(j == i)
	}
	r := refusal(cs[i], now, v, why)
	return &r
}

// latest is the last instant that is worth waiting for, and why none after it is.
func (w *wish) latest(ctx context.Context, now time.Time) (time.Time, Reason) {
	latest := now.Add(w.maxDelay)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(latest) {
		return deadline, ReasonDeadline
	}
	return latest, ReasonMaxDelay
}

// vain says why it would be in vain to wait in line for a gate that said v; 0,
// if it would not be.
func (w *wish) vain(in *line, v verdict, latest time.Time, late Reason) Reason {
	switch {
	case w.maxDelay < 0, v.final:
		return v.why
	case w.maxQueue >= 0 && in.len() >= w.maxQueue:
		return ReasonQueueFull
	case v.vain(latest):
		return late
	}
	return 0
}

// await waits in line. It is entered with the guards of all claims held,
// claim i having been refused with v, and returns with none of them held.
func await(ctx context.Context, now time.Time, l *Lease, want *wish, i int, v verdict) error {
	cs := l.claims.all()
	latest, late := want.latest(ctx, now)
	i, v = hopeless(cs, now, latest, i, v)
	v.behind = cs[i].gate.behind(now, cs[i].units)
	if why := want.vain(*cs[i].gate.queue(), v, latest, late); why != 0 {
		err := refuse(cs, i, now, v, why)
		unlock(cs)
		return err
	}
	ticket := serial.Add(1)
	pin(cs, 1)
	if want.held != nil {
		l.tell(want.held, refusal(cs[i], now, v, v.why))
		if ctx.Err() != nil {
			pin(cs, -1)
			unlock(cs)
			return context.Cause(ctx)
		}
	}

	w := &waiter{
		ready:    make(chan struct{}, 1),
		ticket:   ticket,
		priority: want.priority,
	}
	if want.maxDelay < forever || late == ReasonDeadline {
		w.latest = latest
	}
	expires := now.Add(want.maxDelay)
	over := false
	defer func() {
		if !over { // a function of the user's has panicked, with no guard held
			cs := l.claims.all()
			lock(cs)
			w.leave(cs, time.Now())
		}
	}()
	for {
		passed, room := w.join(&cs[i], now)
		if !room {
			over = true
			err := refuse(cs, i, now, v, ReasonQueueFull)
			w.leave(cs, now)
			passed.wake()
			return err
		}
		in := cs[i].gate
		kicked := w.line.kick(now)
		unlock(cs)
		passed.wake()
		kicked.wake()
		select {
		case <-w.ready:
		case <-ctx.Done():
		}

		cs = l.claimAgain(want)
		now = time.Now()
		there := w.come()
		var err error
		if i, v = refusing(cs, now, w, w.priority); i >= 0 {
			i, v = hopeless(cs, now, latest, i, v)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if !there {
			err = pushedOut(cs, in, now)
		} else if i >= 0 && v.final {
			err = refuse(cs, i, now, v, v.why)
		} else if i >= 0 && !now.Before(expires) {
			err = refuse(cs, i, now, v, ReasonMaxDelay)
		} else if i >= 0 && v.vain(latest) {
			err = refuse(cs, i, now, v, late)
		}
		if err != nil || i < 0 {
			over = true
			if err == nil {
				l.charge(now)
			}
			w.leave(cs, now)
			return err
		}
	}
}

// pushedOut is the error of who was pushed out of the line of a gate, which is
// one of the client's own: those of accounts push nobody out.
func pushedOut(cs []claim, in gate, now time.Time) error {
	for i := range cs {
		if cs[i].gate == in {
			return refuse(cs, i, now, in.look(now, cs[i].units), ReasonQueueFull)
		}
	}
	r := in.refusal()
	r.Cause, r.Reason = ReasonOwnLimit, ReasonQueueFull
	return &r
}

// leave ends w's waiting. The guards of all claims are held before, and none
// of them after.
func (w *waiter) leave(cs []claim, now time.Time) {
	pin(cs, -1)
	passed := leave(w, now)
	unlock(cs)
	passed.wake()
}

// tell calls a hook with the guards of all claims let go, and takes them again.
// A hook that panics leaves nothing behind.
func (l *Lease) tell(held func(Refusal), r Refusal) {
	cs, told := l.claims.all(), false
	unlock(cs)
	defer func() {
		lock(cs)
		if !told {
			pin(cs, -1)
			unlock(cs)
		}
	}()
	held(r)
	told = true
}

// join puts w in the line of claim c, unless it stands there already. It
// returns the waiter that is to be woken in the line it left, and whether
// there was room.
func (w *waiter) join(c *claim, now time.Time) (passed *waiter, room bool) {
	if w.line != nil {
		if w.line == *c.gate.queue() {
			w.units = c.units // which differ only where no units are queued: see Queue
			return nil, true
		}
		passed = leave(w, now)
	}
	w.units = c.units
	return passed, enter(c.gate, w)
}

// come answers a wake. It reports whether w is still in line.
func (w *waiter) come() bool {
	if w.line == nil {
		return false
	}
	if w.line.woken == w {
		w.line.woken = nil
	}
	return true
}

// pin keeps the accounts among the claims from being dropped.
func pin(cs []claim, by int32) {
	for i := range cs {
		if a, ok := cs[i].gate.(*account); ok {
			a.pins += by
			a.policy.origin.pinned += int64(by)
		}
	}
}
