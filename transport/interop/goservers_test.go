package main

import (
	"fmt"
	"math"
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
	"throttled (GCRA)": 1.5,         // see late, in recordings_test.go
	"echo":             math.Inf(1), // says nothing but 429, so the time depends on random back-offs: seen from 0.9 to 1.8
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
		for i := range uint64(4) {
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
