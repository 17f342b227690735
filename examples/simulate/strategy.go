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

// A strategy decides when a process sends its requests.
type strategy interface {
	// admit reports whether a job may be sent now. If not, it returns the time
	// after which to ask again at the latest; zero means after the next response or
	// arrival.
	admit(now time.Time, j *job) (wait time.Duration, ok bool)

	// settle handles the response to a job. It returns the time after which a
	// refused job enters the line again; zero means at once.
	settle(now time.Time, j *job, d transporttest.Decision) (again time.Duration)
}

// A contender is a named strategy; make returns a new one for a process.
type contender struct {
	name string
	ours bool // a strategy of package quota
	make func(r *row, rnd *rand.Rand) strategy
}

// contenders returns all strategies, in the order of the table.
func contenders() []contender {
	return []contender{
		{"adaptive", true, func(r *row, rnd *rand.Rand) strategy {
			return ours(r, &quota.Accounts{Jitter: rnd.Float64})
		}},
		{"plain", true, func(r *row, rnd *rand.Rand) strategy {
			return ours(r, &quota.Accounts{Strategy: quota.Plain, Jitter: rnd.Float64})
		}},
		{"retry", false, func(_ *row, rnd *rand.Rand) strategy { return &retrying{rnd: rnd} }},
		{"bucket", false, func(r *row, rnd *rand.Rand) strategy { return newTold(r, rnd) }},
		{"pray", false, func(*row, *rand.Rand) strategy { return praying{} }},
	}
}

// ours returns a strategy of package quota: that of a member of the fleet, if there is one.
func ours(r *row, a *quota.Accounts) strategy {
	if r.fleet {
		return newMember(r, a)
	}
	return newShaped(r, a)
}

// shaped does what a transport.Shaper does: it reads fields with package parse and
// admits with package quota. The line is that of the simulation.
type shaped struct {
	origin *quota.Origin
	reader parse.Reader
	row    *row
	cost   int64 // of a request in a unit such as tokens, as it was seen; 0: it was not
}

func newShaped(r *row, a *quota.Accounts) *shaped {
	return &shaped{origin: a.Origin("https://api.example"), row: r}
}

func (s *shaped) admit(now time.Time, j *job) (time.Duration, bool) {
	lease, ask := new(quota.Lease), s.ask(j)
	if err := s.origin.Admit(context.Background(), now, &ask, lease); err != nil {
		return err.(*quota.Refusal).Wait, false
	}
	j.lease = lease
	return 0, true
}

// ask returns what a job asks for.
func (s *shaped) ask(j *job) quota.Ask {
	ask := quota.Ask{Scope: j.user.name, Claims: s.claims(j), MaxDelay: -1, FirstFlight: 10}
	if j.kind != "" {
		ask.Kind = func() string { return j.kind }
	}
	return ask
}

// claims returns a claim on each policy that the server has named so far. The partition
// keys are the names of the users.
func (s *shaped) claims(j *job) []quota.Claim {
	var cs []quota.Claim
	for _, p := range s.origin.Policies() {
		c := quota.Claim{Policy: p.Name, Units: 1, Keyed: p.Keyed}
		switch {
		case s.row.knows && p.Unit != "concurrent-requests":
			c.Units = j.units
		case p.Unit == "" || p.Unit == "requests" || p.Unit == "concurrent-requests" || p.Quota < 0:
		default:
			c.Units, c.Estimated = min(max(s.cost, 1), p.Quota), true
		}
		if p.Keyed {
			c.Key = j.user.name
		}
		cs = append(cs, c)
	}
	return cs
}

