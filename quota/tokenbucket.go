package quota

import (
	"errors"
	"time"
)

// TokenBucketOptions are the options of a TokenBucket.
type TokenBucketOptions struct {
	Permits   int64         // that the bucket holds: the largest burst; at least 1
	PerPeriod int64         // that are added in each period; at least 1
	Period    time.Duration // how long a period is; more than 0
	Queue     Queue         // who waits; the zero Queue has room for DefaultMaxQueue permits
}

// A TokenBucket grants permits from a bucket that is full at first, and to
// which so many are added after each period, up to what it holds. Periods are
// counted from when the bucket was last full.
//
// In a time of d, no more than Permits + PerPeriod*(d/Period rounded up)
// permits are granted.
type TokenBucket struct {
	limit
	bucket bucketMeter
}

// NewTokenBucket returns a limiter with a full bucket. The error says which
// option is out of range.
func NewTokenBucket(o TokenBucketOptions) (*TokenBucket, error) {
	if err := errors.Join(
		atLeast("TokenBucketOptions.Permits", o.Permits, 1),
		atLeast("TokenBucketOptions.PerPeriod", o.PerPeriod, 1),
		atLeast("TokenBucketOptions.Period", o.Period, 1),
		o.Queue.check("TokenBucketOptions"),
	); err != nil {
		return nil, err
	}
	b := &TokenBucket{bucket: bucketMeter{
		permits:   o.Permits,
		perPeriod: o.PerPeriod,
		period:    o.Period,
		level:     o.Permits,
	}}
	b.open(&b.bucket, o.Queue)
	return b, nil
}

// bucketMeter is the meter of a TokenBucket: https://en.wikipedia.org/wiki/Token_bucket
// in whole permits. With the instant m at which the present period began and a
// period of p, there are level permits until m+p, then perPeriod more, but
// never more than the bucket holds. Instants move by whole periods, so nothing
// drifts.
type bucketMeter struct {
	permits   int64
	perPeriod int64
	period    time.Duration

	level int64   // permits there; negative, to -permits, after a forced charge
	mark  instant // when the present period began; where the bucket is full, when it became so
	fills uint32  // counts refills
	peaks []peak  // how high refills reached; the latest last
}

// A peak says that no refill after the peak before it, up to the one of this
// number, left more than so many permits in the bucket, and that this one did.
// Levels fall from peak to peak.
type peak struct {
	fill  uint32
	level int64
}

// maxPeaks bounds what is remembered of the past. Beyond it, two peaks are
// taken for one of the higher level: a cancellation then gives back less.
const maxPeaks = 16

func (m *bucketMeter) full() bool { return m.level >= m.permits }

// advance refills the bucket as of t.
func (m *bucketMeter) advance(t instant) {
	if m.full() || t < m.mark.Add(m.period) {
		return
	}
	short := uint64(m.permits) - uint64(m.level)
	periods := uint64(t-m.mark) / uint64(m.period)
	filling := (short-1)/uint64(m.perPeriod) + 1 // periods until the bucket is full
	if periods >= filling {
		m.level, m.mark = m.permits, m.mark.Add(times(m.period, filling))
	} else {
		m.level += int64(periods * uint64(m.perPeriod)) // less than short
		m.mark = m.mark.Add(times(m.period, periods))
	}
	m.fills++
	m.remember()
}

// remember notes how high the last refill reached.
func (m *bucketMeter) remember() {
	ps := m.peaks
	for len(ps) > 0 && ps[len(ps)-1].level <= m.level {
		ps = ps[:len(ps)-1]
	}
	if len(ps) == maxPeaks {
		ps[1].level = max(ps[0].level, ps[1].level)
		ps = append(ps[:0], ps[1:]...)
	}
	m.peaks = append(ps, peak{m.fills, m.level})
}

func (m *bucketMeter) most() int64 { return m.permits }

func (m *bucketMeter) available(t instant) int64 {
	m.advance(t)
	return max(m.level, 0)
}

func (m *bucketMeter) wait(t instant, ahead, n int64) time.Duration {
	m.advance(t)
	need := sum(ahead, n)
	if need <= m.level {
		return 0
	}
	t = max(t, m.mark)
	begun := m.mark
	if m.full() {
		begun = t
	}
	periods := (uint64(need)-uint64(m.level)-1)/uint64(m.perPeriod) + 1
	return time.Duration(begun.Add(times(m.period, periods)) - t)
}

func (m *bucketMeter) take(t instant, n int64) uint32 {
	m.advance(t)
	if n > 0 && m.full() {
		m.mark = max(t, m.mark)
	}
	if n = min(n, m.permits); m.level < n-m.permits {
		m.level = -m.permits
	} else {
		m.level -= n
	}
	return m.fills
}

// cancel gives back what the bucket would hold now without the charge, and no
// more: a refill that ran over, or would have run over without the charge, has
// given some of it back already. At each refill since that left h permits,
// what is missing becomes at most permits-h, and without the charge it would
// have left that much more.
func (m *bucketMeter) cancel(t instant, n int64, epoch uint32) {
	m.advance(t)
	back := n
	for i := range m.peaks {
		p := &m.peaks[i]
		if int32(p.fill-epoch) <= 0 {
			continue
		}
		if p.level > m.permits-back {
			back = m.permits - p.level
		}
		p.level += back
	}
	if back > 0 && m.level >= m.permits-back {
		m.level, m.mark = m.permits, max(t, m.mark)
		return
	}
	m.level += back
}

func (m *bucketMeter) release(int64) bool { return false }

func (m *bucketMeter) idle(t instant) (since instant, ok bool) {
	m.advance(t)
	return m.mark, m.full()
}
