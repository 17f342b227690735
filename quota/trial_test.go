package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// Work that may be charged as that of another scope departs one at a time until it is answered: then
// as the figure says, or two, three, … where there is none.
func TestTrial(t *testing.T) {
	for name, tt := range map[string]struct {
		answer quota.Report
		then   int // depart
	}{
		"a figure":   {quota.Report{Figures: []quota.Figure{{Available: 3, Window: mins}}}, 3},
		"no figures": {quota.Report{}, 2},
		"lost":       {quota.Report{Lost: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounter(t)
				c.tell(quota.Report{Figures: []quota.Figure{{Policy: "others", Available: 9, Window: mins}}})
				ask := quota.Ask{Scope: "own", Claims: []quota.Claim{unnamed}, Trial: true}
				first := c.come(t.Context(), "first", ask)
				var others []*request
				for range 5 {
					others = append(others, c.come(t.Context(), "", ask))
				}
				departed := func() (n int) {
					synctest.Wait()
					for _, r := range others {
						if r.done.Load() {
							n++
						}
					}
					return n
				}
				time.Sleep(100 * ms)
				assert.True(t, first.done.Load())
				assert.Zero(t, departed())
				c.settle(first, tt.answer)
				assert.Equal(t, tt.then, departed())
				assert.True(t, c.come(t.Context(), "of a scope that is sure", quota.Ask{Scope: "new"}).done.Load())
				time.Sleep(time.Hour)
				c.wg.Wait()
			})
		})
	}
}

// What a lease settles may show later that work waits for the wrong thing: settling it again
// only has that make its claims again.
func TestSettleAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounter(t)
		out := c.come(t.Context(), "out", quota.Ask{Claims: []quota.Claim{api(1)}})
		c.settle(out, quota.Report{Figures: figure("api", 0, mins)})
		ask := quota.Ask{Claims: []quota.Claim{api(1)}, Again: func() []quota.Claim { return nil }}
		waits := c.come(t.Context(), "waits", ask)
		time.Sleep(sec)
		assert.False(t, waits.done.Load())
		c.settle(out, quota.Report{Figures: figure("api", 9, mins), Moved: []string{"other"}})
		assert.False(t, waits.done.Load())
		c.settle(out, quota.Report{Moved: []string{"api"}})
		synctest.Wait()
		assert.True(t, waits.done.Load())
		c.wg.Wait()
	})
}
