package quota

import (
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
	"github.com/headway-go/headway/quota/internal/wait"
)

// Chain combines several limiters. All of them are checked and then charged at
// one instant; if one refuses, none is charged.
//
// A waiting request has taken nothing. It waits in the queue of a limiter that
// refuses, in the order of arrival at the chain, and checks all limiters again
// when it is woken. So chains of the same limiters in different orders cannot
// deadlock. Nor can requests for one of the limiters alone pass it over for ever:
// a limiter whose turn it is to grant it, while another refuses it, keeps its
// permits for it for some of the time.
//
// A lease ends its part of each limiter in reverse order, and that of an
// origin first. A limiter that is in the chain twice, also through another
// chain, is charged once. Closing the chain does not close its limiters.
//
// Chain does not keep the slice. A limiter that is nil limits nothing, and so does
// a chain of none. A chain with the quotas of two origins grants nothing, with
// ErrPermits at each Acquire: a lease is settled with the answer of one server.
func Chain(limiters ...Limiter) Limiter {
	c := new(chain)
	c.counting = true
	for _, l := range limiters {
		if absent(l) {
			continue
		}
		c.members = append(c.members, l)
		if a := l.advertised(); a != nil {
			c.twoOrigins = c.twoOrigins || c.origin != nil && c.origin != a
			c.origin = a
		}
		if inner, ok := l.(*chain); ok && inner.twoOrigins {
			c.twoOrigins = true
		}
	}
	c.open(c, meter.Unlimited{}, Options{})
	for _, l := range c.members {
		for _, g := range l.constraints() {
			c.add(g)
		}
	}
	c.add(c.self[0]) // the last, as by its rank: see wait.Lock
	return c
}

// A chain is the Limiter that Chain returns.
type chain struct {
	limiterCore
	members    []Limiter
	all        []wait.Constraint // of all members and of the chain itself, each once
	customs    bool              // some of all are Custom limiters
	origin     *advertised       // among the members; nil: none
	twoOrigins bool              // grants nothing
}

// TryAcquire implements Limiter.
func (c *chain) TryAcquire(n int64) (*Lease, error) { return c.tryAcquire(n) }

// absent reports whether l is nil or a nil *Limit.
func absent(l Limiter) bool {
	limit, ok := l.(*Limit)
	return l == nil || ok && limit == nil
}

// add appends g, unless it is there.
func (c *chain) add(g wait.Constraint) {
	a, custom := g.(*asking)
	for _, o := range c.all {
		if b, ok := o.(*asking); o == g || ok && custom && a.custom == b.custom {
			return
		}
	}
	c.customs = c.customs || custom
	c.all = append(c.all, g)
}

// Stats returns the lowest Available of the limiters, the sum of their Queued,
// since when all of them have been idle, and how many requests the chain itself
// has granted and refused. It reads one limiter after another.
func (c *chain) Stats() Stats {
	s := c.limiterCore.Stats()
	if len(c.members) == 0 {
		return s
	}
	s.Available, s.Queued, s.IdleSince = None, 0, time.Time{}
	idle := true
	for _, l := range c.members {
		m := l.Stats()
		if m.Available >= 0 && (s.Available < 0 || m.Available < s.Available) {
			s.Available = m.Available
		}
		s.Queued = meter.Add(s.Queued, m.Queued)
		idle = idle && !m.IdleSince.IsZero()
		if m.IdleSince.After(s.IdleSince) {
			s.IdleSince = m.IdleSince
		}
	}
	if !idle {
		s.IdleSince = time.Time{}
	}
	return s
}

// Close implements Limiter. It does not close the limiters of the chain.
func (c *chain) Close() {
	c.limiterCore.Close()
	// Requests wait in the lines of the members. When woken, they find the chain
	// closed.
	wakeAll(c.all)
	if c.origin != nil {
		c.origin.wakeAll()
	}
}

// wakeAll wakes all waiters in the lines of the constraints.
func wakeAll(all []wait.Constraint) {
	for _, c := range all {
		c.Mutex().Lock()
		c.Line().WakeAll()
		c.Mutex().Unlock()
	}
}

func (c *chain) constraints() []wait.Constraint {
	if !c.customs {
		return c.all
	}
	all := slices.Clone(c.all)
	for i, o := range all {
		if a, ok := o.(*asking); ok {
			all[i] = a.custom.asking()
		}
	}
	return all
}

func (c *chain) capacity() int64 {
	if c.twoOrigins {
		return 0
	}
	capacity := c.limiterCore.capacity()
	for _, l := range c.members {
		capacity = min(capacity, l.capacity())
	}
	return capacity
}

func (c *chain) advertised() *advertised { return c.origin }
