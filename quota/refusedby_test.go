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
