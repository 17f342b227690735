package quota_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/headway-go/headway/quota"
)

// Plain infers nothing and starts as fast as ever.
func TestPlainHasNoHabits(t *testing.T) {
	d := deskOf(t, &quota.Accounts{Jitter: noJitter, Strategy: quota.Plain}, testOrigin)
	for window := range 5 {
		left := 10
		d.bare(time.Duration(window)*11*sec, &left, 10*sec)
	}
	assert.Equal(t, int64(quota.None), d.known("", quota.Claim{}).Quota)
	d.bare(mins, new(int), sec)
	d.done(2*mins, d.send(2*mins, ""), quota.Report{})
	assert.Equal(t, 1000, d.more(2*mins, ""), "no slow start")
}

// Windows of our own count end after a guard, whether their first answer repeats the
// policy or not.
func TestGuardOfCounts(t *testing.T) {
	for how, want := range map[quota.Strategy]time.Duration{quota.Adaptive: ms, quota.Plain: 8 * ms} {
		d := deskOf(t, &quota.Accounts{Jitter: noJitter, Strategy: how}, testOrigin)
		const trip = 32 * ms
		first := terms("api", 3, 10*sec)
		d.done(trip, d.send(0, ""), quota.Report{Terms: first})
		d.more(trip, "", api(1))
		assert.Equal(t, 10*sec+want-trip, d.wait(trip, "", api(1)), "%v, the first", how)
		start := 10*sec + want
		d.done(start+trip, d.send(start, "", api(1)), quota.Report{})
		d.more(start+trip, "", api(1))
		assert.Equal(t, 10*sec+want-trip, d.wait(start+trip, "", api(1)), "%v, the next", how)
	}
}

func TestStrategyString(t *testing.T) {
	assert.Equal(t, "adaptive plain", fmt.Sprint(quota.Adaptive, " ", quota.Plain))
}

// A refusal that names policies and no figure contradicts our own count of the policy of
// which the least is left. One that names none contradicts none.
func TestRefusalContradictsOneCount(t *testing.T) {
	both := append(terms("api", 10, mins), terms("day", 1000, time.Hour)...)
	claims := []quota.Claim{api(1), {Policy: "day", Units: 1}}
	d := deskOf(t, &quota.Accounts{Jitter: noJitter}, testOrigin)
	d.done(0, d.send(0, ""), quota.Report{Terms: both})
	d.sendAll(5, 0, "", claims...)
	at := sec
	d.done(at, d.send(at, "", claims...), quota.Report{Refused: true, Pause: 20 * sec})
	assert.Equal(t, int64(993), d.known("", claims[1]).Available)
	at += 20 * sec
	for range 2 {
		d.done(at, d.send(at, "", claims...), quota.Report{Terms: both, Refused: true, Pause: 6 * sec})
		at += 6 * sec
	}
	assert.Contains(t, d.known("", claims[0]).Learned, "units come back one by one")
	assert.NotContains(t, d.known("", claims[1]).Learned, "units come back one by one")
	assert.Equal(t, int64(991), d.known("", claims[1]).Available)
}
