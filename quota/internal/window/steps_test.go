package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A counter is a server of one quota: how many units are there at an instant, and when that
// changes; and when n will be there.
type counter interface {
	left(t Instant) int64
	next(t Instant) time.Duration
	when(t Instant, n int64) time.Duration
	spend(t Instant, n int64)
}

// drips is a bucket that is full at first.
type drips struct {
	holds int64
	unit  time.Duration
	full  Instant
}

func (b *drips) left(t Instant) int64 {
	missing := int64((b.full.Since(t) + b.unit - 1) / b.unit)
	return b.holds - missing
}

func (b *drips) next(t Instant) time.Duration { return b.when(t, b.left(t)+1) }

func (b *drips) when(t Instant, n int64) time.Duration {
	return b.full.Since(t) - time.Duration(b.holds-n)*b.unit
}

func (b *drips) spend(t Instant, n int64) {
	b.full = max(b.full, t).Add(time.Duration(n) * b.unit)
}

// tells is a bucket whose server says when it will be full.
type tells struct{ drips }

func (b *tells) next(t Instant) time.Duration { return b.when(t, b.holds) }

// logs is a sliding log.
type logs struct {
	quota  int64
	length time.Duration
	at     []Instant // of each unit
}

func (l *logs) left(t Instant) int64 {
	for len(l.at) > 0 && t >= l.at[0].Add(l.length) {
		l.at = l.at[1:]
	}
	return l.quota - int64(len(l.at))
}

func (l *logs) next(t Instant) time.Duration { return l.at[0].Add(l.length).Since(t) }

func (l *logs) when(t Instant, n int64) time.Duration {
	return l.at[n-l.left(t)-1].Add(l.length).Since(t)
}

func (l *logs) spend(t Instant, n int64) {
	for range n {
		l.at = append(l.at, t)
	}
}

// works plays requests that cost so much, one after the other, with a round trip of 50 ms. Times are told
// in whole seconds, rounded up. It returns how often they were refused and when the last was served.
func (l *ledger) works(c counter, retryAfter bool, costs []int64, requests int) (refused int, over Instant) {
	seconds := func(d time.Duration) time.Duration { return (d + sec - 1) / sec * sec }
	t := Instant(0)
	for i := 0; i < requests; {
		cost := costs[i%len(costs)]
		if again, _ := l.Ready(t, cost); again > t {
			t = again
			continue
		}
		charge := Charge{Sent: t, Units: cost, Mark: l.Take(t, cost)}
		t += Instant(25 * ms)
		no, wait := c.left(t) < cost, time.Duration(0)
		if no {
			refused++
			wait = seconds(c.when(t, cost))
		} else {
			c.spend(t, cost)
			i++
		}
		f := Figure{Available: c.left(t), Window: seconds(c.next(t)), Charge: charge}
		if no && retryAfter {
			f.Again = wait
		}
		t += Instant(25 * ms)
		l.Answered(charge, no)
		l.Report(t, charge.Sent, f, no, &l.server)
		if no && retryAfter {
			l.Pause(t, wait, l.server)
		}
	}
	return refused, t
}

// Requests that cost more than a unit wait until a bucket has so many, although its server says
// only when the next one is there. One refusal shows that, or a few where no policy tells how long a
// unit takes, or the server how long the request has to wait.
func TestSteps(t *testing.T) {
	for name, tt := range map[string]struct {
		quota, holds int64
		window       time.Duration
		costs        []int64
		untold       bool // the policy does not say the window
		bare         bool // no Retry-After
		refused      int
	}{
		"all cost 10":           {quota: 60, holds: 60, window: mins, costs: []int64{10}, refused: 1},
		"all cost all":          {quota: 60, holds: 60, window: mins, costs: []int64{60}, refused: 1},
		"of a small bucket":     {quota: 60, holds: 30, window: mins, costs: []int64{10}, refused: 1},
		"all cost 2":            {quota: 60, holds: 60, window: mins, costs: []int64{2}, refused: 4},
		"costs differ":          {quota: 60, holds: 60, window: mins, costs: []int64{1, 10, 3, 7}, refused: 2},
		"in an hour":            {quota: 60, holds: 60, window: time.Hour, costs: []int64{10}, refused: 1},
		"in an hour, one third": {quota: 60, holds: 60, window: time.Hour, costs: []int64{20}, refused: 1},
		"in ten seconds":        {quota: 100, holds: 100, window: 10 * sec, costs: []int64{30}, refused: 1},
		"no Retry-After":        {quota: 100, holds: 100, window: 10 * sec, costs: []int64{30}, bare: true, refused: 1},
		"untold":                {quota: 60, holds: 60, window: mins, costs: []int64{10}, untold: true, refused: 1},
		"untold, all cost 4":    {quota: 60, holds: 60, window: mins, costs: []int64{4}, untold: true, refused: 4},
		"untold, in an hour":    {quota: 60, holds: 60, window: time.Hour, costs: []int64{10}, untold: true, refused: 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Adaptive)
			if l.SetPolicy(Requests, tt.quota, tt.window); tt.untold {
				l.SetPolicy(Requests, tt.quota, 0)
			}
			unit, units := tt.window/time.Duration(tt.quota), int64(0)
			for i := range 200 {
				units += tt.costs[i%len(tt.costs)]
			}
			refused, over := l.works(&drips{holds: tt.holds, unit: unit}, !tt.bare, tt.costs, 200)
			assert.Equal(t, tt.refused, refused)
			assert.Less(t, over, Instant(unit)*Instant(units-tt.holds)*103/100)
			assert.True(t, l.server.steps.is)
		})
	}
}

