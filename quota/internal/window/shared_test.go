package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A client that has lost touch with the others takes its part of a window. Of one that is
// over, whenever that was noticed, it does not take for its own what was left.
func TestContend(t *testing.T) {
	const end = Instant(10 * time.Second)
	for name, tt := range map[string]struct {
		looks, alone Instant
		goes         int
	}{
		"in the window, two fifths of its part": {0, 1, 4},
		"after the window, one that asks":       {0, end, 1},
		"nor more if the end was noticed":       {end, end + 1, 1},
	} {
		l := newLedger(Together)
		l.Learn(0, 40, end)
		l.Roll(tt.looks)
		l.Contend(tt.alone, 4)
		l.Strategy = Adaptive
		goes := 0
		for again, _ := l.Ready(tt.alone, 1); again == tt.alone; again, _ = l.Ready(tt.alone, 1) {
			l.Take(tt.alone, 1)
			goes++
		}
		assert.Equal(t, tt.goes, goes, name)
	}
}
