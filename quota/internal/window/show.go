package window

import "time"

// This file is what people are shown of a Window. Nothing is decided by it.

// Asked is when the last probe departed.
func (w *Window) Asked() Instant { return w.asked }

// LeftInForce is Left of a window that is in force at t: not known, if it is over. A bucket
// is always in force. It changes nothing.
func (w *Window) LeftInForce(t Instant) (units int64, known bool) {
	switch {
	case w.State != Reported && w.State != Counting:
		return 0, false
	case w.IsBucket():
		return max(w.level(t), 0), true
	case t >= w.end:
		return 0, false
	case w.Unit == Concurrent:
		return max(w.available-w.Retained, 0), true
	}
	return max(w.spare(), 0), true
}

// Probing reports whether a probe is out.
func (w *Window) Probing() bool { return w.probing }

// UsedUp reports whether nothing is left of a window, whatever is in flight.
func (w *Window) UsedUp() bool { return w.State == Reported && w.available == 0 && w.renewed() }

// RoundTrip is the last round trip, and how much round trips vary; 0: not known.
func (w *Window) RoundTrip() (last, jitter time.Duration) { return w.rtt, w.jitter }

// Part is our part of the quota, in (0, 1]: 1, if no other client was noticed.
func (w *Window) Part() float64 { return w.contention.part() }

// Pace is the time in which one unit comes back, if units are found to come back one
// by one; 0: they are not.
func (w *Window) Pace() time.Duration {
	if w.counted() {
		return w.timeOf(1)
	}
	if !w.refill.steady() {
		return 0
	}
	return w.perUnit()
}

// Habits are what was learned of the server and of other clients, a bit for each of
// habitWords.
type Habits uint8

var habitWords = [...]string{
	"seconds are rounded down",
	"windows are longer than advertised",
	"Retry-After is shorter than the window",
	"units come back one by one",
	"others use the quota, too",
	"not enforced: requests are served when nothing is left",
}

// Habits returns what was learned of a server and of the others that use the quota.
func (w *Window) Habits(s *Server) (h Habits) {
	for i, has := range [...]bool{s.RoundsDown, s.Longer, s.Hasty, w.Pace() > 0, w.contention.part() < 0.9, s.Soft()} {
		if has {
			h |= 1 << i
		}
	}
	return h
}

// Words returns the habits in words.
func (h Habits) Words() (words []string) {
	for i, word := range habitWords {
		if h&(1<<i) != 0 {
			words = append(words, word)
		}
	}
	return words
}
