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

	// window returns the effective window (Section 3.1.2), as servers of the kind
	// say it. It reports false where there is none.
	window(now time.Time) (time.Duration, bool)

	// wait returns the time from now after which n units are available if
	// nothing is charged meanwhile. It reports false where they never are, or
	// nobody can say when.
	wait(now time.Time, n int64) (time.Duration, bool)
}

// A refuser is a meter to which it may matter what it has refused: n units, told
// where the policy has a Penalty.
type refuser interface {
	refuse(now time.Time, n int64)
}

// A holder is a meter of which a request holds n units until it is over.
type holder interface {
	done(n int64)
}

// newMeter returns the meter of a partition that has used nothing. It panics on
// an algorithm or a penalty that it does not know.
func newMeter(p Policy) meter {
	m := newLenient(p)
	switch p.Penalty {
	case NoPenalty, CountRefused:
		return m
	case Block, BlockLonger:
		return &blocking{meter: m, block: p.Block, longer: p.Penalty == BlockLonger}
	}
	panic("transporttest: unknown Penalty")
}

// newLenient returns the meter of a policy without regard for its penalty.
func newLenient(p Policy) meter {
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
		return &tokenBucket{burst: p.burst(min(quota, 1)), quota: quota, period: p.Window, whole: true}
	case SlidingLog:
		return &slidingLog{quota: quota, length: p.Window}
	case SlidingWindow:
		return newSlidingWindow(quota, p.Window)
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
