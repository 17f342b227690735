package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// The policy without a name concerns only work that claims it, as any other policy does. What names no policy concerns all
// work of the scope.
func TestUnnamedPolicyHoldsWhatClaimsIt(t *testing.T) {
	for name, tt := range map[string]struct {
		answer         quota.Report // to work that claims the policy
		unnamed, other time.Duration
	}{
		"nothing left":            {quota.Report{Figures: figure("", 0, mins)}, mins, 0},
		"a refusal of it":         {quota.Report{Figures: figure("", 0, mins), Refused: true, Pause: 30 * sec}, 30 * sec, 0},
		"a back-off of it":        {quota.Report{Figures: figure("", 0, 0), Refused: true}, sec, 0},
		"a pause that names none": {retryAfter(30 * sec), 30 * sec, 30 * sec},
		"a back-off":              {quota.Report{Refused: true}, sec, sec},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.exchange(0, "", quota.Report{Figures: figure("api", 50, mins)}, api(1))
			if tt.other == 0 {
				d.exchange(0, "", quota.Report{Figures: figure("", 50, mins)}, unnamed)
			}
			d.exchange(0, "", tt.answer, unnamed)
			assert.InDelta(t, tt.unnamed, d.wait(0, "", unnamed), float64(2*ms))
			assert.InDelta(t, tt.other, d.wait(0, "", api(1)), float64(2*ms))
			assert.InDelta(t, tt.other, d.wait(0, ""), float64(2*ms))
		})
	}
}

// A refusal that names nothing may be beside the policy without a name, of which much is left. It holds its own work also if
// that policy does not concern it.
func TestBesideUnnamedHoldsItsWork(t *testing.T) {
	d := newDesk(t)
	d.answer(0, "a/", quota.Report{Figures: figure("", 50, mins)}, unnamed)
	d.answer(0, "b/", quota.Report{Figures: figure("api", 50, mins)}, api(1))
	d.answer(sec, "b/", retryAfter(30*sec), api(1))
	assert.False(t, d.free(29*sec, "b/", api(1)))
	assert.False(t, d.free(2*sec-ms, "a/", unnamed), "then it looks")
	assert.True(t, d.free(31*sec, "b/", api(1)))
}

// What an answer leaves out was not charged: also the policy without a name.
func TestUnnamedPolicyLeftOut(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Figures: figure("", 2, mins)}, unnamed)
	d.exchange(0, "", quota.Report{Figures: figure("api", 50, mins), LeftOut: []string{""}}, unnamed, api(1))
	assert.Equal(t, 2, d.more(0, "", unnamed))
}

// People are shown the account of a scope beside that of the policy without a name only while something is known of it. What
// is in flight is counted once.
func TestSnapshotOfUnnamedPolicy(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "s", quota.Report{Figures: figure("", 2, 5*mins)}, unnamed)
	l := d.send(0, "s", unnamed)
	shown := d.snapshot()
	require.Len(t, shown.Accounts, 1)
	assert.Equal(t, int64(1), shown.Accounts[0].Available)
	assert.Zero(t, shown.Omitted)
	sums := d.snapshotAt(0, quota.SnapshotOptions{ByPolicy: true}).Accounts
	require.Len(t, sums, 1)
	assert.Equal(t, int64(1), sums[0].InFlight)
	assert.Equal(t, 1, sums[0].Accounts)

	d.done(0, l, quota.Report{Refused: true, Pause: 30 * sec, Figures: figure("api", 0, 30*sec)})
	require.Len(t, d.snapshot().Accounts, 2, "that of the scope says nothing")
	d.exchange(mins, "s", retryAfter(30*sec))
	shown = d.snapshot()
	require.Len(t, shown.Accounts, 3)
	assert.Equal(t, 30*sec, shown.Accounts[0].Hold, "that of the scope comes first")
	assert.Zero(t, shown.Accounts[1].Hold)
	assert.Equal(t, "api", shown.Accounts[2].Name)
	assert.Len(t, d.snapshotAt(mins, quota.SnapshotOptions{ByPolicy: true}).Accounts, 2)
}

// A window of the policy without a name, and a hold of its scope, are restored apart.
func TestUnnamedPolicyIsRestored(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "s", quota.Report{Figures: figure("", 0, mins)}, unnamed)
	d.exchange(0, "s", retryAfter(10*sec))
	r := restored(t, d.saved(0, false), d.at(0))
	now := d.begin.Sub(r.begin)
	assert.InDelta(t, mins, r.wait(now, "s", unnamed), float64(2*ms))
	assert.InDelta(t, 10*sec, r.wait(now, "s", api(1)), float64(2*ms))
}

// Terms of the policy without a name bind what claims it, and nothing else of the scope.
func TestTermsOfUnnamedPolicy(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "", quota.Report{Terms: terms("", 3, mins)})
	assert.Equal(t, 1000, d.more(0, ""))
	assert.Equal(t, 2, d.more(0, "", unnamed))
}

// What one user was told of the policy without a name, with figures, does not bound others.
func TestUnnamedPolicyOfOthers(t *testing.T) {
	d := newDesk(t)
	d.exchange(0, "a", quota.Report{Figures: figure("", 50, mins), Terms: terms("", 100, mins)})
	d.exchange(0, "b", quota.Report{}, unnamed)
	assert.Equal(t, int64(quota.None), d.known("b", unnamed).Quota)
}
