package transporttest

import (
	"math"
	"testing"
	"time"
)

func TestFixedWindow(t *testing.T) {
	p := Policy{Quota: 3, Window: 10 * time.Second}
	play(t, p, epoch.Add(3*time.Second), []step{
		// Before the first request no window is open.
		{at: 0, n: 4, ok: false, wait: never, left: 3, until: 10 * time.Second},
		{at: 5 * time.Second, n: 4, ok: false, wait: never, left: 3, until: 10 * time.Second},
		// A window starts with the first served request.
		{at: 7 * time.Second, n: 1, ok: true, wait: 0, left: 2, until: 10 * time.Second},
		{at: 9 * time.Second, n: 1, ok: true, wait: 0, left: 1, until: 8 * time.Second},
		{at: 10 * time.Second, n: 2, ok: false, wait: 7 * time.Second, left: 1, until: 7 * time.Second},
		{at: 10 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 7 * time.Second},
		{at: 17*time.Second - 1, n: 1, ok: false, wait: 1, left: 0, until: 1},
		// The end is not part of the window. The next window starts later, with a served request.
		{at: 17 * time.Second, n: 0, ok: true, wait: 0, left: 3, until: 10 * time.Second},
		{at: 27 * time.Second, n: 4, ok: false, wait: never, left: 3, until: 10 * time.Second},
		{at: 31 * time.Second, n: 3, ok: true, wait: 0, left: 0, until: 10 * time.Second},
		{at: 41 * time.Second, n: 3, ok: true, wait: 0, left: 0, until: 10 * time.Second},
	})
}

func TestFixedWindowExtremes(t *testing.T) {
	play(t, Policy{Quota: math.MaxInt64, Window: math.MaxInt64}, time.Time{}, []step{
		{at: 0, n: math.MaxInt64 - 1, ok: true, wait: 0, left: 1, until: math.MaxInt64},
		{at: 1, n: math.MaxInt64, ok: false, wait: math.MaxInt64 - 1, left: 1, until: math.MaxInt64 - 1},
		{at: math.MaxInt64 - 1, n: 2, ok: false, wait: 1, left: 1, until: 1},
		{at: math.MaxInt64, n: math.MaxInt64, ok: true, wait: 0, left: 0, until: math.MaxInt64},
	})
}
