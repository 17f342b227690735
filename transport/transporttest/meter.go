package transporttest

import "time"

// A meter is the arithmetic of one quota in one partition. Its callers hold
// [API].mu and never pass a now before an earlier one. Amounts are in quota
// units and never negative.
type meter interface {
	// available returns what is left at now.
	available(now time.Time) int64

	// charge takes n units, which are at most the available ones.
	charge(now time.Time, n int64)

	// window returns the effective window (Section 3.1.2): the time from now
	// after which more may be available without anything being given back. It
	// reports false where no such time exists.
	window(now time.Time) (time.Duration, bool)

	// wait returns the time from now after which n units are available if
	// nothing is charged meanwhile. It reports false where they never are.
	wait(now time.Time, n int64) (time.Duration, bool)
}

// newMeter returns the meter of a partition that has used nothing. It panics on
// an algorithm that it does not know.
func newMeter(p Policy) meter {
	quota := max(p.Quota, 0)
	if p.Window <= 0 {
		return &budget{left: quota}
	}
	switch p.Algorithm {
	case FixedWindow:
		return &fixedWindow{quota: quota, length: p.Window}
	case AlignedWindow:
		return &alignedWindow{quota: quota, length: p.Window}
	case TokenBucket:
		return &tokenBucket{burst: quota, period: p.Window}
	}
	panic("transporttest: unknown Algorithm")
}

// A budget is a quota without a window: what is used is gone.
type budget struct {
	left int64
}

func (b *budget) available(time.Time) int64 { return b.left }

func (b *budget) charge(_ time.Time, n int64) { b.left -= n }

func (b *budget) window(time.Time) (time.Duration, bool) { return 0, false }

func (b *budget) wait(_ time.Time, n int64) (time.Duration, bool) { return 0, n <= b.left }
