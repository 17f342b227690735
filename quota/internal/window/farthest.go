package window

import "time"

// A farthest is the longest time until an end that answers have told. What one answer alone says may be an error, so
// it counts only until eight later answers have said less. After that, the longest time that two answers have told counts. The
// second of these must come within four such times after the first, or be one of the eight.
type farthest struct {
	sure  time.Duration // the longest that two have told; 0: only one has told any
	once  time.Duration // the longest that one has told, if that is more
	at    Instant       // when that one arrived
	less  uint8         // later answers that have said less, up to contradicted
	first bool          // only one had told any when that one arrived
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

// forOthers is the longest that other processes are told. If it is an error, they lose what they know. So what one answer
// alone has told counts for them only before any two have agreed.
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
