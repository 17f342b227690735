package quota

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// maxSegments bounds the memory of a SlidingWindow, 8 bytes for each.
const maxSegments = 1 << 16

// SlidingWindowOptions are the options of a SlidingWindow.
type SlidingWindowOptions struct {
	Permits  int64         // granted in any Segments segments in a row; at least 1
	Window   time.Duration // how long the window is; more than 0
	Segments int           // how many parts it has: 1 to 65,536, and each at least 1 ns long
	Queue    Queue         // who waits; the zero Queue has room for DefaultMaxQueue permits
}

// A SlidingWindow grants so many permits in a window that moves on by one
// segment at a time. Segments follow each other from the moment on when the
// limiter was made; permits that were taken in one are back when it leaves the
// window. With a window of 3 s in 3 segments and 10 permits:
//
//	second     1  2  3  4  5
//	taken      3  4  3  3  4
//	available  7  3  0  0  0   at the end of the second
//
// In the 4th second the 3 of the first are back, in the 5th the 4 of the
// second. The more segments, the more evenly permits come back: in any time
// that is one segment shorter than the window, no more are granted than there
// are permits.
type SlidingWindow struct {
	limit
	window slidingMeter
}

// NewSlidingWindow returns a limiter whose permits are all there. The error
// says which option is out of range.
func NewSlidingWindow(o SlidingWindowOptions) (*SlidingWindow, error) {
	if err := errors.Join(
		atLeast("SlidingWindowOptions.Permits", o.Permits, 1),
		atLeast("SlidingWindowOptions.Window", o.Window, 1),
		atLeast("SlidingWindowOptions.Segments", o.Segments, 1),
		o.Queue.check("SlidingWindowOptions"),
	); err != nil {
		return nil, err
	}
	if o.Segments > maxSegments || int64(o.Segments) > int64(o.Window) {
		return nil, fmt.Errorf("quota: SlidingWindowOptions.Segments is %d; it takes at most %d, of 1ns each in a window of %v",
			o.Segments, maxSegments, o.Window)
	}
	s := &SlidingWindow{window: slidingMeter{
		permits: o.Permits,
		window:  o.Window,
		counts:  make([]int64, o.Segments),
	}}
	s.open(&s.window, o.Queue)
	return s, nil
}

// slidingMeter is the meter of a SlidingWindow. With the window w in s
// segments, segment i begins at i*w/s, computed anew for each, so that
// segments of an uneven length do not drift; what was taken in it is back when
// segment i+s begins.
type slidingMeter struct {
	permits int64
	window  time.Duration

	counts []int64 // taken in segment i, at i modulo their number
	used   int64   // their sum
	last   int64   // the newest segment
	full   instant // when the last of what was taken was back
}

// segment is the one that t falls into.
func (m *slidingMeter) segment(t instant) int64 {
	s, w := uint64(len(m.counts)), uint64(m.window)
	u := uint64(max(t, 0))
	hi, lo := bits.Mul64(u%w, s)
	part, _ := bits.Div64(hi, lo, w)
	return int64(u/w*s + part)
}

// begin is when segment i begins.
func (m *slidingMeter) begin(i int64) instant {
	s, w := uint64(len(m.counts)), uint64(m.window)
	hi, lo := bits.Mul64(uint64(i)%s, w)
	part, rest := bits.Div64(hi, lo, s)
	if rest > 0 {
		part++
	}
	return instant(times(m.window, uint64(i)/s)).Add(time.Duration(part))
}

// advance moves the window on to the segment of t.
func (m *slidingMeter) advance(t instant) {
	s, now := int64(len(m.counts)), m.segment(t)
	if now <= m.last || m.used == 0 {
		m.last = max(m.last, now)
		return
	}
	// All that is left of the window are the segments after now-s.
	for i := max(m.last-s+1, 0); i <= min(now-s, m.last); i++ {
		n := &m.counts[i%s]
		if m.used -= *n; *n > 0 {
			m.full = m.begin(i + s)
		}
		*n = 0
	}
	m.last = now
}

func (m *slidingMeter) most() int64 { return m.permits }

func (m *slidingMeter) available(t instant) int64 {
	m.advance(t)
	return max(m.permits-m.used, 0)
}

// wait: what is used is back segment by segment; what is there now, and goes
// to those ahead, is back when the present segment leaves the window; and all
// of it again a window later.
func (m *slidingMeter) wait(t instant, ahead, n int64) time.Duration {
	m.advance(t)
	need := sum(ahead, n)
	if need <= m.permits-m.used {
		return 0
	}
	t = max(t, m.begin(m.last))
	short := uint64(need) + uint64(m.used) - uint64(m.permits)
	if short <= uint64(m.used) {
		return time.Duration(m.back(int64(short)) - t)
	}
	whole, few := rounds(short, m.permits)
	return later(time.Duration(m.back(few)-t), m.window, whole)
}

// back is when n of the permits that are used now are back; of more than
// those, when the present segment leaves the window.
func (m *slidingMeter) back(n int64) instant {
	s := int64(len(m.counts))
	for i := max(m.last-s+1, 0); i < m.last; i++ {
		if n -= m.counts[i%s]; n <= 0 {
			return m.begin(i + s)
		}
	}
	return m.begin(m.last + s)
}

func (m *slidingMeter) take(t instant, n int64) uint32 {
	m.advance(t)
	n = min(n, math.MaxInt64-m.used)
	m.counts[m.last%int64(len(m.counts))] += n
	m.used += n
	return uint32(m.last)
}

// cancel gives the permits back to the segment that they were taken in. One
// that has left the window has given them back already.
func (m *slidingMeter) cancel(t instant, n int64, epoch uint32) {
	m.advance(t)
	ago := int64(uint32(m.last) - epoch)
	if ago >= int64(len(m.counts)) {
		return
	}
	count := &m.counts[(m.last-ago)%int64(len(m.counts))]
	n = min(n, *count)
	*count -= n
	if m.used -= n; m.used == 0 {
		m.full = max(m.full, t)
	}
}

func (m *slidingMeter) release(int64) bool { return false }

func (m *slidingMeter) idle(t instant) (since instant, ok bool) {
	m.advance(t)
	return m.full, m.used == 0
}
