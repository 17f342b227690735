package transport

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/internal/raced"
	"github.com/headway-go/headway/parse"
	"github.com/headway-go/headway/quota"
)

var oneCounters = flag.Int("one-counters", 60, "servers that TestOneCounterOfAllRoutes draws")

// A countingServer counts requests in one counter, or those of each route in one of its own.
type countingServer struct {
	quota   int
	window  time.Duration
	algo    int // a fixed window, a log, two windows weighed, or a bucket
	reset   int // rounded up, rounded down, or always the window
	dialect string
	others  float64        // requests of others in a second
	costs   map[string]int // of routes; else 1
	own     func(at time.Duration) bool
	pause   time.Duration // after the first requests
	refuses time.Duration // when one request is refused, although something is left; 0: never

	mu              sync.Mutex
	rnd             *rand.Rand
	began           time.Time
	spent           map[string][]time.Time // by counter, all units
	other           time.Time              // when the next request of others comes
	served, refused int
}

const (
	algoFixed = iota
	algoLog
	algoWeighed
	algoBucket
)

// left returns what is left, and the time until the window ends, the first unit comes back, or the bucket is full.
func (s *countingServer) left(spent []time.Time, now time.Time) (units int, reset time.Duration) {
	end := s.window - now.Sub(s.began)%s.window
	rate := float64(s.quota) / s.window.Seconds()
	level, last, oldest := float64(s.quota), s.began, now
	used, before := 0, 0
	for _, at := range spent {
		level, last = min(float64(s.quota), level+at.Sub(last).Seconds()*rate)-1, at
		switch from := now.Add(end - s.window); {
		case s.algo == algoLog && at.After(now.Add(-s.window)):
			if used++; used == 1 {
				oldest = at
			}
		case s.algo != algoLog && !at.Before(from):
			used++
		case !at.Before(from.Add(-s.window)):
			before++
		}
	}
	switch s.algo {
	case algoLog:
		end = oldest.Add(s.window).Sub(now)
	case algoWeighed:
		used += int(float64(before) * end.Seconds() / s.window.Seconds())
	case algoBucket:
		level = min(float64(s.quota), level+now.Sub(last).Seconds()*rate)
		return int(math.Floor(level)), time.Duration((float64(s.quota) - level) / rate * float64(time.Second))
	}
	return s.quota - used, end
}

func (s *countingServer) answer(route string) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, name, cost := time.Now(), "", 1
	if s.own != nil && s.own(now.Sub(s.began)) {
		name = route
	}
	if c, ok := s.costs[route]; ok {
		cost = c
	}
	for ; s.others > 0 && s.other.Before(now); s.other = s.other.Add(time.Duration(s.rnd.ExpFloat64() / s.others * float64(time.Second))) {
		if n, _ := s.left(s.spent[name], s.other); n > 0 {
			s.spent[name] = append(s.spent[name], s.other)
		}
	}
	units, _ := s.left(s.spent[name], now)
	status, refuses := http.StatusOK, s.refuses > 0 && now.Sub(s.began) > s.refuses
	if units < max(cost, 1) || refuses {
		status, cost = http.StatusTooManyRequests, 0
		s.refused++
		if refuses {
			s.refuses = 0
		}
	} else {
		s.served++
	}
	for range cost {
		s.spent[name] = append(s.spent[name], now)
	}
	units, reset := s.left(s.spent[name], now)
	return &http.Response{StatusCode: status, Header: s.fields(max(units, 0), cost, reset, status), Body: http.NoBody}
}

func (s *countingServer) fields(units, cost int, reset time.Duration, status int) http.Header {
	seconds := [...]float64{math.Ceil(reset.Seconds()), math.Floor(reset.Seconds()), s.window.Seconds()}[s.reset]
	h := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	if status != http.StatusOK {
		h.Set("Retry-After", fmt.Sprint(seconds))
	}
	switch s.dialect {
	case "X":
		h.Set("X-RateLimit-Limit", strconv.Itoa(s.quota))
		h.Set("X-RateLimit-Remaining", strconv.Itoa(units))
		h.Set("X-RateLimit-Reset", fmt.Sprint(seconds))
	case "-07":
		h.Set("RateLimit-Policy", fmt.Sprintf("%d;w=%v", s.quota, s.window.Seconds()))
		h.Set("RateLimit", fmt.Sprintf("limit=%d, remaining=%d, reset=%v", s.quota, units, seconds))
	case "-08":
		h.Set("RateLimit-Policy", fmt.Sprintf(`"api"; q=%d; w=%v; pk=:MTI=:`, s.quota, s.window.Seconds()))
		h.Set("RateLimit", fmt.Sprintf(`"api"; r=%d; t=%v`, units, seconds))
	case "Spring":
		h.Del("Retry-After")
		h.Set("X-RateLimit-Remaining", strconv.Itoa(units))
		h.Set("X-RateLimit-Burst-Capacity", strconv.Itoa(s.quota))
		h.Set("X-RateLimit-Replenish-Rate", fmt.Sprint(float64(s.quota)/s.window.Seconds()))
		h.Set("X-RateLimit-Requested-Tokens", strconv.Itoa(cost))
	}
	return h
}

