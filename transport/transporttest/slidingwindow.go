package transporttest

import (
	"math/bits"
	"time"
)

// A slidingWindow counts in windows aligned to the clock, as an alignedWindow does.
// It adds the part of the previous window that lies within length before now. With x
// as the time since the current window started:
//
//	used(x) = current + ⌈previous × (length - x) / length⌉
type slidingWindow struct {
	quota int64
	clock alignedWindow // only its startOf is used

	start    time.Time // of the current window
	previous int64     // units used in the window before
	current  int64     // units used since start
}

func newSlidingWindow(quota int64, length time.Duration) *slidingWindow {
	return &slidingWindow{quota: quota, clock: alignedWindow{length: length}}
}

// advance moves the windows to now and returns the time since the current one started.
func (s *slidingWindow) advance(now time.Time) time.Duration {
	start := s.clock.startOf(now)
	if !start.Equal(s.start) {
		s.previous = 0
		if start.Sub(s.start) == s.clock.length {
			s.previous = s.current
		}
		s.start, s.current = start, 0
	}
	return now.Sub(start)
}

func (s *slidingWindow) available(now time.Time) int64 {
	x := s.advance(now)
	hi, lo := bits.Mul64(uint64(s.previous), uint64(s.clock.length-x))
	part, rest := bits.Div64(hi, lo, uint64(s.clock.length))
	if rest > 0 {
		part++
	}
	return max(s.quota-s.current-int64(part), 0)
}

func (s *slidingWindow) charge(now time.Time, n int64) {
	s.advance(now)
	s.current += n
}

// window returns the rest of the current window, as servers with this algorithm
// advertise it, although units come back before its end.
func (s *slidingWindow) window(now time.Time) (time.Duration, bool) {
	return s.clock.length - s.advance(now), true
}

func (s *slidingWindow) wait(now time.Time, n int64) (time.Duration, bool) {
	x := s.advance(now)
	switch room := s.quota - s.current - n; {
	case n > s.quota:
		return 0, false
	case n <= s.available(now):
		return 0, true
	case room >= 0:
		return s.fits(s.previous, room) - x, true
	}
	return s.clock.length - x + s.fits(s.current, s.quota-n), true
}

// fits returns how long after its start a window counts at most room units of the
// previous window, which used more than room.
func (s *slidingWindow) fits(previous, room int64) time.Duration {
	hi, lo := bits.Mul64(uint64(room), uint64(s.clock.length))
	d, _ := bits.Div64(hi, lo, uint64(previous))
	return s.clock.length - time.Duration(d)
}

func (s *slidingWindow) countRefused(now time.Time, n int64) { s.charge(now, n) }
