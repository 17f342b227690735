package quota

import (
	"time"

	"github.com/headway-go/headway/quota/internal/window"
)

// This file finds holds that concern one process of a fleet alone: its address is banned, or it calls a
// route that is dead. A hold that one process is told holds all of them at once. If the refusal had no
// figure, one of the others, which the store names, lets one request depart soon after nevertheless. If
// that is served, the others are let go, and what holds the first process is not told for a while: it asks
// with one request at a time then. If it is refused, this process believes what others are told for as long.

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
	if p.look == 0 || t >= p.heardHold || p.a.Hold > p.heardHold || t < p.a.BackOff {
		return window.Never
	}
	return p.look
}

// settleLook takes over the answer to a request that departed at sent, if it has looked.
func (p *pool) settleLook(t, sent instant, served bool) {
	p.tries = p.tries && !served
	if p.looked == 0 || sent < p.looked {
		return
	}
	p.looked = 0
	if !served {
		p.believes = t.Add(apartLasts)
	} else if p.release(t) {
		p.freed = true
		p.tellNow()
	}
}

// release ends a hold that another process has told, and reports whether there was one.
func (p *pool) release(t instant) bool {
	if t >= p.heardHold || p.a.Hold > p.heardHold {
		return false
	}
	p.a.Hold, p.heardHold, p.look = t, t, 0
	return true
}

// contradicted takes over that a request of another process was served in spite of a hold.
func (p *pool) contradicted(t instant) {
	if t < p.mine {
		p.apart = t.Add(apartLasts)
		return
	}
	p.release(t)
}
