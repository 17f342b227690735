package transporttest

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRounding(t *testing.T) {
	for _, tt := range []struct {
		d                 time.Duration
		up, down, nearest int64
	}{
		{0, 0, 0, 0},
		{1, 1, 0, 0},
		{500*time.Millisecond - 1, 1, 0, 0},
		{500 * time.Millisecond, 1, 0, 1},
		{time.Second - 1, 1, 0, 1},
		{time.Second, 1, 1, 1},
		{time.Second + 1, 2, 1, 1},
		{10 * time.Second, 10, 10, 10},
		{math.MaxInt64, 9_223_372_037, 9_223_372_036, 9_223_372_037},
	} {
		assert.Equal(t, tt.up, wholeSeconds(tt.d, nil), "%v by default", tt.d)
		assert.Equal(t, tt.up, wholeSeconds(tt.d, math.Ceil), "%v up", tt.d)
		assert.Equal(t, tt.down, wholeSeconds(tt.d, math.Floor), "%v down", tt.d)
		assert.Equal(t, tt.nearest, wholeSeconds(tt.d, math.Round), "%v nearest", tt.d)
	}
}
