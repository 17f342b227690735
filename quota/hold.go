package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// This file finds holds that concern one process of a fleet alone: its address is banned, or it calls a
// route that is dead. A hold that one process is told holds all of them at once. If the refusal had no
// figure, or one that says that more than half of the quota is left, one of the others, which the store names,
// lets one request depart soon after nevertheless. If that is served, the others are let go, and what holds the first process is not told for a while: it asks
// with one request at a time then. If it is refused, this process believes what others are told for as long.
// That refusal says nothing of how much the quota is. A process to which the server has told a hold itself does
// not look, and keeps that hold, whatever others find out.

const (
	lookAtHold = time.Second // after a hold was told, and it has to last twice as long
	apartLasts = kindsLast   // for which the holds of a process are its own, or are believed
)

// mayLook has one request look whether a hold of that length, which another process has told, holds this
// one.
func (p *pool) mayLook(t instant, hold time.Duration) {
	if hold > 2*lookAtHold && t >= p.mine && t >= p.believes {
		p.look = t.Add(lookAtHold)
	}
}

// looksAt is when a request looks; Never: none does.
func (p *pool) looksAt(t instant) instant {
	if p.look == 0 || t >= p.heardHold || t < p.a.BackOff {
		return window.Never
	}
	return p.look
}

// settleLook takes over the end of a request, if it has looked. Without an answer another one looks.
func (p *pool) settleLook(s *settlement) {
	served := !s.r.Refused && !s.r.Failed && s.r.Pause <= 0
	p.tries = p.tries && !(s.r.answered() && served)
	if p.looked == 0 || s.sent < p.looked {
		return
	}
	p.looked = 0
	switch {
	case !s.r.answered():
		p.look = s.t.Add(lookAtHold)
	case !served:
		p.believes, s.looked = s.t.Add(apartLasts), true
	case p.release(s.t):
		p.freed = true
		p.tellNow()
	}
}

// release ends a hold that another process has told, and leaves what the server has told this one. It
// reports whether nothing is left.
func (p *pool) release(t instant) bool {
	if t >= p.heardHold {
		return false
	}
	own := max(t, p.mine)
	p.a.Hold = min(p.a.Hold, own)
	p.hold, p.heardHold = own, t
	return p.a.Hold <= t
}

// contradicted takes over that a request of another process was served in spite of a hold.
func (p *pool) contradicted(t instant) {
	if t < p.mine {
		p.apart = t.Add(apartLasts)
	}
	p.release(t)
}
