package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport"
	"github.com/headway-go/headway/transport/transporttest"
)

// TestRun does the work of both steps in simulated time. In the first step the server
// refuses requests, as without a Shaper, and the Shaper has predicted each refusal. In
// the second step the server refuses none.
func TestRun(t *testing.T) {
	for _, mode := range []transport.Mode{transport.Observe, transport.Shape} {
		synctest.Test(t, func(t *testing.T) {
			api := &transporttest.API{Policies: []transporttest.Policy{{Name: "api", Quota: allowed, Window: window}}}
			shaper := &transport.Shaper{Base: distant{&transporttest.Transport{Handler: api}}, Mode: mode}
			sum, taken, err := run(shaper, "http://api.example")
			require.NoError(t, err)

			assert.Equal(t, requests, sum.n[0][0]+sum.n[1][0], "served")
			assert.EqualValues(t, requests, api.Counts().Served)
			assert.Zero(t, sum.n[0][1], "refused and not predicted")
			assert.Less(t, taken, 5*time.Second)
			if mode == transport.Observe {
				assert.EqualValues(t, api.Counts().Refused, sum.n[1][1])
				assert.Positive(t, sum.n[1][1], "refused as predicted")
				assert.Zero(t, sum.longest)
				return
			}
			assert.Zero(t, api.Counts().Refused)
			assert.Positive(t, sum.longest)
			assert.NotEmpty(t, sum.reasons)
		})
	}
}

func TestWrite(t *testing.T) {
	var s summary
	s.add(observation{held: true, refused: true})
	s.add(observation{held: true})
	s.add(observation{waited: time.Second})
	var b bytes.Buffer
	s.write(&b, transport.Observe, 3*time.Second)
	assert.Contains(t, b.String(), "would be held                     1         1\n")
	assert.Contains(t, b.String(), "2 served in 3.0 s; longest wait in line 1.0 s")
	assert.Contains(t, b.String(), "Of 1 refusals, the Shaper would have prevented 1. It would also have held\n  1 requests")
}
