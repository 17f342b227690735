package main

import (
	"math/rand/v2"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// A job is one request that is sent until it is served.
type job struct {
	user    *user
	asked   time.Time // when a worker took it
	sent    time.Time // the last time that it left
	refused int       // number of refusals
	kind    string    // see demand.kind
	units   int64     // what it costs
	early   bool      // left before its process received a first response
	lease   any       // for the strategy
}

// A user has jobs, and workers that each do one job at a time.
type user struct {
	process *process
	line    *line
	name    string
	kind    string
	words   bool      // see demand.words
	begun   int       // jobs
	costs   []int64   // of the jobs, if they are random
	crawls  bool      // all of its jobs arrive at the start
	workers int       // 0: no bound
	busy    int       // workers with a job
	todo    int       // jobs that have arrived and that no worker has taken
	over    time.Time // when the last job was done
	units   int64     // that the served requests cost
	counts  transporttest.Counts
}

// A process is one client. Its users share a strategy.
type process struct {
	*run
	strategy    strategy
	heard       bool // has received a response
	lines       []*line
	inflight    int
	connections int
}

// A line holds the jobs of a process that wait for one quota, in the order of arrival.
type line struct {
	process *process
	jobs    []*job
	look    time.Time // when advance will be called next; zero: at the next response or arrival
}

// arrive adds n new jobs.
func (u *user) arrive(n int) {
	u.todo += n
	u.work()
}

// work gives jobs to free workers.
func (u *user) work() {
	for u.todo > 0 && (u.workers == 0 || u.busy < u.workers) {
		u.todo--
		u.busy++
		u.begun++
		j := &job{user: u, asked: u.process.now, kind: u.kind, units: u.process.row.units()}
		if len(u.costs) > 0 {
			j.units = u.costs[u.begun-1]
		}
		if u.words {
			j.kind += wordOf(u.begun)
		}
		u.line.enter(j)
	}
}

// wordOf returns a word of letters for a number.
func wordOf(n int) (word string) {
	for ; n > 0; n /= 20 {
		word += string("bcdfghjklmnpqrstvwxz"[n%20]) + "a"
	}
	return word
}

// enter puts a job at the end of the line.
func (l *line) enter(j *job) {
	l.jobs = append(l.jobs, j)
	l.advance()
}

// advance sends the jobs that the strategy admits.
func (l *line) advance() {
	for len(l.jobs) > 0 {
		wait, ok := l.process.strategy.admit(l.process.now, l.jobs[0])
		if !ok {
			if m, ok := l.process.strategy.(*member); ok {
				m.queue(l.jobs)
			}
			l.lookAgain(wait)
			return
		}
		j := l.jobs[0]
		l.jobs = l.jobs[1:]
		l.process.send(j)
	}
}

// lookAgain plans to call advance after wait, unless that is already planned for an
// earlier time.
func (l *line) lookAgain(wait time.Duration) {
	now := l.process.now
	if at := now.Add(wait); wait > 0 && (!l.look.After(now) || at.Before(l.look)) {
		l.look = at
		l.process.after(wait, func() {
			if l.look.Equal(at) {
				l.look = time.Time{}
			}
			l.advance()
		})
	}
}

// send simulates a request and its response. Requests may overtake each other.
func (p *process) send(j *job) {
	j.sent, j.early = p.now, !p.heard
	p.sent++
	p.after(p.dial()+p.row.half(p.rnd), func() {
		d, done := p.server.answer(j.user.name, j.user.kind, j.units)
		var work time.Duration
		if d.Served && p.row.service > 0 {
			work = around(p.rnd, p.row.service)
		}
		p.after(work, func() {
			done()
			p.after(p.row.half(p.rnd), func() { p.receive(j, d) })
		})
	})
}

// dial takes a connection and returns the time that it takes to open it, if there is no
// idle one.
func (p *process) dial() time.Duration {
	if p.inflight++; !p.row.dials || p.inflight <= p.connections {
		return 0
	}
	p.connections++
	return 2 * p.row.rtt
}

// receive handles the response to a job.
func (p *process) receive(j *job, d transporttest.Decision) {
	p.heard = true
	p.inflight--
	again := p.strategy.settle(p.now, j, d)
	if d.Served {
		j.user.finish(j)
	} else {
		p.count(j)
		j.refused++
		if again > 0 {
			p.after(again, func() { j.user.line.enter(j) })
		} else {
			j.user.line.jobs = append(j.user.line.jobs, j)
		}
	}
	p.advance()
}

// advance sends what may go.
func (p *process) advance() {
	for _, l := range p.lines {
		l.advance()
	}
}

// finish ends a job and frees its worker.
func (u *user) finish(j *job) {
	u.units += j.units
	u.process.finish(j)
	u.busy--
	u.over = u.process.now
	u.work()
}

// plan plans the arrivals of a demand's jobs and returns their times.
func (u *user) plan(d demand, rnd *rand.Rand) (arrivals []time.Duration) {
	batch := max(d.batch, 1)
	var at time.Duration
	for n := 0; n < d.jobs; n += batch {
		count := min(batch, d.jobs-n)
		u.process.after(at, func() { u.arrive(count) })
		for range count {
			arrivals = append(arrivals, at)
		}
		switch {
		case d.batch > 0:
			at += d.every
		case d.every > 0:
			at += exponential(rnd, d.every)
		}
	}
	return arrivals
}
