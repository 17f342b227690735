package transporttest

import "time"

// An alignedWindow grants its quota in windows that start at whole multiples of their
// length since the Unix epoch, with or without requests. A window includes its first
// instant and excludes its last.
type alignedWindow struct {
	quota  int64
	length time.Duration

	start time.Time // of the window of the latest charge
	used  int64     // in that window, at most quota
}

// startOf returns the start of the window that contains now.
//
// Truncate counts from the zero time, not from the Unix epoch, so startOf subtracts
// the difference first and adds it back afterwards. It does not use UnixNano, which
// overflows in the year 2262.
func (a *alignedWindow) startOf(now time.Time) time.Time {
	epoch := time.Unix(0, 0)
	phase := epoch.Sub(epoch.Truncate(a.length))
	return now.Add(-phase).Truncate(a.length).Add(phase)
}

func (a *alignedWindow) available(now time.Time) int64 {
	if !a.startOf(now).Equal(a.start) {
		return a.quota
	}
	return a.quota - a.used
}

func (a *alignedWindow) charge(now time.Time, n int64) {
	if start := a.startOf(now); !start.Equal(a.start) {
		a.start, a.used = start, 0
	}
	a.used += n
}

func (a *alignedWindow) window(now time.Time) (time.Duration, bool) {
	return a.length - now.Sub(a.startOf(now)), true
}

func (a *alignedWindow) wait(now time.Time, n int64) (time.Duration, bool) {
	switch {
	case n > a.quota:
		return 0, false
	case n <= a.available(now):
		return 0, true
	}
	return a.window(now)
}
