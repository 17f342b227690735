package quota

import (
	"errors"
	"time"

	"github.com/headway-go/headway/quota/internal/meter"
)

// FixedWindowOptions are the options of a FixedWindow.
type FixedWindowOptions struct {
	Permits int64         // granted in each window; at least 1
	Window  time.Duration // length of a window; more than 0
	Queue   Queue         // of waiting requests; the zero Queue has room for DefaultMaxQueue permits
}

// A FixedWindow grants up to Permits permits in each window of time. A window
// begins with the first grant after the end of the window before. At its end all
// permits are available again.
//
// Around the end of a window, up to twice the permits may be granted within a
// short time. A SlidingWindow grants fewer there, and a TokenBucket no more than
// its burst.
type FixedWindow struct{ limiterCore }

// NewFixedWindow returns a limiter with all permits available. The error says
// which option is out of range.
func NewFixedWindow(o FixedWindowOptions) (*FixedWindow, error) {
	if err := errors.Join(
		atLeast("FixedWindowOptions.Permits", o.Permits, 1),
		atLeast("FixedWindowOptions.Window", o.Window, 1),
		o.Queue.check("FixedWindowOptions"),
	); err != nil {
		return nil, err
	}
	f := new(FixedWindow)
	f.open(f, meter.NewFixedWindow(o.Permits, o.Window), o.Queue)
	return f, nil
}
