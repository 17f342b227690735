package quota_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota"
)

// flight sends n requests, one in each millisecond from now on.
func (d *desk) flight(now time.Duration, n int) (ls []*quota.Lease) {
	d.t.Helper()
	for i := range n {
		ls = append(ls, d.send(now+time.Duration(i)*ms, ""))
	}
	return ls
}

// If those that departed after a refused request are served, it was refused alone: the others go on,
// and one less is in flight.
func TestRefusedAlone(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 20)
	d.done(1050*ms, ls[3], quota.Report{Refused: true})
	for _, l := range ls[:3] { // they departed before
		d.done(1050*ms, l, quota.Report{})
	}
	for _, l := range ls[4:6] {
		d.refused(1050*ms, "")
		d.done(1051*ms, l, quota.Report{})
	}
	d.refused(1051*ms, "")
	d.done(1052*ms, ls[6], quota.Report{})
	// 13 are in flight, of 20 with the one that sleeps.
	assert.Equal(t, 6, d.more(1052*ms, ""))
	wait := d.wait(1052*ms, "")
	assert.GreaterOrEqual(t, wait, 998*ms)
	assert.LessOrEqual(t, wait, 1248*ms)
	d.send(1052*ms+wait, "")
}

// Once a refusal was let go, what is served until the next one was not counted from the beginning of
// a window: no quota is inferred from it.
func TestNothingIsInferredAfterRefusedAlone(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 50)
	d.done(1050*ms, ls[3], quota.Report{Refused: true})
	for _, l := range ls[4:20] {
		d.done(1051*ms, l, quota.Report{})
	}
	for _, l := range ls[20:] {
		d.done(1052*ms, l, quota.Report{Refused: true})
	}
	r := d.refused(1052*ms, "")
	require.Equal(t, quota.ReasonBackOff, r.Cause)
	now := 1052*ms + r.Wait
	d.done(now, d.send(now, ""), quota.Report{})
	assert.EqualValues(t, quota.None, d.known("", quota.Claim{}).Quota)
}

// A quota that is used up refuses what departs after, too.
func TestNotRefusedAlone(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 20)
	for _, l := range ls[10:] {
		d.done(1050*ms, l, quota.Report{Refused: true})
	}
	for _, l := range ls[:10] {
		d.done(1050*ms, l, quota.Report{})
	}
	r := d.refused(1050*ms, "")
	require.Equal(t, quota.ReasonBackOff, r.Cause)
	assert.GreaterOrEqual(t, r.Wait, sec)
}

// A Retry-After holds all requests like the refused one, also if many others of them are served.
func TestRetryAfterIsForAll(t *testing.T) {
	d := newDesk(t)
	d.done(0, d.send(0, ""), quota.Report{})
	ls := d.flight(sec, 200)
	d.done(1500*ms, ls[0], quota.Report{Refused: true, Pause: 5 * sec})
	for _, l := range ls[1:] {
		d.done(1501*ms, l, quota.Report{})
		assert.Equal(t, 5*sec-ms, d.wait(1501*ms, ""))
	}
}
