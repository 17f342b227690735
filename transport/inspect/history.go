package inspect

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/quota"
)

const (
	maxSeries  = 200
	maxWindows = 128 // beginnings of windows that are kept for each quota
)

// history is what was left, and how many waited, of each policy of each origin.
type history struct {
	next atomic.Int64 // when another sample may be taken, in Unix nanoseconds

	mu     sync.Mutex // guards following
	series map[seriesID]*series
}

type seriesID struct{ origin, policy string }

// A series is a ring of samples, the oldest first from at on.
type series struct {
	ring    []sample
	at      int
	windows []time.Time // when windows began
}

// A sample is what a policy was like at an instant. Numbers above the largest int32 are
// cut off.
type sample struct {
	time      int64 // Unix seconds
	available int32 // None: not known
	quota     int32 // None: not known
	inFlight  int32
	inLine    int32
	held      bool
	several   bool // accounts: the numbers are of the one with the smallest part left
}

// kept is how long samples are kept.
func (h *Handler) kept() time.Duration {
	if h.History == 0 {
		return DefaultHistory
	}
	return max(h.History, 0)
}

// setBack is how much earlier than it should be it has to be, at least, if the clock was set back. Requests that end at the same
// time may come in any order.
const setBack = 10 * time.Second

// sample takes a sample of all quotas, unless there is one of the last second. It is
// called for each request.
func (h *Handler) sample(now time.Time) {
	next := h.history.next.Load()
	wait := time.Duration(next - now.UnixNano())
	if wait > 0 && wait <= setBack || h.Accounts == nil || h.kept() == 0 || !h.history.next.CompareAndSwap(next, now.Add(time.Second).UnixNano()) {
		return
	}
	origins := h.Accounts.Snapshot(now, quota.SnapshotOptions{ByPolicy: true})
	n := int(h.kept() / time.Second)
	h.history.mu.Lock()
	defer h.history.mu.Unlock()
	if wait > setBack { // the clock was set back: what was kept is of a time to come
		clear(h.history.series)
	}
	oldest := now.Add(-h.kept()).Unix()
	for id, s := range h.history.series {
		if s.newest() < oldest {
			delete(h.history.series, id)
		}
	}
	for i := range origins {
		o := &origins[i]
		for k := range o.Accounts {
			sum := &o.Accounts[k]
			if s := h.history.of(seriesID{o.Name, sum.Name}); s != nil {
				s.add(n, sample{
					time: now.Unix(), available: cut(sum.Available), quota: cut(sum.Quota),
					inFlight: cut(sum.InFlight), inLine: cut(int64(sum.InLine)), held: sum.Hold > 0 || sum.BackOff > 0,
					several: sum.Accounts > 1,
				})
			}
		}
	}
}

func cut(n int64) int32 { return int32(min(n, 1<<31-1)) }

// of returns the series of a policy, and makes one if there is room; else nil.
func (h *history) of(id seriesID) *series {
	s := h.series[id]
	if s == nil && len(h.series) < maxSeries {
		if h.series == nil {
			h.series = make(map[seriesID]*series)
		}
		s = new(series)
		h.series[id] = s
	}
	return s
}

// window notes that a window began, with so many units left of a quota.
func (h *history) window(id seriesID, now time.Time, units, quota int64, kept time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.of(id)
	if s == nil {
		return
	}
	if x := s.last(); !x.several { // between two samples, all may be used up again
		x.time, x.available, x.quota = now.Unix(), cut(units), cut(quota)
		s.add(int(kept/time.Second), x)
	}
	if len(s.windows) == maxWindows {
		s.windows = append(s.windows[:0], s.windows[1:]...)
	}
	s.windows = append(s.windows, now)
}

// add adds a sample to a ring of at most n.
func (s *series) add(n int, x sample) {
	if n = max(n, 1); len(s.ring) < n {
		s.ring = append(s.ring, x)
		return
	}
	s.ring[s.at] = x
	s.at = (s.at + 1) % len(s.ring)
}

// newest is when the newest sample was taken, in Unix seconds; 0: there is none.
func (s *series) newest() int64 {
	if len(s.ring) == 0 {
		if n := len(s.windows); n > 0 {
			return s.windows[n-1].Unix()
		}
		return 0
	}
	return s.last().time
}

// last is the newest sample.
func (s *series) last() sample {
	if len(s.ring) == 0 {
		return sample{available: none, quota: none}
	}
	return s.ring[(s.at+len(s.ring)-1)%len(s.ring)]
}

// plot draws the series of a policy; nil, if there is nothing to draw.
func (h *history) plot(id seriesID, now time.Time, window, kept time.Duration) *plotView {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.series[id]
	if s == nil {
		return nil
	}
	if len(s.ring) == 0 {
		return nil
	}
	age := now.Sub(time.Unix(s.ring[s.at%len(s.ring)].time, 0)).Truncate(time.Second)
	span := max(min(12*window, kept, age), time.Minute)
	from := now.Add(-span).Unix()
	var xs []sample
	for i := range s.ring {
		if x := s.ring[(s.at+i)%len(s.ring)]; x.time >= from {
			xs = append(xs, x)
		}
	}
	if len(xs) < 2 {
		return nil
	}
	return draw(xs, s.windows, now, span)
}

// none stands for a number that is not known.
const none = quota.None
