package quota

// A share is which part of a quota is ours, where others use it, too: of what
// the figures fall by, what was served to us.
//
// The two are compared when nothing of ours is in flight, or at the end of a
// window: then what was served to us is known. Both sums fade, by units and
// not by time; but others of whom a window shows nothing are forgotten a little.
type share struct {
	ours, fall float32 // sums; of a quota that is ours alone they are equal

	from    int64 // the figure since which served counts; 0: none yet
	served  int64 // units, to us
	peak    int64 // the highest figure in this window
	refused bool  // somebody was, in this window
	told    bool  // the figure has fallen in this window
}

const (
	shareFades = 400 // units after which both sums are halved
	shareLeast = 16  // units below which there is nothing to tell
	shareHaste = 0.4 // of our part of what is left may be in flight
	shareStays = 128 // windows that show nothing, after which others have a third of their part left
)

// part is our part, in (0, 1].
func (s *share) part() float64 {
	if s.fall < shareLeast || s.ours >= s.fall {
		return 1
	}
	return max(float64(s.ours/s.fall), 1./64)
}

// fair reports whether n more units may be in flight. While others spend what
// is left at the same time, no figure is true for long: no more than a part of
// our part is sent before the next one. What costs more than that goes alone.
func (s *share) fair(a *account, n int64) bool {
	part := s.part()
	if part == 1 || a.basis != figured {
		return true
	}
	out, ours := a.inflight+a.straggle, part*float64(a.available)
	if out == 0 && n > 1 {
		return float64(n) <= ours
	}
	return float64(out+n) <= shareHaste*ours+0.5
}

// see takes over the figure that is in force, of an answer that may be a
// refusal.
func (s *share) see(a *account, refused bool) {
	if a.plain || a.unit != countsRequests {
		return
	}
	s.refused = s.refused || refused
	s.peak = max(s.peak, a.available)
	switch {
	case s.from == 0:
		s.from, s.served = a.available, 0
	case a.inflight+a.straggle == 0:
		s.compare(a)
	}
}

// close ends a window.
func (s *share) close(a *account) {
	if s.from > 0 {
		s.served += a.inflight
		s.compare(a)
		if !s.told {
			s.fall -= max(s.fall-s.ours, 0) / shareStays
		}
	}
	*s = share{ours: s.ours, fall: s.fall}
}

// compare adds up what the figure has fallen by. One that says that nothing is
// left may be a slip, unless somebody was refused.
func (s *share) compare(a *account) {
	fall := s.from - a.available
	if fall == 0 || a.available == 0 && !s.refused {
		return
	}
	if fall > 0 {
		s.ours += float32(min(s.served, fall))
		s.fall += float32(fall)
		s.told = true
	}
	if s.fall > shareFades {
		s.ours, s.fall = s.ours/2, s.fall/2
	}
	s.from, s.served = a.available, 0
}
