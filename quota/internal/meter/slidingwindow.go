package meter

import (
	"math/bits"
	"time"
)

// MaxSegments is the largest number of segments of a SlidingWindow. Each takes 8
// bytes of memory.
const MaxSegments = 1 << 16

// A SlidingWindow grants up to its capacity in any window, where the window
// moves by one segment at a time.
//
// With a window of length w in s segments, segment i begins at i*w/s, rounded up
// to a nanosecond. That is computed anew for each segment, so that the rounding
// does not add up. The permits that were taken in segment i are back when
// segment i+s begins.
type SlidingWindow struct {
	capacity int64
	window   time.Duration

	taken []int64       // permits taken in segment i, at index i modulo len(taken)
	used  int64         // sum of taken
	last  int64         // the newest segment
	full  time.Duration // when the last of the permits was back
}

// NewSlidingWindow returns a SlidingWindow with all permits available. All
// arguments are positive; segments is at most MaxSegments, and at most the
// window in nanoseconds.
func NewSlidingWindow(capacity int64, window time.Duration, segments int) *SlidingWindow {
	return &SlidingWindow{capacity: capacity, window: window, taken: make([]int64, segments)}
}

// segment returns the segment that contains t.
func (m *SlidingWindow) segment(t time.Duration) int64 {
	s, w := uint64(len(m.taken)), uint64(m.window)
	u := uint64(max(t, 0))
	hi, lo := bits.Mul64(u%w, s)
	part, _ := bits.Div64(hi, lo, w)
	return int64(u/w*s + part)
}

// begin returns when segment i begins.
func (m *SlidingWindow) begin(i int64) time.Duration {
	s, w := uint64(len(m.taken)), uint64(m.window)
	hi, lo := bits.Mul64(uint64(i)%s, w)
	part, rest := bits.Div64(hi, lo, s)
	if rest > 0 {
		part++
	}
	return Add(Mul(m.window, uint64(i)/s), time.Duration(part))
}

// advance moves the window to the segment of t, and drops from the sum what was
// taken in the segments that leave it.
func (m *SlidingWindow) advance(t time.Duration) {
	s, now := int64(len(m.taken)), m.segment(t)
	if now <= m.last || m.used == 0 {
		m.last = max(m.last, now)
		return
	}
	// The window keeps the segments after now-s.
	for i := max(m.last-s+1, 0); i <= min(now-s, m.last); i++ {
		n := &m.taken[i%s]
		if m.used -= *n; *n > 0 {
			m.full = m.begin(i + s)
		}
		*n = 0
	}
	m.last = now
}

// Capacity implements Meter.
func (m *SlidingWindow) Capacity() int64 { return m.capacity }

// Allows implements Meter.
func (m *SlidingWindow) Allows() (n, burst int64, period time.Duration) {
	return m.capacity, 0, m.window
}

// Available implements Meter.
func (m *SlidingWindow) Available(t time.Duration) int64 {
	m.advance(t)
	return max(m.capacity-m.used, 0)
}

// Wait implements Meter. Used permits are back segment by segment. Permits that
// are available now and go to the requests ahead are back when the present
// segment leaves the window. From then on all of that repeats a window later.
func (m *SlidingWindow) Wait(t time.Duration, ahead, n int64) time.Duration {
	m.advance(t)
	need := Add(ahead, n)
	if need <= m.capacity-m.used {
		return 0
	}
	t = max(t, m.begin(m.last))
	short := uint64(need) + uint64(m.used) - uint64(m.capacity)
	if short <= uint64(m.used) {
		return m.back(int64(short)) - t
	}
	over := max(m.used-m.capacity, 0) // forced: it is back with the rest
	full, last := rounds(short-uint64(over), m.capacity)
	last += over
	return Add(m.back(last)-t, Mul(m.window, full))
}

// back returns when n of the used permits are back. If n is larger than their
// number, it returns when the present segment leaves the window.
func (m *SlidingWindow) back(n int64) time.Duration {
	s := int64(len(m.taken))
	for i := max(m.last-s+1, 0); i < m.last; i++ {
		if n -= m.taken[i%s]; n <= 0 {
			return m.begin(i + s)
		}
	}
	return m.begin(m.last + s)
}

// Take implements Meter.
func (m *SlidingWindow) Take(t time.Duration, n int64) uint32 {
	m.advance(t)
	n = Add(m.used, n) - m.used
	m.taken[m.last%int64(len(m.taken))] += n
	m.used += n
	return uint32(m.last)
}

// Cancel implements Meter. The permits come back only while the segment in which
// they were taken is in the window.
func (m *SlidingWindow) Cancel(t time.Duration, n int64, epoch uint32) {
	m.advance(t)
	ago := int64(uint32(m.last) - epoch)
	if ago >= int64(len(m.taken)) {
		return
	}
	taken := &m.taken[(m.last-ago)%int64(len(m.taken))]
	n = min(n, *taken)
	*taken -= n
	if m.used -= n; m.used == 0 {
		m.full = max(m.full, t)
	}
}

// Release implements Meter.
func (m *SlidingWindow) Release(int64) bool { return false }

// IdleSince implements Meter.
func (m *SlidingWindow) IdleSince(t time.Duration) (since time.Duration, ok bool) {
	m.advance(t)
	return m.full, m.used == 0
}
