package quota_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// A plainMeter is the arithmetic of a limiter in its simplest form: second by
// second, with a record of everything taken.
type plainMeter interface {
	tick() // a second passes
	available() int64
	take(id int, n int64)
	release(id int)
	cancel(id int)
}

type plainTake struct {
	at, n  int64
	window int
	fills  int
}

// plainFixed is a window of 5 s.
type plainFixed struct {
	permits, now, end int64
	open              bool
	window            int
	takes             map[int]*plainTake
}

func (m *plainFixed) used() (n int64) {
	for _, t := range m.takes {
		if m.open && t.window == m.window {
			n += t.n
		}
	}
	return n
}

func (m *plainFixed) tick() {
	if m.now++; m.open && m.now >= m.end {
		m.open = false
	}
}
func (m *plainFixed) available() int64 { return m.permits - m.used() }
func (m *plainFixed) release(int)      {}
func (m *plainFixed) take(id int, n int64) {
	if !m.open && n > 0 {
		m.open, m.end = true, m.now+5
		m.window++
	}
	if n > 0 {
		m.takes[id] = &plainTake{n: n, window: m.window}
	}
}
func (m *plainFixed) cancel(id int) {
	if t := m.takes[id]; t != nil {
		delete(m.takes, id)
		if m.open && t.window == m.window && m.used() == 0 {
			m.open = false
		}
	}
}

// plainSliding is a window of 6 s in 3 segments.
type plainSliding struct {
	permits, now int64
	takes        map[int]*plainTake
}

func (m *plainSliding) tick() { m.now++ }
func (m *plainSliding) available() int64 {
	left := m.permits
	for _, t := range m.takes {
		if t.at/2 > m.now/2-3 {
			left -= t.n
		}
	}
	return left
}
func (m *plainSliding) take(id int, n int64) { m.takes[id] = &plainTake{at: m.now, n: n} }
func (m *plainSliding) release(int)          {}
func (m *plainSliding) cancel(id int)        { delete(m.takes, id) }

// plainBucket gets 2 permits every 3 s.
type plainBucket struct {
	permits, level, now, mark int64
	fills                     []int64 // the level after each
	takes                     map[int]*plainTake
}

func (m *plainBucket) tick() {
	m.now++
	if m.level < m.permits && m.now == m.mark+3 {
		m.level, m.mark = min(m.level+2, m.permits), m.now
		m.fills = append(m.fills, m.level)
	}
}
func (m *plainBucket) available() int64 { return m.level }
func (m *plainBucket) take(id int, n int64) {
	if m.level == m.permits && n > 0 {
		m.mark = m.now
	}
	m.level -= n
	m.takes[id] = &plainTake{n: n, fills: len(m.fills)}
}
func (m *plainBucket) release(int) {}
func (m *plainBucket) cancel(id int) {
	t := m.takes[id]
	delete(m.takes, id)
	back := t.n
	for i := t.fills; i < len(m.fills); i++ {
		back = min(back, m.permits-m.fills[i])
		m.fills[i] += back
	}
	m.level = min(m.level+back, m.permits)
}

type plainConcurrency struct {
	permits int64
	takes   map[int]*plainTake
}

func (m *plainConcurrency) tick() {}
func (m *plainConcurrency) available() int64 {
	left := m.permits
	for _, t := range m.takes {
		left -= t.n
	}
	return left
}
func (m *plainConcurrency) take(id int, n int64) { m.takes[id] = &plainTake{n: n} }
func (m *plainConcurrency) release(id int)       { delete(m.takes, id) }
func (m *plainConcurrency) cancel(id int)        { delete(m.takes, id) }

// A plainLimiter adds a queue.
type plainLimiter struct {
	plainMeter
	queue            quota.Options
	line             []plainWaiter // the oldest first
	granted, refused int64
	state            map[int]string
}

type plainWaiter struct {
	id int
	n  int64
}

func (p *plainLimiter) queued() (n int64) {
	for _, w := range p.line {
		n += max(w.n, 1)
	}
	return n
}

func (p *plainLimiter) grant(w plainWaiter) {
	p.take(w.id, w.n)
	p.granted++
	p.state[w.id] = "granted"
}

