package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// What is left is drawn as a part of the quota if that has changed meanwhile, or if it is
// not always that of one account.
func TestPlotOfDifferentQuotas(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		name string
		xs   []sample
		want string
	}{
		{"one", []sample{{time: 900, available: 40, quota: 100}, {time: 950, available: 20, quota: 100}}, "at least 20 of 100 left, "},
		{"lowered", []sample{{time: 900, available: 80_000, quota: 90_000}, {time: 950, available: 300, quota: 1000}}, "at least 30 % of the quota left, "},
		{"told later", []sample{{time: 900, available: 80, quota: none}, {time: 950, available: 300, quota: 1000}}, "at least 80 of 1\u202f000 left, "},
		{"nothing known", []sample{{time: 900, available: none, quota: none}, {time: 950, available: none, quota: none}}, ""},
		{"figures alone", []sample{{time: 900, available: 7, quota: none}, {time: 950, available: 5, quota: none}}, "at least 5 of 7 left, "},
	} {
		p := draw(tt.xs, nil, now, 100*time.Second)
		assert.Equal(t, "The last 1 min 40 s: "+tt.want+"at most 0 in line.", p.Says, tt.name)
	}
}

// If the wall clock is set back, samples go on at once.
func TestClockSetBack(t *testing.T) {
	accounts := new(quota.Accounts)
	h, now := &Handler{Accounts: accounts}, time.Now()
	o, l := accounts.Origin("https://api.example"), new(quota.Lease)
	require.NoError(t, o.Admit(t.Context(), now, &quota.Ask{}, l))
	o.Settle(now, l, &quota.Report{Figures: []quota.Figure{{Policy: "day", Available: 50, Window: time.Hour}}})
	l.Release()
	samples := func() int { return len(h.history.series[seriesID{"https://api.example", "day"}].ring) }
	h.sample(now)
	h.sample(now.Add(time.Second - 1))
	assert.Equal(t, 1, samples(), "one in a second")
	h.sample(now.Add(time.Second))
	assert.Equal(t, 2, samples())
	h.sample(now.Add(time.Second - time.Microsecond))
	assert.Equal(t, 2, samples(), "another request, which was answered before")
	for i := range 100 {
		h.sample(now.Round(0).Add(-time.Hour + time.Duration(i)*time.Second))
	}
	assert.Equal(t, 100, samples())
}
