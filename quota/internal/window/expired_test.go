package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A window is over, and left some units. A figure of that window that arrives only now
// bounds what it left, in the one direction: it was said before the window was renewed, so
// a higher one promises nothing (the draft, Section 3.1.2: what comes after the effective
// window is not known).
func TestLateFigureOfExpiredWindow(t *testing.T) {
	for _, how := range []Strategy{Adaptive, Plain} {
		for name, tt := range map[string]struct{ late, want int64 }{
			"lower":  {late: 1, want: 1},
			"none":   {late: 0, want: 0},
			"equal":  {late: 4, want: 4},
			"higher": {late: 90, want: 4},
		} {
			t.Run(name, func(t *testing.T) {
				l := newLedger(how)
				send("a")(l, 0)
				says("a", 5, 10*sec)(l, Instant(40*ms))
				send("b")(l, Instant(9*sec)) // is counted in the window, and answered after it
				end := l.End()
				l.Roll(end)
				assert.Equal(t, Expired, l.State)
				says("b", tt.late, 990*ms)(l, end.Add(time.Millisecond))
				assert.Equal(t, Expired, l.State)
				assert.Equal(t, tt.want, l.available)
				left, known := l.Left(end.Add(2 * sec))
				assert.True(t, known)
				assert.Equal(t, tt.want, left)
			})
		}
	}
}
