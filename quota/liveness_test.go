package quota_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota"
)

// A scene is one run of arbitrary callers against an arbitrary server. What they do is
// read from a tape.
type scene struct {
	t        *testing.T
	tape     *tape
	accounts *quota.Accounts
	origins  []*quota.Origin
	conc     *quota.Limit
	permits  int64 // of conc
	rate     *quota.Limit
	both     quota.Limiter

	mu       sync.Mutex
	problems []string
}

// A tape is a source of choices; where it ends, it goes on with zeros.
type tape struct {
	mu   sync.Mutex
	data []byte
}

func (tp *tape) next() byte {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	if len(tp.data) == 0 {
		return 0
	}
	b := tp.data[0]
	tp.data = tp.data[1:]
	return b
}

func (tp *tape) pick(n int) int { return int(tp.next()) % n }

func (tp *tape) one(of ...time.Duration) time.Duration { return of[tp.pick(len(of))] }

func (p *scene) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.problems) < 5 {
		p.problems = append(p.problems, fmt.Sprintf(format, args...))
	}
}

var scenePolicies = []string{"", "a", "b", "c"}

// live plays the tape and returns what went wrong.
func live(t *testing.T, data []byte) []string {
	p := &scene{t: t, tape: &tape{data: data}}
	synctest.Test(t, func(t *testing.T) { p.run(t) })
	return p.problems
}

func (p *scene) run(t *testing.T) {
	p.accounts = &quota.Accounts{Jitter: func() float64 { return 0.5 }, MaxAccounts: 3 + p.tape.pick(6), Strategy: quota.Strategy(p.tape.pick(4) / 3)}
	p.origins = []*quota.Origin{p.accounts.Origin("one"), p.accounts.Origin("two")}
	p.permits = 1 + int64(p.tape.pick(3))
	p.conc = concurrencyOf(t, p.permits)
	p.rate = quota.Rate(rate.NewLimiter(rate.Limit(1+p.tape.pick(5)), 1+p.tape.pick(3)))
	p.both = quota.NewUnsorted(p.conc, p.rate)

	var callers sync.WaitGroup
	n := 2 + p.tape.pick(14)
	over := make(chan struct{})
	for i := range n {
		c := p.caller()
		if i%4 < 3 {
			c.ask.Kind = func() string { return []string{"x", "x\x00a", "x\x00b", "x\x00c", "y", "z/z"}[(i-i/4)%6] }
		}
		callers.Go(func() { c.run(t.Context(), i) })
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		lines := quota.LineWatch{Origins: p.origins, Conc: p.conc, Rate: p.rate}
		looks := time.NewTicker(97*time.Millisecond + 13*time.Nanosecond)
		defer looks.Stop()
		for {
			select {
			case <-over:
				return
			case <-looks.C:
			}
			synctest.Wait()
			for _, problem := range lines.Problems(time.Now()) {
				p.problem("%s", problem)
			}
		}
	})
	callers.Wait()
	close(over)
	watch.Wait()
	synctest.Wait()
	p.atRest()
}

// atRest checks that nothing is left when all the work is done.
func (p *scene) atRest() {
	for i, o := range p.origins {
		for _, left := range o.Leftovers() {
			p.problem("origin %d: %s", i, left)
		}
		if n := len(o.Policies()); n > quota.MaxPolicies {
			p.problem("origin %d: %d policies", i, n)
		}
	}
	if s := p.conc.Stats(); s.Available != p.permits || s.Queued != 0 {
		p.problem("concurrency: %d of %d available, %d queued", s.Available, p.permits, s.Queued)
	}
	if s := p.rate.Stats(); s.Queued != 0 {
		p.problem("rate: %d queued", s.Queued)
	}
}

// A call is what one caller does, and how the server answers.
type call struct {
	p        *scene
	start    time.Duration
	origin   *quota.Origin
	ask      quota.Ask
	deadline time.Duration // 0: none
	cancel   time.Duration // 0: never
	work     time.Duration // until the answer
	body     time.Duration // until the release
	how      int           // settled, released, cancelled
	report   quota.Report
	again    int // times it is done
}

