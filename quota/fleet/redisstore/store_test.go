package redisstore

import (
	"math"
	"strings"
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

// The format is in all names, whatever the prefix is: an older version of the program that
// runs beside this one would not understand what is stored.
func TestFormatInNames(t *testing.T) {
	for prefix, want := range map[string]string{"": "hw6:{", "app": "app6:{"} {
		assert.True(t, strings.HasPrefix(New(nil, prefix).(*store).tagged(exchange.ID{}), want), prefix)
	}
}
