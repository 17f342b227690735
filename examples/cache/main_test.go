package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport/transporttest"
)

// played runs a row in simulated time.
func played(t *testing.T, r *row) *row {
	synctest.Test(t, func(t *testing.T) {
		r.run(distant{&transporttest.Transport{Handler: newAPI()}}, "http://api.example")
		require.NoError(t, r.err)
	})
	return r
}

func TestStacks(t *testing.T) {
	above := played(t, &row{stack: cacheAboveShaper})
	assert.Zero(t, above.longest, "a stored page is read at once")
	assert.Zero(t, above.stored, "the Shaper never sees it")
	assert.Zero(t, above.refused)
	assert.GreaterOrEqual(t, above.read, 2*quota)

	below := played(t, &row{stack: cacheBelowShaper})
	assert.Positive(t, below.longest, "a stored page waits in line")
	assert.Equal(t, below.same, below.stored, "the Shaper recognises each stored response")
	assert.Zero(t, below.refused)
	assert.Equal(t, above.read, below.read, "stored responses cost no quota")

	unmarked := played(t, &row{stack: unmarkedBelowShaper})
	assert.Zero(t, unmarked.stored)
	assert.Less(t, unmarked.read, above.read, "the Shaper waits because a stored page says that nothing is left")
	assert.Zero(t, unmarked.refused)
}
