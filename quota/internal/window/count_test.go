package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// If windows of the policy become shorter, the present one of our own count ends so long after it began. If they become
// longer, it ends when it would have: a longer one may have begun since.
func TestCountOfAChangedPolicy(t *testing.T) {
	const from = Instant(mins)
	for _, tt := range []struct {
		name   string
		begun  bool
		quota  int64
		length time.Duration
		end    Instant
		left   int64 // a minute after the beginning
	}{
		{name: "the same", begun: true, quota: 300, length: 10 * mins, end: from.Add(10 * mins), left: 299},
		{name: "shorter", begun: true, quota: 50, length: 2 * mins, end: from.Add(2 * mins), left: 49},
		{name: "over", begun: true, quota: 50, length: 10 * sec, end: from.Add(10 * sec), left: 50},
		{name: "longer", begun: true, quota: 900, length: 30 * mins, end: from.Add(10 * mins), left: 899},
		{name: "of another quota only", begun: true, quota: 200, length: 10 * mins, end: from.Add(10 * mins), left: 199},
		{name: "not begun", quota: 50, length: 10 * sec, end: Never, left: 50},
	} {
		w := New(Adaptive)
		w.SetPolicy(Requests, 300, 10*mins)
		spent := int64(0)
		if tt.begun {
			spent = 1
		}
		w.Count(from, spent)
		w.SetPolicy(Requests, tt.quota, tt.length)
		assert.Equal(t, tt.end, w.end, tt.name)
		left, known := w.Left(from.Add(mins))
		assert.True(t, known, tt.name)
		assert.Equal(t, tt.left, left, tt.name)
	}
}

// The guard of such a window stays.
func TestGuardOfAChangedPolicy(t *testing.T) {
	const from = Instant(mins)
	w := New(Adaptive)
	w.SetPolicy(Requests, 300, 10*mins)
	w.Count(from, 1)
	w.Timed(from.Add(100*ms), from)
	guard := time.Duration(w.end - from.Add(10*mins))
	assert.Positive(t, guard)
	w.SetPolicy(Requests, 50, 10*sec)
	assert.Equal(t, from.Add(10*sec+guard), w.end)
}
