package redisstore

import (
	"encoding/binary"
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
		g, err := granted(string(binary.LittleEndian.AppendUint64(nil, uint64(us)))+"\x00", 0)
		require.NoError(t, err)
		assert.Equal(t, want, g.Now, "%d", us)
	}
	_, err := granted("", 1)
	assert.ErrorIs(t, err, errReply)
}

// The format is in all names, whatever the prefix is: an older version of the program that
// runs beside this one would not understand what is stored.
func TestFormatInNames(t *testing.T) {
	for prefix, want := range map[string]string{"": "hw6:{", "app": "app6:{"} {
		assert.True(t, strings.HasPrefix(New(nil, prefix).(*store).tagged(exchange.ID{}), want), prefix)
	}
}