// routeLoad is what is sent.
type routeLoad struct {
	routes, workers int
	slow, rest      time.Duration // the longest answer, and the longest time between two requests of a worker
	lasts           time.Duration
	things          bool // the routes differ in a number only
}

// play returns how many routes had accounts of their own in the end, and the most that had.
func (s *countingServer) play(t *testing.T, ld routeLoad, seed uint64) (own, most int) {
	synctest.Test(t, func(t *testing.T) {
		s.rnd, s.began, s.other, s.spent = rand.New(rand.NewPCG(seed, 0)), time.Now(), time.Now(), map[string][]time.Time{}
		shaper := &Shaper{Accounts: &quota.Accounts{Jitter: func() float64 { return .5 }}}
		shaper.Base = roundTripperFunc(func(req *http.Request) (*http.Response, error) {
			rnd := req.Context().Value(s).(*rand.Rand)
			time.Sleep(20*time.Millisecond + time.Duration(rnd.Int64N(20e6)))
			resp := s.answer(req.URL.Path)
			time.Sleep(20*time.Millisecond + time.Duration(rnd.Int64N(20e6+int64(ld.slow))))
			told := &shaper.directories.of(shaper.accounts(), shaper.fields(), rawOrigin{"https", "api.example"}).told
			s.mu.Lock()
			defer s.mu.Unlock()
			if own = told.ownKinds(); ld.things {
				own = told.kindsOfThings()
			}
			most = max(own, most)
			return resp, nil
		})
		var wg sync.WaitGroup
		for i := range ld.workers {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, uint64(i+1)))
				ctx := context.WithValue(t.Context(), s, rnd)
				for n := 0; time.Since(s.began) < ld.lasts; n++ {
					if n == 1 {
						time.Sleep(s.pause)
					}
					time.Sleep(time.Duration(rnd.Int64N(1e6 + int64(ld.rest)))) // no two at one time
					path := ""
					if i := rnd.IntN(ld.routes); ld.things {
						path = "items/" + strconv.Itoa(i)
					} else {
						path = "abcd"[i:][:1]
					}
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://api.example/"+path, nil)
					if resp, err := shaper.RoundTrip(req); err == nil {
						resp.Body.Close()
					}
				}
			})
		}
		wg.Wait()
	})
	return own, most
}

func (t *toldKinds) ownKinds() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range t.kinds {
		if k.own != nil && k.own.separate {
			n++
		}
	}
	return n
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Each of three routes has a counter of its own, and no field says so. What is in flight on one route does not hold
// the others.
func TestCountersOfRoutes(t *testing.T) {
	ever := func(time.Duration) bool { return true }
	for _, tt := range raced.Rows([]struct {
		name            string
		s               *countingServer
		served, refused int
	}{
		{"X-RateLimit", &countingServer{quota: 100, window: 15 * time.Second, dialect: "X", own: ever}, 5450, 0},
		{"draft -07", &countingServer{quota: 100, window: 15 * time.Second, dialect: "-07", own: ever}, 5450, 0},
		{"draft -08, a partition key", &countingServer{quota: 100, window: 15 * time.Second, dialect: "-08", own: ever}, 5450, 0},
		{"Spring", &countingServer{quota: 10, window: 2 * time.Second, algo: algoBucket, dialect: "Spring", own: ever}, 4000, 5},
	}) {
		own, _ := tt.s.play(t, routeLoad{3, 20, 2 * time.Second, 0, 5 * time.Minute, false}, 1)
		t.Log(tt.name, own, tt.s.served, tt.s.refused)
		assert.Equal(t, 3, own, tt.name)
		assert.GreaterOrEqual(t, tt.s.served, tt.served, tt.name)
		assert.LessOrEqual(t, tt.s.refused, tt.refused, tt.name)
	}
}

