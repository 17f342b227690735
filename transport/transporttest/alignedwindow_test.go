package transporttest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAlignedWindow(t *testing.T) {
	p := Policy{Quota: 3, Window: 10 * time.Second, Algorithm: AlignedWindow}
	play(t, p, epoch.Add(20*time.Second), []step{
		// The window ends at a multiple of its length, used or not.
		{at: 7 * time.Second, n: 4, ok: false, wait: never, left: 3, until: 3 * time.Second},
		{at: 7 * time.Second, n: 2, ok: true, wait: 0, left: 1, until: 3 * time.Second},
		{at: 8 * time.Second, n: 2, ok: false, wait: 2 * time.Second, left: 1, until: 2 * time.Second},
		{at: 10*time.Second - 1, n: 2, ok: false, wait: 1, left: 1, until: 1},
		// Its end is the start of the next.
		{at: 10 * time.Second, n: 3, ok: true, wait: 0, left: 0, until: 10 * time.Second},
		{at: 15 * time.Second, n: 1, ok: false, wait: 5 * time.Second, left: 0, until: 5 * time.Second},
		{at: 95 * time.Second, n: 1, ok: true, wait: 0, left: 2, until: 5 * time.Second},
	})
}

func TestAlignedWindowStart(t *testing.T) {
	const day = 24 * time.Hour
	date := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	for _, tt := range []struct {
		name   string
		length time.Duration
		now    time.Time
		start  time.Time
	}{
		{"epoch", time.Minute, epoch, epoch},
		{"last instant", time.Minute, epoch.Add(time.Minute - 1), epoch},
		{"next", time.Minute, epoch.Add(time.Minute), epoch.Add(time.Minute)},
		{"before the epoch", time.Minute, epoch.Add(-1), epoch.Add(-time.Minute)},
		{"seven seconds", 7 * time.Second, time.Unix(1_000_000_000, 5), time.Unix(999_999_994, 0)},
		{"a week from a Thursday", 7 * day, date(2026, 4, 22), date(2026, 4, 16)},
		{"odd nanoseconds", 3, time.Unix(0, 11), time.Unix(0, 9)},
		{"after the last time in nanoseconds", day, date(2500, 1, 1).Add(5), date(2500, 1, 1)},
		{"before the first time in nanoseconds", day, date(1500, 1, 1).Add(5), date(1500, 1, 1)},
		{"longest", math.MaxInt64, date(2026, 1, 1), epoch},
		{"other zone", day, date(2026, 1, 1).In(time.FixedZone("", -3600)), date(2026, 1, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := alignedWindow{quota: 1, length: tt.length}
			assert.Equal(t, tt.start.UTC(), a.startOf(tt.now).UTC())
		})
	}
}
