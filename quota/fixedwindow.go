package quota

import (
	"errors"
	"math"
	"time"
)

// FixedWindowOptions are the options of a FixedWindow.
type FixedWindowOptions struct {
	Permits int64         // granted in each window; at least 1
	Window  time.Duration // how long a window is; more than 0
	Queue   Queue         // who waits; the zero Queue has room for DefaultMaxQueue permits
}

// A FixedWindow grants so many permits in each window of time. A window begins
// with the first grant after the one before has ended; when it ends, all
// permits are back at once.
//
// Around the end of a window, up to twice the permits may go within a short
// time. A SlidingWindow allows less of that, a TokenBucket no more than its
// burst.
type FixedWindow struct {
	limit
	window fixedMeter
}

// NewFixedWindow returns a limiter whose permits are all there. The error says
// which option is out of range.
func NewFixedWindow(o FixedWindowOptions) (*FixedWindow, error) {
	if err := errors.Join(
		atLeast("FixedWindowOptions.Permits", o.Permits, 1),
		atLeast("FixedWindowOptions.Window", o.Window, 1),
		o.Queue.check("FixedWindowOptions"),
	); err != nil {
		return nil, err
	}
	f := &FixedWindow{window: fixedMeter{permits: o.Permits, window: o.Window}}
	f.open(&f.window, o.Queue)
	return f, nil
}

// fixedMeter is the meter of a FixedWindow. With the window's beginning b and
// its length w, used of the permits are back at b + w.
type fixedMeter struct {
	permits int64
	window  time.Duration

	used  int64
	begun bool    // a window is open
	end   instant // of the window that is open, or of the one before
	epoch uint32  // counts windows
}

func (m *fixedMeter) roll(t instant) {
	if m.begun && t >= m.end {
		m.begun, m.used = false, 0
	}
}

func (m *fixedMeter) most() int64 { return m.permits }

func (m *fixedMeter) available(t instant) int64 {
	m.roll(t)
	return max(m.permits-m.used, 0)
}

func (m *fixedMeter) wait(t instant, ahead, n int64) time.Duration {
	need, there := sum(ahead, n), m.available(t)
	if need <= there {
		return 0
	}
	rest := m.window // of a window that begins now
	if m.begun {
		rest = min(time.Duration(m.end-t), m.window)
	}
	whole, _ := rounds(uint64(need)-uint64(there), m.permits)
	return later(rest, m.window, whole)
}

func (m *fixedMeter) take(t instant, n int64) uint32 {
	m.roll(t)
	if n > 0 && !m.begun {
		m.begun, m.end = true, max(t, m.end).Add(m.window)
		m.epoch++
	}
	m.used += min(n, math.MaxInt64-m.used)
	return m.epoch
}

// cancel gives the permits back to the window that they were taken in. One
// that nothing is left of has not begun.
func (m *fixedMeter) cancel(t instant, n int64, epoch uint32) {
	m.roll(t)
	if epoch != m.epoch || !m.begun {
		return
	}
	m.used = max(m.used-n, 0)
	if m.used == 0 {
		m.begun, m.end = false, min(m.end, t)
	}
}

func (m *fixedMeter) release(int64) bool { return false }

func (m *fixedMeter) idle(t instant) (since instant, ok bool) {
	m.roll(t)
	return m.end, !m.begun
}