// Where the server says when the bucket will be full, the figures alone show how much it holds, and what
// was the end of a window before is not taken for what other clients have spent.
func TestStepsUntilFull(t *testing.T) {
	for _, holds := range []int64{60, 30} {
		for _, costs := range [][]int64{{10}, {1, 10, 3, 7}, {2, 2, 2, 15}} {
			l, units := newLedger(Adaptive), int64(0)
			l.SetPolicy(Requests, 60, mins)
			for i := range 200 {
				units += costs[i%len(costs)]
			}
			refused, over := l.works(&tells{drips{holds: holds, unit: sec}}, true, costs, 200)
			assert.Zero(t, refused, "%d, %v", holds, costs)
			assert.Less(t, over, Instant(sec)*Instant(units-holds)*103/100, "%d, %v", holds, costs)
			assert.True(t, l.IsBucket())

			l = newLedger(Adaptive)
			l.SetPolicy(Requests, 60, mins)
			l.works(&tells{drips{holds: holds, unit: sec}}, true, costs, 10)
			ours, fall := l.Contention()
			assert.True(t, l.IsBucket())
			assert.Less(t, fall, ours+1, "%d, %v", holds, costs)
		}
	}
}

// taken is a bucket of which another client takes one unit as often as that, as far as there is one.
type taken struct {
	drips
	every time.Duration
	last  Instant
}

func (b *taken) left(t Instant) int64 {
	for b.last.Add(b.every) <= t {
		if b.last = b.last.Add(b.every); b.drips.left(b.last) > 0 {
			b.spend(b.last, 1)
		}
	}
	return b.drips.left(t)
}

// Where other clients use such a bucket, a request departs when what it needs would be there without them. What
// they take shows neither a slower bucket nor none, so all that they leave is used.
func TestStepsBesideOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		untold      bool // the policy does not say the window
		unit, every time.Duration
		cost        int64
		refused     int
	}{
		"a tenth":              {unit: sec, every: 10 * sec, cost: 10, refused: 10},
		"a half":               {unit: sec, every: 2 * sec, cost: 10, refused: 175},
		"a half, all cost all": {unit: sec, every: 2 * sec, cost: 60, refused: 307},
		"untold, a tenth":      {untold: true, unit: sec, every: 10 * sec, cost: 10, refused: 1},
		"untold, a half":       {untold: true, unit: sec, every: 2 * sec, cost: 10, refused: 80},
		"untold, in an hour":   {untold: true, unit: mins, every: 10 * mins, cost: 60, refused: 75},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Adaptive)
			if l.SetPolicy(Requests, 60, 60*tt.unit); tt.untold {
				l.SetPolicy(Requests, 60, 0)
			}
			refused, over := l.works(&taken{drips: drips{holds: 60, unit: tt.unit}, every: tt.every}, true, []int64{tt.cost}, 50)
			assert.Equal(t, tt.refused, refused)
			left := 1/float64(tt.unit) - 1/float64(tt.every)
			assert.LessOrEqual(t, float64(over)*left, float64(50*tt.cost-60))
			assert.True(t, l.server.steps.is)
			assert.True(t, l.unshared())
		})
	}
}

// A log of requests with several costs is no bucket, nor is a window that is told too short by a second.
func TestStepsOfALog(t *testing.T) {
	for _, untold := range []bool{false, true} {
		l := newLedger(Adaptive)
		if l.SetPolicy(Requests, 60, mins); untold {
			l.SetPolicy(Requests, 60, 0)
		}
		refused, _ := l.works(&logs{quota: 60, length: mins}, true, []int64{1, 10, 3, 7, 1, 1}, 200)
		assert.False(t, l.server.steps.is, untold)
		assert.Positive(t, refused, "it does not show how units come back")
	}
}