// Routes that had counters of their own get one for all, and the other way around.
func TestCountersOfRoutesChange(t *testing.T) {
	for _, dialect := range []string{"X", "-07", "-08"} {
		for _, first := range []bool{true, false} {
			s := &countingServer{quota: 100, window: 15 * time.Second, dialect: dialect, own: func(at time.Duration) bool { return at < 150*time.Second == first }}
			own, most := s.play(t, routeLoad{3, 20, 500 * time.Millisecond, 0, 5 * time.Minute, false}, 1)
			t.Log(dialect, first, own, most, s.served, s.refused)
			assert.Equal(t, 3, most, dialect)
			if first {
				assert.Zero(t, own, dialect)
			} else {
				assert.Equal(t, 3, own, dialect)
			}
			assert.LessOrEqual(t, s.refused, 5, dialect)
		}
	}
}

// A refusal although something must be left shows that the route has no counter of its own.
func TestCountersOfRoutesRefuse(t *testing.T) {
	s := &countingServer{quota: 100, window: 15 * time.Second, dialect: "X", own: func(time.Duration) bool { return true }, refuses: 91 * time.Second}
	own, most := s.play(t, routeLoad{3, 20, 500 * time.Millisecond, 0, 92 * time.Second, false}, 1)
	assert.Equal(t, 1, s.refused)
	assert.Equal(t, 3, most)
	assert.Zero(t, own)
}

// Routes with one counter for all never get accounts of their own. The servers differ in their algorithm, in what the
// reset means, in whether others use the counter, and in what requests cost.
func TestOneCounterOfAllRoutes(t *testing.T) {
	for seed := range uint64(*oneCounters) {
		rnd := rand.New(rand.NewPCG(seed, 100))
		s := &countingServer{
			quota: 5 + rnd.IntN(100), window: time.Duration(2+rnd.IntN(30)) * time.Second, algo: rnd.IntN(4), reset: rnd.IntN(3),
			dialect: []string{"X", "-07", "-08"}[rnd.IntN(3)],
		}
		if s.algo == algoBucket && rnd.IntN(2) == 0 {
			s.dialect, s.quota = "Spring", int(s.window.Seconds())*(1+rnd.IntN(10))
		}
		if rnd.IntN(3) == 0 {
			s.others = float64(s.quota) / s.window.Seconds() * rnd.Float64()
		}
		if rnd.IntN(3) == 0 {
			s.costs = map[string]int{"/a": rnd.IntN(4)}
		}
		ld := routeLoad{2 + rnd.IntN(3), 1 + rnd.IntN(20), time.Duration(rnd.IntN(3)) * time.Second, time.Duration(rnd.IntN(3)) * time.Second, 3 * time.Minute, false}
		if seed == 0 { // requests of one route are free, and as many in flight as are counted in the time that is compared
			*s = countingServer{quota: 74, window: 20 * time.Second, algo: algoWeighed, dialect: "X", costs: map[string]int{"/a": 0}}
			ld = routeLoad{4, 18, 0, 0, 5 * time.Minute, false}
		}
		if _, most := s.play(t, ld, seed); most > 0 {
			t.Errorf("seed %d: %d of %d routes have accounts of their own: %d/%v, algorithm %d, reset %d, %s, others %.1f/s, costs %v; %+v",
				seed, most, ld.routes, s.quota, s.window, s.algo, s.reset, s.dialect, s.others, s.costs, ld)
		}
	}
}

// comparison is an answer and a later one to a kind, a second apart, in a fixed window of 100 seconds and as many units. In
// between, so many requests of the kind and of all kinds departed and were served, each counted one.
func comparison(kind, all int64) (own *ownCounter, base, later ownAnswer) {
	began := time.Now()
	upTo := func(n int64) requestCount { return requestCount{n, n, n} }
	own = &ownCounter{told: toldLimit + 100, kind: upTo(1 + kind), alike: &alikeKinds{count: upTo(1 + all)}}
	base = ownAnswer{
		left: 50, quota: 100, window: 100 * time.Second, ends: began.Add(89500 * time.Millisecond), latest: began.Add(90 * time.Second),
		sent: departure{own: own, at: began}, came: began, kind: upTo(1), all: upTo(1),
	}
	later = base
	later.left, later.came = 50-kind, began.Add(time.Second)
	later.sent.at, later.sent.kind, later.sent.all = later.came, upTo(kind), upTo(all)
	later.kind, later.all = own.kind, own.alike.count
	return own, base, later
}