// settle does what package transport does with a response. A refused job enters the
// line again at once, and admit decides when it may be sent.
func (s *shaped) settle(now time.Time, j *job, d transporttest.Decision) time.Duration {
	lease := j.lease.(*quota.Lease)
	got := s.reader.Read("api.example", d.Status, d.Header, now)
	report := quota.Report{Refused: d.Status == http.StatusTooManyRequests, Failed: d.Status >= http.StatusInternalServerError, Date: got.Date}
	for _, p := range got.Policies {
		report.Terms = append(report.Terms, quota.Policy{
			Name: p.Name, Quota: p.Quota, Unit: p.Unit, Window: p.Window, Keyed: p.HasKey, Key: string(p.Key),
		})
	}
	for _, l := range got.Limits {
		report.Figures = append(report.Figures, quota.Figure{
			Policy: l.Policy, Key: string(l.Key), Keyed: l.HasKey, Available: l.Available, Window: l.Window,
			Full: l.Full, Resets: l.Resets,
		})
	}
	if got.Advised {
		if report.Pause = got.RetryAfter; report.Refused && report.Pause <= 0 {
			report.Pause = -1
		}
		report.WholeOrigin = report.Failed && report.Pause > 0
	}
	s.origin.Settle(now, lease, &report)
	for _, f := range report.Figures {
		if f.Seen >= s.cost {
			s.cost = f.Seen
		} else if f.Seen > 0 {
			s.cost -= max((s.cost-f.Seen)/4, 1)
		}
	}
	lease.Release()
	return 0
}

// retrying is what most clients do: it sends at once, and retries a refused request
// after Retry-After. Without that field it retries after 1 s and doubles the wait at
// each refusal, up to 1 min, plus a random quarter.
type retrying struct{ rnd *rand.Rand }

func (*retrying) admit(time.Time, *job) (time.Duration, bool) { return 0, true }

func (s *retrying) settle(_ time.Time, j *job, d transporttest.Decision) time.Duration {
	if n, err := strconv.Atoi(d.Header.Get("Retry-After")); err == nil && n > 0 {
		return time.Duration(min(n, 86400)) * time.Second // a day at most
	}
	wait := min(time.Second<<min(j.refused, 6), time.Minute)
	return wait + time.Duration(s.rnd.Int64N(int64(wait/4)))
}

// told is a token bucket that is configured with the right rate, divided by the number
// of processes. Its burst is 1, because a larger one can exceed a fixed window. For a
// limit on concurrency it is a semaphore. Refused requests are retried as by retrying.
type told struct {
	retrying
	limit   rate.Limit
	of      map[string]rate.Limit // by kind
	perUser bool
	buckets map[string]*rate.Limiter // by user and kind; "" if not perUser and there is one kind
	permits int                      // left
}

func newTold(r *row, rnd *rand.Rand) *told {
	s := &told{retrying: retrying{rnd}, limit: rate.Inf, perUser: r.keyed(), buckets: make(map[string]*rate.Limiter), permits: math.MaxInt}
	if limit, ok := r.concurrent(); ok {
		s.permits = limit / r.size()
		return s
	}
	s.of = make(map[string]rate.Limit)
	for _, d := range r.demand {
		s.of[d.kind] = r.slowest(d.alone)
	}
	s.limit = r.slowest(r.policies)
	return s
}

// slowest returns the lowest rate of the policies for one of the processes.
func (r *row) slowest(ps []transporttest.Policy) rate.Limit {
	limit := rate.Inf
	for _, p := range ps {
		limit = min(limit, rate.Limit(float64(p.Quota)/p.Window.Seconds()/float64(r.units())/float64(r.size())))
	}
	return limit
}

// limitOf returns the rate of a job's kind.
func (s *told) limitOf(j *job) rate.Limit {
	if j.kind == "" {
		return s.limit
	}
	return min(s.of[j.user.kind], s.limit)
}

func (s *told) admit(now time.Time, j *job) (time.Duration, bool) {
	if s.permits == 0 {
		return 0, false
	}
	name := ""
	if s.perUser {
		name = j.user.name
	}
	if j.kind != "" {
		name += " " + j.user.kind
	}
	if s.buckets[name] == nil {
		s.buckets[name] = rate.NewLimiter(s.limitOf(j), 1)
	}
	r := s.buckets[name].ReserveN(now, 1)
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

// praying sends at once and retries refused requests after a second.
type praying struct{}

func (praying) admit(time.Time, *job) (time.Duration, bool) { return 0, true }

func (praying) settle(time.Time, *job, transporttest.Decision) time.Duration { return time.Second }
