package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// Where less than the quota is there after a window, a request tries after the time for a
// unit; after a refusal, not the next time, and then after twice that time.
func TestUnitsThatComeBackBeforeTheEnd(t *testing.T) {
	d := newDesk(t)
	figure := func(left int64) quota.Report {
		return quota.Report{
			Terms:   []quota.Policy{{Quota: 5}},
			Figures: []quota.Figure{{Available: left, Window: 2 * sec}},
		}
	}
	spend := func(now time.Duration, from int64) {
		for left := from; left >= 0; left-- {
			d.exchange(now+time.Duration(from-left)*100*ms, "", figure(left), unnamed)
		}
	}
	spend(0, 4)
	now := 2*sec + 10*ms
	for i, tried := range []time.Duration{400 * ms, 0, 800 * ms} {
		d.exchange(now, "", figure(0)) // the first unit is back
		wait := d.wait(now, "", unnamed)
		if tried == 0 {
			assert.Greater(t, wait, sec, "window %d", i)
			now += wait
			spend(now, 4)
			now += 2*sec + 10*ms
			continue
		}
		assert.InDelta(t, tried, wait, float64(20*ms), "window %d", i)
		now += wait
		d.exchange(now, "", quota.Report{Refused: true, Figures: figure(0).Figures}, unnamed)
		now += d.wait(now, "", unnamed)
		spend(now, 4)
		now += 2*sec + 10*ms
	}
}
