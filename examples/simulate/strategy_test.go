package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/transport/transporttest"
)

// refusedAfter returns a refusal with a Retry-After.
func refusedAfter(s string) transporttest.Decision {
	return transporttest.Decision{Status: 429, Header: http.Header{"Retry-After": {s}}}
}

// retrying retries after Retry-After or, without it, after a back-off that doubles up to
// a minute, plus a random quarter.
func TestRetrying(t *testing.T) {
	s := &retrying{rnd: source(1, "", "")}
	assert.Equal(t, 7*sec, s.settle(begins, &job{}, refusedAfter("7")))
	for _, says := range []string{"", "0", "soon"} {
		for refused, want := range map[int]time.Duration{0: sec, 1: 2 * sec, 5: 32 * sec, 6: time.Minute, 90: time.Minute} {
			got := s.settle(begins, &job{refused: refused}, refusedAfter(says))
			assert.GreaterOrEqual(t, got, want)
			assert.Less(t, got, want*5/4)
			assert.NotEqual(t, got, s.settle(begins, &job{refused: refused}, refusedAfter(says)), "jitter")
		}
	}
}

// told sends at the lowest rate of all policies, divided by the number of processes.
func TestToldRate(t *testing.T) {
	s := newTold(&row{policies: both(fixed(10, sec), fixed(240, 60*sec)), processes: 2}, nil)
	at := begins
	for range 3 {
		wait, ok := s.admit(at, &job{})
		assert.True(t, ok)
		assert.Zero(t, wait)
		for range 2 {
			wait, ok = s.admit(at, &job{})
			assert.False(t, ok)
			assert.Equal(t, 500*ms, wait)
		}
		at = at.Add(500 * ms)
	}
}

// told limits each user separately if there is a quota per user.
func TestToldUsers(t *testing.T) {
	for _, tt := range []struct {
		policies []transporttest.Policy
		second   bool
	}{{fixed(10, sec), false}, {perUser(fixed(10, sec)), true}} {
		s := newTold(&row{policies: tt.policies}, nil)
		_, ok := s.admit(begins, &job{user: &user{name: "alice"}})
		assert.True(t, ok)
		_, ok = s.admit(begins, &job{user: &user{name: "bob"}})
		assert.Equal(t, tt.second, ok)
	}
}

// With a limit on concurrency, told has as many permits, divided by the number of
// processes.
func TestToldConcurrency(t *testing.T) {
	s := newTold(&row{policies: concurrency(4), processes: 2}, nil)
	for range 2 {
		_, ok := s.admit(begins, &job{})
		assert.True(t, ok)
	}
	wait, ok := s.admit(begins, &job{})
	assert.False(t, ok)
	assert.Zero(t, wait)
	s.settle(begins, &job{}, refusedAfter("1"))
	_, ok = s.admit(begins, &job{})
	assert.True(t, ok)
}

// lookAgain plans an earlier call of advance, but not a later one. The later call that was
// planned before still happens, without effect.
func TestLookAgain(t *testing.T) {
	x := newRun(&row{name: "look", policies: fixed(1, sec), demand: backlog(1, 1)}, contenders()[1], 1)
	l := x.users[0].line
	x.events = nil
	for _, wait := range []time.Duration{5 * sec, 7 * sec, 0, 3 * sec, 3 * sec} {
		l.lookAgain(wait)
	}
	assert.Len(t, x.events, 2)
	assert.Equal(t, begins.Add(3*sec), l.look)
	x.run(func() bool { return !x.now.Before(begins.Add(3 * sec)) })
	assert.Zero(t, l.look)
	l.lookAgain(4 * sec)
	assert.Equal(t, begins.Add(7*sec), l.look)
}

// A burst is the number of requests that arrive in less than 100 ms.
func TestBurst(t *testing.T) {
	l := &loop{now: begins}
	s := newServer(l, &row{policies: fixed(1, sec)}, nil)
	for _, at := range []time.Duration{0, 0, 99 * ms, 100 * ms, 198 * ms, 199 * ms, 300 * ms} {
		l.now = begins.Add(at)
		s.answer("", "", 1)
	}
	assert.Equal(t, 3, s.burst)
}

// Quotas are halved from one time to another.
func TestHalved(t *testing.T) {
	l := &loop{now: begins}
	s := newServer(l, &row{policies: fixed(8, sec), halved: [2]time.Duration{2 * sec, 3 * sec}}, nil)
	var got []string
	for i := range 4 {
		l.after(time.Duration(i)*sec, func() {
			d, _ := s.answer("", "", 1)
			got = append(got, d.Header.Get("RateLimit-Policy"))
		})
	}
	l.run(func() bool { return false })
	assert.Equal(t, []string{`"api";q=8;w=1`, `"api";q=8;w=1`, `"api";q=4;w=1`, `"api";q=8;w=1`}, got)
	assert.EqualValues(t, 8, s.row.policies[0].Quota)
}

// Each misstatement returns the wrong values that its comment describes.
func TestMisstatements(t *testing.T) {
	l := &loop{now: begins}
	rnd := source(1, "", "")
	nothing := 0
	m := sometimesNothing(l, rnd)
	for range 10_000 {
		if a, w := m("", 5, sec); a == 0 {
			nothing++
		} else {
			assert.EqualValues(t, 5, a)
			assert.Equal(t, sec, w)
		}
	}
	assert.InDelta(t, 500, nothing, 100)

	a, w := alwaysNothing(l, rnd)("", 5, sec)
	assert.Zero(t, a)
	assert.Equal(t, sec, w)

	a, w = headroom(l, rnd)("", 0, 3*sec)
	assert.EqualValues(t, 1, a)
	assert.Equal(t, sec, w)

	lag := replicas(l, rnd)
	figures := make(map[int64]int)
	for range 30 {
		a, w = lag("", 100, sec)
		figures[a]++
		assert.Equal(t, sec, w)
	}
	assert.Equal(t, 3, figures[100], "each replica reads the counter once")
	assert.LessOrEqual(t, figures[99], 3)
	l.now = begins.Add(sec / 2)
	clear(figures)
	for range 30 {
		a, _ = lag("", 70, sec)
		figures[a]++
	}
	assert.Equal(t, 3, figures[70])
}
