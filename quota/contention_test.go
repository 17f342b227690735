package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// What was served to us counts as ours although the account was not charged, because
// the policy was not known then.
func TestContentionOfUncharged(t *testing.T) {
	t.Run("another scope turns out to be of the partition", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, "x", keyed("api", "alice")), quota.Report{Figures: keyedFigure("api", "alice", 99, mins)})
		for i, l := range d.sendAll(50, 0, "y") {
			d.done(sec, l, quota.Report{Figures: keyedFigure("api", "alice", 98-int64(i), mins)})
		}
		assert.Equal(t, 49, d.more(sec, "x", keyed("api", "alice")))
	})
	t.Run("what it was charged is ours once", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, "", api(1)), quota.Report{Figures: figure("api", 100, mins)})
		d.done(sec, d.send(sec, "", api(20)), quota.Report{Figures: figure("api", 20, mins)})
		ours, fall := d.o.Contention("", api(0))
		assert.Equal(t, []float32{20, 80}, []float32{ours, fall})
	})
	t.Run("unless it was refused", func(t *testing.T) {
		d := newDesk(t)
		alice := keyed("api", "alice")
		d.done(0, d.send(0, "x", alice), quota.Report{Figures: keyedFigure("api", "alice", 99, mins)})
		d.done(sec, d.send(0, "y"), quota.Report{Refused: true, Figures: keyedFigure("api", "alice", 49, mins)})
		ours, fall := d.o.Contention("", alice)
		assert.Equal(t, []float32{0, 50}, []float32{ours, fall})
	})
	t.Run("the first wave costs what the server says", func(t *testing.T) {
		d := newDesk(t)
		for i, l := range d.sendAll(50, 0, "") {
			d.done(100*ms, l, quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 995 - 5*int64(i), Window: mins, Cost: 5}}})
		}
		assert.Equal(t, 150, d.more(200*ms, "", api(5)))
	})
	t.Run("of a quota of bytes, the cost is not known", func(t *testing.T) {
		d := newDesk(t)
		bytes := []quota.Policy{{Name: "api", Quota: 10_000_000, Window: mins, Unit: "content-bytes"}}
		for i, l := range d.sendAll(50, 0, "") {
			d.done(100*ms, l, quota.Report{Terms: bytes, Figures: figure("api", 10_000_000-10_000*int64(i+1), mins)})
		}
		assert.Equal(t, 95, d.more(200*ms, "", api(100_000)))
	})
}
