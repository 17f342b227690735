package quota

import (
	"errors"
	"math"
	"time"
)

// ConcurrencyOptions are the options of a Concurrency.
type ConcurrencyOptions struct {
	Permits int64 // that are out at a time; at least 1
	Queue   Queue // who waits; the zero Queue has room for DefaultMaxQueue permits
}

// A Concurrency is a limit on what is going on at a time: so many permits are
// out at once, and they come back when their leases are released.
type Concurrency struct {
	limit
	permits concurrencyMeter
}

// NewConcurrency returns a limiter whose permits are all there. The error says
// which option is out of range.
func NewConcurrency(o ConcurrencyOptions) (*Concurrency, error) {
	if err := errors.Join(
		atLeast("ConcurrencyOptions.Permits", o.Permits, 1),
		o.Queue.check("ConcurrencyOptions"),
	); err != nil {
		return nil, err
	}
	c := &Concurrency{permits: concurrencyMeter{permits: o.Permits}}
	c.held = true
	c.open(&c.permits, o.Queue)
	return c, nil
}

// TryAcquire implements Limiter.
func (c *Concurrency) TryAcquire(n int64) (lease *Lease, err error) {
	if err = c.take(n); err == nil { // see limit.TryAcquire
		lease = &Lease{own: &c.limit, units: n}
	}
	return
}

// take is the way of those whom nothing stands in the way of, without a detour
// through the meter.
func (c *Concurrency) take(n int64) error {
	c.guard.Lock()
	if m := &c.permits; n >= 1 && n <= m.permits-m.out && c.line == nil && !c.closed {
		m.out += n
		c.granted++
		c.guard.Unlock()
		return nil
	}
	c.guard.Unlock()
	return c.limit.tryAcquire(new(Lease), n) // of as many permits, held as c holds them
}

// Available is how many permits are not out.
func (c *Concurrency) Available() int64 {
	c.guard.Lock()
	defer c.guard.Unlock()
	return c.permits.available(0)
}

// concurrencyMeter is the meter of a Concurrency. It needs no clock.
type concurrencyMeter struct {
	permits int64
	out     int64
}

func (m *concurrencyMeter) most() int64             { return m.permits }
func (m *concurrencyMeter) available(instant) int64 { return max(m.permits-m.out, 0) }

func (m *concurrencyMeter) wait(_ instant, ahead, n int64) time.Duration {
	if sum(ahead, n) <= m.permits-m.out {
		return 0
	}
	return onRelease
}

func (m *concurrencyMeter) take(_ instant, n int64) uint32 {
	m.out += min(n, math.MaxInt64-m.out)
	return 0
}

func (m *concurrencyMeter) release(n int64) (all bool) {
	m.out = max(m.out-n, 0)
	return m.out == 0
}

func (m *concurrencyMeter) cancel(_ instant, n int64, _ uint32)   { m.release(n) }
func (m *concurrencyMeter) idle(instant) (since instant, ok bool) { return 0, m.out == 0 }
