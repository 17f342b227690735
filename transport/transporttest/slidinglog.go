package transporttest

import "time"

// A slidingLog remembers when each unit was used: in any stretch of time as long
// as length, which includes its first instant and not its last, no more than quota
// are granted.
type slidingLog struct {
	quota  int64
	length time.Duration

	entries []entry // by time; at the front, those that have left
	used    int64   // sum of the entries
}

// An entry is so many units, used at one instant.
type entry struct {
	at time.Time
	n  int64
}

// prune brings the log to now.
func (s *slidingLog) prune(now time.Time) {
	gone := 0
	for gone < len(s.entries) && now.Sub(s.entries[gone].at) >= s.length {
		s.used -= s.entries[gone].n
		gone++
	}
	s.entries = s.entries[gone:]
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

// window returns the time until the oldest unit leaves the log. It reports false
// where that is empty.
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

// refuse logs what was refused, too.
func (s *slidingLog) refuse(now time.Time, n int64) { s.charge(now, n) }