func (p *plainLimiter) refuse(id int, why quota.Reason) {
	p.refused++
	p.state[id] = why.String()
}

func (p *plainLimiter) pump() {
	for len(p.line) > 0 {
		at := 0
		if p.queue.NewestFirst {
			at = len(p.line) - 1
		}
		w := p.line[at]
		if p.available() < max(w.n, 1) {
			return
		}
		p.line = slices.Delete(p.line, at, at+1)
		p.grant(w)
	}
}

func (p *plainLimiter) ask(id int, n int64, wait bool) {
	w := plainWaiter{id, n}
	free := len(p.line) == 0 || p.queue.NewestFirst
	switch {
	case free && p.available() >= max(n, 1):
		p.grant(w)
	case !wait:
		p.refuse(id, quota.ReasonOwnLimit)
	case !p.queue.NewestFirst && p.queued()+max(n, 1) > p.queue.MaxQueue, max(n, 1) > p.queue.MaxQueue:
		p.refuse(id, quota.ReasonQueueFull)
	default:
		for p.queued()+max(n, 1) > p.queue.MaxQueue {
			p.refuse(p.line[0].id, quota.ReasonQueueFull)
			p.line = p.line[1:]
		}
		p.line = append(p.line, w)
		p.state[id] = "waiting"
	}
}

func (p *plainLimiter) giveUp(id int) {
	p.line = slices.DeleteFunc(p.line, func(w plainWaiter) bool { return w.id == id })
	p.state[id] = "gave up"
}

// stateOf returns the state of an Acquire in the words of the model.
func stateOf(r *result) string {
	var refusal *quota.Refusal
	if r.over != nil {
		r.look()
	}
	switch {
	case r.lease != nil:
		return "granted"
	case r.err == nil:
		return "waiting"
	case errors.As(r.err, &refusal):
		return refusal.Reason.String()
	}
	return "gave up"
}

// playOn plays random operations on a limiter and on its model, and compares
// them after each.
func playOn(t *testing.T, seed uint64, l quota.Limiter, p *plainLimiter, permits int64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	real := map[int]*result{}
	cancels := map[int]context.CancelFunc{}
	pick := func(state string) (int, bool) {
		var ids []int
		for id := range real {
			if p.state[id] == state {
				ids = append(ids, id)
			}
		}
		if len(ids) == 0 {
			return 0, false
		}
		slices.Sort(ids)
		return ids[rnd.IntN(len(ids))], true
	}
	for step := range 200 {
		id := step
		n := rnd.Int64N(permits + 1)
		var did string
		switch rnd.IntN(10) {
		case 0, 1:
			did = fmt.Sprint("try ", n)
			lease, err := l.TryAcquire(n)
			real[id] = &result{lease: lease, err: err}
			p.ask(id, n, false)
		case 2, 3, 4:
			did = fmt.Sprint("acquire ", n)
			var ctx context.Context
			ctx, cancels[id] = context.WithCancel(t.Context())
			real[id] = acquiring(ctx, l, n)
			p.ask(id, n, true)
		case 5:
			if id, ok := pick("waiting"); ok {
				did = fmt.Sprint("give up ", id)
				cancels[id]()
				p.giveUp(id)
			}
		case 6:
			if id, ok := pick("granted"); ok {
				did = fmt.Sprint("release ", id)
				real[id].lease.Release()
				p.release(id)
				p.state[id] = "ended"
			}
		case 7:
			if id, ok := pick("granted"); ok {
				did = fmt.Sprint("cancel ", id)
				real[id].lease.Cancel()
				p.cancel(id)
				p.state[id] = "ended"
			}
		default:
			for range rnd.IntN(5) {
				time.Sleep(time.Second)
				synctest.Wait()
				p.tick()
				p.pump()
			}
			did = "sleep"
		}
		p.pump()
		synctest.Wait()
		for id, r := range real {
			if p.state[id] != "ended" {
				require.Equal(t, p.state[id], stateOf(r), "seed %d, step %d (%s): number %d", seed, step, did, id)
			}
		}
		s := l.Stats()
		require.Equal(t, []int64{p.available(), p.queued(), p.granted, p.refused},
			[]int64{s.Available, s.Queued, s.Granted, s.Refused}, "seed %d, step %d (%s)", seed, step, did)
		idle := p.available() == permits && len(p.line) == 0
		if _, fixed := p.plainMeter.(*plainFixed); !fixed {
			require.Equal(t, idle, !s.IdleSince.IsZero(), "seed %d, step %d (%s)", seed, step, did)
		}
	}
	l.Close()
	for _, cancel := range cancels {
		cancel()
	}
}