// Two answers are evidence of a counter of its own if all requests that were certainly counted are four more than
// those of the kind and the units that may have come back: two for a second and the second that is rounded away,
// and one.
func TestCompareAnswers(t *testing.T) {
	for _, tt := range []struct {
		name      string
		kind, all int64
		change    func(own *ownCounter, base, later *ownAnswer)
		turns     int  // 1 before
		kept      bool // the base stays
	}{
		{name: "enough", kind: 5, all: 5 + 3 + ownExcess, turns: 2},
		{name: "one less", kind: 5, all: 5 + 3 + ownExcess - 1, turns: 1, kept: true},
		{name: "in flight when the base came", kind: 5, all: 5 + 3 + ownExcess, turns: 1, kept: true, change: func(_ *ownCounter, base, later *ownAnswer) {
			base.all.departed++
		}},
		{name: "in flight now, of the kind", kind: 5, all: 5 + 3 + ownExcess, turns: 1, kept: true, change: func(own *ownCounter, _, _ *ownAnswer) {
			own.kind.departed++
		}},
		{name: "in flight before the base, of the kind", kind: 5, all: 5 + 3 + ownExcess, turns: 2, change: func(own *ownCounter, base, _ *ownAnswer) {
			own.kind.departed++
			base.sent.kind.ended++
		}},
		{name: "more is used than by the kind", kind: 5, all: 30, turns: 0, change: func(_ *ownCounter, _, later *ownAnswer) {
			later.left--
		}},
		{name: "less by what may have come back", kind: 5, all: 30, turns: 2, change: func(_ *ownCounter, _, later *ownAnswer) {
			later.left += 3
		}},
		{name: "not all of the kind are counted", kind: 5, all: 30, turns: 0, change: func(_ *ownCounter, _, later *ownAnswer) {
			later.left += 4
		}},
		{name: "departed before the base came", kind: 5, all: 30, turns: 1, kept: true, change: func(_ *ownCounter, _, later *ownAnswer) {
			later.sent.all.ended = 0
			later.left -= 9
		}},
		{name: "departed when the base had come", kind: 5, all: 5 + 3 + ownExcess + 1, turns: 2, change: func(_ *ownCounter, base, later *ownAnswer) {
			later.sent.all.ended = base.all.ended
		}},
		{name: "of a bucket, what it fell by explains it", kind: 5, all: 2 + 3 + ownExcess, turns: 2, change: func(_ *ownCounter, base, later *ownAnswer) {
			base.ends, later.ends, later.left = time.Time{}, time.Time{}, 48
		}},
		{name: "another window", kind: 5, all: 30, turns: 1, change: func(_ *ownCounter, base, _ *ownAnswer) {
			base.ends = base.came.Add(time.Second)
		}},
		{name: "nothing to compare with", kind: 5, all: 30, turns: 1, change: func(_ *ownCounter, base, _ *ownAnswer) {
			base.window = 0
		}},
		{name: "not to be compared", kind: 5, all: 30, turns: 1, change: func(_ *ownCounter, _, later *ownAnswer) {
			later.window = 0
		}},
	} {
		own, base, later := comparison(tt.kind, tt.all)
		if tt.change != nil {
			tt.change(own, &base, &later)
		}
		own.base, own.proof.turns = base, 1
		told := &toldKinds{kinds: map[kindOfScope]toldKind{{"s", 1}: {what: own.told, own: own}}}
		assert.False(t, told.compare(own, later), tt.name)
		assert.Equal(t, tt.turns, own.proof.turns, tt.name)
		if tt.kept {
			assert.Equal(t, base, own.base, tt.name)
		} else {
			assert.Equal(t, later, own.base, tt.name)
		}
	}
}

// Kinds are separate once two of them that are told the same, and are still known, have a proof. A contradiction
// joins all of them, and it takes twice as much evidence again.
func TestSeparateKinds(t *testing.T) {
	one, base, later := comparison(5, 30)
	two, three := &ownCounter{told: one.told, alike: one.alike}, &ownCounter{told: one.told, alike: new(alikeKinds)}
	told := &toldKinds{kinds: map[kindOfScope]toldKind{
		{"s", 1}: {what: one.told, own: one}, {"s", 2}: {what: one.told, own: two}, {"other", 3}: {what: one.told, own: three}, {"s", 4}: {},
	}}
	compare := func() (moved bool) {
		one.base = base
		return told.compare(one, later)
	}
	three.proof.apart = true
	for range ownTurns + 2 {
		assert.False(t, compare())
	}
	assert.True(t, one.proof.apart)
	assert.False(t, one.separate)

	two.proof.apart = true
	delete(told.kinds, kindOfScope{"s", 1})
	assert.False(t, compare(), "it is not known any more")
	told.kinds[kindOfScope{"s", 1}] = toldKind{what: one.told, own: one}
	assert.False(t, told.several.Load())
	assert.True(t, compare())
	assert.True(t, one.separate)
	assert.False(t, two.separate)
	assert.True(t, told.several.Load())
	assert.False(t, compare(), "it is separate already")

	later.left += 4 // not all were counted: that is no contradiction
	assert.False(t, compare())
	assert.True(t, one.separate)
	later.left -= 5
	assert.True(t, compare())
	assert.Equal(t, []bool{false, false, false, true}, []bool{one.separate, one.proof.apart, two.proof.apart, three.proof.apart})
	later.left++
	for i := range 2 * ownTurns {
		assert.False(t, one.proof.apart, i)
		compare()
	}
	assert.True(t, one.proof.apart)

	later.left-- // a contradiction of a proof that has changed nothing yet
	assert.False(t, compare())
	assert.False(t, one.proof.apart)
	assert.Equal(t, 2, one.proof.changes)
	assert.False(t, compare(), "nothing is contradicted")
	assert.Equal(t, 2, one.proof.changes)
}

