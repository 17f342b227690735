package main

import (
	"bytes"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// played runs a worker in simulated time.
func played(t *testing.T, next func(*worker) int) (r result, counts transporttest.Counts) {
	synctest.Test(t, func(t *testing.T) {
		api := newAPI()
		r = run(next, &transporttest.Transport{Handler: api}, "http://api.example")
		require.NoError(t, r.err)
		counts = api.Counts()
	})
	return r, counts
}

func TestWorkers(t *testing.T) {
	const window = 2 * time.Second
	for _, tt := range []struct {
		name       string
		next       func(*worker) int
		bobAtMost  time.Duration
		bobAtLeast time.Duration
	}{
		{"in order", inOrder, 3 * window, 2 * window},
		{"with Check", firstReady, time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, counts := played(t, tt.next)
			assert.Equal(t, transporttest.Counts{Served: 22}, counts)
			assert.Equal(t, 2, r.postponed)
			assert.Equal(t, 24*time.Hour, r.back.Round(time.Hour))
			assert.LessOrEqual(t, r.last["bob"], tt.bobAtMost)
			assert.GreaterOrEqual(t, r.last["bob"], tt.bobAtLeast)
			assert.GreaterOrEqual(t, r.last["alice"], 2*window, "alice's own quota bounds her jobs")
			assert.Less(t, r.last["alice"], 5*time.Second)
		})
	}
}

func TestWrite(t *testing.T) {
	a, _ := played(t, inOrder)
	b, _ := played(t, firstReady)
	var out bytes.Buffer
	write(&out, a, b)
	assert.Contains(t, out.String(), "with Check  aaaaabbbbccccdd·····aaaaa···············aa\n")
	assert.Contains(t, out.String(), "they can be done in 24h0m0s.\n")
}

// If no job can be done now, the worker sleeps until the first one can, of any user.
func TestSoonest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const url = "http://api.example"
		shaper := &transport.Shaper{Base: &transporttest.Transport{Handler: newAPI()}}
		w := &worker{client: &http.Client{Transport: shaper}, shaper: shaper, jobs: jobs(url)}
		alice, bob := w.jobs[0], w.jobs[12]
		began := time.Now()
		for range 5 {
			require.NoError(t, w.do(alice))
		}
		time.Sleep(time.Second)
		for range 5 {
			require.NoError(t, w.do(bob))
		}
		w.jobs = []*http.Request{bob, alice}
		assert.Equal(t, 1, firstReady(w))
		assert.Equal(t, 2*time.Second+time.Millisecond, time.Since(began))
	})
}
