package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// slower are limiters where a Shaper takes up to so many times as long as a retry loop,
// and why.
var slower = map[string]float64{
	// Its reset is when all ten are there again, and is read as when the first is: 1.12.
	"throttled (GCRA)": 1.2,
	// It says nothing but 429, and lets one more go each 200 ms; a back-off is a second at
	// least. 1.3 to 1.45 in sums of 32 runs, with a fifth of the refusals.
	"echo": 1.7,
}

// Against each limiter that works in process, in simulated time, a retry loop above a
// Shaper gets its work done with fewer refusals than the loop alone, and in less than 1.1
// of its time.
func TestGoServers(t *testing.T) {
	tried := 0
	for _, s := range goServers() {
		if s.handler == nil {
			continue
		}
		tried++
		var loop, shaper result
		runs := uint64(4)
		if s.name == "echo" {
			runs = 32 // its times depend on random back-offs
		}
		for i := range runs {
			began := time.Date(2026, 1, 1, 0, 0, 0, int(i)*137_000_000, time.UTC) // windows may be of the clock
			l := simulate(t, s, began, i, func(base http.RoundTripper) http.RoundTripper { return base })
			h := simulate(t, s, began, i, func(base http.RoundTripper) http.RoundTripper { return &transport.Shaper{Base: base} })
			loop.refused, loop.taken = loop.refused+l.refused, loop.taken+l.taken
			shaper.refused, shaper.taken = shaper.refused+h.refused, shaper.taken+h.taken
		}
		said := fmt.Sprintf("%s: loop %d refused, %v; Shaper %d refused, %v", s.name, loop.refused, loop.taken, shaper.refused, shaper.taken)
		t.Log(said)
		assert.Less(t, shaper.refused, loop.refused, said)
		assert.Less(t, shaper.taken.Seconds()/loop.taken.Seconds(), max(1.1, slower[s.name]), said)
	}
	assert.Equal(t, 7, tried)
}

// simulate does the work in a bubble. The limiter is called in process, 20 ms away.
func simulate(t *testing.T, s *server, began time.Time, seed uint64, client func(http.RoundTripper) http.RoundTripper) (r result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(began))
		var err error
		base := &transporttest.Transport{Handler: s.handler(), Latency: func() time.Duration { return 2 * half }}
		r, err = work(t.Context(), client(base), "http://api.example", rand.New(rand.NewPCG(seed, 1)))
		require.NoError(t, err, s.name)
		assert.EqualValues(t, requests, r.served, s.name)
	})
	return r
}
