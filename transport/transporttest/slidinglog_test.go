package transporttest

import (
	"testing"
	"time"
)

func TestSlidingLog(t *testing.T) {
	p := Policy{Quota: 3, Window: 10 * time.Second, Algorithm: SlidingLog}
	play(t, p, epoch, []step{
		{at: 0, n: 4, ok: false, wait: never, left: 3, until: none},
		{at: 0, n: 0, ok: true, wait: 0, left: 3, until: none},
		{at: 0, n: 2, ok: true, wait: 0, left: 1, until: 10 * time.Second},
		{at: 4 * time.Second, n: 2, ok: false, wait: 6 * time.Second, left: 1, until: 6 * time.Second},
		{at: 4 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 6 * time.Second},
		{at: 10*time.Second - 1, n: 1, ok: false, wait: 1, left: 0, until: 1},
		// The first two units come back, the third at 14 s.
		{at: 10 * time.Second, n: 3, ok: false, wait: 4 * time.Second, left: 2, until: 4 * time.Second},
		{at: 10 * time.Second, n: 2, ok: true, wait: 0, left: 0, until: 4 * time.Second},
		{at: 14 * time.Second, n: 1, ok: true, wait: 0, left: 0, until: 6 * time.Second},
		{at: 14 * time.Second, n: 3, ok: false, wait: 10 * time.Second, left: 0, until: 6 * time.Second},
		{at: 60 * time.Second, n: 3, ok: true, wait: 0, left: 0, until: 10 * time.Second},
	})
}
