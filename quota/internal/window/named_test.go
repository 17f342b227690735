package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A namedServer has windows of whole seconds and names their ends in whole seconds by its clock.
type namedServer struct {
	length  int64
	aligned bool // windows end at multiples of their length
	round   func(float64) float64
	ahead   float64 // seconds, of its clock
	begun   float64 // the last window, by that
}

// at answers a request that departed at sent and reaches the server at t, by our clock.
func (s *namedServer) at(t float64) (began bool, f Figure) {
	now := t + s.ahead
	if now >= s.begun+float64(s.length) {
		began, s.begun = true, now
		if s.aligned {
			s.begun = math.Floor(now/float64(s.length)) * float64(s.length)
		}
	}
	f.Resets = int64(s.round(math.Round((s.begun+float64(s.length))*1e6) / 1e6))
	f.Ahead = f.Resets - int64(math.Floor(now))
	f.Available = 50
	if began {
		f.Available = 99
	}
	return began, f
}

// Of windows that other processes begin, too, a process of a fleet learns the length and the end by the instants. It
// takes a window to be over before its end twice at most, and a refusal shows it; and once it has seen some
// windows, never more than two seconds after it.
func TestEndsThatOthersBegin(t *testing.T) {
	const trip = .05
	for seed := range uint64(1000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := &namedServer{
			length: []int64{5, 10, 60, 3600}[rnd.IntN(4)], aligned: rnd.IntN(3) == 0,
			round: []func(float64) float64{math.Ceil, math.Floor, math.RoundToEven}[rnd.IntN(3)],
			ahead: 1_700_000_000 + 100*rnd.Float64(),
		}
		s.begun = s.ahead
		if s.aligned {
			s.begun -= math.Mod(s.ahead, float64(s.length))
		}
		var server Server
		now, refusals := rnd.Float64(), 0 // of a departure, by our clock
		for n := range 20 {
			if n > 0 && rnd.IntN(2) == 0 { // another process begins it
				began, _ := s.at(now + trip/2)
				require.True(t, began, "seed %d", seed)
				now += .01 + .1*rnd.Float64()
			}
			w := New(Together)
			w.Quota = 100
			send := func(refused bool) float64 {
				sent := Instant(now * 1e9)
				_, f := s.at(now + trip/2)
				end, _ := w.resetsAt(sent.Add(50*time.Millisecond), sent, &f, refused, &server)
				return float64(end) / 1e9
			}
			end := 0.
			for range 3 {
				end = send(false)
				now += .3 * rnd.Float64()
			}
			is := s.begun + float64(s.length) - s.ahead - trip/2 // the first departure that is not too early
			if end < is-.001 {
				refusals++
				now = end
				send(true)
			}
			if n >= 6 {
				assert.Less(t, end-is, 2+trip, "seed %d, window %d of %+v", seed, n, s)
				assert.EqualValues(t, s.length, server.ends.length(), "seed %d, window %d of %+v", seed, n, s)
			}
			now = is + trip + .05*rnd.Float64() // by those that know
		}
		assert.LessOrEqual(t, refusals, 2, "seed %d of %+v", seed, s)
	}
}
