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
	if at >= 0 && w == nil && !why.final {
		why.behind = cs[at].gate.behind(now, cs[at].units)
	}
	return at, why
}

// refusal is the error of claim c, which v refused.
func refusal(c claim, now time.Time, v verdict, why Reason) Refusal {
	r := c.gate.refusal()
	r.Cause, r.Reason, r.RetryAfter = v.why, why, v.behind
	if !v.again.IsZero() {
		r.RetryAfter = max(v.again.Sub(now), v.behind, 0)
	}
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

// await waits in line. It is entered with the guards of all claims held,
// claim i having been refused with v, and returns with none of them held.
func await(ctx context.Context, now time.Time, l *Lease, want *wish, i int, v verdict) error {
	cs := l.claims.all()
	if want.maxDelay < 0 || v.final {
		err := refuse(cs, i, now, v, v.why)
		unlock(cs)
		return err
	}
	latest, late := now.Add(want.maxDelay), ReasonMaxDelay
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(latest) {
		latest, late = deadline, ReasonDeadline
	}
	in := *cs[i].gate.queue()
	if want.maxQueue >= 0 && in.len() >= want.maxQueue {
		late = ReasonQueueFull
	}
	if late == ReasonQueueFull || v.again.After(latest) {
		err := refuse(cs, i, now, v, late)
		unlock(cs)
		return err
	}

	w := &waiter{
		ready:    make(chan struct{}, 1),
		ticket:   serial.Add(1),
		priority: want.priority,
		latest:   latest,
	}
	expires := now.Add(want.maxDelay)
	if want.maxDelay < forever {
		expiry := time.AfterFunc(want.maxDelay, w.wake)
		defer expiry.Stop()
	}
	told := want.held == nil
	pin(cs, 1)
	settled := false
	defer func() {
		if !settled { // a function of the user's has panicked; no guard is held
			lock(cs)
			w.settle(cs, time.Now())
		}
	}()
	for {
		passed, ok := w.join(&cs[i], now)
		if !ok {
			err := refuse(cs, i, now, v, ReasonQueueFull)
			settled = true
			w.settle(cs, now)
			passed.wake()
			return err
		}
		kicked := w.line.kick(now)
		unlock(cs)
		passed.wake()
		kicked.wake()
		if !told {
			told = true
			want.held(refusal(cs[i], now, v, v.why))
		}

		select {
		case <-w.ready:
		case <-ctx.Done():
		}

		consult(cs)
		lock(cs)
		now = time.Now()
		var err error
		if !w.come() && ctx.Err() == nil {
			err = refuse(cs, i, now, v, ReasonQueueFull)
		} else if i, v = refusing(cs, now, w, w.priority); ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if i >= 0 && v.final {
			err = refuse(cs, i, now, v, v.why)
		} else if i >= 0 && !now.Before(expires) {
			err = refuse(cs, i, now, v, ReasonMaxDelay)
		} else if i >= 0 && v.again.After(latest) {
			err = refuse(cs, i, now, v, late)
		}
		if err != nil || i < 0 {
			if err == nil {
				l.charge(now)
			}
			settled = true
			w.settle(cs, now)
			return err
		}
	}
}

// settle ends w's waiting. The guards of all claims are held before, and none
// of them after.
func (w *waiter) settle(cs []claim, now time.Time) {
	pin(cs, -1)
	passed := leave(w, now)
	unlock(cs)
	passed.wake()
}

// join puts w in the line of claim c, unless it stands there already. It
// returns the waiter that is to be woken in the line it left, and whether
// there was room.
func (w *waiter) join(c *claim, now time.Time) (passed *waiter, ok bool) {
	if w.line != nil {
		if w.line == *c.gate.queue() {
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
		}
	}
}
