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
		"its answer":        {prepare: func(w *Window) { w.Silent(5, Charge{Units: 1, Mark: w.Take(1, 1)}, false) }, ok: true},
		"a large quota":     {prepare: func(w *Window) { w.SetPolicy(Requests, 1<<40, 0) }, ok: true},
		"held":              {prepare: func(w *Window) { w.Pause(1, time.Minute, s) }},
		"concurrent":        {unit: Concurrent},
		"not heard of":      {prepare: func(w *Window) { w.Presume(&s, 3, 10) }},
		"counted":           {prepare: func(w *Window) { w.SetPolicy(Requests, 10, time.Minute); w.Count(1, 1) }},
		"reported":          {prepare: func(w *Window) { w.Report(5, 1, Figure{Available: 3, Window: time.Minute}, false, &s) }},
		"a slow start":      {prepare: func(w *Window) { w.StartBackOff(5, 1, 0) }},
		"with a log":        {prepare: func(w *Window) { w.ownRare().spent = new(spent) }},
		"with a look to do": {prepare: func(w *Window) { w.ownRare().look = lookPlanned }},
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