// TestModel compares each limiter, in each order of its queue, with a simple and
// slow model, after each of many random operations.
func TestModel(t *testing.T) {
	for _, m := range []struct {
		name string
		make func(permits int64, q quota.Options) (quota.Limiter, error)
		like func(permits int64) plainMeter
	}{
		{"fixed window", func(n int64, q quota.Options) (quota.Limiter, error) {
			return quota.FixedWindow(n, 5*time.Second, q), nil
		}, func(n int64) plainMeter { return &plainFixed{permits: n, takes: map[int]*plainTake{}} }},
		{"sliding window", func(n int64, q quota.Options) (quota.Limiter, error) {
			return quota.SlidingWindow(n, 6*time.Second, 3, q), nil
		}, func(n int64) plainMeter { return &plainSliding{permits: n, takes: map[int]*plainTake{}} }},
		{"token bucket", func(n int64, q quota.Options) (quota.Limiter, error) {
			return quota.TokenBucket(n, 2, 3*time.Second, q), nil
		}, func(n int64) plainMeter { return &plainBucket{permits: n, level: n, takes: map[int]*plainTake{}} }},
		{"concurrency", func(n int64, q quota.Options) (quota.Limiter, error) {
			return quota.Concurrency(n, q), nil
		}, func(n int64) plainMeter { return &plainConcurrency{permits: n, takes: map[int]*plainTake{}} }},
	} {
		for _, newest := range []bool{false, true} {
			t.Run(fmt.Sprint(m.name, "/", newest), func(t *testing.T) {
				for range 25 {
					seed := rand.Uint64()
					rnd := rand.New(rand.NewPCG(seed, 2))
					permits := 1 + rnd.Int64N(9)
					q := quota.Options{NewestFirst: newest, MaxQueue: 1 + rnd.Int64N(2*permits)}
					synctest.Test(t, func(t *testing.T) {
						l, err := m.make(permits, q)
						require.NoError(t, err)
						p := &plainLimiter{plainMeter: m.like(permits), queue: q, state: map[int]string{}}
						playOn(t, seed, l, p, permits)
					})
				}
			})
		}
	}
}

// Chains of the same limiters in different orders, under random load: in the end
// all permits are back and no request waits.
func TestChainsInDifferentOrders(t *testing.T) {
	for range 20 {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 4))
		synctest.Test(t, func(t *testing.T) {
			var members []quota.Limiter
			for i := range 4 {
				l := quota.Concurrency(1+int64(i)%2, quota.Options{NewestFirst: rnd.IntN(2) > 0})
				members = append(members, l)
			}
			w := quota.FixedWindow(3, time.Second)
			members = append(members, w)
			var chains []quota.Limiter
			for range 5 {
				rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
				c := quota.Chain(members[:1+rnd.IntN(len(members))]...)
				chains = append(chains, c)
			}
			var done atomic.Int64
			for i := range 60 {
				c, work, patience := chains[rnd.IntN(len(chains))], rnd.IntN(900), rnd.IntN(100)*i
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					if patience%3 == 0 {
						ctx, cancel = context.WithTimeout(t.Context(), time.Duration(patience)*time.Millisecond)
					}
					defer cancel()
					lease, err := c.Acquire(ctx, 1)
					if err == nil {
						time.Sleep(time.Duration(work) * time.Millisecond)
						lease.Release()
					}
					done.Add(1)
				}()
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			assert.EqualValues(t, 60, done.Load(), "seed %d", seed)
			for _, l := range members {
				s := l.Stats()
				assert.Zero(t, s.Queued, "seed %d", seed)
				assert.False(t, s.IdleSince.IsZero(), "seed %d", seed)
			}
		})
	}
}
