package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// By how much the figures fall is what requests have cost, also those that were charged
// nothing: what is learned of them would stay nothing.
func TestFallIsTheCost(t *testing.T) {
	for name, tt := range map[string]struct {
		first, second, of int64 // units of requests that depart one after the other, and the cost of the second
	}{
		"as much as the other":  {1, 1, 10},
		"three times as much":   {1, 3, 15},
		"charged nothing, both": {0, 0, 10},
		"charged nothing":       {1, 0, 10},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(Adaptive)
			l.SetPolicy(Other, 1000, time.Minute)
			told := func(t Instant, name string, avail int64) (cost int64) {
				c := l.land(name)
				l.Answered(c, false)
				return l.Report(t, c.Sent, Figure{Available: avail, Window: time.Minute, Charge: c}, false, &l.server)
			}
			send("before")(l, 0)
			told(Instant(ms), "before", 900)
			sendN("first", tt.first)(l, Instant(2*ms))
			sendN("second", tt.second)(l, Instant(3*ms))
			assert.Equal(t, tt.of, told(Instant(4*ms), "second", 880), "its part of 20")
		})
	}
}
