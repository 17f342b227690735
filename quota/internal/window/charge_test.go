package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Where Pass takes anything, it does what Take does; else it does nothing.
func TestPassIsTake(t *testing.T) {
	const second = Instant(time.Second)
	var s Server
	for name, tt := range map[string]struct {
		unit    Unit
		prepare func(w *Window)
		ok      bool
	}{
		"new":               {ok: true},
		"used":              {prepare: func(w *Window) { w.Take(1, 1) }, ok: true},
		"of bytes":          {unit: Bytes, ok: true},
		"its answer":        {prepare: func(w *Window) { w.Silent(5, Charge{Units: 1, Mark: w.Take(1, 1)}, false, new(Server)) }, ok: true},
		"a large quota":     {prepare: func(w *Window) { w.SetPolicy(Requests, 1<<40, 0) }, ok: true},
		"held":              {prepare: func(w *Window) { w.Pause(1, time.Minute, s) }},
		"concurrent":        {unit: Concurrent},
		"not heard of":      {prepare: func(w *Window) { w.Presume(0, &s, 3, 10) }},
		"counted":           {prepare: func(w *Window) { w.SetPolicy(Requests, 10, time.Minute); w.Count(1, 1) }},
		"reported":          {prepare: func(w *Window) { w.Report(5, 1, Figure{Available: 3, Window: time.Minute}, false, &s) }},
		"a slow start":      {prepare: func(w *Window) { w.StartBackOff(5, 1, 0) }},
		"with a log":        {prepare: func(w *Window) { w.ownRare().spent = new(spent) }},
		"with a look to do": {prepare: func(w *Window) { w.ownRare().look = halfway }},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(Adaptive)
			w.Unit = tt.unit
			if tt.prepare != nil {
				tt.prepare(&w)
			}
			took, before := w.Copy(), w.Copy()
			mark, ok := w.Pass(second, 3)
			assert.Equal(t, tt.ok, ok)
			if !ok {
				assert.Equal(t, before, w)
				return
			}
			assert.Equal(t, took.Take(second, 3), mark)
			assert.Equal(t, took, w)
		})
	}
}

// What a request of the window before turns out to cost counts in this one, until it has landed.
func TestCorrectOfTheWindowBefore(t *testing.T) {
	var s Server
	w := New(Adaptive)
	w.Report(2, 1, Figure{Available: 10, Window: time.Second}, false, &s)
	c := Charge{Sent: 3, Units: 1, Mark: w.Take(3, 1)}
	over := w.End()
	w.Roll(over)
	assert.Equal(t, int64(5), w.Correct(c, 5).Units)
	assert.EqualValues(t, 5, w.Unanswered())
	left, _ := w.Left(over)
	assert.EqualValues(t, 4, left)
	left, _ = w.Left(w.BeforeLands())
	assert.EqualValues(t, 9, left)
}

// Marks count what has departed: a mark is known of a charge after which so much has.
func TestMarkBefore(t *testing.T) {
	w := New(Adaptive)
	var marks []uint32
	for range 4 {
		marks = append(marks, w.Take(0, 1))
	}
	for i, mark := range marks {
		assert.Equal(t, int64(3-i), w.After(mark))
		assert.Equal(t, mark, w.MarkBefore(int64(3-i)))
	}
}
