package main

import (
	"math/rand/v2"
	"time"

	"github.com/headway-go/headway/transport/transporttest"
)

// A job is one request that has to be served, however often it is sent.
type job struct {
	user    *user
	asked   time.Time // when the caller wanted it
	sent    time.Time // the last time that it left
	refused int       // how often
	early   bool      // left before its process had heard anything
	lease   any       // of the strategy
}

// A user has jobs, and does not ask for more of them at a time than it has workers.
type user struct {
	process *process
	line    *line
	name    string
	crawls  bool // all of its jobs are there at the beginning
	workers int  // 0: no bound
	busy    int
	todo    int       // jobs that have come and that no worker has taken
	over    time.Time // when the last job was done
	counts  transporttest.Counts
}

// A process is one client: users that share what is known of the server.
type process struct {
	*run
	strategy    strategy
	heard       bool // an answer
	lines       []*line
	inflight    int
	connections int
}

// A line is who waits for one quota of a process, first come, first served.
type line struct {
	process *process
	jobs    []*job
	look    time.Time // when the line will be looked at next; zero: when something happens
}

// arrive is n new jobs.
func (u *user) arrive(n int) {
	u.todo += n
	u.work()
}

// work has free workers take jobs.
func (u *user) work() {
	for u.todo > 0 && (u.workers == 0 || u.busy < u.workers) {
		u.todo--
		u.busy++
		u.line.enter(&job{user: u, asked: u.process.now})
	}
}

// enter puts a job at the end of the line.
func (l *line) enter(j *job) {
	l.jobs = append(l.jobs, j)
	l.advance()
}

// advance lets go whom the strategy lets go.
func (l *line) advance() {
	for len(l.jobs) > 0 {
		wait, ok := l.process.strategy.admit(l.process.now, l.jobs[0])
		if !ok {
			l.lookAgain(wait)
			return
		}
		j := l.jobs[0]
		l.jobs = l.jobs[1:]
		l.process.send(j)
	}
}

// lookAgain plans the next look at the line, unless it will be looked at before.
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

// send has a request travel to the server, be answered, and the answer travel
// back. Some overtake others.
func (p *process) send(j *job) {
	j.sent, j.early = p.now, !p.heard
	p.sent++
	p.after(p.dial()+p.row.half(p.rnd), func() {
		d := p.server.answer(j.user.name)
		var work time.Duration
		if d.Served && p.row.service > 0 {
			work = around(p.rnd, p.row.service)
		}
		p.after(work, func() {
			d.Done()
			p.after(p.row.half(p.rnd), func() { p.receive(j, d) })
		})
	})
}

// dial takes a connection, and returns how long that takes.
func (p *process) dial() time.Duration {
	if p.inflight++; !p.row.dials || p.inflight <= p.connections {
		return 0
	}
	p.connections++
	return 2 * p.row.rtt
}

// receive takes in the answer to a job.
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
	for _, l := range p.lines {
		l.advance()
	}
}

// finish is the end of a job.
func (u *user) finish(j *job) {
	u.process.finish(j)
	u.busy--
	u.over = u.process.now
	u.work()
}

// plan lets the jobs of a demand come.
func (u *user) plan(d demand, rnd *rand.Rand) (arrivals []time.Duration) {
	batch := max(d.batch, 1)
	var at time.Duration
	for n := 0; n < d.jobs; n += batch {
		many := min(batch, d.jobs-n)
		u.process.after(at, func() { u.arrive(many) })
		for range many {
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
