package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// A refusal costs the policies that refused, where the answer shows which (the
// draft, Section 3.1.1: what is left of a policy), and no others.
func TestRefusalCostsPolicyThatRefused(t *testing.T) {
	burst := quota.Claim{Policy: "burst", Units: 1}
	t.Run("known", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), quota.Report{Figures: append(figure("day", 10, 24*time.Hour), figure("burst", 5, sec)...)})
		var ls []*quota.Lease
		for range 5 {
			ls = append(ls, d.send(0, "", quota.Claim{Policy: "day", Units: 1}, burst))
		}
		for _, l := range ls {
			d.done(0, l, quota.Report{Refused: true, Figures: figure("burst", 0, sec)})
		}
		assert.Equal(t, 10, d.more(0, "", quota.Claim{Policy: "day", Units: 1}))
	})
	t.Run("first wave", func(t *testing.T) {
		d := newDesk(t)
		ls := []*quota.Lease{d.send(0, ""), d.send(0, ""), d.send(0, "")}
		d.done(0, ls[0], quota.Report{Terms: terms("day", 10, 24*time.Hour)})
		for _, l := range ls[1:] {
			d.done(0, l, quota.Report{Refused: true, Figures: figure("burst", 0, sec)})
		}
		assert.Equal(t, 9, d.more(0, "", quota.Claim{Policy: "day", Units: 1}))
	})
	t.Run("told with the refusal", func(t *testing.T) {
		d := newDesk(t)
		l := d.send(0, "")
		d.done(0, l, quota.Report{Refused: true, Figures: figure("burst", 0, sec), Terms: terms("day", 10, 24*time.Hour)})
		assert.Equal(t, 10, d.more(0, "", quota.Claim{Policy: "day", Units: 1}))
	})
	t.Run("where it does not show which, all", func(t *testing.T) {
		d := newDesk(t)
		d.done(0, d.send(0, ""), quota.Report{Figures: figure("day", 10, 24*time.Hour)})
		d.done(0, d.send(0, "", quota.Claim{Policy: "day", Units: 1}), quota.Report{Refused: true, Figures: figure("burst", 5, sec)})
		assert.Equal(t, 9, d.more(0, "", quota.Claim{Policy: "day", Units: 1}))
	})
}

// A refusal that says nothing of any quota, though the figures had room for the work, is by another limit:
// what it was charged is there after the hold. Another one in a row costs a unit, because a server may
// leave out its fields where it refuses.
func TestRefusedElsewhere(t *testing.T) {
	d := newDesk(t)
	claim := quota.Claim{Policy: "api", Units: 1}
	d.exchange(0, "", quota.Report{Figures: []quota.Figure{{Policy: "api", Available: 2, Window: 20 * sec}}}, claim)
	bare := quota.Report{Refused: true, Pause: sec}
	one, two := d.send(0, "", claim), d.send(0, "", claim) // all that is left
	d.done(100*ms, one, bare)
	d.done(100*ms, two, bare)
	assert.Equal(t, sec, d.wait(100*ms, "", claim))
	d.exchange(1100*ms, "", bare, claim)
	assert.Equal(t, sec, d.wait(1100*ms, "", claim), "one is left")
	d.exchange(2100*ms, "", bare, claim)
	assert.Equal(t, 17901*ms, d.wait(2100*ms, "", claim), "none is left")
}
