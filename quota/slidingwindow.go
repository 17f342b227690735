package quota

import (
	"errors"
	"fmt"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// SlidingWindowOptions are the options of a SlidingWindow.
type SlidingWindowOptions struct {
	Permits  int64         // granted in any Segments consecutive segments; at least 1
	Window   time.Duration // length of the window; more than 0
	Segments int           // parts of the window: 1 to 65,536, each at least 1 ns long
	Queue    Queue         // of waiting requests; the zero Queue has room for DefaultMaxQueue permits
}

// A SlidingWindow grants up to Permits permits in a window that moves by one
// segment at a time. The first segment begins when the limiter is made. Permits
// that were taken in a segment are available again when it leaves the window.
// With a window of 3 s in 3 segments and 10 permits:
//
//	second     1  2  3  4  5
//	taken      3  4  3  3  4
//	available  7  3  0  0  0   at the end of the second
//
// In the 4th second the 3 permits of the first are available again, in the 5th
// the 4 of the second. With more segments permits return more evenly: in any
// time that is one segment shorter than the window, at most Permits permits are
// granted.
type SlidingWindow struct{ limiterCore }

// NewSlidingWindow returns a limiter with all permits available. The error says
// which option is out of range.
func NewSlidingWindow(o SlidingWindowOptions) (*SlidingWindow, error) {
	if err := errors.Join(
		atLeast("SlidingWindowOptions.Permits", o.Permits, 1),
		atLeast("SlidingWindowOptions.Window", o.Window, 1),
		atLeast("SlidingWindowOptions.Segments", o.Segments, 1),
		o.Queue.check("SlidingWindowOptions"),
	); err != nil {
		return nil, err
	}
	if o.Segments > meter.MaxSegments || int64(o.Segments) > int64(o.Window) {
		return nil, fmt.Errorf("quota: SlidingWindowOptions.Segments is %d; it takes at most %d, of 1ns each in a window of %v",
			o.Segments, meter.MaxSegments, o.Window)
	}
	s := new(SlidingWindow)
	s.open(s, meter.NewSlidingWindow(o.Permits, o.Window, o.Segments), o.Queue)
	return s, nil
}
