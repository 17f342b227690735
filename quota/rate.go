package quota

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// A Rate is a *rate.Limiter of golang.org/x/time met at the same door as
// everything else: asked together with a server's quotas, and charged only
// if all of them have room. Its Queue is the zero one.
//
// The rate.Limiter may be used elsewhere, too, and its limit and burst be
// changed. A permit that goes elsewhere between asking and charging is
// charged here all the same: the limiter goes into debt and the next ones
// wait the longer.
type Rate struct {
	limit
	tokens rateMeter
	rate   *rate.Limiter
}

// NewRate wraps l, which must not be nil.
func NewRate(l *rate.Limiter) *Rate {
	r := &Rate{rate: l, tokens: rateMeter{rate: l}}
	r.open(&r.tokens, Queue{})
	r.tokens.start = r.start
	return r
}

// rateMeter is the meter of a Rate.
type rateMeter struct {
	rate  *rate.Limiter
	start time.Time // instant 0
	used  instant   // the last take or cancel
}

func (m *rateMeter) when(t instant) time.Time { return m.start.Add(time.Duration(t)) }

// most is the burst: a rate.Limiter never grants more at once, unless it has
// no limit at all.
func (m *rateMeter) most() int64 {
	if m.rate.Limit() == rate.Inf {
		return math.MaxInt32
	}
	return int64(m.rate.Burst())
}

func (m *rateMeter) wait(t instant, ahead, n int64) time.Duration {
	limit := m.rate.Limit()
	if limit == rate.Inf {
		return 0
	}
	short := float64(ahead) + float64(n) - m.rate.TokensAt(m.when(t))
	switch {
	case n > int64(m.rate.Burst()):
		return inVain // the burst was lowered
	case short <= 0:
		return 0
	case limit <= 0:
		return time.Minute // the limit may be raised
	}
	// A nanosecond more makes up for the rounding of float64.
	return time.Duration(min(short/float64(limit)*float64(time.Second), 1<<60)) + time.Nanosecond
}

func (m *rateMeter) take(t instant, n int64) uint32 {
	t = max(t, m.used) // or what was refilled since would be refilled again
	m.used = t
	m.rate.ReserveN(m.when(t), int(n))
	return 0
}

// cancel gives the permits back. A rate.Limiter takes negative amounts.
func (m *rateMeter) cancel(t instant, n int64, _ uint32) {
	t = max(t, m.used) // or what was refilled since would be refilled again
	m.used = t
	m.rate.ReserveN(m.when(t), int(-n))
}

func (m *rateMeter) release(int64) bool { return false }

func (m *rateMeter) available(t instant) int64 {
	if m.rate.Limit() == rate.Inf {
		return math.MaxInt32
	}
	return int64(max(m.rate.TokensAt(m.when(t)), 0))
}

// idle reckons that nobody else uses the rate.Limiter.
func (m *rateMeter) idle(t instant) (since instant, ok bool) {
	burst := float64(m.rate.Burst())
	if m.rate.Limit() == rate.Inf || m.rate.Limit() <= 0 {
		return m.used, m.available(t) >= m.most()
	}
	if m.rate.TokensAt(m.when(t)) < burst {
		return 0, false
	}
	missing := burst - m.rate.TokensAt(m.when(m.used))
	return min(m.used.Add(time.Duration(missing/float64(m.rate.Limit())*float64(time.Second))), t), true
}
