package window

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each habit has its words, and is told of alone.
func TestHabits(t *testing.T) {
	var all Habits
	for words, learn := range map[string]func(*Window, *Server){
		"seconds are rounded down":               func(_ *Window, s *Server) { s.RoundsDown = true },
		"windows are longer than advertised":     func(_ *Window, s *Server) { s.Longer = true },
		"Retry-After is shorter than the window": func(_ *Window, s *Server) { s.Hasty = true },
		"units come back one by one": func(w *Window, _ *Server) {
			w.Quota, w.Length = 10, 10*sec
			w.refill.served = steadyTrials
		},
		"others use the quota, too":                              func(w *Window, _ *Server) { w.contention = contention{fall: contentionNeeds, ours: 1} },
		"not enforced: requests are served when nothing is left": func(_ *Window, s *Server) { s.soft.out = 1 },
	} {
		var w Window
		var s Server
		assert.Zero(t, w.Habits(&s))
		learn(&w, &s)
		assert.Equal(t, []string{words}, w.Habits(&s).Words())
		all |= w.Habits(&s)
	}
	assert.Len(t, all.Words(), len(habitWords))
}
