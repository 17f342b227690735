package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/headway-go/headway/parse"
)

// A resetUnit finds out whether an origin means milliseconds by the numbers that package
// parse reads as seconds until a reset. Several gateways do (MuleSoft's, for one), and one
// response does not tell. Several do, if they are of one window: the number falls a thousand
// times as fast. That they are of one window is assumed of those of a policy and a scope; by
// chance, the numbers of several windows would hardly fall so three times in a row.
type resetUnit struct {
	millis  atomic.Bool
	settled atomic.Bool // as seconds, or as milliseconds

	mu     sync.Mutex // guards following: the last number
	policy string
	scope  string
	window time.Duration
	at     time.Time
	falls  int // in a row that are too fast for seconds
	slow   int // that are not
}

const (
	// leastCompared is a second, in milliseconds that are read as seconds. Shorter ones are not
	// compared: hardly any server sends them.
	leastCompared = 1000 * time.Second

	leastPassed = 2 * slack             // between two numbers that are compared
	slack       = 50 * time.Millisecond // by which two answers are not equally long on their way

	sureFalls = 3
	sureSlow  = 3
)

// correct corrects the windows of a reading, if they are in milliseconds.
func (u *resetUnit) correct(got *parse.Reading, scope string, now time.Time) {
	if u.settled.Load() && !u.millis.Load() || got.Dialect == parse.EditorsDraft || got.Dialect == parse.Draft08 {
		return
	}
	for i := range got.Limits {
		l := &got.Limits[i]
		if l.Window <= 0 || l.Full != 0 || !l.Resets.IsZero() {
			continue
		}
		if !u.settled.Load() && l.Window >= leastCompared {
			u.compare(l, scope, now)
		}
		if u.millis.Load() {
			l.Window /= 1000
		}
	}
}

// compare compares the window of a limit with that of the last one of its policy.
func (u *resetUnit) compare(l *parse.Limit, scope string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	passed, fall := now.Sub(u.at), u.window-l.Window
	switch {
	case l.Policy != u.policy, scope != u.scope, u.at.IsZero(), passed > time.Minute, fall < 0:
		u.falls = 0
	case passed < leastPassed:
		return // too soon to tell
	case (fall - 1000*passed).Abs() <= 1000*slack+50*passed:
		u.falls++
	case fall > 3*time.Second+2*passed:
		u.falls = 0
	case passed < time.Second:
		return // too soon to tell
	default:
		u.slow++
	}
	u.policy, u.scope, u.window, u.at = l.Policy, scope, l.Window, now
	if u.falls == sureFalls {
		u.millis.Store(true)
	}
	if u.falls == sureFalls || u.slow == sureSlow {
		u.settled.Store(true)
	}
}
