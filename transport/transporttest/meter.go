package transporttest

import "time"

// A meter counts one quota in one partition. The caller holds [API].mu and never
// passes a time before an earlier one. Amounts are in quota units and never negative.
type meter interface {
	// available returns the units left at now.
	available(now time.Time) int64

	// charge takes n units; n is at most the available amount.
	charge(now time.Time, n int64)

	// window returns the effective window (Section 3.1.2) as servers with this
	// algorithm advertise it. It reports false if there is none.
	window(now time.Time) (time.Duration, bool)

	// wait returns the time from now until n units are available if nothing else
	// is charged. It reports false if they never will be, or if the time is
	// unknown.
	wait(now time.Time, n int64) (time.Duration, bool)
}

// A refusalCounter is a meter that can charge a refused request of n units as if it
// had been served.
type refusalCounter interface {
	countRefused(now time.Time, n int64)
}

// A releaser is a meter whose units a request retains until it is over.
type releaser interface {
	release(n int64)
}

// newMeter returns the meter of an unused partition. It panics if the algorithm is
// unknown.
func newMeter(p Policy) meter {
	m := newUnpenalized(p)
	if p.CountRefused || p.Block > 0 {
		return &penalized{meter: m, count: p.CountRefused, block: p.Block, longer: p.BlockLonger}
	}
	return m
}

// newUnpenalized is newMeter without the penalties.
func newUnpenalized(p Policy) meter {
	quota := max(p.Quota, 0)
	if p.Algorithm == Concurrency {
		return &concurrency{quota: quota}
	}
	if p.Window <= 0 {
		return &budget{left: quota}
	}
	switch p.Algorithm {
	case FixedWindow:
		return &fixedWindow{quota: quota, length: p.Window}
	case AlignedWindow:
		return &alignedWindow{quota: quota, length: p.Window}
	case TokenBucket:
		return &tokenBucket{burst: p.burst(quota), quota: quota, period: p.Window}
	case GCRA:
		return &tokenBucket{burst: p.burst(min(quota, 1)), quota: quota, period: p.Window, untilFull: true}
	case SlidingLog:
		return &slidingLog{quota: quota, length: p.Window}
	case SlidingWindow:
		return newSlidingWindow(quota, p.Window)
	}
	panic("transporttest: unknown Algorithm")
}

// A budget is a quota without a window: used units do not come back.
type budget struct {
	left int64
}

func (b *budget) available(time.Time) int64 { return b.left }

func (b *budget) charge(_ time.Time, n int64) { b.left -= n }

func (b *budget) window(time.Time) (time.Duration, bool) { return 0, false }

func (b *budget) wait(_ time.Time, n int64) (time.Duration, bool) { return 0, n <= b.left }
