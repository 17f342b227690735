package transporttest

import "time"

// A Penalty says what it costs a partition to have had a request refused.
type Penalty int

const (
	// NoPenalty is nothing.
	NoPenalty Penalty = iota

	// CountRefused has a refused request counted like a served one. That matters
	// to SlidingLog and SlidingWindow, which refuse the next one for longer; the
	// quotas of the others are gone already, or hold what they hold.
	CountRefused

	// Block serves nothing until Policy.Block has passed since the last refusal.
	Block

	// BlockLonger is Block, for twice as long after each further refusal with
	// nothing served in between, up to 1024 times.
	BlockLonger
)

// A blocking meter is another one, and serves nothing while it is blocked.
type blocking struct {
	meter
	block  time.Duration
	longer bool

	until    time.Time
	refusals int // in a row, at most 10 beyond the first
}

// left returns for how long it is blocked.
func (b *blocking) left(now time.Time) time.Duration { return max(b.until.Sub(now), 0) }

func (b *blocking) available(now time.Time) int64 {
	if b.left(now) > 0 {
		return 0
	}
	return b.meter.available(now)
}

func (b *blocking) charge(now time.Time, n int64) {
	b.refusals = 0
	b.meter.charge(now, n)
}

// window returns the rest of the block, or of the meter's own window where that
// has nothing left and ends later.
func (b *blocking) window(now time.Time) (time.Duration, bool) {
	window, ok := b.meter.window(now)
	left := b.left(now)
	switch {
	case left == 0:
		return window, ok
	case ok && b.meter.available(now) == 0:
		return max(left, window), true
	}
	return left, true
}

func (b *blocking) wait(now time.Time, n int64) (time.Duration, bool) {
	wait, ok := b.meter.wait(now, n)
	return max(wait, b.left(now)), ok
}

// refuse begins the block anew.
func (b *blocking) refuse(now time.Time, _ int64) {
	d := b.block
	if b.longer {
		d <<= b.refusals
		b.refusals = min(b.refusals+1, 10)
	}
	b.until = now.Add(d)
}

func (b *blocking) done(n int64) { b.meter.(holder).done(n) }