// As much may come back as in a bucket that is filled in the shorter of the two windows. If the window ends
// when it did before, no more comes back than was used.
func TestMayComeBack(t *testing.T) {
	_, base, later := comparison(5, 30)
	assert.EqualValues(t, 3, base.mayComeBack(&later))
	base.left = 98
	assert.EqualValues(t, 2, base.mayComeBack(&later), "two were used")
	later.left = 98
	assert.EqualValues(t, 2, base.mayComeBack(&later), "and again")
	base.left = 101
	assert.EqualValues(t, 0, base.mayComeBack(&later))
	for name, change := range map[string]func(a *ownAnswer){
		"more is left":                       func(a *ownAnswer) { a.left = 102 },
		"the end moves on":                   func(a *ownAnswer) { a.latest = a.latest.Add(time.Second) },
		"may move on":                        func(a *ownAnswer) { base.ends = base.latest.Add(-time.Second) },
		"units one by one":                   func(a *ownAnswer) { base.ends = time.Time{} },
		"of windows, the shorter one counts": func(a *ownAnswer) { a.window /= 10 },
	} {
		_, base, later = comparison(5, 30)
		base.left = 100
		if change(&later); name[0] == 'o' {
			base.left = 20
			assert.EqualValues(t, 21, base.mayComeBack(&later), name)
			continue
		}
		assert.EqualValues(t, 3, base.mayComeBack(&later), name)
	}
	_, base, later = comparison(5, 30)
	base.left = 0
	base.quota, later.quota, later.came, later.window = math.MaxInt64, math.MaxInt64, base.came.Add(math.MaxInt64/2), 1
	base.latest = base.latest.Add(-time.Hour)
	assert.Equal(t, int64(1<<60+1), base.mayComeBack(&later), "no overflow")
}

// Answers are of the same window if the later one came before the window may end, and both may name the same end. Those
// of a bucket are, unless they are far apart.
func TestAnswersOfWindow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(base, later *ownAnswer)
		want   bool
	}{
		{"same", func(_, _ *ownAnswer) {}, true},
		{"comes at the end", func(base, later *ownAnswer) { later.came = base.ends }, false},
		{"may end at once", func(base, later *ownAnswer) { later.ends, later.latest = base.latest, base.latest.Add(time.Second) }, true},
		{"ends later", func(base, later *ownAnswer) {
			later.ends, later.latest = base.latest.Add(1), base.latest.Add(time.Second)
		}, false},
		{"may end at once, earlier", func(base, later *ownAnswer) { later.ends, later.latest = base.ends.Add(-time.Second), base.ends }, true},
		{"ends earlier", func(base, later *ownAnswer) {
			later.ends, later.latest = base.ends.Add(-time.Second), base.ends.Add(-1)
		}, false},
		{"a bucket now", func(_, later *ownAnswer) { later.ends = time.Time{} }, false},
		{"a bucket before", func(base, _ *ownAnswer) { base.ends = time.Time{} }, false},
		{"a bucket", func(base, later *ownAnswer) { base.ends, later.ends = time.Time{}, time.Time{} }, true},
		{"a bucket long before", func(base, later *ownAnswer) {
			base.ends, later.ends, later.came = time.Time{}, time.Time{}, base.came.Add(ownWindows*base.window)
		}, false},
		{"another key", func(_, later *ownAnswer) { later.changes++ }, false},
	} {
		_, base, later := comparison(5, 30)
		tt.change(&base, &later)
		assert.Equal(t, tt.want, base.isOfWindow(&later), tt.name)
	}
}

