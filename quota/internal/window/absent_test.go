package window

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A request that tries whether a quota is still meant departs when the requests of the window before have
// landed: a refusal of one of them would be taken for its own.
func TestAbsentWaitsForTheWindowBefore(t *testing.T) {
	w, s := New(Adaptive), new(Server)
	w.SetPolicy(Requests, 2, 10*sec)
	w.Count(0, 0)
	w.Take(Instant(35*sec), 2)
	over := w.End()
	assert.Equal(t, Instant(45*sec), over)
	w.Roll(over)
	assert.EqualValues(t, 2, w.Unanswered())
	assert.Equal(t, over+Instant(10*ms), w.WhenAbsent(over, &Absent{since: 1}, s))
}
