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