// A refusal contradicts that a kind is separate, if that many requests cannot have used what was left.
func TestContradictedByRefusal(t *testing.T) {
	own, base, _ := comparison(50, 50)
	own.base = base
	assert.False(t, own.contradictedBy(base.came), "it is not separate")
	own.separate = true
	assert.True(t, own.contradictedBy(base.came))
	assert.False(t, own.contradictedBy(base.ends), "the window may be over")
	own.kind.departed++
	assert.False(t, own.contradictedBy(base.came), "all may be used")
	own.base.left++
	own.base.ends = time.Time{}
	assert.True(t, own.contradictedBy(base.came), "a bucket")
	own.base.window = 0
	assert.False(t, own.contradictedBy(base.came), "nothing was said")
}

// What the counters of kinds take up is bounded like all that is known of kinds, although kinds that are known
// get theirs later.
func TestBytesOfOwnCounters(t *testing.T) {
	var told toldKinds
	told.most.Store(10 * (toldKindBytes + 1))
	for kind := range kindKey(9) {
		told.meet("s", kind, toldLimit+int64(kind))
	}
	for kind := range kindKey(9) {
		told.note("s", kind, toldLimit+100, false)
		sum := 0
		for of, k := range told.kinds {
			sum += k.bytes(of)
		}
		assert.Equal(t, sum, told.bytes)
		assert.LessOrEqual(t, int64(told.bytes), told.most.Load())
	}
}

// What an answer says: a window from its reset, in whole seconds, or a bucket, if each request has cost a unit of it.
func TestNewOwnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := departure{own: &ownCounter{kind: requestCount{3, 2, 1}, alike: &alikeKinds{count: requestCount{6, 5, 4}, changes: 7}}, at: time.Now()}
		time.Sleep(time.Second)
		now := time.Now()
		for _, tt := range []struct {
			limit        parse.Limit
			policy, want time.Duration
			ends, latest time.Time
		}{
			{parse.Limit{Window: 9 * time.Second, Cost: parse.None}, time.Minute, time.Minute, sent.at.Add(8 * time.Second), now.Add(9 * time.Second)},
			{parse.Limit{Window: 9 * time.Second, Cost: parse.None}, parse.None, 9 * time.Second, sent.at.Add(8 * time.Second), now.Add(9 * time.Second)},
			{parse.Limit{Window: 9 * time.Second, Cost: 1}, time.Minute, time.Minute, sent.at.Add(8 * time.Second), now.Add(9 * time.Second)},
			{parse.Limit{Window: 0, Cost: parse.None}, parse.None, 0, sent.at.Add(-time.Second), now},
			{parse.Limit{Window: parse.None, Cost: parse.None}, time.Minute, 0, time.Time{}, time.Time{}},
			{parse.Limit{Window: parse.None, Full: 9, Cost: 1}, time.Minute, time.Minute, time.Time{}, time.Time{}},
			{parse.Limit{Window: 9 * time.Second, Full: 9, Cost: parse.None}, time.Minute, 0, time.Time{}, time.Time{}},
		} {
			tt.limit.Available = 5
			a := newOwnAnswer(&parse.Reading{Limits: []parse.Limit{tt.limit}, Policies: []parse.Policy{{Quota: 8, Window: tt.policy}}}, sent)
			assert.Equal(t, ownAnswer{
				left: 5, quota: 8, window: tt.want, ends: tt.ends, latest: tt.latest,
				sent: sent, came: now, kind: requestCount{3, 2, 1}, all: requestCount{6, 5, 4}, changes: 7,
			}, a, "%+v", tt.limit)
		}
	})
}

