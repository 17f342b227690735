package main

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/transport/transporttest"
)

// played returns what comes of a stack in simulated time.
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
	assert.GreaterOrEqual(t, above.fresh, 2*quota)

	below := played(t, &row{stack: cacheBelowShaper})
	assert.Positive(t, below.longest, "it waits with the rest")
	assert.Equal(t, below.same, below.stored, "and teaches nothing")
	assert.Zero(t, below.refused)
	assert.Equal(t, above.fresh, below.fresh, "nor does it cost anything")

	unmarked := played(t, &row{stack: unmarkedBelowShaper})
	assert.Zero(t, unmarked.stored)
	assert.Less(t, unmarked.fresh, quota, "a stored page says that nothing is left")
}
