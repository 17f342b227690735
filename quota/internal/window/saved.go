package window

import "time"

// Bounds of what is saved.
const (
	MaxSavedTime = 366 * 24 * time.Hour // that something may last
	MaxSavedIdle = time.Hour            // since a window was used; a longer time is saved as this
	maxSavedHold = 24 * time.Hour       // that is restored: the default cap on Retry-After
)

// Saved is what is kept of a window from one process to the next. Times are
// relative to the instant at which it was saved. What is out counts as spent.
type Saved struct {
	Quota     int64         `json:"quota"`
	Unit      Unit          `json:"unit,omitempty"`
	Length    time.Duration `json:"window,omitempty"`
	State     State         `json:"basis,omitempty"`
	Available int64         `json:"available,omitempty"`
	Left      time.Duration `json:"left,omitempty"` // of the effective window; None: it has no end
	Fill      time.Duration `json:"fill,omitempty"` // of a bucket
	Hold      time.Duration `json:"hold,omitempty"`
	BackOff   time.Duration `json:"backOff,omitempty"`
	Refusals  uint8         `json:"refusals,omitempty"`
	Idle      time.Duration `json:"idle,omitempty"`  // since it was used
	Asked     time.Duration `json:"asked,omitempty"` // since a request departed or was answered: see ProbeInterval
}

// Save returns the window as it is saved at t.
func (w *Window) Save(t Instant) Saved {
	lasts := func(until Instant) time.Duration { return min(until.Since(t), MaxSavedTime) }
	s := Saved{
		Quota: w.Quota, Unit: w.Unit, Length: w.Length, State: w.State,
		Available: max(w.spare(), 0), Left: lasts(w.end), Fill: w.fill(),
		Hold: lasts(w.Hold), BackOff: lasts(w.BackOff), Refusals: w.Refusals, Idle: min(t.Since(w.Used), MaxSavedIdle),
		Asked: min(t.Since(max(w.received, w.asked, w.closed)), MaxSavedIdle),
	}
	if w.Unit == Concurrent {
		s.Available = max(w.available, 0)
	}
	if w.end == Never {
		s.Left = None
	}
	return s
}

// Pause returns what s says of a hold and a back-off, without a quota.
func (s *Saved) Pause() Saved {
	return Saved{Quota: None, Left: None, Hold: s.Hold, BackOff: s.BackOff, Refusals: s.Refusals, Idle: s.Idle}
}

// Restore makes the window what it was when it was saved, at t.
func (w *Window) Restore(t Instant, s Saved) {
	w.Unit, w.Quota, w.Length = s.Unit, s.Quota, s.Length
	w.Hold, w.BackOff, w.Refusals = t.Add(min(s.Hold, maxSavedHold)), t.Add(min(s.BackOff, maxBackOff)), s.Refusals
	w.Used, w.closed = t-Instant(s.Idle), t-Instant(s.Asked)
	if s.Refusals > 0 || s.Fill > 0 {
		r := w.ownRare()
		r.refused, r.fill = t, s.Fill
	}
	w.State, w.available, w.sinceReport = s.State, s.Available, s.Available
	if w.State == Unknown {
		w.available = 0 // what was saved, it has said
	}
	w.sent, w.adopted, w.received = w.closed, w.closed, w.closed
	due := Never
	if s.Left != None && (w.State == Reported || w.State == Counting) {
		due = t.Add(s.Left)
	}
	w.ends(due, 0, Never)
	if w.State == Unknown && w.Paused(t) {
		w.slow = w.habits().slowStart()
	}
}

// Sound reports whether s may be what was saved of a window.
func (s *Saved) Sound() bool {
	for _, d := range [...]time.Duration{s.Hold, s.BackOff, s.Left + 1, s.Fill} {
		if d < 0 || d > MaxSavedTime+1 {
			return false
		}
	}
	return s.Quota >= None && s.Quota <= MaxUnits && s.Length >= 0 &&
		s.Available >= 0 && s.Available <= 1<<60 &&
		s.Idle >= 0 && s.Idle <= MaxSavedIdle && s.Asked >= 0 && s.Asked <= MaxSavedIdle && s.Refusals < 64 &&
		(s.Fill == 0 || s.Quota > 0 && (s.State != Counting || s.Length > 0)) && s.Unit <= Other && s.State <= Counting
}