// An answer is compared if it tells one quota, of which the request has cost a unit. Where partition keys are told, a new
// key begins anew.
func TestTellsOne(t *testing.T) {
	said := func() *parse.Reading {
		return &parse.Reading{Limits: []parse.Limit{{Policy: "p", Key: "k", HasKey: true, Cost: parse.None}}, Policies: []parse.Policy{{}}}
	}
	for name, tt := range map[string]struct {
		change  func(got *parse.Reading, own *ownCounter, x *exchange)
		want    bool
		changes int
	}{
		"one":          {func(*parse.Reading, *ownCounter, *exchange) {}, true, 1},
		"another key":  {func(_ *parse.Reading, own *ownCounter, _ *exchange) { own.alike.policy, own.alike.key = "p", "j" }, true, 1},
		"another name": {func(_ *parse.Reading, own *ownCounter, _ *exchange) { own.alike.policy, own.alike.key = "q", "k" }, true, 1},
		"the same key": {func(_ *parse.Reading, own *ownCounter, _ *exchange) { own.alike.policy, own.alike.key = "p", "k" }, true, 0},
		"own already":  {func(_ *parse.Reading, _ *ownCounter, x *exchange) { x.pathKey = pathKeyOfOwn(1) }, true, 1},
		"by path":      {func(_ *parse.Reading, _ *ownCounter, x *exchange) { x.pathKey = "path" }, false, 0},
		"declared": {func(_ *parse.Reading, _ *ownCounter, x *exchange) {
			x.directory.declared.Store(new([]*parse.Declaration))
		}, false, 0},
		"no key":       {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Limits[0].HasKey = false }, false, 0},
		"a limit":      {func(_ *parse.Reading, own *ownCounter, _ *exchange) { own.told = toldLimit }, true, 0},
		"no quota":     {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Policies[0].Quota = parse.None }, false, 0},
		"nothing left": {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Limits[0].Available = parse.None }, false, 0},
		"free":         {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Limits[0].Cost = 0 }, false, 0},
		"dear":         {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Limits[0].Cost = 2 }, false, 0},
		"costs one":    {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Limits[0].Cost = 1 }, true, 1},
		"two policies": {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Policies = make([]parse.Policy, 2) }, false, 0},
		"two limits":   {func(got *parse.Reading, _ *ownCounter, _ *exchange) { got.Limits = append(got.Limits, got.Limits...) }, false, 0},
	} {
		x := &exchange{directory: &urlDirectory{directory: newDirectory(new(quota.Accounts), "https://api.example")}}
		own, got := &ownCounter{told: toldNames, alike: new(alikeKinds)}, said()
		tt.change(got, own, x)
		assert.Equal(t, tt.want, x.tellsOne(got, own), name)
		assert.Equal(t, tt.changes, own.alike.changes, name)
		if tt.changes > 0 {
			assert.Equal(t, "p k", own.alike.policy+" "+own.alike.key, name)
		}
	}
}

// Requests are counted once one has waited. Those without an answer, and those that tell nothing, have ended, too.
func TestCountedOnceOneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, status, err := 3, http.StatusOK, error(nil)
		s := &Shaper{Base: roundTripperFunc(func(*http.Request) (*http.Response, error) {
			left--
			h := http.Header{"X-Ratelimit-Limit": {"9"}, "X-Ratelimit-Remaining": {strconv.Itoa(left)}, "X-Ratelimit-Reset": {"5"}}
			return &http.Response{StatusCode: status, Header: h, Body: http.NoBody}, err
		})}
		send := func(path string) requestCount {
			req, _ := http.NewRequest(http.MethodGet, "https://api.example/"+path, nil)
			resp, _ := s.RoundTrip(req)
			if resp != nil {
				resp.Body.Close()
			}
			told := &s.directories.of(s.accounts(), s.fields(), rawOrigin{"https", "api.example"}).told
			for of, k := range told.kinds {
				if of.kind == pathOfURL("/"+path).key() && k.own != nil {
					return k.own.kind
				}
			}
			return requestCount{}
		}
		send("a")
		send("b")
		assert.Zero(t, send("a"))
		left = 9
		assert.Equal(t, requestCount{1, 1, 1}, send("a"), "it has waited")
		assert.Equal(t, requestCount{1, 1, 1}, send("b"))
		status = http.StatusNotFound
		assert.Equal(t, requestCount{2, 2, 1}, send("b"))
		err = io.ErrUnexpectedEOF
		assert.Equal(t, requestCount{3, 3, 1}, send("b"))
		told := &s.directories.of(s.accounts(), s.fields(), rawOrigin{"https", "api.example"}).told
		for _, k := range told.kinds {
			assert.Equal(t, requestCount{4, 4, 2}, k.own.alike.count)
		}
	})
}

// A bucket that was not used for an hour is compared with what it was after that hour, not before.
func TestCountersOfRoutesAfterPause(t *testing.T) {
	s := &countingServer{quota: 10, window: 2 * time.Second, algo: algoBucket, dialect: "Spring", own: func(time.Duration) bool { return true }, pause: time.Hour}
	own, _ := s.play(t, routeLoad{3, 20, 2 * time.Second, 0, time.Hour + time.Minute, false}, 1)
	assert.Equal(t, 3, own)
}

