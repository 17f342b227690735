package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Any Retry-After above 0 says when a window is over.
func TestInferredIsOverWithRetryAfter(t *testing.T) {
	const sent = Instant(5 * time.Second)
	for retryAfter, until := range map[time.Duration]Instant{-1: Never, 0: Never, 1: sent + 1, sec: sent.Add(sec)} {
		w, g := New(Adaptive), NewInferred(0)
		g.Refused(&w, sent.Add(ms), sent, retryAfter)
		assert.Equal(t, until, g.until, retryAfter)
		assert.Equal(t, max(retryAfter, 0), g.longest, retryAfter)
	}
}

// What the first window shows is taken over if it was used up soon, several requests were
// refused, and its end is known.
func TestInferredFromTheFirstWindow(t *testing.T) {
	for _, tt := range []struct {
		name       string
		retryAfter time.Duration
		again      Instant // departure of the first request that is served after the refusals
		served     int64   // before the first of them
		refused    int
		stays      int64 // how many are still in flight after them
		usedUp     Instant
		want       int64
	}{
		{"a Retry-After", 10 * sec, Instant(10 * sec), 20, 3, 0, Instant(ms), 20},
		{"one back-off", 0, Instant(1200 * ms), 20, 3, 0, Instant(ms), 20},
		{"several back-offs", 0, Instant(3 * sec), 20, 3, 0, Instant(ms), None},
		{"used up slowly", 10 * sec, Instant(14 * sec), 20, 3, 0, Instant(4 * sec), None},
		{"used up in a fifth of it", 8 * sec, Instant(10 * sec), 20, 3, 0, Instant(2 * sec), 20},
		{"one refusal", 10 * sec, Instant(10 * sec), 20, 1, 0, Instant(ms), None},
		{"a bound in flight", 10 * sec, Instant(10 * sec), 20, 3, 2, Instant(ms), None},
		{"few", 10 * sec, Instant(10 * sec), 3, 3, 0, Instant(ms), None},
	} {
		const began = Instant(ms)
		w := New(Adaptive)
		take := func(at Instant) Charge { return Charge{Units: 1, Sent: at, Mark: w.Take(at, 1)} }
		for range tt.served {
			w.Silent(began+2, take(began), false, new(Server))
		}
		sent := began + tt.usedUp
		for range tt.stays {
			take(sent)
		}
		var out []Charge
		for range tt.refused {
			out = append(out, take(sent))
		}
		var g *Inferred
		for i, c := range out {
			arrived := sent + Instant(i) + 1
			if w.Silent(arrived, c, true, new(Server)); tt.retryAfter > 0 {
				w.Pause(arrived, tt.retryAfter, Server{})
			} else {
				w.StartBackOff(arrived, sent, 0)
			}
			if g != nil {
				g.Refused(&w, arrived, sent, tt.retryAfter)
				continue
			}
			g = NewInferred(tt.retryAfter)
			g.Began(&w, began, arrived, sent)
		}
		again := began + tt.again + Instant(20*ms)
		c := take(again)
		w.Silent(again+2, c, false, new(Server))
		g.Served(&w, again+2, again)
		assert.Equal(t, tt.want, w.Quota, tt.name)
		if tt.want > 0 {
			assert.Equal(t, Counting, w.State, tt.name)
			length := sec // of a back-off; what is beyond it is its jitter
			if tt.retryAfter > 0 {
				length = time.Duration(tt.usedUp) + tt.retryAfter
			}
			assert.Equal(t, length, w.Length, tt.name)
		}
	}
}

