package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An account can never freeze: whatever was said, a request may go again within
// the hold or the back-off and a probe interval.
func TestLawNeverFrozen(t *testing.T) {
	units := []Unit{Requests, Bytes, Concurrent, Other}
	for seed := range uint64(2_000) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := newLedger([]Strategy{Plain, Adaptive}[seed%2])
		now := Instant(0)
		for i := range 1 + r.IntN(12) {
			now += Instant(r.Int64N(int64(20 * sec)))
			name := fmt.Sprint(i)
			sendN(name, r.Int64N(4))(l, now)
			if r.IntN(3) == 0 {
				l.SetPolicy(units[r.IntN(4)], r.Int64N(5)-1, time.Duration(r.IntN(100))*sec)
				l.Count(now, r.Int64N(2))
			}
			w := time.Duration(r.Int64N(int64(48*time.Hour)) / int64(sec) * int64(sec) >> r.IntN(20))
			switch r.IntN(8) {
			case 0:
				quiet(name)(l, now)
			case 1:
				lost(name)(l, now)
			case 2:
				l.Pause(now, min(w, time.Hour), l.server)
			case 3:
				refuses(name, r.Int64N(3), w)(l, now)
			case 4:
				l.Renew(now, now, w, 1)
			case 5:
				names(name, r.Int64N(3), r.Int64N(40), r.Int64N(1<<r.IntN(40))-5, r.IntN(3) == 0)(l, now)
			default:
				says(name, r.Int64N(3), w-1)(l, now)
			}
		}
		l.Retained = 0 // all bodies are read
		from := max(now, l.Hold, l.BackOff)
		again, _ := l.Ready(from, 1)
		if l.Unit == Concurrent {
			again, _ = l.Ready(from+Instant(mins), 1)
			from += Instant(mins)
		}
		if wait := time.Duration(again - from); wait > ProbeInterval {
			assert.Fail(t, "frozen", "seed %d: %v: %+v", seed, wait, l.Window)
			return
		}
		// What departed in the window before may still be on its way for a second.
		for range 2 {
			again, _ = l.Ready(again, 1)
		}
		if ok, _ := l.Ready(again, 1); ok > again || time.Duration(again-from) > ProbeInterval+sec {
			assert.Fail(t, "it said to look again, and then again", "seed %d: %v, then %v: %+v", seed, again, ok, l.Window)
			return
		}
	}
}
