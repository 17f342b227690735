package window

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Before the first answer no more is in flight than the policy, or what others were told,
// allows.
func TestPresume(t *testing.T) {
	for name, tt := range map[string]struct {
		unit   Unit
		quota  int64
		server Server
		most   int64
		first  int64 // units of the first request
		bound  int64 // of those of one unit that depart after it, 20 at most
	}{
		"a quota":              {quota: 5, server: Server{Most: 90}, most: 10, first: 1, bound: 4},
		"no quota":             {quota: None, server: Server{Most: 12}, most: 10, first: 1, bound: 11},
		"no more was told":     {quota: None, server: Server{Most: 3}, most: 10, first: 1, bound: 9},
		"nothing is known":     {quota: None, first: 1, bound: 20},
		"a quota of none":      {quota: 0, first: 1, bound: 20},
		"the first is dear":    {quota: 5, first: 50, bound: 0},
		"tokens":               {unit: Other, quota: 5, first: 2, bound: 3},
		"tokens, no quota":     {unit: Other, quota: None, server: Server{Most: 5}, most: 10, first: 2, bound: 3},
		"several at a time":    {unit: Concurrent, quota: None, most: 5, first: 1, bound: 20},
		"bytes, of any length": {unit: Bytes, quota: 1000, first: 990, bound: 10},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Adaptive)
			w.SetPolicy(tt.unit, tt.quota, 0)
			w.Presume(0, &tt.server, w.Quota, tt.most)
			units, n := tt.first, int64(-1)
			for n < 20 {
				again, why := w.Ready(0, units)
				if again > 0 {
					assert.Equal(t, Unheard, why)
					assert.Equal(t, Instant(sec), again)
					break
				}
				w.Take(0, units)
				units, n = 1, n+1
			}
			assert.Equal(t, tt.bound, n)
			again, _ := w.Ready(Instant(sec), 1)
			assert.Equal(t, Instant(sec), again, "it lasts a second")
		})
	}
}

// The bound is that of a window of which nothing else is known, and ends with all that
// becomes known.
func TestPresumeEnds(t *testing.T) {
	var s Server
	unheard := func() *Window {
		w := New(Adaptive)
		w.SetPolicy(Requests, 2, 0)
		w.Presume(0, &s, w.Quota, 2)
		return &w
	}
	c := Charge{Units: 1, Mark: 1}
	for name, ends := range map[string]func(*Window){
		"an answer":      func(w *Window) { w.Heard() },
		"a figure":       func(w *Window) { w.Report(2, 1, Figure{Available: 9, Window: mins}, false, &s) },
		"a longer quota": func(w *Window) { w.SetPolicy(Requests, 9, 0) },
		"a window":       func(w *Window) { w.SetPolicy(Requests, 2, mins); w.Count(1, 0) },
		"a refusal":      func(w *Window) { w.StartBackOff(2, 1, 0) },
		"a pause":        func(w *Window) { w.Pause(2, mins, s) },
		"saved":          func(w *Window) { *w = savedAndRestored(w) },
	} {
		w := unheard()
		w.Take(1, 1)
		assert.True(t, w.unheard(), name)
		assert.False(t, w.Blank(), name)
		assert.False(t, w.Open(2), name)
		ends(w)
		assert.False(t, w.unheard(), name)
		w.Presume(0, &s, w.Quota, 2)
		if name != "saved" {
			assert.False(t, w.unheard(), "%s: it is not new", name)
		}
	}

	w := unheard()
	w.Take(1, 1)
	w.Lost(2, c)
	w.Take(3, 1)
	again, _ := w.Ready(3, 1)
	assert.Equal(t, Instant(sec+3), again, "what was lost may have cost a unit; another flight has its own second")
}

func savedAndRestored(w *Window) Window {
	to := New(Adaptive)
	to.Restore(2, w.Save(2))
	return to
}
