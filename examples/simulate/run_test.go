package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/transport/transporttest"
)

// rowCalled returns the row with a name.
func rowCalled(t testing.TB, name string) *row {
	t.Helper()
	rs := rows()
	i := slices.IndexFunc(rs, func(r row) bool { return r.name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return &rs[i]
}

// The same seed gives exactly the same score, even if other rows are played at the same
// time. Another seed gives another score.
func TestSameSeedSameScore(t *testing.T) {
	var rs []row
	for _, name := range []string{"8 processes, 20/1s", "replicas that lag", "concurrency 8", "20 users, one of them hot", "others take 30 %", "fleet of 8, two buckets 20/1s"} {
		rs = append(rs, *rowCalled(t, name))
	}
	first := playAll(rs, contenders(), 1, 1)
	assert.Equal(t, first, playAll(rs, contenders(), 1, 1))
	for i, other := range playAll(rs, contenders(), 2, 1) {
		for k := range other {
			assert.NotEqual(t, first[i][k], other[k], "%s, %s", rs[i].name, contenders()[k].name)
		}
	}
}

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range rows() {
		assert.False(t, seen[r.name], r.name)
		seen[r.name] = true
	}
}

// scripted admits two jobs in each second; the test sets left to 1 for the first second.
type scripted struct {
	second time.Time
	left   int
	seen   []string
}

func (s *scripted) admit(now time.Time, j *job) (time.Duration, bool) {
	if second := now.Truncate(sec); !second.Equal(s.second) {
		s.second, s.left = second, 2
	}
	if s.left == 0 {
		return s.second.Add(sec).Sub(now), false
	}
	s.left--
	s.seen = append(s.seen, fmt.Sprint(j.asked.Sub(begins), " ", now.Sub(begins)))
	return 0, true
}

func (s *scripted) settle(time.Time, *job, transporttest.Decision) time.Duration { return 0 }

// A line sends its jobs in the order of arrival, at the times that the strategy returns.
func TestLine(t *testing.T) {
	s := &scripted{second: begins, left: 1}
	c := contender{name: "scripted", make: func(*row, *rand.Rand) strategy { return s }}
	r := &row{name: "line", policies: fixed(100, sec), rtt: 0, demand: batches(6, 2, 400*ms)}
	got := play(r, c, 1)
	assert.Equal(t, []string{"0s 0s", "0s 1s", "400ms 1s", "400ms 2s", "800ms 2s", "800ms 3s"}, s.seen)
	assert.Equal(t, done, got.end)
	assert.Equal(t, 3*sec, got.taken)
	assert.Equal(t, sec, got.median)
	assert.Equal(t, 2200*ms, got.worst)
	assert.Equal(t, 2, got.burst)
}

// A refused job is sent again until it is served: it enters the line at the end, after
// the time that the strategy returns. Refused requests that left before a first response
// count as the wave.
func TestRefused(t *testing.T) {
	c := contender{name: "pray", make: func(*row, *rand.Rand) strategy { return praying{} }}
	r := &row{name: "refused", policies: fixed(3, 10*sec), rtt: 0, demand: backlog(6, 4)}
	got := play(r, c, 1)
	// Of the first four, one is refused. The next two are refused as well, and all
	// three retry every second until the window ends.
	assert.Equal(t, score{
		end: done, bound: 10 * sec, taken: 10 * sec, served: 6,
		refused: 29, wave: 1, median: 0, worst: 10 * sec, burst: 6, fair: 1,
	}, got)
	assert.Equal(t, 29*sec, got.cost())
	assert.InDelta(t, 100*29.0/6, got.refusals(), 1e-9)
	assert.Equal(t, 1.0, got.goodput())
}

// A run ends as stuck if the strategy admits nothing and never asks again, and as late if
// its requests are always refused.
func TestNeverDone(t *testing.T) {
	r := &row{name: "never", policies: fixed(1, sec), rtt: 100 * ms, demand: backlog(3, 3)}
	halt := contender{make: func(*row, *rand.Rand) strategy { return &told{permits: 0} }}
	assert.Equal(t, stuck, play(r, halt, 1).end)

	r.policies = block(r.policies, time.Minute)
	pray := contender{make: func(*row, *rand.Rand) strategy { return praying{} }}
	assert.Equal(t, late, play(r, pray, 1).end)

	// The bound is an hour, but the run is given up after 60 requests.
	r.policies = fixed(2, time.Hour)
	got := play(r, pray, 1)
	assert.Equal(t, late, got.end)
	assert.InDelta(t, time.Minute, got.taken, float64(10*sec))
}

// A strategy that doubles its wait after each refusal is refused seven times in 100 s.
func TestRefusalsOfAJob(t *testing.T) {
	r := &row{name: "refusals", policies: fixed(1, 100*sec), omitLimits: true, omitPolicies: true, noRetryAfter: true, demand: backlog(2, 1)}
	got := play(r, contender{make: func(_ *row, rnd *rand.Rand) strategy { return &retrying{rnd} }}, 1)
	assert.Equal(t, 7, got.refused)
	assert.Greater(t, got.taken, 127*sec)
}

// A client that is quicker than the bound gains nothing.
func TestCost(t *testing.T) {
	s := score{bound: 3 * sec, taken: 5 * sec, refused: 4, wave: 7}
	assert.Equal(t, 6*sec, s.cost())
	s.taken = sec
	assert.Equal(t, 4*sec, s.cost())
}

// One-way times have the mean and the spread of the row.
func TestHalf(t *testing.T) {
	for wild, minimum := range map[bool]time.Duration{false: 900 * ms, true: 500 * ms} {
		rnd := source(1, "", "")
		r := &row{rtt: 2 * sec, wild: wild}
		var sum, shortest, longest time.Duration = 0, time.Hour, 0
		for range 10_000 {
			d := r.half(rnd)
			sum += d
			shortest, longest = min(shortest, d), max(longest, d)
		}
		assert.InDelta(t, 1, sum.Seconds()/10_000, 0.02)
		assert.GreaterOrEqual(t, shortest, minimum)
		assert.Less(t, shortest, minimum+5*ms)
		assert.Greater(t, longest, minimum+6*(sec-minimum))
	}
}

// A process without an idle connection dials, which takes two round trips.
func TestDial(t *testing.T) {
	x := newRun(&row{name: "dial", policies: fixed(100, sec), rtt: sec, dials: true, demand: backlog(4, 2)}, contenders()[1], 1)
	p := x.users[0].process
	for i, want := range []time.Duration{2 * sec, 2 * sec, 0, 2 * sec} {
		if i == 2 {
			p.inflight--
		}
		assert.Equal(t, want, p.dial())
	}
	x = newRun(rowCalled(t, "fixed 20/1s"), contenders()[1], 1)
	assert.Zero(t, x.users[0].process.dial())

	// Of three consecutive jobs, only the first dials.
	r := &row{name: "dial", policies: fixed(100, sec), rtt: sec, dials: true, demand: backlog(3, 1)}
	praying := contender{make: func(*row, *rand.Rand) strategy { return praying{} }}
	assert.InDelta(t, 5, play(r, praying, 1).taken.Seconds(), 0.5)
}

func TestPercentile(t *testing.T) {
	var ds []time.Duration
	for i := range 200 {
		ds = append(ds, time.Duration(i+1))
	}
	assert.Equal(t, time.Duration(100), percentile(ds, 50))
	assert.Equal(t, time.Duration(198), percentile(ds, 99))
	assert.Equal(t, time.Duration(1), percentile(ds[:1], 99))
	assert.Zero(t, percentile(nil, 50))
}

func TestJain(t *testing.T) {
	assert.InDelta(t, 1, jain([]float64{0.3, 0.3, 0.3}), 1e-9)
	assert.InDelta(t, 0.25, jain([]float64{0, 7, 0, 0}), 1e-9)
	assert.InDelta(t, 0.9, jain([]float64{1, 2}), 1e-9)
	assert.InDelta(t, 1, jain([]float64{0, 0}), 1e-9)
}

// The time for which a crawler's jobs are held counts only if all users are crawlers.
func TestWhoseDelayCounts(t *testing.T) {
	x := newRun(rowCalled(t, "20 users, one of them hot"), contenders()[1], 1)
	x.finish(&job{user: x.users[0], sent: begins.Add(sec), asked: begins})
	x.finish(&job{user: x.users[1], sent: begins.Add(sec), asked: begins})
	assert.Len(t, x.held, 1)
	x = newRun(rowCalled(t, "1 worker"), contenders()[1], 1)
	x.finish(&job{user: x.users[0], sent: begins.Add(sec), asked: begins})
	assert.Len(t, x.held, 1)
}

// The fairness index includes the other clients' served fraction.
func TestFairnessToOthers(t *testing.T) {
	x := newRun(rowCalled(t, "others take 30 %"), contenders()[0], 1)
	x.users[0].counts.Served, x.users[0].over = 1, begins.Add(x.each[0])
	x.server.theirs = transporttest.Counts{Served: 1, Refused: 3}
	assert.InDelta(t, (1.25*1.25)/(2*(1+1.0/16)), x.fairness(), 1e-9)
}

// A look into an inferred window may be refused with figures that say that nothing is left. The next windows have
// none all the same, up to 64 in a row. The other refusals are those of tries for more than the inferred quota.
func TestLooksBesideFigures(t *testing.T) {
	r := *rowCalled(t, "replicas that lag")
	r.demand = backlog(12_000, 50)
	for seed := range uint64(3) {
		x, refused := newRun(&r, contenders()[0], seed+1), 0
		x.server.watch = func(served bool) {
			if !served && x.now.Sub(begins) > 20*sec {
				refused++
			}
		}
		x.run(func() bool { return x.left == 0 })
		assert.InDelta(t, 11, refused, 2, "seed %d: of 118 windows", seed+1)
	}
}

// All processes of a fleet are served by a server whose policy has no name, also those that wait for the
// first answer to others.
func TestFleetOfUnnamedPolicy(t *testing.T) {
	r := row{name: "unnamed", policies: fixed(10, sec), dialect: parse.VendorFields, rtt: 50 * ms, processes: 16, fleet: true, demand: backlog(12, 3)}
	i := slices.IndexFunc(contenders(), func(c contender) bool { return c.name == "adaptive" })
	s := play(&r, contenders()[i], 1)
	assert.Equal(t, done, s.end)
	assert.Less(t, s.taken, 21*sec, "192 requests")
}
