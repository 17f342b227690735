package transporttest

import (
	"math"
	"testing"
	"time"
)

func TestSlidingWindow(t *testing.T) {
	p := Policy{Quota: 10, Window: 10 * time.Second, Algorithm: SlidingWindow}
	play(t, p, epoch.Add(20*time.Second), []step{
		{at: 2 * time.Second, n: 11, ok: false, wait: never, left: 10, until: 8 * time.Second},
		{at: 2 * time.Second, n: 10, ok: true, wait: 0, left: 0, until: 8 * time.Second},
		// A second after the end of this window, 9/10 of it still count.
		{at: 5 * time.Second, n: 1, ok: false, wait: 6 * time.Second, left: 0, until: 5 * time.Second},
		{at: 10 * time.Second, n: 1, ok: false, wait: time.Second, left: 0, until: 10 * time.Second},
		{at: 11*time.Second - 1, n: 1, ok: false, wait: 1, left: 0, until: 9*time.Second + 1},
		{at: 11 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 9 * time.Second},
		{at: 15 * time.Second, n: 5, ok: false, wait: time.Second, left: 4, until: 5 * time.Second},
		{at: 15 * time.Second, n: 4, ok: true, wait: 0, left: 0, until: 5 * time.Second},
		{at: 15 * time.Second, n: 10, ok: false, wait: 15 * time.Second, left: 0, until: 5 * time.Second},
		// 5 units were used in the previous window.
		{at: 20 * time.Second, n: 5, ok: true, wait: 0, left: 0, until: 10 * time.Second},
		// No units were used in the window that started at 30 s.
		{at: 40 * time.Second, n: 10, ok: true, wait: 0, left: 0, until: 10 * time.Second},
	})
}

// The part of the previous window that counts is rounded up, so that the quota is never
// exceeded.
func TestSlidingWindowFractions(t *testing.T) {
	p := Policy{Quota: 3, Window: 10 * time.Second, Algorithm: SlidingWindow}
	const third = 10 * time.Second / 3 // rounded down
	play(t, p, epoch, []step{
		{at: 0, n: 3, ok: true, wait: 0, left: 0, until: 10 * time.Second},
		{at: 10*time.Second + third, n: 1, ok: false, wait: 1, left: 0, until: 10*time.Second - third},
		{at: 10*time.Second + third + 1, n: 1, ok: true, wait: 0, left: 0, until: 10*time.Second - third - 1},
	})
}

func TestSlidingWindowExtremes(t *testing.T) {
	const large = math.MaxInt64
	play(t, Policy{Quota: large, Window: large, Algorithm: SlidingWindow}, epoch, []step{
		{at: 0, n: large, ok: true, wait: 0, left: 0, until: large},
		{at: large, n: large, ok: false, wait: large, left: 0, until: large},
	})
}
