package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// Where each unit comes back a window after it was spent, a request tries when those of
// the window before are back; after a refusal, not the next two times.
func TestUnitsThatComeBackAsTheyWereSpent(t *testing.T) {
	d := newDesk(t)
	figure := func(left int64) quota.Report {
		return quota.Report{
			Terms:   []quota.Policy{{Quota: 5}},
			Figures: []quota.Figure{{Available: left, Window: 2 * sec}},
		}
	}
	spend := func(now time.Duration, from int64) {
		for left := from; left >= 0; left-- {
			d.exchange(now+time.Duration(from-left)*100*ms, "", figure(left))
		}
	}
	spend(0, 4)
	now := 2*sec + 10*ms
	for i, tried := range []bool{true, false, false, true} {
		d.exchange(now, "", figure(0)) // the first unit is back
		wait := d.wait(now, "")
		if !tried {
			assert.Greater(t, wait, sec, "window %d", i)
			now += wait
			spend(now, 4)
			now += 2*sec + 10*ms
			continue
		}
		assert.InDelta(t, 400*ms, wait, float64(20*ms), "window %d", i)
		now += wait
		d.exchange(now, "", quota.Report{Refused: true, Figures: figure(0).Figures})
		now += d.wait(now, "")
		spend(now, 4)
		now += 2*sec + 10*ms
	}
}
