package window

import "time"

// A farthest is the longest time until an end of which answers have told. What one answer alone says may be an error, so
// it counts until eight later answers have said less. Then the longest counts of which two have told: the second within
// four such times after the first, or as one of the eight.
type farthest struct {
	sure  time.Duration // the longest of which two have told; 0: there was one only
	once  time.Duration // the longest of which one has told, if that is more
	at    Instant       // when that arrived
	less  uint8         // answers after that which have said less, up to contradicted
	first bool          // no two have told of any when that arrived
}

const contradicted = 8

// observe takes over what an answer says that arrived at t.
func (f *farthest) observe(t Instant, d time.Duration) {
	again := f.once > 0 && (f.less < contradicted || t.Since(f.at)/4 <= f.once)
	switch {
	case d <= 0:
	case d <= f.sure || again && d < f.once:
		f.sure = max(f.sure, d)
		f.less = min(f.less+1, contradicted)
	default:
		if again {
			f.sure = f.once
		}
		f.first = f.sure == 0
		f.once, f.at, f.less = d, t, 0
	}
}

// value is the longest that counts; 0: none was told.
func (f *farthest) value() time.Duration {
	if f.less < contradicted {
		return max(f.once, f.sure)
	}
	return f.sure
}

// forOthers is the longest that other processes are told. They lose what they know if it was an error, so one answer
// alone counts only if it came before any two.
func (f *farthest) forOthers() time.Duration {
	if f.first {
		return f.value()
	}
	return f.sure
}

// span takes over how long a window is of which an answer has told that arrived at t.
func (s *Server) span(t Instant, d time.Duration) {
	s.farthest.observe(t, d)
	s.Span = s.farthest.value()
}
