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

// Requests that are answered slowly, and charged too little, may be followed by refusals that are
// answered fast. Then the figures of two refusals show what was served between them has cost.
func TestFallBetweenRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		between int64 // units of the request that was served; 0: none was
		avail   int64 // in the second refusal
		of      int64 // the cost
	}{
		"charged too little":    {1200, 950, 1500},
		"before more was known": {600, 950, None},
		"charged too much":      {2000, 950, None},
		"nothing departed":      {0, 950, None},
		"nothing left":          {1200, 0, None},
		"another refused it":    {1200, 1200, None},
	} {
		t.Run(name, func(t *testing.T) {
			l := newBucket(Other, 60_000, 1000, 59*sec) // 1,000 a second
			sendN("early", 1200)(l, Instant(sec))
			l.fills(Instant(sec+50*ms), "early", 950, 59_050*ms, true)
			if tt.between > 0 {
				sendN("served", tt.between)(l, Instant(2*sec))
			}
			sendN("again", 1200)(l, Instant(sec+1500*ms))
			full := time.Duration(60_000-tt.avail) * ms
			got := l.fills(Instant(sec+1550*ms), "again", tt.avail, full, true)
			if tt.of == None {
				assert.EqualValues(t, None, got)
			} else {
				assert.InDelta(t, tt.of, got, 2)
			}
		})
	}
}
