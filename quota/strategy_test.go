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