func (p *scene) caller() *call {
	tp := p.tape
	c := &call{
		p: p, start: tp.one(0, 0, 0, ms, sec, 3*sec, 11*sec), origin: p.origins[tp.pick(8)/7],
		work:  tp.one(0, ms, 40*ms, 40*ms, sec, 3*sec, mins),
		body:  tp.one(0, 0, ms, sec, 20*sec),
		how:   tp.pick(8),
		again: 1 + tp.pick(3),
	}
	c.ask = quota.Ask{
		Scope:    []string{"", "", "s"}[tp.pick(3)],
		MaxDelay: tp.one(0, 0, 0, sec, 10*sec, quota.NoDelay),
		MaxQueue: []int{0, 0, 0, 1, -1}[tp.pick(5)],
		Priority: []int{0, 0, 0, 1}[tp.pick(4)],
		Force:    tp.pick(12) == 11,
		Limiter:  []quota.Limiter{nil, nil, nil, p.conc, p.rate, p.both}[tp.pick(6)],
	}
	for range tp.pick(4) {
		i := tp.pick(len(scenePolicies))
		c.ask.Claims = append(c.ask.Claims, quota.Claim{
			Policy: scenePolicies[i],
			Keyed:  tp.pick(4) == 3, Key: []string{"", "k"}[tp.pick(2)],
			Units: []int64{1, 1, 1, 2, 0, 50}[tp.pick(6)],
		})
	}
	c.ask.Claims = once(c.ask.Claims)
	if tp.pick(3) == 2 {
		c.deadline = tp.one(ms, 500*ms, sec, 5*sec, 30*sec)
	}
	if tp.pick(4) == 3 {
		c.cancel = tp.one(ms, 20*ms, sec, 4*sec)
	}
	if tp.pick(5) == 4 {
		c.ask.Held = func(quota.Refusal, quota.Limiter) { time.Sleep(ms) }
	}
	c.report = p.report()
	return c
}

// once keeps one claim of each policy.
func once(cs []quota.Claim) (kept []quota.Claim) {
	seen := make(map[string]bool)
	for _, c := range cs {
		if !seen[c.Policy] {
			seen[c.Policy] = true
			kept = append(kept, c)
		}
	}
	return kept
}

func (p *scene) report() (r quota.Report) {
	tp := p.tape
	outcome := tp.pick(6)
	r.Lost, r.Unsent = outcome == 4, outcome == 5
	r.Refused = tp.pick(4) == 3
	units := []string{"", "", quota.UnitContentBytes, quota.UnitConcurrentRequests, "furlongs"}
	for i := range tp.pick(4) {
		keyed, key := tp.pick(4) == 3, []string{"", "k"}[tp.pick(2)]
		switch what := tp.pick(4); {
		case what < 3:
			r.Figures = append(r.Figures, quota.Figure{
				Policy: scenePolicies[i], Keyed: keyed, Key: key,
				Available: []int64{0, 0, 1, 2, 10, 40, 100, quota.None, 1 << 62}[tp.pick(9)],
				Window:    tp.one(-1, 0, sec, sec, 5*sec, 30*sec, time.Hour, 1<<62),
			})
		}
		if tp.pick(3) == 2 {
			r.Terms = append(r.Terms, quota.Policy{
				Name: scenePolicies[i], Keyed: keyed, Key: key, Unit: units[tp.pick(5)],
				Quota:  []int64{0, 1, 2, 10, 100}[tp.pick(5)],
				Window: tp.one(0, sec, 10*sec, time.Hour),
			})
		}
	}
	if tp.pick(5) == 4 {
		r.Pause = tp.one(0, sec, 7*sec, 30*sec, 1<<62)
		r.WholeOrigin = tp.pick(2) == 1
	}
	return r
}

func (c *call) run(ctx context.Context, i int) {
	time.Sleep(c.start)
	for range c.again {
		c.once(ctx, i)
	}
}

func (c *call) once(ctx context.Context, i int) {
	if c.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.deadline)
		defer cancel()
	}
	if c.cancel > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(c.cancel, cancel).Stop()
	}
	var lease quota.Lease
	began := time.Now()
	err := c.origin.Admit(ctx, began, &c.ask, &lease)
	longest := c.ask.MaxDelay
	switch {
	case longest == 0:
		longest = quota.DefaultMaxDelay
	case longest < 0 || c.ask.Force:
		longest = 0
	}
	if c.ask.Held != nil {
		longest += ms // the time of the hook
	}
	if waited := time.Since(began); waited > longest {
		c.p.problem("caller %d waited %v, longer than %v", i, waited, longest)
	}
	if err != nil {
		var r *quota.Refusal
		if !errors.As(err, &r) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			c.p.problem("caller %d: %v", i, err)
		}
		if r != nil && (r.RetryAfter < 0 || r.Reason == 0 || r.Cause == 0) {
			c.p.problem("caller %d: %+v", i, *r)
		}
		return
	}
	report := c.report
	work, done := context.WithTimeout(ctx, c.work) // no timer of 0: see sleeps in package transport_test
	<-work.Done()
	done()
	if ctx.Err() != nil { // before the answer
		report = quota.Report{Lost: true}
	}
	switch c.how {
	case 6:
		lease.Cancel()
		return
	case 7: // never settled
	default:
		c.origin.Settle(time.Time{}, &lease, &report)
	}
	time.Sleep(c.body)
	lease.Release()
}

// Whatever servers say and callers do, every request is admitted or refused in time,
// and at the end nothing is left.
func TestLiveness(t *testing.T) {
	const runs = 250
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 200+r.IntN(800))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if problems := live(t, data); len(problems) > 0 {
			assert.Fail(t, "a request or a charge is left", "seed %d: %q", seed, problems)
			return
		}
	}
}

func FuzzLiveness(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		assert.Empty(t, live(t, data))
	})
}
