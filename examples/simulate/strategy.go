package main

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/time/rate"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
	"github.com/headway-go/headway/transport/transporttest"
)

// A strategy says when a process lets its requests go.
type strategy interface {
	// admit lets a job go, or says when to look again at the latest; zero is
	// when something happens.
	admit(now time.Time, j *job) (wait time.Duration, ok bool)

	// settle takes in the answer to a job, and says after how long a job that
	// was refused asks again.
	settle(now time.Time, j *job, d transporttest.Decision) (again time.Duration)
}

// A contender is a strategy by name, and how a process of a row gets one.
type contender struct {
	name string
	ours bool // a strategy of package quota
	make func(r *row, rnd *rand.Rand) strategy
}

// contenders are all strategies, in the order of the table.
func contenders() []contender {
	return []contender{
		{"adaptive", true, func(r *row, rnd *rand.Rand) strategy {
			return newShaped(&quota.Accounts{Jitter: rnd.Float64})
		}},
		{"plain", true, func(r *row, rnd *rand.Rand) strategy {
			return newShaped(&quota.Accounts{Strategy: quota.Plain, Jitter: rnd.Float64})
		}},
		{"retry", false, func(_ *row, rnd *rand.Rand) strategy { return &retrying{rnd: rnd} }},
		{"bucket", false, func(r *row, rnd *rand.Rand) strategy { return newTold(r, rnd) }},
		{"pray", false, func(*row, *rand.Rand) strategy { return praying{} }},
	}
}

// shaped is what a transport.Shaper does: quota's arithmetic between parse and
// the line.
type shaped struct {
	origin *quota.Origin
	reader parse.Reader
	memo   parse.Memo
}

func newShaped(a *quota.Accounts) *shaped {
	return &shaped{origin: a.Origin("https://api.example")}
}

func (s *shaped) admit(now time.Time, j *job) (time.Duration, bool) {
	lease := new(quota.Lease)
	ask := quota.Ask{Scope: j.user.name, Claims: s.claims(j), MaxDelay: quota.NoDelay}
	if err := s.origin.Admit(context.Background(), now, &ask, lease); err != nil {
		return err.(*quota.Refusal).Wait, false
	}
	j.lease = lease
	return 0, true
}

// claims are what the server has named so far. Its keys are the users' names.
func (s *shaped) claims(j *job) []quota.Claim {
	var cs []quota.Claim
	for _, p := range s.origin.Policies() {
		c := quota.Claim{Policy: p.Name, Units: 1, Keyed: p.Keyed}
		if p.Keyed {
			c.Key = j.user.name
		}
		cs = append(cs, c)
	}
	return cs
}

// settle does as package transport does in learn.go. What was refused stands in
// line again at once: when it may go is the line's affair.
func (s *shaped) settle(now time.Time, j *job, d transporttest.Decision) time.Duration {
	lease := j.lease.(*quota.Lease)
	got := s.reader.ReadWith(&s.memo, "api.example", d.Status, d.Header, now)
	report := quota.Report{Refused: d.Status == http.StatusTooManyRequests}
	for _, p := range got.Policies {
		report.Terms = append(report.Terms, quota.Terms{
			Policy: quota.Policy{Name: p.Name, Quota: p.Quota, Unit: p.Unit, Window: p.Window, Keyed: p.HasKey},
			Key:    p.Key,
		})
	}
	for _, l := range got.Limits {
		report.Figures = append(report.Figures, quota.Figure{
			Policy: l.Policy, Key: l.Key, Keyed: l.HasKey, Available: l.Available, Window: l.Window,
		})
	}
	if got.Advised {
		report.Pause = got.RetryAfter
	}
	s.origin.Settle(now, lease, &report)
	lease.Release()
	return 0
}

// retrying is what most clients do: send at once; what is refused is sent again
// after Retry-After or, where that says nothing, after 1 s, and twice as long
// after each further refusal, to 1 min, and up to a quarter more.
type retrying struct{ rnd *rand.Rand }

func (*retrying) admit(time.Time, *job) (time.Duration, bool) { return 0, true }

func (s *retrying) settle(_ time.Time, j *job, d transporttest.Decision) time.Duration {
	if n, err := strconv.Atoi(d.Header.Get("Retry-After")); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	wait := min(time.Second<<min(j.refused, 6), time.Minute)
	return wait + time.Duration(s.rnd.Int64N(int64(wait/4)))
}

// told is a token bucket that was told the right rate, and each process its part of
// it; without a burst, which fixed windows would not forgive. A limit on concurrency
// is a semaphore. What is refused in spite of it is sent again as retrying does.
type told struct {
	retrying
	limit   rate.Limit
	each    bool // user has one
	of      map[string]*rate.Limiter
	permits int // that are left
}

func newTold(r *row, rnd *rand.Rand) *told {
	s := &told{retrying: retrying{rnd}, limit: rate.Inf, each: r.keyed(), of: make(map[string]*rate.Limiter), permits: math.MaxInt}
	if limit, ok := r.concurrent(); ok {
		s.permits = limit / r.size()
		return s
	}
	for _, p := range r.policies {
		s.limit = min(s.limit, rate.Limit(float64(p.Quota)/p.Window.Seconds()/float64(r.size())))
	}
	return s
}

func (s *told) admit(now time.Time, j *job) (time.Duration, bool) {
	if s.permits == 0 {
		return 0, false
	}
	name := ""
	if s.each {
		name = j.user.name
	}
	if s.of[name] == nil {
		s.of[name] = rate.NewLimiter(s.limit, 1)
	}
	r := s.of[name].ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return wait, false
	}
	s.permits--
	return 0, true
}

func (s *told) settle(now time.Time, j *job, d transporttest.Decision) time.Duration {
	s.permits++
	return s.retrying.settle(now, j, d)
}

// praying sends at once, and what is refused again after a second.
type praying struct{}

func (praying) admit(time.Time, *job) (time.Duration, bool) { return 0, true }

func (praying) settle(time.Time, *job, transporttest.Decision) time.Duration { return time.Second }
