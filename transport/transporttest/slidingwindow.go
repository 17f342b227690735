package transporttest

import (
	"math/bits"
	"time"
)

// A slidingWindow counts in windows that are aligned to the clock, as an
// alignedWindow does, and weighs the last one by how much of it lies within the
// length before now: with x, the time since the present window began,
//
//	used(x) = present + ⌈last × (length - x) / length⌉
type slidingWindow struct {
	quota int64
	clock alignedWindow // of which only startOf is used

	start   time.Time // of the present window
	last    int64     // units used in the window before
	present int64     // units used since start
}

func newSlidingWindow(quota int64, length time.Duration) *slidingWindow {
	return &slidingWindow{quota: quota, clock: alignedWindow{length: length}}
}

// turn brings the windows to now and returns the time since the present one began.
func (s *slidingWindow) turn(now time.Time) time.Duration {
	start := s.clock.startOf(now)
	if !start.Equal(s.start) {
		s.last = 0
		if start.Sub(s.start) == s.clock.length {
			s.last = s.present
		}
		s.start, s.present = start, 0
	}
	return now.Sub(start)
}

func (s *slidingWindow) available(now time.Time) int64 {
	x := s.turn(now)
	hi, lo := bits.Mul64(uint64(s.last), uint64(s.clock.length-x))
	weighed, rest := bits.Div64(hi, lo, uint64(s.clock.length))
	if rest > 0 {
		weighed++
	}
	return max(s.quota-s.present-int64(weighed), 0)
}

func (s *slidingWindow) charge(now time.Time, n int64) {
	s.turn(now)
	s.present += n
}

// window returns the rest of the present window, as such servers say it, whether
// or not more is available before.
func (s *slidingWindow) window(now time.Time) (time.Duration, bool) {
	return s.clock.length - s.turn(now), true
}

func (s *slidingWindow) wait(now time.Time, n int64) (time.Duration, bool) {
	x := s.turn(now)
	switch room := s.quota - s.present - n; {
	case n > s.quota:
		return 0, false
	case n <= s.available(now):
		return 0, true
	case room >= 0:
		return s.fits(s.last, room) - x, true
	}
	return s.clock.length - x + s.fits(s.present, s.quota-n), true
}

// fits returns the time since the beginning of a window from which on the last one
// weighs no more than room, which is less than it used.
func (s *slidingWindow) fits(last, room int64) time.Duration {
	hi, lo := bits.Mul64(uint64(room), uint64(s.clock.length))
	d, _ := bits.Div64(hi, lo, uint64(last))
	return s.clock.length - time.Duration(d)
}

// refuse counts what was refused, too.
func (s *slidingWindow) refuse(now time.Time, n int64) { s.charge(now, n) }
