package quota

import (
	"errors"
	"slices"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
	"github.com/headway-go/headway/quota/internal/wait"
)

// A Chain combines several limiters. All of them are checked and then charged at
// one instant; if one refuses, none is charged.
//
// A waiting request has taken nothing. It waits in the queue of a limiter that
// refuses, in the order of arrival at the chain, and checks all limiters again
// when it is woken. So chains of the same limiters in different orders cannot
// deadlock.
//
// A lease ends its part of each limiter in reverse order, and that of an
// Advertised first. A limiter that is in the chain twice, also through another
// chain, is charged once.
type Chain struct {
	limiterCore
	members []Limiter
	all     []wait.Constraint // of the chain itself and of all members, each once
	customs bool              // some of all are Custom limiters
	origin  *Advertised       // among the members; nil: none
}

// NewChain returns a chain of the limiters. It does not keep the slice. The
// limiters must be at least one, none of them nil, and advertise the quotas of
// at most one origin: a lease is settled with the answer of one server.
func NewChain(limiters ...Limiter) (*Chain, error) {
	if len(limiters) == 0 {
		return nil, errors.New("quota: a chain of no limiters")
	}
	c := &Chain{members: slices.Clone(limiters)}
	c.counting = true
	c.open(c, meter.Unlimited{}, Queue{})
	c.all = slices.Clone(c.self[:])
	for _, l := range limiters {
		if absent(l) {
			return nil, errors.New("quota: a nil limiter in a chain")
		}
		if a := l.advertised(); a != nil {
			if c.origin != nil && c.origin != a {
				return nil, errors.New("quota: quotas of two origins in a chain")
			}
			c.origin = a
		}
		for _, g := range l.constraints() {
			c.add(g)
		}
	}
	return c, nil
}

// absent reports whether l is nil or a nil pointer.
func absent(l Limiter) bool {
	switch l := l.(type) {
	case nil:
		return true
	case *FixedWindow:
		return l == nil
	case *SlidingWindow:
		return l == nil
	case *TokenBucket:
		return l == nil
	case *Concurrency:
		return l == nil
	case *Rate:
		return l == nil
	case *Custom:
		return l == nil
	case *Chain:
		return l == nil
	case *Advertised:
		return l == nil
	}
	return false
}

// add appends g, unless it is there.
func (c *Chain) add(g wait.Constraint) {
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
func (c *Chain) Stats() Stats {
	s := c.limiterCore.Stats()
	if len(c.members) == 0 {
		return s // see newUnlimited
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
func (c *Chain) Close() {
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

func (c *Chain) constraints() []wait.Constraint {
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

func (c *Chain) capacity() int64 {
	capacity := c.limiterCore.capacity()
	for _, l := range c.members {
		capacity = min(capacity, l.capacity())
	}
	return capacity
}

func (c *Chain) advertised() *Advertised { return c.origin }

// newUnlimited returns a limiter that grants everything: a chain of none.
func newUnlimited() Limiter {
	c := new(Chain)
	c.counting = true
	c.open(c, meter.Unlimited{}, Queue{})
	c.all = c.self[:]
	return c
}
