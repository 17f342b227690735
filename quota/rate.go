package quota

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/headway-go/headway/quota/internal/meter"
)

// Rate makes a Limiter of a *rate.Limiter (golang.org/x/time/rate), which must not
// be nil, so that it can be checked together with other limits, and charged only if
// none of them refuses. Of several Options the last ones count.
//
// The rate.Limiter may also be used directly, and its limit and burst may
// change: a request that waits finds a raised limit within a second. If a token is
// taken directly after the Rate found it available, the Rate still charges it: the
// rate.Limiter goes into debt, and later requests wait longer.
func Rate(l *rate.Limiter, o ...Options) *Limit {
	r := new(Limit)
	m := &rateMeter{limiter: l, made: time.Now()}
	r.recheck = time.Second
	r.open(r, m, last(o))
	r.made = m.made // one origin of their instants
	return r
}

// rateMeter is the meter of a Rate.
type rateMeter struct {
	limiter *rate.Limiter
	made    time.Time
	used    time.Duration // the last Take or Cancel
}

// Allows says what is allowed at present.
func (m *rateMeter) Allows() (n, burst int64, period time.Duration) {
	switch limit := m.limiter.Limit(); {
	case limit == rate.Inf:
		return 0, 0, 0
	case limit <= 0:
		return 0, int64(m.limiter.Burst()), time.Second
	}
	nanos := min(max(float64(time.Second)/float64(m.limiter.Limit()), 1), math.MaxInt64/2)
	return 1, int64(m.limiter.Burst()), time.Duration(nanos)
}

func (m *rateMeter) when(t time.Duration) time.Time { return m.made.Add(t) }

// Capacity returns the burst: a rate.Limiter never grants more at once, unless
// its limit is infinite.
func (m *rateMeter) Capacity() int64 {
	if m.limiter.Limit() == rate.Inf {
		return math.MaxInt32
	}
	return int64(m.limiter.Burst())
}

func (m *rateMeter) Available(t time.Duration) int64 {
	if m.limiter.Limit() == rate.Inf {
		return math.MaxInt32
	}
	return int64(max(m.limiter.TokensAt(m.when(t)), 0))
}

func (m *rateMeter) Wait(t time.Duration, ahead, n int64) time.Duration {
	limit := m.limiter.Limit()
	if limit == rate.Inf {
		return 0
	}
	short := float64(ahead) + float64(n) - m.limiter.TokensAt(m.when(t))
	switch {
	case n > int64(m.limiter.Burst()):
		return meter.Never // the burst was lowered
	case short <= 0:
		return 0
	case limit <= 0:
		return time.Minute // the limit may be raised
	}
	// One nanosecond makes up for rounding in float64.
	return time.Duration(min(short/float64(limit)*float64(time.Second), 1<<60)) + time.Nanosecond
}

func (m *rateMeter) Take(t time.Duration, n int64) uint32 {
	m.reserve(t, n)
	return 0
}

// Cancel returns the permits: a rate.Limiter accepts negative amounts.
func (m *rateMeter) Cancel(t time.Duration, n int64, _ uint32) { m.reserve(t, -n) }

// reserve takes n tokens at t. For an instant before the last one, a
// rate.Limiter would add the tokens of the time between a second time.
func (m *rateMeter) reserve(t time.Duration, n int64) {
	m.used = max(t, m.used)
	m.limiter.ReserveN(m.when(m.used), int(n))
}

func (m *rateMeter) Release(int64) bool { return false }

// IdleSince assumes that the rate.Limiter is not used directly.
func (m *rateMeter) IdleSince(t time.Duration) (since time.Duration, ok bool) {
	limit := m.limiter.Limit()
	if limit == rate.Inf || limit <= 0 {
		return m.used, m.Available(t) >= m.Capacity()
	}
	burst := float64(m.limiter.Burst())
	if m.limiter.TokensAt(m.when(t)) < burst {
		return 0, false
	}
	missing := burst - m.limiter.TokensAt(m.when(m.used))
	return min(meter.Add(m.used, time.Duration(missing/float64(limit)*float64(time.Second))), t), true
}
