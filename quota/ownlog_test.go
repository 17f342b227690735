package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// spend uses up a quota of 100 in a minute at once, after another window in which our own log
// has begun. It returns one of the requests, which is not answered.
func spend(d *desk, now time.Duration) (out *quota.Lease) {
	terms := terms("api", 100, mins)
	tell := func(l *quota.Lease, left int64) {
		d.done(now, l, quota.Report{Terms: terms, Figures: figure("api", left, mins)})
	}
	for window := range 2 {
		if window > 0 {
			now += 2 * mins
			tell(out, 0)
		}
		tell(d.send(now, "", api(1)), 99)
		all := d.sendAll(99, now, "", api(1))
		for i, l := range all[1:] {
			tell(l, int64(97-i))
		}
		out = all[0]
	}
	return out
}

// Nothing is left for 59 s, and a long poll is out. Its answer lets nothing else go by our
// own log, so a request that may wait for 10 s is refused at once.
func TestOwnLogLetsNothingWaitInVain(t *testing.T) {
	d := newDesk(t)
	out := spend(d, 0)
	require.NotZero(t, d.o.LogSlots("", api(1)))
	for _, poll := range []string{"is out", "is over"} {
		now := 2*mins + sec
		r, waits := d.o.Check(t.Context(), d.at(now), &quota.Ask{Claims: []quota.Claim{api(1)}, MaxDelay: 10 * sec})
		require.NotNil(t, r, poll)
		assert.Equal(t, quota.ReasonMaxDelay.String(), r.Reason.String(), poll)
		assert.False(t, waits, poll)
		d.done(now, out, quota.Report{Terms: terms("api", 100, mins), Figures: figure("api", 0, 59*sec)})
	}
}

// What our own log has noted is freed once all of it is back, while the account is not used and
// its origin is.
func TestSweepFreesOwnLog(t *testing.T) {
	d := newDesk(t)
	d.done(2*mins, spend(d, 0), quota.Report{Terms: terms("api", 100, mins), Figures: figure("api", 0, mins)})
	require.NotZero(t, d.o.LogSlots("", api(1)))
	d.tick(3*mins - sec)
	assert.NotZero(t, d.o.LogSlots("", api(1)), "it is not back")
	d.tick(3*mins + 200*ms)
	assert.Zero(t, d.o.LogSlots("", api(1)))
}
