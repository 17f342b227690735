package meter

import "time"

// A TokenBucket grants permits from a bucket that is full at first and gets
// perPeriod permits at the end of each period, up to its capacity:
// https://en.wikipedia.org/wiki/Token_bucket in whole permits.
//
// Let m be the instant at which the present period began and p its length. Then
// the bucket has level permits until m+p, and perPeriod more from then on. The
// instant m moves by whole periods only, so that it does not drift. While the
// bucket is full there are no periods: the next Take begins one.
type TokenBucket struct {
	capacity  int64
	perPeriod int64
	period    time.Duration

	level int64         // permits in the bucket; negative, to -capacity, after a forced Take
	begun time.Duration // when the present period began; if the bucket is full, when it became so
	fills uint32        // number of refills
	peaks []peak        // the highest levels after refills; the oldest first
}

// A peak is a refill that left level permits in the bucket, more than any later
// one. It stands for all refills after the peak before it, which left no more.
type peak struct {
	fill  uint32 // number of the refill
	level int64
}

// maxPeaks bounds the memory of a TokenBucket. If there are more peaks, the
// oldest two are merged into one of the higher level; a Cancel then returns
// fewer permits than it could.
const maxPeaks = 16

// NewTokenBucket returns a TokenBucket that is full. All arguments are positive.
func NewTokenBucket(capacity, perPeriod int64, period time.Duration) *TokenBucket {
	return &TokenBucket{capacity: capacity, perPeriod: perPeriod, period: period, level: capacity}
}

func (m *TokenBucket) full() bool { return m.level >= m.capacity }

// advance refills the bucket for the periods that have ended at t.
func (m *TokenBucket) advance(t time.Duration) {
	if m.full() || t < Add(m.begun, m.period) {
		return
	}
	short := uint64(m.capacity) - uint64(m.level)
	periods := uint64(t-m.begun) / uint64(m.period)
	filling := (short-1)/uint64(m.perPeriod) + 1 // periods until the bucket is full
	if periods >= filling {
		m.level, m.begun = m.capacity, Add(m.begun, Mul(m.period, filling))
	} else {
		m.level += int64(periods * uint64(m.perPeriod)) // less than short
		m.begun = Add(m.begun, Mul(m.period, periods))
	}
	m.fills++
	m.recordPeak()
}

// recordPeak records the level after a refill.
func (m *TokenBucket) recordPeak() {
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

// Capacity implements Meter.
func (m *TokenBucket) Capacity() int64 { return m.capacity }

// Allows implements Meter.
func (m *TokenBucket) Allows() (n, burst int64, period time.Duration) {
	return m.perPeriod, m.capacity, m.period
}

// Available implements Meter.
func (m *TokenBucket) Available(t time.Duration) int64 {
	m.advance(t)
	return max(m.level, 0)
}

// Wait implements Meter.
func (m *TokenBucket) Wait(t time.Duration, ahead, n int64) time.Duration {
	m.advance(t)
	need := Add(ahead, n)
	if need <= m.level {
		return 0
	}
	t = max(t, m.begun)
	begun := m.begun
	if m.full() {
		begun = t
	}
	periods := (uint64(need)-uint64(m.level)-1)/uint64(m.perPeriod) + 1
	return Add(begun, Mul(m.period, periods)) - t
}

// Take implements Meter. The debt of forced requests is at most the capacity.
func (m *TokenBucket) Take(t time.Duration, n int64) uint32 {
	m.advance(t)
	if n > 0 && m.full() {
		m.begun = max(t, m.begun)
	}
	if n = min(n, m.capacity); m.level < n-m.capacity {
		m.level = -m.capacity
	} else {
		m.level -= n
	}
	return m.fills
}

// Cancel implements Meter. It raises the level to what it would be without the
// Take. That is less than n more if a refill since then ran over, or would have
// run over without the Take: a refill that left h permits leaves at most
// capacity-h of the n to return. Without the Take it would have left so many
// more, which is recorded for the next Cancel.
func (m *TokenBucket) Cancel(t time.Duration, n int64, epoch uint32) {
	m.advance(t)
	back := n
	for i := range m.peaks {
		p := &m.peaks[i]
		if int32(p.fill-epoch) <= 0 {
			continue
		}
		if p.level > m.capacity-back {
			back = m.capacity - p.level
		}
		p.level += back
	}
	if back > 0 && m.level >= m.capacity-back {
		m.level, m.begun = m.capacity, max(t, m.begun)
		return
	}
	m.level += back
}

// Release implements Meter.
func (m *TokenBucket) Release(int64) bool { return false }

// IdleSince implements Meter.
func (m *TokenBucket) IdleSince(t time.Duration) (since time.Duration, ok bool) {
	m.advance(t)
	return m.begun, m.full()
}
