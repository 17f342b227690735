package quota

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Work that an account was not charged with, because nobody knew, is ours, too.
func TestContentionOfUncharged(t *testing.T) {
	wave := func(d *desk, scope string, n int) (ls []*Lease) {
		for range n {
			ls = append(ls, d.send(0, scope))
		}
		return ls
	}
	t.Run("another scope turns out to be of the partition", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, "x", keyed("api", "alice")), Report{Figures: keyedFigure("api", "alice", 99, mins)})
		for i, l := range wave(d, "y", 50) {
			d.done(sec, l, Report{Figures: keyedFigure("api", "alice", 98-int64(i), mins)})
		}
		assert.Equal(t, 49, d.more(sec, "x", keyed("api", "alice")))
	})
	t.Run("what it was charged with is ours once", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, "", api(1)), Report{Figures: figure("api", 100, mins)})
		d.done(sec, d.send(sec, "", api(20)), Report{Figures: figure("api", 20, mins)})
		ours, fall := d.o.find(accountID{policyID: policyID{name: "api"}}).Contention()
		assert.Equal(t, []float32{20, 80}, []float32{ours, fall})
	})
	t.Run("unless it was refused", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, "x", keyed("api", "alice")), Report{Figures: keyedFigure("api", "alice", 99, mins)})
		l := wave(d, "y", 1)[0]
		d.done(sec, l, Report{Refused: true, Figures: keyedFigure("api", "alice", 49, mins)})
		ours, fall := d.o.find(aliceID).Contention()
		assert.Equal(t, []float32{0, 50}, []float32{ours, fall})
	})
	t.Run("the first wave costs what the server says", func(t *testing.T) {
		d := newDesk(t)
		for i, l := range wave(d, "", 50) {
			d.done(100*ms, l, Report{Figures: []Figure{{Policy: "api", Available: 995 - 5*int64(i), Window: mins, Cost: 5}}})
		}
		assert.Equal(t, 150, d.more(200*ms, "", api(5)))
	})
	t.Run("or else nobody knows, where it is not requests that count", func(t *testing.T) {
		d := newDesk(t)
		bytes := []Terms{{Policy: Policy{Name: "api", Quota: 10_000_000, Window: mins, Unit: "content-bytes"}}}
		for i, l := range wave(d, "", 50) {
			d.done(100*ms, l, Report{Terms: bytes, Figures: figure("api", 10_000_000-10_000*int64(i+1), mins)})
		}
		assert.Equal(t, 95, d.more(200*ms, "", api(100_000)))
	})
}
