package window

import "time"

// BackOffAtLeast prolongs the back-off that StartBackOff has begun at t, for servers
// that are known to want longer ones: to d after the first refusal, and twice as long
// after each in a row, up to ProbeInterval.
func (w *Window) BackOffAtLeast(t Instant, d time.Duration) {
	if w.rarely().refused != t || d <= 0 {
		return // it is one refusal with the last
	}
	for range min(max(w.Refusals, 1)-1, 20) {
		d = min(2*d, ProbeInterval)
	}
	w.BackOff = max(w.BackOff, t.Add(min(d, ProbeInterval)))
}
