package meter

import "time"

// A Concurrency grants permits that stay taken until they are released. It
// ignores the time.
type Concurrency struct {
	capacity int64
	taken    int64
}

// NewConcurrency returns a Concurrency with all permits available. The capacity
// is positive.
func NewConcurrency(capacity int64) *Concurrency { return &Concurrency{capacity: capacity} }

// Capacity implements Meter.
func (m *Concurrency) Capacity() int64 { return m.capacity }

// Allows implements Meter.
func (m *Concurrency) Allows() (n, burst int64, period time.Duration) {
	return m.capacity, 0, 0
}

// Available implements Meter.
func (m *Concurrency) Available(time.Duration) int64 { return max(m.capacity-m.taken, 0) }

// Wait implements Meter.
func (m *Concurrency) Wait(_ time.Duration, ahead, n int64) time.Duration {
	if Add(ahead, n) <= m.capacity-m.taken {
		return 0
	}
	return UntilRelease
}

// TryTake takes n permits, if they are available and one is, and reports whether it did.
func (m *Concurrency) TryTake(n int64) bool {
	if max(n, 1) > m.capacity-m.taken {
		return false
	}
	m.taken += n
	return true
}

// Take implements Meter.
func (m *Concurrency) Take(_ time.Duration, n int64) uint32 {
	m.taken = Add(m.taken, n)
	return 0
}

// Cancel implements Meter.
func (m *Concurrency) Cancel(_ time.Duration, n int64, _ uint32) { m.Release(n) }

// Release implements Meter.
func (m *Concurrency) Release(n int64) (all bool) {
	m.taken = max(m.taken-n, 0)
	return m.taken == 0
}

// IdleSince implements Meter.
func (m *Concurrency) IdleSince(time.Duration) (since time.Duration, ok bool) {
	return 0, m.taken == 0
}
