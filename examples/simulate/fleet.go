package main

import (
	"context"
	"fmt"
	"time"

	"github.com/headway-go/headway/internal/onethread"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/quota/exchange"
	"github.com/headway-go/headway/quota/fleet"
)

// sharing is what the processes of a fleet have in common.
type sharing struct {
	hub     fleet.Hub
	secret  [32]byte
	members int
}

// A member is the strategy of a process of a fleet. It implements quota.Peers: it carries turns
// to the Hub, as package fleet does, but in simulated time.
type member struct {
	*shaped
	accounts *quota.Accounts
	process  *process
	name     string
	shared   *quota.Shared
	turning  time.Time // when turn will be called next; zero: not before Due
	carries  bool      // a turn is on its way
	waits    map[*job]*waiting
}

// waiting is a job of which the others are told that it waits.
type waiting struct {
	lease  quota.Lease
	claims int
}

func newMember(r *row, a *quota.Accounts) *member {
	return &member{shaped: &shaped{row: r}, accounts: a, waits: make(map[*job]*waiting)}
}

// join makes the process p one of the fleet.
func (m *member) join(p *process) {
	f := &p.fleet
	f.hub.Clock = func() time.Time { return p.now }
	f.members++
	m.process, m.name = p, fmt.Sprint("p", f.members)
	m.accounts.Peers, m.accounts.Secret = m, &f.secret
	m.origin = m.accounts.Origin("https://api.example")
}

// admit is that of shaped. A refused job waits, so queue follows.
func (m *member) admit(now time.Time, j *job) (time.Duration, bool) {
	lease, ask := new(quota.Lease), m.ask(j)
	if err := onethread.Try(m.origin, now, &ask, lease); err != nil {
		return err.(*quota.Refusal).Wait, false
	}
	if w := m.waits[j]; w != nil {
		onethread.Unqueue(m.origin, &w.lease)
		delete(m.waits, j)
	}
	j.lease = lease
	return 0, true
}

// queue has the others know that the jobs of a line wait. When policies become known, they
// are told again.
func (m *member) queue(jobs []*job) {
	for _, j := range jobs {
		ask, w := m.ask(j), m.waits[j]
		if w == nil {
			w = &waiting{claims: -1}
			m.waits[j] = w
		}
		if w.claims != len(ask.Claims) {
			w.claims = len(ask.Claims)
			onethread.Queue(m.origin, m.process.now, &ask, &w.lease)
		}
	}
}

// Due implements quota.Peers.
func (m *member) Due(s *quota.Shared) {
	p := m.process
	if m.shared == nil {
		m.shared = s
		p.fleet.hub.Listen(s.Origin(), func(word exchange.Word) {
			p.after(m.way(), func() {
				s.Wake(p.now, m.name, &word)
				if word.Hold > 0 {
					p.advance()
				}
				m.turnAt(p.now)
			})
		})
	}
	m.turnAt(p.now)
}

// turnAt plans to look for a turn, unless that is already planned for an earlier time.
func (m *member) turnAt(at time.Time) {
	if !m.turning.IsZero() && !at.Before(m.turning) {
		return
	}
	m.turning = at
	m.process.after(at.Sub(m.process.now), func() {
		if m.turning.Equal(at) {
			m.turning = time.Time{}
			m.turn()
		}
	})
}

// turn carries a turn to the Hub, if there is one, and its answer back.
func (m *member) turn() {
	p := m.process
	if m.carries {
		return
	}
	turn, next := m.shared.Turn(p.now)
	if turn == nil {
		if !next.IsZero() {
			m.turnAt(next)
		}
		return
	}
	p.score.turns++
	m.carries = true
	sent := p.now
	turn.Process, turn.AsOf = m.name, time.Duration(sent.UnixNano())
	answered := false
	over := func(heard func()) {
		if !answered {
			answered, m.carries = true, false
			heard()
			if !m.process.heard {
				for _, w := range m.waits {
					w.claims = -1 // what was heard may be of an account that the jobs claim already
				}
			}
			p.advance()
			m.turnAt(p.now)
		}
	}
	p.after(turn.Timeout, func() { over(func() { m.shared.Failed(p.now) }) })
	p.after(m.way(), func() {
		grant, err := p.fleet.hub.Exchange(context.Background(), m.shared.Origin(), turn)
		if err != nil {
			panic(err)
		}
		p.after(m.way(), func() { over(func() { m.shared.Heard(sent, p.now, grant) }) })
	})
}

// way returns a random one-way travel time to the Hub.
func (m *member) way() time.Duration {
	p := m.process
	return around(p.rnd, max(p.row.hub, ms)/2)
}