// Kinds are counted once another of the same scope is told the same: a limit, or names. The counters have that in common.
func TestCountKind(t *testing.T) {
	var told toldKinds
	own := func(scope string, kind kindKey) *ownCounter { return told.kinds[kindOfScope{scope, kind}].own }
	for _, what := range []int64{toldUnknown, toldNothing} {
		told.set(kindOfScope{"s", 1}, toldKind{what: what})
		told.set(kindOfScope{"s", 2}, toldKind{what: what})
		assert.Nil(t, own("s", 2), what)
	}
	for _, what := range []int64{toldNames, toldLimit} {
		told = toldKinds{}
		told.set(kindOfScope{"s", 1}, toldKind{what: what})
		told.set(kindOfScope{"s", 1}, toldKind{what: what})
		told.set(kindOfScope{"other", 2}, toldKind{what: what})
		told.set(kindOfScope{"s", 3}, toldKind{what: what + 9})
		assert.Nil(t, own("s", 1), "no other of the scope")
		told.set(kindOfScope{"s", 4}, toldKind{what: what})
		assert.Nil(t, own("other", 2))
		assert.Empty(t, told.ownPathKey("other", 2))
		assert.Empty(t, told.ownPathKey("s", 4))
		own("s", 4).separate = true
		if what == toldNames {
			assert.Equal(t, pathKeyOfOwn(4), told.ownPathKey("s", 4))
		} else {
			assert.Empty(t, told.ownPathKey("s", 4))
		}
		assert.Nil(t, own("s", 3), "told something else")
		assert.Same(t, own("s", 1).alike, own("s", 4).alike)
		assert.Equal(t, []int64{what, what}, []int64{own("s", 1).told, own("s", 4).told})

		was := own("s", 4)
		told.set(kindOfScope{"s", 4}, told.kinds[kindOfScope{"s", 4}])
		assert.Same(t, was, own("s", 4))
		k := told.kinds[kindOfScope{"s", 4}]
		k.what = toldLimit + 99
		told.set(kindOfScope{"s", 4}, k)
		assert.Nil(t, own("s", 4), "told something else now")
	}
}

// An answer that makes its kind separate is that of the new account, which does not know what is in flight.
func TestAnswerThatSeparates(t *testing.T) {
	for _, what := range []int64{toldLimit + 100, toldNames} {
		one, base, _ := comparison(5, 30)
		one.told, one.base, one.proof.turns = what, base, ownTurns-2
		one.kind.departed += 2 // in flight: the answered one, and another
		two := &ownCounter{told: what, alike: one.alike, proof: proof{apart: true}}
		x := &exchange{directory: &urlDirectory{directory: newDirectory(new(quota.Accounts), "https://api.example")}}
		x.hasKindPath, x.kindPath = true, *pathOfURL("/a")
		x.directory.told.kinds = map[kindOfScope]toldKind{{"", 1}: {what: what, own: one}, {"", 2}: {what: what, own: two}}
		if what == toldNames {
			one.alike.policy, one.alike.key, one.alike.changes, one.base.changes = "p", "k", 1, 1
		}
		answer := func(left int64, cached bool, what int64, policies int) bool {
			x.counted = departure{own: one, at: base.came.Add(time.Millisecond), kind: one.kind, all: one.alike.count}
			x.report.Figures = []quota.Figure{{Policy: "p", Key: "k", Keyed: true, Available: left}}
			l := parse.Limit{Policy: "p", Key: "k", HasKey: true, Available: left, Window: 90 * time.Second, Cost: parse.None}
			return x.countEnd(&parse.Reading{Cached: cached, Limits: []parse.Limit{l}, Policies: []parse.Policy{{Quota: 100, Window: 100 * time.Second}, {}}[:policies]}, what)
		}
		one.kind.departed += 4
		assert.False(t, answer(44, true, what, 1), "from a cache")
		assert.False(t, answer(44, false, toldNothing, 1), "not what the kind is told")
		assert.False(t, answer(44, false, what, 2), "of two quotas")
		assert.False(t, answer(44, false, what, 1), "not yet")
		assert.EqualValues(t, 44, x.report.Figures[0].Available)
		one.base = base
		if what == toldNames {
			one.base.changes = 1
		}
		assert.True(t, answer(44, false, what, 1))
		assert.EqualValues(t, 43, x.report.Figures[0].Available)
		if what == toldNames {
			assert.Equal(t, pathKeyOfOwn(x.kind().key()), x.pathKey)
			assert.Equal(t, "k"+ofPath+x.pathKey, x.report.Figures[0].Key)
		} else {
			assert.Empty(t, x.pathKey)
			assert.Equal(t, "k", x.report.Figures[0].Key)
		}
		one.kind.departed++
		assert.False(t, answer(44, false, what, 1), "it is separate already")
		assert.EqualValues(t, 44, x.report.Figures[0].Available)
	}
}
