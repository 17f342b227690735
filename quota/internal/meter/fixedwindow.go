package meter

import "time"

// A FixedWindow grants up to its capacity in each window of time. The first Take
// of at least one permit opens a window; all permits are back when it ends.
type FixedWindow struct {
	capacity int64
	window   time.Duration

	used  int64         // permits taken in the open window
	open  bool          // a window is open
	end   time.Duration // of the open window, or else of the one before
	epoch uint32        // number of windows opened
}

// NewFixedWindow returns a FixedWindow with all permits available. Both
// arguments are positive.
func NewFixedWindow(capacity int64, window time.Duration) *FixedWindow {
	return &FixedWindow{capacity: capacity, window: window}
}

// advance closes the window if it has ended at t.
func (m *FixedWindow) advance(t time.Duration) {
	if m.open && t >= m.end {
		m.open, m.used = false, 0
	}
}

// Capacity implements Meter.
func (m *FixedWindow) Capacity() int64 { return m.capacity }

// Allows implements Meter.
func (m *FixedWindow) Allows() (n, burst int64, period time.Duration) {
	return m.capacity, 0, m.window
}

// Available implements Meter.
func (m *FixedWindow) Available(t time.Duration) int64 {
	m.advance(t)
	return max(m.capacity-m.used, 0)
}

// Wait implements Meter. The permits that are missing come with the end of the
// window, and one capacity of them with the end of each window after it.
func (m *FixedWindow) Wait(t time.Duration, ahead, n int64) time.Duration {
	need, available := Add(ahead, n), m.Available(t)
	if need <= available {
		return 0
	}
	rest := m.window // if none is open, the requests ahead open one
	if m.open {
		rest = min(m.end-t, m.window)
	}
	full, _ := rounds(uint64(need)-uint64(available), m.capacity)
	return Add(rest, Mul(m.window, full))
}

// Take implements Meter.
func (m *FixedWindow) Take(t time.Duration, n int64) uint32 {
	m.advance(t)
	if n > 0 && !m.open {
		m.open, m.end = true, Add(max(t, m.end), m.window)
		m.epoch++
	}
	m.used = Add(m.used, n)
	return m.epoch
}

// Cancel implements Meter. The permits come back only while the window in which
// they were taken is open. If none of its permits is used any more, the window
// is closed: the next Take opens a new one.
func (m *FixedWindow) Cancel(t time.Duration, n int64, epoch uint32) {
	m.advance(t)
	if epoch != m.epoch || !m.open {
		return
	}
	m.used = max(m.used-n, 0)
	if m.used == 0 {
		m.open, m.end = false, min(m.end, t)
	}
}

// Release implements Meter.
func (m *FixedWindow) Release(int64) bool { return false }

// IdleSince implements Meter.
func (m *FixedWindow) IdleSince(t time.Duration) (since time.Duration, ok bool) {
	m.advance(t)
	return m.end, !m.open
}
