package transporttest

import "time"

// A penalized meter wraps the meter of a policy that penalizes refused requests. It
// grants nothing while it is blocked.
type penalized struct {
	meter
	count  bool          // refused requests are charged, if the meter can do so
	block  time.Duration // after each refusal; 0 or negative: no block
	longer bool          // the block doubles with each refusal in a row

	until    time.Time
	refusals int // in a row, after the first; at most 10
}

// left returns the time until the block ends.
func (p *penalized) left(now time.Time) time.Duration { return max(p.until.Sub(now), 0) }

func (p *penalized) available(now time.Time) int64 {
	if p.left(now) > 0 {
		return 0
	}
	return p.meter.available(now)
}

func (p *penalized) charge(now time.Time, n int64) {
	p.refusals = 0
	p.meter.charge(now, n)
}

// window returns the time until the block ends. If the meter has nothing left and its
// window ends later, window returns the time until then.
func (p *penalized) window(now time.Time) (time.Duration, bool) {
	window, ok := p.meter.window(now)
	left := p.left(now)
	switch {
	case left == 0:
		return window, ok
	case ok && p.meter.available(now) == 0:
		return max(left, window), true
	}
	return left, true
}

func (p *penalized) wait(now time.Time, n int64) (time.Duration, bool) {
	wait, ok := p.meter.wait(now, n)
	return max(wait, p.left(now)), ok
}

// refuse charges a refused request of n units, if refusals count, and restarts the
// block.
func (p *penalized) refuse(now time.Time, n int64) {
	if m, ok := p.meter.(refusalCounter); ok && p.count {
		m.countRefused(now, n)
	}
	if p.block <= 0 {
		return
	}
	d := p.block
	if p.longer {
		d <<= p.refusals
		p.refusals = min(p.refusals+1, 10)
	}
	p.until = now.Add(d)
}

func (p *penalized) release(n int64) { p.meter.(releaser).release(n) }