// A bucket that turns out to be none is given up: by a window that is longer than a unit takes, or by
// refusals of requests for which there should be enough.
func TestStepsGivenUp(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 60, mins)
	l.works(&drips{holds: 60, unit: sec}, true, []int64{10}, 10)
	assert.True(t, l.IsBucket())
	s := l.server
	l.server.steps.skip = 0
	w := l.Copy()
	at := w.WhenThere(10)
	charge := Charge{Sent: at, Units: 10, Mark: w.Take(at, 10)}
	w.Answered(charge, false)
	w.Report(at+Instant(ms), at, Figure{Available: 0, Window: 2*sec + 1, Charge: charge}, false, &s)
	assert.False(t, w.IsBucket(), "the next unit is there in a second")
	assert.EqualValues(t, 2, s.steps.skip)
	assert.False(t, w.rare.steps())

	for i, refused := range []bool{true, true, false, true, true, true} { // three in a row
		assert.True(t, l.IsBucket(), i)
		at = max(at, l.WhenThere(10)) + Instant(mins)
		l.Roll(at)
		charge = Charge{Sent: at, Units: 10, Mark: l.Take(at, 10)}
		l.Answered(charge, refused)
		l.Report(at+Instant(ms), at, Figure{Available: 9, Window: sec, Charge: charge}, refused, &l.server)
	}
	assert.False(t, l.IsBucket())
	assert.EqualValues(t, 2, l.server.steps.skip)
}

// A refusal whose Retry-After agrees with the policy, to a second and a unit, says nothing of a bucket. Where no
// policy says how long a unit takes, that becomes as short as a Retry-After says at once, and longer in small steps.
func TestStepsRefused(t *testing.T) {
	for _, tt := range []struct {
		length, most, again time.Duration
		left                int64
		refused             uint8
		want                time.Duration // that a unit takes then
	}{
		{length: mins, again: 11 * sec},
		{length: mins, again: 8 * sec},
		{length: mins, again: 11*sec + 10, refused: 1},
		{length: mins, again: 8*sec - 10, refused: 1},
		{length: mins, refused: 1},
		{length: time.Hour, left: 8, again: 58 * sec, refused: 1},
		{length: time.Hour, left: 8, again: 59 * sec},
		{length: time.Hour, left: 9, again: sec},
		{most: sec, again: 11 * sec, refused: 1, want: sec},
		{most: sec, again: 8 * sec, refused: 1, want: sec},
		{most: sec, again: 7*sec + 100*ms, refused: 1, want: 900 * ms},
		{most: 32 * sec, again: time.Hour, refused: 1, want: 33 * sec},
		{most: sec, refused: 1, want: sec},
	} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 60, tt.length)
		g := steps{is: true, most: tt.most}
		g.observeRefused(&l.Window, tt.left, &Figure{Again: tt.again, Charge: Charge{Units: 10}})
		assert.Equal(t, steps{is: true, most: tt.want, refused: tt.refused}, g, tt)
	}
}

// A window that other clients have used looks like a bucket to a request that comes late. If no policy says how
// long it is, only a Retry-After that is longer than it shows a bucket.
func TestStepsOfAWindow(t *testing.T) {
	for again, want := range map[time.Duration]bool{0: false, 5 * sec: false, 6 * sec: true} {
		l := newLedger(Adaptive)
		l.SetPolicy(Requests, 10, 0)
		report := func(at Instant, left int64, again time.Duration, refused bool) {
			l.Roll(at)
			charge := Charge{Sent: at, Units: 10, Mark: l.Take(at, 10)}
			l.Answered(charge, refused)
			l.Report(at+Instant(ms), at, Figure{Available: left, Window: 5 * sec, Again: again, Charge: charge}, refused, &l.server)
		}
		report(0, 0, 0, false)
		l.contention.ours, l.contention.fall = 20, 40
		report(Instant(40*sec), 9, again, true)
		assert.Equal(t, want, l.server.steps.is, again)
		assert.Equal(t, want, l.unshared(), "what others seemed to spend did not come back")
	}
}

// How long a unit takes is told by how many have come, and by the second to which others are rounded.
func TestUnitIn(t *testing.T) {
	for _, tt := range []struct {
		d, by       time.Duration
		came        int64
		least, most time.Duration
	}{
		{10 * sec, 0, 9, sec, 1250 * ms},
		{10 * sec, sec, 9, 900 * ms, 1375 * ms},
		{10 * sec, 0, 1, 5 * sec, MaxSavedTime},
		{sec, 2 * sec, 0, 0, MaxSavedTime},
		{sec, 0, -1, 0, -1},
	} {
		least, most := unitIn(tt.d, tt.by, tt.came)
		assert.Equal(t, tt.least, least, tt)
		assert.Equal(t, tt.most, most, tt)
	}
}

// What a figure says is there when it arrives, however quickly it does.
func TestStepsAtOnce(t *testing.T) {
	l := newLedger(Adaptive)
	l.SetPolicy(Requests, 60, mins)
	l.works(&drips{holds: 60, unit: sec}, true, []int64{10}, 10)
	at := l.WhenThere(60)
	charge := Charge{Sent: at, Units: 10, Mark: l.Take(at, 10)}
	l.Answered(charge, false)
	l.Report(at, at, Figure{Available: 50, Window: sec, Charge: charge}, false, &l.server)
	left, _ := l.Left(at)
	assert.EqualValues(t, 50, left)
}
