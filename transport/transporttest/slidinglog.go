package transporttest

import "time"

// A slidingLog remembers when each unit was used. It never grants more than quota
// units within any interval [t, t+length).
type slidingLog struct {
	quota  int64
	length time.Duration

	entries []entry // in the order of time
	used    int64   // sum of the entries
}

// An entry is n units used at one instant.
type entry struct {
	at time.Time
	n  int64
}

// prune removes the entries that no longer count at now.
func (s *slidingLog) prune(now time.Time) {
	expired := 0
	for expired < len(s.entries) && now.Sub(s.entries[expired].at) >= s.length {
		s.used -= s.entries[expired].n
		expired++
	}
	s.entries = s.entries[expired:]
}

func (s *slidingLog) available(now time.Time) int64 {
	s.prune(now)
	return max(s.quota-s.used, 0)
}

func (s *slidingLog) charge(now time.Time, n int64) {
	s.prune(now)
	if n == 0 {
		return
	}
	s.used += n
	if last := len(s.entries) - 1; last >= 0 && s.entries[last].at.Equal(now) {
		s.entries[last].n += n
		return
	}
	s.entries = append(s.entries, entry{now, n})
}

// window returns the time until the oldest unit leaves the log. It reports false if
// the log is empty.
func (s *slidingLog) window(now time.Time) (time.Duration, bool) {
	s.prune(now)
	if len(s.entries) == 0 {
		return 0, false
	}
	return s.length - now.Sub(s.entries[0].at), true
}

func (s *slidingLog) wait(now time.Time, n int64) (time.Duration, bool) {
	s.prune(now)
	used := s.used
	switch {
	case n > s.quota:
		return 0, false
	case used+n <= s.quota:
		return 0, true
	}
	for _, e := range s.entries {
		if used -= e.n; used+n <= s.quota {
			return s.length - now.Sub(e.at), true
		}
	}
	panic("transporttest: an empty log refuses")
}

func (s *slidingLog) countRefused(now time.Time, n int64) { s.charge(now, n) }
