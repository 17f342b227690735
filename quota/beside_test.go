package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// Two refusals, the second after the hold of the first, with figures that say that much is left,
// begin a slow start of the work that claims the policy, if more of what was out with the first was
// refused than served. One of them does not, nor do two that little left explains.
func TestBeside(t *testing.T) {
	for name, c := range map[string]struct {
		first, second int64 // left beside the first refusal, and beside the second; negative: there is none
		alone, kept   int   // how many of two that are out with the first are not refused, and how many are served
		out           int   // requests in flight meanwhile
		unit          string
		other         bool // the work does not claim the policy
		after         time.Duration
		want          int
	}{
		"one":             {first: 50, second: -1, want: 50},
		"two":             {first: 50, second: 45, want: 1},
		"most are served": {first: 50, second: 45, kept: 2, want: 45},
		"one is refused":  {first: 50, second: 45, alone: 1, want: 45},
		"nothing was out": {first: 50, second: 45, alone: 2, want: 45},
		"little left":     {first: 3, second: 2, want: 2},
		"as many are out": {first: 50, second: 6, out: 6, want: 0},
		"fewer are out":   {first: 50, second: 9, out: 6, want: 1},
		"tokens":          {first: 50, second: 45, unit: "tokens", want: 45},
		"another policy":  {first: 50, second: 45, other: true, want: 1000},
		"forgotten":       {first: 50, second: 45, after: 30 * mins, want: 45},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			window := 2 * 60 * mins
			said := func(left int64) quota.Report {
				return quota.Report{Figures: figure("api", left, window), Terms: []quota.Policy{{Name: "api", Quota: 100, Window: window, Unit: c.unit}}}
			}
			d.exchange(0, "", said(c.first+1), api(1))
			with, kept := d.sendAll(2-c.alone, 0, "", api(1)), d.sendAll(c.kept, 0, "", api(1))
			out := d.sendAll(c.out, 0, "", api(1))
			for i, left := range []int64{c.first, c.second} {
				if left >= 0 {
					r := said(left)
					r.Refused, r.Pause = true, sec
					at := time.Duration(2*i+1) * sec
					d.exchange(at, "", r, api(1))
					for _, l := range with {
						d.done(at+time.Millisecond, l, r)
					}
					for _, l := range kept {
						d.done(at+2*time.Millisecond, l, said(left))
					}
					with, kept = nil, nil
				}
			}
			for _, l := range out {
				d.done(4*sec, l, said(c.second))
			}
			now := 5 * sec
			for ; now < c.after; now += mins { // one is served each minute
				d.exchange(now, "", said(c.second), api(1))
			}
			claim := api(1)
			if c.other {
				claim.Policy = "other"
			}
			assert.Equal(t, c.want, d.more(now, "", claim))
		})
	}
}

// A hold that such a refusal begins holds the work that it names, from the first one on.
func TestBesideHolds(t *testing.T) {
	d := newDesk(t)
	for i := range 3 {
		now := time.Duration(i) * mins
		d.exchange(now, "", quota.Report{Refused: true, Pause: 30 * sec, Figures: figure("api", 50, 60*mins)}, api(1))
		assert.Equal(t, 30*sec, d.wait(now, "", api(1)))
		assert.Zero(t, d.wait(now, "", quota.Claim{Policy: "other", Units: 1}))
		assert.Zero(t, d.wait(now, "bob", api(1)))
	}
}
