package redisstore

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/headway-go/headway/quota/exchange"
)

// A reply that the script does not make has no effect beyond its bounds: a span longer than
// a Duration is the longest one, and a negative one is none.
func TestSpansOfReply(t *testing.T) {
	for us, want := range map[int64]time.Duration{
		math.MaxInt64:        math.MaxInt64 / 1000 * 1000,
		math.MaxInt64 / 1000: math.MaxInt64 / 1000 * 1000,
		1:                    time.Microsecond,
		-1:                   exchange.None,
	} {
		reply := make([]int64, 2+perAccount)
		reply[0] = us
		g, err := granted(reply, 1)
		require.NoError(t, err)
		assert.Equal(t, want, g.Now, "%d", us)
	}
	_, err := granted(nil, 1)
	assert.ErrorIs(t, err, errReply)
}
