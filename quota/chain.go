package quota

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A Chain is several limiters at one door. All of them are checked, then
// charged, at one instant; where one refuses, none is charged. Who waits holds
// nothing: it waits in the queue of a limiter that refuses, keeps its place by
// the time at which it came, and looks at all of them again when woken. So
// chains of the same limiters in different orders cannot block each other.
//
// A lease ends its part of each limiter in reverse order, after that of an
// Advertised. A limiter that is in the chain twice, be it through another
// chain, is charged once.
type Chain struct {
	limit
	members []Limiter
	all     []gate
	customs bool
	origin  *Advertised // among the members; nil: none
}

// NewChain returns a chain of the limiters, and does not keep the slice. It is
// an error to give it none, or a nil one, or quotas of several origins:
// a lease is settled with the word of one.
func NewChain(limiters ...Limiter) (*Chain, error) {
	if len(limiters) == 0 {
		return nil, errors.New("quota: a chain of no limiters")
	}
	c := &Chain{members: slices.Clone(limiters)}
	c.door = true
	c.open(unlimited{}, Queue{})
	c.all = []gate{&c.limit}
	for _, l := range limiters {
		if absent(l) {
			return nil, errors.New("quota: a nil limiter in a chain")
		}
		if b := l.books(); b != nil {
			if c.origin != nil && c.origin != b {
				return nil, errors.New("quota: quotas of two origins in a chain")
			}
			c.origin = b
		}
		for _, g := range l.gates() {
			c.add(g)
		}
	}
	return c, nil
}

// absent reports whether l is nil, or a nil pointer of one of the types there
// are.
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

func (c *Chain) add(g gate) {
	a, custom := g.(*asking)
	for _, o := range c.all {
		if b, ok := o.(*asking); o == g || ok && custom && a.Custom == b.Custom {
			return
		}
	}
	c.customs = c.customs || custom
	c.all = append(c.all, g)
}

// TryAcquire implements Limiter.
func (c *Chain) TryAcquire(n int64) (*Lease, error) {
	return grant(context.Background(), c, n, NoDelay)
}

// Acquire implements Limiter.
func (c *Chain) Acquire(ctx context.Context, n int64) (*Lease, error) {
	return grant(ctx, c, n, forever)
}

// Stats are those of the whole: the lowest of what is available, the sum of
// what is queued, what the chain itself has granted and refused, and since
// when all of its limiters have been idle. It looks at one limiter after
// another.
func (c *Chain) Stats() Stats {
	s := c.limit.Stats()
	if len(c.members) == 0 {
		return s // of no limit at all: see newUnlimited
	}
	s.Available, s.Queued, s.IdleSince = None, 0, time.Time{}
	idle := true
	for _, l := range c.members {
		m := l.Stats()
		if m.Available >= 0 && (s.Available < 0 || m.Available < s.Available) {
			s.Available = m.Available
		}
		s.Queued = sum(s.Queued, m.Queued)
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
	c.limit.Close()
	// Who waits does so in the lines of the members. They find the door closed.
	wakeAll(c.all)
	if c.origin != nil {
		c.origin.wakeAll()
	}
}

// wakeAll wakes everybody who waits in the lines of the gates.
func wakeAll(gates []gate) {
	for _, g := range gates {
		g.guarded().Lock()
		(*g.queue()).wakeAll()
		g.guarded().Unlock()
	}
}

func (c *Chain) gates() []gate {
	if !c.customs {
		return c.all
	}
	gates := slices.Clone(c.all)
	for i, g := range gates {
		if a, ok := g.(*asking); ok {
			gates[i] = &asking{Custom: a.Custom}
		}
	}
	return gates
}

func (c *Chain) most() int64 {
	most := c.limit.most()
	for _, l := range c.members {
		most = min(most, l.most())
	}
	return most
}

func (c *Chain) books() *Advertised { return c.origin }

// newUnlimited returns a limiter of no limit.
func newUnlimited() Limiter {
	l := &Chain{}
	l.door = true
	l.open(unlimited{}, Queue{})
	l.all = []gate{&l.limit}
	return l
}

// unlimited is the meter of a door that stands for others, and of no limit at
// all. It says nothing of its own.
type unlimited struct{}

func (unlimited) most() int64                               { return int64(^uint64(0) >> 1) }
func (unlimited) wait(instant, int64, int64) time.Duration  { return 0 }
func (unlimited) take(instant, int64) uint32                { return 0 }
func (unlimited) cancel(instant, int64, uint32)             {}
func (unlimited) release(int64) bool                        { return false }
func (unlimited) available(instant) int64                   { return None }
func (unlimited) idle(instant) (since instant, always bool) { return 0, true }