// If requests stay in flight after the first refusals, the second window is what is counted. It begins with
// a slow start, so it is no longer than the first one was, if as much was served in both.
func TestInferredIsNoLongerThanTheFirstWindow(t *testing.T) {
	for served, want := range map[int]time.Duration{
		19: 10*sec + ms, 20: 10*sec + ms, 21: 10*sec + ms,
		16: 11 * sec, 24: 11 * sec, // another quota
	} {
		const began = Instant(ms)
		w := New(Adaptive)
		take := func(at Instant) Charge { return Charge{Units: 1, Sent: at, Mark: w.Take(at, 1)} }
		for range 18 {
			w.Silent(began+2, take(began), false, new(Server))
		}
		sent := began + Instant(ms)
		out := []Charge{take(sent), take(sent)}
		var g *Inferred
		for i := range 3 {
			c, arrived := take(sent), sent+Instant(i)+1
			w.Silent(arrived, c, true, new(Server))
			w.Pause(arrived, 10*sec, Server{})
			if g != nil {
				g.Refused(&w, arrived, sent, 10*sec)
				continue
			}
			g = NewInferred(10 * sec)
			g.Began(&w, began, arrived, sent)
		}
		for _, c := range out {
			w.Silent(sent+10, c, false, new(Server))
			g.Served(&w, sent+10, sent)
		}
		again := sent + Instant(10*sec+20*ms)
		for i := range Instant(served) {
			at := again + i*Instant(ms)
			w.Silent(at+1, take(at), false, new(Server))
			g.Served(&w, at+1, at)
		}
		assert.EqualValues(t, None, w.Quota, served)
		sent = again + Instant(sec)
		for range 2 {
			w.Silent(sent+1, take(sent), true, new(Server))
			w.Pause(sent+1, 10*sec, Server{})
			g.Refused(&w, sent+1, sent, 10*sec)
		}
		again = sent + Instant(10*sec+20*ms)
		w.Silent(again+1, take(again), false, new(Server))
		g.Served(&w, again+1, again)
		assert.EqualValues(t, served, w.Quota)
		assert.Equal(t, want, w.Length, served)
	}
}

// Where a refusal shows no quota, the slow start after it begins with half of what was in flight then, but with no
// more than half of what was served since the refusal before.
func TestSlowStartBeginsWithHalf(t *testing.T) {
	for _, tt := range []struct {
		served, out int
		want        uint8
	}{{40, 20, 10}, {40, 21, 10}, {40, 22, 11}, {18, 20, 9}, {17, 20, 8}, {5, 20, 2}, {40, 3, 2}, {400, 300, 60}} {
		w, g := New(Adaptive), NewInferred(sec)
		take := func(at Instant) Charge { return Charge{Units: 1, Sent: at, Mark: w.Take(at, 1)} }
		serve := func(at Instant) {
			w.Silent(at+1, take(at), false, new(Server))
			g.Served(&w, at+1, at)
		}
		now := Instant(sec)
		w.Silent(now, take(now-1), true, new(Server))
		w.Pause(now, sec, Server{})
		now = now.Add(sec)
		serve(now)
		assert.EqualValues(t, 2, w.slow, "after the first refusal nothing is known")
		for range tt.served - 1 {
			now = now.Add(3 * sec / time.Duration(tt.served)) // so slowly that it is no quota that was used up
			serve(now)
		}
		var out []Charge
		for range tt.out {
			out = append(out, take(now))
		}
		for i, c := range out {
			w.Silent(now+Instant(i)+1, c, true, new(Server))
			w.Pause(now+Instant(i)+1, sec, Server{})
			g.Refused(&w, now+Instant(i)+1, now, sec)
		}
		serve(now.Add(2 * sec))
		assert.Equal(t, tt.want, w.slow, tt)
	}
}

// What was refused, but not for the quota, was spent: else a window in which some were would never seem used up, and more be tried.
func TestSpentThoughRefused(t *testing.T) {
	for spent, want := range map[int]int64{2: 4, 3: 5} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 4, sec)
		w.Count(1, 1)
		g := Inferred{inferredWindow: inferredWindow{opened: 1, served: 1, until: Never, more: 1}}
		for range cleanWindows {
			g.Spent(0) // it departed before
			for range spent {
				g.Spent(w.due)
			}
			g.next(&w)
		}
		assert.Equal(t, want, w.Quota)
		g.refused = true
		before := g.served
		g.Spent(w.due)
		assert.Equal(t, before, g.served, "after the window")
	}
}
