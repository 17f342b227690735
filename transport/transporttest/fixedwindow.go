package transporttest

import "time"

// A fixedWindow grants its quota in windows. A window starts with the first charge
// after the previous window has ended, and is [start, start+length): it includes its
// first instant and excludes its last.
type fixedWindow struct {
	quota  int64
	length time.Duration

	begun bool      // whether there has been a window
	start time.Time // of the latest window
	used  int64     // in the latest window, at most quota
}

// open reports whether now is in the latest window.
func (f *fixedWindow) open(now time.Time) bool {
	return f.begun && now.Sub(f.start) < f.length
}

func (f *fixedWindow) available(now time.Time) int64 {
	if !f.open(now) {
		return f.quota
	}
	return f.quota - f.used
}

func (f *fixedWindow) charge(now time.Time, n int64) {
	if !f.open(now) {
		f.begun, f.start, f.used = true, now, 0
	}
	f.used += n
}

// window returns the rest of the open window, or the whole length if none is open: a
// window that starts now ends after that time.
func (f *fixedWindow) window(now time.Time) (time.Duration, bool) {
	if !f.open(now) {
		return f.length, true
	}
	return f.length - now.Sub(f.start), true
}

func (f *fixedWindow) wait(now time.Time, n int64) (time.Duration, bool) {
	switch {
	case n > f.quota:
		return 0, false
	case n <= f.available(now):
		return 0, true
	}
	return f.window(now)
}
